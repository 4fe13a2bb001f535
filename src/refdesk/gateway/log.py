"""
What is known of one request when it is over, and where it goes: metrics, the log, the store.

On the hot path an entry is only put into a queue; everything else is done later, in batches.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal

import structlog

from refdesk.gateway.exchange import Outcome

End = Literal[
    "",
    "client_disconnected",
    "upstream_cut",
    "upstream_error",
    "upstream_unreachable",
    "upstream_timeout",
]

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk")
_DRAIN_EVERY_S: Final = 0.25
_WAITING: Final = 20_000
"""Entries held while nobody drains; beyond it the oldest are dropped and counted."""


@dataclass(slots=True)
class Entry:
    """One request, filled while it runs.  Durations are in seconds."""

    request_id: str
    started: float
    """Seconds since the epoch."""
    wire: str
    client_request_id: str | None = None
    key_id: str | None = None
    model: str = ""
    upstream: str = ""
    upstream_model: str = ""
    stream: bool = False
    status: int = 0
    route: str = ""
    route_why: str = ""
    route_layer: str = ""
    outcome: Outcome = field(default_factory=Outcome)
    end: End = ""
    error: str = ""
    told: str = ""
    """The type of an error that the upstream told inside of an answer with a good status."""
    total_s: float = 0.0
    search_s: float = 0.0
    queue_s: float = 0.0
    upstream_s: float = 0.0
    """Until the upstream's head arrived."""
    unknown_citations: int = 0
    incognito: bool = False
    """Whether nothing of it is to be kept; counted it is all the same."""

    @property
    def time(self) -> datetime:
        """When it came in, in UTC."""
        return datetime.fromtimestamp(self.started, UTC)


class RequestLog:
    """A queue of entries between the hot path and whoever keeps them."""

    def __init__(self, *sinks: Callable[[Sequence[Entry]], None]) -> None:
        self._sinks = sinks
        self._waiting: deque[Entry] = deque(maxlen=_WAITING)
        self._task: asyncio.Task[None] | None = None
        self.dropped = 0

    def add(self, entry: Entry) -> None:
        """Keep an entry.  Never blocks and never fails."""
        if len(self._waiting) == _WAITING:
            self.dropped += 1
        self._waiting.append(entry)

    def start(self) -> None:
        """Begin to drain, on the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Drain once more and stop."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self.drain()

    def drain(self) -> None:
        """Hand all waiting entries to the sinks."""
        if not self._waiting:
            return
        entries = list(self._waiting)
        self._waiting.clear()
        for sink in self._sinks:
            try:
                sink(entries)
            except Exception:
                # The others still get theirs, and the next ones come as well.
                _log.exception("finished requests were not taken down", number=len(entries))

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_DRAIN_EVERY_S)
            self.drain()
