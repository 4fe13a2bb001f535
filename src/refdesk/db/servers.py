"""Databases that are servers: PostgreSQL, MySQL and MariaDB; each transaction only reads."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import URL, Engine, create_engine
from sqlalchemy.pool import NullPool

from refdesk.db.connector import Connector, offset_text, zone_of
from refdesk.db.dsl.values import Dialect
from refdesk.db.gate import Written
from refdesk.errors import ConfigError


class Postgres(Connector):
    """A server, every transaction of which is read-only and timed."""

    dialect: Dialect = "postgresql"

    def __init__(self, url: URL, seconds: float) -> None:
        super().__init__(url.set(drivername="postgresql+psycopg"), seconds)

    def connect(self) -> Any:
        import psycopg

        _, options = self.url.get_dialect()().create_connect_args(self.url)
        for name, value in (
            ("connect_timeout", max(1, round(self.seconds))),
            ("application_name", "refdesk"),
            # A server that is gone without a word is noticed, and its thread is free again.
            ("keepalives_idle", 10),
            ("keepalives_interval", 5),
            ("keepalives_count", 3),
            ("tcp_user_timeout", round(self.seconds * 1000) + 5000),
        ):
            options.setdefault(name, value)
        connection = psycopg.connect(**options, autocommit=True, context=_tolerant())
        milliseconds = str(max(1, round(self.seconds * 1000)))
        connection.execute(
            "SELECT set_config('default_transaction_read_only', 'on', false), "
            "set_config('statement_timeout', %(ms)s, false), "
            "set_config('lock_timeout', %(ms)s, false), "
            "set_config('idle_in_transaction_session_timeout', %(idle)s, false)",
            {"ms": milliseconds, "idle": str(int(milliseconds) + 5000)},
        )
        connection.autocommit = False
        connection.read_only = True
        # A plan kept for a query whose values change says little; and poolers do not like them.
        connection.prepare_threshold = None
        return connection

    def begin(
        self, connection: Any, stopped: Callable[[], bool], now: datetime | None = None
    ) -> None:
        if now is None:
            return
        name, offset = zone_of(now)
        zone = name or _posix(offset)
        if connection.info.parameter_status("TimeZone") != zone:
            # Outside of a transaction, at whose end it would be as it was before.
            connection.autocommit = True
            connection.execute("SELECT set_config('TimeZone', %s, false)", (zone,))
            connection.autocommit = False

    def cursor(self, connection: Any, statement: Written) -> Any:
        return _Streamed(connection.cursor(), statement)

    def stop(self, connection: Any) -> None:
        connection.cancel_safe(timeout=2)

    def broken(self, connection: Any) -> bool:
        return bool(connection.closed or connection.broken)

    def late(self, error: BaseException) -> bool:
        import psycopg

        return isinstance(error, (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable))

    def engine(self) -> Engine:
        return create_engine(self.url, creator=self.connect, poolclass=NullPool)


def _posix(offset: timedelta) -> str:
    """Return an offset as POSIX has it, where what lies east is negative."""
    hours, rest = divmod(-offset, timedelta(hours=1))
    # The driver knows zones that have a name.
    return f"Etc/GMT{hours:+}" if not rest else f"<{offset_text(offset)}>{offset_text(-offset)}"


class _Streamed:
    """
    Rows as the server sends them.

    A cursor declared on the server would hold back as well, but costs two more round trips, and a
    query of one is never run by several processes.
    """

    def __init__(self, cursor: Any, statement: Written) -> None:
        self._cursor = cursor
        self._rows = cursor.stream(statement.sql, dict(statement.params))

    @property
    def description(self) -> Any:
        """The columns, once the first row is there; None while there is none."""
        return self._cursor.description

    def fetchone(self) -> Any:
        """Return the next row, None after the last."""
        return next(self._rows, None)

    def close(self) -> None:
        """Leave it; rows that are still to come are not sent."""
        self._rows.close()
        self._cursor.close()


@lru_cache(maxsize=1)
def _tolerant() -> Any:
    """Return how values of PostgreSQL are read: what Python cannot hold stays as it is written."""
    import psycopg
    from psycopg.adapt import AdaptersMap, Loader
    from psycopg.types.json import set_json_loads

    known = psycopg.adapters

    def tolerant(inner: Any) -> type[Loader]:
        class Tolerant(Loader):
            def __init__(self, oid: int, context: Any = None) -> None:
                super().__init__(oid, context)
                self._inner = inner(oid, context)

            def load(self, data: Any) -> Any:
                try:
                    return self._inner.load(data)
                except psycopg.DataError:
                    return bytes(data).decode()

        return Tolerant

    adapters = AdaptersMap(known)
    for name in ("date", "time", "timetz", "timestamp", "timestamptz", "interval"):
        oid = known.types[name].oid
        inner = known.get_loader(oid, psycopg.pq.Format.TEXT)
        adapters.register_loader(oid, tolerant(inner))
    set_json_loads(_json, adapters)
    return adapters


def _json(data: bytes | str) -> Any:
    """Return JSON as values; as text where it is nested too deep for that."""
    try:
        return json.loads(data)
    except RecursionError:
        return data.decode() if isinstance(data, bytes) else data


class Mysql(Connector):
    """A MySQL or MariaDB server, every transaction of which is read-only and timed."""

    dialect: Dialect = "mysql"

    def __init__(self, url: URL, seconds: float) -> None:
        name = url.get_backend_name()
        super().__init__(url.set(drivername=f"{name}+pymysql"), seconds)
        self.dialect = "mariadb" if name == "mariadb" else "mysql"
        self._zones: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

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

    def begin(
        self, connection: Any, stopped: Callable[[], bool], now: datetime | None = None
    ) -> None:
        if now is None:
            return
        name, offset = zone_of(now)
        zone = name or offset_text(offset)
        if self._zones.get(connection) == zone:
            return
        import pymysql

        with connection.cursor() as cursor:
            try:
                cursor.execute("SET SESSION time_zone = %s", (zone,))
            except pymysql.MySQLError:
                # A server knows names of zones only if they were loaded into it.
                cursor.execute("SET SESSION time_zone = %s", (offset_text(offset),))
        self._zones[connection] = zone

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
