"""Answers of upstreams that compress although nobody asked them to, decoded within bounds."""

from __future__ import annotations

import zlib
from typing import Final

from refdesk.errors import UpstreamError
from refdesk.upstream import Reply

MAX_DECODED_BYTES: Final = 128 * 1024 * 1024


def decoded(reply: Reply) -> bytes:
    """
    Return the body of a whole answer without its content encoding.

    The header that names the encoding is taken off the reply, since the body no longer has it.

    Raises:
        UpstreamError: The encoding is not gzip or deflate, or the body is not whole.
    """
    coding = b""
    for name, value in reply.headers:
        if name == b"content-encoding":
            coding = value.lower().strip()
    if coding in (b"", b"identity"):
        return reply.body
    if coding not in (b"gzip", b"x-gzip", b"deflate"):
        raise UpstreamError(
            f"the upstream encoded its answer as {coding[:20].decode('latin-1')!r} unasked",
            fault="bad_response",
        )
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        body = inflate.decompress(reply.body, MAX_DECODED_BYTES)
    except zlib.error as exc:
        raise UpstreamError(
            f"the upstream's {coding.decode()} answer is broken", fault="bad_response"
        ) from exc
    if not inflate.eof:
        raise UpstreamError(
            f"the upstream's {coding.decode()} answer is cut or too large", fault="bad_response"
        )
    reply.headers[:] = [line for line in reply.headers if line[0] != b"content-encoding"]
    return body
