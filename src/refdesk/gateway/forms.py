"""
The form that an answer has, whatever its label says.

Upstreams label JSON as a stream and the reverse, and answer one form where the other was asked for.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Final

from refdesk.errors import UpstreamError

_FIELD: Final = re.compile(rb"(?:data|event|id|retry)[ \t]*:|:")
_FIELDS: Final = (b"data", b"event", b"id", b"retry")
_BOM: Final = b"\xef\xbb\xbf"
_ENOUGH: Final = 64
Headers = list[tuple[bytes, bytes]]


def is_stream(start: bytes, *, whole: bool = False) -> bool | None:
    """
    Return whether a body that begins so is server-sent events.

    Args:
        start: Its first bytes.
        whole: They are all of it.

    Returns:
        None while too little has come to tell.
    """
    text = start.removeprefix(_BOM).strip(b" \t\r\n")
    if _FIELD.match(text):
        return True
    begun = _BOM.startswith(start) or any(name.startswith(text) for name in _FIELDS)
    return None if begun and not whole and len(start) < _ENOUGH else False


async def peek(
    pieces: AsyncIterator[bytes], *, labelled: bool
) -> tuple[bool, AsyncIterator[bytes]]:
    """
    Return whether these are the pieces of server-sent events, and all pieces.

    Args:
        pieces: Of a body.
        labelled: What its label says; a body without content is what it says.

    Raises:
        UpstreamError: The body broke off before that could be told.
    """
    start = b""
    told: bool | None = None
    async for piece in pieces:
        start += piece
        if (told := is_stream(start)) is not None:
            break
    if told is None:
        told = bool(is_stream(start, whole=True)) if start else labelled
    return told, _again(start, pieces)


async def whole(pieces: AsyncIterator[bytes], max_bytes: int) -> bytes:
    """Return all pieces as one, or raise UpstreamError where there are too many."""
    parts: list[bytes] = []
    size = 0
    async for piece in pieces:
        size += len(piece)
        if size > max_bytes:
            raise UpstreamError("the upstream's answer is too large", fault="bad_response")
        parts.append(piece)
    return b"".join(parts)


async def failing(fault: UpstreamError) -> AsyncIterator[bytes]:
    """Yield nothing, and raise the fault."""
    for _ in ():
        yield b""
    raise fault


def as_json(headers: Headers) -> Headers:
    """Return the headers of an answer that was put together as JSON."""
    others = [line for line in headers if line[0] != b"content-type"]
    return [(b"content-type", b"application/json"), *others]


async def _again(start: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    if start:
        yield start
    async for piece in pieces:
        yield piece
