"""serper.dev: Google's rows, and what its refusals mean."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from refdesk.errors import EngineError
from refdesk.types import Location, WebPage, WebQuery

Ask = Callable[..., dict[str, Any]]
Read = Callable[..., WebPage]
Refuse = Callable[..., EngineError]


def test_rows(read: Read) -> None:
    """Eight rows of a ten-row page are normal; title, link, snippet and date are as given."""
    page = read("serper/search-2.json")
    assert len(page.items) == 9
    assert page.items[0].title.startswith("Olivia Wilde embraces")
    assert page.items[0].url.startswith("https://pagesix.com/2023/01/29/")
    assert page.items[0].published == "Jan 29, 2023"
    assert page.skipped == 0


def test_panel_is_the_answer(read: Read) -> None:
    """The knowledge panel's description is the vendor's answer where there is no answer box."""
    page = read("serper/search.json")
    assert len(page.items) == 8
    assert page.answer is not None
    assert page.answer.startswith("Apple Inc. is an American multinational")


def test_answer_box(read: Read) -> None:
    """The answer box is the vendor's answer, never a hit; a row without a link is counted."""
    page = read("serper/200-answer.json")
    assert page.answer == "2,962 m"
    assert [row.url for row in page.items] == ["https://peaks.example/zugspitze"]
    assert page.skipped == 1


def test_request(ask: Ask) -> None:
    """Domains become operators before the words; country, language, page and time are fields."""
    query = WebQuery(
        text="pattern matching",
        limit=20,
        page=2,
        sites=("docs.python.org/3", "peps.python.org"),
        blocked_sites=("w3schools.com",),
        time_range="month",
        language="zh-hans",
        location=Location(country="de"),
    )
    assert ask("serper", query) == {
        "q": "(site:docs.python.org/3 OR site:peps.python.org) -site:w3schools.com "
        "pattern matching",
        "gl": "de",
        "num": 10,
        "page": 2,
        "hl": "zh-cn",
        "tbs": "qdr:m",
    }


@pytest.mark.parametrize(
    ("since", "until", "tbs"),
    [
        (date(2026, 1, 1), date(2026, 2, 1), "cdr:1,cd_min:1/1/2026,cd_max:2/1/2026"),
        (date(2026, 1, 1), None, "cdr:1,cd_min:1/1/2026"),
        (None, date(2026, 12, 31), "cdr:1,cd_max:12/31/2026"),
    ],
)
def test_dates(ask: Ask, since: date | None, until: date | None, tbs: str) -> None:
    """A range of dates may be open at either end."""
    assert ask("serper", WebQuery(text="a", since=since, until=until))["tbs"] == tbs


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (403, "error-403.json", "bad_key"),
        (400, "400-credits.json", "no_credit"),
        (400, b'{"message":"Missing query parameter","statusCode":400}', "bad_request"),
        (429, b'{"message":"Too many requests"}', "rate_limited"),
    ],
)
def test_refusals(refuse: Refuse, status: int, body: bytes | str, outcome: str) -> None:
    """A wrong key is a 403, and an empty account a 400 that only its text gives away."""
    assert refuse("serper", status, body).outcome == outcome


def test_no_organic(make: Callable[..., Any]) -> None:
    """An answer without ``organic``, or with null, is an empty page and no failure."""
    from refdesk.http import HttpResponse

    for body in (b'{"searchParameters":{}}', b'{"organic":null}', b'{"organic":[]}'):
        page = make("serper").parse_response(HttpResponse(status=200, body=body))
        assert page == WebPage(more=False)


def test_plan(make: Callable[..., Any]) -> None:
    """Twenty rows are two calls of ten, since Google gives ten a page."""
    plan = make("serper").plan(WebQuery(text="a"), 2)
    assert [(call.page, call.limit) for call in plan] == [(1, 10), (2, 10)]
