"""
Days and longer units of time, by the calendar.

All moments are in the zone of the one handed in.  Weeks start on Monday.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

Unit = Literal["hour", "day", "week", "month", "quarter", "year"]


@dataclass(frozen=True, slots=True)
class Span:
    """A time that stands by itself: its first moment, and the first one after it."""

    start: datetime
    end: datetime
    year_said: bool = True


def day_of(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def on(year: int, month: int, day: int, now: datetime) -> datetime:
    return datetime(year, month, day, tzinfo=now.tzinfo)


def shifted(moment: datetime, months: int) -> datetime:
    """Move by months; the 31st becomes the month's last day where it has none."""
    number = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(number, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    last = (following - timedelta(days=1)).day
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def unit_start(unit: Unit, now: datetime) -> datetime:
    today = day_of(now)
    if unit == "hour":
        return now.replace(minute=0, second=0, microsecond=0)
    if unit == "week":
        return today - timedelta(days=today.weekday())
    if unit == "month":
        return today.replace(day=1)
    if unit == "quarter":
        return today.replace(month=(today.month - 1) // 3 * 3 + 1, day=1)
    return today.replace(month=1, day=1) if unit == "year" else today


def stepped(moment: datetime, unit: Unit, count: int) -> datetime:
    if unit == "hour":
        return moment + timedelta(hours=count)
    if unit in {"day", "week"}:
        return moment + timedelta(days=count * (7 if unit == "week" else 1))
    return shifted(moment, count * {"month": 1, "quarter": 3, "year": 12}[unit])


def calendar(unit: Unit, offset: int, now: datetime) -> Span:
    start = stepped(unit_start(unit, now), unit, offset)
    return Span(start, stepped(start, unit, 1))


def rolling(unit: Unit, count: int, now: datetime) -> Span | None:
    if count < 1:
        return None
    if unit == "hour":
        return Span(now - timedelta(hours=count), now)
    return Span(stepped(day_of(now), unit, -count), day_of(now) + timedelta(days=1))


def ago(unit: Unit, count: int, now: datetime) -> Span:
    if unit == "hour":
        start = stepped(unit_start("hour", now), "hour", -count)
        return Span(start, start + timedelta(hours=1))
    start = stepped(day_of(now), unit, -count)
    return Span(start, start + timedelta(days=1))


def one_day(moment: datetime, *, year_said: bool = True) -> Span:
    return Span(moment, moment + timedelta(days=1), year_said)
