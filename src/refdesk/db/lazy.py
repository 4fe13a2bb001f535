"""
The databases of a configuration, connected when one is first asked.

Most servers have none, and what reads and writes SQL takes its time to be imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refdesk.config import Config
from refdesk.types import SearchRequest, SearchResult, SearchType
from refdesk.uses import SearchUses

if TYPE_CHECKING:
    from refdesk.db.handler import DatabaseHandler


class DatabaseSearches:
    """
    Searches databases; the handler for a searcher.

    Raises:
        ConfigError: A database's URL is of no database that can be asked.
    """

    type: SearchType = "db"

    def __init__(self, config: Config) -> None:
        self._config = config
        self._handler: DatabaseHandler | None = None
        if config.databases:
            self._handler = self._made()

    @property
    def handler(self) -> DatabaseHandler:
        """The handler that asks them."""
        if self._handler is None:
            self._handler = self._made()
        return self._handler

    async def search(self, request: SearchRequest, *, context: Any) -> SearchResult:
        """Do one search of the type ``db``."""
        return await self.handler.search(request, context=context)

    def configure(self, config: Config) -> None:
        """
        Take in a new configuration.

        Raises:
            ConfigError: It is wrong; all stays as it was.
        """
        if self._handler is not None or config.databases:
            self.handler.databases.configure(config.databases)
            self.handler.configure(config.search, _uses(config).querydsl)
        self._config = config

    def close(self) -> None:
        """Let go of all connections."""
        if self._handler is not None:
            self._handler.databases.close()

    def _made(self) -> DatabaseHandler:
        from refdesk.db.databases import Databases
        from refdesk.db.handler import DatabaseHandler

        return DatabaseHandler(
            Databases(self._config.databases),
            config=self._config.search,
            querydsl=_uses(self._config).querydsl,
        )


def _uses(config: Config) -> SearchUses:
    return SearchUses.read(config.uses.model_dump())
