"""
A collection embedded anew, beside the index it has, which serves until the new one is whole.

What is added, changed or deleted meanwhile is brought after; the switch happens in one transaction,
and only if both hold the same documents.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from refdesk.errors import StoreError
from refdesk.kb.ingest.jobs import OnProgress, Progress, told
from refdesk.kb.ingest.pipeline import Pipeline
from refdesk.kb.ports import ChunkIndex, PassageEmbedder
from refdesk.store import Store
from refdesk.store.knowledge import Leftover, new_index
from refdesk.store.passages import Collection, Job


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
        collection: As it is now.
        embedder: The one to embed with.
        job: Held while it lasts: what is half built belongs to it, and goes if it dies.
        spec: What the collection shall remember of the embedder's settings.
        progress: Told after each document.
    """
    run, knowledge = store.run, store.knowledge
    fresh, began = new_index(collection.name), time.monotonic()
    dimension = await embedder.dimension()
    await run(knowledge.leave, fresh, "", job=job.id)
    built: dict[str, str] = {}
    try:
        await index.create(fresh, dimension=dimension, language=collection.language)
        while True:
            wanted = await run(knowledge.revisions, collection.name)
            for id_, revision in list(built.items()):
                if wanted.get(id_) != revision:
                    await index.delete(fresh, revision)
                    del built[id_]
            missing = [id_ for id_ in wanted if id_ not in built]
            for id_ in missing:
                chunks = await run(knowledge.chunks_of, id_)
                # It may be another revision by now, or gone; the next round sees that.
                await pipeline.embed(fresh, embedder, chunks)
                if chunks:
                    built[id_] = chunks[0].revision
                await told(progress, _progress(len(built), len(wanted), id_, began))
            if missing:
                continue
            await index.settle(fresh)
            values = {"index": fresh, "embedder": dict(spec), "dimension": dimension}
            values["embedder_id"] = embedder.identity
            if await run(knowledge.switch, collection.name, collection.index, built, **values):
                return await run(knowledge.collection, collection.name)
            if (await run(knowledge.collection, collection.name)).index != collection.index:
                raise StoreError(
                    f"the collection {collection.name!r} was re-indexed or made anew by another"
                    " process meanwhile; look at it, and start again if need be"
                )
    except BaseException:
        await index.drop(fresh)
        await run(knowledge.strike, Leftover(index=fresh, revision=""))
        raise


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
