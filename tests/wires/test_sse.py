"""Server-sent events come out as they went in, however the bytes were cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.errors import UpstreamError
from refdesk.wires import sse
from refdesk.wires.sse import Decoder, Event, encode

LINES = ["data: x", "data:y", "data", ": comment", "event: e", "id: 1", "data: 北"]


def read(data: bytes, cuts: list[int]) -> list[Event]:
    """Decode bytes that arrive in pieces of these sizes, in turn."""
    decoder, events, at, turn = Decoder(), [], 0, 0
    while at < len(data):
        size = cuts[turn % len(cuts)]
        events += decoder.feed(data[at : at + size])
        at, turn = at + size, turn + 1
    last = decoder.finish()
    return events if last is None else [*events, last]


@given(
    blocks=st.lists(
        st.lists(st.sampled_from(LINES), min_size=1, max_size=3), min_size=1, max_size=5
    ),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    bom=st.booleans(),
    closed=st.booleans(),
    cuts=st.lists(st.integers(1, 12), min_size=1, max_size=9),
)
def test_any_cut_gives_the_same_events(
    blocks: list[list[str]], end: str, bom: bool, closed: bool, cuts: list[int]
) -> None:
    """All three line ends, a byte-order mark, no blank line at the end: one list of events."""
    text = "".join(end.join(block) + end + end for block in blocks)
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    if not closed:
        data = data.removesuffix(end.encode())

    events = read(data, cuts)

    assert b"".join(event.raw for event in events) == data
    assert [event.data for event in events] == [
        "\n".join(
            line.partition(":")[2].removeprefix(" ") for line in block if line.startswith("data")
        ).encode()
        for block in blocks
    ]
    assert [event.name for event in events] == [
        "e" if "event: e" in block else "" for block in blocks
    ]


def test_line_ends_may_be_mixed() -> None:
    """A blank line of one kind ends an event whose lines end in another."""
    data = b"data: 1\r\n\r\ndata: 2\n\ndata: 3\n\r\ndata: 4\r\r"

    assert [event.data for event in read(data, [1])] == [b"1", b"2", b"3", b"4"]


def test_encoded_events_decode() -> None:
    """What is written is what is read."""
    assert read(encode(b"{}", "x") + encode(b"[DONE]"), [3]) == [
        Event("x", b"{}", b"event: x\ndata: {}\n\n"),
        Event("", b"[DONE]", b"data: [DONE]\n\n"),
    ]


def test_an_event_has_a_longest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that never ends is our error, not all of the memory."""
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 10)

    with pytest.raises(UpstreamError, match="10 bytes"):
        list(Decoder().feed(b"data: 0123456789"))
