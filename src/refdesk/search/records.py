"""What is kept of a call to the searcher, and whoever keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from refdesk.types import ReferenceContext, SearchResult

Mode = Literal["single", "all", "any", "race"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRecord:
    """
    One call, ended: everything that was worked out on the way.

    Its results have no query where queries are not kept.  A request may have several calls; what
    they found has one numbering, so a number that comes again is the same source again.
    """

    request_id: str
    mode: Mode
    results: tuple[SearchResult, ...]
    """Those that ended; none for what was cancelled."""
    context: ReferenceContext
    """The references of this call, with their numbers."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """What of the configuration had a say."""
    owner: str | None = None
    """Whose search it was: the id of a client key."""
    started: datetime
    duration_ms: float = 0.0

    @property
    def source(self) -> str:
        """``auto`` for automatic search, else its type of search."""
        if any(result.source == "auto" for result in self.results):
            return "auto"
        return self.results[0].type if self.results else ""


class Recorder(Protocol):
    """Keeps what was searched.  If it fails, the search goes on, and the log says so."""

    async def record(self, record: CallRecord) -> None:
        """Keep one call."""
        ...
