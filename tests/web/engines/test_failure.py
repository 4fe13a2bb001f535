"""Refusals: their class, how long to wait, and what may be said of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.http import HttpResponse
from refdesk.masking import Masker
from refdesk.web.engines._base import failure
from refdesk.web.engines._failure import MAX_DETAIL_CHARS, excerpt, outcome_of, retry_after

DATE = ("date", "Mon, 30 Nov 2026 10:00:00 GMT")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("5", 5),
        (" 5 ", 5),
        ("0", 0),
        ("2.5", 2.5),
        ("-1", None),
        ("abc", None),
        ("", None),
        ("٣", None),
        ("1e3", None),
        ("9999999999", 3600),
        ("9" * 5000, None),
        ("Mon, 30 Nov 2026 10:00:30 GMT", 30),
        ("Wed, 21 Oct 2099 07:28:00 GMT", 3600),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
        ("Mon, 30 Nov 2026 10:00:30", None),
    ],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    """Seconds or a date, at least 0 and at most an hour; anything else says nothing."""
    response = HttpResponse(status=429, headers=(("retry-after", value), DATE))
    assert retry_after(response) == seconds


@given(value=st.text(), date=st.text())
def test_any_retry_after(value: str, date: str) -> None:
    """No header, however odd, does more than say nothing."""
    headers = (("retry-after", value), ("date", date))
    wait = retry_after(HttpResponse(status=429, headers=headers))
    assert wait is None or 0 <= wait <= 3600


def test_date_without_date() -> None:
    """A date to wait for means nothing where the answer does not say what time it is."""
    headers = (("retry-after", "Wed, 21 Oct 2099 07:28:00 GMT"),)
    assert retry_after(HttpResponse(status=429, headers=headers)) is None
    assert retry_after(HttpResponse(status=429)) is None


def test_only_some_wait() -> None:
    """A wait is kept for limits and outages; a wrong key does not heal by waiting."""
    headers = (("retry-after", "5"),)
    assert failure(HttpResponse(status=503, headers=headers), "main").retry_after_s == 5
    assert failure(HttpResponse(status=401, headers=headers), "main").retry_after_s is None


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"message": "Unauthorized.", "statusCode": 403}, "Unauthorized."),
        ({"error": "No.", "tag": "INVALID_API_KEY"}, "No. (INVALID_API_KEY)"),
        ({"error": {"code": "RATE", "detail": "Slow down"}}, "Slow down (RATE)"),
        ({"detail": {"error": "Over the plan"}}, "Over the plan"),
        ({"detail": [{"loc": ["body"], "msg": "Too many rows"}]}, "Too many rows"),
        ({"other": 1}, '{"other": 1}'),
        ([], "[]"),
        ("just words", "just words"),
    ],
)
def test_what_vendors_say(body: Any, says: str) -> None:
    """The sentence is found where vendors put it, with its code; else the body's beginning."""
    assert excerpt(json.dumps(body).encode()) == says


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"<html><head><title>x</title></head><body>Are you <b>human</b>?", "Are you human ?"),
        (b"<script>var a='b'</script>Blocked<!-- ray 12 -->", "Blocked"),
        (b"&lt;script&gt;alert(1)&lt;/script&gt;", "alert(1)"),
        (b"cut <img src='https://evil/", "cut"),
        (b"a\x00b\r\nX-Injected: 1\xff", "a b X-Injected: 1\ufffd"),
        (b"", ""),
    ],
)
def test_no_markup(body: bytes, says: str) -> None:
    """No tag, script, comment, line break or control character comes through."""
    assert excerpt(body) == says


@given(
    st.binary(max_size=400)
    | st.text(alphabet="<>&;lgt#x0a script/!-", max_size=400).map(str.encode)
)
def test_any_excerpt(body: bytes) -> None:
    """Whatever the bytes, what is said is short, on one line and without markup."""
    said = excerpt(body)
    assert len(said) <= MAX_DETAIL_CHARS
    assert "<" not in said
    assert said.isprintable() or any(not c.isascii() for c in said)


def test_long_text_is_cut() -> None:
    """At most 200 characters are quoted."""
    assert excerpt(b"word " * 500).endswith("…")
    assert len(excerpt(b"word " * 500)) == 200


def test_secrets_at_the_edge() -> None:
    """A key is taken out before the text is cut, so that no half of it stays."""
    body = b"x" * 190 + b" sk-verysecret-key"
    assert "sk-v" not in excerpt(body, Masker(["sk-verysecret-key"]))


def test_redirect() -> None:
    """A redirect is not followed, and the message says what to change."""
    error = failure(HttpResponse(status=302), "main")
    assert error.outcome == "bad_request"
    assert "engines follow no redirect" in str(error)


def test_remedies() -> None:
    """A key or an account at its end is said with the entry to look at."""
    assert str(failure(HttpResponse(status=401), "main")) == (
        "main answered 401; check the key of engines.main"
    )
    assert "top up the account" in str(failure(HttpResponse(status=402), "main"))


@given(st.integers(-5, 2000))
def test_every_status_has_an_outcome(status: int) -> None:
    """No status is without a meaning."""
    assert outcome_of(status) in {
        *("bad_key", "no_credit", "rate_limited", "bad_request"),
        *("unsupported_param", "upstream_down", "parse_error"),
    }
