"""
The parts that search, built from a configuration: the server, the library and commands share them.

A reload checks the whole new configuration before it changes anything; connections, caches and
records stay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from refdesk.config import Config
from refdesk.db.lazy import DatabaseSearches
from refdesk.fetch import Fetcher
from refdesk.search import Searcher, WebHandler
from refdesk.search.delegate import Delegates
from refdesk.search.handler import HandlerTable
from refdesk.search.query import QueryResolver
from refdesk.search.sources import SourceRouter
from refdesk.types import Attempt
from refdesk.uses import SearchUses
from refdesk.web.building import build_engines, library_section, search_settings
from refdesk.web.cache import Cache
from refdesk.web.engines import BaseEngine
from refdesk.web.handler import Found, WebSearch, found_bytes
from refdesk.web.health import Health
from refdesk.web.limiter import Limiter

if TYPE_CHECKING:
    from refdesk.kb.collection import Knowledge
    from refdesk.kb.opening import KnowledgeBase
    from refdesk.mcp_client import McpServers
    from refdesk.records import ReferenceBook
    from refdesk.store import Store

Engines = Callable[[Config], Mapping[str, BaseEngine]]
"""Makes the web engines of a configuration."""


@dataclass(kw_only=True, slots=True)
class Parts:
    """What searches under one configuration."""

    config: Config
    web: WebSearch
    router: SourceRouter
    """Web search that answers from collections and databases where a name says so."""
    searcher: Searcher
    knowledge: KnowledgeBase | None
    """Documents; None without a store to keep them in."""
    databases: DatabaseSearches
    book: ReferenceBook | None
    """Opens references again, where searches are recorded."""
    _delegates: Delegates
    _fetcher: Fetcher
    _mcp_servers: McpServers | None
    _engines: Engines

    def resolver(self) -> QueryResolver:
        """Return who completes follow-ups that no rule can, as the configuration says now."""
        return QueryResolver(SearchUses.read(self.config.uses.model_dump()).search, self._delegates)

    def reload(self, config: Config) -> None:
        """
        Take in a new configuration; searches under way end under the old one.

        Raises:
            ConfigError: It is wrong; all stays as it was.
        """
        engines = self._engines(config)
        uses = SearchUses.read(config.uses.model_dump())
        self.databases.configure(config)
        if config.databases:
            self.searcher.handlers.register(self.databases)
        self.web.reload(engines, search_settings(config))
        self.searcher.configure(
            library_section(config), uses, keep_queries=config.privacy.store_queries
        )
        if self.knowledge is not None:
            self.knowledge.configure(config)
        if self._mcp_servers is not None:
            self._mcp_servers.configure(config.mcp_servers)
        self.config = config

    async def aclose(self) -> None:
        """Let go of all connections and files."""
        if self._mcp_servers is not None:
            await self._mcp_servers.close()
        if self.knowledge is not None:
            await self.knowledge.aclose()
        self.databases.close()
        await self._fetcher.close()


def build_parts(
    config: Config,
    *,
    store: Store | None,
    documents: Store | None = None,
    engines: Engines = build_engines,
    base_url: Callable[[], str] = lambda: "",
    reloads: bool = False,
) -> Parts:
    """
    Build everything that searches; its connections are made when they are needed.

    Args:
        config: What it is to be like.
        store: Where searches are recorded and counted; None: nowhere.
        documents: Where documents are; by default ``store``.
        engines: Makes the web engines.
        base_url: Returns where this server is reached; empty without one.
        reloads: Whether the configuration may change, so that MCP servers may be added.

    Raises:
        ConfigError: The configuration is wrong.
    """
    fetcher = Fetcher()
    web = build_web(config, engines(config), store=store, fetcher=fetcher)
    servers: McpServers | None = None
    if config.mcp_servers or reloads:
        # Imported where there may be a server: the client brings much along.
        from refdesk.mcp_client import McpServers

        servers = McpServers(config.mcp_servers)
    delegates = Delegates(mcp=servers)
    handlers = HandlerTable()
    router = SourceRouter(
        web,
        handlers,
        engines=lambda: web.engines,
        default=lambda: web.settings.default_engine,
        base_url=base_url,
        within_s=lambda: web.settings.budget_ms / 1000,
        pages=lambda: web.settings.pages_per_query,
        delegates=delegates,
    )
    handlers.register(WebHandler(router))
    knowledge = _knowledge(config, documents or store, handlers, delegates)
    databases = DatabaseSearches(config)
    if config.databases:
        handlers.register(databases)
    book: ReferenceBook | None = None
    recorder = None
    if store is not None:
        from refdesk.records import ReferenceBook, StoreRecorder

        recorder = StoreRecorder(store, keep_queries=lambda: parts.config.privacy.store_queries)
        book = ReferenceBook(store)
    searcher = Searcher(
        library_section(config),
        handlers=handlers,
        uses=SearchUses.read(config.uses.model_dump()),
        delegates=delegates,
        recorder=recorder,
        keep_queries=config.privacy.store_queries,
    )
    parts = Parts(
        config=config,
        web=web,
        router=router,
        searcher=searcher,
        knowledge=knowledge,
        databases=databases,
        book=book,
        _delegates=delegates,
        _fetcher=fetcher,
        _mcp_servers=servers,
        _engines=engines,
    )
    return parts


def build_web(
    config: Config,
    engines: Mapping[str, BaseEngine],
    *,
    store: Store | None,
    fetcher: Fetcher,
    at_once: int = 1,
) -> WebSearch:
    """
    Build web search with the configured bounds.

    Args:
        config: The bounds.
        engines: The engines, by name.
        store: Where calls are counted, and whose daily limits hold; None: nowhere.
        fetcher: Makes the requests; it stays the caller's to close.
        at_once: How many searches may run at once, at the least.
    """
    settings = search_settings(config)

    def count(attempt: Attempt, key_id: str | None) -> None:
        if store is not None:
            from refdesk.records import usage_of
            from refdesk.store import LedgerEntry

            usage = usage_of(attempt, web.engines.get(attempt.engine))
            store.writer.offer(LedgerEntry(engine=attempt.engine, usage=usage, key_id=key_id))

    def used_today(name: str) -> int:
        return store.ledger.today(engine=name).searches if store is not None else 0

    web = WebSearch(
        engines,
        fetcher=fetcher,
        limiter=Limiter(
            max(settings.concurrency, at_once),
            queue_timeout_s=settings.queue_timeout_ms / 1000,
            memory_limit_mb=settings.memory_limit_mb,
        ),
        cache=Cache[Found](ttl_s=settings.cache_ttl_s, size_of=found_bytes),
        health=Health(used_today=used_today),
        settings=settings,
        on_call=count,
    )
    return web


async def open_store(config: Config, stack: AsyncExitStack) -> Store:
    """Open the store of a configuration until the stack ends, and forget what is too old."""
    from refdesk.errors import StoreError
    from refdesk.store import opening

    try:
        store = await asyncio.to_thread(opening.open_store, config)
    except StoreError as exc:
        raise StoreError(f"{exc} (or open the desk with records=False)") from None
    stack.push_async_callback(asyncio.to_thread, store.close)
    await asyncio.to_thread(store.forget_old, config.privacy.retention_days)
    return store


async def open_parts(
    config: Config,
    stack: AsyncExitStack,
    *,
    store: Store | None,
    engines: Engines = build_engines,
) -> Parts:
    """
    Build the parts for a desk or a command, until the stack ends.

    Args:
        config: What they are to be like.
        stack: Closes what was opened here.
        store: Where searches are recorded and counted; it stays the caller's to close.
        engines: Makes the web engines.
    """
    documents = store
    if store is not None:
        await asyncio.to_thread(store.ledger.load)
    elif config.collections:
        # Documents are kept in the store, also by a desk that records no searches.
        documents = await open_store(config, stack)
    parts = build_parts(config, store=store, documents=documents, engines=engines)
    stack.push_async_callback(parts.aclose)
    return parts


async def open_knowledge(config: Config, stack: AsyncExitStack) -> Knowledge:
    """
    Open the documents of a configuration until the stack ends; its store is made if need be.

    Raises:
        StoreError: The store cannot be opened.
        ConfigError: A collection is configured in a way that cannot be.
    """
    parts = await open_parts(config, stack, store=await open_store(config, stack))
    assert parts.knowledge is not None, "there is a store"
    return await parts.knowledge.knowledge()


def _knowledge(
    config: Config, store: Store | None, handlers: HandlerTable, delegates: Delegates
) -> KnowledgeBase | None:
    if store is None:
        return None
    # Imported here: a desk without a store has no need of a database.
    from refdesk.kb.opening import KnowledgeBase, KnowledgeSearch
    from refdesk.search.entities import extractors

    base = KnowledgeBase(config, store, extractors=extractors(delegates))
    handlers.register(KnowledgeSearch(base))
    return base
