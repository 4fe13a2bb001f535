"""The doctor's look at collections: vectors, embedders, graphs, and what waits to be done."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from refdesk.cli._finding import Finding
from refdesk.cli._reach import PATIENCE_S
from refdesk.errors import EmbedderError, RefdeskError

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.kb.embedders import Embedder
    from refdesk.kb.vectors import VectorStore
    from refdesk.store import Store
    from refdesk.store.passages import Collection

_QUESTION: Final = "Is anybody there?"


async def try_collections(config: Config, store: Store) -> list[Finding]:
    """
    Look at every collection that has documents; its embedder is asked one question.

    Nothing is made or changed, and nothing is loaded where there is no such collection.
    """
    kept = store.knowledge
    held = [each for each in await store.run(kept.collections) if each.embedder_id is not None]
    if not held:
        return []
    from refdesk.kb.opening import FOLDER, make_vectors

    try:
        vectors = make_vectors(config, Path(config.data_dir) / FOLDER)
    except RefdeskError as exc:
        return [Finding(area="vectors", level="problem", text=str(exc))]
    async with AsyncExitStack() as stack:
        stack.push_async_callback(vectors.aclose)
        return [
            finding
            for each in held
            for finding in await _try_collection(config, store, vectors, each)
        ]


async def _try_collection(
    config: Config, store: Store, vectors: VectorStore, collection: Collection
) -> list[Finding]:
    name = collection.name
    counts = await store.run(store.knowledge.counts, name)
    found = [
        *await _vectors(vectors, collection, counts.chunks),
        *await _embedder(config, collection),
        *await asyncio.to_thread(lambda: list(_undone(store, collection))),
    ]
    if found:
        return found
    text = f"{counts.ready} documents in {counts.chunks} passages"
    return [Finding(area="collection", name=name, level="ok", text=text)]


async def _vectors(vectors: VectorStore, collection: Collection, chunks: int) -> list[Finding]:
    name = collection.name
    try:
        count = await vectors.count(collection.index)
    except RefdeskError as exc:
        return [Finding(area="collection", name=name, level="problem", text=str(exc))]
    # There may be more: what was left by a process that died, or is being added now.
    if count >= chunks:
        return []
    return [
        Finding(
            area="collection",
            name=name,
            level="problem",
            text=f"of {chunks} passages the vector store has {count}",
            remedy=f"refdesk kb reindex {name}",
        )
    ]


async def _embedder(config: Config, collection: Collection) -> list[Finding]:
    from refdesk.fetch import Fetcher
    from refdesk.kb.embedders import check_same, make_embedder
    from refdesk.kb.remembered import entry_of

    async with AsyncExitStack() as stack:
        fetcher = Fetcher()
        stack.push_async_callback(fetcher.close)
        try:
            embedder = make_embedder(entry_of(config, collection), fetcher=fetcher)
            stack.push_async_callback(embedder.aclose)
            check_same(collection.name, collection.embedder_id or "", embedder)
            if not embedder.computes:
                await _ask(embedder, collection)
        except RefdeskError as exc:
            return [
                Finding(area="collection", name=collection.name, level="problem", text=str(exc))
            ]
    return []


async def _ask(embedder: Embedder, collection: Collection) -> None:
    from refdesk.kb.vectors import check_dimension

    try:
        async with asyncio.timeout(PATIENCE_S):
            vector = await embedder.query(_QUESTION)
    except TimeoutError:
        raise EmbedderError(
            f"its embedder, {embedder.identity}, gave no vector within {PATIENCE_S:g} s: questions"
            " are compared by words alone, and nothing can be added"
        ) from None
    check_dimension(collection.index, collection.dimension or len(vector), len(vector))


def _undone(store: Store, collection: Collection) -> Iterator[Finding]:
    name = collection.name
    now = datetime.now(UTC)  # as the store has it, whatever REFDESK_NOW says
    jobs = store.jobs.open(name)
    if waiting := sum(job.lease_until is None or job.lease_until <= now for job in jobs):
        yield Finding(
            area="collection",
            name=name,
            level="warning",
            text=f"{waiting} documents wait to be taken in",
            remedy="run the same `refdesk kb add` again, or start the server",
        )
    if not collection.graph:
        return
    wanted, known = store.knowledge.revisions(name), store.graph.revisions(name)
    if missing := sum(known.get(each) != revision for each, revision in wanted.items()):
        yield Finding(
            area="collection",
            name=name,
            level="warning",
            text=f"{missing} of {len(wanted)} documents are not in the graph",
            remedy="see whether its extractor answers; the next `refdesk kb add` reads them",
        )
