"""Decoding, within bounds."""

from __future__ import annotations

import contextlib
import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.fetch.decoding import BadEncoding, BodyDecoder, TooLong

TEXT = b"a page of results " * 50


def decode(encoding: str, data: bytes, *, cap: int = 10_000, step: int = 10_000) -> bytes:
    decoder = BodyDecoder(encoding, cap)
    for at in range(0, len(data), step):
        decoder.feed(data[at : at + step])
    return decoder.finish()


def bare(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize("step", [1, 2, 3, 100, 10_000])
@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("", TEXT),
        ("identity", TEXT),
        ("gzip", gzip.compress(TEXT)),
        (" GZip ", gzip.compress(TEXT)),
        ("x-gzip", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", bare(TEXT)),
    ],
)
def test_what_is_decoded(encoding: str, data: bytes, step: int) -> None:
    """Plain, gzip, and both kinds of deflate, however they are cut."""
    assert decode(encoding, data, step=step) == TEXT


@pytest.mark.parametrize("encoding", ["gzip", "deflate", ""])
def test_nothing_is_nothing(encoding: str) -> None:
    """A body without a byte is empty, whatever encoding its head names."""
    assert decode(encoding, b"") == b""


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, gzip", "gzip,br", "\x00"])
def test_what_was_not_asked_for(encoding: str) -> None:
    """Another encoding, or one inside another, is refused before a byte is read."""
    with pytest.raises(BadEncoding, match="not asked for"):
        BodyDecoder(encoding, 1000)


@pytest.mark.parametrize("step", [1, 100, 10_000])
@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", gzip.compress(TEXT)[:-8]),
        ("gzip", gzip.compress(TEXT)[:-1]),
        ("gzip", gzip.compress(TEXT)[:30]),
        ("gzip", gzip.compress(TEXT)[:5]),
        ("gzip", TEXT),
        ("gzip", gzip.compress(TEXT)[:-8] + bytes(8)),
        ("gzip", gzip.compress(TEXT) + b"x"),
        ("gzip", gzip.compress(TEXT) * 2),
        ("deflate", zlib.compress(TEXT)[:-1]),
        ("deflate", bare(TEXT)[:-5]),
        ("deflate", b"\xff" * 40),
        ("deflate", zlib.compress(TEXT) + b"x"),
    ],
)
def test_damaged_data(encoding: str, data: bytes, step: int) -> None:
    """Data that is cut, damaged, plain, or followed by more is never half used."""
    with pytest.raises(BadEncoding):
        decode(encoding, data, step=step)


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate"])
def test_the_cap_is_exact(encoding: str) -> None:
    """A body of exactly the allowed length passes; one byte more is too long."""
    for size, fits in ((1000, True), (1001, False)):
        data = bytes(size)
        if encoding:
            data = gzip.compress(data) if encoding == "gzip" else zlib.compress(data)
        if fits:
            assert decode(encoding, data, cap=1000) == bytes(1000)
        else:
            with pytest.raises(TooLong):
                decode(encoding, data, cap=1000)


def test_a_bomb_stays_small() -> None:
    """40 MB in 40 KB take no more memory than the cap, twice, and the copy to join them."""
    packer = zlib.compressobj(wbits=31)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(40)) + packer.flush()
    cap = 512 * 1024
    assert len(bomb) < cap
    tracemalloc.start()
    try:
        with pytest.raises(TooLong):
            decode("gzip", bomb, cap=cap)
        assert tracemalloc.get_traced_memory()[1] < 3 * cap
    finally:
        tracemalloc.stop()


def test_the_raw_bytes_count_too() -> None:
    """Encoded data longer than the cap is too long, though little may come of it."""
    empty_blocks = zlib.compress(b"x")[:2] + b"\x00\x00\x00\xff\xff" * 300
    with pytest.raises(TooLong):
        decode("deflate", empty_blocks, cap=1000)


@given(st.binary(max_size=3000), st.sampled_from(["gzip", "deflate"]), st.integers(1, 500))
def test_a_round_trip(data: bytes, encoding: str, step: int) -> None:
    """Whatever was packed comes out, or is too long; nothing in between."""
    packed = gzip.compress(data) if encoding == "gzip" else zlib.compress(data)
    try:
        assert decode(encoding, packed, cap=2000, step=step) == data
    except TooLong:
        assert max(len(data), len(packed)) > 2000


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate"]))
def test_any_bytes(data: bytes, encoding: str) -> None:
    """No input raises anything but the two errors."""
    with contextlib.suppress(TooLong, BadEncoding):
        assert len(decode(encoding, data, cap=1000)) <= 1000
