"""Answers that are compressed unasked: decoded however they are cut, or refused by name."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.errors import UpstreamError
from refdesk.gateway.decoding import decoded, decoded_pieces

TEXT = b"data: a piece of an answer\n\n" * 40


class Answer:
    """An upstream's answer: a body in pieces, under one or more names of codings."""

    def __init__(self, body: bytes, *codings: str, step: int = 10_000) -> None:
        self.body = body
        self.headers = [(b"content-encoding", coding.encode()) for coding in codings]
        self._step = step

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Give the body in its pieces."""
        for at in range(0, len(self.body), self._step):
            yield self.body[at : at + self._step]


def bare(data: bytes) -> bytes:
    """Deflate without zlib's format around it."""
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


async def streamed(answer: Answer) -> bytes:
    """The pieces of a stream, joined."""
    return b"".join([piece async for piece in decoded_pieces(answer)])  # type: ignore[arg-type]


GOOD = {
    "plain": (TEXT, ()),
    "identity": (TEXT, ("identity",)),
    "gzip": (gzip.compress(TEXT), ("gzip",)),
    "gzip in capitals": (gzip.compress(TEXT), (" GZip ",)),
    "gzip and identity": (gzip.compress(TEXT), ("identity", "gzip")),
    "two members": (gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:]), ("gzip",)),
    "deflate": (zlib.compress(TEXT), ("deflate",)),
    "bare deflate": (bare(TEXT), ("deflate",)),
}


@pytest.mark.parametrize("step", [1, 2, 100, 10_000])
@pytest.mark.parametrize(("body", "codings"), GOOD.values(), ids=GOOD)
async def test_what_is_decoded(body: bytes, codings: tuple[str, ...], step: int) -> None:
    """Gzip of any number of members and both kinds of deflate come out whole, cut anywhere."""
    whole = Answer(body, *codings)
    assert decoded(whole) == TEXT  # type: ignore[arg-type]
    assert [value for _, value in whole.headers] in ([], [b"identity"])
    assert await streamed(Answer(body, *codings, step=step)) == TEXT


@pytest.mark.parametrize(
    ("codings", "named"),
    [
        (("br",), "'br'"),
        (("zstd",), "'zstd'"),
        (("gzip", "br"), "'gzip, br'"),
        (("gzip, gzip",), "'gzip, gzip'"),
        (("deflate, br",), "'deflate, br'"),
    ],
)
async def test_what_is_refused_by_name(codings: tuple[str, ...], named: str) -> None:
    """A coding that cannot be undone is named, before anything goes to the client."""
    with pytest.raises(UpstreamError, match=f"{named} unasked"):
        decoded(Answer(TEXT, *codings))  # type: ignore[arg-type]
    with pytest.raises(UpstreamError, match=f"{named} unasked"):
        decoded_pieces(Answer(TEXT, *codings))  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [1, 10_000])
@pytest.mark.parametrize(
    ("body", "coding", "fault"),
    [
        (gzip.compress(TEXT)[:-9], "gzip", "cut"),
        (gzip.compress(TEXT) + b"\x1f\x8b", "gzip", "cut"),
        (bare(TEXT)[:-3], "deflate", "cut"),
        (b"\x78", "deflate", "cut"),
        (b"no gzip at all", "gzip", "bad_response"),
        (gzip.compress(TEXT) + b"more", "gzip", "bad_response"),
        (zlib.compress(TEXT) + b"more", "deflate", "bad_response"),
    ],
)
async def test_damaged_data_are_a_fault(body: bytes, coding: str, fault: str, step: int) -> None:
    """What is cut or broken ends as an error, never as a shorter answer."""
    with pytest.raises(UpstreamError):
        decoded(Answer(body, coding))  # type: ignore[arg-type]
    with pytest.raises(UpstreamError) as caught:
        await streamed(Answer(body, coding, step=step))
    assert caught.value.fault == fault


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_no_body_is_none(coding: str) -> None:
    """An answer without a byte is empty, whatever its head names."""
    assert decoded(Answer(b"", coding)) == b""  # type: ignore[arg-type]
    assert await streamed(Answer(b"", coding)) == b""


@settings(max_examples=100, derandomize=True)
@given(
    st.binary(max_size=2000),
    st.sampled_from([gzip.compress, zlib.compress, bare]),
    st.integers(1, 99),
)
async def test_a_round_trip(data: bytes, pack: object, step: int) -> None:
    """Whatever was packed comes out, in whatever pieces it arrives."""
    coding = "gzip" if pack is gzip.compress else "deflate"
    assert await streamed(Answer(pack(data), coding, step=step)) == data  # type: ignore[operator]
