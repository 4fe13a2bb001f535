"""A database of each kind for a test, really running, dropped afterwards."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from refdesk.db.dsl import Dialect

POSTGRES = os.environ.get("REFDESK_TEST_POSTGRES", "postgresql+psycopg://root@127.0.0.1:5432/test")
MARIADB = os.environ.get("REFDESK_TEST_MARIADB", "mariadb+pymysql://root@127.0.0.1:3306")
KINDS: tuple[Dialect, ...] = ("sqlite", "duckdb", "postgresql", "mariadb")

Execute = Callable[..., Any]
"""Runs SQL; rows come as a second argument, for ``?`` in it."""


class Opened:
    """A database: its kind, its URL, and a way to change it that Refdesk does not have."""

    def __init__(self, kind: Dialect, url: str, execute: Execute) -> None:
        self.kind = kind
        self.url = url
        self._execute = execute

    def execute(self, *statements: str) -> None:
        """Run statements, names in double quotes."""
        for each in statements:
            self._execute(each.replace('"', "`") if self.kind == "mariadb" else each)

    def fill(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows into a table."""
        mark = "?" if self.kind in ("sqlite", "duckdb") else "%s"
        quote = "`" if self.kind == "mariadb" else '"'
        marks = ", ".join([mark] * len(rows[0]))
        for row in rows:
            self._execute(f"INSERT INTO {quote}{table}{quote} VALUES ({marks})", row)


@contextmanager
def opened(kind: Dialect, folder: Path) -> Iterator[Opened]:
    """Make an empty database of a kind; the test is skipped where none runs."""
    yield from _MAKERS[kind](folder)


def _sqlite(folder: Path) -> Iterator[Opened]:
    path = folder / "shop.db"
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield Opened("sqlite", f"sqlite:///{path}", connection.execute)
    finally:
        connection.close()


def _duckdb(folder: Path) -> Iterator[Opened]:
    duckdb = pytest.importorskip("duckdb")
    path = folder / "shop.duckdb"

    def execute(sql: str, *rows: Any) -> None:
        # Nobody else may have it open while it is changed.
        with duckdb.connect(str(path)) as connection:
            connection.execute(sql, *rows)

    execute("SELECT 1")
    yield Opened("duckdb", f"duckdb:///{path}", execute)


def _postgresql(folder: Path) -> Iterator[Opened]:
    import psycopg

    admin = make_url(POSTGRES).set(drivername="postgresql")
    name = f"refdesk_{secrets.token_hex(6)}"
    try:
        server = psycopg.connect(admin.render_as_string(hide_password=False), autocommit=True)
    except psycopg.OperationalError as error:
        _absent("PostgreSQL", error)
        return
    server.execute(f"CREATE DATABASE {name}")
    url = admin.set(database=name).render_as_string(hide_password=False)
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            yield Opened("postgresql", url, connection.execute)
    finally:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")
        server.close()


def _mariadb(folder: Path) -> Iterator[Opened]:
    pymysql = pytest.importorskip("pymysql")
    admin = make_url(MARIADB)
    name = f"refdesk_{secrets.token_hex(6)}"
    try:
        server = pymysql.connect(
            host=admin.host,
            port=admin.port or 3306,
            user=admin.username,
            autocommit=True,
            charset="utf8mb4",
        )
    except pymysql.err.OperationalError as error:
        _absent("MariaDB", error)
        return
    with server.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        try:
            cursor.execute(f"USE {name}")
            url = admin.set(database=name).render_as_string(hide_password=False)
            yield Opened("mariadb", url, cursor.execute)
        finally:
            cursor.execute(f"DROP DATABASE {name}")
    server.close()


def _absent(what: str, error: Exception) -> None:
    if os.environ.get("CI") == "true":
        raise error
    pytest.skip(f"no {what} on loopback: {type(error).__name__}")


_MAKERS: dict[Dialect, Callable[[Path], Iterator[Opened]]] = {
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "postgresql": _postgresql,
    "mariadb": _mariadb,
}
