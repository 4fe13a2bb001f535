"""Models read from the database itself: its tables and views, columns, comments and keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import NoSuchTableError, SQLAlchemyError

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
        for table in _tables(inspector, schema)[: MAX_TABLES - len(models)]:
            try:
                models.append(_model(inspector, table, schema))
            except NoSuchTableError:
                continue  # dropped meanwhile, or not ours to read
    return _both_ways(models)


def _tables(inspector: sa.Inspector, schema: str | None) -> list[str]:
    names = [*inspector.get_table_names(schema=schema), *inspector.get_view_names(schema=schema)]
    return sorted(each for each in set(names) if not each.lower().startswith("sqlite_"))


def _model(inspector: sa.Inspector, table: str, schema: str | None) -> Model:
    prefix = f"{schema}." if schema else ""
    primary = set(
        inspector.get_pk_constraint(table, schema=schema).get("constrained_columns") or ()
    )
    columns = tuple(
        Column(
            name=each["name"],
            type=_type_name(each["type"]),
            description=each.get("comment") or None,
            enum=tuple(getattr(each["type"], "enums", None) or ()),
            nullable=bool(each.get("nullable", True)) and each["name"] not in primary,
            primary=each["name"] in primary,
        )
        for each in inspector.get_columns(table, schema=schema)
    )
    relations = []
    for key in inspector.get_foreign_keys(table, schema=schema):
        other, there = key["referred_schema"] or schema, key["referred_columns"]
        if len(key["constrained_columns"]) != 1 or len(there) != 1:
            continue
        referred = key["referred_table"]
        relations.append(
            Relation(
                name=referred,
                model=f"{other}.{referred}" if other else referred,
                column=key["constrained_columns"][0],
                foreign=there[0],
            )
        )
    return Model(
        id=prefix + table,
        table=table,
        schema=schema,
        columns=columns,
        description=_comment(inspector, table, schema),
        relations=tuple(relations),
    )


def _comment(inspector: sa.Inspector, table: str, schema: str | None) -> str | None:
    try:
        return inspector.get_table_comment(table, schema=schema).get("text") or None
    except (NotImplementedError, SQLAlchemyError):
        return None  # SQLite has none, and a view has none in some databases


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
