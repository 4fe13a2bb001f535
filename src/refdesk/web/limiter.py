"""
How many searches run at once, how long others wait for a place, and when memory is too short.

First come, first served.  Whoever is cancelled while waiting, or in the instant in which a place
is given, leaves the count right.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from refdesk.errors import SearchShed


def resident_bytes() -> int:
    """Return this process's resident memory; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, kw_only=True, slots=True)
class LimiterCounts:
    """How full the limiter is, and what it has done since the start."""

    size: int
    running: int
    waiting: int
    admitted: int
    shed_queue: int
    shed_memory: int


class Limiter:
    """
    A bound on concurrent searches, for use within one event loop.

    Args:
        size: How many may run at once; at least 1.
        queue_timeout_s: How long one waits for a place before it is shed.
        memory_limit_mb: Resident memory (MiB) above which nothing new is admitted; None: no limit.
        resident: Tells the resident memory in bytes.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        size: int,
        *,
        queue_timeout_s: float = 2.0,
        memory_limit_mb: int | None = None,
        resident: Callable[[], int] = resident_bytes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resident = resident
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._running = self._admitted = self._shed_queue = self._shed_memory = 0
        self.configure(size, queue_timeout_s=queue_timeout_s, memory_limit_mb=memory_limit_mb)

    def configure(self, size: int, *, queue_timeout_s: float, memory_limit_mb: int | None) -> None:
        """
        Set the bounds anew; they hold at once.

        A larger size lets in who waits.  With a smaller one, those who run go on, and nobody is
        let in until their number has come down.
        """
        if size < 1:
            raise ValueError(f"a limiter of size {size} would admit nobody: give 1 or more")
        self._size = size
        self._queue_timeout_s = queue_timeout_s
        self._memory_limit_mb = memory_limit_mb
        self._let_in()

    def resize(self, size: int) -> None:
        """Change only the size."""
        self.configure(
            size,
            queue_timeout_s=self._queue_timeout_s,
            memory_limit_mb=self._memory_limit_mb,
        )

    @property
    def counts(self) -> LimiterCounts:
        """How things stand now."""
        return LimiterCounts(
            size=self._size,
            running=self._running,
            waiting=len(self._waiting),
            admitted=self._admitted,
            shed_queue=self._shed_queue,
            shed_memory=self._shed_memory,
        )

    async def acquire(self, *, within_s: float | None = None) -> float:
        """
        Take a place, and return how many seconds that took.

        Args:
            within_s: Wait no longer than this, where it is less than the queue time-out.

        Raises:
            SearchShed: ``memory_pressure``, or ``queue_timeout``; no place is held then.
        """
        self._refuse_when_memory_is_short()
        if self._running < self._size and not self._waiting:
            self._running += 1
            self._admitted += 1
            return 0.0
        started = self._clock()
        limit = self._queue_timeout_s if within_s is None else min(within_s, self._queue_timeout_s)
        loop = asyncio.get_running_loop()
        place: asyncio.Future[None] = loop.create_future()
        self._waiting.append(place)
        # A timer instead of asyncio.timeout: it cannot cancel somebody who has just been let in.
        timer = loop.call_later(max(0.0, limit), self._give_up, place, limit)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self.release()
            elif place in self._waiting:
                self._waiting.remove(place)
            raise
        finally:
            timer.cancel()
        return self._clock() - started

    def release(self) -> None:
        """Give a place back."""
        self._running -= 1
        self._let_in()

    @asynccontextmanager
    async def place(self, *, within_s: float | None = None) -> AsyncIterator[float]:
        """Hold a place for the length of a block; its value is how long it was waited for."""
        waited = await self.acquire(within_s=within_s)
        try:
            yield waited
        finally:
            self.release()

    def _let_in(self) -> None:
        while self._waiting and self._running < self._size:
            place = self._waiting.popleft()
            if not place.done():
                self._running += 1
                self._admitted += 1
                place.set_result(None)

    def _give_up(self, place: asyncio.Future[None], limit: float) -> None:
        if place.done():
            return
        self._waiting.remove(place)
        self._shed_queue += 1
        place.set_exception(
            SearchShed(
                f"no place for a search came free within {limit:g} s, with {self._running} "
                "running: raise gateway.search.concurrency or queue_timeout_ms",
                reason="queue_timeout",
            )
        )

    def _refuse_when_memory_is_short(self) -> None:
        if self._memory_limit_mb is None:
            return
        resident_mb = self._resident() / 2**20
        if resident_mb > self._memory_limit_mb:
            self._shed_memory += 1
            raise SearchShed(
                f"this process holds {resident_mb:.0f} MiB, over gateway.search.memory_limit_mb "
                f"({self._memory_limit_mb}): no new search until it holds less",
                reason="memory_pressure",
            )
