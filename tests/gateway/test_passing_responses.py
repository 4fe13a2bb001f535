"""Responses that an upstream keeps, fetched through the gateway by the official SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator

import openai
import pytest
import pytest_asyncio

from clients import client_of, two_upstreams
from desk import (
    CLIENT_KEY,
    UPSTREAM_KEY,
    Desk,
    OpenDesk,
    answers,
    asks,
    events,
    sse,
    stream,
    whole,
)

RESPONSE = answers("responses")
QUEUED = RESPONSE | {"status": "queued", "output": [], "background": True}


@pytest_asyncio.fixture
async def client(desk: Desk) -> AsyncIterator[openai.AsyncOpenAI]:
    """The official OpenAI client."""
    async with client_of(desk) as one:
        yield one


class TestResponses:
    """Responses that the upstream keeps."""

    async def test_background(self, desk: Desk, client: openai.AsyncOpenAI) -> None:
        """A response in the background is made, polled, listed, cancelled and deleted."""
        items = {"object": "list", "data": [], "has_more": False}
        deleted = {"id": "resp_1", "object": "response", "deleted": True}
        desk.upstream.will(
            whole(QUEUED), whole(RESPONSE), whole(items), whole(RESPONSE), whole(deleted)
        )
        made = await client.responses.create(model="m", input="?", background=True)
        polled = await client.responses.retrieve(made.id, include=["message.output_text.logprobs"])
        await client.responses.input_items.list(made.id, limit=5)
        await client.responses.cancel(made.id)
        await client.responses.delete(made.id)

        assert made.status == "queued"
        assert polled.output_text == "On 7 October 2025 [1]."
        assert [each.line for each in desk.upstream.seen] == [
            b"POST /v1/responses HTTP/1.1",
            b"GET /v1/responses/resp_1?include%5B%5D=message.output_text.logprobs HTTP/1.1",
            b"GET /v1/responses/resp_1/input_items?limit=5 HTTP/1.1",
            b"POST /v1/responses/resp_1/cancel HTTP/1.1",
            b"DELETE /v1/responses/resp_1 HTTP/1.1",
        ]
        for seen in desk.upstream.seen:
            assert seen.header("authorization") == f"Bearer {UPSTREAM_KEY}"
            assert CLIENT_KEY.encode() not in seen.raw

    async def test_a_stream_is_taken_up_again(self, desk: Desk, client: openai.AsyncOpenAI) -> None:
        """A stream that is fetched by its id comes as the upstream sends it."""
        body = b"".join(stream("responses")[3:])
        desk.upstream.will(sse(body, cut=50))

        got = [each async for each in await client.responses.retrieve(
            "resp_1", stream=True, starting_after=2)]  # fmt: skip

        assert [each.type for each in got] == [each["type"] for each in events(body)]
        assert b"starting_after=2" in desk.upstream.seen[0].line
        entry = await desk.last()
        assert (entry.wire, entry.stream, entry.status) == ("stored_responses", True, 200)

    @pytest.mark.parametrize("search", [False, True])
    @pytest.mark.parametrize("streamed", [False, True])
    async def test_the_upstream_that_made_it_is_asked(
        self, opened: OpenDesk, streamed: bool, search: bool
    ) -> None:
        """With several upstreams, an id leads to the one that made it, searched for or not."""
        async with two_upstreams(opened) as (desk, other):
            other.will(sse(b"".join(stream("responses"))) if streamed else whole(RESPONSE))
            await desk.ask("responses", model="n", stream=streamed, search=search)
            other.will(whole(RESPONSE))
            got = await desk.client.get("/v1/responses/resp_1")

        assert got.json() == RESPONSE
        assert other.seen[-1].line == b"GET /v1/responses/resp_1 HTTP/1.1"
        assert other.seen[-1].header("authorization") is None
        assert desk.upstream.seen == []

    async def test_an_unknown_id_of_several_upstreams(self, opened: OpenDesk) -> None:
        """An id that is not known is refused where several upstreams may have it, with a remedy
        that works."""
        async with two_upstreams(opened) as (desk, other):
            other.will(whole(RESPONSE))
            refused = await desk.client.get("/v1/responses/resp_1")
            chosen = await desk.client.get("/v1/responses/resp_1", headers={"x-refdesk-model": "n"})

        assert refused.status_code == 400
        message = refused.json()["error"]["message"]
        assert "up, two" in message
        assert "x-refdesk-model" in message
        assert refused.headers["x-should-retry"] == "false"
        assert chosen.json() == RESPONSE
        assert other.seen[0].header("x-refdesk-model") is None
        assert desk.upstream.seen == []

    async def test_background_that_could_not_be_fetched(self, opened: OpenDesk) -> None:
        """Background is refused at once where nothing could fetch the answer."""
        groq = {"up": {"provider": "groq"}}
        async with opened(upstreams=groq) as desk:
            desk.upstream.will(whole(RESPONSE))
            refused = await desk.ask("responses", background=True)
            plain = await desk.ask("responses", background=False, search=False)
            fetched = await desk.client.get("/v1/responses/resp_1")

        error = refused.json()["error"]
        assert (refused.status_code, error["param"]) == (400, "background")
        assert "stateless" in error["message"]
        assert plain.status_code == 200
        assert fetched.status_code == 400
        assert "stateless" in fetched.json()["error"]["message"]
        assert len(desk.upstream.seen) == 1

    async def test_background_with_several_processes(self, opened: OpenDesk) -> None:
        """Several processes do not share their memory: with several upstreams, polling may fail."""
        async with two_upstreams(opened, server={"workers": 2}) as (desk, _):
            refused = await desk.ask("responses", background=True)
        assert refused.status_code == 400
        assert "server.workers" in refused.json()["error"]["message"]

    async def test_a_response_of_another_upstream_is_not_gone_on_with(
        self, opened: OpenDesk
    ) -> None:
        """A conversation that one upstream keeps is not sent to another, which cannot know it."""
        async with two_upstreams(opened) as (desk, other):
            other.will(whole(RESPONSE))
            await desk.ask("responses", model="n", search=False)
            refused = await desk.ask("responses", previous_response_id="resp_1", search=False)
            gone_on = await desk.ask(
                "responses", model="n", previous_response_id="resp_1", search=False
            )

        error = refused.json()["error"]
        assert (refused.status_code, error["param"]) == (400, "previous_response_id")
        assert gone_on.status_code == 200
        assert desk.upstream.seen == []

    async def test_counts_of_tokens(self, desk: Desk, client: openai.AsyncOpenAI) -> None:
        """Tokens are counted for a model under the upstream's name, and without any model."""
        desk.upstream.will(whole({"object": "response.input_tokens", "input_tokens": 11}))
        counted = await client.responses.input_tokens.count(model="m", input="hello")
        await client.responses.input_tokens.count(input="hello")

        assert counted.input_tokens == 11
        assert desk.upstream.seen[0].line == b"POST /v1/responses/input_tokens HTTP/1.1"
        assert desk.upstream.seen[0].json == {"model": "m", "input": "hello"}
        assert desk.upstream.seen[1].json == {"input": "hello"}

    @pytest.mark.parametrize("path", ["input_tokens", "compact"])
    async def test_marks_of_ours_do_not_go_upstream(self, desk: Desk, path: str) -> None:
        """A history with a search of ours is counted and compacted as the model will see it."""
        desk.upstream.will(whole(RESPONSE))
        answer = (await desk.ask("responses")).json()
        desk.upstream.will(whole({"object": "response.input_tokens", "input_tokens": 11}))
        items = [*asks("responses")["input"], *answer["output"]]
        body = {"model": "m", "input": items, "tools": [{"type": "web_search"}]}

        got = await desk.post(f"/v1/responses/{path}", body)

        assert got.status_code == 200
        assert any(item["id"].startswith("ws_rd") for item in answer["output"])
        assert b"ws_rd" not in desk.upstream.seen[-1].body
        assert "tools" not in desk.upstream.seen[-1].json

    async def test_conversations(self, desk: Desk, client: openai.AsyncOpenAI) -> None:
        """A conversation is made, named in a request, and read."""
        made = {"id": "conv_1", "object": "conversation", "created_at": 1, "metadata": {}}
        desk.upstream.will(whole(made), whole(RESPONSE), whole(made))
        conversation = await client.conversations.create()
        await client.responses.create(model="m", input="?", conversation=conversation.id)
        await client.conversations.retrieve(conversation.id)

        assert [each.line.split()[1] for each in desk.upstream.seen] == [
            b"/v1/conversations",
            b"/v1/responses",
            b"/v1/conversations/conv_1",
        ]
