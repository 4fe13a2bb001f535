"""One query, one result: what each database says to the same document is the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from db.kinds import KINDS, opened
from refdesk.db.dsl import compile, count_of, parse  # noqa: A004
from refdesk.db.execute import Runner
from refdesk.db.gate import write
from refdesk.db.permission import Permission
from refdesk.db.schema import Column, Model, ModelSet

SALES = Model(
    id="sale",
    table="Sales",
    columns=(
        Column(name="id", type="integer", primary=True),
        Column(name="order", type="string"),
        Column(name="shopId", type="integer"),
        Column(name="price", type="decimal"),
        Column(name="qty", type="integer"),
        Column(name="day", type="date"),
        Column(name="at", type="datetime"),
        Column(name="paid", type="boolean"),
        Column(name="more", type="json"),
    ),
)
SHOPS = Model(
    id="shop",
    table="shops",
    columns=(Column(name="id", type="integer", primary=True), Column(name="城市", type="string")),
)
MODELS = ModelSet((SALES, SHOPS))
MORE = '{"a": {"b": [10, "x"]}, "k,1": "comma", "{c}": "brace", "sp ace": "s"}'
ROWS: list[tuple[Any, ...]] = [
    (1, "Apple 50%", 1, 10.5, 2, "2025-01-31", "2025-01-31 10:00:00", True, MORE),
    (2, "apple_pie", 1, 4.0, 3, "2025-02-01", "2025-02-01 00:00:00", False, None),
    (3, "Pear\\", 2, 7.25, 1, "2025-03-30", "2025-03-30 23:59:59", True, None),
    (4, None, 9, None, 0, None, None, None, None),
    (5, "pear!", 2, 7.25, 4, "2024-12-30", "2024-12-30 08:30:15", False, None),
]
NOW = datetime(2025, 4, 1, 9, 30)

TABLES = (
    """create table "Sales" (id integer primary key, "order" varchar(40), "shopId" integer,
       price decimal(10,2), qty integer, day date, "at" timestamp null, paid boolean, more json)""",
    'create table shops (id integer primary key, "城市" varchar(40))',
)
SHOP_ROWS = [(1, "Paris"), (2, "上海")]


@pytest.fixture(scope="module", params=KINDS)
def runner(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runner]:
    """What runs queries on a database of each kind, with the sales of some shops."""
    with opened(request.param, tmp_path_factory.mktemp(request.param)) as database:
        database.execute(*TABLES)
        database.fill("Sales", ROWS)
        database.fill("shops", SHOP_ROWS)
        runner = Runner("shop", database.url)
        yield runner
        runner.close()


def _plain(value: Any) -> Any:
    """Return a value as all databases could give it."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return round(value, 2)
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}", value):
        return value.replace("T", " ")
    return value


async def _ask(runner: Runner, document: dict[str, Any]) -> list[tuple[Any, ...]]:
    statement = compile(
        parse({"from": "Sales", **document}),
        MODELS,
        runner.dialect,
        permission=Permission(),
        now=NOW,
    )
    rows = await runner.run(write(statement, runner.dialect))
    return [tuple(map(_plain, row.values())) for row in rows.rows]


def _value(expression: Any, row: int, expected: Any) -> Any:
    return pytest.param(
        {"select": [expression], "wheres": [{"field": "id", "=": row}]},
        [(expected,)],
        id=f"{expression} of {row}",
    )


def _where(condition: Any, *ids: int) -> Any:
    wheres = condition if isinstance(condition, list) else [condition]
    return pytest.param(
        {"select": ["id"], "wheres": wheres, "orders": "id"},
        [(each,) for each in ids],
        id=f"where {condition}",
    )


TWO_MOST = {"select": ["qty"], "from": "Sales", "orders": "qty desc", "limit": 2}
ONE = {"field": "id", "=": 1}
TOTAL = ":SUM(price * qty)"
CITIES = {"select": ["id", "城市"], "from": "shops"}
WORTH = {"select": ["shopId", ":SUM(price * qty) as worth"], "from": "Sales", "groups": "shopId"}
CASES = [
    _value("qty / 4", 1, 0.5),
    _value("qty / 0", 1, None),
    _value("price * qty - 1", 1, 20.0),
    _value("-(qty - 5)", 1, 3),
    _value(":ROUND(price / 3, 1)", 1, 3.5),
    _value(":CEIL(price)", 3, 8),
    _value(":FLOOR(price)", 3, 7),
    _value(":MOD(qty, 3)", 5, 1),
    _value(":ABS(0 - qty)", 1, 2),
    _value(":GREATEST(qty, 3)", 1, 3),
    _value(":LEAST(qty, 3)", 1, 2),
    _value(":COALESCE(`order`, 'none')", 4, "none"),
    _value(":NULLIF(qty, 2)", 1, None),
    _value(":UPPER(`order`)", 2, "APPLE_PIE"),
    _value(":LOWER('ÄŽ')", 1, "äž"),
    _value(":UPPER('äж')", 1, "ÄЖ"),
    _value(":SUBSTR(`order`, 1, 5)", 2, "apple"),
    _value(":LENGTH(`order`)", 5, 5),
    _value(":CONCAT(`order`, '-', qty)", 2, "apple_pie-3"),
    _value(":REPLACE(`order`, 'pear', 'fig')", 5, "fig!"),
    _value(":TRIM('  x ')", 1, "x"),
    _value(":CAST(qty as string)", 1, "2"),
    _value(":CAST('12' as integer)", 1, 12),
    _value(":CAST(qty as float) / 4", 1, 0.5),
    _value(":CAST(price as decimal 10,1)", 1, 10.5),
    _value(":CAST(`at` as date)", 1, "2025-01-31"),
    _value("'it''s 100%'", 1, "it's 100%"),
    _value(":YEAR(day)", 1, 2025),
    _value(":QUARTER(day)", 5, 4),
    _value(":MONTH(`at`)", 2, 2),
    _value(":WEEK(day)", 5, 1),
    _value(":DAY(day)", 3, 30),
    _value(":HOUR(`at`)", 1, 10),
    _value(":MINUTE(`at`)", 5, 30),
    _value(":SECOND(`at`)", 5, 15),
    _value(":DAYOFWEEK(day)", 3, 0),
    _value(":EXTRACT(doy, day)", 2, 32),
    _value(":DATE(`at`)", 3, "2025-03-30"),
    _value(":DATE_TRUNC(year, day)", 1, "2025-01-01"),
    _value(":DATE_TRUNC(quarter, day)", 5, "2024-10-01"),
    _value(":DATE_TRUNC(month, `at`)", 3, "2025-03-01"),
    _value(":DATE_TRUNC(week, day)", 3, "2025-03-24"),
    _value(":DATE_TRUNC(day, `at`)", 3, "2025-03-30"),
    _value(":DATE_TRUNC(hour, `at`)", 5, "2024-12-30 08:00:00"),
    _value("day + :INTERVAL(1, day)", 1, "2025-02-01"),
    _value("day - :INTERVAL(2, weeks)", 2, "2025-01-18"),
    _value("day + :INTERVAL(1, year)", 2, "2026-02-01"),
    _value("`at` + :INTERVAL(90, minutes)", 1, "2025-01-31 11:30:00"),
    _value(":DATE_DIFF(day, day, '2025-03-01')", 2, 28),
    _value(":DATE_DIFF(month, day, '2025-03-01')", 5, 3),
    _value(":DATE_DIFF(year, day, '2025-03-01')", 5, 1),
    _value(":DATE_DIFF(hour, `at`, '2025-01-31 16:30:00')", 1, 6.5),
    _value("day - :DATE('2025-01-01')", 1, 30),
    _value(":TODAY()", 1, "2025-04-01"),
    _value(":NOW()", 1, "2025-04-01 09:30:00"),
    _value(
        {"case": [{"when": [{"field": "qty", ">": 1}], "then": "'many'"}], "else": "'few'"},
        1,
        "many",
    ),
    _value({"query": {"select": [":MAX(qty)"], "from": "Sales"}}, 1, 4),
    _value("more$.a.b[0]", 1, "10"),
    _value("more$.a.b[1]", 1, "x"),
    _value("more$.`k,1`", 1, "comma"),
    _value("more$.`{c}`", 1, "brace"),
    _value("more$.`sp ace`", 1, "s"),
    _value("more$.`it's`", 1, None),
    _where({"field": "order", "like": "APPLE%"}, 1, 2),
    _where({"field": "order", "not like": "apple%"}, 3, 5),
    _where({"field": ":CONCAT('x', `order`)", "match": "{order}"}, 1, 2, 3, 5),
    _where({"field": "order", "like": "{:CONCAT('%', :SUBSTR(`order`, 5, 1))}"}, 2, 3, 5),
    _where([{"field": "'ÉCOLE Ж'", "match": "école ж"}, ONE], 1),
    _where({"field": "order", "match": "50%"}, 1),
    _where({"field": "order", "match": "e_p"}, 2),
    _where({"field": "order", "like": "%\\%"}, 1),
    _where({"field": "order", "match": "\\"}, 3),
    _where({"field": "order", "match": "R!"}, 5),
    _where({"field": "day", ">=": "2025-02-01"}, 2, 3),
    _where([{"field": "at", ">=": "2025-01-31"}, {"field": "at", "<": "2025-02-01"}], 1),
    _where([{"field": "at", ">=": "2025-02-01"}], 2, 3),
    _where({"field": "at", "=": "2025-02-01"}, 2),
    _where({"field": "at", ">": "2025-02-01T00:00:00"}, 3),
    _where({"field": "at", "<=": "2025-02-01"}, 1, 2, 5),
    _where({"field": "day", "between": ["2025-01-31", "2025-02-01"]}, 1, 2),
    _where({"field": "day", ">": "{:TODAY() - :INTERVAL(1, month)}"}, 3),
    _where({"field": "paid", "=": True}, 1, 3),
    _where({"field": "paid", "=": 0}, 2, 5),
    _where({"field": "price", "=": "7.25"}, 3, 5),
    _where({"field": "order", "=": 5}),
    _where({"field": "order", "is": "null"}, 4),
    _where({"field": "qty", "in": []}),
    _where({"field": "qty", "not in": [1, 2]}, 2, 4, 5),
    _where({"field": "qty", "in": {"query": TWO_MOST}}, 2, 5),
    _where([ONE, {"or": True, "field": "id", ">": 3}, {"field": "qty", ">": 0}], 1, 5),
    _where([{"wheres": [ONE, {"or": True, "field": "id", ">": 3}]}, {"field": "qty", "=": 0}], 4),
    pytest.param(
        {
            "select": [":DATE_TRUNC(month, day) as m", f"{TOTAL} as worth", ":COUNT(*) as n"],
            "wheres": [{"field": "day", "is": "not null"}],
            "groups": ["m"],
            "havings": [{"field": "worth", ">": 10}],
            "orders": "worth desc",
        },
        [("2024-12-01", 29.0, 1), ("2025-01-01", 21.0, 1), ("2025-02-01", 12.0, 1)],
        id="an alias in groups, havings and orders",
    ),
    pytest.param(
        {
            "select": [":LOWER(:SUBSTR(`order`, 1, 1)) as letter", ":AVG(qty) as mean"],
            "groups": "letter",
            "havings": [{"field": "letter", "is": "not null"}, {"field": "letter", "<>": "x"}],
            "orders": ":LENGTH(letter), letter",
            "wheres": [{"field": "id", "<>": 5}],
        },
        [("a", 2.5), ("p", 1.0)],
        id="an alias of an expression with values in it",
    ),
    pytest.param(
        {
            "select": ["c.城市", ":COUNT(distinct s.id) as n"],
            "from": "Sales as s",
            "joins": [{"from": "$shop as c", "key": "id", "foreign": "shopId", "left": True}],
            "groups": ["c.城市"],
            "orders": "n desc, c.城市 desc",
        },
        [("上海", 2), ("Paris", 2), (None, 1)],
        id="a left join",
    ),
    pytest.param(
        {
            "select": ["t.shopId", "t.worth"],
            "from": None,
            "query": WORTH,
            "name": "t",
            "orders": "worth desc nulls last",
            "limit": 2,
        },
        [(2, 36.25), (1, 33.0)],
        id="a derived table",
    ),
    pytest.param(
        {
            "select": ["id", "order"],
            "wheres": [{"field": "id", "<": 3}],
            "unions": [{**CITIES, "orders": "id desc", "limit": 1}],
            "orders": "id desc, order",
        },
        [(2, "apple_pie"), (2, "上海"), (1, "Apple 50%")],
        id="a union",
    ),
    pytest.param(
        {"select": ["id"], "orders": "price desc nulls last, id desc", "page": 2, "pagesize": 2},
        [(3,), (2,)],
        id="a page",
    ),
    pytest.param({"select": ["price"], "distinct": True, "orders": "price desc nulls first"},
                 [(None,), (10.5,), (7.25,), (4.0,)], id="distinct, nulls first"),
    pytest.param({"select": ["price"], "distinct": True, "orders": "price nulls last"},
                 [(4.0,), (7.25,), (10.5,), (None,)], id="distinct, nulls last"),
    pytest.param({"select": ["price * 2 as p"], "distinct": True, "orders": "p desc nulls first",
                  "limit": 2},
                 [(None,), (21.0,)], id="distinct, an expression"),
    pytest.param({"select": ["s.price"], "from": "Sales as s", "distinct": True,
                  "orders": "price nulls first", "offset": 1, "limit": 2},
                 [(4.0,), (7.25,)], id="distinct, the same column said twice"),
    pytest.param({"select": ["price"], "wheres": [{"field": "id", ">": 3}],
                  "unions": [{"select": ["qty"], "from": "Sales", "wheres": [ONE]}],
                  "orders": "price nulls last"},
                 [(2,), (7.25,), (None,)], id="a union, nulls last"),
    pytest.param({"select": ["id", "order", ":COUNT(*) as n"], "groups": "id",
                  "wheres": [{"field": "id", "<": 3}], "orders": "order desc"},
                 [(2, "apple_pie", 1), (1, "Apple 50%", 1)], id="beside the primary key"),
    pytest.param({"select": ["id"], "first": True, "orders": "id desc"}, [(5,)], id="first"),
    pytest.param({"select": [":SUM(paid)", ":MIN(day)", ":MAX(price)"]},
                 [(2, "2024-12-30", 10.5)], id="aggregates"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "expected"), CASES)
async def test_the_result_is_the_same(
    runner: Runner, document: dict[str, Any], expected: list[tuple[Any, ...]]
) -> None:
    """The document gives these rows, whatever the database."""
    assert await _ask(runner, document) == expected


async def test_all_are_counted(runner: Runner) -> None:
    """The count of a page is that of all pages; groups count as rows."""
    for document, total in (
        ({"select": ["id"], "from": "Sales", "page": 2, "pagesize": 2}, 5),
        ({"select": ["shopId", ":COUNT(*)"], "from": "Sales", "groups": "shopId", "limit": 1}, 3),
    ):
        statement = compile(parse(document), MODELS, runner.dialect, permission=Permission())
        rows = await runner.run(write(count_of(statement), runner.dialect))
        assert rows.rows == ({"total": total},)
