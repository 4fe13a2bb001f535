"""Later turns: what recorded clients send, and what of ours comes back, here or on a replica."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desk import QUESTION, Desk, OpenDesk, answers, asks, events, sse, stream, whole
from recorded import recorded_json, recording
from refdesk.gateway.history import MAX_SEALED_SNIPPET, marker, open_rows, seal_sources
from refdesk.store import Sealer
from refdesk.testing.fakes import FakeEngine, item, page

CLAUDE = "anthropic-messages/client-claude-code-2.1.197"
CODEX = "openai-responses/client-codex-0.171.0"
TOOL_TURN = [
    {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "42"},
]


class TestClaudeCode:
    """The recorded requests of Claude Code."""

    @pytest.mark.parametrize("name", ["1-main", "3-main-after-search"])
    async def test_main_turns_are_untouched(self, desk: Desk, name: str) -> None:
        """WebSearch is an ordinary client tool there; not a byte is changed but the model."""
        body = recording(f"{CLAUDE}/{name}.request.json")
        desk.upstream.will(sse(b"".join(stream("messages"))))

        response = await desk.post("/v1/messages?beta=true", body)

        assert desk.upstream.seen[0].body == body.replace(b"claude-opus-4-8", b"m", 1)
        assert response.content == b"".join(stream("messages"))
        assert desk.engine.queries == []

    @pytest.mark.parametrize("name", ["2-search", "4-search-with-domains"])
    async def test_the_search_request(self, desk: Desk, name: str) -> None:
        """One search, with links, and counted: what the client shows as `Did 1 search`."""
        body = recording(f"{CLAUDE}/{name}.request.json")
        desk.upstream.will(sse(b"".join(stream("messages"))))

        response = await desk.post("/v1/messages?beta=true", body)

        (query,) = desk.engine.queries
        assert query.text == "capital of France 2026"
        assert query.sites == (("example.com",) if "domains" in name else ())
        found = events(response.content)
        blocks = [each["content_block"] for each in found if "content_block" in each]
        assert [block["type"] for block in blocks] == [
            "server_tool_use",
            "web_search_tool_result",
            "text",
        ]
        assert blocks[0]["id"] == blocks[1]["tool_use_id"]
        assert [link["url"] for link in blocks[1]["content"]] == ["https://example.com/"]
        (usage,) = [each["usage"] for each in found if each["type"] == "message_delta"]
        assert usage["server_tool_use"]["web_search_requests"] == 1
        assert not {"tools", "tool_choice"} & desk.upstream.seen[0].json.keys()

    async def test_nothing_found(self, opened: OpenDesk) -> None:
        """A forced search that found nothing shows as one search without links."""
        async with opened(FakeEngine("fake", page())) as desk:
            desk.upstream.will(sse(b"".join(stream("messages"))))
            response = await desk.post("/v1/messages", recording(f"{CLAUDE}/2-search.request.json"))
            blocks = [
                each["content_block"]
                for each in events(response.content)
                if "content_block" in each
            ]
            assert blocks[1]["type"] == "web_search_tool_result"
            assert blocks[1]["content"] == []
            assert response.headers["x-refdesk-search"] == "degraded; reason=no_results"


class TestCodex:
    """The recorded requests of Codex."""

    async def test_first_turn(self, desk: Desk) -> None:
        """With the live tool a new user text is searched for; the other tools stay."""
        body = recorded_json(f"{CODEX}/1-first-turn.request.json")
        body["tools"] = [tool for tool in body["tools"] if tool["type"] != "web_search"]
        others = list(body["tools"])
        body["tools"] += recorded_json(f"{CODEX}/tool-by-config.json")["live"]
        desk.upstream.will(sse(b"".join(stream("responses"))))

        response = await desk.post("/v1/responses", body)

        assert desk.engine.queries[0].text == "What is the capital of France? Search the web."
        assert desk.upstream.seen[0].json["tools"] == others
        done = events(response.content)[-1]
        assert done["type"] == "response.completed"
        call, *_ = done["response"]["output"]
        assert call["type"] == "web_search_call"
        assert call["action"]["query"] == desk.engine.queries[0].text

    @pytest.mark.parametrize(
        ("setting", "searches"),
        [
            ("live", 1),
            ("unset (default)", 0),
            ("cached", 0),
            ("indexed", 1),
            ("disabled", 0),
            ("live with [tools.web_search] settings", 1),
        ],
    )
    async def test_settings(self, desk: Desk, setting: str, searches: int) -> None:
        """Only a setting that allows the live web searches it, within its filters."""
        body = recorded_json(f"{CODEX}/1-first-turn.request.json")
        body["tools"] = recorded_json(f"{CODEX}/tool-by-config.json")[setting]
        desk.upstream.will(sse(b"".join(stream("responses"))))

        await desk.post("/v1/responses", body)

        assert len(desk.engine.queries) == searches
        if "settings" in setting:
            assert desk.engine.queries[0].sites == ("example.com",)
            assert desk.engine.queries[0].country == "US"
        if not searches:
            assert desk.upstream.seen[0].json == body | {"model": "m"}

    async def test_a_step_after_tools(self, desk: Desk) -> None:
        """A step whose input ends with tool outputs is no new question."""
        body = recorded_json(f"{CODEX}/1-first-turn.request.json")
        body["tools"] = [
            *[tool for tool in body["tools"] if tool["type"] != "web_search"],
            *recorded_json(f"{CODEX}/tool-by-config.json")["live"],
        ]
        body["input"] += TOOL_TURN
        desk.upstream.will(sse(b"".join(stream("responses"))))

        response = await desk.post("/v1/responses", body)

        assert response.headers["x-refdesk-search"] == "pass"
        assert desk.engine.queries == []

    async def test_second_turn(self, desk: Desk) -> None:
        """The recorded second turn is searched for what its follow-up means, and once."""
        body = recorded_json(f"{CODEX}/2-second-turn-replay.request.json")
        desk.upstream.will(sse(b"".join(stream("responses"))))

        await desk.post("/v1/responses", body)

        (query,) = desk.engine.queries
        assert query.text == "What is the capital of Spain? Search the web."


def _messages_turn(first: Any) -> dict[str, Any]:
    return asks(
        "messages",
        messages=[
            {"role": "user", "content": QUESTION},
            {"role": "assistant", "content": first["content"]},
            {"role": "user", "content": "And 3.15?"},
        ],
    )


def _responses_turn(first: Any) -> dict[str, Any]:
    return asks(
        "responses",
        input=[
            {"role": "user", "content": QUESTION},
            *first["output"],
            {"role": "user", "content": "And 3.15?"},
        ],
    )


class TestComingBack:
    """What we put into an answer, sent back by its client."""

    async def test_messages_on_another_replica(
        self, opened: OpenDesk, desk_folder: Path, tmp_path: Path
    ) -> None:
        """A replica with the same key and another database restores the rows from the request."""
        async with opened(FakeEngine("fake", page("https://first.example/"))) as one:
            one.upstream.will(whole(answers("messages")))
            first = (await one.ask("messages")).json()
        other = tmp_path / "other"
        (other / "data").mkdir(parents=True, mode=0o700)
        shutil.copy(desk_folder / "data" / "store.key", other / "data" / "store.key")

        async with opened.func(other) as two:  # type: ignore[attr-defined]
            two.upstream.will(whole(answers("messages")))
            await two.post("/v1/messages", _messages_turn(first))
            sent = two.upstream.seen[0].body.decode()

        assert "https://first.example/" in sent
        assert "rd1." not in sent
        assert "srvtoolu_rd" not in sent

    async def test_messages_with_another_key(self, opened: OpenDesk, tmp_path: Path) -> None:
        """One that cannot open the rows drops them; nothing foreign reaches the upstream."""
        async with opened(FakeEngine("fake", page("https://first.example/"))) as one:
            one.upstream.will(whole(answers("messages", "Plain.")))
            first = (await one.ask("messages")).json()
        async with opened.func(tmp_path / "other") as two:  # type: ignore[attr-defined]
            two.upstream.will(whole(answers("messages")))
            response = await two.post("/v1/messages", _messages_turn(first))
            sent = two.upstream.seen[0].body.decode()
        assert response.status_code == 200
        assert "rd1." not in sent
        assert "srvtoolu_rd" not in sent

    async def test_responses_after_a_restart(self, opened: OpenDesk) -> None:
        """Ids are looked up in the store, also by a process that did not make them."""
        async with opened(FakeEngine("fake", page("https://first.example/"))) as one:
            one.upstream.will(whole(answers("responses")))
            first = (await one.ask("responses")).json()
            assert one.store.writer.drain(5)
        async with opened() as two:
            two.upstream.will(whole(answers("responses")))
            await two.post("/v1/responses", _responses_turn(first))
            sent = two.upstream.seen[0].body.decode()
        assert "https://first.example/" in sent
        assert "ws_rd" not in sent

    async def test_responses_unknown(self, desk: Desk) -> None:
        """An id that nobody knows leaves, and so does a reference to it."""
        call = {"type": "web_search_call", "id": "ws_rd" + "a" * 40, "status": "completed"}
        reference = {"type": "item_reference", "id": "ws_rd" + "b" * 40}
        desk.upstream.will(whole(answers("responses")))

        response = await desk.ask(
            "responses", input=[call, reference, {"role": "user", "content": QUESTION}]
        )

        assert response.status_code == 200
        assert b"ws_rd" not in desk.upstream.seen[0].body
        assert len(desk.upstream.seen[0].json["input"]) == 1

    async def test_a_tool_loop_on_chat(self, desk: Desk) -> None:
        """The same user text is searched for once; the material comes back on later steps."""
        function = {"type": "function", "function": {"name": "f"}}
        tools = [function, {"type": "web_search"}]
        user = {"role": "user", "content": QUESTION}
        call = {"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        desk.upstream.will(whole(answers("chat")))
        body = asks("chat", search=False, tools=tools)
        await desk.post("/v1/chat/completions", body)

        later = body | {
            "messages": [
                user,
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "t", "content": "42"},
            ]
        }
        response = await desk.post("/v1/chat/completions", later)

        assert len(desk.engine.queries) == 1
        assert response.headers["x-refdesk-search"] == "pass"
        first, second = (seen.json for seen in desk.upstream.seen)
        assert second["messages"][0] == first["messages"][0]
        assert second["tools"] == [function]

    async def test_tokens_of_a_later_turn(self, desk: Desk) -> None:
        """Counting tokens of a later turn counts what would really be sent."""
        desk.upstream.will(whole(answers("messages")), whole({"input_tokens": 9}))
        first = (await desk.ask("messages")).json()

        response = await desk.post("/v1/messages/count_tokens", _messages_turn(first))

        assert response.json() == {"input_tokens": 9}
        sent = desk.upstream.seen[-1].body
        assert b"rd1." not in sent
        assert b"srvtoolu_rd" not in sent
        assert b"https://example.com/" in sent


SEALER = Sealer([b"k" * 32])


@given(st.text(max_size=700), st.text(min_size=1, max_size=50))
def test_rows_come_back(content: str, title: str) -> None:
    """Whatever stands in a row, it is the same when it is opened; the snippet is bounded."""
    try:
        content.encode()
        title.encode()
    except UnicodeEncodeError:
        return
    (source,) = seal_sources([item("https://example.com/", title, content)], SEALER)

    rows = open_rows([source.sealed, "rd1.nonsense", "", source.sealed[:-3]], SEALER)

    assert rows == {source.sealed: source}
    assert source.snippet == content[:MAX_SEALED_SNIPPET]
    assert source.sealed.startswith("rd1.")


def test_another_seal_is_no_row() -> None:
    """What was sealed for another purpose, or holds no row, opens to nothing."""
    tokens = [
        SEALER.seal(b'["a","b","c"]', purpose=b"other"),
        SEALER.seal(b"no json", purpose=b"search-row"),
        SEALER.seal(json.dumps([1, 2, 3]).encode(), purpose=b"search-row"),
    ]
    assert open_rows(tokens, SEALER) == {}


def test_marker_repeats() -> None:
    """The label is the same for the same results, and another for others or under another key."""
    assert marker(b"a", SEALER) == marker(b"a", SEALER)
    assert marker(b"a", SEALER) != marker(b"b", SEALER)
    assert marker(b"a", SEALER) != marker(b"a", Sealer([b"q" * 32]))
