"""
Questions of a public benchmark, said in the query language, have their reference answers.

The questions and the reference SQL are from defog-ai/sql-eval (Apache-2.0), here on a few rows of
our own; `make bench-db` takes all of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from refdesk.db.dsl import compile, parse  # noqa: A004
from refdesk.db.gate import write
from refdesk.db.permission import Permission
from refdesk.db.reflection import reflect
from refdesk.db.schema import ModelSet

TABLES = """
create table restaurant (id integer primary key, name text, food_type text, city_name text,
                         rating real);
create table location (restaurant_id integer, house_number integer, street_name text,
                       city_name text);
create table author (aid integer primary key, name text);
create table domain_author (aid integer, did integer);
create table cars (id integer primary key, make text, cost real);
create table sales (id integer primary key, car_id integer, sale_price real, sale_date date);
insert into restaurant values (1,'A','thai','SF',4.5), (2,'B','thai','LA',3.5),
  (3,'C','mexican','SF',4.8), (4,'D','mexican','SF',null), (5,'E','bar','LA',2.0);
insert into location values (1,10,'Market St','San Francisco'), (2,2,'Main St','LA'),
  (3,5,'market street','San Francisco');
insert into author values (1,'Martin'), (2,'Ann'), (3,'Bo');
insert into domain_author values (1,10), (2,10), (3,11), (1,11);
insert into cars values (1,'Ford',100), (2,'VW',80);
insert into sales values (1,1,150,'2023-03-01'), (2,2,90,'2023-07-01'), (3,1,99,'2022-01-01');
"""

GOLD: list[tuple[str, dict[str, Any], str]] = [
    (
        "What is the ratio of restaurants with a rating above 4.0 to those below 4.0?",
        {
            "select": [
                {
                    "op": "/",
                    "left": {
                        "func": "SUM",
                        "args": [
                            {
                                "case": [{"when": [{"field": "rating", ">": 4}], "then": 1}],
                                "else": 0,
                            }
                        ],
                    },
                    "right": {
                        "func": "SUM",
                        "args": [
                            {
                                "case": [{"when": [{"field": "rating", "<": 4}], "then": 1}],
                                "else": 0,
                            }
                        ],
                    },
                    "as": "ratio",
                }
            ],
            "from": "restaurant",
        },
        (
            "SELECT CAST(SUM(CASE WHEN restaurant.rating > 4.0 THEN 1 ELSE 0 END) AS REAL) / "
            "NULLIF(SUM(CASE WHEN restaurant.rating < 4.0 THEN 1 ELSE 0 END), 0) FROM restaurant"
        ),
    ),
    (
        "Name and food type of all the restaurants located on Market St in San Francisco?",
        {
            "select": ["restaurant.name", "restaurant.food_type"],
            "from": "restaurant",
            "joins": [{"from": "location", "key": "restaurant_id", "foreign": "id"}],
            "wheres": [
                {"field": "location.street_name", "like": "%Market St%"},
                {"field": "location.city_name", "match": "San Francisco"},
            ],
        },
        (
            "SELECT restaurant.name, restaurant.food_type FROM restaurant JOIN location ON "
            "restaurant.id = location.restaurant_id WHERE LOWER(location.street_name) LIKE "
            "LOWER('%Market St%') AND LOWER(location.city_name) LIKE LOWER('%San Francisco%')"
        ),
    ),
    (
        "Which authors belong to the same domain as Martin?",
        {
            "select": ["a2.name"],
            "distinct": True,
            "from": "author as a1",
            "joins": [
                {"from": "domain_author as da1", "key": "aid", "foreign": "a1.aid"},
                {"from": "domain_author as da2", "key": "did", "foreign": "da1.did"},
                {"from": "author as a2", "key": "aid", "foreign": "da2.aid"},
            ],
            "wheres": [{"field": "a1.name", "match": "martin"}],
        },
        (
            "SELECT DISTINCT a2.name FROM author AS a1 JOIN domain_author AS "
            "da1 ON a1.aid = da1.aid "
            "JOIN domain_author AS da2 ON da1.did = da2.did JOIN author AS a2 ON da2.aid = a2.aid "
            "WHERE LOWER(a1.name) LIKE '%martin%'"
        ),
    ),
    (
        "What is the gross profit margin for all car sales in 2023?",
        {
            "select": ["(:SUM(sale_price) - :SUM(cars.cost)) / :SUM(cars.cost) * 100 as gpm"],
            "from": "sales",
            "joins": [{"from": "cars", "key": "id", "foreign": "car_id"}],
            "wheres": [{"field": ":YEAR(sale_date)", "=": 2023}],
        },
        (
            "SELECT (SUM(sale_price) - SUM(cars.cost)) / SUM(cars.cost) * 100 "
            "AS gpm FROM sales JOIN "
            "cars ON sales.car_id = cars.id WHERE strftime('%Y', sale_date) = '2023'"
        ),
    ),
    (
        "The total number of restaurants in each city, most first.",
        {
            "select": ["city_name", ":COUNT(distinct id) as total"],
            "from": "restaurant",
            "groups": ["city_name"],
            "orders": "total desc",
        },
        (
            "SELECT city_name, COUNT(DISTINCT id) AS total FROM restaurant GROUP BY city_name "
            "ORDER BY total DESC"
        ),
    ),
    (
        "The restaurants rated above the average.",
        {
            "select": ["name"],
            "from": "restaurant",
            "wheres": [
                {
                    "field": "rating",
                    "op": ">",
                    "query": {"select": [":AVG(rating)"], "from": "restaurant"},
                }
            ],
        },
        "SELECT name FROM restaurant WHERE rating > (SELECT AVG(rating) FROM restaurant)",
    ),
    (
        "Restaurants without a location.",
        {
            "select": ["restaurant.name"],
            "from": "restaurant",
            "joins": [{"from": "location", "key": "restaurant_id", "foreign": "id", "left": True}],
            "wheres": [{"field": "location.restaurant_id", "is": "null"}],
        },
        (
            "SELECT restaurant.name FROM restaurant LEFT JOIN location ON restaurant.id = "
            "location.restaurant_id WHERE location.restaurant_id IS NULL"
        ),
    ),
]


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(":memory:")
    database.executescript(TABLES)
    yield database
    database.close()


@pytest.fixture(scope="module")
def models() -> ModelSet:
    import sqlalchemy as sa

    engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    with engine.begin() as connection:
        for each in TABLES.split(";"):
            if each.strip().startswith("create"):
                connection.exec_driver_sql(each)
    found = reflect(engine)
    engine.dispose()
    return found


@pytest.mark.parametrize(("question", "document", "gold"), GOLD, ids=[each[0] for each in GOLD])
def test_the_answer_is_the_reference(
    database: sqlite3.Connection,
    models: ModelSet,
    question: str,
    document: dict[str, Any],
    gold: str,
) -> None:
    """The document gives the rows of the reference SQL, and there are some."""
    statement = compile(parse(document), models, "sqlite", permission=Permission())
    written = write(statement, "sqlite")
    found = database.execute(written.sql, written.params).fetchall()
    assert sorted(found) == sorted(database.execute(gold).fetchall())
    assert found
