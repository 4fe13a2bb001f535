"""Collections, documents and passages as JSON values, with the names that every face shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from refdesk.kb.neighbours import Found, Passage
from refdesk.kb.remembered import without_secrets
from refdesk.store.passages import Collection, Counts, Document, DocumentReport

if TYPE_CHECKING:
    from refdesk.kb.collection import Added, Knowledge

SURROUNDINGS_CHARS: Final = 1_000
"""Shown before a passage, and after it."""


def collection_json(collection: Collection, counts: Counts) -> dict[str, Any]:
    """Return a collection, and how much is in it."""
    return {
        "name": collection.name,
        "embedder": without_secrets(collection.embedder),
        "embedder_id": collection.embedder_id,
        "language": collection.language,
        "graph": collection.graph,
        "chunk_chars": collection.chunk_chars,
        "permission": collection.permission,
        "created": _time(collection.created),
        "documents": counts.documents,
        "ready": counts.ready,
        "chunks": counts.chunks,
        "characters": counts.characters,
    }


def document_json(document: Document) -> dict[str, Any]:
    """Return a document with its coverage report."""
    return {
        "id": document.id,
        "collection": document.collection,
        "key": document.key,
        "kind": document.kind,
        "status": document.status,
        "title": document.title,
        "mime": document.mime,
        "pages": document.pages,
        "characters": document.characters,
        "chunks": document.chunks,
        "metadata": dict(document.metadata),
        "content_hash": document.content_hash,
        "updated": _time(document.updated),
        "report": report_json(document.report),
    }


def report_json(report: DocumentReport) -> dict[str, Any]:
    """Return a coverage report."""
    return {
        "coverage": round(report.coverage, 4),
        "characters_read": report.characters_read,
        "characters_in_chunks": report.characters_in_chunks,
        "characters_in_file": report.characters_in_file,
        "characters_lost": report.characters_lost,
        "chunks": report.chunks,
        "pages": report.pages,
        "pages_without_text": list(report.pages_without_text),
        "skipped": list(report.skipped),
        "parser": report.parser,
        "encoding": report.encoding,
        "bytes": report.bytes,
        "seconds": round(report.seconds, 3),
        "error": report.error,
    }


def added_json(added: Added) -> dict[str, Any]:
    """Return what became of a source."""
    return {
        "key": added.key,
        "outcome": added.outcome,
        "reason": added.reason,
        "document": None if added.document is None else document_json(added.document),
    }


async def passage_json(
    knowledge: Knowledge, collection: str, chunk_id: str, *, beside: Sequence[str] = ()
) -> dict[str, Any] | None:
    """
    Return a passage with its document, its place there, and what stands around it.

    Args:
        knowledge: Where it is.
        collection: Whose it has to be.
        chunk_id: The passage, or the best chunk of one that neighbours were made into.
        beside: The chunks that it was made of, where there are several.

    Returns:
        None where it is not there any more, or belongs to another collection.
    """
    run, kept = knowledge.store.run, knowledge.store.knowledge
    chunks = await run(kept.chunks, [chunk_id, *beside])
    chunk = chunks.get(chunk_id)
    if chunk is None or chunk.collection != collection:
        return None
    document = await run(kept.document_by_id, chunk.document_id)
    if document is None:
        return None
    mine = [each for each in chunks.values() if each.document_id == document.id]
    passage = Passage(
        best=Found(chunk=chunk, score=0.0), chunks=sorted(mine, key=lambda each: each.ordinal)
    )
    start, end = passage.start, passage.end
    text = passage.text()
    if len(mine) > 1 and passage.is_slice:
        text = await knowledge.text(document.id, start, end)
    before = await knowledge.text(document.id, max(0, start - SURROUNDINGS_CHARS), start)
    after = await knowledge.text(document.id, end, end + SURROUNDINGS_CHARS)
    return {
        "document": {
            "id": document.id,
            "collection": document.collection,
            "key": document.key,
            "kind": document.kind,
            "title": document.title,
            "pages": document.pages,
        },
        "chunk_id": chunk.id,
        "page": chunk.page,
        "heading": list(chunk.heading),
        "start": start,
        "end": end,
        "before": before,
        "passage": text,
        "after": after,
    }


def _time(moment: Any) -> str | None:
    return None if moment is None else moment.isoformat()
