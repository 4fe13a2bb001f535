"""
The ledger: searches, calls, cache hits and list-price cost, by day (UTC), client key and engine.

Today's sums are in memory, so that a daily limit is looked up without waiting.  They hold what
this process counted at once, and what others counted as of the last write or `load`.  What could
not be written stays, summed up, and is tried again: nothing is dropped, and it takes no more room.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, select

from refdesk.store.connection import Database
from refdesk.store.tables import ledger

_KEPT_DAYS: Final = 2
"""Days in memory: a clock that is put back over midnight finds the counts of the day before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Counts that can be added up.  ``calls`` are what the vendor bills; ``asked`` are searches as
    clients ask for them, counted before they begin."""

    searches: int = 0
    calls: int = 0
    cache_hits: int = 0
    cost_usd: float = 0.0
    asked: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            searches=self.searches + other.searches,
            calls=self.calls + other.calls,
            cache_hits=self.cache_hits + other.cache_hits,
            cost_usd=self.cost_usd + other.cost_usd,
            asked=self.asked + other.asked,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            searches=self.searches - other.searches,
            calls=self.calls - other.calls,
            cache_hits=self.cache_hits - other.cache_hits,
            cost_usd=self.cost_usd - other.cost_usd,
            asked=self.asked - other.asked,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerEntry:
    """Something to count, now."""

    engine: str
    usage: Usage
    key_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerRow:
    """The sum of a day, a client key (None: without one) and an engine."""

    day: date
    key_id: str | None
    engine: str
    usage: Usage


Place = tuple[date, str, str]
"""Day, key id (empty without one) and engine."""


def _now() -> datetime:
    return datetime.now(UTC)


class Ledger:
    """Count, and look up.  Safe to share between threads."""

    def __init__(self, database: Database, *, now: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._now = now
        self._lock = threading.Lock()
        self.turn = threading.Lock()
        """Held from `take` to `settle`, and by `load`: neither may see the other half done."""
        self._newest = date.min
        self._rows: dict[Place, Usage] = {}
        self._by_engine: dict[tuple[date, str], Usage] = {}
        self._by_key: dict[tuple[date, str], Usage] = {}
        self._pending: dict[Place, Usage] = {}

    def today(self, *, engine: str | None = None, key_id: str | None = None) -> Usage:
        """Return today's sum: of an engine, of a client key, of both together, or of all."""
        day = self._today()
        with self._lock:
            if engine is not None and key_id is not None:
                return self._rows.get((day, key_id, engine), Usage())
            if engine is not None:
                return self._by_engine.get((day, engine), Usage())
            if key_id is not None:
                return self._by_key.get((day, key_id), Usage())
            sums = [usage for (when, _), usage in self._by_engine.items() if when == day]
        return sum(sums, Usage())

    def add(self, entry: LedgerEntry) -> None:
        """Count at once in memory; the writer's next batch takes it to the database."""
        place = (self._today(), entry.key_id or "", entry.engine)
        with self._lock:
            self._pending[place] = self._pending.get(place, Usage()) + entry.usage
            self._change(place, entry.usage)

    def load(self) -> None:
        """Take today's sums from the database, others' included.  It waits for the database."""
        day = self._today()
        query = select(ledger).where(ledger.c.day == day)
        with self.turn:
            with self._database.read() as connection:
                rows = connection.execute(query).mappings().all()
            self.settle({_place(row): _usage(row) for row in rows})

    def summary(self, days: int) -> list[LedgerRow]:
        """Return the rows of the last days, today included, newest first."""
        first = self._today() - timedelta(days=days - 1)
        query = select(ledger).where(ledger.c.day >= first)
        order = (ledger.c.day.desc(), ledger.c.engine, ledger.c.key_id)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(*order)).mappings().all()
        return [
            LedgerRow(
                day=row["day"],
                key_id=row["key_id"] or None,
                engine=row["engine"],
                usage=_usage(row),
            )
            for row in rows
        ]

    # What the writer uses

    @property
    def has_pending(self) -> bool:
        """Whether something waits to be written."""
        return bool(self._pending)

    def take(self) -> dict[Place, Usage]:
        """Hand over what waits to be written."""
        with self._lock:
            taken, self._pending = self._pending, {}
        return taken

    def put_back(self, taken: Mapping[Place, Usage]) -> None:
        """Take back what could not be written."""
        with self._lock:
            for place, usage in taken.items():
                self._pending[place] = self._pending.get(place, Usage()) + usage

    def write(self, connection: Connection, taken: Mapping[Place, Usage]) -> dict[Place, Usage]:
        """Add to the rows; return their new sums, which `settle` takes after the commit."""
        rows = [
            {"day": day, "key_id": key_id, "engine": engine, **_counts(usage)}
            for (day, key_id, engine), usage in taken.items()
        ]
        insert = self._database.insert(ledger)
        upsert = insert.on_conflict_do_update(
            index_elements=["day", "key_id", "engine"],
            set_={name: ledger.c[name] + insert.excluded[name] for name in _counts(Usage())},
        ).returning(ledger)
        return {_place(row): _usage(row) for row in connection.execute(upsert, rows).mappings()}

    def settle(self, sums: Mapping[Place, Usage]) -> None:
        """Take the sums that were written."""
        with self._lock:
            for place, usage in sums.items():
                counted = usage + self._pending.get(place, Usage())
                self._change(place, counted - self._rows.get(place, Usage()))

    def _change(self, place: Place, by: Usage) -> None:
        day, key_id, engine = place
        if day > self._newest:
            self._newest = day
            self._forget(day - timedelta(days=_KEPT_DAYS))
        self._rows[place] = self._rows.get(place, Usage()) + by
        self._by_engine[day, engine] = self._by_engine.get((day, engine), Usage()) + by
        self._by_key[day, key_id] = self._by_key.get((day, key_id), Usage()) + by

    def _forget(self, last: date) -> None:
        self._rows = {place: usage for place, usage in self._rows.items() if place[0] > last}
        self._by_engine = {it: usage for it, usage in self._by_engine.items() if it[0] > last}
        self._by_key = {it: usage for it, usage in self._by_key.items() if it[0] > last}

    def _today(self) -> date:
        return self._now().astimezone(UTC).date()


def _place(row: Mapping[Any, Any]) -> Place:
    return row["day"], row["key_id"], row["engine"]


def _counts(usage: Usage) -> dict[str, int | float]:
    return {item.name: getattr(usage, item.name) for item in fields(Usage)}


def _usage(row: Mapping[Any, Any]) -> Usage:
    return Usage(
        searches=row["searches"],
        calls=row["calls"],
        cache_hits=row["cache_hits"],
        cost_usd=row["cost_usd"],
        asked=row["asked"],
    )
