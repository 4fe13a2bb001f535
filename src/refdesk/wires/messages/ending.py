"""How a streamed answer ends, and what is written after one that was passed on and broke off."""

from __future__ import annotations

import re
from typing import Final

from refdesk.wires.messages.events import error_event, read
from refdesk.wires.sse import Decoder
from refdesk.wires.unfinished import closing

_ENDS: Final = ("message_stop", "error")
_SHORT_TAIL: Final = 256
"""The usual end of a stream fits in this many bytes; only an error may need more."""
_LINE: Final = re.compile(rb"\r\n|\n|\r")
_WHOLE_END: Final = re.compile(rb"(?:\r\n|\n|\r)(?:\r\n|\n|\r)\Z")


def is_complete(tail: bytes) -> bool:
    """Whether the last event is ``message_stop``, or an error that the upstream told itself."""
    if len(tail) > _SHORT_TAIL and _ends_whole(tail[-_SHORT_TAIL:]):
        return True
    return _ends_whole(tail)


def broken_stream(head: bytes, tail: bytes, message: str) -> bytes:
    """Return the ending for a stream that was passed on unread and broke off."""
    if is_complete(tail):
        return b""
    return _closing(tail) + error_event(message)


def _ends_whole(tail: bytes) -> bool:
    decoder = Decoder()
    events = list(decoder.feed(tail))
    if (rest := decoder.finish()) is not None:
        events.append(rest)
    for event in reversed(events):
        if event.data and event.name != "ping":
            body = read(event.data)
            return body is not None and (event.name in _ENDS or body.type in _ENDS)
    return False


def _closing(tail: bytes) -> bytes:
    """
    Return what must come before an event of ours, where a stream broke off in the midst of one.

    A whole event is let through.  Half of one cannot be unsent, so it is made a ping: its data by
    a last type, and the event by a last name, by which the official SDK passes over it unread.
    """
    if not tail or _WHOLE_END.search(tail):
        return b""
    decoder = Decoder()
    list(decoder.feed(tail))
    rest = decoder.finish()
    if rest is None or (rest.data and read(rest.data) is not None):
        return b"\n\n"
    made_whole = None
    if _LINE.split(rest.raw)[-1].startswith(b"data:"):
        made_whole = closing(rest.data, b'"type":"ping"')
    if made_whole is None:
        # Its beginning came before the tail, or it has no data yet.
        made_whole = _rest_of_character(tail)
    return made_whole + b"\nevent: ping\n\n"


def _rest_of_character(tail: bytes) -> bytes:
    """Return bytes that make a character of the one that the tail ends in; any will do."""
    for length in range(1, 4):
        last = tail[-length:]
        if last[0] >= 0xC2:
            for rest in (b"\x80", b"\xa0", b"\x90"):
                filled = last + rest
                while len(filled) < 4 and not _is_text(filled):
                    filled += b"\x80"
                if not _is_text(last) and _is_text(filled):
                    return filled[length:]
            break
    return b""


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
