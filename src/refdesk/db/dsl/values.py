"""Values on their way into SQL: bound as what the column they meet holds, for each dialect."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any, Final, Literal, cast, get_args

import sqlalchemy as sa
from sqlalchemy.types import NullType

from refdesk.db.dsl.types import Scalar
from refdesk.db.schema import Kind

Dialect = Literal["sqlite", "postgresql", "mysql", "mariadb", "duckdb"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

Element = sa.ColumnElement[Any]
Statement = sa.Select[Any] | sa.CompoundSelect[Any]

_UNSET: Final = object()


class Wrong(Exception):
    """A part of the query that cannot be; the sentence says why, the caller knows where."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """A part of the SQL, and what is known of it."""

    element: Element
    kind: Kind = "other"
    constant: Any = _UNSET
    claimed: bool = False
    """Whether it is a claim of the asker's."""

    @property
    def is_constant(self) -> bool:
        """Whether it is a literal of the query, to be bound as what it meets."""
        return self.constant is not _UNSET


def own(text: str) -> Element:
    """Return a word of SQL that we wrote ourselves; nothing of a query ever comes here."""
    return cast("Element", sa.literal_column(text))


def constant(value: Scalar, dialect: Dialect) -> Value:
    """Return a literal that stands by itself."""
    kind: Kind = "other"
    if isinstance(value, bool):
        kind = "boolean"
    elif isinstance(value, int | float):
        kind = "integer" if isinstance(value, int) else "number"
    elif isinstance(value, str):
        kind = "text"
    element = sa.null() if value is None else _bound(value, kind, dialect)
    return Value(element=cast("Element", element), kind=kind, constant=value)


def adapted(value: Value, kind: Kind, dialect: Dialect, *, least: bool = True) -> Element:
    """
    Return a value as one that can be compared with a column of that kind.

    Args:
        value: The value; only literals change.
        kind: What it is compared with.
        dialect: For which database.
        least: Whether a day, where the column also has the time, may mean its first moment as
            plain a date; SQLite compares text, in which a day is less than the same day with 00:00.

    Raises:
        Wrong: It is a literal that no value of the column can equal.
    """
    if not value.is_constant or value.constant is None:
        return value.element
    literal = value.constant
    if value.claimed and not _is_just(literal, kind):
        raise Wrong(f"a claim that is a {type(literal).__name__} is no {kind}")
    match kind:
        case "date" | "datetime":
            return _moment(literal, kind, dialect, least=least)
        case "integer" | "number":
            return _plain(_number(literal))
        case "boolean":
            return _plain(_boolean(literal))
        case "text":
            text = str(int(literal)) if isinstance(literal, bool) else str(literal)
            return _plain(text)
        case "uuid":
            try:
                return _plain(str(uuid.UUID(str(literal))))
            except ValueError:
                raise Wrong(f"{literal!r} is no UUID") from None
        case "time":
            try:
                at = time.fromisoformat(str(literal))
            except ValueError:
                raise Wrong(f"{literal!r} is no time of day; write it as 17:30:00") from None
            return _plain(at.isoformat() if dialect == "sqlite" else at)
    return _plain(literal)


def _is_just(claim: Any, kind: Kind) -> bool:
    """Tell whether a claim is a value of that kind as it stands: "1e0" and true are no 1."""
    match kind:
        case "integer" | "number":
            if isinstance(claim, str):
                return re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", claim) is not None
            return not isinstance(claim, bool)
        case "boolean":
            return isinstance(claim, bool)
        case "text":
            return isinstance(claim, str) or type(claim) is int
    return not isinstance(claim, bool)


def moment(text: str) -> date | datetime:
    """Read ISO 8601, or raise Wrong."""
    try:
        if len(text) <= 10:
            return date.fromisoformat(text)
        return datetime.fromisoformat(text)
    except ValueError:
        raise Wrong(
            f"{text[:60]!r} is no date; write it as 2025-01-31 or 2025-01-31T17:30:00"
        ) from None


def bound_moment(value: date | datetime, dialect: Dialect) -> Element:
    """Bind a date, or a date with its time."""
    if dialect == "sqlite":
        text = value.isoformat(" ", "seconds") if isinstance(value, datetime) else value.isoformat()
        return _plain(text)
    if dialect in ("mysql", "mariadb"):
        return _plain(value)
    if isinstance(value, datetime):
        return sa.literal(value, sa.DateTime(timezone=value.tzinfo is not None))
    return sa.literal(value, sa.Date())


def _moment(literal: Any, kind: Kind, dialect: Dialect, *, least: bool) -> Element:
    if not isinstance(literal, str):
        raise Wrong(f"{literal!r} is no date; write it as 2025-01-31")
    value = moment(literal.strip())
    if kind == "datetime" and dialect == "sqlite":
        day_only = not isinstance(value, datetime) or value.time() == time(0)
        if day_only and least:
            value = value.date() if isinstance(value, datetime) else value
        elif not isinstance(value, datetime):
            value = datetime.combine(value, time(0))
    return bound_moment(value, dialect)


def _number(literal: Any) -> int | float:
    if isinstance(literal, bool):
        return int(literal)
    if isinstance(literal, int | float):
        return literal
    text = str(literal).strip()
    try:
        if not text.isascii() or "_" in text:
            raise ValueError  # Python reads more as a number than people do
        value: int | float = (
            int(text) if text.lstrip("+-").isdigit() and len(text) < 19 else float(text)
        )
    except ValueError:
        raise Wrong(f"{text[:60]!r} is no number, and the column holds numbers") from None
    if value != value or abs(value) == float("inf"):
        raise Wrong(f"{text[:60]!r} is no number a database can compare with")
    return value


def _boolean(literal: Any) -> bool:
    word = str(literal).strip().lower()
    if word in ("true", "1", "yes", "t", "y"):
        return True
    if word in ("false", "0", "no", "f", "n"):
        return False
    raise Wrong(f"{literal!r} is neither true nor false, and the column holds nothing else")


def _bound(value: str | float, kind: Kind, dialect: Dialect) -> Element:
    if kind == "text" and dialect in ("postgresql", "duckdb"):
        return sa.literal(value, sa.String())  # by itself it would have no type
    return _plain(value)


def _plain(value: Any) -> Element:
    # Without a type of SQLAlchemy's, the driver sends what Python holds: a large number is not cut
    # to 32 bits, and PostgreSQL takes the type from what the value is compared with.
    return sa.literal(value, NullType())
