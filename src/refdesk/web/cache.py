"""
What was found lately, and who is already looking.

Two bounds (entries and bytes), one life time, and single flight: whoever asks for what is being
looked for waits for the same answer.  Failures are never kept.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

V = TypeVar("V")

BRIEF_SHARE: Final = 0.1
"""How long finding little or nothing is remembered, as a share of the life time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheCounts:
    """How full the cache is, and what it has done since the start."""

    entries: int
    size_bytes: int
    flights: int
    hits: int
    misses: int
    joined: int


@dataclass(slots=True)
class _Entry(Generic[V]):
    value: V
    size: int
    until: float


@dataclass(slots=True, eq=False)
class _Flight(Generic[V]):
    task: asyncio.Task[V]
    waiters: int = 0


class Cache(Generic[V]):
    """
    A cache with single flight, for use within one event loop.

    Args:
        ttl_s: How long a value lives; 0 keeps nothing, single flight stays.  May be set anew.
        size_of: About how many bytes a value takes.
        max_entries: The most values kept; the longest unused goes first.
        max_bytes: The most bytes kept; a value larger than this is not kept at all.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        *,
        ttl_s: float,
        size_of: Callable[[V], int],
        max_entries: int = 2048,
        max_bytes: int = 32 * 2**20,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ttl_s = ttl_s
        self._size_of = size_of
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[Hashable, _Entry[V]] = OrderedDict()
        self._flights: dict[Hashable, _Flight[V]] = {}
        self._bytes = self._hits = self._misses = self._joined = 0

    @property
    def counts(self) -> CacheCounts:
        """How things stand now."""
        return CacheCounts(
            entries=len(self._entries),
            size_bytes=self._bytes,
            flights=len(self._flights),
            hits=self._hits,
            misses=self._misses,
            joined=self._joined,
        )

    def look(self, key: Hashable) -> V | None:
        """Return what is kept under this key, or None."""
        entry = self._entries.get(key)
        if entry is None or self.ttl_s <= 0:
            self._misses += 1
            return None
        if entry.until <= self._clock():
            self._drop(key)
            self._misses += 1
            return None
        self._entries.move_to_end(key)
        self._hits += 1
        return entry.value

    def keep(self, key: Hashable, value: V, *, brief: bool = False) -> None:
        """Keep a value; one that may soon be bettered, since nothing was found, only briefly."""
        self._drop(key)
        size = self._size_of(value)
        if self.ttl_s <= 0 or size > self._max_bytes:
            return
        life = self.ttl_s * (BRIEF_SHARE if brief else 1.0)
        self._entries[key] = _Entry(value, size, self._clock() + life)
        self._bytes += size
        while len(self._entries) > self._max_entries or self._bytes > self._max_bytes:
            self._drop(next(iter(self._entries)))

    def clear(self) -> None:
        """Forget all that is kept; flights go on."""
        self._entries.clear()
        self._bytes = 0

    async def share(
        self, key: Hashable, make: Callable[[], Coroutine[Any, Any, V]]
    ) -> tuple[V, bool]:
        """
        Return what ``make`` gives, and whether somebody else had already set out for it.

        All who ask for one key at the same time get the same value or the same exception.  One who
        is cancelled leaves the others waiting; when the last one goes, the work is cancelled, and
        has ended when the cancellation comes out of here.
        """
        flight = self._flights.get(key)
        joined = flight is not None
        if flight is None:
            flight = _Flight(asyncio.create_task(make()))
            self._flights[key] = flight
            flight.task.add_done_callback(lambda task: self._landed(key, task))
        else:
            self._joined += 1
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task), joined
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.task.done():
                # Out of the table first: who comes now shall not wait for what is being cancelled.
                self._forget(key, flight.task)
                flight.task.cancel()
                await _ended(flight.task)

    def _landed(self, key: Hashable, task: asyncio.Task[V]) -> None:
        self._forget(key, task)
        if not task.cancelled():
            task.exception()  # seen, also when nobody waits any longer

    def _forget(self, key: Hashable, task: asyncio.Task[V]) -> None:
        flight = self._flights.get(key)
        if flight is not None and flight.task is task:
            del self._flights[key]

    def _drop(self, key: Hashable) -> None:
        if (entry := self._entries.pop(key, None)) is not None:
            self._bytes -= entry.size


def _ended(task: asyncio.Task[Any]) -> Awaitable[Any]:
    return asyncio.wait([task])
