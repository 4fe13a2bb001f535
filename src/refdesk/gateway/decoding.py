"""Answers of upstreams that compress although nobody asked them to, decoded within bounds."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import Final

from refdesk.errors import UpstreamError
from refdesk.upstream import Reply

MAX_DECODED_BYTES: Final = 128 * 1024 * 1024
"""Bytes of an upstream's answer once decoded; a larger one is an error of the upstream (502)."""
_PIECE_BYTES: Final = 64 * 1024
"""However much a piece of a stream expands to, no more than this is held at once."""


def decoded(reply: Reply) -> bytes:
    """
    Return the body of a whole answer without its content encoding.

    The header that names the encoding is taken off the reply, since the body no longer has it.

    Raises:
        UpstreamError: The encoding is not gzip or deflate, or the body is not whole.
    """
    coding = _coding(reply)
    if not coding:
        return reply.body
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        body = inflate.decompress(reply.body, MAX_DECODED_BYTES)
    except zlib.error as exc:
        raise UpstreamError(
            f"the upstream's {coding} answer is broken", fault="bad_response"
        ) from exc
    if not inflate.eof:
        raise UpstreamError(
            f"the upstream's {coding} answer is cut or too large", fault="bad_response"
        )
    _take_off(reply)
    return body


def decoded_pieces(reply: Reply) -> AsyncIterator[bytes]:
    """
    Return the pieces of a streamed answer without its content encoding.

    The header that names the encoding is taken off the reply.  Iterating raises UpstreamError where
    the stream is broken or breaks off.

    Raises:
        UpstreamError: The encoding is not gzip or deflate.
    """
    coding = _coding(reply)
    if not coding:
        return reply
    _take_off(reply)
    return _inflated(reply, coding)


async def _inflated(reply: Reply, coding: str) -> AsyncIterator[bytes]:
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
    async for piece in reply:
        rest = piece
        while rest:
            try:
                data = inflate.decompress(rest, _PIECE_BYTES)
            except zlib.error as exc:
                raise UpstreamError(
                    f"the upstream's {coding} stream is broken", fault="bad_response"
                ) from exc
            rest = inflate.unconsumed_tail
            if data:
                yield data
    if not inflate.eof:
        raise UpstreamError(f"the upstream's {coding} stream is cut", fault="cut")


def _coding(reply: Reply) -> str:
    coding = b""
    for name, value in reply.headers:
        if name == b"content-encoding":
            coding = value.lower().strip()
    if coding in (b"", b"identity"):
        return ""
    if coding not in (b"gzip", b"x-gzip", b"deflate"):
        raise UpstreamError(
            f"the upstream encoded its answer as {coding[:20].decode('latin-1')!r} unasked",
            fault="bad_response",
        )
    return coding.decode()


def _take_off(reply: Reply) -> None:
    reply.headers[:] = [line for line in reply.headers if line[0] != b"content-encoding"]
