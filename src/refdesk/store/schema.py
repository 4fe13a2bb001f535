"""
From the schema that a database has to the one that this version needs.

A step is done as a whole or not at all, on both databases, and by one process at a time: whoever
comes second finds the work done.
"""

from __future__ import annotations

import threading
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Column, Connection, MetaData, Table, Text, inspect, select

from refdesk.errors import StoreError
from refdesk.store.connection import Database
from refdesk.store.tables import SCHEMA, VERSION_TABLE, meta, metadata

if TYPE_CHECKING:
    from alembic.config import Config

# Alembic keeps what it is at in a global: one migration at a time, in one process.
_alembic = threading.Lock()

_version = Table(VERSION_TABLE, MetaData(), Column("version_num", Text))


def schema_of(database: Database) -> str | None:
    """Return the revision that a database is at; None where there is nothing of ours yet."""
    with database.read() as connection:
        return _schema_of(connection)


def bring_up(database: Database, *, upgrade: bool = True) -> str | None:
    """
    Make the tables, or bring them to the schema of this version.

    Args:
        database: Where.
        upgrade: Whether tables of an older version may be changed; new ones are made always.

    Returns:
        The revision that was found; None if the database was empty.

    Raises:
        StoreError: It is of a newer version, of an older one that may not be changed, or holds
            tables that are not ours.
    """
    found = schema_of(database)
    if found == SCHEMA:
        return found
    # Imported when there is something to do: it takes longer than all else that a command needs.
    from alembic import command

    with database.write() as connection:
        found = _schema_of(connection)  # another process may have been faster
        if found == SCHEMA:
            return found
        _check(database, connection, found, upgrade=upgrade)
        configuration = _configuration()
        configuration.attributes["connection"] = connection
        with _alembic:
            command.upgrade(configuration, "head")
        put_meta(database, connection, "written_by", refdesk_version())
    return found


def _check(database: Database, connection: Connection, found: str | None, *, upgrade: bool) -> None:
    if found is None:
        foreign = sorted(set(inspect(connection).get_table_names()) & set(metadata.tables))
        if foreign:
            raise StoreError(
                f"the database {database.name} holds tables that are not Refdesk's"
                f" ({', '.join(foreign)}); name an empty database in store.url"
            )
        return
    from alembic.script import ScriptDirectory

    known = {
        step.revision for step in ScriptDirectory.from_config(_configuration()).walk_revisions()
    }
    if found not in known:
        writer = get_meta(connection, "written_by") or "an unknown version"
        raise StoreError(
            f"the database {database.name} has schema {found}, written by Refdesk {writer}; this is"
            f" Refdesk {refdesk_version()}, which knows schemas up to {SCHEMA}: install that"
            " version or a newer one, or restore a backup made before the upgrade"
        )
    if not upgrade:
        raise StoreError(
            f"the database {database.name} has schema {found} and this version needs {SCHEMA};"
            " run: refdesk migrate"
        )


def _schema_of(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(select(_version.c.version_num)).scalar()


def _configuration() -> Config:
    from alembic.config import Config

    configuration = Config()
    # Alembic reads options with %-interpolation; a path may hold a percent sign.
    folder = str(Path(__file__).parent / "migrations").replace("%", "%%")
    configuration.set_main_option("script_location", folder)
    configuration.set_main_option("path_separator", "os")
    return configuration


def refdesk_version() -> str:
    """Return the version of this package; ``0`` where it runs from a bare folder."""
    try:
        return version("refdesk")
    except PackageNotFoundError:
        return "0"


def get_meta(connection: Connection, name: str) -> str | None:
    """Return a fact that the store keeps about itself."""
    return connection.execute(select(meta.c.value).where(meta.c.name == name)).scalar()


def put_meta(database: Database, connection: Connection, name: str, value: str) -> None:
    """Keep a fact about the store itself, in place of an earlier one of that name."""
    connection.execute(
        database.insert(meta)
        .values(name=name, value=value)
        .on_conflict_do_update(index_elements=["name"], set_={"value": value})
    )
