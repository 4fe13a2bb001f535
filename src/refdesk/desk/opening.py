"""What is behind a desk of the library, put together from a configuration."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refdesk.config import Config, load
from refdesk.db.lazy import DatabaseSearches
from refdesk.errors import StoreError
from refdesk.fetch import Fetcher
from refdesk.search import Recorder, Searcher, WebHandler
from refdesk.search.delegate import Delegates
from refdesk.search.handler import HandlerTable
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
    from refdesk.kb.opening import KnowledgeBase
    from refdesk.records import ReferenceBook
    from refdesk.store import Store

Source = Config | Mapping[str, Any] | str | os.PathLike[str] | None
"""A configuration: the file, a mapping as the file would have it, or one that is read already."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """An open desk: who searches, and, where records are kept, who opens references again."""

    searcher: Searcher
    book: ReferenceBook | None
    knowledge: KnowledgeBase | None = None
    """Documents, where there is a store or a collection is configured."""


def read_source(source: Source) -> tuple[Config, bool]:
    """
    Return the configuration, and whether it says where records are kept.

    A mapping's references (``${env:NAME}``) are resolved, and the environment's ``REFDESK_…`` win
    over it, as they do over a file.

    Raises:
        ConfigError: It does not hold; all faults are told at once.
    """
    if isinstance(source, Config):
        return source, "data_dir" in source.model_fields_set
    if source is None or isinstance(source, Mapping):
        given = dict(source or {})
        said = "data_dir" in given or "store" in given or "REFDESK_DATA_DIR" in os.environ
        return load(env=os.environ, saved=given).config, said
    return load(Path(source), env=os.environ).config, True


async def open_records(config: Config, stack: AsyncExitStack) -> Store:
    """Open the store of a configuration until the stack ends, and forget what is too old."""
    from refdesk.store.opening import open_store

    try:
        store = await asyncio.to_thread(open_store, config)
    except StoreError as exc:
        raise StoreError(f"{exc} (or open the desk with records=False)") from None
    stack.push_async_callback(asyncio.to_thread, store.close)
    await asyncio.to_thread(store.forget_old, config.privacy.retention_days)
    return store


async def open_desk(
    config: Config,
    stack: AsyncExitStack,
    *,
    store: Store | None,
    engines: Mapping[str, BaseEngine] | None = None,
) -> Opened:
    """
    Put a desk together.

    Args:
        config: What it is to be like.
        stack: With it ends what was started here.
        store: Where searches are kept and counted, and whose daily limits hold; it stays open.
        engines: Instead of those of the configuration.
    """
    if engines is None:
        engines = build_engines(config)
    uses = SearchUses.read(config.uses.model_dump())
    if store is not None:
        await asyncio.to_thread(store.ledger.load)
    web = _web_search(config, engines, stack, store)
    recorder: Recorder | None = None
    book: ReferenceBook | None = None
    keep = config.privacy.store_queries
    if store is not None:
        from refdesk.records import ReferenceBook, StoreRecorder

        recorder, book = StoreRecorder(store, keep_queries=lambda: keep), ReferenceBook(store)
    delegates = delegates_of(config, stack)
    bounds = config.gateway.search
    handlers = HandlerTable()
    router = SourceRouter(
        web,
        handlers,
        engines=lambda: web.engines,
        default=lambda: bounds.default_engine,
        within_s=lambda: bounds.budget_ms / 1000,
        pages=lambda: bounds.pages_per_query,
        delegates=delegates,
    )
    handlers.register(WebHandler(router))
    if (base := await _knowledge(config, stack, store, delegates)) is not None:
        from refdesk.kb.opening import KnowledgeSearch

        handlers.register(KnowledgeSearch(base))
    searcher = Searcher(
        library_section(config),
        handlers=handlers,
        uses=uses,
        delegates=delegates,
        recorder=recorder,
        keep_queries=keep,
    )
    if config.databases:
        databases = DatabaseSearches(config)
        stack.callback(databases.close)
        handlers.register(databases)
    return Opened(searcher=searcher, book=book, knowledge=base)


async def _knowledge(
    config: Config, stack: AsyncExitStack, store: Store | None, delegates: Delegates
) -> KnowledgeBase | None:
    """Return what knows of documents; None where there is neither a store nor a collection."""
    if store is None:
        if not config.collections:
            return None
        # Documents are kept in the store, also by a desk that keeps no records of searches.
        store = await open_records(config, stack)
    # Imported here: a desk without a store has no need of a database.
    from refdesk.kb.opening import KnowledgeBase
    from refdesk.search.entities import extractors

    base = KnowledgeBase(config, store, extractors=extractors(delegates))
    stack.push_async_callback(base.aclose)
    return base


def _web_search(
    config: Config,
    engines: Mapping[str, BaseEngine],
    stack: AsyncExitStack,
    store: Store | None,
) -> WebSearch:
    settings = search_settings(config)
    fetcher = Fetcher()
    stack.push_async_callback(fetcher.close)

    def count(attempt: Attempt, key_id: str | None) -> None:
        if store is not None:
            from refdesk.records import usage_of
            from refdesk.store import LedgerEntry

            usage = usage_of(attempt, engines.get(attempt.engine))
            store.writer.offer(LedgerEntry(engine=attempt.engine, usage=usage, key_id=key_id))

    def used_today(name: str) -> int:
        return store.ledger.today(engine=name).searches if store is not None else 0

    return WebSearch(
        engines,
        fetcher=fetcher,
        limiter=Limiter(
            settings.concurrency,
            queue_timeout_s=settings.queue_timeout_ms / 1000,
            memory_limit_mb=settings.memory_limit_mb,
        ),
        cache=Cache[Found](ttl_s=settings.cache_ttl_s, size_of=found_bytes),
        health=Health(used_today=used_today),
        settings=settings,
        on_call=count,
    )


def delegates_of(config: Config, stack: AsyncExitStack) -> Delegates:
    """Return who can be left a step of a search, until the stack ends."""
    if not config.mcp_servers:
        return Delegates()
    from refdesk.mcp_client import McpServers

    servers = McpServers(config.mcp_servers)
    stack.push_async_callback(servers.close)
    return Delegates(mcp=servers)
