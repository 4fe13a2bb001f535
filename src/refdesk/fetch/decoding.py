"""Undo gzip and deflate, never making more than was allowed."""

from __future__ import annotations

import zlib
from typing import Final

_GZIP: Final = 16 + zlib.MAX_WBITS


class TooLong(Exception):
    """The body is longer than allowed."""


class BadEncoding(Exception):
    """The body is not what its encoding says; the message is the end of a sentence."""


def is_bare_deflate(start: bytes) -> bool:
    """Whether deflate that begins with these two bytes lacks zlib's format (RFC 1950, 2.2)."""
    return start[0] & 15 != 8 or int.from_bytes(start[:2]) % 31 != 0


class BodyDecoder:
    """
    Take a body as it arrives, give it decoded.

    Args:
        encoding: The ``content-encoding``, empty if there is none.
        cap: The most bytes, before decoding and after, each counted for itself.

    Raises:
        BadEncoding: The encoding is none that was asked for.
    """

    def __init__(self, encoding: str, cap: int) -> None:
        self._cap = cap
        self._raw = 0
        self._body = bytearray()
        self._undecided: bytes | None = None
        name = encoding.strip().lower()
        if name in ("", "identity"):
            self._inflate = None
        elif name in ("gzip", "x-gzip"):
            self._inflate = zlib.decompressobj(_GZIP)
        elif name == "deflate":
            # It should be wrapped in zlib's format; some servers send it bare.
            self._inflate = zlib.decompressobj()
            self._undecided = b""
        else:
            raise BadEncoding(f"it came in the encoding {name[:40]!r}, which was not asked for")

    def feed(self, data: bytes) -> None:
        """Take the next bytes; TooLong or BadEncoding if there is something wrong with them."""
        self._raw += len(data)
        if self._raw > self._cap:
            raise TooLong
        if self._inflate is not None:
            data = self._decode(data)
        if len(self._body) + len(data) > self._cap:
            raise TooLong
        self._body += data

    def finish(self) -> bytes:
        """Return the whole body; BadEncoding if the encoded data ended too early."""
        if self._inflate is not None and self._raw and not self._inflate.eof:
            raise BadEncoding("its compressed data ends too early")
        return bytes(self._body)

    def _decode(self, data: bytes) -> bytes:
        if self._undecided is not None:
            data = self._undecided + data
            if len(data) < 2:
                self._undecided = data
                return b""
            self._undecided = None
            if is_bare_deflate(data):
                self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        assert self._inflate is not None
        if self._inflate.eof:
            raise BadEncoding("more follows after its compressed data")
        try:
            out = self._inflate.decompress(data, self._cap - len(self._body) + 1)
        except zlib.error:
            raise BadEncoding("its compressed data is damaged") from None
        if self._inflate.unused_data:
            raise BadEncoding("more follows after its compressed data")
        return out
