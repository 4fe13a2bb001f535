"""
One query run: read-only, within a time and a size, off the event loop, stopped with its request.

What a database says of a failure may hold values of rows that nobody was to see, so it is never
repeated: only the kind of failure is told.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from typing import Any, Final, Literal, TypeVar
from uuid import UUID

from sqlalchemy import Engine
from sqlalchemy.exc import TimeoutError as PoolTimeout

from refdesk.db.connect import connector
from refdesk.db.connector import POOLED, Connector
from refdesk.db.dsl.values import Dialect
from refdesk.db.gate import Written
from refdesk.errors import RefdeskError

MAX_CELL_CHARS: Final = 65_536
"""Characters of one value of a row; the rest is cut off and marked."""
_SLACK_S: Final = 0.5
"""How much later than the database our own clock ends a statement."""
_STOPS: Final = 20
_STOP_AGAIN_S: Final = 0.1
_EXACT_DIGITS: Final = 15
_EXACT: Final = 2**53
_LARGEST: Final = 2**63
_VALUE_REFUSED: Final = frozenset({"DataError", "OverflowError"})

_log = logging.getLogger(__name__)

T = TypeVar("T")

Cut = Literal["", "rows", "bytes", "cells"]
_WHOLE: Final = ("", "cells")
"""How a read that came to the last row ends."""


class ExecutionFailed(RefdeskError):
    """
    A query gave no rows, because the database did not run it to its end.

    Args:
        message: What happened, without values of rows.
        bad_value: Whether driver or database refused a value of the query: out of range, or no
            value of the column's type.
    """

    def __init__(self, message: str, *, bad_value: bool = False) -> None:
        super().__init__(message)
        self.bad_value = bad_value


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """How much one query may give, and how long it may take."""

    rows: int = 1000
    bytes: int = 4 * 1024 * 1024
    seconds: float = 5.0
    cell_chars: int = MAX_CELL_CHARS


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """What a query gave.  Values are those of JSON, dates and times."""

    rows: tuple[Mapping[str, Any], ...] = ()
    cut: Cut = ""
    """What bound was met, so that there is more than this; empty: this is all."""


class Runner:
    """
    Runs queries on one database; may be used from one event loop at a time.

    Args:
        name: What the configuration calls it.
        url: Where it is; never in a message.
        bounds: What holds for every query.

    Raises:
        ConfigError: The URL is of no database that can be asked.
    """

    def __init__(self, name: str, url: str, bounds: Bounds | None = None) -> None:
        self.name = name
        self.bounds = bounds or Bounds()
        self._connector: Connector = connector(name, url, self.bounds.seconds)
        self._pool = self._connector.pool()
        self._threads = ThreadPoolExecutor(4, thread_name_prefix=f"refdesk-db-{name}")

    @property
    def dialect(self) -> Dialect:
        """Its kind: ``sqlite``, ``postgresql``, ``mysql``, ``mariadb`` or ``duckdb``."""
        return self._connector.dialect

    def connect(self) -> Any:
        """Return a new DBAPI connection that can only read, to look at the schema with."""
        return self._connector.connect()

    def engine(self) -> Engine:
        """Return an SQLAlchemy engine to reflect with; dispose of it afterwards."""
        return self._connector.engine()

    async def run(
        self, statement: Written, *, max_rows: int | None = None, now: datetime | None = None
    ) -> Rows:
        """
        Run a query and return its rows.

        When the caller is cancelled, the query is stopped in the database as well.

        Args:
            statement: The query.
            max_rows: The most rows; None, or more than the bound: the bound.
            now: In its time zone moments that have a zone are read and shown; None leaves that to
                the database.

        Raises:
            ExecutionFailed: It could not be run, or took too long.
        """
        # One row beyond the bound tells whether there are more.
        rows = min(self.bounds.rows + 1, max_rows or self.bounds.rows)
        return await self.call(lambda work: self._run(statement, rows, now, work))

    async def call(self, job: Callable[[Work], T]) -> T:
        """Do something in a thread, within the time; see `run`."""
        work = Work()
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._threads, job, work)
        # Looked at, so that asyncio does not report what nobody waits for any more.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            async with asyncio.timeout(self.bounds.seconds + _SLACK_S):
                return await asyncio.shield(future)
        except TimeoutError:
            work.stop()
            raise self._late() from None
        except asyncio.CancelledError:
            work.stop()
            raise

    def close(self) -> None:
        """Let go of all connections; queries under way end as they can."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._pool.dispose()

    def _run(self, statement: Written, max_rows: int, now: datetime | None, work: Work) -> Rows:
        # After a restart of the server each connection that was kept is found to be broken.
        for last in (*[False] * POOLED, True):
            if work.stopped:
                raise self._late()
            try:
                held = self._pool.connect()
            except PoolTimeout:
                raise ExecutionFailed(
                    f"the database {self.name!r} is busy with other searches; try again"
                ) from None
            except RefdeskError:
                raise
            except Exception as error:
                raise self._unreachable(error) from None
            connection = held.driver_connection
            try:
                rows = self._fetched(connection, statement, max_rows, now, work)
            except Exception as error:
                stale = self._connector.broken(connection)
                # Its state is not known, and a new connection is cheap.
                held.invalidate()
                # The server may have been started anew since; a query does no harm twice.
                if stale and not last and not work.stopped:
                    continue
                if work.stopped or self._connector.late(error):
                    raise self._late() from None
                raise self._failed(error) from None
            if rows.cut in _WHOLE:
                held.close()
            else:
                held.invalidate()  # rows that nobody wants are still on their way
            return rows
        raise AssertionError

    def _fetched(
        self,
        connection: Any,
        statement: Written,
        max_rows: int,
        now: datetime | None,
        work: Work,
    ) -> Rows:
        self._connector.begin(connection, lambda: work.stopped, now)
        with work.stoppable(lambda: self._connector.stop(connection)):
            cursor = self._connector.cursor(connection, statement)
            whole = False
            try:
                rows = _read(cursor, max_rows, self.bounds)
                whole = rows.cut in _WHOLE
            finally:
                self._connector.leave(cursor, whole=whole)
            return rows

    def _late(self) -> ExecutionFailed:
        return ExecutionFailed(
            f"the database {self.name!r} took longer than {self.bounds.seconds:g} s; ask for less, "
            f"or raise databases.{self.name}.limits.seconds"
        )

    def _unreachable(self, error: Exception) -> ExecutionFailed:
        _log.warning("the database %s could not be reached: %s", self.name, type(error).__name__)
        return ExecutionFailed(
            f"the database {self.name!r} could not be reached ({type(error).__name__}); see that "
            f"it runs, and that databases.{self.name}.url is right"
        )

    def _failed(self, error: Exception) -> ExecutionFailed:
        if (most := self._connector.too_large(error)) is not None:
            return ExecutionFailed(
                f"the database {self.name!r} holds a value or a row of more than {most} there, "
                "which is the most that is read; ask for the columns that are needed, by name"
            )
        code = getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None)
        kind = f"{type(error).__name__}, {code}" if code else type(error).__name__
        _log.warning("the database %s did not run a query: %s", self.name, kind)
        # DB-API's DataError, of whatever driver; sqlite3 raises OverflowError instead.
        refused = any(each.__name__ in _VALUE_REFUSED for each in type(error).__mro__)
        return ExecutionFailed(
            f"the database {self.name!r} did not run the query ({kind})", bad_value=refused
        )


class Work:
    """A statement under way in a thread, which others may stop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stop: Callable[[], None] | None = None
        self._ended = threading.Event()
        self.stopped = False
        """Whether nobody wants its rows any more."""

    def stoppable(self, stop: Callable[[], None]) -> _Stoppable:
        """Return a context in which `stop` ends the statement by calling this."""
        return _Stoppable(self, stop)

    def stop(self) -> None:
        """Stop it; returns at once, since a database may take its time over that."""
        self.stopped = True
        threading.Thread(target=self._stop_now, name="refdesk-db-stop", daemon=True).start()

    def _stop_now(self) -> None:
        # Again and again: what is told before the statement has begun is lost on a database.
        for _ in range(_STOPS):
            # Held until it has been told: or it would be another statement that it ends.
            with self._lock:
                if self._stop is None:
                    return
                try:
                    self._stop()
                except Exception as error:
                    _log.warning("a query could not be stopped: %s", type(error).__name__)
            if self._ended.wait(_STOP_AGAIN_S):
                return

    def _set(self, stop: Callable[[], None] | None) -> None:
        with self._lock:
            self._stop = stop
        if stop is None:
            self._ended.set()


class _Stoppable:
    def __init__(self, work: Work, stop: Callable[[], None]) -> None:
        self._work = work
        self._call = stop

    def __enter__(self) -> None:
        self._work._set(self._call)
        if self._work.stopped:
            self._work._set(None)
            raise ExecutionFailed("the search was given up before it began")

    def __exit__(self, *_: object) -> None:
        self._work._set(None)


def _read(cursor: Any, max_rows: int, bounds: Bounds) -> Rows:
    columns: tuple[str, ...] = ()
    rows: list[Mapping[str, Any]] = []
    kept = sent = 0
    cut: Cut = ""
    # One at a time: nobody knows how wide the next one is.
    while (row := cursor.fetchone()) is not None:
        if len(rows) == max_rows:
            return Rows(rows=tuple(rows), cut="rows")
        # Where rows are streamed, their columns are known with the first one.
        columns = columns or _unlike(str(column[0]) for column in cursor.description)
        cells = {}
        for name, value in zip(columns, row, strict=True):
            cells[name], length = plain(value, bounds.cell_chars)
            sent += length
            if length > bounds.cell_chars:
                cut, length = "cells", bounds.cell_chars
            kept += length
        if kept > bounds.bytes:
            return Rows(rows=tuple(rows), cut="bytes")
        rows.append(cells)
        if sent > bounds.bytes:
            # What was cut has come over the wire all the same; no more of it.
            return Rows(rows=tuple(rows), cut="bytes")
    return Rows(rows=tuple(rows), cut=cut)


def _unlike(names: Any) -> tuple[str, ...]:
    """Return the names of columns, each of them once."""
    seen: dict[str, int] = {}
    for name in names:
        unlike, number = name, 2
        while unlike in seen:
            unlike, number = f"{name}_{number}", number + 1
        seen[unlike] = 1
    return tuple(seen)


def plain(value: Any, max_chars: int = MAX_CELL_CHARS) -> tuple[Any, int]:
    """Return a driver's value as JSON has it, cut at a length, and how long it was."""
    if value is None or isinstance(value, bool):
        return value, 4
    if isinstance(value, int):
        # Many readers of JSON hold no larger one.
        return (value if -_LARGEST <= value < _LARGEST else str(value)), 8
    if isinstance(value, float):
        return (value if math.isfinite(value) else None), 8
    if isinstance(value, str):
        return _cut(value, max_chars), len(value)
    if isinstance(value, Decimal):
        return _number(value), 8
    if isinstance(value, (datetime, date, clock_time)):
        return value.isoformat(), 24
    if isinstance(value, timedelta):
        return str(value), 16
    if isinstance(value, UUID):
        return str(value), 36
    if isinstance(value, (bytes, bytearray, memoryview)):
        # It is no text, and what it is nobody can say here.
        return f"({len(value)} bytes)", 16
    if isinstance(value, (dict, list, tuple)):
        return _nested(value, max_chars)
    return _cut(str(value), max_chars), len(str(value))


def _nested(value: Any, max_chars: int) -> tuple[Any, int]:
    import msgspec

    text = msgspec.json.encode(value, enc_hook=str).decode()
    if len(text) > max_chars:
        return _cut(text, max_chars), len(text)
    return msgspec.json.decode(text), len(text)


def _cut(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def _number(value: Decimal) -> int | float | str | None:
    if not value.is_finite():
        return None
    # A number whose digits before the point a float does not hold is kept as it is written; those
    # behind it are as many as the server likes, and none of them is wanted as text.
    if value.adjusted() > _EXACT_DIGITS:
        return str(value)
    if value == value.to_integral_value() and abs(value) < _EXACT:
        return int(value)
    return float(value) if value.adjusted() < _EXACT_DIGITS else str(value)
