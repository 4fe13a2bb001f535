"""The query: the user's words, without what clients wrap round them, and without secrets."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.search.extracting import cut_secrets, extract_query, shorten


def query(*texts: str, limit: int = 400) -> str:
    """The query of these text parts."""
    return extract_query(texts, limit).text


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("  When   was\n it? ",), "When was it?"),
        (("Perform a web search for the query: rust 1.90",), "rust 1.90"),
        (("<system-reminder>x</system-reminder>", "rust"), "rust"),
        (("<system-reminder>never closed, rust",), ""),
        (("<environment_context>cwd</environment_context>\nfix it",), "fix it"),
        (("<FILE name='a'>secret</FILE> what is this?",), "what is this?"),
        (("a < b and c > d",), "a < b and c > d"),
        (("[Image #1] what is this?",), "what is this?"),
        (("one", "two"), "one two"),
        (("a\u200bb\u202ec\x07",), "a b c"),
        (
            ("\U0001f468\u200d\U0001f469\u200d\U0001f467 family",),
            "\U0001f468\u200d\U0001f469\u200d\U0001f467 family",
        ),
        ((), ""),
        (("   ",), ""),
    ],
)
def test_extraction(texts: tuple[str, ...], expected: str) -> None:
    """Wrappers, notes and invisible characters go; the user's own words stay."""
    assert query(*texts) == expected


@pytest.mark.parametrize(
    ("secret", "what"),
    [
        ("sk-ant-api03-abcdefghij0123456789", "an API key"),
        ("ghp_0123456789abcdefghij", "an API key"),
        ("AKIAIOSFODNN7EXAMPLE1", "an API key"),
        ("Bearer abcdef0123456789", "a bearer token"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "a JSON web token"),
        ("password: hunter22", "a password"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "a private key"),
        ("0123456789abcdef0123456789abcdef", "a long key"),
    ],
)
def test_secrets(secret: str, what: str) -> None:
    """What looks like one is cut out and named; what stands round it stays."""
    text, removed = cut_secrets(f"why does {secret} fail")
    assert secret not in text
    assert text.split() == ["why", "does", "fail"]
    assert removed == (what,)


@pytest.mark.parametrize(
    "text",
    [
        "how do I rotate an API key",
        "what is a bearer token",
        "python-3.14 release-candidate key-value store",
        "https://example.com/a/b?c=d",
        "sk-learn versus scikit-learn",
        "commit 1a2b3c4",
    ],
)
def test_no_secrets(text: str) -> None:
    """Words about secrets are none."""
    assert cut_secrets(text) == (text, ())


@pytest.mark.parametrize("length", [399, 400, 401])
@pytest.mark.parametrize("letter", ["語", "\U0001f600", "e\u0301", "\U0001f1e9\U0001f1ea"])
def test_cut_at_a_grapheme(length: int, letter: str) -> None:
    """A14: CJK, emoji, flags and combining marks are cut between what a reader sees."""
    text = (letter * length)[: length * len(letter)]
    cut = shorten(text, 400)
    assert 390 < len(cut) <= 400
    assert text.startswith(cut)
    rest = text[len(cut) :]
    assert not rest or not unicodedata.combining(rest[0])
    if letter > "\U0001f1e0" and len(letter) == 2:
        assert len(cut) % 2 == 0


@given(st.text(), st.integers(1, 50))
def test_never_longer(text: str, limit: int) -> None:
    """Whatever the text, the query is no longer than allowed, and is a part of it."""
    cut = shorten(text, limit)
    assert len(cut) <= limit
    assert text.startswith(cut)
    assert len(query(text, limit=limit)) <= limit
