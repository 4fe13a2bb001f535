"""Dates in questions become half-open ranges, as the calendar and the words have it."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.db.generate.ranges import find_dates

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)


def ranges(text: str, now: datetime = NOW) -> list[str]:
    """The ranges of a text in short: ``start..end``, without what is midnight."""
    return [
        "..".join(
            "" if end is None else end.strftime("%Y-%m-%d") for end in (found.start, found.end)
        )
        for found in find_dates(text, now)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("orders last month", "2026-02-01..2026-03-01"),
        ("orders of the last quarter", "2025-10-01..2026-01-01"),
        ("revenue last year", "2025-01-01..2026-01-01"),
        ("last week's visits", "2026-03-02..2026-03-09"),
        ("this week", "2026-03-09..2026-03-16"),
        ("Q3 2025", "2025-07-01..2025-10-01"),
        ("the third quarter of 2025", "2025-07-01..2025-10-01"),
        ("first half of 2025", "2025-01-01..2025-07-01"),
        ("since January 2024", "2024-01-01.."),
        ("since 2024", "2024-01-01.."),
        ("after 2024", "2025-01-01.."),
        ("before March 2024", "..2024-03-01"),
        ("until 2024-02-01", "..2024-02-02"),
        ("between 1 January 2026 and 31 January 2026", "2026-01-01..2026-02-01"),
        ("between March and May 2025", "2025-03-01..2025-06-01"),
        ("from 2020 to 2023", "2020-01-01..2024-01-01"),
        ("past 3 months", "2025-12-15..2026-03-16"),
        ("in the last 7 days", "2026-03-08..2026-03-16"),
        ("two weeks ago", "2026-03-01..2026-03-02"),
        ("yesterday", "2026-03-14..2026-03-15"),
        ("in 2024", "2024-01-01..2025-01-01"),
        ("on 5 March 2025", "2025-03-05..2025-03-06"),
        ("March 5th, 2025", "2025-03-05..2025-03-06"),
        ("in May", "2025-05-01..2025-06-01"),
        ("last Friday", "2026-03-13..2026-03-14"),
        ("in the 1990s", "1990-01-01..2000-01-01"),
        ("year to date", "2026-01-01..2026-03-16"),
        ("过去三个月的订单", "2025-12-15..2026-03-16"),
        ("最近7天", "2026-03-08..2026-03-16"),
        ("三天前的订单", "2026-03-12..2026-03-13"),
        ("上个月的订单", "2026-02-01..2026-03-01"),
        ("上周五", "2026-03-06..2026-03-07"),
        ("去年", "2025-01-01..2026-01-01"),
        ("2025年第三季度", "2025-07-01..2025-10-01"),
        ("2025年3月5日", "2025-03-05..2025-03-06"),
        ("2024年以来", "2024-01-01.."),
        ("在2023年和2024年之间", "2023-01-01..2025-01-01"),
        ("三月之前", "..2026-03-01"),
    ],
)
def test_what_the_words_mean(text, expected):
    """Each way to name a time gives its half-open range on 2026-03-15, a Sunday."""
    assert ranges(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "last 3 orders",
        "price over 2000",
        "may I see them",
        "30 February 2025",
        "the 31st of June",
        "past 99999 years",
        "第二天",
        "room 2024",
        "march on",
    ],
)
def test_what_is_no_time(text):
    """Numbers, verbs and impossible dates are no ranges, nor is any part of them."""
    assert ranges(text) == []


def test_the_end_of_a_month_is_kept():
    """Three months before the 31st of May is the last day of February."""
    assert ranges("past 3 months", datetime(2026, 5, 31, 9, tzinfo=UTC)) == [
        "2026-02-28..2026-06-01"
    ]


def test_days_are_those_of_the_zone():
    """Yesterday begins at midnight where the question is asked, in summer time too."""
    now = datetime(2026, 7, 1, 0, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    (found,) = find_dates("yesterday", now)
    assert found.start is not None
    assert found.start.isoformat() == "2026-06-30T00:00:00+02:00"


def test_where_it_is_said():
    """A range knows its place in the text, and whether only bare numbers were said."""
    text = "orders between 2020 and 2023 in Q1"
    first, second = find_dates(text, NOW)
    assert (text[first.begin : first.stop], first.bare) == ("between 2020 and 2023", True)
    assert (text[second.begin : second.stop], second.bare) == ("in Q1", False)


WORDS = st.sampled_from(
    [
        "last ",
        "past ",
        "since ",
        "between ",
        "and ",
        "to ",
        "of ",
        "3 ",
        "31 ",
        "0 ",
        "99 ",
        "2024 ",
        "february ",
        "may ",
        "week",
        "months",
        " ago",
        "q",
        "4 ",
        "过去",
        "三",
        "十",
        "个",
        "月",
        "年",
        "前",
        "上",
        "到",
        "周",
        "日",
        "-",
        "/",
        "2025",
        "İ",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(WORDS, max_size=9).map("".join) | st.text(max_size=40))
def test_any_text_is_read(text):
    """No text makes it fail, and every range has a start before its end, inside the text."""
    at = 0
    for found in find_dates(text, NOW):
        assert at <= found.begin < found.stop <= len(text)
        assert found.start is None or found.end is None or found.start < found.end
        assert (found.start, found.end) != (None, None)
        at = found.stop
