"""Web search as commands do it: the gateway's own engines and bounds, for a moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from refdesk.errors import ConfigError, UnknownName
from refdesk.web.engines import ENGINES, BaseEngine

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.store import Store
    from refdesk.web.handler import WebSearch


def well_engines(config: Config) -> tuple[dict[str, BaseEngine], dict[str, str]]:
    """Return the engines whose options are well, and of the others what is wrong with them."""
    engines: dict[str, BaseEngine] = {}
    faults: dict[str, str] = {}
    for name, entry in config.engine_entries.items():
        try:
            engines[name] = ENGINES.get(entry.type).configure(name, entry.settings)
        except ConfigError as exc:
            faults[name] = str(exc).removeprefix(f"engines.{name}: ")
    return engines, faults


def one_engine(config: Config, name: str) -> BaseEngine:
    """
    Return the engine of that name.

    Raises:
        ConfigError: There is none, or its options are wrong.
    """
    entry = config.engine_entries.get(name)
    if entry is None:
        raise UnknownName("engine", name, config.engine_entries)
    return ENGINES.get(entry.type).configure(name, entry.settings)


@asynccontextmanager
async def web_search(
    config: Config, engines: Mapping[str, BaseEngine], store: Store | None, *, at_once: int = 1
) -> AsyncIterator[WebSearch]:
    """
    Make web search with these engines; calls count in the ledger where there is a store.

    Args:
        config: The bounds.
        engines: Which engines there are.
        store: Where to count; daily limits hold only with it.
        at_once: How many searches there may be at once, at the least.
    """
    from refdesk.desk.parts import build_web
    from refdesk.fetch import Fetcher

    if store is not None:
        await asyncio.to_thread(store.ledger.load)
    fetcher = Fetcher()
    try:
        yield build_web(config, engines, store=store, fetcher=fetcher, at_once=at_once)
    finally:
        await fetcher.close()
