"""The small shop of ``shop.sql``: its models, as a model file would declare them, and its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from refdesk.db.dsl.compile import compile as compile_query
from refdesk.db.dsl.types import Query
from refdesk.db.permission import Permission
from refdesk.db.schema import Column, Model, ModelSet, Relation

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
FOLDER = Path(__file__).parents[1]


def _columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name=n, type=t, primary=n == "id") for n, t in types.items())


SHOP = ModelSet(
    (
        Model(
            id="customers",
            table="customers",
            columns=_columns(
                id="integer", name="varchar(80)", email="varchar(120)", city="varchar(40)",
                country="varchar(40)", signed_up="date", is_active="boolean",
                credit_limit="decimal(10,2)",
            ),
        ),
        Model(
            id="products",
            table="products",
            columns=_columns(
                id="integer", name="varchar(80)", category="varchar(30)", brand="varchar(30)",
                price="decimal(10,2)", stock="integer", rating="float", discontinued="boolean",
                description="text", released="date",
            ),
        ),
        Model(
            id="orders",
            table="orders",
            columns=_columns(
                id="integer", customer_id="integer", product_id="integer", status="varchar(20)",
                quantity="integer", total="decimal(10,2)", payment_method="varchar(20)",
                ordered_at="timestamp", note="text",
            ),
            relations=(
                Relation(name="customer", model="customers", column="customer_id", foreign="id"),
                Relation(name="product", model="products", column="product_id", foreign="id"),
            ),
        ),
    )
)  # fmt: skip


class Shop:
    """The shop in a database in memory."""

    def __init__(self) -> None:
        self.engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
        with self.engine.begin() as connection:
            for statement in (FOLDER / "shop.sql").read_text().split(";\n"):
                connection.exec_driver_sql(statement)

    def rows(self, query: str | Query) -> list[tuple[Any, ...]]:
        """The rows of SQL, or of a query as it is compiled."""
        with self.engine.connect() as connection:
            if isinstance(query, str):
                return [tuple(row) for row in connection.exec_driver_sql(query)]
            statement = compile_query(query, SHOP, "sqlite", permission=Permission())
            return [tuple(row) for row in connection.execute(statement)]

    def samples(self) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """What the text columns hold, as sampling would find it."""
        return {
            model.id: {
                column.name: [
                    value
                    for (value,) in self.rows(f"SELECT DISTINCT {column.name} FROM {model.table}")
                    if value is not None
                ]
                for column in model.columns
                if column.kind == "text" and column.name not in {"description", "note", "email"}
            }
            for model in SHOP
        }


def holds(found: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]], *, ordered: bool) -> bool:
    """Whether rows hold the wanted ones, in some of their columns."""
    if len(found) != len(wanted):
        return False
    if not wanted:
        return True
    shown, columns = [_plain(row) for row in found], []
    for at in range(len(wanted[0])):
        column = [_plain(row)[at] for row in wanted]
        columns.append(
            [n for n in range(len(shown[0])) if sorted(r[n] for r in shown) == sorted(column)]
        )
    return any(
        (picked == target if ordered else sorted(picked) == sorted(target))
        for choice in _choices(columns)
        for picked in [[tuple(row[n] for n in choice) for row in shown]]
        for target in [[_plain(row) for row in wanted]]
    )


def _choices(columns: list[list[int]]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for column in columns:
        found = [(*before, n) for before in found for n in column if n not in before]
    return found


def _plain(row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(
        f"{float(value):.4f}" if isinstance(value, int | float) else str(value) for value in row
    )
