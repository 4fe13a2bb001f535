"""``refdesk migrate``: from which schema to which, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from commands import Command
from refdesk.cli import migrate
from refdesk.config import load
from refdesk.store import schema, tables
from refdesk.store.connection import Database
from refdesk.store.tables import SCHEMA, VERSION_TABLE


def test_first(refdesk: Command, folder: Path) -> None:
    """A check makes nothing; the command makes the store and says so; again there is no work."""
    ran = refdesk("migrate", "--check")
    assert (ran.code, ran.out) == (0, f"none yet: {SCHEMA} is made on first start\n")
    assert not (folder / "refdesk-data").exists()
    name = folder / "refdesk-data/refdesk.db"
    assert refdesk("migrate").out == f"{name}: from nothing to {SCHEMA}\n"
    assert refdesk("migrate").out == f"{name}: {SCHEMA}: up to date\n"
    assert refdesk("migrate", "--check").out == f"{SCHEMA}: up to date\n"
    assert refdesk("migrate", "--json").json == {
        "store": str(name),
        "from": SCHEMA,
        "to": SCHEMA,
        "changed": False,
    }


def test_newer(refdesk: Command) -> None:
    """A store of a newer version is refused, with the version that wrote it; a check finds it."""
    refdesk("migrate")
    database = Database(load(None, env={}).config.store.url)
    with database.write() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
        connection.execute(text("UPDATE meta SET value = '9.8.7' WHERE name = 'written_by'"))
    database.close()
    ran = refdesk("migrate")
    assert (ran.code, ran.out) == (1, "")
    assert "has schema 9999, written by Refdesk 9.8.7" in ran.err
    ran = refdesk("migrate", "--check", "--json")
    assert ran.code == 3
    assert (ran.json["from"], ran.json["to"]) == ("9999", SCHEMA)
    assert "9.8.7" in ran.json["problem"]


def test_older(refdesk: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of an older version is what a check is for: exit status 3, and the command."""
    refdesk("migrate")
    # As a version with one step more would see it.
    monkeypatch.setattr(schema, "SCHEMA", "8888")
    monkeypatch.setattr(tables, "SCHEMA", "8888")
    ran = refdesk("migrate", "--check")
    assert (ran.code, ran.out) == (3, f"from {SCHEMA} to 8888\n")
    assert "run: refdesk migrate" in ran.err


def test_unreadable(refdesk: Command, folder: Path) -> None:
    """A file that is no database is exit status 1 with what to do; it stays as it is."""
    (folder / "refdesk-data").mkdir()
    path = folder / "refdesk-data/refdesk.db"
    path.write_bytes(b"no database" * 100)
    ran = refdesk("migrate")
    assert (ran.code, ran.out) == (1, "")
    assert "refdesk.db" in ran.err
    assert path.read_bytes() == b"no database" * 100


def test_module_is_light() -> None:
    """The command's module imports no database: help comes at once."""
    assert not hasattr(migrate, "SCHEMA")
