"""
A second look at what is about to run, by a parser that knows nothing of how it was written.

What is sent to a database is the SQL that is written from the parsed and examined tree, never the
text that came in: what the parser did not see, such as a comment that one server would run, is not
there any more.  Nothing here reads or changes a database.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from refdesk.errors import RefdeskError

MAX_SQL_CHARS: Final = 100_000
"""Characters of compiled SQL; a longer statement is refused."""
_EXAMINED: Final = 512
"""Texts whose examination is remembered."""
_SHOWN_CHARS: Final = 60

_SQLGLOT: Final = {
    "sqlite": "sqlite",
    "postgresql": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
    "duckdb": "duckdb",
}
_NODES: Final = (
    # Shape
    "Select Subquery Union From Join Where Group Having Order Ordered Limit Offset Distinct Table "
    "TableAlias Alias Column Identifier Star Tuple Paren Exists "
    # Values
    "Literal Null Boolean Placeholder Var DataType DataTypeParam Interval IntervalSpan "
    # Comparison and logic
    "And Or Not EQ NEQ GT GTE LT LTE Is In Between Like ILike Escape NullSafeEQ NullSafeNEQ "
    # Arithmetic, choice, conversion
    "Add Sub Mul Div IntDiv Mod Neg DPipe Case If Cast TryCast AtTimeZone Collate Filter"
)
"""Kinds of node that a query may have; whatever is not here is refused."""

_FUNCTIONS: Final = (
    "Count Sum Avg Min Max Stddev StddevPop StddevSamp Variance VariancePop Median PercentileCont "
    "PercentileDisc Corr WithinGroup GroupConcat Abs Ceil Floor Round Sqrt Pow Ln Exp Log Sign "
    "Greatest Least Coalesce Nullif Lower Upper Trim Length Substring Left Right Replace Concat "
    "ConcatWs StrPosition SplitPart Extract TimestampTrunc DateTrunc TimeToStr StrToDate StrToTime "
    "TsOrDsToDate TsOrDsToTimestamp TsOrDsAdd Date Datetime Timestamp CurrentDate "
    "CurrentTimestamp CurrentTime DateAdd DateSub DateDiff TimestampAdd TimestampSub TimestampDiff "
    "DatetimeAdd DatetimeSub DatetimeDiff Year Quarter Month Week Day Hour Minute Second DayOfWeek "
    "DayOfMonth DayOfYear DayOfWeekIso WeekOfYear LastDay JSONExtract JSONExtractScalar JSONPath "
    "JSONBExtract JSONBExtractScalar JSONValue "
    "JSONPathRoot JSONPathKey JSONPathSubscript Trunc Truncate Anonymous TimeToUnix UnixToTime "
    "DateFromParts MakeInterval Cbrt Degrees Radians Char Chr Unicode Initcap Reverse "
    "Mode StrToUnix UnixSeconds CurrentDatetime UtcTimestamp"
)
_NAMED: Final = (
    # Functions that the parser has no node for, by name.
    "abs age avg ceil ceiling char_length coalesce concat count curdate date date_add date_format "
    "date_part date_sub date_trunc datediff datetime day dayofmonth dayofweek dayofyear extract "
    "floor greatest group_concat hour ifnull instr julianday least left length localtimestamp "
    "lower ltrim "
    "make_date max min minute mod month now nullif power quarter replace right round rtrim second "
    "sqrt stddev stddev_pop stddev_samp strftime string_agg substr substring sum time timediff "
    "timestampadd timestampdiff to_char to_date to_days total trim trunc unix_timestamp unixepoch "
    "upper var_pop var_samp variance week weekday year last_day median typeof bool_and bool_or "
    "corr sign pow exp ln log log10 log2 mode json_unquote json_extract json_value"
)
_ALLOWED: Final = frozenset(f"{_NODES} {_FUNCTIONS}".split())
_ALLOWED_NAMES: Final = frozenset(_NAMED.split())
# It quotes what it cannot read; what was asked is nothing for the log.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)

_MARK: Final = re.compile("\x00([A-Za-z0-9_]+)\x00")


class Refused(RefdeskError):
    """A statement that will not be run; the sentence says what in it is not allowed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A statement as a driver takes it: no value stands in the SQL."""

    sql: str
    params: Mapping[str, Any]
    """By name, for the placeholders of the SQL: hand it to the driver as it is."""


def write(
    statement: sa.Select[Any] | sa.CompoundSelect[Any],
    dialect: str,
    *,
    tables: Collection[str] | None = None,
) -> Written:
    """
    Write a statement for a driver, from the tree of its examined SQL.

    Args:
        statement: What the compiler of QueryDSL made.
        dialect: ``sqlite``, ``postgresql``, ``mysql``, ``mariadb`` or ``duckdb``.
        tables: The tables that it may read, with their schema where they have one
            (``sales.orders``); None: not looked at.

    Raises:
        Refused: It is not one query, or has in it what no query needs.
    """
    compiled = statement.compile(
        dialect=_writer(dialect), compile_kwargs={"render_postcompile": True}
    )
    values = compiled.construct_params()
    sql, names = _rewritten(str(compiled), dialect, None if tables is None else frozenset(tables))
    processors = getattr(compiled, "_bind_processors", {})
    params = {
        mark: processors[name](values[name]) if name in processors else values[name]
        for mark, name in _marks(compiled, values)
        if mark in names
    }
    if missing := sorted(names - params.keys()):
        raise Refused(f"the query has no value for {missing[0]!r}")
    return Written(sql=sql, params=params)


def _marks(compiled: Any, values: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Return what stands in the SQL for each value, and the value's name."""
    if not compiled.positional:
        return ((name, name) for name in values)
    return ((str(at), name) for at, name in enumerate(compiled.positiontup, start=1))


# The text holds no value, so that questions of one shape have one text, examined once.
@lru_cache(maxsize=_EXAMINED)
def _rewritten(
    text: str, dialect: str, tables: frozenset[str] | None
) -> tuple[str, frozenset[str]]:
    tree = examined(text, dialect, tables=tables)
    names = frozenset(str(mark.this) for mark in tree.find_all(exp.Placeholder))
    return _sql(tree, dialect), names


def examined(sql: str, dialect: str, *, tables: Collection[str] | None = None) -> exp.Expression:
    """
    Return the tree of a text that is one query and nothing else, with ``:name`` placeholders.

    Raises:
        Refused: It is not, or reads a table beside those named.
    """
    if len(sql) > MAX_SQL_CHARS:
        raise Refused(f"the query has {len(sql)} characters; at most {MAX_SQL_CHARS} are run")
    if "\x00" in sql:
        raise Refused("the query has a NUL character in it")
    try:
        parsed = parse(sql, read=_SQLGLOT[dialect])
        if len(parsed) != 1:
            raise Refused(f"these are {len(parsed)} statements; one query is run")
        tree = parsed[0]
        if not isinstance(tree, (exp.Select, exp.Union)):
            raise Refused(f"{_kind(tree)} is no query; only reading is allowed")
        _walk(tree, tables)
    except SqlglotError:
        # Its message quotes the SQL.
        raise Refused("the query could not be read a second time, so it was not run") from None
    except RecursionError:
        raise Refused("the query is nested too deeply; ask for less at once") from None
    return tree


def _walk(tree: exp.Expression, tables: Collection[str] | None) -> None:
    for node in tree.walk():
        kind = type(node).__name__
        if node.comments:
            raise Refused("the query has a comment in it")
        if isinstance(node, exp.Anonymous):
            name = str(node.this).lower()
            if name not in _ALLOWED_NAMES:
                raise Refused(f"the function {_shown(name)} is not allowed")
        elif kind not in _ALLOWED:
            what = "function" if isinstance(node, exp.Func) else "clause"
            raise Refused(f"the {what} {_kind(node)} is not allowed")
        if isinstance(node, exp.Table):
            _check_table(node, tables)


def _check_table(table: exp.Table, tables: Collection[str] | None) -> None:
    if not isinstance(table.this, exp.Identifier):
        raise Refused("a function in the place of a table is not allowed")
    if table.args.get("catalog"):
        raise Refused("a table of another database is not allowed")
    if tables is None:
        return
    name = f"{table.db}.{table.name}" if table.db else table.name
    if name not in tables:
        raise Refused(f"the table {_shown(name)} is none of those that were asked for")


def _sql(tree: exp.Expression, dialect: str) -> str:
    if dialect in ("sqlite", "duckdb"):
        return tree.sql(dialect=_SQLGLOT[dialect])
    # These drivers read percent signs, so each must be doubled, except in placeholders.
    for mark in list(tree.find_all(exp.Placeholder)):
        mark.replace(exp.Var(this=f"\x00{mark.this}\x00"))
    sql = tree.sql(dialect=_SQLGLOT[dialect]).replace("%", "%%")
    return _MARK.sub(r"%(\1)s", sql)


def _writer(dialect: str) -> Dialect:
    try:
        return _WRITERS[dialect]
    except KeyError:
        raise Refused(
            f"{dialect!r} is no kind of database that can be asked; there are {', '.join(_WRITERS)}"
        ) from None


def _mysql() -> Dialect:
    return mysql.dialect(paramstyle="named")


_WRITERS: Final[Mapping[str, Dialect]] = {
    "sqlite": sqlite.dialect(paramstyle="named"),
    "postgresql": postgresql.psycopg.dialect(paramstyle="named"),  # type: ignore[no-untyped-call]
    "mysql": _mysql(),
    "mariadb": _mysql(),
    # As the first thing selected, ":name" would be half of DuckDB's own "alias: value".
    "duckdb": postgresql.dialect(paramstyle="numeric_dollar"),  # type: ignore[no-untyped-call]
}


def _kind(node: exp.Expr | None) -> str:
    if node is None:
        return "nothing at all"
    name = node.name if isinstance(node, exp.Command) else ""
    return (name or node.key).upper()


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…")
