"""The store as commands use it: beside a running server, and not made by looking at it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from refdesk.cli.output import say
from refdesk.errors import StoreError

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.store import Store
    from refdesk.store.connection import Database


def schema_found(config: Config) -> str | None:
    """
    Return the schema that the store is at; None where there is no store yet.

    Raises:
        StoreError: It does not answer, or is no database.
    """
    from refdesk.store.connection import Database
    from refdesk.store.schema import schema_of

    database = Database(config.store.url)
    try:
        return schema_of(database) if _is_there(database) else None
    finally:
        database.close()


def existing_store(config: Config) -> Store | None:
    """
    Open the store if there is one; None where there is none yet, and none is made then.

    Raises:
        StoreError: It cannot be opened, or has another schema than this version's.
    """
    from refdesk.store.opening import open_store

    if schema_found(config) is None:
        return None
    return open_store(config, upgrade=False)


def store_if_well(config: Config) -> Store | None:
    """Open the store if there is one that can be opened; what keeps it from that is told."""
    try:
        return existing_store(config)
    except StoreError as exc:
        say(f"note: the store is not used: {exc}")
        return None


def _is_there(database: Database) -> bool:
    # Looking into a file that is not there would make it.
    return database.path is None or _has_bytes(database.path)


def _has_bytes(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError as exc:
        raise StoreError(
            f"the store {path} cannot be looked at: {exc.strerror}; run this as the user that "
            "serves, or make its folder readable"
        ) from None
