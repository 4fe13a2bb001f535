"""A question answered from a small shop on SQLite, under the rights of whoever asks."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from refdesk.config.library import DatabaseEntry, LibrarySection
from refdesk.db.databases import Databases
from refdesk.db.handler import DatabaseHandler
from refdesk.errors import ConfigError, UnknownName
from refdesk.search import Searcher
from refdesk.search.delegate import Delegates
from refdesk.types import SearchResult
from refdesk.uses import SearchUses, Uses

SHOP = Path(__file__).parent / "shop.sql"
NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
ORDERS = {"rows": [{"field": "customer_id", "op": "=", "value": "{user.id}"}], "hidden": ["note"]}


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """The URL of the shop."""
    path = tmp_path / "shop.db"
    connection = sqlite3.connect(path)
    connection.executescript(f"BEGIN; {SHOP.read_text()} COMMIT;")
    connection.close()
    return f"sqlite:///{path}"


Make = Callable[..., Searcher]


@pytest.fixture
def make(shop: str) -> Iterator[Make]:
    """Make a searcher of the shop: of the entry's settings, and the section ``search``."""
    made: list[Databases] = []

    def build(
        permission: Mapping[str, Any] | None = None,
        *,
        search: Mapping[str, Any] | None = None,
        delegate: Any = None,
        limits: Mapping[str, Any] | None = None,
        more: Mapping[str, str] | None = None,
    ) -> Searcher:
        entry = {"url": shop, "permission": permission or {}, "limits": limits or {}}
        entries = {"shop": DatabaseEntry.model_validate(entry)}
        for name, url in (more or {}).items():
            entries[name] = DatabaseEntry.model_validate({"url": url})
        databases = Databases(entries)
        made.append(databases)
        section = LibrarySection.model_validate(search or {})
        querydsl = Uses.parse("mcp:maker.query" if delegate else "")
        return Searcher(
            section,
            handlers=[
                DatabaseHandler(databases, config=section, querydsl=querydsl, now=lambda: NOW)
            ],
            uses=SearchUses(querydsl=querydsl),
            delegates=Delegates(mcp=delegate),
        )

    yield build
    for databases in made:
        databases.close()


class Maker:
    """A tool that makes queries: it gives its answers one after the other."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Mapping[str, Any]] = []

    async def call(self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float) -> Any:
        """Give the next answer, and the last one again and again."""
        self.asked.append(payload)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def _values(result: SearchResult, name: str) -> list[Any]:
    assert result.error is None, result.error
    return [(item.data or {})[name] for item in result.items]


async def test_rows_are_references(make: Make) -> None:
    """A row has a title, a text, its record's id, its data and a number; the query is shown."""
    result = await make().db("products under 10 dollars", database="shop")
    assert result.error is None
    first = result.items[0]
    assert (first.title, first.model, first.record_id) == ("USB-C Cable", "products", 4)
    assert first.data is not None
    assert (first.data["price"], first.data["name"]) == (9.5, "USB-C Cable")
    assert "price: 9.5" in first.content
    assert (first.index, first.citation_id, first.type) == (1, "ref_001", "db")
    assert result.dsl is not None
    assert result.dsl["from"] in ("products", "$products")
    assert [item.record_id for item in result.items] == [4, 18]
    assert result.total == 2


async def test_a_count_is_one_row(make: Make) -> None:
    """What counts has no record, and its value can be read."""
    result = await make().db("How many products are there?", database="shop")
    assert len(result.items) == 1
    assert result.items[0].record_id is None
    assert "25" in result.items[0].content


async def test_dates_are_read_by_the_clock_and_the_time_zone(make: Make) -> None:
    """Last month is the calendar month before today."""
    result = await make().db("orders placed last month", database="shop", limit=100)
    dates = _values(result, "ordered_at")
    assert dates
    assert all("2026-02-01" <= date < "2026-03-01" for date in dates)


async def test_more_rows_than_the_limit_are_counted(make: Make) -> None:
    """What is not given is counted, and told."""
    result = await make().db("all products", database="shop", limit=7)
    assert len(result.items) == 7
    assert any("rows 1 to 7 of 25" in notice for notice in result.notices)


async def test_what_the_schema_cannot_answer_is_refused(make: Make) -> None:
    """A question beside the schema, or for a change, is an error and no row."""
    for question in (
        "Who wrote the dystopian novel 1984?",
        "drop the products table",
        "delete all orders",
        "update prices to 0",
    ):
        result = await make().db(question, database="shop")
        assert result.error
        assert result.items == ()


async def test_a_row_rule_holds_for_the_identity(make: Make) -> None:
    """One sees one's own rows; without the claim, none at all."""
    searcher = make({"orders": ORDERS})
    mine = await searcher.db("all orders", database="shop", identity={"id": 14}, limit=1000)
    assert mine.items
    assert set(_values(mine, "customer_id")) == {14}
    nobody = await searcher.db("all orders", database="shop", limit=1000)
    assert (nobody.error, nobody.items) == (None, ())


async def test_a_hidden_column_is_nowhere(make: Make) -> None:
    """It is in no row, cannot be asked for, and cannot be a preset condition."""
    searcher = make({"orders": ORDERS})
    mine = await searcher.db("all orders", database="shop", identity={"id": 10}, limit=1000)
    assert all("note" not in (item.data or {}) for item in mine.items)
    assert "gift" not in str(mine)
    asked = await searcher.db(
        "all orders",
        database="shop",
        identity={"id": 10},
        wheres=[{"field": "note", "match": "gift"}],
    )
    assert asked.error
    assert asked.items == ()


HOSTILE: list[Mapping[str, Any]] = [
    {"select": ["*"], "from": "orders", "wheres": [{"field": "id", ">": 0, "or": True}]},
    {"select": ["*"], "from": "orders", "wheres": [{"field": "id", ">": 0}], "limit": 10**9},
    {
        "select": ["o.*"],
        "from": "customers as c",
        "joins": [{"from": "orders as o", "key": "o.customer_id", "foreign": "c.id"}],
    },
    {
        "select": ["id", "customer_id"],
        "from": "orders",
        "wheres": [{"field": "id", "<": 0}],
        "unions": [{"select": ["id", "customer_id"], "from": "orders"}],
    },
    {"select": ["id", "customer_id"], "query": {"select": ["*"], "from": "orders"}, "name": "o"},
    {
        "select": ["id", "customer_id"],
        "from": "orders",
        "wheres": [
            {"wheres": [{"field": "customer_id", "=": 14}, {"or :id": "", ">": 0}]},
            {"field": "id", ">": 0, "or": True},
        ],
    },
    {"select": ["note"], "from": "orders"},
    {"select": ["id"], "from": "orders", "orders": ["note desc"]},
    {"select": ["id"], "from": "sqlite_master"},
    {"select": ["id"], "from": "orders; DROP TABLE orders --"},
    {"select": ["id) FROM orders --"], "from": "orders"},
    {"select": [":load_extension('x') as y"], "from": "orders"},
    {"sql": {"stmt": "DELETE FROM orders"}},
    {
        "select": ["id"],
        "from": "products",
        "wheres": [
            {"field": "id", "op": "in", "query": {"select": ["note"], "from": "orders"}},
        ],
    },
]


@pytest.mark.parametrize("dsl", HOSTILE, ids=lambda dsl: str(dsl)[:60])
async def test_hostile_queries_leak_nothing(make: Make, dsl: Mapping[str, Any], shop: str) -> None:
    """Whatever a model writes, only the asker's own rows come back, and nothing is changed."""
    searcher = make({"orders": ORDERS}, delegate=Maker(dsl))
    result = await searcher.db("anything", database="shop", identity={"id": 14}, limit=1000)
    for item in result.items:
        data = item.data or {}
        assert data.get("customer_id") == 14, data
        assert "note" not in data
    assert "gift wrap" not in str(result)
    connection = sqlite3.connect(shop.removeprefix("sqlite:///"))
    (count,) = connection.execute("SELECT COUNT(*) FROM orders").fetchone()
    connection.close()
    assert count > 20


async def test_a_delegate_makes_the_query(make: Make) -> None:
    """What it gives is linted, run and shown; what was wrong is told with the next attempt."""
    good = {"select": ["id", "name"], "from": "products", "wheres": [{"field": "id", "=": 3}]}
    maker = Maker({"select": ["nothing"], "from": "products"}, "```json\n{}\n```", {"dsl": good})
    result = await make(delegate=maker).db("the third product", database="shop")
    assert _values(result, "name") == ["4K Monitor"]
    assert len(maker.asked) == 3
    assert "nothing" in str(maker.asked[1]["retry"])


@pytest.mark.parametrize("strict", [True, False])
async def test_a_delegate_that_gives_nothing(make: Make, strict: bool) -> None:
    """After three attempts `strict` decides: an error, or no rows and a notice."""
    maker = Maker("I cannot help with that, sorry.")
    searcher = make(delegate=maker, search={"querydsl": {"strict": strict}})
    result = await searcher.db("anything", database="shop")
    assert result.items == ()
    assert len(maker.asked) == 3
    if strict:
        assert result.error
        assert "QueryDSL generation failed" in result.error
    else:
        assert result.error is None
        assert any("QueryDSL generation failed" in notice for notice in result.notices)


async def test_what_a_delegate_is_shown_obeys_the_rules(make: Make) -> None:
    """No hidden column and no value of other people's rows is sent to it."""
    maker = Maker({"select": ["id"], "from": "orders"})
    searcher = make({"orders": ORDERS}, delegate=maker)
    await searcher.db("my orders", database="shop", identity={"id": 14})
    sent = str(maker.asked)
    assert "note" not in sent.replace("not exist", "")
    assert "gift wrap" not in sent


async def test_presets_hold_beside_the_question(make: Make) -> None:
    """Conditions of the request are joined by AND, its orders go first, its columns lead."""
    result = await make().db(
        "all products",
        database="shop",
        wheres=[{"field": "category", "=": "books"}],
        orders=["price desc"],
        select=["name", "price"],
        limit=100,
    )
    prices = _values(result, "price")
    assert prices == sorted(prices, reverse=True)
    assert len(prices) == 4
    assert list(result.items[0].data or {})[:2] == ["name", "price"]


async def test_models_are_a_choice(make: Make) -> None:
    """Only the models named may be read; unknown ones are passed over with a notice."""
    searcher = make()
    result = await searcher.db("all orders", database="shop", models=["products", "produkts"])
    assert result.error
    none = await searcher.db("all orders", database="shop", models=["nothing"])
    assert none.error is not None
    assert "no valid models found" in none.error
    some = await searcher.db("all products", database="shop", models=["products", "ordrs"])
    assert any("did you mean 'orders'" in notice for notice in some.notices)


async def test_the_configured_models_are_the_default(make: Make) -> None:
    """`search.db.models` is what is read where a request names none."""
    searcher = make(search={"db": {"models": ["products"]}})
    assert (await searcher.db("all products")).items
    assert (await searcher.db("all orders")).error


async def test_which_database(make: Make, tmp_path: Path) -> None:
    """The only one needs no name; of several one is named, or found by its models."""
    assert (await make().db("all products")).items
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE trees (id INTEGER PRIMARY KEY, kind TEXT)")
    connection.execute("INSERT INTO trees VALUES (1, 'oak')")
    connection.commit()
    connection.close()
    searcher = make(more={"garden": f"sqlite:///{other}"})
    unnamed = await searcher.db("all products")
    assert unnamed.error is not None
    assert "no models specified: name a database (shop, garden)" in unnamed.error
    assert (await searcher.db("all trees", models=["trees"])).items
    unknown = await searcher.db("all products", database="shpo")
    assert unknown.error is not None
    assert "did you mean 'shop'" in unknown.error


async def test_the_row_limit_of_the_configuration(make: Make) -> None:
    """No request gets more rows than the database's own limit."""
    result = await make(limits={"rows": 5}).db("all products", database="shop", limit=1000)
    assert len(result.items) == 5
    assert any("of 25" in notice for notice in result.notices)


async def test_the_row_limit_of_the_configuration_is_named(make: Make) -> None:
    """Where a higher limit would give no more, the notice names what does, and asks for none."""
    bound = await make(limits={"rows": 5}).db("all products", database="shop", limit=1000)
    (notice,) = bound.notices
    assert "databases.shop.limits.rows" in notice
    assert "higher limit" not in notice
    free = await make(limits={"rows": 5}).db("all products", database="shop", limit=4)
    assert "ask for a higher limit" in free.notices[0]


@pytest.fixture
def archive(tmp_path: Path) -> str:
    """The URL of a database with more rows than one search gives, and one very long text."""
    path = tmp_path / "archive.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE ticks (id INTEGER PRIMARY KEY, price REAL)")
    connection.executemany("INSERT INTO ticks (price) VALUES (?)", [(n,) for n in range(1500)])
    connection.execute("CREATE TABLE papers (id INTEGER PRIMARY KEY, title TEXT, body TEXT)")
    rows = [("Short", "x"), ("Long", "x" * 20_000_000)]
    connection.executemany("INSERT INTO papers (title, body) VALUES (?, ?)", rows)
    connection.commit()
    connection.close()
    return f"sqlite:///{path}"


@pytest.mark.parametrize("limit", [1000, 5000])
async def test_the_most_rows_of_a_search_are_told(make: Make, archive: str, limit: int) -> None:
    """At a thousand rows no higher limit helps; the notice says so, and what does."""
    result = await make(more={"archive": archive}).db("all ticks", database="archive", limit=limit)
    assert len(result.items) == 1000
    assert result.notices == (
        (
            "rows 1 to 1000 of 1500 are given; 1000 rows are the most that one search gives; "
            "ask for less at once, with a condition, or for a count or a sum"
        ),
    )


async def test_a_value_that_is_too_large_is_told(make: Make, archive: str) -> None:
    """A text of 20 MB ends the search with the limit and the remedy, which works."""
    searcher = make(more={"archive": archive})
    for question in ("all papers", "papers with the title 'Long'"):
        result = await searcher.db(question, database="archive")
        assert result.error is not None
        assert "more than 16 MB" in result.error
        assert "ask for the columns that are needed, by name" in result.error
        assert "TOOBIG" not in result.error
    assert _values(await searcher.db("titles of papers", database="archive"), "title") == [
        "Short",
        "Long",
    ]


async def test_a_database_that_is_not_there(make: Make, tmp_path: Path) -> None:
    """It is an error that names the database and the key, and no file is made."""
    searcher = make(more={"gone": f"sqlite:///{tmp_path / 'gone.db'}"})
    result = await searcher.db("all products", database="gone")
    assert result.error is not None
    assert "'gone'" in result.error
    assert "databases.gone.url" in result.error
    assert not (tmp_path / "gone.db").exists()


async def test_a_rule_for_nothing_is_told(make: Make) -> None:
    """A rule for a column or model that is not there would guard nothing, so nothing is read."""
    result = await make({"orders": {"hidden": ["nothing"]}}).db("all orders", database="shop")
    assert result.error is not None
    assert "databases.shop.permission" in result.error
    assert "'nothing'" in result.error


def test_a_new_configuration_keeps_what_is_as_it_was(shop: str) -> None:
    """Databases that did not change stay open; a wrong one changes nothing."""
    entry = DatabaseEntry.model_validate({"url": shop})
    databases = Databases({"shop": entry, "old": entry})
    kept = databases.get("shop")
    databases.configure({"shop": entry, "new": DatabaseEntry.model_validate({"url": shop})})
    assert databases.get("shop") is kept
    assert databases.names == ("shop", "new")
    with pytest.raises(UnknownName):
        databases.get("old")
    with pytest.raises(ConfigError):
        databases.configure({"bad": DatabaseEntry.model_validate({"url": "oracle://x/y"})})
    assert databases.names == ("shop", "new")
    databases.close()
