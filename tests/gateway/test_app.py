"""The gateway as a whole, over real sockets: what passes untouched, and what is searched."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from desk import (
    LAST_CHUNK,
    PATHS,
    SSE_HEAD,
    UPSTREAM_KEY,
    WIRES,
    Desk,
    answers,
    asks,
    chunk,
    events,
    sse,
    stream,
    whole,
)
from recorded import RECORDINGS, recording
from refdesk.wires.document import Document

FOLDERS = {"messages": "anthropic-messages", "chat": "openai-chat", "responses": "openai-responses"}


def _plain_requests() -> list[Any]:
    """Every recorded request that declares no search and carries nothing that would be edited."""
    found = []
    for wire, folder in FOLDERS.items():
        for path in sorted((RECORDINGS / folder).rglob("*request.json")):
            body = path.read_bytes()
            if b"web_search" not in body and b'"model"' in body:
                name = str(path.relative_to(RECORDINGS))
                found.append(pytest.param(wire, name, id=name))
    return found or [pytest.param("chat", "openai-chat/plain-tools/request.json")]


def _renamed(body: bytes, model: str) -> bytes:
    return re.sub(
        rb'"model"(\s*):(\s*)"[^"]*"', rb'"model"\1:\2"%b"' % model.encode(), body, count=1
    )


class TestPassedOn:
    """What needs no search goes through as it is."""

    @pytest.mark.parametrize(("wire", "name"), _plain_requests())
    async def test_the_very_bytes(self, desk: Desk, wire: str, name: str) -> None:
        """A recorded request reaches the upstream byte for byte, the model's name aside."""
        body = recording(name)
        streamed = Document.read(body).get("stream") is not None and b"true" in bytes(
            Document.read(body).get("stream")  # type: ignore[arg-type]
        )
        reply = b"".join(stream(wire)) if streamed else json.dumps(answers(wire), indent=1).encode()
        desk.upstream.will(sse(reply, cut=7) if streamed else [whole(reply)])

        response = await desk.post("/v1" + PATHS[wire], body)

        assert desk.upstream.seen[-1].body == _renamed(body, "m")
        assert response.content == reply
        assert response.headers["x-refdesk-search"] == "none"

    @pytest.mark.parametrize("wire", WIRES)
    async def test_odd_bytes(self, desk: Desk, wire: str) -> None:
        """Spaces, escapes, long digits and unknown fields survive; so does their order."""
        field = "input" if wire == "responses" else "messages"
        body = (
            b'{ "zeta" : 18446744073709551617,\t"model": "m" , "' + field.encode() + b'":'
            b'[{"role":"user","x":1.50,"content":"\\u00e9\\ud83d\\ude00"}],"a":1E5, "z":{}}\n'
        )
        desk.upstream.will(whole(answers(wire)))

        await desk.post("/v1" + PATHS[wire], body)

        assert desk.upstream.seen[-1].body == body

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("prefix", ["/v1", ""])
    async def test_with_and_without_prefix(self, desk: Desk, wire: str, prefix: str) -> None:
        """Both spellings of a path lead to the upstream's own."""
        desk.upstream.will(whole(answers(wire)))

        response = await desk.post(prefix + PATHS[wire], asks(wire, search=False))

        assert response.status_code == 200
        assert desk.upstream.seen[-1].line == b"POST /v1%b HTTP/1.1" % PATHS[wire].encode()

    async def test_query_and_beta_headers(self, desk: Desk) -> None:
        """The query string and forty beta values go on; so does what nobody knows."""
        desk.upstream.will(whole(answers("messages")))
        betas = ",".join(f"beta-{number}-2026-01-01" for number in range(40))

        await desk.post(
            "/v1/messages?beta=true&x=%20y", asks("messages", search=False),
            anthropic_beta=betas, anthropic_version="2023-06-01", x_unknown="kept",
        )  # fmt: skip

        seen = desk.upstream.seen[-1]
        assert seen.line == b"POST /v1/messages?beta=true&x=%20y HTTP/1.1"
        assert seen.header("anthropic-beta") == betas
        assert seen.header("x-unknown") == "kept"
        assert seen.header("x-api-key") == UPSTREAM_KEY

    async def test_count_tokens(self, desk: Desk) -> None:
        """Tokens are counted for what would go to the model: its name, and no tool."""
        desk.upstream.will(whole({"input_tokens": 7}))

        response = await desk.post("/v1/messages/count_tokens?beta=true", asks("messages"))

        assert response.json() == {"input_tokens": 7}
        seen = desk.upstream.seen[-1]
        assert seen.line == b"POST /v1/messages/count_tokens?beta=true HTTP/1.1"
        assert "tools" not in seen.json
        assert desk.engine.queries == []

    @pytest.mark.parametrize("wire", WIRES)
    async def test_what_every_answer_says(self, desk: Desk, wire: str) -> None:
        """An id of ours, what became of search, and the times; the upstream's own stay."""
        desk.upstream.will(whole(answers(wire), x_request_id="theirs", openai_version="v"))

        response = await desk.post(
            "/v1" + PATHS[wire], asks(wire, search=False), x_request_id="client-id"
        )

        assert re.fullmatch(r"req_[0-9a-f]{28}", response.headers["x-request-id"])
        assert re.search(
            r"search;dur=.*queue;dur=.*upstream;dur=", response.headers["server-timing"]
        )
        assert response.headers["openai-version"] == "v"
        entry = await desk.last()
        assert entry.client_request_id == "client-id"
        assert entry.request_id == response.headers["x-request-id"]


class TestSearched:
    """A search in the model's stead, on each wire."""

    @pytest.mark.parametrize("wire", WIRES)
    async def test_whole(self, desk: Desk, wire: str) -> None:
        """The material goes in, the tool goes out, and the answer shows the search."""
        desk.upstream.will(whole(answers(wire)))

        response = await desk.ask(wire)

        assert response.headers["x-refdesk-search"] == "gateway; engine=fake; results=1"
        seen = desk.upstream.seen
        assert len(seen) == 1
        assert b"https://example.com/" in seen[0].body
        assert not {"tools", "tool_choice", "web_search_options"} & seen[0].json.keys()
        assert _shows_search(wire, response.json())

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("cut", [1, 50, 0])
    async def test_streamed(self, desk: Desk, wire: str, cut: int) -> None:
        """A stream shows the same search, however its bytes were cut."""
        desk.upstream.will(sse(b"".join(stream(wire)), cut=cut))

        response = await desk.ask(wire, stream=True)

        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-cache"
        assert response.headers["x-accel-buffering"] == "no"
        assert response.headers["x-refdesk-search"] == "gateway; engine=fake; results=1"
        assert _stream_shows_search(wire, events(response.content))
        assert (await desk.last()).end == ""

    @pytest.mark.parametrize("wire", WIRES)
    async def test_is_recorded(self, desk: Desk, wire: str) -> None:
        """The log and the metrics know the search; the store has it for later turns."""
        desk.upstream.will(whole(answers(wire)))
        response = await desk.ask(wire)
        await desk.last()

        assert 'refdesk_search_outcomes_total{outcome="gateway",reason=""} 1.0' in desk.metrics()
        assert desk.store.writer.drain(5)
        (logged,) = desk.store.requests.list(limit=5)
        record = logged.record
        assert record.id == response.headers["x-request-id"]
        assert (record.wire, record.engine, record.results) == (wire, "fake", 1)
        assert record.search_header == response.headers["x-refdesk-search"]

    async def test_events_are_not_held_back(self, desk: Desk) -> None:
        """Each event is sent on when it comes, not when the next one does."""
        first, *rest = stream("messages")
        go = asyncio.Event()
        desk.upstream.will(
            [SSE_HEAD, chunk(first), go, *(chunk(each) for each in rest), LAST_CHUNK]
        )
        async with desk.client.stream(
            "POST", "/v1/messages", json=asks("messages", search=False, stream=True)
        ) as response:
            pieces = response.aiter_raw()
            assert await anext(pieces) == first
            go.set()
            assert b"".join([piece async for piece in pieces]) == b"".join(rest)


def _shows_search(wire: str, body: Any) -> bool:
    match wire:
        case "messages":
            kinds = [block["type"] for block in body["content"]]
            links = body["content"][1]["content"]
            return kinds[:2] == ["server_tool_use", "web_search_tool_result"] and len(links) == 1
        case "chat":
            (note,) = body["choices"][0]["message"]["annotations"]
            return bool(note["url_citation"]["url"] == "https://example.com/")
    call, message = body["output"]
    (note,) = message["content"][0]["annotations"]
    return bool(call["type"] == "web_search_call" and note["url"] == "https://example.com/")


def _stream_shows_search(wire: str, found: list[Any]) -> bool:
    match wire:
        case "messages":
            blocks = [each["content_block"]["type"] for each in found if "content_block" in each]
            return blocks == ["server_tool_use", "web_search_tool_result", "text"]
        case "chat":
            return any(
                "annotations" in choice["delta"] for each in found for choice in each["choices"]
            )
    numbers = [each["sequence_number"] for each in found]
    return numbers == list(range(len(found))) and _shows_search(wire, found[-1]["response"])
