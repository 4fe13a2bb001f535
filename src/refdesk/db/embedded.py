"""Databases that are one file: SQLite and DuckDB, opened so that nothing can be written."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool

from refdesk.db.connector import Connector
from refdesk.db.dsl.values import Dialect
from refdesk.db.gate import Written
from refdesk.errors import ConfigError

_STEPS: Final = 1000
"""SQLite's virtual machine looks at the clock after so many of its instructions."""

_SQLITE_VALUE_MB: Final = 16
"""How large one value, and one row, may be."""

_DUCKDB_MEMORY: Final = "1GB"

_SQLITE_FUNCTIONS: Final = (
    "abs avg ceil ceiling char coalesce concat count date datetime exp floor glob group_concat "
    "ifnull iif instr julianday length like ln log log10 log2 lower ltrim max min mod nullif pi "
    "pow power replace round rtrim sign sqrt strftime string_agg substr substring sum time "
    "timediff total trim trunc typeof unicode unixepoch upper json_extract -> ->> median"
)
_SQLITE_ALLOWED: Final = frozenset(_SQLITE_FUNCTIONS.split())


class Sqlite(Connector):
    """A file, opened read-only, with an authorizer."""

    dialect: Dialect = "sqlite"
    quick = True

    def connect(self) -> sqlite3.Connection:
        connection = self._open()
        # PRAGMA is among what it denies, so nothing can be switched off again.
        connection.set_authorizer(_authorize)
        # Its own know the letters of ASCII only, and text is compared without regard to case.
        connection.create_function("lower", 1, _lower, deterministic=True)
        connection.create_function("upper", 1, _upper, deterministic=True)
        return connection

    def begin(
        self, connection: Any, stopped: Callable[[], bool], now: datetime | None = None
    ) -> None:
        ends = time.monotonic() + self.seconds

        def look() -> int:
            return 1 if stopped() or time.monotonic() > ends else 0

        connection.set_progress_handler(look, _STEPS)

    def cursor(self, connection: Any, statement: Written) -> Any:
        return connection.execute(statement.sql, dict(statement.params))

    def stop(self, connection: Any) -> None:
        connection.interrupt()

    def late(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.OperationalError) and "interrupted" in str(error)

    def too_large(self, error: BaseException) -> str | None:
        big = getattr(error, "sqlite_errorname", "") == "SQLITE_TOOBIG"
        return f"{_SQLITE_VALUE_MB} MB" if big else None

    def engine(self) -> Engine:
        return create_engine("sqlite://", creator=self._open, poolclass=NullPool)

    def _open(self) -> sqlite3.Connection:
        path = Path(self.url.database or "").absolute()
        connection = sqlite3.connect(
            f"file:{quote(str(path))}?mode=ro",
            uri=True,
            check_same_thread=False,
            timeout=self.seconds,
            isolation_level=None,
        )
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _SQLITE_VALUE_MB * 1024 * 1024)
        connection.text_factory = _text
        return connection


class Duckdb(Connector):
    """A DuckDB file, opened read-only, with no way to other files."""

    dialect: Dialect = "duckdb"
    quick = True

    def connect(self) -> Any:
        try:
            import duckdb
        except ImportError:
            raise ConfigError(
                "a DuckDB database needs duckdb; install it with `pip install 'refdesk[duckdb]'`"
            ) from None
        return duckdb.connect(
            str(self.url.database),
            read_only=True,
            config={
                "enable_external_access": "false",
                "autoload_known_extensions": "false",
                "autoinstall_known_extensions": "false",
                # What does not fit is an error: nothing is written beside the file.
                "temp_directory": "",
                "memory_limit": _DUCKDB_MEMORY,
                # No variable of this program is ever meant by the name of a table.
                "python_enable_replacements": "false",
                "lock_configuration": "true",
            },
        )

    def cursor(self, connection: Any, statement: Written) -> Any:
        return connection.execute(statement.sql, dict(statement.params))

    def leave(self, cursor: Any, *, whole: bool) -> None:
        """Do nothing: the cursor is the connection, and whoever holds that closes it."""

    def stop(self, connection: Any) -> None:
        connection.interrupt()

    def late(self, error: BaseException) -> bool:
        return type(error).__name__ == "InterruptException"


def _authorize(
    action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    if action == sqlite3.SQLITE_READ:
        hidden = (first or "").lower().startswith(("sqlite_", "pragma_"))
        return sqlite3.SQLITE_DENY if hidden else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        known = (second or "").lower() in _SQLITE_ALLOWED
        return sqlite3.SQLITE_OK if known else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action == sqlite3.SQLITE_SELECT else sqlite3.SQLITE_DENY


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _lower(value: object) -> str | None:
    text = _as_text(value)
    return None if text is None else text.lower()


def _upper(value: object) -> str | None:
    text = _as_text(value)
    return None if text is None else text.upper()


def _as_text(value: object) -> str | None:
    if isinstance(value, str) or value is None:
        return value
    return _text(value) if isinstance(value, bytes) else str(value)
