"""Plans: which calls a search takes, and how dates are said."""

from __future__ import annotations

import gc
import time
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
        ("a\u3000b\n", "a b"),
        ("&lt;b&gt; is a tag", "<b> is a tag"),
    ],
)
def test_plain(text: str | None, clean: str) -> None:
    """Foreign text loses tags, entities, controls and byte order marks."""
    assert plain(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        *("1 < 2", "a < b && c > d", "if (a <b && c> d)", "x <b and c>", "<0.1% and >25%", "<3"),
        *("ConcurrentHashMap<K,V> vs Map<String, Integer>", "Option<B>", "vector<int>", "Foo<T>"),
        *("Dict<str, List<int>>", "<T extends Comparable<T>>", "x <=> y <- z --> w", "a<b", "<div"),
        *("git checkout <branch>", "cp <source> <target>", "SELECT * FROM <table>", "<your-name>"),
        *("mail <a@b.example>", "<https://b.example/>", "the <video> element", "HTML <a> tag"),
    ],
)
def test_what_opens_no_tag_stays(text: str) -> None:
    """Comparisons, generics, placeholders, arrows and addresses are no tags."""
    assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("first<br>second", "first second"),
        ("first<BR/>second<hr />third", "first second third"),
        ("<p>one<p>two</p><div>three</div>", "one two three"),
        ("<table><tr><td>a<td>b</table>", "a b"),
        ("<ul><li>one</li><li>two</li></ul>", "one two"),
        ("un<b>believ</b>able <em>北京</em>天气", "unbelievable 北京天气"),
        (
            '<a href="https://h.example/?a=1">here</a> and <span class="x y">there</span>',
            "here and there",
        ),
        ("<code>x</code>, <mark>y</mark>, <B>z</B>", "x, y, z"),
        ("shown<!-- hidden -->too <strong>cut", "shown too cut"),
    ],
)
def test_a_tag_between_words_leaves_a_space(text: str, clean: str) -> None:
    """Blocks and breaks keep words apart; what only marks letters does not."""
    assert plain(text) == clean


@pytest.mark.parametrize(
    "unit", ["<", "<b", "<b>", "</b>", "<a x=", '<a b="', "<!--", "a<b c='d' "]
)
def test_tags_are_found_in_one_pass(unit: str) -> None:
    """The work grows with the text, and not with its square."""

    def cost(text: str) -> float:
        def once() -> float:
            began = time.thread_time()
            plain(text)
            return time.thread_time() - began

        return min(once() for _ in range(5))

    gc.disable()  # it looks at what others have made
    try:
        # Eight times the text: eight times the work, where its square would be sixty-four times.
        assert cost(unit * 40_000) < 32 * cost(unit * 5_000)
    finally:
        gc.enable()
