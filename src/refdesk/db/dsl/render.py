"""A statement as text for a driver: its own placeholders, and the values to hand it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.mysql import pymysql
from sqlalchemy.dialects.postgresql import psycopg
from sqlalchemy.engine.interfaces import Dialect as SqlDialect

from refdesk.db.dsl.compile import Statement
from refdesk.db.dsl.values import Dialect


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendered:
    """SQL without a value in it, and what to hand to the driver beside it."""

    sql: str
    params: list[Any] | dict[str, Any]


def sql_dialect(name: Dialect) -> SqlDialect:
    """Return SQLAlchemy's dialect as the driver in use writes it."""
    found: SqlDialect = _DIALECTS[name]()
    return found


def render(statement: Statement | sa.Select[Any], dialect: Dialect) -> Rendered:
    """
    Return a statement as SQL and parameters, to be given to the driver unchanged.

    sqlite3 takes ``?`` and DuckDB ``$1``, with a list; psycopg takes ``%(name)s`` and an object,
    PyMySQL ``%s`` and a list.
    """
    compiled = statement.compile(
        dialect=sql_dialect(dialect), compile_kwargs={"render_postcompile": True}
    )
    params = compiled.construct_params(escape_names=True)
    processors: dict[str, Any] = dict(compiled._bind_processors)
    values = {
        name: (processors[name](value) if name in processors else value)
        for name, value in params.items()
    }
    if compiled.positional:
        names = compiled.positiontup or []
        return Rendered(sql=str(compiled), params=[values[name] for name in names])
    return Rendered(sql=str(compiled), params=values)


_DIALECTS: Final[dict[Dialect, Any]] = {
    "sqlite": sqlite.dialect,
    "postgresql": psycopg.dialect,
    "mysql": pymysql.dialect,
    "mariadb": pymysql.dialect,
    # DuckDB reads PostgreSQL's SQL; no dialect of its own works with this SQLAlchemy.
    "duckdb": partial(postgresql.dialect, paramstyle="numeric_dollar"),
}
