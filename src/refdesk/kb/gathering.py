"""
Graphs made and kept up to date: what each document says, by whoever extracts for its collection.

The graph remembers which revision of a document it knows, so that what an ended process left undone
is done with the next call, and nothing is asked of a model twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from refdesk.errors import ConfigError, RefdeskError
from refdesk.kb.collection import Added, Knowledge, OnProgress
from refdesk.kb.facts import ENTITY_TYPES, Extractor
from refdesk.kb.graph import chunk_facts
from refdesk.kb.remembered import SHARED, refuse_secrets
from refdesk.store import Store
from refdesk.store.graph import ChunkFacts
from refdesk.store.passages import Chunk, Collection

ExtractorFor = Callable[[Collection], tuple[Extractor, Sequence[str]]]
"""Gives who extracts for a collection, and which types of entities it looks for."""

AT_ONCE: Final = 4
"""How many passages an extractor is asked about at once."""
GIVE_UP_AFTER: Final = 3
"""After so many documents in a row it is the extractor that fails, and is left alone for now."""

_log = logging.getLogger(__name__)


class GraphBuilder:
    """
    Brings graphs up to date.

    Args:
        store: Documents, and their graphs.
        extractor_for: Who finds the facts.
    """

    def __init__(self, store: Store, extractor_for: ExtractorFor) -> None:
        self._store = store
        self._extractor_for = extractor_for

    async def catch_up(self, name: str) -> list[str]:
        """
        Read what the graph of a collection does not know yet.

        Returns:
            Why documents could not be read, a sentence each; they are tried again next time.
        """
        store = self._store
        collection = await store.run(store.knowledge.collection, name)
        if not collection.graph:
            return []
        extractor, types = self._extractor_for(collection)
        wanted = await store.run(store.knowledge.revisions, name)
        known = await store.run(store.graph.revisions, name)
        for document_id in known.keys() - wanted.keys():
            await store.run(store.graph.forget_document, name, document_id)
        failures: list[str] = []
        in_a_row = 0
        missing = [each for each in wanted.items() if known.get(each[0]) != each[1]]
        for place, (document_id, revision) in enumerate(missing):
            if in_a_row == GIVE_UP_AFTER:
                failures.append(
                    f"{len(missing) - place} more documents of {name!r} are not in the graph: the"
                    " extractor failed too often; they are read with the next `refdesk kb add`"
                )
                break
            chunks = await store.run(store.knowledge.chunks_of, document_id)
            try:
                facts = await _facts(chunks, extractor, types or ENTITY_TYPES)
            except RefdeskError as error:
                failures.append(f"document {document_id} is not in the graph: {error}")
                in_a_row += 1
                continue
            in_a_row = 0
            await store.run(store.graph.put, name, document_id, revision, facts)
            # It may have been removed, or updated, while it was being read.
            if (await store.run(store.knowledge.revisions, name)).get(document_id) != revision:
                await store.run(store.graph.forget_document, name, document_id)
        return failures


class GraphKnowledge(Knowledge):
    """
    A knowledge service that keeps the graphs of its collections up to date.

    Args:
        args: As `Knowledge` has them.
        builder: Makes the graphs.
        configured: Returns the embedder that the configuration gives a collection; None where it
            does not speak of it.
        options: As `Knowledge` has them.
    """

    def __init__(
        self,
        *args: Any,
        builder: GraphBuilder,
        configured: Callable[[str], Mapping[str, Any] | None] = lambda _: None,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self._builder = builder
        self._configured = configured

    def configures(self, name: str) -> bool:
        """Return whether the configuration describes this collection."""
        return self._configured(name) is not None

    async def add(
        self,
        name: str,
        sources: Sequence[str | Path] = (),
        *,
        metadata: Mapping[str, Any] | None = None,
        progress: OnProgress | None = None,
    ) -> Sequence[Added]:
        """Take in sources; see `Knowledge.add`."""
        added = await super().add(name, sources, metadata=metadata, progress=progress)
        await self._catch_up(name)
        return added

    async def upload(
        self, name: str, filename: str, body: bytes, *, metadata: Mapping[str, Any] | None = None
    ) -> Added:
        """Take in bytes; see `Knowledge.upload`."""
        added = await super().upload(name, filename, body, metadata=metadata)
        await self._catch_up(name)
        return added

    async def resume(
        self, name: str | None = None, *, progress: OnProgress | None = None
    ) -> Sequence[Added]:
        """Do what others left undone; see `Knowledge.resume`."""
        done = await super().resume(name, progress=progress)
        for collection in [name] if name else [each.name for each in await self.list()]:
            await self._catch_up(collection)
        return done

    async def reindex(
        self,
        name: str,
        *,
        embedder: Mapping[str, Any] | None = None,
        chunk_chars: int | None = None,
        progress: OnProgress | None = None,
    ) -> Collection:
        """
        Embed a collection anew; see `Knowledge.reindex`.

        Raises:
            ConfigError: The configuration gives it another embedder or another length of passages
                than is wished for, or the embedder has a key in it, which is not kept.
        """
        named = self._configured(name)
        if named is not None and embedder is not None and dict(embedder) != dict(named):
            wished = embedder.get("type")
            to = "" if wished == SHARED else f" to {wished!r}"
            raise ConfigError(
                f"the configuration says what embeds {name!r}: set collections.{name}.embedder"
                f"{to}, and reindex without naming an embedder"
            )
        if named is not None and chunk_chars is not None:
            raise ConfigError(
                f"the configuration says how long passages of {name!r} are: set"
                f" collections.{name}.chunk_chars to {chunk_chars}, and reindex without saying it"
            )
        if named is None and embedder is not None:
            refuse_secrets(name, embedder)
        embedder = named if embedder is None else embedder
        done = await super().reindex(
            name, embedder=embedder, chunk_chars=chunk_chars, progress=progress
        )
        await self._catch_up(name)
        return done

    async def _catch_up(self, name: str) -> None:
        # A graph that lacks something is no failure of documents that are in.
        try:
            for failure in await self._builder.catch_up(name):
                _log.warning("%s", failure)
        except RefdeskError as error:
            _log.warning("the graph of %r was not brought up to date: %s", name, error)


async def _facts(
    chunks: Sequence[Chunk], extractor: Extractor, types: Sequence[str]
) -> list[ChunkFacts]:
    waiting = iter(chunks)
    facts: dict[str, ChunkFacts] = {}

    async def work() -> None:
        for chunk in waiting:
            said = await extractor.extract(chunk.text, types=types)
            facts[chunk.id] = chunk_facts(chunk.id, said)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(work())
    except ExceptionGroup as failed:
        # The first failure is the document's: nothing more is asked, and paid for, in vain.
        raise failed.exceptions[0] from None
    return [facts[chunk.id] for chunk in chunks]
