"""Words cut to what an engine takes, and the operators before them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.types import WebQuery
from refdesk.web.engines._query import cut, domains, scoped


@pytest.mark.parametrize(
    ("text", "chars", "short"),
    [
        ("one two three", 13, "one two three"),
        ("one two three", 12, "one two"),
        ("one two three", 7, "one two"),
        ("one two three", 8, "one two"),
        ("  one \n two\t", 9, "one two"),
        ("a verylongwordindeed", 12, "a verylongwo"),
        ("天气预报明天", 4, "天气预报"),
        ("ab e\u0301\u0301", 5, "ab"),
        ("xe\u0301", 2, "x"),
        ("ok👩\u200d👩\u200d👧", 4, "ok"),
        ("ok👍🏽", 3, "ok"),
        ("🇩🇪🇫🇷", 3, "🇩🇪"),
        ("🇩🇪🇫🇷", 2, "🇩🇪"),
        ("a\u0301" + "\u0301" * 9, 5, "a\u0301\u0301\u0301\u0301"),
    ],
)
def test_cut(text: str, chars: int, short: str) -> None:
    """Between words where there are any, else between signs, unless one sign is too long."""
    assert cut(text, chars) == short


def test_words() -> None:
    """A limit of words holds beside the limit of characters."""
    assert cut("a b c d e", 100, 3) == "a b c"


@given(text=st.text(), chars=st.integers(1, 50))
def test_cut_is_bounded(text: str, chars: int) -> None:
    """What comes out fits, can be encoded, and is a beginning of the folded text."""
    short = cut(text, chars)
    assert len(short) <= chars
    short.encode("utf-8")
    assert not any(unicodedata.category(char) == "Cc" for char in short)


def test_surrogates() -> None:
    """A lone surrogate, which no URL can carry, is replaced."""
    assert cut("a \ud800 b", 10) == "a ? b"


@pytest.mark.parametrize(
    ("site", "found"),
    [
        ("docs.python.org/3", ["docs.python.org/3"]),
        ("https://Docs.Python.org/3/", ["docs.python.org/3"]),
        ("*.example.com", ["example.com"]),
        ("example.com/Path?q=1#x", ["example.com/Path"]),
        ("münchen.example", ["münchen.example"]),
        ("gov", ["gov"]),
        ("127.0.0.1:8080/x", ["127.0.0.1:8080/x"]),
        ("a.example OR site:b.example", []),
        ('a.example" OR "', []),
        ("a.example) (", []),
        ("", []),
        ("-site:x", []),
        ("-x", []),
        ("a..b", []),
    ],
)
def test_domains(site: str, found: list[str]) -> None:
    """A domain is read as people write one; what is none, is not sent."""
    assert domains([site, site]) == found


def test_operators_stand_first() -> None:
    """Included domains, excluded ones, then the words."""
    query = WebQuery(text="w", sites=("a.b", "c.d"), blocked_sites=("e.f", "g.h"))
    assert scoped(query, 400).text == "(site:a.b OR site:c.d) -site:e.f -site:g.h w"
    assert scoped(WebQuery(text="w", sites=("a.b",)), 400).text == "site:a.b w"


@pytest.mark.parametrize(
    ("text", "tamed"),
    [
        ("OR site:evil.example", "or site:evil.example"),
        ("x) OR (site:evil.example", "x or site:evil.example"),
        ("| site:evil.example", "site:evil.example"),
        ('an open " quote', "an open quote"),
        ('a "whole quote"', 'a "whole quote"'),
        ("ORDER by", "ORDER by"),
    ],
)
def test_words_cannot_undo_operators(text: str, tamed: str) -> None:
    """Words next to operators hold no operator that could widen or end them."""
    assert scoped(WebQuery(text=text, sites=("a.b",)), 400).text == f"site:a.b {tamed}"


def test_words_alone_stay() -> None:
    """Without domains the words go out as they were written, operators of the user included."""
    assert scoped(WebQuery(text="(a OR b) -c"), 400).text == "(a OR b) -c"


def test_too_many_domains() -> None:
    """Operators take at most half; the first domains stand, and that some do not is told."""
    many = tuple(f"site-{number}.example" for number in range(100))
    query = WebQuery(text="word " * 100, sites=many, blocked_sites=many)
    found = scoped(query, 400, 50)
    assert len(found.text) <= 400
    assert len(found.text.split()) <= 50
    assert found.text.startswith("(site:site-0.example OR site:site-1.example")
    assert ") word" in found.text
    assert (found.sites_dropped, found.blocked_dropped) == (True, True)


def test_bad_domains_are_told() -> None:
    """A domain that is none cannot be honoured."""
    found = scoped(WebQuery(text="w", sites=("a b",), blocked_sites=("c.d",)), 400)
    assert found.text == "-site:c.d w"
    assert (found.sites_dropped, found.blocked_dropped) == (True, False)


@given(
    text=st.text(),
    sites=st.lists(st.text(max_size=30) | st.just("a.example/x"), max_size=30),
    chars=st.integers(40, 400),
)
def test_scoped_is_bounded(text: str, sites: list[str], chars: int) -> None:
    """Whatever is asked, what goes out fits."""
    query = WebQuery(text=text, sites=tuple(sites), blocked_sites=tuple(sites))
    found = scoped(query, chars, 20)
    assert len(found.text) <= chars
    assert len(found.text.split()) <= 20
