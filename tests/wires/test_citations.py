"""Where a text names a source, however the text arrives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.wires.citations import MAX_CITED_CHARS, CitationFinder, Cited, find

URLS = ["https://a.org/x", "http://b.org/(y)", "https://c.org"]
PIECES = [
    "[1]",
    "[",
    "]",
    "(",
    ")",
    "2",
    "【1†src】",
    "【",
    "】",
    "https://a.org/x",
    "http",
    "https",
    ":/",
    "/",
    "b.org/(y)",
    " ",
    "\n",
    "`",
    "``",
    "```",
    "ht.",
    "[t](https://a.org/x)",
    "([t](http://b.org/(y)))",
    "🙂",
    ",",
    "[1, 2]",
    "[9]",
    "<",
    '"',
    "word ",
]


@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=25),
    cuts=st.lists(st.integers(1, 9), min_size=1, max_size=20),
)
def test_cuts_change_nothing(pieces: list[str], cuts: list[int]) -> None:
    """What is found, and what is unknown, does not depend on where the text was cut."""
    text = "".join(pieces)
    whole, cut = CitationFinder(URLS), CitationFinder(URLS)
    found: list[Cited] = []
    at = 0
    while at < len(text):
        size = cuts[at % len(cuts)]
        found += cut.feed(text[at : at + size])
        at += size
    found += cut.finish()

    assert found == whole.feed(text) + whole.finish()
    assert cut.unknown == whole.unknown


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("see [1].", ["[1]"]),
        ("see [1, 3]", ["[1, 3]", "[1, 3]"]),
        ("so【2†title】", ["【2†title】"]),
        ("([a.org](https://a.org/x?utm_source=openai))", ["*"]),
        ("[a](https://a.org/x), and", ["[a](https://a.org/x)"]),
        ("at https://c.org.", ["https://c.org"]),
        ("at http://b.org/(y)!", ["http://b.org/(y)"]),
        ("[0] [4] https://d.org/", []),
        ("`a[1]` and [1]", ["[1]"]),
        ("``a ` [1]`` [2]", ["[2]"]),
        ("`` [1] ` [2]", ["[1]", "[2]"]),
        ("so [١], [۲], [３], [१] and 【١】, [1, ٢]", []),
        ("```\n[1]\n```\n[2]", ["[2]"]),
    ],
)
def test_markers(text: str, marked: list[str]) -> None:
    """The whole visible marker is spanned; code, and what names no source, is passed over."""
    spans = [text[cited.start : cited.end] for cited in find(text, URLS)]

    assert spans == [text if mark == "*" else mark for mark in marked]


def test_what_is_beyond_the_bounds_is_text() -> None:
    """A marker longer than any, and a text longer than any, end the search and nothing else."""
    long = f"[{'a' * 5_000}](https://a.org/x) [1] and `{'b' * 5_000}[2]`"
    spans = [long[cited.start : cited.end] for cited in find(long, URLS)]

    assert spans == ["https://a.org/x", "[1]", "[2]"]
    assert find("a" * MAX_CITED_CHARS + "[1]", URLS) == []
    assert len(find("b\n" * (MAX_CITED_CHARS // 2 - 2) + "[1]", URLS)) == 1


def test_a_marker_is_told_as_soon_as_it_is_certain() -> None:
    """A stream need not wait for the end of the line."""
    finder = CitationFinder(URLS)

    assert finder.feed("So [1]") == []
    assert finder.feed(". And") == [Cited(3, 6, 0)]
    assert finder.finish() == []
