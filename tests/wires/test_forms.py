"""An answer in the other form than it came: the official SDKs read the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from answered import MADE, recorded_streams, search_of, streamed, wholes
from judges import ASKED, WIRES, Judge, cut, told
from refdesk.errors import UpstreamError
from refdesk.wires.document import Document
from responded import answer as response_events
from responded import sse

# The SDK serialises what it read, and some of what vendors send is not in its types.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")

ALL = {
    wire: document
    if wire != "chat"
    else Document.read(b'{"model":"m","stream_options":{"include_usage":true}}')
    for wire, document in ASKED.items()
}
CASES = [
    pytest.param(wire, body, id=f"{wire}-{name}")
    for wire in WIRES
    for name, body, count in wholes(wire)
    if count == 10
]
STREAMS = [
    pytest.param(wire, body, id=f"{wire}-{name}")
    for wire in WIRES
    for name, body in recorded_streams(wire)
]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """The official clients."""
    judge = Judge()
    yield judge
    judge.anthropic.close()
    judge.openai.close()


def _same(wire: str, one: Any, other: Any) -> None:
    assert _plain(wire, told(wire, one)) == _plain(wire, told(wire, other))


def _plain(wire: str, told: Any) -> Any:
    if wire == "responses":
        # `gathered` tells the client's own tools, as every rewritten answer does.
        return {key: each for key, each in told.items() if key not in ("tools", "tool_choice")}
    return told


@pytest.mark.parametrize(("wire", "body"), CASES)
def test_a_whole_answer_as_a_stream(judge: Judge, wire: str, body: bytes) -> None:
    """A stream that was made of a whole answer adds up to it."""
    stream = WIRES[wire].streamed(body, ALL[wire])
    assert WIRES[wire].is_complete(stream)
    _same(wire, judge.accumulated(wire, cut(stream, 997)), judge.whole(wire, body))


@pytest.mark.parametrize(("wire", "body"), CASES)
def test_pretty_json_as_a_stream(judge: Judge, wire: str, body: bytes) -> None:
    """Line ends between the tokens of a whole answer end no event."""
    pretty = json.dumps(json.loads(body), indent=1).replace("\n", "\r\n").encode()
    stream = WIRES[wire].streamed(b"\xef\xbb\xbf" + pretty, ALL[wire])
    _same(wire, judge.accumulated(wire, [stream]), judge.whole(wire, body))


@pytest.mark.parametrize(("wire", "body"), CASES)
def test_a_stream_as_a_whole_answer(judge: Judge, wire: str, body: bytes) -> None:
    """A whole answer that was put together of a stream is the one that the SDK adds up."""
    stream = streamed(wire, body)
    gathered = WIRES[wire].gathered(stream, ALL[wire])
    assert gathered.complete
    _same(wire, judge.whole(wire, gathered.body), judge.accumulated(wire, [stream]))


@pytest.mark.parametrize(("wire", "body"), STREAMS)
def test_a_recorded_stream_as_a_whole_answer(judge: Judge, wire: str, body: bytes) -> None:
    """Recorded streams, provider's citations and all, add up as the SDK adds them."""
    gathered = WIRES[wire].gathered(body, ALL[wire])
    assert gathered.complete
    _same(wire, judge.whole(wire, gathered.body), judge.accumulated(wire, [body]))


@pytest.mark.parametrize(("wire", "body"), CASES)
def test_a_searched_answer_in_both_forms(judge: Judge, wire: str, body: bytes) -> None:
    """A search put into the other form shows as it does in its own."""
    search = search_of(10)
    of = WIRES[wire]
    rewriter = of.rewriter(search, ALL[wire])
    stream = rewriter.feed(of.streamed(body, ALL[wire])) + rewriter.finish()
    whole = of.attach_search(body, search, ALL[wire])
    _same(wire, judge.accumulated(wire, [stream]), judge.whole(wire, whole))

    gathered = of.gathered(streamed(wire, body), ALL[wire]).body
    again = of.attach_search(gathered, search, ALL[wire])
    _same(wire, judge.whole(wire, again), judge.whole(wire, whole))


@pytest.mark.parametrize("wire", WIRES)
def test_half_a_character_in_two_deltas(wire: str) -> None:
    """A character that the upstream cut between two deltas is whole in the answer."""
    text = "a\U0001f3d4b"
    write = {"messages": _message_of, "chat": _chunks_of, "responses": _events_of}[wire]
    stream = write(["a\\ud83c", "\\udfd4b"])
    body = json.loads(WIRES[wire].gathered(stream, ALL[wire]).body)
    assert text in json.dumps(body, ensure_ascii=False)


def _message_of(pieces: list[str]) -> bytes:
    begin = b'data: {"type":"message_start","message":{"type":"message","content":[]}}\n\n'
    begin += (
        b'data: {"type":"content_block_start","index":0,'
        b'"content_block":{"type":"text","text":""}}\n\n'
    )
    deltas = "".join(
        'data: {"type":"content_block_delta","index":0,'
        f'"delta":{{"type":"text_delta","text":"{piece}"}}}}\n\n'
        for piece in pieces
    )
    return begin + deltas.encode() + b'data: {"type":"message_stop"}\n\n'


def _chunks_of(pieces: list[str]) -> bytes:
    chunks = "".join(
        f'data: {{"choices":[{{"index":0,"delta":{{"content":"{piece}"}}}}]}}\n\n'
        for piece in pieces
    )
    return chunks.encode() + b"data: [DONE]\n\n"


def _events_of(pieces: list[str]) -> bytes:
    *_, end = response_events("")
    begun = [each for each in response_events("") if each["type"].endswith(".added")]
    deltas = "".join(
        f'data: {{"type":"response.output_text.delta","item_id":"msg_1","delta":"{piece}"}}\n\n'
        for piece in pieces
    )
    end["response"]["output"] = []
    return sse(response_events("")[0], *begun) + deltas.encode() + sse(end)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b'{"content":5,"output":5}'])
def test_what_is_no_answer(wire: str, body: bytes) -> None:
    """A body that is none of this wire cannot be given another form, and that is said."""
    with pytest.raises(UpstreamError):
        WIRES[wire].streamed(body, ALL[wire])
    with pytest.raises(UpstreamError):
        WIRES[wire].gathered(b"data: " + body + b"\n\n", ALL[wire])


ERRORS = {
    "messages": b'event: error\ndata: {"type":"error","error":{"message":"overloaded"}}\n\n',
    "chat": b'data: {"error":{"message":"overloaded"}}\n\n',
    "responses": b'data: {"type":"error","error":{"message":"overloaded"}}\n\n',
}


@pytest.mark.parametrize("wire", WIRES)
def test_an_error_of_the_upstream_is_told(wire: str) -> None:
    """A stream that is nothing but an error has its message in ours."""
    with pytest.raises(UpstreamError, match="overloaded"):
        WIRES[wire].gathered(ERRORS[wire], ALL[wire])


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_that_broke_off_keeps_its_text(wire: str) -> None:
    """Cut after some text, what was said is there, and the answer is not called complete."""
    body = streamed(wire, json.dumps(MADE[wire]["no marker"]).encode())
    at = body.rindex(b"know") + 60
    gathered = WIRES[wire].gathered(body[:at], ALL[wire])
    assert not gathered.complete
    assert "I do" in json.dumps(json.loads(gathered.body))
