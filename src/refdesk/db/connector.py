"""
What connects to a database: connections that can only read, whatever is asked over them.

One class per kind: those of one file are in `refdesk.db.embedded`, servers in `refdesk.db.servers`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import URL, Engine
from sqlalchemy.pool import NullPool, Pool, QueuePool

from refdesk.db.dsl.values import Dialect
from refdesk.db.gate import Written

POOLED: Final = 4
"""Connections kept to one server: more searches at once wait for one."""


class Connector(ABC):
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

    @abstractmethod
    def connect(self) -> Any:
        """Return a new DBAPI connection that can only read."""

    @abstractmethod
    def cursor(self, connection: Any, statement: Written) -> Any:
        """Run a statement and return the cursor, which gives rows as they are fetched."""

    def leave(self, cursor: Any, *, whole: bool) -> None:
        """Let go of a cursor; not read to its end, it leaves its connection of no more use."""
        cursor.close()

    @abstractmethod
    def stop(self, connection: Any) -> None:
        """End the statement that runs on a connection, from another thread."""

    def begin(  # noqa: B027 - some need nothing
        self, connection: Any, stopped: Callable[[], bool], now: datetime | None = None
    ) -> None:
        """
        Get a connection ready for a statement.

        Args:
            connection: One that `connect` made.
            stopped: The statement ends when it says so, where the database looks at it.
            now: In its time zone moments that have a zone are read and shown; None leaves that to
                the database.
        """

    def broken(self, connection: Any) -> bool:
        """Whether a connection is of no more use."""
        return False

    def late(self, error: BaseException) -> bool:
        """Whether an error says that the time ran out, or that the statement was stopped."""
        return False

    def too_large(self, error: BaseException) -> str | None:
        """Return the most that one value may hold, where an error says that one holds more."""
        return None

    def engine(self) -> Engine:
        """
        Return an engine to read the schema with; dispose of it afterwards.

        DuckDB has none: its schema is read over `connect`, see `refdesk.db.reflection`.
        """
        raise NotImplementedError

    def pool(self) -> Pool:
        """Return a pool of connections."""
        if self.quick:
            return NullPool(self.connect, reset_on_return=None)
        return QueuePool(
            self.connect, pool_size=POOLED, max_overflow=0, timeout=self.seconds, use_lifo=True
        )


def zone_of(now: datetime) -> tuple[str | None, timedelta]:
    """Return the name of a moment's time zone, None if it is a mere offset, and its offset."""
    return getattr(now.tzinfo, "key", None), now.utcoffset() or timedelta()


def offset_text(offset: timedelta) -> str:
    """Return an offset as SQL has it: ``+02:00``."""
    minutes = round(offset.total_seconds() / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
