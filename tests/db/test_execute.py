"""Queries run for real on SQLite, DuckDB, PostgreSQL and MariaDB, each on its own database."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest

from db.kinds import KINDS, opened
from refdesk.db.connect import connector
from refdesk.db.connector import POOLED
from refdesk.db.dsl import Dialect
from refdesk.db.execute import Bounds, ExecutionFailed, Rows, Runner, plain
from refdesk.db.gate import Refused, Written, examined
from refdesk.errors import ConfigError

TABLE = (
    "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(200), price DECIMAL(10, 2), made DATE)"
)
ROWS = [(number, f"item {number}", number / 2, "2026-03-15") for number in range(1, 201)]


def _filled(kind: Dialect, folder: Path) -> Iterator[str]:
    with opened(kind, folder) as database:
        database.execute(TABLE)
        database.execute(
            "INSERT INTO item VALUES "
            + ", ".join(f"({id_}, '{name}', {price}, '{made}')" for id_, name, price, made in ROWS)
        )
        yield database.url


@pytest.fixture(scope="module", params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database of each kind, with 200 items."""
    yield from _filled(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[Dialect, str]]:
    """The URL of an empty database of each kind."""
    with ExitStack() as stack:
        yield {
            kind: stack.enter_context(opened(kind, tmp_path_factory.mktemp(kind))).url
            for kind in KINDS
        }


@pytest.fixture
def runner(url: str) -> Iterator[Runner]:
    """What runs queries on it."""
    runner = Runner("shop", url)
    yield runner
    runner.close()


def _marked(runner: Runner, name: str) -> str:
    return {"sqlite": f":{name}", "duckdb": f"${name}"}.get(runner.dialect, f"%({name})s")


@pytest.mark.parametrize("value", ["x", 2**64, 10**30], ids=["a word", "2**64", "10**30"])
async def test_a_value_that_no_column_takes_is_told_apart(runner: Runner, value: Any) -> None:
    """A driver or a database that refuses a value has not failed otherwise."""
    sql = f"SELECT id FROM item WHERE id = {_marked(runner, 'id')}"
    failed, found = None, Rows()
    try:
        found = await runner.run(Written(sql=sql, params={"id": value}))
    except ExecutionFailed as exc:
        failed = exc
    assert failed.bad_value if failed else found.rows == ()
    with pytest.raises(ExecutionFailed) as other:
        await runner.run(Written(sql="SELECT id FROM nothing", params={}))
    assert not other.value.bad_value


def _endless(runner: Runner) -> str:
    return "SELECT COUNT(*) FROM " + ", ".join(f"item AS i{number}" for number in range(6))


async def test_rows_are_values_of_json(runner: Runner) -> None:
    """Numbers are numbers, dates are ISO text, and values are bound by name."""
    sql = f"SELECT id, name, price, made FROM item WHERE id = {_marked(runner, 'id')}"
    found = await runner.run(Written(sql=sql, params={"id": 3}))
    assert found.rows == ({"id": 3, "name": "item 3", "price": 1.5, "made": "2026-03-15"},)
    assert found.cut == ""


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO item (id) VALUES (999)",
        "UPDATE item SET price = 0",
        "DELETE FROM item",
        "DROP TABLE item",
        "CREATE TABLE more (id INTEGER)",
    ],
)
async def test_the_connection_refuses_to_write(runner: Runner, sql: str) -> None:
    """Should a change ever get so far, the database itself refuses it, and nothing is changed."""
    with pytest.raises(ExecutionFailed, match="did not run"):
        await runner.run(Written(sql=sql, params={}))
    found = await runner.run(Written(sql="SELECT COUNT(*), SUM(id) FROM item", params={}))
    assert list(found.rows[0].values()) == [200, 20100]


async def test_too_many_rows_are_cut(runner: Runner) -> None:
    """At the row cap reading ends, what was read is given, and it is said that there is more."""
    found = await runner.run(Written(sql="SELECT id FROM item ORDER BY id", params={}), max_rows=70)
    assert ([row["id"] for row in found.rows], found.cut) == (list(range(1, 71)), "rows")


async def test_too_many_bytes_are_cut(url: str) -> None:
    """At the byte cap reading ends, and the next query finds a clean connection."""
    runner = Runner("shop", url, Bounds(bytes=500))
    found = await runner.run(Written(sql="SELECT name FROM item ORDER BY id", params={}))
    assert found.cut == "bytes"
    assert 0 < len(found.rows) < 100
    again = await runner.run(Written(sql="SELECT id FROM item WHERE id = 1", params={}))
    assert again.rows == ({"id": 1},)
    runner.close()


async def test_a_long_cell_is_cut(url: str) -> None:
    """A cell is cut at its cap, and the row stays."""
    runner = Runner("shop", url, Bounds(cell_chars=5))
    found = await runner.run(Written(sql="SELECT name FROM item WHERE id = 1", params={}))
    assert (found.rows, found.cut) == (({"name": "item…"},), "cells")
    runner.close()


async def test_one_huge_cell_is_enough(url: str) -> None:
    """What is cut counts as what was read, so that no second one is waited for."""
    runner = Runner("shop", url, Bounds(bytes=1000, cell_chars=20))
    wide = "REPLACE(REPLACE(name, 'i', '1234567890'), '0', '12345678901234567890123456789012345')"
    nested = "REPLACE({}, '1', '" + "z" * 400 + "')"
    sql = f"SELECT id, {nested.format(wide)} AS wide FROM item ORDER BY id"
    found = await runner.run(Written(sql=sql, params={}))
    assert ([row["id"] for row in found.rows], found.cut) == ([1], "bytes")
    assert len(found.rows[0]["wide"]) == 20
    runner.close()


async def test_the_deadline_ends_a_query(url: str) -> None:
    """A query that takes too long is an error that says so, and the next one runs as ever."""
    runner = Runner("shop", url, Bounds(seconds=0.3))
    with pytest.raises(ExecutionFailed, match=r"'shop' took longer than 0\.3 s"):
        await runner.run(Written(sql=_endless(runner), params={}))
    found = await runner.run(Written(sql="SELECT id FROM item WHERE id = 1", params={}))
    assert found.rows == ({"id": 1},)
    runner.close()


async def test_a_query_is_stopped_with_its_request(url: str) -> None:
    """When whoever asked is gone, the query ends in the database, long before its deadline."""
    runner = Runner("shop", url, Bounds(seconds=30))
    began = asyncio.Event()
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    fetched = runner._fetched

    def watched(*arguments: object) -> object:
        loop.call_soon_threadsafe(began.set)
        try:
            return fetched(*arguments)  # type: ignore[arg-type]
        finally:
            loop.call_soon_threadsafe(ended.set)

    runner._fetched = watched  # type: ignore[method-assign, assignment]
    task = asyncio.create_task(runner.run(Written(sql=_endless(runner), params={})))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(10):
        await ended.wait()
    runner.close()


async def test_what_the_database_says_is_not_repeated(runner: Runner) -> None:
    """A database's message may quote values nobody was to see, so only its kind is told."""
    with pytest.raises(ExecutionFailed) as failure:
        await runner.run(Written(sql="SELECT nothing_of_that_name FROM item", params={}))
    assert "nothing_of_that_name" not in str(failure.value)
    assert failure.value.__cause__ is None


async def test_sqlite_reaches_no_other_file(tmp_path: Path) -> None:
    """Nothing is attached, no setting changed, no schema read, no function beyond the list."""
    (url,) = _filled("sqlite", tmp_path)
    runner = Runner("shop", url)
    for sql in (
        f"ATTACH '{tmp_path / 'x.db'}' AS x",
        "PRAGMA writable_schema = 1",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM pragma_table_info('item')",
        "SELECT load_extension('x')",
        "SELECT randomblob(1000)",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
    ):
        with pytest.raises(ExecutionFailed):
            await runner.run(Written(sql=sql, params={}))
    assert not (tmp_path / "x.db").exists()
    runner.close()


async def test_duckdb_reaches_no_other_file(tmp_path: Path) -> None:
    """No file is read or written through SQL."""
    (url,) = _filled("duckdb", tmp_path)
    runner = Runner("shop", url)
    for sql in (
        "SELECT * FROM read_csv('/etc/passwd')",
        f"COPY item TO '{tmp_path / 'x.csv'}'",
        f"ATTACH '{tmp_path / 'x.db'}' AS x",
        "SET enable_external_access = true",
    ):
        with pytest.raises(ExecutionFailed):
            await runner.run(Written(sql=sql, params={}))
    assert not (tmp_path / "x.csv").exists()
    assert not (tmp_path / "x.db").exists()
    runner.close()


async def test_a_database_out_of_reach_is_an_error_without_its_password() -> None:
    """The sentence names the database, and nothing of its URL."""
    runner = Runner("shop", "postgresql://me:canary-password@127.0.0.1:1/shop")
    with pytest.raises(ExecutionFailed, match="'shop' could not be reached") as failure:
        await runner.run(Written(sql="SELECT 1", params={}))
    assert "canary" not in str(failure.value)
    runner.close()


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
async def test_a_server_that_came_back(kind: Dialect, tmp_path: Path) -> None:
    """Connections that a restart of the server broke are replaced, all of them, unnoticed."""
    with opened(kind, tmp_path) as database:
        runner = Runner("shop", database.url)
        held = [runner._pool.connect() for _ in range(POOLED)]
        connections: list[Any] = [each.driver_connection for each in held]
        for each in held:
            each.close()
        for each in connections:
            if kind == "mariadb":
                database.execute(f"KILL {each.thread_id()}")
            else:
                database.execute(f"SELECT pg_terminate_backend({each.info.backend_pid})")
        found = await runner.run(Written(sql="SELECT 1 AS one", params={}))
        assert found.rows == ({"one": 1},)
        runner.close()


@pytest.mark.parametrize(
    ("kind", "sql", "shown"),
    [
        ("postgresql", "'infinity'::timestamp", "infinity"),
        ("postgresql", "'-infinity'::timestamptz", "-infinity"),
        ("postgresql", "'10000-01-01'::date", "10000-01-01"),
        ("postgresql", "'0044-03-15 BC'::date", "0044-03-15 BC"),
        ("postgresql", "'24:00'::time", "24:00:00"),
        ("postgresql", "'1 mon 2 days'::interval", "32 days, 0:00:00"),
        ("postgresql", "'1000000000 days'::interval", "1000000000 days"),
        ("postgresql", "array['infinity'::date, null]", ["infinity", None]),
        ("postgresql", "1e400::numeric", "1" + "0" * 400),
        ("postgresql", "'NaN'::float8", None),
        ("postgresql", "'Infinity'::numeric", None),
        ("postgresql", """'{"a": [1, 1e999]}'::json""", {"a": [1, None]}),
        ("postgresql", "(repeat('[', 5000) || repeat(']', 5000))::json", "[" * 5000 + "]" * 5000),
        ("postgresql", "'00000000-0000-0000-0000-00000000000a'::uuid", f"{UUID(int=10)}"),
        ("postgresql", "'x'::bytea", "(1 bytes)"),
        ("postgresql", "'1.2.3.0/24'::cidr", "1.2.3.0/24"),
        ("postgresql", "int4range(1, 5)", "[1, 5)"),
        ("postgresql", "row(1, 'a')", ["1", "a"]),
        ("mariadb", "CAST('0000-00-00' AS DATE)", "0000-00-00"),
        ("mariadb", "CAST('838:59:59' AS TIME)", "34 days, 22:59:59"),
        ("mariadb", "18446744073709551615", "18446744073709551615"),
        ("duckdb", "170141183460469231731687303715884105727::hugeint", f"{2**127 - 1}"),
        ("duckdb", "'10000-01-01'::date", "10000-01-01"),
        ("duckdb", "{'a': [1, null]}", {"a": [1, None]}),
        ("duckdb", "'NaN'::double", None),
        ("sqlite", "1e999", None),
        ("sqlite", "CAST(x'ff' AS TEXT)", "\ufffd"),
        ("sqlite", "x'00'", "(1 bytes)"),
    ],
)
async def test_odd_values_are_shown(
    folders: Mapping[Dialect, str], kind: Dialect, sql: str, shown: object
) -> None:
    """What Python or JSON cannot hold is shown as the database writes it, or as null."""
    runner = Runner("shop", folders[kind])
    found = await runner.run(Written(sql=f"SELECT {sql} AS value", params={}))
    assert found.rows == ({"value": shown},)
    assert msgspec.json.encode(found.rows[0])
    runner.close()


@pytest.mark.parametrize(
    ("now", "day", "shown"),
    [
        (datetime(2026, 3, 15, tzinfo=ZoneInfo("Asia/Shanghai")), 2, "2026-03-02T04:30:00+08:00"),
        (
            datetime(2026, 3, 15, tzinfo=timezone(timedelta(hours=-5))),
            1,
            "2026-03-01T15:30:00-05:00",
        ),
        (datetime(2026, 3, 15, tzinfo=UTC), 1, "2026-03-01T20:30:00+00:00"),
    ],
)
async def test_moments_are_read_in_the_zone_of_the_search(
    folders: Mapping[Dialect, str], now: datetime, day: int, shown: str
) -> None:
    """A moment that has a zone falls on the day that it is there, also on a kept connection."""
    runner = Runner("shop", folders["postgresql"])
    moment = "SELECT '2026-03-01 20:30Z'::timestamptz AS at"
    sql = f"SELECT EXTRACT(day FROM at) AS day, at FROM ({moment}) AS x"
    for _ in range(2):
        found = await runner.run(Written(sql=sql, params={}), now=now)
        assert found.rows == ({"day": day, "at": shown},)
    runner.close()
    runner = Runner("shop", folders["mariadb"])
    sql = "SELECT DAY(FROM_UNIXTIME(1772397000)) AS day"
    assert (await runner.run(Written(sql=sql, params={}), now=now)).rows == ({"day": day},)
    runner.close()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("no url at canary", "no database URL"),
        ("postgresql://me:canary@host:port/x", "no database URL"),
        ("oracle://canary@host/x", "'oracle', which cannot be asked"),
        ("sqlite://", "names no file"),
        ("duckdb:///:memory:", "names no file"),
    ],
)
def test_a_url_of_no_database(given: str, said: str) -> None:
    """It is refused by the key of the configuration, and not repeated."""
    with pytest.raises(ConfigError, match=said) as refusal:
        connector("shop", given, 5)
    assert "canary" not in str(refusal.value)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH x AS (DELETE FROM item RETURNING *) SELECT * FROM x",
        "WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT * FROM r) SELECT * FROM r",
        "SELECT 1; DROP TABLE item",
        "COMMIT; DROP TABLE item",
        "SELECT * FROM item FOR UPDATE",
        "SELECT id INTO other FROM item",
        "EXPLAIN ANALYZE DELETE FROM item",
        "COPY item TO PROGRAM 'x'",
        "DO $$ BEGIN END $$",
        "CALL x()",
        "SET ROLE postgres",
        "VACUUM INTO 'x'",
        "ATTACH 'x' AS y",
        "PRAGMA writable_schema = 1",
        "SELECT pg_sleep(60)",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "SELECT LOAD_FILE('/etc/passwd')",
        "SELECT BENCHMARK(1000000000, MD5('x'))",
        "SELECT GET_LOCK('x', 60)",
        "SELECT SLEEP(60)",
        "SELECT id FROM item INTO OUTFILE '/tmp/x'",
        "SELECT nextval('item_id_seq')",
        "SELECT dblink('host=127.0.0.1', 'DELETE FROM item')",
        "SELECT REPEAT('x', 1000000000)",
        "SELECT * FROM 'https://example.com/x.parquet'",
        "INSTALL httpfs",
        "VALUES (1)",
        "SELECT id FROM item PROCEDURE ANALYSE()",
        "SELECT @x := 1",
        "SELECT id FROM item WHERE id = (SELECT 1 FROM secret)",
        "SELECT id FROM item UNION SELECT id FROM secret",
        "SELECT id FROM item, LATERAL (SELECT * FROM secret) AS s",
        "SELECT id, ROW_NUMBER() OVER () FROM item",
        "SELECT id FROM item TABLESAMPLE SYSTEM (10)",
        "SELECT pg_read_file('x')",
        "SELECT load_extension('x')",
        "SELECT * FROM generate_series(1, 1000000000000)",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT id /* ' */ FROM item",
        "SELECT id FROM item -- more",
        "SELECT /*!50000 sleep(10) */ 1",
        "SELECT * FROM secret",
        "SELECT id FROM item WHERE id IN (SELECT id FROM secret)",
        "SELECT * FROM pg_catalog.item",
        "SELECT current_user",
        "SELECT id FROM item\x00",
        "SELECT " + "(" * 2000 + "1" + ")" * 2000,
        "",
        "SELECT '" + "x" * 100_001 + "'",
    ],
)
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql", "mariadb", "duckdb"])
def test_the_second_look_refuses(sql: str, dialect: str) -> None:
    """What is no plain query of the tables asked for is refused before any database sees it."""
    with pytest.raises(Refused):
        examined(sql, dialect, tables={"item"})


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Decimal("12.00"), 12),
        (Decimal("0.1"), 0.1),
        (Decimal("3.3333333333333333333333"), 3.3333333333333335),
        (Decimal("12345678901234567890.5"), "12345678901234567890.5"),
        (Decimal("NaN"), None),
        (Decimal("1E+400"), "1E+400"),
        (Decimal("1E-400"), 0.0),
        (2**63, "9223372036854775808"),
        (2**63 - 1, 2**63 - 1),
        (float("inf"), None),
        (b"\x00\x01", "(2 bytes)"),
        ({"a": [1]}, {"a": [1]}),
        (True, True),
        ("x", "x"),
    ],
)
def test_values_of_drivers_become_values_of_json(value: object, shown: object) -> None:
    """No value of a driver is left that JSON could not hold."""
    assert plain(value)[0] == shown
