"""
Server-sent events, as bytes (https://html.spec.whatwg.org/multipage/server-sent-events.html).

Lines stay bytes until they are whole, since a chunk may end inside a character.  Every event keeps
the bytes it came as, so that what nobody edits is sent on unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import Raw

from refdesk.errors import UpstreamError
from refdesk.wires.document import dump, plain, string

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
"""The longest event we hold: a final object with a few images fits, a runaway does not."""

_END: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n|\n\r(?!\n)|\r\r\n")
_LINE: Final = re.compile(rb"\r\n|\n|\r")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """
    One event: its name (empty where none was sent), its data, and the bytes it came as.

    A block of comments only has neither name nor data.
    """

    name: str
    data: bytes
    raw: bytes


class Decoder:
    """Cut a stream of bytes into events, however the bytes were cut."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._searched = 0

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events that are whole by now; UpstreamError if one is too long."""
        held = self._held
        if held:
            held += data
        buffer = held or data
        start = 0
        at = max(0, self._searched - 3)
        # Nearly all upstreams end lines with a line feed alone, which is found without a pattern.
        find = _first_end if b"\r" in buffer else _first_plain_end
        while (end := find(buffer, at)) > 0:
            yield _event(bytes(buffer[start:end]))
            start = at = end
        if held:
            del held[:start]
        else:
            held += memoryview(data)[start:]
        self._searched = len(held)
        if len(held) > MAX_EVENT_BYTES:
            raise UpstreamError(
                f"the upstream sent an event of more than {MAX_EVENT_BYTES} bytes",
                fault="bad_response",
            )

    def finish(self) -> Event | None:
        """Return the last event, where the stream ended without a blank line after it."""
        rest, self._held, self._searched = bytes(self._held), bytearray(), 0
        return _event(rest) if rest.strip() else None


def _first_plain_end(buffer: bytes | bytearray, at: int) -> int:
    found = buffer.find(b"\n\n", at)
    return found + 2 if found >= 0 else -1


def _first_end(buffer: bytes | bytearray, at: int) -> int:
    match = _END.search(buffer, at)
    # A carriage return at the very end may be half of a line end.
    if match is None or (match.end() == len(buffer) and buffer.endswith(b"\r")):
        return -1
    return match.end()


def _event(raw: bytes) -> Event:
    name = ""
    data: list[bytes] = []
    text = raw.removeprefix(_BOM)
    for line in _LINE.split(text) if b"\r" in text else text.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode(errors="replace")
    return Event(name, b"\n".join(data), raw)


def joined(strings: Sequence[Raw | bytes]) -> Raw:
    """
    String JSON texts together without reading them; what is no string is left out.

    A character that was cut between two of them, each with half of its escape, is whole again.
    """
    inner = (plain(each) for each in strings)
    whole = b'"' + b"".join(each[1:-1] for each in inner if each.startswith(b'"')) + b'"'
    if string(whole) is None:
        # Half of a character is left.
        whole = dump("".join(string(each) or "" for each in strings))
    return Raw(whole)


def one_line(data: bytes) -> bytes:
    """Return JSON on one line: a line end can only be white space in it."""
    return data.replace(b"\r", b" ").replace(b"\n", b" ")


def encode(data: bytes, name: str = "") -> bytes:
    """Write one event; ``data`` must hold no line end."""
    head = b"event: " + name.encode() + b"\n" if name else b""
    return head + b"data: " + data + b"\n\n"
