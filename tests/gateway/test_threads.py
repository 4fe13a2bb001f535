"""Conversations that a provider's server holds, as the official SDK's tool runners ask for."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import beta_async_tool

from desk import Desk, OpenDesk, answers, asks, whole

CALL = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Utrecht"}}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}


@beta_async_tool
async def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"It rains in {city}."


def _client(desk: Desk) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(
        api_key="k",
        base_url=f"http://{desk.host}:{desk.port}",
        max_retries=0,
        http_client=httpx2.AsyncClient(trust_env=False),
    )


async def _run(desk: Desk, tools: list[Any]) -> Any:
    desk.upstream.will(
        whole(answers("messages") | {"content": [CALL], "stop_reason": "tool_use"}),
        whole(answers("messages", "It rains [1].") | {"id": "msg_2"}),
    )
    async with _client(desk) as client:
        runner = client.beta.messages.tool_runner(
            model="m",
            max_tokens=100,
            messages=[{"role": "user", "content": "What is the weather in Utrecht?"}],
            tools=tools,
        )
        return await runner.until_done()


@pytest.mark.parametrize("provider", ["compatible", "deepseek", "bedrock"])
async def test_the_tool_runner_sends_everything(opened: OpenDesk, provider: str) -> None:
    """Where the upstream holds no conversations, the SDK is told, and sends all of it."""
    async with opened(upstreams={"up": {"provider": provider}}) as desk:
        last = await _run(desk, [weather])

        assert last.content[0].text == "It rains [1]."
        first, second = [seen.json for seen in desk.upstream.seen]
        assert "thread" not in first
        assert "thread" not in second
        roles = [message["role"] for message in second["messages"]]
        assert roles == ["user", "assistant", "user"]
        assert "It rains in Utrecht." in str(second["messages"][-1])


async def test_anthropic_is_sent_the_thread(opened: OpenDesk) -> None:
    """Where the upstream is Anthropic, it holds the conversation."""
    async with opened(upstreams={"up": {"provider": "anthropic"}}) as desk:
        await _run(desk, [weather])
        first, second = [seen.json for seen in desk.upstream.seen]
        assert first["thread"] == {"type": "create"}
        assert second["thread"] == {"type": "continue", "previous_message_id": "msg_1"}
        assert [message["role"] for message in second["messages"]] == ["user"]


async def test_a_search_of_ours_needs_the_whole_conversation(opened: OpenDesk) -> None:
    """Where we search in Anthropic's stead, the runner sends everything, and gets its citations."""
    config = {
        "upstreams": {"up": {"provider": "anthropic"}},
        "models": {"m": {"upstream": "up", "search": {"enabled": "on"}}},
    }
    async with opened(**config) as desk:
        last = await _run(desk, [weather, SEARCH])
        assert [seen.json.get("thread") for seen in desk.upstream.seen] == [None, None]
        assert len(desk.engine.queries) == 1
        assert [each.url for each in last.content[0].citations] == ["https://example.com/"]


@pytest.mark.parametrize(
    "thread", [{"type": "create"}, {"type": "continue", "previous_message_id": "msg_1"}, True]
)
@pytest.mark.parametrize("search", [True, False])
@pytest.mark.parametrize("streamed", [True, False])
async def test_the_refusal(desk: Desk, thread: Any, search: bool, streamed: bool) -> None:
    """It is the wire's own error, with the code that the SDKs act on; nothing is asked."""
    response = await desk.post(
        "/v1/messages", asks("messages", search=search, thread=thread, stream=streamed)
    )
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["details"] == {"error_code": "thread_unsupported_request"}
    assert response.headers["x-should-retry"] == "false"
    assert desk.upstream.seen == []
    assert desk.engine.queries == []


async def test_no_thread(desk: Desk) -> None:
    """A null thread is none."""
    desk.upstream.will(whole(answers("messages")))
    response = await desk.post("/v1/messages", asks("messages", search=False, thread=None))
    assert response.status_code == 200
