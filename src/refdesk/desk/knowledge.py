"""The knowledge service for commands and for code of one's own, without a server."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from refdesk.config import Config

if TYPE_CHECKING:
    from refdesk.kb.collection import Knowledge


async def open_knowledge(config: Config, stack: AsyncExitStack) -> Knowledge:
    """
    Open the knowledge of a configuration until the stack ends; its store is made if need be.

    Raises:
        StoreError: The store cannot be opened.
        ConfigError: A collection is configured in a way that cannot be.
    """
    from refdesk.desk.opening import delegates_of, open_records
    from refdesk.kb.opening import KnowledgeBase
    from refdesk.search.entities import extractors

    store = await open_records(config, stack)
    base = KnowledgeBase(config, store, extractors=extractors(delegates_of(config, stack)))
    stack.push_async_callback(base.aclose)
    return await base.knowledge()
