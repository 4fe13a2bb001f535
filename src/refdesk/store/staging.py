"""
Passages of documents that are being parted anew, kept unseen until their collection switches.

They stand beside the others under a document of no name but ours, ``<index>/<id>``, with the index
that the collection still has: it is never given twice, so that what a process left behind is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, delete, insert, update

from refdesk.store.connection import Database
from refdesk.store.passages import Chunk, Document
from refdesk.store.tables import kb_chunks, kb_documents

_PER_QUERY: Final = 500


class Staging:
    """Write staged passages.  Every call waits for the database: not on an event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, index: str, document_id: str, chunks: Sequence[Chunk]) -> None:
        """Stage the passages of a document, in the place of those that are staged for it."""
        rows = [chunk_row(chunk, _staged(index, document_id)) for chunk in chunks]
        with self._database.write() as connection:
            unstage(connection, index, document_id)
            for start in range(0, len(rows), _PER_QUERY):
                connection.execute(insert(kb_chunks), rows[start : start + _PER_QUERY])

    def discard(self, index: str, document_id: str | None = None) -> None:
        """Forget what is staged for a document, or for all of a collection."""
        with self._database.write() as connection:
            unstage(connection, index, document_id)


def adopt(
    connection: Connection, index: str, documents: Iterable[Document], moment: datetime
) -> None:
    """Give documents their staged passages, and what else of them changes with these."""
    table = kb_chunks
    for document in documents:
        connection.execute(delete(table).where(table.c.document_id == document.id))
        connection.execute(
            update(table)
            .where(table.c.document_id == _staged(index, document.id))
            .values(document_id=document.id)
        )
        connection.execute(
            update(kb_documents)
            .where(kb_documents.c.id == document.id)
            .values(
                revision=document.revision,
                chunks=document.chunks,
                report=document.report,
                updated=moment,
            )
        )


def unstage(connection: Connection, index: str, document_id: str | None = None) -> None:
    """Forget staged passages; see `Staging.discard`."""
    column = kb_chunks.c.document_id
    if document_id is None:
        wanted = column.startswith(_staged(index, ""), autoescape=True)
    else:
        wanted = column == _staged(index, document_id)
    connection.execute(delete(kb_chunks).where(wanted))


def chunk_row(chunk: Chunk, document_id: str) -> dict[str, Any]:
    """Return a passage as it is kept."""
    return {
        "id": chunk.id,
        "document_id": document_id,
        "ordinal": chunk.ordinal,
        "text": chunk.text,
        "index_text": chunk.index_text,
        "page": chunk.page,
        "heading": chunk.heading,
        "start": chunk.start,
        "end": chunk.end,
    }


def _staged(index: str, document_id: str) -> str:
    return f"{index}/{document_id}"
