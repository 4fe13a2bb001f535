"""How a stream ends, and how one is ended that was passed on unread and broke off."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from recorded import recording
from refdesk.wires import responses

STREAMS = [
    "stream-url-citations/1-response.sse",
    "stream-with-sources-then-replay/1-response.sse",
    "xai-web-search/response.sse",
    "deepseek-plain-stream/response.sse",
    "plain-function-call-stream/1-response.sse",
    "stream-error-after-200/response.sse",
]
KIB64 = 64 * 1024


def stream_of(name: str) -> bytes:
    return recording(f"openai-responses/{name}")


def broken(stream: bytes) -> bytes:
    return responses.broken_stream(stream[:KIB64], stream[-KIB64:], "the upstream hung up")


@pytest.mark.parametrize("name", STREAMS)
def test_recorded_streams_are_complete(name: str) -> None:
    """A stream with its terminal event is complete, whatever its line ends, and needs no ending."""
    stream = stream_of(name)
    for form in (
        stream,
        stream.rstrip(b"\n"),
        stream.replace(b"\n", b"\r\n"),
        stream + b"data: [DONE]\n\n",
        stream + b": bye\n\n",
        b"".join(line for line in stream.splitlines(True) if not line.startswith(b"event:")),
    ):
        assert responses.is_complete(form[-KIB64:])
        assert broken(form) == b""


@pytest.mark.parametrize("end", [b"", b"\n\n", b"\n\ndata: [DONE]\n\n", b"\n\n: bye\n\n"])
def test_a_final_event_longer_than_the_tail_is_seen(end: bytes) -> None:
    """The fields near the end of a response tell, where the event's name is out of sight."""
    stream = stream_of("stream-with-sources-then-replay/1-response.sse").rstrip(b"\n")
    assert responses.is_complete(stream[-2000:] + end)
    assert responses.is_complete(re.sub(rb'"usage":\{.*?\}\},', b"", stream)[-2000:] + end)
    assert responses.is_complete(b'"output_text"}],"usage":null}}' + end)
    assert not responses.is_complete(stream[-2000:-400] + end)
    assert not responses.is_complete(b'"output":[],"tool_choice":"auto","usage":null}}' + end)
    assert not responses.is_complete(b'"tool_choice":"auto","status":"in_progress"}}' + end)
    assert not responses.is_complete(b'data: {"type":"x","tool_choice":"auto"}' + end)
    assert not responses.is_complete(b'lo","logprobs":[],"output_index":1}' + end)


@pytest.mark.parametrize("name", STREAMS[:4])
def test_cut_streams_are_not_complete(name: str) -> None:
    """Without the whole of its terminal event a stream is not complete."""
    stream = stream_of(name)
    last = stream.rindex(b"event: response.completed")
    for cut in (0, 1, 100, len(stream) // 2, last, last + 20, last + 300, len(stream) - 5):
        assert not responses.is_complete(stream[:cut][-KIB64:])


@pytest.mark.parametrize("name", STREAMS[:4])
def test_a_cut_stream_is_ended(
    name: str, parsed: Callable[..., Any], read_raw: Callable[..., Any]
) -> None:
    """Cut anywhere, it ends with ``response.failed`` and the next number, and all is JSON."""
    stream = stream_of(name)
    last = stream.rindex(b"event: response.completed")
    id_ = json.loads(stream.split(b"data: ", 1)[1].split(b"\n", 1)[0])["response"]["id"]
    start = stream.index(b"\n\n") + 2
    cuts = {*range(start, len(stream) - 5, len(stream) // 12), last, last + 13, last + 40}
    for cut in sorted(cuts):
        events = parsed(stream[:cut] + broken(stream[:cut]))
        assert [e["type"] for e in events].count("response.failed") == 1
        numbers = [e["sequence_number"] for e in events if "sequence_number" in e]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        failed = events[-1]["response"]
        assert (failed["status"], failed["id"]) == ("failed", id_)
        assert failed["error"] == {"code": "server_error", "message": "the upstream hung up"}
        if cut <= KIB64:
            done = [e["item"] for e in events if e["type"] == "response.output_item.done"]
            assert failed["output"] == done
    assert read_raw(stream[:cut] + broken(stream[:cut]))[-1].type == "response.failed"


def test_every_place_of_a_cut(parsed: Callable[..., Any]) -> None:
    """Byte for byte through one event, its name, a three-byte character and its line ends."""
    start = (
        b"event: response.created\n"
        b'data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1"}}\n\n'
    )
    event = (
        "event: response.output_text.delta\r\n"
        'data: {"type":"response.output_text.delta","delta":"北\\u5317","sequence_number":1}'
        "\r\n\r\n"
    ).encode()
    for cut in range(len(event)):
        stream = start + event[:cut]
        events = parsed(stream + broken(stream))
        assert [e["type"] for e in events[-1:]] == ["response.failed"]
        assert len(events) == (2 if cut == 0 else 3)
        assert events[-1]["response"]["id"] == "resp_1"
        numbers = [e["sequence_number"] for e in events]
        assert numbers == list(range(len(events)))


def test_the_sdk_reads_on_over_a_cut_event(read_stream: Callable[..., Any]) -> None:
    """The SDK takes the finished half for a keepalive, and the failure for the end."""
    stream = stream_of("deepseek-plain-stream/response.sse")
    half = stream[: stream.rindex(b'"delta":" is"') + 11]
    events, final = read_stream(half + broken(half))
    assert [event.type for event in events[-2:]] == ["keepalive", "response.failed"]
    assert final is None
    assert events[-1].response.output[0].type == "reasoning"


def test_a_final_object_cut_in_the_middle_is_no_end(parsed: Callable[..., Any]) -> None:
    """Half a ``response.completed`` never reads as one."""
    stream = stream_of("stream-url-citations/1-response.sse")
    half = stream[: stream.rindex(b'"tool_choice"')]
    types = [event["type"] for event in parsed(half + broken(half))]
    assert types[-2:] == ["keepalive", "response.failed"]
    assert "response.completed" not in types


def test_a_stream_that_never_began(read_stream: Callable[..., Any]) -> None:
    """Cut after the head only: a response is created, and failed."""
    events, _ = read_stream(broken(b""))
    assert [event.type for event in events] == ["response.created", "response.failed"]
    assert [event.sequence_number for event in events] == [0, 1]


def test_a_beginning_out_of_sight(parsed: Callable[..., Any]) -> None:
    """Where the first event is longer than the head, its id and model still are in it."""
    long = b'{"type":"response.created","response":{"id":"resp_9","model":"m/1","instructions":"'
    stream = b"event: response.created\ndata: " + long + b"x" * KIB64 + b'"}}\n\n'
    stream += b'data: {"type":"response.in_progress","sequence_number":7}\n\n'
    created, failed = parsed(broken(stream))
    assert (created["sequence_number"], failed["sequence_number"]) == (8, 9)
    assert (failed["response"]["id"], failed["response"]["model"]) == ("resp_9", "m/1")


def test_an_event_longer_than_the_tail_is_only_ended() -> None:
    """An event whose beginning is out of sight cannot be finished; it is closed as it is."""
    stream = stream_of("deepseek-plain-stream/response.sse") + b"data: {" + b'"a":1,' * 20_000
    head, tail = stream[:KIB64], stream[-KIB64:]
    assert responses.broken_stream(head, tail, "gone").startswith(b"\n\nevent: response.failed\n")
