"""Answers of upstreams that compress although nobody asked them to, decoded within bounds."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Final

from refdesk.errors import UpstreamError
from refdesk.fetch.decoding import is_bare_deflate
from refdesk.upstream import Reply

MAX_DECODED_BYTES: Final = 128 * 1024 * 1024
"""Bytes of an upstream's answer once decoded; a larger one is an error of the upstream (502)."""
_PIECE_BYTES: Final = 64 * 1024
"""However much a piece of a stream expands to, no more than this is held at once."""
_GZIP: Final = 16 + zlib.MAX_WBITS
_BARE: Final = -zlib.MAX_WBITS
_KNOWN: Final = frozenset({"gzip", "x-gzip", "deflate"})


def is_encoded(reply: Reply) -> bool:
    """Whether an answer has a content encoding; UpstreamError where it cannot be decoded."""
    return bool(_coding(reply))


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
    decoder = _Decoder(coding)
    body = bytearray()
    try:
        for piece in decoder.feed(reply.body):
            body += piece
            if len(body) > MAX_DECODED_BYTES:
                raise UpstreamError(
                    f"the upstream's {coding} answer is too large", fault="bad_response"
                )
    except zlib.error as exc:
        raise UpstreamError(
            f"the upstream's {coding} answer is broken", fault="bad_response"
        ) from exc
    if not decoder.whole:
        raise UpstreamError(f"the upstream's {coding} answer is cut", fault="bad_response")
    _take_off(reply)
    return bytes(body)


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
    decoder = _Decoder(coding)
    async for data in reply:
        try:
            for piece in decoder.feed(data):
                yield piece
        except zlib.error as exc:
            raise UpstreamError(
                f"the upstream's {coding} stream is broken", fault="bad_response"
            ) from exc
    if not decoder.whole:
        raise UpstreamError(f"the upstream's {coding} stream is cut", fault="cut")


class _Decoder:
    """
    Undoes gzip, of one member or several, and deflate, wrapped as it should be or bare.

    Some servers write a member for each event of a stream, and some send deflate without zlib's
    format around it.
    """

    def __init__(self, coding: str) -> None:
        self._gzip = coding != "deflate"
        self._start = b""
        self._inflate = zlib.decompressobj(_GZIP) if self._gzip else None
        self._begun = False

    @property
    def whole(self) -> bool:
        """Whether the data end where they may; no data at all are no body."""
        ended = self._inflate is not None and self._inflate.eof
        return ended or not (self._begun or self._start)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what these bytes come to, in pieces of bounded size; zlib.error if they cannot."""
        if self._inflate is None:
            data = self._start + data
            if len(data) < 2:
                self._start = data
                return
            self._inflate = zlib.decompressobj(_BARE if is_bare_deflate(data) else zlib.MAX_WBITS)
        while data:
            if self._inflate.eof:
                if not self._gzip:
                    raise zlib.error("more follows after the compressed data")
                self._inflate = zlib.decompressobj(_GZIP)
            self._begun = True
            piece = self._inflate.decompress(data, _PIECE_BYTES)
            data = self._inflate.unconsumed_tail or self._inflate.unused_data
            if piece:
                yield piece


def _coding(reply: Reply) -> str:
    """Return the coding that is to be undone, or an empty text."""
    named = b",".join(value for name, value in reply.headers if name == b"content-encoding")
    words = [word.strip() for word in named.decode("latin-1").lower().split(",")]
    codings = [word for word in words if word not in ("", "identity")]
    if not codings:
        return ""
    if len(codings) > 1 or codings[0] not in _KNOWN:
        raise UpstreamError(
            f"the upstream encoded its answer as {', '.join(codings)[:40]!r} unasked",
            fault="bad_response",
        )
    return codings[0]


def _take_off(reply: Reply) -> None:
    reply.headers[:] = [line for line in reply.headers if line[0] != b"content-encoding"]
