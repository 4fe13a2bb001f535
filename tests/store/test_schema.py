"""From one schema to the next."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from refdesk.errors import StoreError
from refdesk.store import schema
from refdesk.store.connection import Database
from refdesk.store.graph import entity_id
from refdesk.store.searches import numbered
from refdesk.store.tables import SCHEMA, VERSION_TABLE, metadata

OLD = Path(__file__).parent / "old"
SCRIPTS = ScriptDirectory.from_config(schema._configuration())
REVISIONS = [step.revision for step in SCRIPTS.walk_revisions()]


def test_head() -> None:
    """The schema named in the code is the newest step, and the steps are one line."""
    assert SCRIPTS.get_heads() == [SCHEMA]
    assert SCRIPTS.get_bases() == ["0001"]


def test_tables_as_migrated(database: Database) -> None:
    """The steps make just the tables that the code names: columns, types, keys and indexes."""
    with database.read() as connection:
        context = MigrationContext.configure(
            connection,
            opts={"version_table": VERSION_TABLE, "compare_type": True},
        )
        assert compare_metadata(context, metadata) == []
    assert schema.schema_of(database) == SCHEMA


def test_nothing_yet(place) -> None:
    """An empty database has no schema."""
    if place.data_dir:
        place.data_dir.mkdir()
    database = Database(place.url)
    assert schema.schema_of(database) is None
    assert schema.bring_up(database, upgrade=False) is None
    assert schema.bring_up(database, upgrade=False) == SCHEMA
    database.close()


def test_newer(place, database: Database) -> None:
    """A database of a newer version is refused; the message says which version wrote it."""
    with database.write() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
        connection.execute(text("UPDATE meta SET value = '9.8.7' WHERE name = 'written_by'"))
    with pytest.raises(StoreError, match=r"schema 9999, written by Refdesk 9\.8\.7"):
        place.open()


def test_older(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where upgrading is not allowed, an older schema is refused with the command that does it."""
    monkeypatch.setattr(schema, "SCHEMA", "9998")
    with pytest.raises(StoreError, match="needs 9998; run: refdesk migrate"):
        schema.bring_up(database, upgrade=False)


def test_written_by(database: Database) -> None:
    """The store knows which version made its tables."""
    with database.read() as connection:
        assert schema.get_meta(connection, "written_by") == schema.refdesk_version()


@pytest.mark.parametrize("revision", REVISIONS)
def test_old_file(revision: str, sqlite_place) -> None:
    """A file that a version with that schema wrote opens, and everything in it can be read."""
    sqlite_place.data_dir.mkdir()
    path = sqlite_place.data_dir / "refdesk.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((OLD / f"{revision}.sql").read_text())
    with sqlite_place.open() as store:
        assert store.upgraded_from == revision
        (logged,) = store.requests.list()
        assert logged.record.notices == ("a notice",)
        assert logged.record.attempts[0].engine == "main"
        (search,) = store.searches.by_request(logged.record.id)
        assert search.items[0].title == "Python 3.14"
        assert (search.type, search.source, search.references) == ("web", "gateway", None)
        assert [one.title for one in numbered([search])] == ["Python 3.14"]
        assert store.settings.get("plain").value == {"a": [1, None]}
        assert store.settings.get("sealed").value == "an old secret"
        (row,) = store.ledger.summary(100_000)
        assert (row.engine, row.usage.searches) == ("main", 3)
        (key,) = store.keys.list()
        assert key.claims == {"team": "sales"}
        if revision >= "0002":
            (search,) = store.searches.by_request("0f1e2d3d")
            assert search.key_id == "k1"
            assert (search.type, search.source, search.dsl) == ("db", "hook", {"from": "orders"})
            assert search.keywords[0].text == "orders"
            assert search.graph[0].name == search.relations[0].subject == search.entities[0].name
            assert search.references[0].index == 2
            assert search.references[0].meta == {"record_id": 7}
            assert (search.xml, search.prompt) == ("<references>", "Cite.")
        if revision >= "0004":
            (edge,) = store.graph.edges(
                "handbook", [entity_id("handbook", name) for name in ("Ann", "Acme")]
            )
            assert edge.predicate == "leads"
        if revision >= "0005":
            assert (row.usage.asked, key.requests_per_minute) == (3, 60)
        # The schema counts up where it left off.
        assert store.requests.newest() == logged.seq
