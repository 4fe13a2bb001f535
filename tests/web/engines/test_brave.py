"""Brave: pages for offsets, its own language names, and two kinds of 429."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from refdesk.errors import EngineError
from refdesk.http import HttpResponse
from refdesk.types import Location, WebPage, WebQuery
from refdesk.web.engines import Engine

Ask = Callable[..., dict[str, Any]]
Read = Callable[..., WebPage]
Refuse = Callable[..., EngineError]


def test_rows(read: Read) -> None:
    """Web rows only, without the markup of the texts, with the ISO date of the page."""
    page = read("brave/search.json")
    assert len(page.items) == 20
    assert page.items[1].title == "Python (programming language) - Wikipedia"
    assert page.items[1].content.startswith("Python is a high-level, general-purpose")
    assert page.items[1].published == "2024-05-01T12:54:03"
    assert page.more


@pytest.mark.parametrize(
    ("dates", "published"),
    [
        ({"page_age": "2026-05-01T12:54:03", "age": "7 months ago"}, "2026-05-01T12:54:03"),
        ({"age": "3 days ago"}, "3 days ago"),
        ({"page_age": None, "age": "vor 3 Tagen"}, "vor 3 Tagen"),
        ({"page_age": "", "age": "May 1, 2026"}, "May 1, 2026"),
        ({"page_age": 5, "age": None}, None),
        ({}, None),
    ],
)
def test_a_rows_date(
    make: Callable[..., Engine], dates: dict[str, Any], published: str | None
) -> None:
    """The ISO date counts, else the words for one."""
    rows = [{"url": "https://a.example/", "title": "a", **dates}]
    body = json.dumps({"web": {"results": rows}}).encode()
    page = make("brave").page(WebQuery(text="a"), HttpResponse(status=200, body=body))
    assert page.items[0].published == published


def test_extra_snippets(read: Read) -> None:
    """Extra snippets follow the description; Brave says whether there is a next page."""
    page = read("brave/200-plain.json")
    assert page.items[0].content == "High and low water. … Updated hourly. … For 400 ports."
    assert not page.more


def test_request(ask: Ask) -> None:
    """Offset counts pages from 0; texts are asked for without markup, and only of the web."""
    query = WebQuery(
        text="tides",
        limit=20,
        page=3,
        sites=("a.example",),
        time_range="year",
        language="ja",
        location=Location(country="jp"),
        safe=True,
    )
    assert ask("brave", query) == {
        "q": "site:a.example tides",
        "count": "20",
        "offset": "2",
        "result_filter": "web",
        "text_decorations": "false",
        "country": "JP",
        "search_lang": "jp",
        "freshness": "py",
        "safesearch": "strict",
    }


@pytest.mark.parametrize(
    ("language", "country", "sent"),
    [
        ("zh", None, "zh-hans"),
        ("zh-hans", None, "zh-hans"),
        ("zh-TW", None, "zh-hant"),
        ("zh-hant", None, "zh-hant"),
        ("pt", None, "pt-br"),
        ("pt", "PT", "pt-pt"),
        ("en-gb", None, "en-gb"),
        ("de-ch", None, "de"),
        ("no", None, "nb"),
        ("eo", None, None),
    ],
)
def test_languages(
    ask: Ask, make: Callable[..., Engine], language: str, country: str | None, sent: str | None
) -> None:
    """A language goes out in Brave's spelling (``zh`` would be a 422), or is named as dropped."""
    query = WebQuery(text="a", language=language, location=Location(country=country))
    assert ask("brave", query).get("search_lang") == sent
    assert make("brave").dropped(query) == (() if sent else ("language",))


def test_country(ask: Ask, make: Callable[..., Engine]) -> None:
    """A country that Brave does not list is not sent."""
    query = WebQuery(text="a", location=Location(country="is"))
    assert "country" not in ask("brave", query)
    assert make("brave").dropped(query) == ("country",)


def test_dates(ask: Ask, make: Callable[..., Engine]) -> None:
    """A range of dates needs its end: the plan gives it today's, else it is named as dropped."""
    query = WebQuery(text="a", since=date(2026, 4, 1))
    brave = make("brave")
    assert "freshness" not in ask("brave", query)
    assert brave.dropped(query) == ("dates",)
    (call,) = brave.plan(query, 2, today=date(2026, 7, 30))
    assert ask("brave", call)["freshness"] == "2026-04-01to2026-07-30"
    assert brave.dropped(call) == ()


def test_words(ask: Ask) -> None:
    """At most 400 characters and 50 words, operators included."""
    query = WebQuery(text="a b " * 60, sites=("a.example", "b.example"))
    sent = ask("brave", query)["q"]
    assert sent.startswith("(site:a.example OR site:b.example) a b")
    assert len(sent.split()) == 50
    assert len(ask("brave", WebQuery(text="longish " * 99))["q"]) <= 400


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (429, "error-429.json", "rate_limited"),
        (429, "429-quota.json", "no_credit"),
        (422, "422-token.json", "bad_key"),
        (422, b'{"error":{"code":"VALIDATION","detail":"search_lang"}}', "unsupported_param"),
    ],
)
def test_refusals(refuse: Refuse, status: int, body: bytes | str, outcome: str) -> None:
    """A 429 is the rate or the month's quota, a 422 the token or a parameter."""
    assert refuse("brave", status, body).outcome == outcome


def test_reset(refuse: Refuse) -> None:
    """Its own header says when the second, and when the month, is over."""
    reset = ("x-ratelimit-reset", "1, 1419704")
    assert refuse("brave", 429, "error-429.json", reset).retry_after_s == 1
    assert refuse("brave", 429, "429-quota.json", reset).retry_after_s == 3600
    assert refuse("brave", 429, "error-429.json", reset, ("retry-after", "7")).retry_after_s == 7


def test_spacing(make: Callable[..., Engine]) -> None:
    """Calls keep 1.1 s apart unless the plan allows more; two pages are one call."""
    assert make("brave").min_interval_s == 1.1
    assert make("brave", min_interval_s=0).min_interval_s == 0
    assert [call.limit for call in make("brave").plan(WebQuery(text="a"), 2)] == [20]
