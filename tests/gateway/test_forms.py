"""Answers in another form than the one that was asked for, or under another label."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from desk import (
    LAST_CHUNK,
    PATHS,
    WIRES,
    Desk,
    OpenDesk,
    answers,
    asks,
    chunk,
    events,
    stream,
    whole,
)
from refdesk.gateway.forms import is_stream

LABELS = ["application/json", "text/event-stream", "text/plain; charset=utf-8", ""]
FORMS = ["events", "json"]
EARLY = {"search": {"head_after_ms": 1}}


def body_of(wire: str, form: str) -> bytes:
    """An answer in one of its forms."""
    return b"".join(stream(wire)) if form == "events" else json.dumps(answers(wire)).encode()


def labelled(body: bytes, label: str, cut: int = 0) -> list[bytes]:
    """An answer under a label, in pieces of ``cut`` bytes or in one."""
    line = f"content-type: {label}\r\n" if label else ""
    if not cut:
        head = f"HTTP/1.1 200 OK\r\n{line}content-length: {len(body)}\r\n\r\n"
        return [head.encode() + body]
    head = f"HTTP/1.1 200 OK\r\n{line}transfer-encoding: chunked\r\n\r\n"
    pieces = [chunk(body[at : at + cut]) for at in range(0, len(body), cut)]
    return [head.encode(), *pieces, LAST_CHUNK]


def text_of(wire: str, body: bytes, *, streamed: bool) -> str:
    """What an answer says, read in the form that was asked for."""
    if not streamed:
        told = json.loads(body)
        match wire:
            case "messages":
                return "".join(block.get("text", "") for block in told["content"])
            case "chat":
                return str(told["choices"][0]["message"]["content"])
        return str(told["output"][-1]["content"][0]["text"])
    said = ""
    for event in events(body):
        match wire:
            case "messages":
                said += event.get("delta", {}).get("text", "")
            case "chat":
                said += "".join(each["delta"].get("content") or "" for each in event["choices"])
            case _:
                said += event["delta"] if event["type"].endswith("text.delta") else ""
    return said


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("label", LABELS, ids=lambda label: label or "no label")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("streamed", [True, False], ids=["stream asked", "whole asked"])
class TestEveryLabel:
    """Each form under each label, where each form was asked for."""

    async def test_without_a_search(
        self, desk: Desk, wire: str, label: str, form: str, streamed: bool
    ) -> None:
        """An answer passes byte for byte, and keeps its label."""
        body = body_of(wire, form)
        for cut in (0, 11):
            desk.upstream.will(labelled(body, label, cut))
            response = await desk.ask(wire, search=False, stream=streamed)
            assert response.status_code == 200
            assert response.content == body
            assert response.headers.get("content-type", "").startswith(label)
            entry = await desk.last()
            assert (entry.end, entry.error) == ("", "")

    async def test_with_a_search(
        self, desk: Desk, wire: str, label: str, form: str, streamed: bool
    ) -> None:
        """An answer comes in the form that was asked for, with its text and the search."""
        body = body_of(wire, form)
        for cut in (0, 11):
            desk.upstream.will(labelled(body, label, cut))
            response = await desk.ask(wire, stream=streamed)
            assert response.status_code == 200
            kind = "text/event-stream" if streamed else "application/json"
            if form == "events" or streamed:
                assert response.headers["content-type"].startswith(kind)
            assert text_of(wire, response.content, streamed=streamed) == "On 7 October 2025 [1]."
            assert b"https://example.com/" in response.content
            assert response.headers["x-refdesk-search"] == "gateway; engine=fake; results=1"
            assert (await desk.last()).end == ""


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("label", LABELS[:2])
@pytest.mark.parametrize("search", [True, False])
async def test_json_after_the_early_head(
    opened: OpenDesk, wire: str, label: str, search: bool
) -> None:
    """Where the head of a stream is out already, a whole answer is told in the stream."""
    async with opened(gateway=EARLY) as desk:
        go = asyncio.Event()
        desk.upstream.will([go, *labelled(body_of(wire, "json"), label)])
        async with desk.client.stream(
            "POST", "/v1" + PATHS[wire], json=asks(wire, search=search, stream=True)
        ) as response:
            go.set()
            body = await response.aread()
        assert text_of(wire, body, streamed=True) == "On 7 October 2025 [1]."
        assert (b"https://example.com/" in body) == search
        assert (await desk.last()).end == ""


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("body", [b"<html>busy</html>", b"", b'{"half":', b"\xff\xfe"])
async def test_what_is_no_answer_passes_as_it_came(
    desk: Desk, wire: str, streamed: bool, body: bytes
) -> None:
    """What cannot be read is not thrown away either: it passes, with a notice."""
    desk.upstream.will(whole(body, kind="text/html"))
    response = await desk.ask(wire, stream=streamed)
    assert response.status_code == 200
    assert response.content == body
    assert response.headers["content-type"] == "text/html"
    assert any("as it came" in each for each in (await desk.last()).outcome.notices)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_cut_stream_where_one_body_was_asked_for(desk: Desk, wire: str) -> None:
    """What it said is there, and a notice says that it is not all."""
    events_ = stream(wire)
    desk.upstream.will(whole(b"".join(events_[:-2]), kind="text/event-stream"))
    response = await desk.ask(wire)
    assert text_of(wire, response.content, streamed=False) == "On 7 October 2025 [1]."
    if wire != "chat":
        notices = (await desk.last()).outcome.notices
        assert any("ended before it was complete" in each for each in notices)


@pytest.mark.parametrize(
    ("start", "told"),
    [
        (b"data: {}", True),
        (b"\xef\xbb\xbfdata:{}", True),
        (b": hello\n", True),
        (b"\r\n\r\nevent: x", True),
        (b"retry:3\n", True),
        (b"id: 7", True),
        (b"", None),
        (b"\xef\xbb", None),
        (b"da", None),
        (b" \n", None),
        (b"data", None),
        (b"date", False),
        (b"{", False),
        (b"[", False),
        (b"<!doctype html>", False),
        (b"identity", False),
        (b"\n" * 80, False),
    ],
)
def test_what_a_stream_begins_with(start: bytes, told: Any) -> None:
    """A field of an event or a comment begins a stream; too few bytes tell nothing yet."""
    assert is_stream(start) is told
    assert is_stream(start, whole=True) is bool(told)
