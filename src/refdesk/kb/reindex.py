"""
A collection embedded anew, beside the index it has, which serves until the new one is whole.

Documents whose passages would have another length by now are parted anew for it.  What is added,
changed or deleted meanwhile is brought after; the switch happens in one transaction, and only if
both hold the same documents.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from refdesk.errors import IngestError, StoreError
from refdesk.kb.ingest.jobs import OnProgress, Progress, told
from refdesk.kb.ingest.parse import Refused
from refdesk.kb.ingest.pipeline import Pipeline
from refdesk.kb.parting import parted_anew
from refdesk.kb.ports import ChunkIndex, PassageEmbedder
from refdesk.store import Store
from refdesk.store.knowledge import Leftover, new_index
from refdesk.store.passages import Chunk, Collection, Document, Job


async def rebuild(
    store: Store,
    index: ChunkIndex,
    pipeline: Pipeline,
    collection: Collection,
    embedder: PassageEmbedder,
    job: Job,
    *,
    spec: Mapping[str, Any],
    progress: OnProgress | None,
) -> Collection:
    """
    Build a new index for a collection, and give it to it.

    Args:
        store: What the collection consists of.
        index: Where the vectors go.
        pipeline: Embeds.
        collection: As it is now, but for ``chunk_chars``, which is as it is to be.
        embedder: The one to embed with.
        job: Held while it lasts: what is half built belongs to it, and goes if it dies.
        spec: What the collection shall remember of the embedder's settings.
        progress: Told after each document.
    """
    run, knowledge, began = store.run, store.knowledge, time.monotonic()
    fresh = new_index(collection.name)
    dimension = await embedder.dimension()
    await run(knowledge.leave, fresh, "", job=job.id)
    await run(store.staging.discard, collection.index)
    built: dict[str, str] = {}
    revised: dict[str, Document] = {}
    before: dict[str, str] = {}
    try:
        await index.create(fresh, dimension=dimension, language=collection.language)
        while True:
            wanted = await run(knowledge.revisions, collection.name)
            for id_ in [id_ for id_, revision in built.items() if wanted.get(id_) != revision]:
                revision = built.pop(id_)
                anew = revised.pop(id_, None)
                await index.delete(fresh, anew.revision if anew else revision)
                await run(store.staging.discard, collection.index, id_)
            missing = [id_ for id_ in wanted if id_ not in built]
            for id_ in missing:
                read = await _read(store, pipeline, collection, id_)
                # It may be another revision by now, or gone; the next round sees that.
                if read is not None:
                    document, anew, chunks = read
                    await pipeline.embed(fresh, embedder, chunks)
                    built[id_] = document.revision
                    if anew is not None:
                        revised[id_] = anew
                await told(progress, _progress(len(built), len(wanted), id_, began))
            lost = [id_ for id_ in missing if id_ not in built]
            if lost and wanted == before:
                raise StoreError(
                    f"the document {lost[0]} of {collection.name!r} is said to be ready, and the"
                    " store has no passages of it: remove it, add it again, and re-index then"
                )
            before = wanted
            if missing:
                continue
            await index.settle(fresh)
            values = {"index": fresh, "embedder": dict(spec), "dimension": dimension}
            values |= {"embedder_id": embedder.identity, "chunk_chars": collection.chunk_chars}
            if await run(
                knowledge.switch,
                collection.name,
                collection.index,
                built,
                revised=list(revised.values()),
                **values,
            ):
                return await run(knowledge.collection, collection.name)
            if (await run(knowledge.collection, collection.name)).index != collection.index:
                raise StoreError(
                    f"the collection {collection.name!r} was re-indexed or made anew by another"
                    " process meanwhile; look at it, and start again if need be"
                )
    except BaseException:
        await index.drop(fresh)
        await run(knowledge.strike, Leftover(index=fresh, revision=""))
        await run(store.staging.discard, collection.index)
        raise


async def _read(
    store: Store, pipeline: Pipeline, collection: Collection, document_id: str
) -> tuple[Document, Document | None, Sequence[Chunk]] | None:
    """Return a document, what becomes of it if it is parted anew, and its passages then."""
    run, knowledge = store.run, store.knowledge
    document = await run(knowledge.document_by_id, document_id)
    chunks = await run(knowledge.chunks_of, document_id)
    if document is None or not chunks or chunks[0].revision != document.revision:
        return None
    text = await run(knowledge.text, document_id, 0, document.characters)
    try:
        anew = await parted_anew(document, chunks, text, collection.chunk_chars, pipeline.part)
    except Refused as refused:
        raise IngestError(f"{document.key} cannot be parted: {refused}") from None
    if anew is None:
        return document, None, chunks
    await run(store.staging.put, collection.index, document_id, anew[1])
    return document, *anew


def _progress(done: int, total: int, key: str, began: float) -> Progress:
    seconds = time.monotonic() - began
    return Progress(
        done=done,
        total=total,
        key=key,
        bytes_done=0,
        bytes_total=0,
        seconds=seconds,
        left_s=seconds * (total - done) / done if done else None,
    )
