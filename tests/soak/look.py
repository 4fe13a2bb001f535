"""
What a collection holds, seen by a process that has just been started: JSON on stdout.

    python look.py CONFIG [--resume]

Stdin has one word a line, each of which stands in one version of one document; told is in how many
documents each is found.  With ``--resume`` what was left undone is done first.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import numpy as np

from refdesk.config import load
from refdesk.desk.parts import open_parts, open_store
from refdesk.kb.collection import Knowledge
from refdesk.kb.ingest.report import covered
from refdesk.store.passages import Collection, Document

NAME = "docs"


async def fault_of(knowledge: Knowledge, collection: Collection, document: Document) -> str | None:
    """Return what a document lacks that a whole one has."""
    store = knowledge.store
    text = await knowledge.text(document.id, 0, 10_000_000)
    chunks = await store.run(store.knowledge.chunks_of, document.id)
    if document.status != "ready":
        return "it is not ready, and has text" if text or chunks else None
    if len(text) != document.characters or not text:
        return f"{len(text)} of {document.characters} characters are there"
    if [chunk.ordinal for chunk in chunks] != list(range(document.chunks)):
        return f"{len(chunks)} of {document.chunks} passages are there"
    if any(chunk.text != text[chunk.start : chunk.end] for chunk in chunks):
        return "a passage is not what stands at its place"
    if covered(text, chunks) != sum(map(len, text.split())):
        return "its passages are not all of its text"
    anywhere = np.full(collection.dimension or 0, 0.1, dtype=np.float32)
    ids = [chunk.id for chunk in chunks]
    hits = await knowledge.index.search_vector(  # type: ignore[attr-defined]
        collection.index, anywhere, k=len(ids) + 1, only=ids
    )
    if sorted(hit.chunk_id for hit in hits) != sorted(ids):
        return f"{len(hits)} of {len(ids)} vectors are there"
    return None


async def look(config_path: Path, words: list[str], *, resume: bool) -> dict[str, Any]:
    """Return what is there."""
    config = load(config_path, env={}).config
    async with AsyncExitStack() as stack:
        store = await open_store(config, stack)
        desk = await open_parts(config, stack, store=store)
        assert desk.knowledge is not None
        knowledge = await desk.knowledge.knowledge()
        if resume:
            await knowledge.resume()
        if NAME not in [each.name for each in await knowledge.list()]:
            return {"there": False}
        collection = await knowledge.show(NAME)
        documents = await knowledge.documents(NAME)
        found = {}
        for word in words if collection.dimension else ():
            asked = {"type": "kb", "source": "user", "query": word, "collections": [NAME]}
            result = await desk.searcher.search(asked, identity=None)
            assert result.error is None, result.error
            keys = {item.metadata["key"] for item in result.items if word in item.content}
            found[word] = sorted(keys)
        index: Any = knowledge.index
        return {
            "there": True,
            "documents": {
                each.key: {
                    "hash": each.content_hash if each.status == "ready" else None,
                    "fault": await fault_of(knowledge, collection, each),
                }
                for each in documents
            },
            "found": found,
            "chunks": sum(each.chunks for each in documents),
            "rows": await index.count(collection.index),
            "leftovers": len(await store.run(store.knowledge.leftovers)),
            "jobs": len(await store.run(store.jobs.open)),
        }


def main() -> None:
    """Look, and print."""
    words = [line.strip() for line in sys.stdin if line.strip()]
    seen = asyncio.run(look(Path(sys.argv[1]), words, resume="--resume" in sys.argv[2:]))
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
