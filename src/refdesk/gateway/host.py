"""What the faces need of the application; read anew for every request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from refdesk.config.schema import LimitsSection
from refdesk.gateway.log import RequestLog
from refdesk.search import Searcher
from refdesk.store.quota import Reservation

if TYPE_CHECKING:
    from refdesk.db.handler import DatabaseHandler
    from refdesk.kb.collection import Knowledge


class Host(Protocol):
    """The application, as the search API, ``/api/v1`` and MCP see it."""

    @property
    def searcher(self) -> Searcher:
        """Searches, numbers and records."""
        ...

    @property
    def keys_required(self) -> bool:
        """Whether clients need a key; where not, searches without one belong to all."""
        ...

    @property
    def closing(self) -> bool:
        """Whether nothing new is begun."""
        ...

    @property
    def limits(self) -> LimitsSection:
        """Bounds on what clients send."""
        ...

    @property
    def log(self) -> RequestLog:
        """Told of every search."""
        ...

    @property
    def databases(self) -> DatabaseHandler:
        """Asks databases; connected when it is first needed."""
        ...

    def engines(self) -> Mapping[str, bool]:
        """Return the names of the web engines, and whether each is enabled."""
        ...

    async def knowledge(self) -> Knowledge:
        """Return the knowledge service, opened when it is first needed."""
        ...

    def reserve(self, key_id: str | None, searches: int = 1) -> Reservation:
        """Count searches of a key before they begin; WireError (429) beyond its limit."""
        ...
