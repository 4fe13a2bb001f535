"""How streams end that were passed on unread."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest

from recorded import recording
from refdesk.wires import messages, sse

STREAM = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message",'
    b'"role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,'
    b'"usage":{"input_tokens":7,"output_tokens":1}}}\n\n'
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
    b'"content_block":{"type":"text","text":""}}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"A \xe5\x8c\x97 \xf0\x9f\x98\x80 \xe0\xa0\x80"}}\n\n'
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn",'
    b'"stop_sequence":null},"usage":{"output_tokens":5}}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
)
ERROR = b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"%s"}}\n\n'
LONGEST = 64 * 1024


@pytest.mark.parametrize(
    "tail",
    [
        STREAM,
        STREAM[-40:],
        STREAM.removesuffix(b"\n\n"),
        STREAM.replace(b"\n", b"\r\n"),
        STREAM + b'event: ping\ndata: {"type":"ping"}\n\n: bye\n\n',
        b'data: {"type":"message_stop"}\n\n',
        b'{"type":"half"}\n\n' + STREAM[-60:],
        ERROR % b"Overloaded",
        ERROR % (b"x" * 5000),
    ],
)
def test_complete(tail: bytes) -> None:
    """A stream that ends in message_stop, or in the upstream's own error, has ended rightly."""
    assert messages.is_complete(tail)
    assert messages.broken_stream(tail, tail, "Cut.") == b""


@pytest.mark.parametrize(
    "tail",
    [
        b"",
        b"\n\n",
        STREAM[:-4],
        STREAM[:-80],
        STREAM.partition(b"event: message_stop")[0],
        b'event: content_block_delta\ndata: {"text":"event: message_stop"}\n\n',
        b"event: message_stop\n\n",
        b"<html>event: message_stop</html>",
        b"x" * 3000,
    ],
)
def test_incomplete(tail: bytes) -> None:
    """Everything else broke off."""
    assert not messages.is_complete(tail)


@pytest.mark.parametrize(
    "name", ["plain-thinking-stream", "stream-search-citations", "constructed-error-result"]
)
def test_recorded_streams_are_complete(name: str) -> None:
    """Recorded streams are complete at their end and nowhere before."""
    whole = recording(f"anthropic-messages/{name}/response.sse")

    assert messages.is_complete(whole[-LONGEST:])
    for at in range(0, len(whole) - 60, 997):
        assert not messages.is_complete(whole[:at][-LONGEST:])


def test_breaks_anywhere(endpoint: Any) -> None:
    """Wherever a stream broke off, also in a character, the SDK tells what happened, no more."""
    characters = range(STREAM.index(b"\xe5"), STREAM.index(b"\xe0") + 4)
    for at in sorted({*range(0, len(STREAM) - 2, 7), *characters}):
        sent = STREAM[:at]
        ending = messages.broken_stream(sent, sent, "The upstream broke off.")

        with pytest.raises(anthropic.APIStatusError) as caught:
            endpoint.streamed(sent + ending)

        assert caught.value.body == json.loads(
            (ERROR % b"The upstream broke off.").split(b"a: ")[1]
        )


def test_every_break_can_be_read() -> None:
    """Wherever a stream broke off, each event that a reader sees is whole, and known."""
    known = {json.loads(each.data)["type"] for each in sse.Decoder().feed(STREAM)}
    for at in range(len(STREAM) - 2):
        out = STREAM[:at] + messages.broken_stream(STREAM[:at], STREAM[:at], "Cut.")

        seen = [json.loads(each.data.decode()) for each in sse.Decoder().feed(out) if each.data]

        assert [each["type"] for each in seen].index("error") == len(seen) - 1
        assert {each["type"] for each in seen} <= known | {"ping", "error"}


@pytest.mark.parametrize("lines", [b"\n", b"\r\n", b"\r"])
def test_break_between_events(lines: bytes) -> None:
    """After whole events comes the error and nothing else."""
    sent = STREAM[: STREAM.index(b"event: content_block_stop")].replace(b"\n", lines)

    assert messages.broken_stream(sent, sent, "Cut.") == ERROR % b"Cut."


def test_whole_event_without_its_end() -> None:
    """An event that only lacks its blank line is let through before the error."""
    sent = STREAM[: STREAM.index(b"\n\nevent: message_delta")]

    out = sent + messages.broken_stream(sent, sent, "Cut.")

    assert [each.name for each in sse.Decoder().feed(out)][-2:] == ["content_block_stop", "error"]


@pytest.mark.parametrize("cut", [0, 1, 2])
def test_long_half_event(cut: int) -> None:
    """Of a half event longer than the tail only its end is seen, and it is still closed."""
    text = ("北" * LONGEST).encode()
    half = b'event: content_block_start\ndata: {"x":"' + text[: len(text) - cut]
    sent = STREAM[:300] + b"\n\n" + half

    out = sent + messages.broken_stream(sent[:LONGEST], sent[-LONGEST:], "Cut.")

    assert out.decode()
    last = list(sse.Decoder().feed(out))[-2:]
    assert [each.name for each in last] == ["ping", "error"]
    assert json.loads(last[1].data)["error"]["message"] == "Cut."
