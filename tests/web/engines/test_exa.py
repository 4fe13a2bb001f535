"""Exa: highlights for text, one list of domains, dates for time ranges."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from refdesk.errors import EngineError
from refdesk.types import Location, WebPage, WebQuery
from refdesk.web.engines import Engine

Ask = Callable[..., dict[str, Any]]


def test_rows(read: Callable[..., WebPage]) -> None:
    """Highlights are joined, the summary stands in; a null title becomes the host's name."""
    page = read("exa/200-highlights.json")
    assert [row.title for row in page.items] == ["Tide tables", "moon.example"]
    assert page.items[0].content == "High and low water for 400 ports. … Times are local."
    assert page.items[0].published == "2026-10-02T00:00:00.000Z"
    assert page.items[1].content == "Why the moon pulls."
    assert page.skipped == 1
    assert read("exa/200-empty.json").items == ()


def test_request(ask: Ask) -> None:
    """Text is asked for as highlights, dates as instants, the country as where the user is."""
    query = WebQuery(
        text="tides",
        limit=20,
        sites=("a.example",),
        since=date(2026, 1, 2),
        until=date(2026, 2, 3),
        location=Location(country="us"),
    )
    assert ask("exa", query) == {
        "query": "tides",
        "type": "auto",
        "numResults": 20,
        "contents": {"highlights": True},
        "includeDomains": ["a.example"],
        "startPublishedDate": "2026-01-02T00:00:00.000Z",
        "endPublishedDate": "2026-02-03T23:59:59.999Z",
        "userLocation": "US",
    }


def test_domains_exclude_each_other(ask: Ask, make: Callable[..., Engine]) -> None:
    """Exa takes included or excluded domains; with both, the excluded are named as dropped."""
    query = WebQuery(text="a", sites=("a.example",), blocked_sites=("b.example",))
    assert "excludeDomains" not in ask("exa", query)
    assert make("exa").dropped(query) == ("blocked_sites",)
    only_blocked = WebQuery(text="a", blocked_sites=("b.example",))
    assert ask("exa", only_blocked)["excludeDomains"] == ["b.example"]
    assert make("exa").dropped(only_blocked) == ()


def test_time_range(ask: Ask, make: Callable[..., Engine]) -> None:
    """A time range is said as dates by a plan that knows the day, else named as dropped."""
    query = WebQuery(text="a", time_range="week")
    exa = make("exa")
    assert exa.dropped(query) == ("time_range",)
    (call,) = exa.plan(query, 2, today=date(2026, 11, 30))
    assert ask("exa", call)["startPublishedDate"] == "2026-11-23T00:00:00.000Z"
    assert "endPublishedDate" not in ask("exa", call)
    assert exa.dropped(call) == ()


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (401, "401-key.json", "bad_key"),
        (402, "402-credits.json", "no_credit"),
        (403, b'{"error":"Budget","tag":"API_KEY_BUDGET_EXCEEDED"}', "no_credit"),
        (400, "400-body.json", "bad_request"),
        (429, "429-rate.json", "rate_limited"),
        (200, b"<html><body>Bad gateway</body></html>", "parse_error"),
    ],
)
def test_refusals(
    refuse: Callable[..., EngineError], status: int, body: bytes | str, outcome: str
) -> None:
    """The tag tells an empty account; a gateway's HTML with 200 is no page."""
    assert refuse("exa", status, body).outcome == outcome
