"""What is made of a question gives the same rows on every kind of database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from db.generate.more import databases
from db.generate.shop import NOW
from db.kinds import KINDS, opened
from refdesk.db.dsl.compile import compile as compile_query
from refdesk.db.execute import Runner
from refdesk.db.gate import write
from refdesk.db.permission import Permission

TABLES = ("customers", "orders", "payments", "products", "order_items")
QUESTIONS = [
    "customers with their number of payments",
    "number of orders and number of payments per city",
    "total order amount per product",
    "number of paid orders per customer",
    "number of orders with discontinued products per customer",
    "total amount of orders with a discontinued product",
    "customers without discontinued products",
    "products that are not discontinued",
    "orders not from Berlin",
    "products whose sku contains '\\'",
    "products whose name contains '50%'",
    "customer with the fewest payments",
    "customers with fewer than 2 payments",
    "which city has the highest total amount",
]


def _value(value: Any, kind: str) -> Any:
    return bool(value) if kind == "boolean" and value is not None else value


@pytest.fixture(scope="module", params=KINDS)
def runner(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runner]:
    """What runs queries on a market in a database of each kind."""
    market = databases()["market"]
    text = (Path(__file__).parent / "market.sql").read_text(encoding="utf-8")
    with opened(request.param, tmp_path_factory.mktemp(request.param)) as database:
        database.execute(*(each for each in text.split(";\n") if "CREATE TABLE" in each))
        for table in TABLES:
            model = market.models.find(table)
            assert model is not None
            kinds = [each.kind for each in model.columns]
            database.fill(
                table,
                [
                    tuple(map(_value, row, kinds))
                    for row in market.rows(f"SELECT * FROM {table} ORDER BY id")
                ],
            )
        runner = Runner("market", database.url)
        yield runner
        runner.close()


@pytest.mark.parametrize("question", QUESTIONS)
async def test_the_rows_are_the_same(runner: Runner, question: str) -> None:
    """Joins that keep groups, figures over rows read once, and negations mean the same."""
    market = databases()["market"]
    made = market.ask(question)
    assert made.query is not None, made.refused
    statement = compile_query(
        made.query, market.models, runner.dialect, permission=Permission(), now=NOW
    )
    rows = await runner.run(write(statement, runner.dialect))
    found = [tuple(map(_plain, row.values())) for row in rows.rows]
    wanted = [tuple(map(_plain, row)) for row in market.rows(made.query)]
    assert found
    assert sorted(found, key=str) == sorted(wanted, key=str)


def _plain(value: Any) -> Any:
    return round(float(value), 4) if isinstance(value, int | float) else value
