"""Streams that pass through unread: whether they ended, and what is written after a cut one."""

from __future__ import annotations

import re
from typing import Final

from refdesk.wires.base import GatewaySearch
from refdesk.wires.chat.chunks import is_json
from refdesk.wires.chat.stream import ChatRewriter, error_event
from refdesk.wires.document import Document
from refdesk.wires.sse import Decoder
from refdesk.wires.unfinished import closing

_DONE_LAST: Final = re.compile(rb"(?:^|[\r\n])data: ?\[DONE\]\s*$")
_SHORT_TAIL: Final = 2048
"""The last chunk and the one with the usage nearly always fit in this many bytes."""
_NO_SEARCH: Final = GatewaySearch(id="", query="")
_NO_REQUEST: Final = Document.read(b"{}")


def is_complete(tail: bytes) -> bool:
    """
    Whether a stream that ends in these bytes ended as the wire says it must.

    That is with ``[DONE]`` or, as some upstreams leave it out, with a finish_reason for every
    choice; an error of the upstream's own is an end, too.
    """
    if _DONE_LAST.search(tail, max(0, len(tail) - 64)):
        return True
    return _ends_whole(tail[-_SHORT_TAIL:]) or (len(tail) > _SHORT_TAIL and _ends_whole(tail))


def _ends_whole(tail: bytes) -> bool:
    reader = ChatRewriter(_NO_SEARCH, _NO_REQUEST)
    reader.feed(tail)
    reader.finish()
    return not reader.broken


def broken_stream(head: bytes, tail: bytes, message: str) -> bytes:
    """Return an error event; nothing, where the answer is complete or ended in an error."""
    if is_complete(tail):
        return b""
    return _rest_of_event(tail) + error_event(message)


def _rest_of_event(tail: bytes) -> bytes:
    """
    Return what ends the event that a stream broke off in.

    Half a chunk cannot be taken back.  It is made one that says nothing, as the chunk with the
    usage is: a client goes on to the error, and reads no finish_reason that nobody sent.
    """
    decoder = Decoder()
    for _ in decoder.feed(tail):
        pass
    rest = decoder.finish()
    if rest is None:
        return b""
    made_whole = b""
    if rest.data and not is_json(rest.data):
        made_whole = closing(rest.data, b'"choices":[]') or b""
    elif rest.raw.endswith((b"data:", b"data: ")):
        made_whole = b'{"choices":[]}'
    return made_whole + b"\n\n"
