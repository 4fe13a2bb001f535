"""From a database's URL to what connects to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from refdesk.db.connector import Connector
from refdesk.db.embedded import Duckdb, Sqlite
from refdesk.db.servers import Mysql, Postgres
from refdesk.errors import ConfigError

_CONNECTORS: Final[dict[str, Callable[[URL, float], Connector]]] = {
    "sqlite": Sqlite,
    "postgresql": Postgres,
    "mysql": Mysql,
    "mariadb": Mysql,
    "duckdb": Duckdb,
}


def connector(name: str, url: str, seconds: float) -> Connector:
    """
    Return what connects to a database of the configuration.

    Raises:
        ConfigError: The URL is none, or of a kind of database that is not known here; it is not
            repeated, since there may be a password in it.
    """
    try:
        parsed = make_url(url)
        kind = parsed.get_backend_name()
    except (ArgumentError, ValueError):
        raise ConfigError(
            f"databases.{name}.url is no database URL; write one such as sqlite:///shop.db"
        ) from None
    if kind not in _CONNECTORS:
        raise ConfigError(
            f"databases.{name}.url is of the kind {kind!r}, which cannot be asked; "
            f"there are {', '.join(_CONNECTORS)}"
        )
    if kind in ("sqlite", "duckdb") and parsed.database in (None, "", ":memory:"):
        raise ConfigError(f"databases.{name}.url names no file; write {kind}:///shop.db")
    return _CONNECTORS[kind](parsed, seconds)
