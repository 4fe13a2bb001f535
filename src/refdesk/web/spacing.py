"""Keeping calls to one engine apart, across all searches of this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from refdesk.errors import EngineError


class Crowded(EngineError):
    """Too many wait for their turn at an engine: no fault of the engine, which was not asked."""

    def __init__(self, name: str, interval_s: float) -> None:
        super().__init__(
            f"engine {name!r} may be called once every {interval_s:g} s, and the calls that wait "
            "for it would take longer than this search has left",
            outcome="rate_limited",
        )


@dataclass(slots=True)
class _Lane:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    free_at: float = 0.0
    waiting: int = 0


class Spacing:
    """
    Turns at the engines that ask for a distance between calls.

    Args:
        clock: A monotonic clock, in seconds.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._lanes: dict[str, _Lane] = {}

    async def turn(self, name: str, interval_s: float, *, within_s: float) -> None:
        """
        Wait until this engine may be called, first come, first served.

        Whoever is cancelled while waiting uses up no turn.

        Raises:
            Crowded: At once, if the turn would not come within ``within_s``.
        """
        if interval_s <= 0:
            return
        lane = self._lanes.setdefault(name, _Lane())
        expected = max(0.0, lane.free_at - self._clock()) + lane.waiting * interval_s
        if expected > within_s:
            raise Crowded(name, interval_s)
        lane.waiting += 1
        try:
            async with lane.lock:
                while (wait := lane.free_at - self._clock()) > 0:
                    await self._sleep(wait)
                lane.free_at = self._clock() + interval_s
        finally:
            lane.waiting -= 1
