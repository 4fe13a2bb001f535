"""
Connections that can only read, one class per kind of database.

Whatever is asked over them, the database itself refuses to write: what is above may err.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import URL, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool, Pool, QueuePool

from refdesk.db.dsl.values import Dialect
from refdesk.db.gate import Written
from refdesk.errors import ConfigError

POOLED: Final = 4
"""Connections kept to one server: more searches at once wait for one."""
_STEPS: Final = 1000
"""SQLite's virtual machine looks at the clock after so many of its instructions."""

_SQLITE_FUNCTIONS: Final = (
    "abs avg ceil ceiling char coalesce concat count date datetime exp floor glob group_concat "
    "ifnull iif instr julianday length like ln log log10 log2 lower ltrim max min mod nullif pi "
    "pow power replace round rtrim sign sqrt strftime string_agg substr substring sum time "
    "timediff total trim trunc typeof unicode unixepoch upper json_extract -> ->> median"
)
_SQLITE_ALLOWED: Final = frozenset(_SQLITE_FUNCTIONS.split())


class Connector:
    """
    Makes connections to one database.

    Args:
        url: Where it is.
        seconds: How long one statement may take.
    """

    dialect: Dialect
    quick = False
    """Whether a connection costs so little that none is kept."""

    def __init__(self, url: URL, seconds: float) -> None:
        self.url = url
        self.seconds = seconds

    def connect(self) -> Any:
        """Return a new DBAPI connection that can only read."""
        raise NotImplementedError

    def cursor(self, connection: Any, statement: Written) -> Any:
        """Run a statement and return the cursor, which gives rows as they are fetched."""
        raise NotImplementedError

    def leave(self, cursor: Any, *, whole: bool) -> None:
        """Let go of a cursor; not read to its end, it leaves its connection of no more use."""
        cursor.close()

    def stop(self, connection: Any) -> None:
        """End the statement that runs on a connection, from another thread."""
        raise NotImplementedError

    def begin(self, connection: Any, stopped: Callable[[], bool]) -> None:
        """Get a connection ready for a statement, which ends when ``stopped`` says so."""

    def broken(self, connection: Any) -> bool:
        """Whether a connection is of no more use."""
        return False

    def late(self, error: BaseException) -> bool:
        """Whether an error says that the time ran out, or that the statement was stopped."""
        return False

    def engine(self) -> Engine:
        """Return an engine to read the schema with; dispose of it afterwards."""
        raise NotImplementedError

    def pool(self) -> Pool:
        """Return a pool of connections."""
        if self.quick:
            return NullPool(self.connect)
        return QueuePool(
            self.connect, pool_size=POOLED, max_overflow=0, timeout=self.seconds, use_lifo=True
        )


class Sqlite(Connector):
    """A file, opened read-only, with an authorizer."""

    dialect: Dialect = "sqlite"
    quick = True

    def connect(self) -> sqlite3.Connection:
        connection = self._open()
        # PRAGMA is among what it denies, so nothing can be switched off again.
        connection.set_authorizer(_authorize)
        return connection

    def begin(self, connection: Any, stopped: Callable[[], bool]) -> None:
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
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 16 * 1024 * 1024)
        connection.text_factory = _text
        return connection


class Postgres(Connector):
    """A server, every transaction of which is read-only and timed."""

    dialect: Dialect = "postgresql"

    def __init__(self, url: URL, seconds: float) -> None:
        super().__init__(url.set(drivername="postgresql+psycopg"), seconds)

    def connect(self) -> Any:
        import psycopg

        _, options = self.url.get_dialect()().create_connect_args(self.url)
        options.setdefault("connect_timeout", max(1, round(self.seconds)))
        options.setdefault("application_name", "refdesk")
        connection = psycopg.connect(**options, autocommit=True)
        milliseconds = max(1, round(self.seconds * 1000))
        for setting, value in (
            ("default_transaction_read_only", "on"),
            ("statement_timeout", str(milliseconds)),
            ("lock_timeout", str(milliseconds)),
            ("idle_in_transaction_session_timeout", str(milliseconds + 5000)),
        ):
            connection.execute("SELECT set_config(%s, %s, false)", (setting, value))
        connection.autocommit = False
        connection.read_only = True
        # A plan kept for a query whose values change says little; and poolers do not like them.
        connection.prepare_threshold = None
        return connection

    def cursor(self, connection: Any, statement: Written) -> Any:
        cursor = connection.cursor(name="refdesk")
        try:
            cursor.execute(statement.sql, dict(statement.params))
        except BaseException:
            cursor.close()
            raise
        return cursor

    def stop(self, connection: Any) -> None:
        connection.cancel_safe(timeout=2)

    def broken(self, connection: Any) -> bool:
        return bool(connection.closed or connection.broken)

    def late(self, error: BaseException) -> bool:
        import psycopg

        return isinstance(error, (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable))

    def engine(self) -> Engine:
        return create_engine(self.url, creator=self.connect, poolclass=NullPool)


class Mysql(Connector):
    """A MySQL or MariaDB server, every transaction of which is read-only and timed."""

    dialect: Dialect = "mysql"

    def __init__(self, url: URL, seconds: float) -> None:
        name = url.get_backend_name()
        super().__init__(url.set(drivername=f"{name}+pymysql"), seconds)
        self.dialect = "mariadb" if name == "mariadb" else "mysql"

    def connect(self) -> Any:
        try:
            import pymysql
            from pymysql.cursors import SSCursor
        except ImportError:
            raise ConfigError(
                "a MySQL or MariaDB database needs the driver pymysql; "
                "install it with `pip install 'refdesk[mysql]'`"
            ) from None

        options = self._options() | {"cursorclass": SSCursor, "autocommit": False}
        options.setdefault("charset", "utf8mb4")
        options.setdefault("connect_timeout", max(1, round(self.seconds)))
        # What does not answer at all is left by itself a little after the server should have.
        options["read_timeout"] = max(1, round(self.seconds) + 5)
        options["local_infile"] = False
        connection = pymysql.connect(**options)
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION READ ONLY")
            if "mariadb" in connection.get_server_info().lower():
                cursor.execute("SET SESSION max_statement_time = %s", (self.seconds,))
            else:
                cursor.execute(
                    "SET SESSION max_execution_time = %s", (max(1, round(self.seconds * 1000)),)
                )
        return connection

    def cursor(self, connection: Any, statement: Written) -> Any:
        cursor = connection.cursor()
        cursor.execute(statement.sql, dict(statement.params))
        return cursor

    def leave(self, cursor: Any, *, whole: bool) -> None:
        if whole:
            cursor.close()
            return
        # Its close() reads all that is left, ten million rows as well; so the socket is shut.
        if cursor._result is not None:
            cursor._result.unbuffered_active = False
        cursor.connection._force_close()
        cursor.connection = None

    def stop(self, connection: Any) -> None:
        import pymysql

        with contextlib.closing(pymysql.connect(**self._options(), connect_timeout=2)) as other:
            other.cursor().execute("KILL QUERY %s", (connection.thread_id(),))

    def broken(self, connection: Any) -> bool:
        return not connection.open

    def late(self, error: BaseException) -> bool:
        # Statement time-out of MySQL and of MariaDB, interrupted, lock wait time-out.
        return bool(error.args) and error.args[0] in (3024, 1969, 1317, 1205)

    def engine(self) -> Engine:
        return create_engine(self.url, poolclass=NullPool)

    def _options(self) -> dict[str, Any]:
        _, options = self.url.get_dialect()().create_connect_args(self.url)
        options.pop("client_flag", None)
        return dict(options)


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
                "lock_configuration": "true",
            },
        )

    def cursor(self, connection: Any, statement: Written) -> Any:
        return connection.execute(statement.sql, dict(statement.params))

    def stop(self, connection: Any) -> None:
        connection.interrupt()

    def late(self, error: BaseException) -> bool:
        return type(error).__name__ == "InterruptException"


_CONNECTORS: Final[dict[str, type[Connector]]] = {
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
    except ArgumentError:
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
