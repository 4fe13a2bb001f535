"""Rules for times that limit the rows."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any, Final

from refdesk.db.dsl.types import Op
from refdesk.db.generate.groups import better_column, unexplained
from refdesk.db.generate.items import Item
from refdesk.db.generate.plan import Place, Plan
from refdesk.db.generate.subject import date_column
from refdesk.db.schema import Column

_NUMBERS: Final = frozenset({"integer", "number"})
_DATES: Final = frozenset({"date", "datetime"})
_PREPOSITION: Final = re.compile(
    r"(?i)(?:in|on|at|of|by|for|from|over|since|after|before|during|within|between|until|till|up|as"
    r"|starting|prior|through|later|earlier|newer|older)\b"
)


def read_times(plan: Plan) -> None:
    limited: set[tuple[str, str]] = set()
    for item in plan.items:
        if item.used or item.date is None:
            continue
        place, said = _date_place(plan, item)
        if place is None:
            continue
        if (place[0].id, place[1].name) in limited and not plan.part(item):
            continue  # two times at once are none
        limited.add((place[0].id, place[1].name))
        start, end = item.date.start, item.date.end
        if not item.date.year_said and place[1].kind in _DATES:
            _told(plan, item, start, end)
        ends: list[tuple[Op, datetime | None]] = [(">=", start), ("<", end)]
        if place[1].kind in _NUMBERS:
            if stored := _stored_months(plan, place, start, end):
                for column, op, values in stored[not item.date.year_said :]:
                    target = (place[0], column)
                    if len(values) == 1:
                        plan.compare(item, target, op, values[0])
                    else:
                        plan.one_of(item, target, values, negative=False)
                item.used = True
                continue
            if any(e is not None and (e.month, e.day) != (1, 1) for e in (start, end)):
                continue
            years = [(op, e.year) for op, e in ends if e is not None]
            if len(years) == 2 and years[1][1] == years[0][1] + 1:
                years = [("=", years[0][1])]
            for op, year in years:
                plan.compare(item, place, op, year)
        else:
            for op, moment in ends:
                if moment is not None:
                    plan.compare(item, place, op, _written(moment, place[1]))
        if said is not None:
            said.used = True


def _told(plan: Plan, item: Item, start: datetime | None, end: datetime | None) -> None:
    """Tell which days are meant where the words alone do not, as "in May" and "on Monday"."""
    first, last = (each.date() if each is not None else "" for each in (start, end))
    plan.notices.append(f"{item.text.strip()!r} was taken for the days from {first} to {last}")


def _date_place(plan: Plan, item: Item) -> tuple[Place | None, Item | None]:
    for beside in (plan.items.before(item), plan.items.after(item)):
        place = plan.place(beside)
        if place and (place[1].kind in _DATES or "year" in place[1].name.lower()):
            return place, beside
    noun = plan.model(plan.items.after(item, skip=False))
    if noun is not None and not _PREPOSITION.match(item.text):
        column = date_column(noun)
        if column is None:
            return None, None  # "2025 members", where nothing tells when they came
        if noun.id != plan.subject.id:
            return (noun, column), None
    for other in plan.items:
        place = plan.place(other)
        if other.models and not better_column(other):
            continue  # "orders" are no order date
        if place and place[1].kind in _DATES and not other.used:
            return place, other
    if unexplained(plan, plan.subject):
        return None, None  # "shipped last month", where nothing tells when that was
    near = plan.items.before(item)
    while near is not None and near.concept == "stop" and not near.models:
        near = plan.items.before(near)
    beside_model = plan.model(near)
    if beside_model is not None and beside_model.id in {each.id for each in plan.entities}:
        beside_model = None  # "visits per doctor in 2025": the visits were then
    if beside_model is not None and beside_model.id != plan.subject.id:
        column = date_column(beside_model)
        if column is not None and date_column(plan.subject) is not None:
            return None, None  # "customers who bought cars of 2020": which of both is that old
        if column is not None and not _done(plan):
            return (beside_model, column), None
    if near is not None and near.values and near.text.endswith("ed"):
        dates = [each for each in plan.subject.columns if each.kind in _DATES]
        if len(dates) > 1:
            return None, None  # "coupons expired last month": not made, but expired then
    column = date_column(plan.subject)
    if column is not None:
        return (plan.subject, column), None
    for other in plan.items:
        for name in other.models:
            if _done(plan):
                break  # "books borrowed in 2026": the day of that is somewhere else
            column = date_column(name.model) if plan.near(name.model) else None
            if column is not None:
                return (name.model, column), None
    return None, None


_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)


def _stored_months(
    plan: Plan, place: Place, start: datetime | None, end: datetime | None
) -> list[tuple[Column, Op, list[Any]]] | None:
    """Return conditions on a year and a month that are held apart, for months of one year."""
    month = place[0].column("month")
    if month is None or start is None or end is None or (start.day, end.day) != (1, 1):
        return None
    last = end - timedelta(days=1)
    if start.year != last.year or (start.month, last.month) == (1, 12):
        return None
    numbers = range(start.month, last.month + 1)
    named = month.kind == "text"
    values: list[Any] = [_MONTHS[each - 1] if named else each for each in numbers]
    return [(place[1], "=", [start.year]), (month, "=", values)]


def _done(plan: Plan) -> bool:
    """Whether a word says what was done, and no column is known for it."""
    return any(each.unknown and each.text.lower().endswith("ed") for each in plan.items)


def _written(moment: datetime, column: Column) -> str:
    """A time as the query says it: the day alone where it is midnight."""
    if column.kind == "date" or (moment.hour, moment.minute, moment.second) == (0, 0, 0):
        return moment.date().isoformat()
    return moment.replace(tzinfo=None, microsecond=0).isoformat(sep=" ")
