"""Databases that are really there, read and asked: whatever their tables are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from db.kinds import KINDS, opened
from refdesk.config.library import DatabaseEntry
from refdesk.db.databases import Database
from refdesk.db.dsl import Dialect, compile, parse  # noqa: A004
from refdesk.db.gate import write

ODD = (
    *("order", "select", "dot.ted", "per%cent", "%(x)s", "co:lon", ":named", "?q", "UPPER"),
    *("Mixed", "straße", "订单", "it's", "semi;--", "/*c*/", "$dollar", "{b}", "1num"),
    *("back\\slash", "a b", " lead", "x\ty"),
)


@pytest.mark.parametrize("kind", KINDS)
async def test_any_name_can_be_read(kind: Dialect, tmp_path: Path) -> None:
    """A table and a column may be called anything; each is quoted as its database wants it."""
    with opened(kind, tmp_path) as database:
        for name in ODD:
            database.execute(f'CREATE TABLE "T{name}" (id INTEGER PRIMARY KEY, "{name}" TEXT)')
            database.execute(f"INSERT INTO \"T{name}\" VALUES (1, 'x'), (2, 'y')")
        known = Database("shop", DatabaseEntry.model_validate({"url": database.url}))
        models, permission = await known.models()
        for name in ODD:
            column = f"`{name}`"
            document = {
                "select": [f"other.{column} as found", ":COUNT(*) as n"],
                "from": f"`T{name}`",
                "joins": [{"from": f"`T{name}` as other", "key": "id", "foreign": f"`T{name}`.id"}],
                "wheres": [{"field": f"other.{column}", "in": ["x", "z"]}],
                "groups": ["found"],
                "havings": [{"field": "found", "match": "X"}],
                "orders": [{"field": "found", "nulls": "last"}],
            }
            statement = compile(parse(document), models, kind, permission=permission)
            written = write(statement, kind, tables={f"T{name}"})
            assert (await known.runner.run(written)).rows == ({"found": "x", "n": 1},), name
        known.close()


async def test_a_server_is_reflected_whole(tmp_path: Path) -> None:
    """Views, other schemas, generated columns and comments of PostgreSQL are there as well."""
    with opened("postgresql", tmp_path) as database:
        database.execute(
            "create table customers (id integer primary key, name varchar(40) not null)",
            "create table orders (id integer primary key, total numeric)",
            "create view dear as select * from orders where total > 100",
            "create schema sales",
            "create table sales.offers (id integer primary key, net numeric,"
            " gross numeric generated always as (net * 1.19) stored,"
            " customer_id integer references public.customers(id))",
            "comment on table sales.offers is 'What was offered'",
            "comment on column sales.offers.net is 'Without tax'",
            "create materialized view best as select * from sales.offers",
            "create type mood as enum ('good', 'bad')",
            "create table empty (feeling mood, tags text[])",
            "insert into sales.offers values (1, 100)",
        )
        known = Database("shop", DatabaseEntry.model_validate({"url": database.url}))
        models, permission = await known.models()
        assert set(models.ids) == {"best", "customers", "dear", "empty", "orders", "sales.offers"}
        offers = models.get("sales.offers")
        assert offers is not None
        assert (offers.description, offers.primary_key) == ("What was offered", ("id",))
        assert [each.description for each in offers.columns][1] == "Without tax"
        assert [each.model for each in offers.relations] == ["customers"]
        empty = models.get("empty")
        assert empty is not None
        assert empty.columns[0].enum == ("good", "bad")
        document = {
            "select": ["gross"],
            "from": "sales.offers",
            "wheres": [{"field": "net", ">": 1}],
        }
        statement = compile(parse(document), models, "postgresql", permission=permission)
        written = write(statement, "postgresql", tables={"sales.offers"})
        assert (await known.runner.run(written)).rows == ({"gross": 119},)
        none = compile(
            parse({"select": [], "from": "empty"}), models, "postgresql", permission=permission
        )
        assert (await known.runner.run(write(none, "postgresql"))).rows == ()
        known.close()
