"""
A query as values: what a document says, once it is read.

Nothing here knows a database, a model or a person.  Two queries that mean the same document are
equal, and `refdesk.db.dsl.to_document` writes any of them down again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from refdesk.errors import RefdeskError

Scalar = str | int | float | bool | None
"""A value a query may hold; dates are ISO 8601 text."""

Op = Literal[
    "=", "<>", ">", ">=", "<", "<=", "like", "not like", "match", "in", "not in", "is", "between"
]
OPS: tuple[Op, ...] = get_args(Op)

Arithmetic = Literal["+", "-", "*", "/"]

Unit = Literal["second", "minute", "hour", "day", "week", "month", "quarter", "year"]
UNITS: tuple[Unit, ...] = get_args(Unit)

CastType = Literal[
    "string", "text", "integer", "decimal", "float", "boolean", "date", "datetime", "time"
]
CAST_TYPES: tuple[CastType, ...] = get_args(CastType)

Severity = Literal["error", "warning", "info", "hint"]


# --- expressions ---------------------------------------------------------------------------------


Identity = Mapping[str, Any]
"""What is known of the asker: the claims of the client key, or what the caller says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """A column: ``name``, ``table.name``, ``alias.name`` or ``$model.name``."""

    name: str
    source: str | None = None
    """The table, alias or, after a ``$``, the model it belongs to; None where it was not said."""
    path: tuple[str | int, ...] = ()
    """Steps into a JSON value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Constant:
    """A value, which is always bound and never written into the SQL."""

    value: Scalar
    claimed: bool = False
    """Whether it is a claim of the asker's: then it means just itself, and is read as no other."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Star:
    """All columns, of one source if it is named."""

    source: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """A value handed in when the query is compiled: ``?:name``."""

    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A claim of the asker's identity: ``{user.team}``.  Only row rules have it."""

    path: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A function on the list of those allowed, by its upper-case name."""

    name: str
    args: tuple[Expression, ...] = ()
    distinct: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Binary:
    """Arithmetic.  A division is never a whole-number one; by zero it is null."""

    op: Arithmetic
    left: Expression
    right: Expression


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """A length of time, to be added to a date or taken from it: ``:INTERVAL(7, day)``."""

    amount: Expression
    unit: Unit


@dataclass(frozen=True, kw_only=True, slots=True)
class Cast:
    """A value as another type: ``:CAST(price as decimal 11,2)``, or ``price(decimal 11,2)``."""

    value: Expression
    type: CastType
    size: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class When:
    """One arm of a case."""

    wheres: tuple[Condition, ...]
    then: Expression


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """The first arm whose conditions hold, else the default, else null."""

    whens: tuple[When, ...]
    default: Expression | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SubQuery:
    """A query with one column, and one row where a single value is wanted."""

    query: Query


Expression = (
    Field | Constant | Star | Parameter | Claim | Call | Binary | Interval | Cast | Case | SubQuery
)


# --- conditions ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """
    One condition.

    ``right`` is a tuple after ``in`` and ``not in`` (unless a sub-query, or a parameter or claim
    that holds a list) and after ``between`` (two values); after ``is`` it is Constant("null") or
    Constant("not null").
    """

    left: Expression
    op: Op
    right: Expression | tuple[Expression, ...]
    either: bool = False
    """Whether OR joins it to what stands before it; AND otherwise.  AND binds closer than OR."""
    comment: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Conditions in parentheses."""

    wheres: tuple[Condition, ...]
    either: bool = False
    comment: str | None = None


Condition = Comparison | Group


# --- the query -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Selected:
    """A column of the result."""

    value: Expression
    alias: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What is read: a model (by table name, or by id after a ``$``), or a derived table."""

    name: str | None = None
    query: Query | None = None
    alias: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Join:
    """
    Another source.  Its rows are those where key equals foreign and ``on`` holds.

    At least one of both is given.
    """

    source: Source
    key: Expression | None = None
    foreign: Expression | None = None
    on: tuple[Condition, ...] = ()
    kind: Literal["inner", "left", "right"] = "inner"


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """One step of the order; the value may be a select alias."""

    value: Expression
    descending: bool = False
    nulls: Literal["first", "last"] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupBy:
    """One grouping; the value may be a select alias."""

    value: Expression


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """
    A read of one source and what is joined to it.

    With unions, orders, limit and offset are those of the whole.
    """

    source: Source
    select: tuple[Selected, ...] = ()
    """Empty: all columns that the asker may see."""
    wheres: tuple[Condition, ...] = ()
    orders: tuple[Order, ...] = ()
    groups: tuple[GroupBy, ...] = ()
    havings: tuple[Condition, ...] = ()
    joins: tuple[Join, ...] = ()
    unions: tuple[Query, ...] = ()
    """Further queries whose rows are added; duplicates stay."""
    distinct: bool = False
    first: bool = False
    """One row, not a list."""
    limit: int | Parameter | None = None
    offset: int | Parameter | None = None
    page: int | Parameter | None = None
    pagesize: int | Parameter | None = None
    data_only: bool = False
    comment: str | None = None
    debug: bool = False

    @property
    def paged(self) -> bool:
        """Whether a page was asked for, not a list."""
        return self.page is not None or self.pagesize is not None


# --- what is wrong -------------------------------------------------------------------------------

MAX_FINDINGS: Final = 50
"""How much is told of one query that is wrong."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """A place in the text: line and column count from 1, the offset from 0, in characters."""

    line: int
    column: int
    offset: int
    end_line: int
    end_column: int
    end_offset: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnostic:
    """One finding of the linter."""

    code: str
    message: str
    path: str
    """Such as ``wheres[0].wheres[1]``; empty for the whole document."""
    severity: Severity = "error"
    source: str | None = None
    """What stands there, shortened."""
    position: Position | None = field(default=None, compare=False)
    """Where it stands, if the document was handed in as text."""

    def __str__(self) -> str:
        """Return it as one line: ``line:col-endcol:path: severity: message``."""
        place = ""
        if at := self.position:
            end = f"-{at.end_column}" if at.end_line == at.line else ""
            place = f"{at.line}:{at.column}{end}:"
        path = f"{self.path}: " if self.path else ""
        return f"{place}{path}{self.severity}: {self.message} [{self.code}]"


class QueryError(RefdeskError):
    """A query that cannot be; the diagnostics say all that is wrong, the message the first."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        first = diagnostics[0]
        more = len(diagnostics) - 1
        where = f"{first.path}: " if first.path else ""
        super().__init__(f"{where}{first.message}" + (f" (and {more} more)" if more else ""))
        self.diagnostics = tuple(diagnostics)
