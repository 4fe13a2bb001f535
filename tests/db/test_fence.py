"""
A query that fails says nothing of rows that the asker may not see.

Each database is asked twice, and between both a row comes in that the asker may not see: what the
query gives, or how it fails, is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from db.kinds import KINDS, Opened, opened
from refdesk.db.dsl import compile, parse  # noqa: A004
from refdesk.db.execute import ExecutionFailed, Runner
from refdesk.db.gate import write
from refdesk.db.permission import read_permission
from refdesk.db.schema import Column, Model, ModelSet

ORDERS = Model(
    id="orders",
    table="orders",
    columns=(
        Column(name="id", type="integer", primary=True),
        Column(name="customer", type="integer"),
        Column(name="total", type="integer"),
        Column(name="status", type="string"),
        Column(name="day", type="date"),
    ),
)
CUSTOMERS = Model(
    id="customers",
    table="customers",
    columns=(Column(name="id", type="integer", primary=True), Column(name="team")),
)
MODELS = ModelSet((ORDERS, CUSTOMERS))
TEAM = {
    "select": ["id"],
    "from": "customers",
    "wheres": [{"field": "team", "=": "{user.team}"}],
}
# A database looks for these last, and tries what else is asked for first.
BY_TEAM = {"orders": {"rows": [{"field": "customer", "op": "in", "query": TEAM}]}}
OWN = {"orders": {"rows": [{"field": "customer", "=": "{user.id}"}]}}
TABLES = (
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, team VARCHAR(10))",
    """CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, total INTEGER,
       status VARCHAR(10), day DATE)""",
    "INSERT INTO customers VALUES (1, 'red'), (2, 'blue')",
    "INSERT INTO orders VALUES (1, 1, 5, '1', '2026-01-01'), (2, 1, 6, '2', '2026-01-02')",
)
UNSEEN = "INSERT INTO orders VALUES (9, 2, 2000000000, 'secret', '9999-12-31')"
ABOVE = {"case": [{"when": [{"field": "total", ">": 700}], "then": ":CAST(status as integer)"}],
         "else": 1}  # fmt: skip
ASKED: dict[str, Any] = {
    "a cast": {"wheres": [{"field": ":CAST(status as integer)", ">": 0}]},
    "a cast of what is guessed": {"wheres": [{"field": ABOVE, "=": 1}]},
    "a sum too large": {"wheres": [{"field": "total + 1000000000", ">": 0}]},
    "a cut before the text": {"wheres": [{"field": ":SUBSTR(status, 1, 700 - total)", "<>": "x"}]},
    "a day after the last": {"wheres": [{"field": "day", "<": "{day + :INTERVAL(90000, year)}"}]},
    "a pattern cut off": {"wheres": [{"field": "status", "like": "{:CONCAT(status, '!')}"}]},
    "two kinds": {"wheres": [{"field": "status", "=": "{total}"}]},
    "groups": {
        "select": ["status", ":COUNT(*) as n"],
        "groups": ["status"],
        "havings": [{":CAST(status as integer)": "", ">": 0}],
    },
    "groups by alias": {
        "select": [":CAST(status as integer) as s", ":COUNT(*) as n"],
        "groups": ["s"],
        "havings": [{"field": "s", ">": 0}],
    },
    "a query within": {
        "select": ["x"],
        "from": None,
        "query": {"select": [":CAST(status as integer) as x"], "from": "orders"},
        "name": "d",
        "wheres": [{"field": "x", ">": 0}],
    },
    "a join": {
        "select": ["a.id"],
        "from": "orders as a",
        "joins": [{"from": "customers as c", "on": [{"field": "c.id", "=": 1},
                   {"field": ":CAST(a.status as integer)", ">": 0}]}],
    },
    "what is selected": {"select": [":CAST(status as integer) as s"], "orders": "s"},
}  # fmt: skip


Asked = tuple[Opened, Runner]


@pytest.fixture(scope="module", params=KINDS)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Asked]:
    """A database of each kind, with two orders of one customer, and what asks it."""
    with opened(request.param, tmp_path_factory.mktemp(request.param)) as database:
        database.execute(*TABLES)
        runner = Runner("shop", database.url)
        yield database, runner
        runner.close()


async def _outcome(runner: Runner, document: dict[str, Any], rules: dict[str, Any]) -> Any:
    statement = compile(
        parse({key: value for key, value in document.items() if value is not None}),
        MODELS,
        runner.dialect,
        permission=read_permission(rules, MODELS),
        identity={"team": "red", "id": 1},
    )
    try:
        return (await runner.run(write(statement, runner.dialect))).rows
    except ExecutionFailed as error:
        return str(error)


@pytest.mark.parametrize("rules", [BY_TEAM, OWN], ids=["by team", "own"])
@pytest.mark.parametrize("document", ASKED.values(), ids=ASKED)
async def test_a_failure_tells_nothing(
    database: Asked, document: dict[str, Any], rules: dict[str, Any]
) -> None:
    """A row that may not be seen makes no query fail that would not fail without it."""
    document = {"select": ["id"], "from": "orders", **document}
    shop, runner = database
    before = await _outcome(runner, document, rules)
    shop.execute(UNSEEN)
    try:
        assert await _outcome(runner, document, rules) == before
    finally:
        shop.execute("DELETE FROM orders WHERE id = 9")


def test_what_cannot_fail_is_not_fenced() -> None:
    """Comparisons, and what is only selected, leave the database free to use its indexes."""
    permission = read_permission(BY_TEAM, MODELS)
    for document in (
        {
            "select": ["id"],
            "wheres": [{"field": "total", ">": 5}, {"field": "status", "like": "a%"}],
        },
        {"select": ["id"], "wheres": [{"field": "day", ">": "{:TODAY() - :INTERVAL(1, month)}"}]},
        {"select": ["total / 2 as half"], "wheres": [{"field": ":YEAR(day)", "=": 2026}]},
        {"select": [":SUM(total * 2) as s", ":YEAR(day) as y"], "groups": "y"},
    ):
        statement = compile(
            parse({"from": "orders", **document}),
            MODELS,
            "postgresql",
            permission=permission,
            identity={"team": "red"},
        )
        assert write(statement, "postgresql").sql.count("LIMIT") == 1
