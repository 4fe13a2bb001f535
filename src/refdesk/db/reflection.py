"""Models read from the database itself: its tables and views, columns, comments and keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import SQLAlchemyError

from refdesk.db.schema import Column, Model, ModelSet, Relation

MAX_TABLES: Final = 500
"""How many tables are looked at; a larger schema needs model files."""

_DUCKDB_COLUMNS: Final = """
    select table_schema, table_name, column_name, data_type, is_nullable
    from information_schema.columns
    where table_schema not in ('information_schema', 'pg_catalog')
    order by table_schema, table_name, ordinal_position
"""
_DUCKDB_KEYS: Final = """
    select schema_name, table_name, constraint_type, constraint_column_names,
           referenced_table, referenced_column_names
    from duckdb_constraints()
    where constraint_type in ('PRIMARY KEY', 'FOREIGN KEY')
"""


def reflect(engine: sa.Engine) -> ModelSet:
    """
    Return a model for each table and view of a database.

    A table of the default schema has its name as id; another one's is ``schema.table``.  Foreign
    keys of one column become relations, from both sides.
    """
    with engine.connect() as connection:
        return _inspected(connection)


def reflect_duckdb(connection: Any) -> ModelSet:
    """
    Do as `reflect` for DuckDB, which no dialect of this SQLAlchemy can inspect.

    Args:
        connection: A connection of the module ``duckdb``.
    """
    columns: Sequence[Sequence[Any]] = connection.execute(_DUCKDB_COLUMNS).fetchall()
    keys: Sequence[Sequence[Any]] = connection.execute(_DUCKDB_KEYS).fetchall()
    primary: dict[tuple[str, str], set[str]] = defaultdict(set)
    foreign: dict[tuple[str, str], list[tuple[str, str, str]]] = defaultdict(list)
    for schema, table, kind, names, other, others in keys:
        if kind == "PRIMARY KEY":
            primary[schema, table].update(names)
        elif len(names) == 1 and others:
            foreign[schema, table].append((names[0], other, others[0]))
    tables: dict[tuple[str, str], list[Column]] = defaultdict(list)
    for schema, table, name, type_, nullable in columns:
        tables[schema, table].append(
            Column(
                name=name,
                type=str(type_).lower(),
                nullable=str(nullable).upper() == "YES",
                primary=name in primary[schema, table],
            )
        )
    models = []
    for (schema, table), found in tables.items():
        main = schema == "main"
        prefix = "" if main else f"{schema}."
        models.append(
            Model(
                id=prefix + table,
                table=table,
                schema=None if main else schema,
                columns=tuple(found),
                relations=tuple(
                    Relation(name=other, model=prefix + other, column=column, foreign=there)
                    for column, other, there in foreign[schema, table]
                ),
            )
        )
    return _both_ways(models)


def _inspected(connection: sa.Connection) -> ModelSet:
    inspector = sa.inspect(connection)
    default = inspector.default_schema_name
    schemas: list[str | None] = [None]
    if connection.dialect.name == "postgresql":
        schemas += [
            each
            for each in inspector.get_schema_names()
            if each not in (default, "information_schema") and not each.startswith("pg_")
        ]
    models: list[Model] = []
    for schema in schemas:
        names = _tables(inspector, schema)[: MAX_TABLES - len(models)]
        models += _models(inspector, names, schema)
    return _both_ways(models)


def _tables(inspector: sa.Inspector, schema: str | None) -> list[str]:
    names = {*inspector.get_table_names(schema=schema), *inspector.get_view_names(schema=schema)}
    with suppress(NotImplementedError):  # most databases have none
        names.update(inspector.get_materialized_view_names(schema=schema))
    return sorted(each for each in names if not each.lower().startswith("sqlite_"))


def _models(inspector: sa.Inspector, names: list[str], schema: str | None) -> Iterator[Model]:
    """Yield a model for each table, all of them asked for at once; one just dropped has none."""
    if not names:
        return
    asked: Any = {"schema": schema, "filter_names": names, "kind": ObjectKind.ANY}
    columns = inspector.get_multi_columns(**asked)
    primary: Mapping[Any, Any] = inspector.get_multi_pk_constraint(**asked)
    foreign: Mapping[Any, Any] = inspector.get_multi_foreign_keys(**asked)
    comments: Mapping[Any, Any] = {}
    with suppress(NotImplementedError, SQLAlchemyError):  # SQLite has none
        comments = inspector.get_multi_table_comment(**asked)
    for table in names:
        key = (schema, table)
        if not columns.get(key):
            continue
        keys = set((primary.get(key) or {}).get("constrained_columns") or ())
        comment = (comments.get(key) or {}).get("text")
        yield Model(
            id=f"{schema}.{table}" if schema else table,
            table=table,
            schema=schema,
            columns=tuple(_column(each, keys) for each in columns[key]),
            description=comment or None,
            relations=tuple(_relations(foreign.get(key) or (), inspector.default_schema_name)),
        )


def _column(found: Any, primary: set[str]) -> Column:
    return Column(
        name=found["name"],
        type=_type_name(found["type"]),
        description=found.get("comment") or None,
        enum=tuple(getattr(found["type"], "enums", None) or ()),
        nullable=bool(found.get("nullable", True)) and found["name"] not in primary,
        primary=found["name"] in primary,
    )


def _relations(keys: Iterable[Any], default: str | None) -> Iterator[Relation]:
    for key in keys:
        other, there = key["referred_schema"], key["referred_columns"]
        other = None if other == default else other
        if len(key["constrained_columns"]) == len(there) == 1:
            referred = key["referred_table"]
            yield Relation(
                name=referred,
                model=f"{other}.{referred}" if other else referred,
                column=key["constrained_columns"][0],
                foreign=there[0],
            )


def _type_name(type_: Any) -> str:
    """Return the type as the database calls it; what SQLAlchemy cannot name is left open."""
    if isinstance(type_, sa.Enum):
        return "enum"
    if isinstance(type_, sa.types.NullType):
        return "other"
    try:
        name = str(type_).lower()
    except (SQLAlchemyError, NotImplementedError):
        name = type(type_).__name__.lower()
    return "boolean" if name == "tinyint(1)" else name


def _both_ways(models: list[Model]) -> ModelSet:
    """Return the models with each relation known from its other side, too."""
    ids = {model.id for model in models}
    back: dict[str, list[Relation]] = defaultdict(list)
    for model in models:
        for each in model.relations:
            back[each.model].append(
                Relation(
                    name=model.id,
                    model=model.id,
                    column=each.foreign,
                    foreign=each.column,
                    kind="many",
                )
            )
    return ModelSet(tuple(_related(model, back[model.id], ids) for model in models))


def _related(model: Model, back: Iterable[Relation], ids: set[str]) -> Model:
    known = [each for each in (*model.relations, *back) if each.model in ids]
    named, taken = [], set[str]()
    for each in known:
        name = each.name if each.name not in taken else f"{each.name}_{each.column}"
        number = 2
        while name in taken:
            name, number = f"{each.name}_{each.column}_{number}", number + 1
        taken.add(name)
        named.append(replace(each, name=name))
    return replace(model, relations=tuple(named))
