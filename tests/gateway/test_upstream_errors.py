"""An error that an upstream tells inside of its answer is logged and counted, and passed on."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import Any

import pytest

from desk import (
    QUESTION,
    SSE_HEAD,
    WIRES,
    Close,
    Desk,
    OpenDesk,
    asks,
    chunk,
    event,
    sse,
    stream,
    whole,
)
from refdesk.testing.fakes import FakeEngine, page

ERRORS: dict[str, dict[str, Any]] = {
    "messages": {"type": "error", "error": {"type": "overloaded_error", "message": QUESTION}},
    "chat": {"error": {"type": "overloaded_error", "message": QUESTION, "code": 529}},
    "responses": {
        "type": "response.failed",
        "sequence_number": 9,
        "response": {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "status": "failed",
            "model": "m",
            "output": [],
            "error": {"code": "overloaded_error", "message": QUESTION},
        },
    },
}


@pytest.mark.parametrize("search", [False, True])
@pytest.mark.parametrize("cut", [0, 1, 50])
@pytest.mark.parametrize("wire", WIRES)
async def test_told_in_a_stream(
    opened: OpenDesk,
    logged: list[MutableMapping[str, Any]],
    wire: str,
    cut: int,
    search: bool,
) -> None:
    """It stands in the log and the metrics with its type, passed on unread or rewritten."""
    engine = FakeEngine("main", page("https://a.example/"))
    async with opened(engine) as desk:
        body = b"".join(stream(wire)[:3]) + event(ERRORS[wire])
        desk.upstream.will(sse(body, cut=cut))
        got = await desk.ask(wire, stream=True, search=search)
        entry = await desk.last()

        assert got.status_code == 200
        assert got.content == body or search
        assert b"overloaded_error" in got.content
        assert (entry.status, entry.end, entry.told) == (200, "upstream_error", "overloaded_error")
        assert "overloaded_error" in entry.error
        assert QUESTION not in entry.error
        assert (
            'refdesk_upstream_errors_total{type="overloaded_error",upstream="up"} 1.0'
            in desk.metrics()
        )
        assert 'refdesk_request_ends_total{end="upstream_error"} 1.0' in desk.metrics()
        line = next(each for each in logged if each["event"] == "request")
        assert (line["end"], line["error"]) == ("upstream_error", entry.error)


@pytest.mark.parametrize("wire", WIRES)
async def test_told_at_the_beginning_of_a_long_stream(desk: Desk, wire: str) -> None:
    """An error that the answer goes on after is found in what is kept of its beginning."""
    first, *rest = stream(wire, "word " * 40_000)
    told = event(ERRORS[wire])
    desk.upstream.will(sse(first + told + b"".join(rest)))

    await desk.ask(wire, stream=True, search=False)
    assert (await desk.last()).told == "overloaded_error"


@pytest.mark.parametrize("cut", [0, 5000, 20_000])
@pytest.mark.parametrize("wire", WIRES)
async def test_told_in_a_long_event(desk: Desk, wire: str, cut: int) -> None:
    """A failed response repeats its instructions and tools; it is found in whatever pieces."""
    told = json.loads(json.dumps(ERRORS[wire]))
    (told["response"] if wire == "responses" else told)["instructions"] = "Be brief. " * 4000
    desk.upstream.will(sse(b"".join(stream(wire)[:3]) + event(told), cut=cut))

    await desk.ask(wire, stream=True, search=False)
    assert (await desk.last()).told == "overloaded_error"


@pytest.mark.parametrize("search", [False, True])
@pytest.mark.parametrize("wire", WIRES)
async def test_told_before_the_connection_goes(desk: Desk, wire: str, search: bool) -> None:
    """An upstream that tells an error and closes the connection has told one, and was not cut."""
    body = b"".join(stream(wire)[:3]) + event(ERRORS[wire])
    desk.upstream.will([SSE_HEAD, chunk(body), Close()])
    got = await desk.ask(wire, stream=True, search=search)
    entry = await desk.last()

    assert got.content.count(b"overloaded_error") == body.count(b"overloaded_error")
    assert (entry.end, entry.told) == ("upstream_error", "overloaded_error")


@pytest.mark.parametrize("wire", WIRES)
async def test_told_as_a_whole_answer(desk: Desk, wire: str) -> None:
    """An error with a good status is one, too, and passes as it came."""
    body = ERRORS[wire]["response"] if wire == "responses" else ERRORS[wire]
    desk.upstream.will(whole(body))
    got = await desk.ask(wire, search=False)
    entry = await desk.last()

    assert got.json() == body
    assert (entry.status, entry.end, entry.told) == (200, "upstream_error", "overloaded_error")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("wire", WIRES)
async def test_good_answers_are_none(desk: Desk, wire: str, streamed: bool) -> None:
    """An answer that quotes an error is no error."""
    text = json.dumps(ERRORS[wire]) + "\n\nevent: error\n"
    body = b"".join(stream(wire, text))
    desk.upstream.will(sse(body) if streamed else whole(asks(wire) | {"content": text}))
    await desk.ask(wire, stream=streamed, search=False)
    entry = await desk.last()

    assert (entry.end, entry.told, entry.error) == ("", "", "")
    assert "refdesk_upstream_errors_total{" not in desk.metrics()
