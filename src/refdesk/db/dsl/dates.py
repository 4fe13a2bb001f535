"""
Dates, parts of them, and lengths of time, as every dialect says them.

Weeks start on Monday and are counted as in ISO 8601; the day of the week counts from 0, Sunday.
"""

from __future__ import annotations

from typing import Any, Final, cast

import sqlalchemy as sa

from refdesk.db.dsl.types import Unit
from refdesk.db.dsl.values import Dialect, Element, Value, Wrong, own
from refdesk.db.schema import Kind

_OF_DAY: Final = ("hour", "minute", "second")
_SQLITE_PARTS: Final = {
    "year": "%Y",
    "month": "%m",
    "day": "%d",
    "hour": "%H",
    "minute": "%M",
    "second": "%S",
    "dow": "%w",
    "doy": "%j",
    "epoch": "%s",
}
_MYSQL_PARTS: Final = {"doy": "dayofyear", "epoch": "unix_timestamp", "quarter": "quarter"}
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600}


def extract(part: str, moment: Value, dialect: Dialect) -> Value:
    """Return a part of a moment as a whole number."""
    element = moment.element
    if dialect == "sqlite":
        return Value(element=_sqlite_part(part, element), kind="integer")
    if dialect in ("mysql", "mariadb"):
        return Value(element=_mysql_part(part, element), kind="integer")
    taken = sa.extract(part, element)
    return Value(element=sa.cast(taken, sa.BigInteger()), kind="integer")


def truncate(unit: Unit, moment: Value, dialect: Dialect) -> Value:
    """Return the first moment of the year, month, … that a moment is in."""
    kind: Kind = "datetime" if unit in _OF_DAY else "date"
    element = moment.element
    if dialect == "sqlite":
        return Value(element=_sqlite_truncate(unit, element), kind=kind)
    if dialect in ("mysql", "mariadb"):
        return Value(element=_mysql_truncate(unit, element), kind=kind)
    cut: Element = sa.func.date_trunc(own(f"'{unit}'"), element)
    return Value(element=cut if kind == "datetime" else sa.cast(cut, sa.Date()), kind=kind)


def add_interval(moment: Value, amount: Value, unit: Unit, sign: int, dialect: Dialect) -> Value:
    """Return a moment so much later; before it, with the sign -1."""
    if moment.kind not in ("date", "datetime", "other"):
        raise Wrong(f"a length of time is added to a date, and this is {moment.kind}")
    if amount.is_constant and type(amount.constant) is not int:
        raise Wrong("a length of time is a whole number of units, such as :INTERVAL(7, day)")
    if amount.is_constant and abs(amount.constant) > 100_000:
        raise Wrong(f"{amount.constant} {unit}s reach beyond the years that databases know")
    kind: Kind = "datetime" if unit in _OF_DAY or moment.kind == "datetime" else "date"
    count = amount.element
    if sign < 0:
        count = own("-1").op("*")(count)
    if dialect == "sqlite":
        return Value(element=_sqlite_add(moment.element, count, unit, kind), kind=kind)
    if dialect in ("mysql", "mariadb"):
        word = own(unit.upper())
        return Value(element=sa.func.timestampadd(word, count, moment.element), kind=kind)
    step = count.op("*")(own(_interval(unit)))
    later = moment.element.op("+")(step)
    return Value(element=sa.cast(later, sa.Date()) if kind == "date" else later, kind=kind)


def difference(unit: Unit, start: Value, end: Value, dialect: Dialect) -> Value:
    """
    Return how many units lie between two moments; negative where the end is before the start.

    Days and weeks are counted between calendar days, months and more between calendar months,
    hours and less from the time that passed.
    """
    if unit in ("month", "quarter", "year"):
        years, months = (
            extract(part, end, dialect).element.op("-")(extract(part, start, dialect).element)
            for part in ("year", "month")
        )
        if unit == "year":
            return Value(element=years, kind="integer")
        count = years.op("*")(own("12")).op("+")(months)
        return Value(element=_over(count, 3) if unit == "quarter" else count, kind="integer")
    if unit in _SECONDS:
        seconds = _seconds(start.element, end.element, dialect)
        return Value(element=_over(seconds, _SECONDS[unit]), kind="number")
    days = _days(start.element, end.element, dialect)
    return Value(element=_over(days, 7) if unit == "week" else days, kind="integer")


def _over(element: Element, by: int) -> Element:
    return element if by == 1 else element.op("/")(own(f"{by}.0" if by > 7 else str(by)))


def _days(start: Element, end: Element, dialect: Dialect) -> Element:
    if dialect == "sqlite":
        days = sa.func.julianday(sa.func.date(end)).op("-")(sa.func.julianday(sa.func.date(start)))
        return sa.cast(days, sa.Integer())
    if dialect in ("mysql", "mariadb"):
        return cast("Element", sa.func.datediff(end, start))
    if dialect == "duckdb":
        return cast(
            "Element",
            sa.func.date_diff(own("'day'"), sa.cast(start, sa.Date()), sa.cast(end, sa.Date())),
        )
    # A number of days, whatever SQLAlchemy takes a date less a date for.
    return sa.type_coerce(sa.cast(end, sa.Date()).op("-")(sa.cast(start, sa.Date())), sa.Integer())


def _seconds(start: Element, end: Element, dialect: Dialect) -> Element:
    if dialect == "sqlite":
        return sa.func.strftime("%s", end).op("-")(sa.func.strftime("%s", start))
    if dialect in ("mysql", "mariadb"):
        return cast("Element", sa.func.timestampdiff(own("SECOND"), start, end))
    passed = sa.cast(end, sa.DateTime()).op("-")(sa.cast(start, sa.DateTime()))
    return sa.extract("epoch", passed)


def _interval(unit: Unit) -> str:
    return "INTERVAL '3 months'" if unit == "quarter" else f"INTERVAL '1 {unit}'"


def _sqlite_part(part: str, element: Element) -> Element:
    def number(text: str, of: Any = element) -> Element:
        return sa.cast(sa.func.strftime(text, of), sa.Integer())

    if part == "quarter":
        return number("%m").op("+")(own("2")).op("/")(own("3"))
    if part == "week":
        # ISO: the week belongs to the year of its Thursday.
        thursday = sa.func.date(element, "-3 days", "weekday 4")
        day = number("%j", thursday)
        return day.op("+")(own("6")).op("/")(own("7"))
    return number(_SQLITE_PARTS[part])


def _sqlite_truncate(unit: Unit, element: Element) -> Element:
    match unit:
        case "year" | "month":
            return cast("Element", sa.func.date(element, f"start of {unit}"))
        case "day":
            return cast("Element", sa.func.date(element))
        case "week":
            return cast("Element", sa.func.date(element, "-6 days", "weekday 1"))
        case "quarter":
            month = sa.cast(sa.func.strftime("%m", element), sa.Integer())
            beyond = month.op("-")(own("1")).op("%")(own("3"))
            back = own("-1").op("*")(beyond).op("||")(own("' months'"))
            return cast("Element", sa.func.date(element, "start of month", back))
    form = {"hour": "%Y-%m-%d %H:00:00", "minute": "%Y-%m-%d %H:%M:00"}.get(
        unit, "%Y-%m-%d %H:%M:%S"
    )
    return cast("Element", sa.func.strftime(form, element))


def _sqlite_add(element: Element, count: Element, unit: Unit, kind: Kind) -> Element:
    factor, word = {"week": (7, "days"), "quarter": (3, "months")}.get(unit, (1, f"{unit}s"))
    if factor != 1:
        count = count.op("*")(own(str(factor)))
    step = count.op("||")(own(f"' {word}'"))
    function = sa.func.datetime if kind == "datetime" else sa.func.date
    return cast("Element", function(element, step))


def _mysql_part(part: str, element: Element) -> Element:
    if part == "dow":
        return cast("Element", sa.func.dayofweek(element)).op("-")(own("1"))
    if part == "week":
        return cast("Element", sa.func.week(element, own("3")))
    if part in _MYSQL_PARTS:
        return cast("Element", getattr(sa.func, _MYSQL_PARTS[part])(element))
    return sa.extract(part, element)


def _mysql_truncate(unit: Unit, element: Element) -> Element:
    def form(text: str) -> Element:
        return cast("Element", sa.func.date_format(element, text))

    day = sa.cast(element, sa.Date())
    match unit:
        case "year":
            return sa.cast(form("%Y-01-01"), sa.Date())
        case "month":
            return sa.cast(form("%Y-%m-01"), sa.Date())
        case "day":
            return day
        case "week":
            back = own("-1").op("*")(sa.func.weekday(element))
            return cast("Element", sa.func.timestampadd(own("DAY"), back, day))
        case "quarter":
            first = sa.cast(form("%Y-01-01"), sa.Date())
            quarters = cast("Element", sa.func.quarter(element)).op("-")(own("1"))
            return cast("Element", sa.func.timestampadd(own("QUARTER"), quarters, first))
    text = {"hour": "%Y-%m-%d %H:00:00", "minute": "%Y-%m-%d %H:%i:00"}.get(
        unit, "%Y-%m-%d %H:%i:%s"
    )
    return sa.cast(form(text), sa.DateTime())
