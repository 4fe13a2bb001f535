"""
The way to the database: one place that knows SQLite from PostgreSQL.

Whatever goes wrong inside `Database.read` and `Database.write` comes out as a StoreError whose
message holds neither a password nor a value of a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Table, create_engine, event, make_url, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from refdesk.errors import StoreError

BUSY_TIMEOUT_S: Final = 5.0
"""For another process to release the SQLite file; beyond it the write is tried again later."""
_WRITERS: Final = 0x72656664  # "refd": the advisory lock that all our writers on PostgreSQL take
_FORMS: Final = "sqlite:///path/refdesk.db or postgresql+psycopg://user@host/database"


class Database:
    """
    A database, with connections that are opened when needed.

    Args:
        url: ``sqlite:///…`` with a file, or ``postgresql+psycopg://…``.
        busy_timeout_s: How long a write waits for another process's write (SQLite).

    Raises:
        StoreError: The URL is neither.
    """

    def __init__(self, url: str, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        parsed = _parse(url)
        self.path: Path | None = None
        self._password = parsed.password
        arguments: dict[str, Any]
        if parsed.drivername == "sqlite":
            self.path = _sqlite_path(parsed)
            self.name = str(self.path)
            parsed = URL.create("sqlite", database=str(self.path))
            arguments = {"timeout": busy_timeout_s}
        else:
            self.name = f"postgresql://{parsed.host or 'localhost'}/{parsed.database or ''}"
            # A server that vanished without a word is noticed after 15 s, not after two hours.
            arguments = {"connect_timeout": 5, "tcp_user_timeout": 15_000}
        self.engine = create_engine(
            parsed,
            connect_args=arguments,
            hide_parameters=True,
            pool_pre_ping=self.path is None,
            pool_size=5,
            max_overflow=5,
            pool_timeout=5,
        )
        if self.embedded:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)

    def __repr__(self) -> str:
        return f"Database({self.name})"

    @property
    def embedded(self) -> bool:
        """Whether it is a file of ours (SQLite) and not a server."""
        return self.path is not None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that only reads, and sees one state of the database (SQLite)."""
        with self._translated(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that writes; it ends as a whole, or not at all."""
        with self._translated(), self.engine.connect() as connection:
            connection.execution_options(refdesk_write=True)
            with connection.begin():
                if not self.embedded:
                    # Writers go one after the other, so that the log's numbers become visible in
                    # their order (else `logs --follow` would miss rows), and none can deadlock.
                    connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _WRITERS})
                yield connection

    def insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """Return an INSERT that can say what happens on a conflict."""
        return sqlite.insert(table) if self.embedded else postgresql.insert(table)

    def explain(self, error: BaseException) -> str:
        """Return what the database said, on one line and without the password."""
        cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
        lines = str(cause).strip().splitlines()
        said = lines[0] if lines else type(cause).__name__
        if self._password:
            said = said.replace(str(self._password), "…")
        return said

    def close(self) -> None:
        """Close every connection that is not in use."""
        self.engine.dispose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except PoolTimeout as exc:
            raise StoreError(f"the store {self.name} has no free connection") from exc
        except SQLAlchemyError as exc:
            raise StoreError(f"the store {self.name} failed: {self.explain(exc)}") from exc


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # The URL may hold a password: it is not shown.
        raise StoreError(f"store.url is not a database URL; write {_FORMS}") from None
    if parsed.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername in ("sqlite", "sqlite+pysqlite"):
        return parsed.set(drivername="sqlite")
    raise StoreError(f"store.url: {parsed.drivername!r} is not supported; write {_FORMS}")


def _sqlite_path(url: URL) -> Path:
    name = url.database or ""
    if not name or name == ":memory:" or name.startswith("file:"):
        raise StoreError(
            f"store.url names no file ({name or 'nothing'!r}); a store outlives its process and"
            " serves several at once: write sqlite:///path/refdesk.db"
        )
    if url.query:
        raise StoreError(
            f"store.url has options that are not understood for SQLite: {', '.join(url.query)};"
            " leave them out"
        )
    return Path(name).absolute()


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # We begin transactions ourselves: the driver would begin them late, and as readers.
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_sqlite(connection: Connection) -> None:
    # A reader that turns into a writer fails at once when another wrote in between: no busy
    # timeout helps there, so that a writer takes its lock first.
    write = connection.get_execution_options().get("refdesk_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
