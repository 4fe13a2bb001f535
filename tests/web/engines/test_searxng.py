"""SearXNG: a page of one's own instance, and why there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from refdesk.errors import ConfigError, EngineError
from refdesk.types import Location, WebPage, WebQuery
from refdesk.web.engines import ENGINES, Engine

Ask = Callable[..., dict[str, Any]]
Read = Callable[..., WebPage]
Refuse = Callable[..., EngineError]


def test_rows_of_2024(read: Read) -> None:
    """The shape of 2024 is read: thirty rows; the infobox is the answer."""
    page = read("searxng/search.json")
    assert len(page.items) == 30
    assert page.items[0].title == "Welcome to Python.org"
    assert page.items[0].score == 9.0
    assert page.answer == "general-purpose programming language"


def test_rows_of_2026(read: Read) -> None:
    """The shape of 2026 is read: answers are objects; pictures are no pages and are counted."""
    page = read("searxng/200-2026.json")
    assert [row.content for row in page.items] == ["High & low water."]
    assert page.items[0].published == "2026-11-20T00:00:00"
    assert page.answer == "About twice a day."
    assert page.skipped == 1


def test_suspended_engines(refuse: Refuse) -> None:
    """No rows while engines did not answer is a failure that names them, not an empty page."""
    error = refuse("searxng", 200, "200-suspended.json")
    assert error.outcome == "upstream_down"
    assert "google: Suspended: CAPTCHA, brave: Suspended: too many requests" in str(error)


def test_empty(make: Callable[..., Engine]) -> None:
    """No rows with all engines well is an empty page."""
    from refdesk.http import HttpResponse

    body = b'{"query":"x","results":[],"unresponsive_engines":[]}'
    assert make("searxng").parse_response(HttpResponse(status=200, body=body)).items == ()


def test_json_is_off(refuse: Refuse) -> None:
    """A 403 says which setting of the instance to change, and quotes the page without markup."""
    error = refuse("searxng", 403, "403-format.html")
    assert error.outcome == "bad_request"
    assert "add json to search.formats" in str(error)
    assert "You don't have the permission" in str(error)
    assert "<" not in str(error)


def test_other_refusals(refuse: Refuse) -> None:
    """The limiter's plain text is a rate limit; a parameter out of its list is a bad request."""
    limited = refuse("searxng", 429, b"Too Many Requests", ("retry-after", "30"))
    assert (limited.outcome, limited.retry_after_s) == ("rate_limited", 30)
    assert refuse("searxng", 400, "400-parameter.json").outcome == "bad_request"
    assert refuse("searxng", 500, b'{"error":"search error"}').outcome == "upstream_down"


def test_request(ask: Ask) -> None:
    """The country is a part of the language; domains are operators for its engines."""
    query = WebQuery(
        text="tides",
        page=2,
        blocked_sites=("a.example",),
        time_range="week",
        language="de",
        location=Location(country="ch"),
        safe=False,
    )
    assert ask("searxng", query, engines="brave,mojeek") == {
        "q": "-site:a.example tides",
        "format": "json",
        "pageno": "2",
        "categories": "general",
        "engines": "brave,mojeek",
        "language": "de-CH",
        "time_range": "week",
        "safesearch": "0",
    }


@pytest.mark.parametrize(("language", "sent"), [("zh", "zh-CN"), ("zh-hant", "zh-TW")])
def test_chinese(ask: Ask, language: str, sent: str) -> None:
    """Chinese goes out by its script."""
    assert ask("searxng", WebQuery(text="a", language=language))["language"] == sent


def test_what_falls_short(ask: Ask, make: Callable[..., Engine]) -> None:
    """An hour is asked as a day and named as dropped; so is a country without a language."""
    query = WebQuery(text="a", time_range="hour", location=Location(country="de"))
    assert ask("searxng", query)["time_range"] == "day"
    assert "language" not in ask("searxng", query)
    assert make("searxng").dropped(query) == ("time_range", "country")


def test_base_url_is_needed() -> None:
    """Without the instance's address there is no engine."""
    with pytest.raises(ConfigError, match=r"engines\.own: base_url: Field required"):
        ENGINES.get("searxng").configure("own", {})
