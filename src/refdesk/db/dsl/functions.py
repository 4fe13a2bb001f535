"""
The functions a query may call, each as every dialect says it.  No other function can be called.

Division and dates mean the same everywhere; the database's own words for them are looked up here
and never taken from a query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, cast

import sqlalchemy as sa

from refdesk.db.dsl.dates import add_interval, difference, extract, truncate
from refdesk.db.dsl.expressions import PARTS
from refdesk.db.dsl.types import UNITS, CastType, Unit
from refdesk.db.dsl.values import Dialect, Element, Value, Wrong, adapted, bound_moment, own
from refdesk.db.schema import Kind

AGGREGATES: Final = frozenset(("COUNT", "SUM", "AVG", "MIN", "MAX"))
"""Functions of many rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A call on its way into SQL."""

    name: str
    args: tuple[Value, ...]
    dialect: Dialect
    now: datetime | None
    """The moment that counts as now; None leaves it to the database."""

    def element(self, index: int = 0) -> Element:
        """Return an argument as it stands."""
        return self.args[index].element

    def part(self, index: int, known: tuple[str, ...]) -> str:
        """Return an argument that is one of some words."""
        word = self.args[index].constant if self.args[index].is_constant else None
        word = word.lower() if isinstance(word, str) else word
        if word not in known and isinstance(word, str):
            word = word.removesuffix("s")
        if word not in known:
            raise Wrong(f"{self.name} takes one of these words: {', '.join(known)}")
        return cast("str", word)

    def moment(self, index: int = 0) -> Value:
        """Return an argument that is a date or a time; a literal is read as one."""
        value = self.args[index]
        if not value.is_constant:
            return value
        kind: Kind = "datetime" if len(str(value.constant).strip()) > 10 else "date"
        return Value(element=adapted(value, kind, self.dialect), kind=kind)


Build = Callable[[Call], Value]


def call(name: str, args: tuple[Value, ...], dialect: Dialect, now: datetime | None) -> Value:
    """Return a call of a scalar function, or raise Wrong."""
    found = _FUNCTIONS.get(name)
    if found is None:
        raise Wrong(f"there is no function {name}; known: {', '.join(names())}")
    least, most, build = found
    if not least <= len(args) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise Wrong(f"{name} takes {wanted} arguments, not {len(args)}")
    return build(Call(name=name, args=args, dialect=dialect, now=now))


def aggregate(name: str, args: tuple[Value, ...], *, distinct: bool, dialect: Dialect) -> Value:
    """Return a call of a function of many rows; COUNT without an argument counts rows."""
    if name == "COUNT" and not args:
        return Value(element=sa.func.count(), kind="integer")
    if len(args) != 1:
        raise Wrong(f"{name} takes one argument, not {len(args)}")
    element = args[0].element
    if name in ("SUM", "AVG") and args[0].kind in ("text", "date", "datetime", "json", "uuid"):
        raise Wrong(f"{name} adds numbers up, and this is {args[0].kind}")
    if args[0].kind == "boolean" and name != "COUNT" and dialect in ("postgresql", "duckdb"):
        element = sa.cast(element, sa.Integer())  # true counts 1, as it does elsewhere
    kind: Kind = args[0].kind
    if name != "MIN" and name != "MAX":
        kind = "integer" if name == "COUNT" else "number"
    function = getattr(sa.func, name.lower())
    return Value(element=function(sa.distinct(element) if distinct else element), kind=kind)


def is_sure(name: str, args: tuple[Value, ...]) -> bool:
    """Tell whether a function gives something for whatever values a row has."""
    if name in _SURE:
        return True
    kinds = {each.kind for each in args if not each.is_constant}
    if name in _SURE_OF_MOMENTS:
        return kinds <= {"date", "datetime"}
    return name in _SURE_OF_ONE_KIND and len(kinds) <= 1


def cast_is_sure(value: Value, type_: CastType) -> bool:
    """Tell whether each value can be cast."""
    if type_ in ("string", "text") or value.is_constant:
        return True
    return type_ in ("date", "datetime") and value.kind in ("date", "datetime")


def names() -> list[str]:
    """Return the names of all functions, sorted."""
    return sorted((*_FUNCTIONS, *AGGREGATES, "CAST", "INTERVAL"))


def cast_to(value: Value, type_: CastType, size: tuple[int, ...], dialect: Dialect) -> Value:
    """Return a value as another type."""
    element, mysql = value.element, dialect in ("mysql", "mariadb")
    match type_:
        case "date" | "datetime":
            if value.is_constant:
                return Value(element=adapted(value, type_, dialect), kind=type_)
            if dialect == "sqlite":
                # CAST(… AS DATE) would make a number of it: SQLite has no such type.
                return Value(element=getattr(sa.func, type_)(element), kind=type_)
            return Value(
                element=sa.cast(element, sa.Date() if type_ == "date" else sa.DateTime()),
                kind=type_,
            )
        case "time":
            timed = sa.func.time(element) if dialect == "sqlite" else sa.cast(element, sa.Time())
            return Value(element=timed, kind="time")
        case "integer":
            return Value(element=sa.cast(element, sa.BigInteger()), kind="integer")
        case "float":
            if mysql:
                return Value(element=element.op("*")(own("1e0")), kind="number")
            if dialect == "sqlite":
                return Value(element=sa.cast(element, sa.REAL()), kind="number")
            return Value(element=sa.cast(element, sa.Double()), kind="number")
        case "decimal":
            precision, scale = (*size, *(18, 6)[len(size) :])[:2]
            if not 1 <= precision <= 38 or scale > precision:
                raise Wrong(f"decimal {precision},{scale} is no size: up to 38 digits in all")
            if dialect == "sqlite":
                return Value(
                    element=sa.func.round(sa.cast(element, sa.REAL()), scale), kind="number"
                )
            return Value(element=sa.cast(element, sa.Numeric(precision, scale)), kind="number")
        case "boolean":
            if mysql or dialect == "sqlite":
                return Value(element=element.op("<>")(own("0")), kind="boolean")
            return Value(element=sa.cast(element, sa.Boolean()), kind="boolean")
    return Value(element=as_text(value, dialect), kind="text")


def as_text(value: Value, dialect: Dialect) -> Element:
    """Return a value as text; text stays as it is."""
    if value.kind == "text":
        return value.element
    if value.is_constant:
        return adapted(value, "text", dialect)
    return sa.cast(value.element, sa.CHAR() if dialect in ("mysql", "mariadb") else sa.Text())


def divide(left: Value, right: Value, dialect: Dialect) -> Value:
    """Divide, never as whole numbers; by zero it is null."""
    one = own("1e0" if dialect in ("mysql", "mariadb") else "1.0")
    return Value(
        element=left.element.op("*")(one).op("/")(sa.func.nullif(right.element, 0)), kind="number"
    )


def concat(parts: tuple[Element, ...], dialect: Dialect) -> Element:
    """Put texts one after the other."""
    if dialect in ("mysql", "mariadb"):
        return cast("Element", sa.func.concat(*parts))
    joined = parts[0]
    for each in parts[1:]:
        joined = joined.op("||")(each)
    return joined


def _simple(name: str, kind: Kind | None, least: int = 1, most: int | None = None) -> Any:
    def build(this: Call) -> Value:
        element = getattr(sa.func, name)(*(each.element for each in this.args))
        return Value(element=element, kind=kind or this.args[0].kind)

    return least, most or least, build


def _text(name: str, kind: Kind = "text", least: int = 1, most: int | None = None) -> Any:
    """A function whose first argument is text."""

    def build(this: Call) -> Value:
        rest = (each.element for each in this.args[1:])
        return Value(
            element=getattr(sa.func, name)(as_text(this.args[0], this.dialect), *rest), kind=kind
        )

    return least, most or least, build


def _length(this: Call) -> Value:
    name = "length" if this.dialect in ("sqlite", "duckdb") else "char_length"
    return Value(
        element=getattr(sa.func, name)(as_text(this.args[0], this.dialect)), kind="integer"
    )


def _concat(this: Call) -> Value:
    return Value(
        element=concat(tuple(as_text(each, this.dialect) for each in this.args), this.dialect),
        kind="text",
    )


def _coalesce(this: Call) -> Value:
    kind = next((each.kind for each in this.args if not each.is_constant), this.args[0].kind)
    elements = [adapted(each, kind, this.dialect) for each in this.args]
    return Value(element=sa.func.coalesce(*elements), kind=kind)


def _nullif(this: Call) -> Value:
    other = adapted(this.args[1], this.args[0].kind, this.dialect)
    return Value(element=sa.func.nullif(this.element(), other), kind=this.args[0].kind)


def _round(this: Call) -> Value:
    element = this.element()
    if this.dialect == "postgresql":
        element = sa.cast(element, sa.Numeric())  # round(double precision, integer) is not there
    digits: Any = 0
    if len(this.args) == 2:
        digits = this.args[1].constant if this.args[1].is_constant else None
    if type(digits) is not int or not -20 <= digits <= 20:
        raise Wrong("ROUND takes the number of digits, -20 to 20")
    return Value(element=sa.func.round(element, digits), kind="number")


def _whole(name: str) -> Any:
    def build(this: Call) -> Value:
        if this.dialect == "sqlite":
            # Not every SQLite has the mathematical functions.
            cut = sa.cast(this.element(), sa.BigInteger())
            beyond = this.element() > cut if name == "ceil" else this.element() < cut
            step = own("1" if name == "ceil" else "-1")
            return Value(element=sa.case((beyond, cut.op("+")(step)), else_=cut), kind="integer")
        return Value(element=getattr(sa.func, name)(this.element()), kind="integer")

    return 1, 1, build


def _mod(this: Call) -> Value:
    return Value(
        element=this.element().op("%")(sa.func.nullif(this.element(1), 0)), kind=this.args[0].kind
    )


def _extreme(name: str) -> Any:
    def build(this: Call) -> Value:
        function = name
        if this.dialect == "sqlite":
            function = "max" if name == "greatest" else "min"
        kind = next((each.kind for each in this.args if not each.is_constant), this.args[0].kind)
        elements = [adapted(each, kind, this.dialect) for each in this.args]
        return Value(element=getattr(sa.func, function)(*elements), kind=kind)

    return 2, 20, build


def _date(this: Call) -> Value:
    return cast_to(this.moment(), "date", (), this.dialect)


def _part_of(part: str) -> Any:
    return 1, 1, lambda this: extract(part, this.moment(), this.dialect)


def _extract(this: Call) -> Value:
    return extract(this.part(0, PARTS), this.moment(1), this.dialect)


def _truncate(this: Call) -> Value:
    return truncate(cast("Unit", this.part(0, UNITS)), this.moment(1), this.dialect)


def _difference(this: Call) -> Value:
    unit = cast("Unit", this.part(0, UNITS))
    return difference(unit, this.moment(1), this.moment(2), this.dialect)


def _now(this: Call) -> Value:
    if this.now is not None:
        moment = this.now.replace(tzinfo=None, microsecond=0)
        return Value(element=bound_moment(moment, this.dialect), kind="datetime")
    return Value(element=sa.func.current_timestamp(), kind="datetime")


def _today(this: Call) -> Value:
    today: date | None = this.now.date() if this.now else None
    element = sa.func.current_date() if today is None else bound_moment(today, this.dialect)
    return Value(element=cast("Element", element), kind="date")


def shifted(moment: Value, amount: Value, unit: Unit, sign: int, dialect: Dialect) -> Value:
    """Return a moment some time later, or before with the sign -1."""
    return add_interval(moment, amount, unit, sign, dialect)


_FUNCTIONS: Final[dict[str, tuple[int, int, Build]]] = {
    "LOWER": _text("lower"),
    "UPPER": _text("upper"),
    "TRIM": _text("trim"),
    "LTRIM": _text("ltrim"),
    "RTRIM": _text("rtrim"),
    "REPLACE": _text("replace", least=3),
    "SUBSTR": _text("substr", least=2, most=3),
    "SUBSTRING": _text("substr", least=2, most=3),
    "LENGTH": (1, 1, _length),
    "CONCAT": (1, 20, _concat),
    "COALESCE": (2, 20, _coalesce),
    "IFNULL": (2, 2, _coalesce),
    "NULLIF": (2, 2, _nullif),
    "ABS": _simple("abs", None),
    "ROUND": (1, 2, _round),
    "CEIL": _whole("ceil"),
    "FLOOR": _whole("floor"),
    "MOD": (2, 2, _mod),
    "GREATEST": _extreme("greatest"),
    "LEAST": _extreme("least"),
    "DATE": (1, 1, _date),
    "YEAR": _part_of("year"),
    "QUARTER": _part_of("quarter"),
    "MONTH": _part_of("month"),
    "WEEK": _part_of("week"),
    "DAY": _part_of("day"),
    "HOUR": _part_of("hour"),
    "MINUTE": _part_of("minute"),
    "SECOND": _part_of("second"),
    "DAYOFWEEK": _part_of("dow"),
    "EXTRACT": (2, 2, _extract),
    "DATE_TRUNC": (2, 2, _truncate),
    "DATE_DIFF": (3, 3, _difference),
    "NOW": (0, 0, _now),
    "CURRENT_TIMESTAMP": (0, 0, _now),
    "TODAY": (0, 0, _today),
    "CURRENT_DATE": (0, 0, _today),
}

_SURE: Final = (
    *("LOWER", "UPPER", "TRIM", "LTRIM", "RTRIM", "LENGTH", "CONCAT"),
    *("NOW", "TODAY", "CURRENT_TIMESTAMP", "CURRENT_DATE"),
)
_SURE_OF_MOMENTS: Final = (
    *("DATE", "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"),
    *("DAYOFWEEK", "EXTRACT", "DATE_TRUNC"),
)
_SURE_OF_ONE_KIND: Final = ("COALESCE", "IFNULL", "NULLIF", "GREATEST", "LEAST")

__all__ = [
    "AGGREGATES",
    "aggregate",
    "as_text",
    "call",
    "cast_is_sure",
    "cast_to",
    "concat",
    "divide",
    "is_sure",
    "names",
    "shifted",
]
