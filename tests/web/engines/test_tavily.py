"""Tavily: fields for every option, no second page, refusals of its own numbers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any
from urllib.parse import urlsplit

import pytest

from refdesk.errors import EngineError
from refdesk.types import Location, WebPage, WebQuery
from refdesk.web.engines import Engine
from refdesk.web.engines._countries import TAVILY_COUNTRIES

Ask = Callable[..., dict[str, Any]]
Read = Callable[..., WebPage]
Refuse = Callable[..., EngineError]


def test_rows(read: Read) -> None:
    """Rows keep the vendor's order and its scores; a null answer is none."""
    page = read("tavily/basic/response.json")
    assert page.items[0].title == "Pydantic AI: Agent Framework"
    assert page.items[0].score == 0.9999875
    assert page.items[0].content.startswith("## AI Agent Insider.")
    assert page.answer is None
    assert not page.more


def test_sites(read: Read) -> None:
    """A search within one site has rows of that site only."""
    page = read("tavily/include-domains/response.json")
    assert page.items
    assert all((urlsplit(row.url).hostname or "").endswith("arxiv.org") for row in page.items)


def test_news(read: Read) -> None:
    """News have dates, as given; the answer is material, and ``response_time`` may be a string."""
    page = read("tavily/200-news.json")
    assert page.items[0].published == "Sat, 28 Nov 2026 17:40:05 GMT"
    assert page.answer == "A spring tide is due."


def test_request(ask: Ask) -> None:
    """Every option has a field; the country is a name in lower case."""
    query = WebQuery(
        text="tides",
        limit=20,
        sites=("a.example", "b.example/docs"),
        blocked_sites=("c.example",),
        time_range="week",
        language="de-ch",
        location=Location(country="gb"),
    )
    assert ask("tavily", query) == {
        "query": "tides",
        "max_results": 20,
        "search_depth": "basic",
        "topic": "general",
        "include_answer": False,
        "include_domains": ["a.example", "b.example/docs"],
        "exclude_domains": ["c.example"],
        "time_range": "week",
        "language": "de",
        "country": "united kingdom",
    }


def test_dates_go_before_time_range(ask: Ask, make: Callable[..., Engine]) -> None:
    """Dates and a time range together: the dates are sent, the range is named as dropped."""
    query = WebQuery(text="a", time_range="week", since=date(2026, 1, 2), until=date(2026, 2, 3))
    asked = ask("tavily", query)
    assert (asked["start_date"], asked["end_date"]) == ("2026-01-02", "2026-02-03")
    assert "time_range" not in asked
    assert make("tavily").dropped(query) == ("time_range",)


@pytest.mark.parametrize(
    ("country", "topic", "dropped"),
    [("DE", "general", ()), ("DE", "news", ("country",)), ("AQ", "general", ("country",))],
)
def test_country(
    ask: Ask, make: Callable[..., Engine], country: str, topic: str, dropped: tuple[str, ...]
) -> None:
    """A country is sent with general searches only, and only one that Tavily knows."""
    query = WebQuery(text="a", location=Location(country=country))
    assert ask("tavily", query, topic=topic).get("country") == (None if dropped else "germany")
    assert make("tavily", topic=topic).dropped(query) == dropped


def test_countries() -> None:
    """The table has two-letter codes and lower-case names, once each."""
    assert all(len(code) == 2 and code.isupper() for code in TAVILY_COUNTRIES)
    assert all(name == name.lower().strip() for name in TAVILY_COUNTRIES.values())
    assert len(set(TAVILY_COUNTRIES.values())) == len(TAVILY_COUNTRIES) > 150
    assert TAVILY_COUNTRIES["BA"] == "bosnia and herzegovina"


def test_long_query_is_cut(ask: Ask) -> None:
    """A question of 2,000 characters goes out as at most 400, ending with a word."""
    asked = ask("tavily", WebQuery(text="tide table " * 200))["query"]
    assert 390 <= len(asked) <= 400
    assert asked.endswith(("tide", "table"))


@pytest.mark.parametrize(
    ("status", "body", "outcome", "says"),
    [
        (401, "401-key.json", "bad_key", "missing or invalid API key"),
        (422, "422-fields.json", "unsupported_param", "less than or equal to 20"),
        (429, "429-rate.json", "rate_limited", "excessive requests"),
        (432, "432-plan.json", "no_credit", "usage limit"),
        (433, b'{"detail":{"error":"Pay-as-you-go limit"}}', "no_credit", "Pay-as-you-go"),
        (400, b'{"detail":{"error":"Query is too long."}}', "bad_request", "too long"),
    ],
)
def test_refusals(refuse: Refuse, status: int, body: bytes | str, outcome: str, says: str) -> None:
    """432 and 433 mean that the money is gone; what Tavily says stands in the message."""
    error = refuse("tavily", status, body)
    assert error.outcome == outcome
    assert says in str(error)


def test_plan_and_price(make: Callable[..., Engine]) -> None:
    """Two pages are one call of twenty; advanced depth costs twice as much."""
    plan = make("tavily").plan(WebQuery(text="a"), 2)
    assert [(call.page, call.limit) for call in plan] == [(1, 20)]
    assert make("tavily").list_price == 8.0
    assert make("tavily", search_depth="advanced").list_price == 16.0
