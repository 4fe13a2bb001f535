"""
Knowledge as a configuration describes it, opened when it is first needed.

Vector store and embedders take a moment to load and much memory, so that a server whose documents
nobody asks for has none of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
import structlog

from refdesk.config import Config
from refdesk.errors import ConfigError, RefdeskError, StoreError
from refdesk.kb.facts import Extractor
from refdesk.kb.remembered import configured_entry, entry_of, without_secrets
from refdesk.store import Store
from refdesk.store.passages import Collection
from refdesk.types import SearchRequest, SearchResult, SearchType

if TYPE_CHECKING:
    from refdesk.fetch import Fetcher
    from refdesk.kb.collection import Knowledge
    from refdesk.kb.embedders import Embedder
    from refdesk.kb.handler import Asker, KnowledgeHandler
    from refdesk.kb.ingest.work import Work
    from refdesk.kb.vectors import VectorStore

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk")

FOLDER: Final = "kb"
"""Where an embedded vector store keeps its files, in the data folder."""


class Extractors(Protocol):
    """Gives who finds entities, by the name that a collection has for it."""

    def __call__(self, name: str, /) -> Extractor:
        """Return the extractor."""
        ...


class KnowledgeBase:
    """
    All that knows of documents: the service, and the handler that searches.

    Args:
        config: What it is to be like.
        store: Where documents and their text are.
        extractors: Who finds entities; by default the builtin only.
    """

    def __init__(
        self, config: Config, store: Store, *, extractors: Extractors | None = None
    ) -> None:
        self._config = config
        self._store = store
        self._extractors = extractors
        self._opening = asyncio.Lock()
        self._opened: tuple[Knowledge, KnowledgeHandler, VectorStore] | None = None
        self._embedders: dict[bytes, Embedder] = {}
        self._fetcher: Fetcher | None = None
        self._settled = False

    async def knowledge(self) -> Knowledge:
        """Return the service; ConfigError or StoreError if it cannot be opened."""
        return (await self._open())[0]

    async def handler(self) -> KnowledgeHandler:
        """Return the handler; see `knowledge`."""
        return (await self._open())[1]

    def configure(self, config: Config) -> None:
        """Take in a new configuration; its collections are looked at with the next call."""
        self._config = config
        self._settled = False

    def names_only(self, collections: Sequence[str]) -> bool:
        """Whether the graph of any of these was made without a model."""
        entries = (self._config.collections.get(name) for name in collections)
        return any(entry is None or entry.extractor == "builtin" for entry in entries)

    async def warm(self, names: Sequence[str]) -> None:
        """
        Load what searches in these collections need, so that the first question does not wait.

        Embedders on this machine are loaded; endpoints are not called.  What fails is logged: the
        search that needs it says so too.
        """
        try:
            knowledge = await self.knowledge()
            for name in names:
                embedder = self._embedder(await knowledge.show(name))
                if embedder.computes:
                    await embedder.query("warm up")
        except RefdeskError as exc:
            _log.warning("a collection was not loaded at the start", error=str(exc))

    async def aclose(self) -> None:
        """Let go of what was opened."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened[0].aclose()
            await opened[2].aclose()
        embedders, self._embedders = list(self._embedders.values()), {}
        for embedder in embedders:
            await embedder.aclose()
        if self._fetcher is not None:
            await self._fetcher.close()

    async def _open(self) -> tuple[Knowledge, KnowledgeHandler, VectorStore]:
        async with self._opening:
            if self._opened is None:
                await asyncio.to_thread(_load)
                self._opened = self._made()
            if not self._settled:
                await settle(self._opened[0], self._config)
                self._settled = True
        return self._opened

    def _made(self) -> tuple[Knowledge, KnowledgeHandler, VectorStore]:
        from refdesk.fetch import Fetcher
        from refdesk.kb.gathering import GraphBuilder, GraphKnowledge
        from refdesk.kb.handler import KnowledgeHandler

        folder = Path(self._config.data_dir) / FOLDER
        index = make_vectors(self._config, folder)
        self._fetcher = Fetcher()
        knowledge = GraphKnowledge(
            self._store,
            index,
            self._embedder,
            data_dir=folder,
            fetcher=self._fetcher,
            work=_work(self._config),
            builder=GraphBuilder(self._store, self._extractor),
            configured=self._configured,
        )
        handler = KnowledgeHandler(
            self._store.knowledge, index, self._embedder, graph=self._store.graph
        )
        return knowledge, handler, index

    def _configured(self, name: str) -> dict[str, Any] | None:
        return configured_entry(self._config, name)

    def _embedder(self, collection: Collection) -> Embedder:
        from refdesk.kb.embedders import make_embedder

        entry = entry_of(self._config, collection)
        key = msgspec.json.encode(entry, order="sorted", enc_hook=str)
        if key not in self._embedders:
            self._embedders[key] = make_embedder(entry, fetcher=self._fetcher)
        return self._embedders[key]

    def _extractor(self, collection: Collection) -> tuple[Extractor, Sequence[str]]:
        from refdesk.kb.names import BuiltinExtractor

        entry = self._config.collections.get(collection.name)
        if entry is None or entry.extractor == "builtin" or self._extractors is None:
            return BuiltinExtractor(), entry.entity_types if entry else ()
        return self._extractors(entry.extractor), entry.entity_types


class KnowledgeSearch:
    """The handler for a searcher: opens knowledge with the first search that needs it."""

    type: SearchType = "kb"

    def __init__(self, base: KnowledgeBase) -> None:
        self._base = base

    async def search(self, request: SearchRequest, *, context: Asker) -> SearchResult:
        """Search; see `refdesk.kb.handler.KnowledgeHandler`."""
        from refdesk.kb.names import NOTICE

        handler = await self._base.handler()
        result = await handler.search(request, context=context)
        if result.graph_nodes and self._base.names_only(request.collections or ()):
            return replace(result, notices=(*result.notices, NOTICE))
        return result


def _load() -> None:
    """Import what takes long, for a thread."""
    import refdesk.kb.gathering
    import refdesk.kb.handler  # noqa: F401


def _work(config: Config) -> Work | None:
    """Return who takes documents in, where that is not this machine."""
    if config.ingest.ray is None:
        return None
    from refdesk.kb.ingest.ray import OnRay

    return OnRay(config.ingest.ray)


def make_vectors(config: Config, folder: Path) -> VectorStore:
    """Return the vector store of a configuration, or raise ConfigError naming what is wrong."""
    from pydantic import ValidationError

    from refdesk.kb.vectors import VECTOR_STORES

    entry = config.vectors
    plugin = VECTOR_STORES.get(entry.type)
    try:
        options = plugin.Options.model_validate(entry.settings)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, each['loc'])) or 'options'}: {each['msg']}"
            for each in error.errors(include_input=False, include_context=False, include_url=False)
        )
        raise ConfigError(f"vectors: {entry.type}: {wrong}") from None
    return plugin(options, folder=folder / "vectors")


async def settle(knowledge: Knowledge, config: Config) -> None:
    """
    Make the collections of a configuration, and bring those that are there up to it.

    The embedder of one with documents stays as it is remembered: whoever uses it is told.
    """
    store = knowledge.store
    known = {each.name: each for each in await knowledge.list()}
    for name, entry in config.collections.items():
        wanted = Collection(
            name=name,
            embedder=without_secrets({"type": entry.embedder.type, **entry.embedder.settings}),
            language=entry.language,
            graph=entry.graph,
            chunk_chars=entry.chunk_chars,
            permission=entry.permission,
        )
        there = known.get(name)
        if there is None:
            try:
                # What is wrong with its embedder is told to whoever uses it, and stops no other.
                await store.run(store.knowledge.create, wanted)
            except StoreError:
                # Another process made it meanwhile; if not, the next look will say what is wrong.
                await knowledge.show(name)
            continue
        fields = ["language", "graph", "chunk_chars", "permission"]
        if there.embedder_id is None:
            fields.append("embedder")
        changes = {
            field: getattr(wanted, field)
            for field in fields
            if getattr(wanted, field) != getattr(there, field)
        }
        if changes:
            await store.run(store.knowledge.change, name, **changes)
