"""Plans: which calls a search takes, and how dates are said."""

from __future__ import annotations

from datetime import date

import pytest

from refdesk.types import TimeRange, WebQuery
from refdesk.web.engines import Engine
from refdesk.web.engines._base import plain

TODAY = date(2026, 11, 30)


class _Dated(Engine):
    honours = frozenset({"dates"})


class _Closed(_Dated):
    honours = frozenset({"dates", "time_range"})
    open_dates = False


def plan(kind: type[Engine], query: WebQuery) -> WebQuery:
    return kind("main", Engine.Options()).plan(query, 1, today=TODAY)[0]


@pytest.mark.parametrize(
    ("time_range", "since"),
    [
        ("hour", date(2026, 11, 29)),
        ("day", date(2026, 11, 29)),
        ("week", date(2026, 11, 23)),
        ("month", date(2026, 10, 30)),
        ("year", date(2025, 11, 30)),
    ],
)
def test_time_range_as_dates(time_range: TimeRange, since: date) -> None:
    """An engine that knows only dates is told a time range as one."""
    call = plan(_Dated, WebQuery(text="a", time_range=time_range))
    assert (call.since, call.until, call.time_range) == (since, None, None)


def test_dates_of_the_query_stay() -> None:
    """A range of dates in the query is not moved by a time range beside it."""
    call = plan(_Dated, WebQuery(text="a", time_range="day", since=date(2026, 1, 1)))
    assert call.since == date(2026, 1, 1)


def test_closed_range() -> None:
    """An engine that wants both ends is given today, or the first day if that is later."""
    assert plan(_Closed, WebQuery(text="a", since=date(2026, 1, 1))).until == TODAY
    assert plan(_Closed, WebQuery(text="a", since=date(2027, 1, 1))).until == date(2027, 1, 1)
    assert plan(_Closed, WebQuery(text="a", time_range="day")).since is None


def test_other_engines_are_told_nothing() -> None:
    """An engine without dates keeps the query as it is."""
    query = WebQuery(text="a", time_range="day", since=date(2026, 1, 1))
    call = plan(Engine, query)
    assert (call.since, call.until, call.time_range) == (query.since, None, "day")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (None, ""),
        ("<b>a</b> &amp; b", "a & b"),
        ("a\x00\x07b\ufeff", "ab"),
        ("1 < 2", "1 < 2"),
        ("a\u3000b\n", "a b"),
    ],
)
def test_plain(text: str | None, clean: str) -> None:
    """Foreign text loses tags, entities, controls and byte order marks."""
    assert plain(text) == clean
