"""Vendors' JSON: mended where vendors break it, read row by row."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.types import ResultItem
from refdesk.web.engines._answer import (
    MAX_ROWS,
    Unreadable,
    collect,
    decode,
    first_text,
    item,
)


class _Shape(msgspec.Struct):
    rows: list[msgspec.Raw] | None = None
    text: Any = None


class _Row(msgspec.Struct):
    url: str


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"text":"caf\xe9"}', "caf\ufffd"),
        (b'\xef\xbb\xbf{"text":"a"}', "a"),
        (rb'{"text":"a \ud800 b"}', "a \ufffd b"),
        (rb'{"text":"\\ud800 \ud83d\ude00 \udc00"}', r"\ud800 😀 " + "\ufffd"),
        (b'{"text":"a\nb\x00c"}', "a b c"),
        (b'{"text":NaN}', None),
        (b'{"text":"NaN", "x": -Infinity}', "NaN"),
        (b'{"text":"first","text":"last"}', "last"),
    ],
)
def test_mended(body: bytes, text: str | None) -> None:
    """What vendors send and JSON does not allow is replaced, and the rest is read."""
    assert decode(body, _Shape).text == text


HOSTILE = b'{"text":"' + rb"\"" * 250_000
"""A string that never ends: looking for its end from every quote would take hours."""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"{} {}",
        b'{"rows":"none"}',
        b"\xff\xfe{\x00}\x00",
        b"[" * 200_000,
        HOSTILE,
    ],
    ids=lambda body: repr(body[:12]),
)
def test_unreadable(body: bytes) -> None:
    """What is no JSON, or of another shape, is said so, with nothing else raised."""
    with pytest.raises(Unreadable):
        decode(body, _Shape)


@settings(max_examples=25)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists))
def test_any_json(value: Any) -> None:
    """All that Python's encoder writes, NaN and lone surrogates included, is read."""
    body = json.dumps({"text": value}).encode("utf-8", "surrogatepass")
    decode(body, _Shape)


def test_rows_one_by_one() -> None:
    """A bad row costs itself; good ones keep their order."""
    body = b'{"rows":[{"url":"https://a/"},{"url":5},[],null,{"url":"x"},{"url":"https://b/"}]}'
    items, skipped = collect(decode(body, _Shape).rows, _Row, lambda row: item(url=row.url))
    assert [row.url for row in items] == ["https://a/", "https://b/"]
    assert skipped == 4


def test_ten_thousand_rows() -> None:
    """Of a list that nobody asked for, the first rows are read."""
    body = b'{"rows":[' + b",".join([b'{"url":"https://a/"}'] * 10_000) + b"]}"
    items, skipped = collect(decode(body, _Shape).rows, _Row, lambda row: item(url=row.url))
    assert (len(items), skipped) == (MAX_ROWS, 0)


def test_flood() -> None:
    """A flood of rows that are none is not gone through to its end."""
    body = b'{"rows":[' + b"[]," * 100_000 + b'{"url":"https://a/"}]}'
    items, skipped = collect(decode(body, _Shape).rows, _Row, lambda row: item(url=row.url))
    assert items == ()
    assert skipped == 1_000


@pytest.mark.parametrize(
    "url",
    [
        *("javascript:alert(1)", "data:text/html,x", "//a/", "https://good@evil/", "", "https://"),
        *(
            "https://a b/",
            "https://a/\x00",
            "https://a\\@b/",
            'https://a"b/',
            "ftp://a/",
            "https://a/" + "x" * 3000,
            5,
            None,
        ),
    ],
)
def test_no_web_url(url: Any) -> None:
    """A row whose address is no link anybody should follow is no row."""
    assert item(url=url, title="x") is None


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("https://a.example/Annual Report.pdf", "https://a.example/Annual%20Report.pdf"),
        ('https://a.example/?q=<b>"x"', "https://a.example/?q=%3Cb%3E%22x%22"),
        ("https://a.example/#:~:text=a b", "https://a.example/#:~:text=a%20b"),
        ("https://a.example/a`b\\c", "https://a.example/a%60b%5Cc"),
        ("https://a.example/a\n  b", "https://a.example/a%20%20b"),
        ("https://a.example/a%20b c+d%", "https://a.example/a%20b%20c+d%"),
        ("https://a.example/日本 語", "https://a.example/日本%20語"),
    ],
)
def test_a_url_with_signs_that_none_holds(url: str, link: str) -> None:
    """They are percent-encoded and the row kept; what was encoded stays as it was."""
    made = item(url=url, title="x")
    assert made is not None
    assert made.url == link


def test_clean_item() -> None:
    """Tags, entities, controls and byte order marks are gone; odd values count as absent."""
    made = item(
        url=" https://a.example/x ",
        title="\ufeff<b>Q&amp;A</b>\x00 \n here",
        content="a &lt;b&gt; c",
        published=5,
        score="0.5",
    )
    assert made == ResultItem(
        title="Q&A here", url="https://a.example/x", content="a <b> c", score=0.5
    )


@pytest.mark.parametrize("title", [None, "", "<br>", 5, "\x00"])
def test_title_in_any_case(title: Any) -> None:
    """A row without a title is called by its host."""
    made = item(url="https://a.example/x", title=title)
    assert made is not None
    assert made.title == "a.example"


@pytest.mark.parametrize("score", ["x", "nan", "inf", True, [], None, 10**400])
def test_no_score(score: Any) -> None:
    """A score that is no finite number is none."""
    made = item(url="https://a/", score=score)
    assert made is not None
    assert made.score is None


def test_bounded() -> None:
    """Titles, texts and answers of megabytes are cut."""
    made = item(url="https://a/", title="t" * 1_000_000, content="c" * 5_000_000)
    assert made is not None
    assert len(made.title) == 300
    assert len(made.content) == 8_000
    assert len(first_text(None, 5, " ", "a" * 9_999) or "") == 4_000
