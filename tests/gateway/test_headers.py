"""Headers that go on, and those that stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.gateway.headers import clean, login_tokens, to_client, to_upstream


@pytest.mark.parametrize(
    ("headers", "lines"),
    [
        ([(b"x-a", b"1"), (b"x-a", b"2")], b"x-a: 1\r\nx-a: 2\r\n"),
        ([(b"connection", b"close"), (b"x-a", b"1")], b"x-a: 1\r\n"),
        ([(b"x-a", b"1"), (b"connection", b"X-A, close")], b""),
        ([(b"cookie", b"a"), (b"authorization", b"b"), (b"via", b"c")], b""),
        ([(b"x-set", b"client")], b""),
        (
            [(b"anthropic-beta", b"a,b"), (b"user-agent", b"u")],
            b"anthropic-beta: a,b\r\nuser-agent: u\r\n",
        ),
    ],
)
def test_to_upstream(headers: list[tuple[bytes, bytes]], lines: bytes) -> None:
    """Repeats and order stay; logins, hops, what `connection` names and what is set here go."""
    assert to_upstream(headers, frozenset({b"x-set"})) == lines


def test_to_client() -> None:
    """Ours replace the upstream's; what belongs to its connection stays there."""
    kept = [(b"content-type", b"a"), (b"retry-after", b"5"), (b"x-ratelimit-reset", b"1")]
    gone = [(b"set-cookie", b"a"), (b"x-request-id", b"b"), (b"content-length", b"3")]
    assert to_client([*kept, *gone]) == kept


@given(st.binary())
def test_clean(value: bytes) -> None:
    """No value ends its header."""
    assert not set(clean(value)) & set(b"\r\n\0")


@pytest.mark.parametrize(
    ("headers", "tokens"),
    [
        ([(b"authorization", b"Bearer abc")], ["abc"]),
        ([(b"authorization", b"bearer  abc ")], ["abc"]),
        ([(b"authorization", b"Basic abc")], []),
        ([(b"authorization", b"abc")], []),
        (
            [(b"x-api-key", b"a"), (b"x-goog-api-key", b"b"), (b"authorization", b"Bearer a")],
            ["a", "b"],
        ),
        ([(b"x-api-key", b" ")], []),
        ([(b"x-api-key", b"\xff\x00")], ["\xff\x00"]),
    ],
)
def test_login_tokens(headers: list[tuple[bytes, bytes]], tokens: list[str]) -> None:
    """Every header form is read, each token once."""
    assert login_tokens(headers) == tokens
