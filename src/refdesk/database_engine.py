"""
Databases as engines of the gateway: a model whose engine is ``db:<name>`` is given rows.

Rows are read under the claims of the client key that the request came with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from refdesk.config import Config
from refdesk.errors import SearchError
from refdesk.gateway.driver import CHARGED_KEY, WebSearcher
from refdesk.types import (
    Attempt,
    ResultItem,
    SearchRequest,
    SearchResult,
    SearchType,
    WebAnswer,
    WebQuery,
)
from refdesk.uses import SearchUses

if TYPE_CHECKING:
    from refdesk.db.handler import DatabaseHandler

PREFIX: Final = "db:"
_ROWS_PER_PAGE: Final = 10


class DatabaseSearches:
    """
    The databases of a configuration, put together when one is there.

    Most servers have none, and what reads and writes SQL takes its time to be imported.

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
        """Who asks them."""
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


class _Untraced:
    def log(self, level: Any, message: str, **details: Any) -> None:
        """Note nothing: the gateway's own log says what was asked, and what came of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asking:
    identity: Mapping[str, Any]
    delegates: Any
    trace: _Untraced = field(default_factory=_Untraced)


class DatabaseEngines:
    """
    A web search that asks a database where the engine is one.

    Args:
        web: Searches for everybody else.
        databases: Searches databases.
        claims: Returns the identity of requests with a client key.
        origin: Returns where this server is reached, such as ``http://127.0.0.1:8484``.
        default_engine: Returns the engine asked where a request names none.
        budget_s: Returns how long a search may take, in seconds.
        delegates: Calls assistants and tools.
    """

    def __init__(
        self,
        web: WebSearcher,
        databases: DatabaseSearches,
        *,
        claims: Callable[[str | None], Mapping[str, Any]],
        origin: Callable[[], str],
        default_engine: Callable[[], str | None] = lambda: None,
        budget_s: Callable[[], float] = lambda: 15.0,
        delegates: Any = None,
    ) -> None:
        self._web = web
        self._databases = databases
        self._claims = claims
        self._origin = origin
        self._default = default_engine
        self._budget_s = budget_s
        self._delegates = delegates

    async def search(
        self, query: WebQuery, *, engine: str | None = None, pages: int | None = None
    ) -> WebAnswer:
        """Search, or raise SearchError; see `refdesk.web.handler.WebSearch`."""
        chosen = engine or self._default()
        if chosen is None or not chosen.startswith(PREFIX):
            return await self._web.search(query, engine=engine, pages=pages)
        if not query.text.strip():
            raise SearchError("the query is empty: there is nothing to ask for", reason="no_query")
        try:
            async with asyncio.timeout(self._budget_s()):
                return await self._rows(query, chosen, pages or 1)
        except TimeoutError:
            raise SearchError(
                f"the search's budget ran out before {chosen!r} answered: raise "
                "gateway.search.budget_ms, or lower the database's limits.seconds",
                reason="budget_exceeded",
            ) from None

    async def _rows(self, query: WebQuery, engine: str, pages: int) -> WebAnswer:
        name = engine.removeprefix(PREFIX)
        asking = _Asking(identity=self._claims(CHARGED_KEY.get()), delegates=self._delegates)
        request = SearchRequest(
            query=query.text,
            type="db",
            source="auto",
            database=name,
            limit=_ROWS_PER_PAGE * max(1, pages),
        )
        result = await self._databases.search(request, context=asking)
        outcome = "ok" if result.items else "empty"
        if result.error is not None:
            outcome = "parse_error"
        attempts = (Attempt(engine=engine, outcome=outcome, calls=1, detail=result.error or ""),)
        if result.error is not None or not result.items:
            failure = SearchError(
                result.error or f"{engine!r} found no rows",
                reason="no_results" if result.error is None else "engine_bad_response",
            )
            failure.attempts, failure.notices = attempts, result.notices
            raise failure
        return WebAnswer(
            items=tuple(self._cited(item, name) for item in result.items),
            engine=engine,
            engine_type="db",
            attempts=attempts,
            notices=result.notices,
        )

    def _cited(self, item: ResultItem, name: str) -> ResultItem:
        """Return a row with a URL to cite it by, which opens it for whoever may see it."""
        url = f"{self._origin()}/api/v1/databases/{quote(name, safe='')}"
        if item.record_id is not None and item.model:
            record = quote(str(item.record_id), safe="")
            url += f"/records/{quote(item.model, safe='')}/{record}"
        else:
            url += f"?row={item.metadata.get('row', 1)}"
        return replace(item, url=url)
