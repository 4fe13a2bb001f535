"""
Collections, documents and chunks, as the store keeps them.

A document becomes visible with all its chunks in one transaction, and leaves in one.  What a
vector store may hold besides stands under the leftovers until it is deleted there.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, delete, func, insert, or_, select, update

from refdesk.errors import StoreError
from refdesk.store.connection import Database
from refdesk.store.passages import Chunk, Collection, Counts, Document, DocumentReport
from refdesk.store.staging import adopt, chunk_row, unstage
from refdesk.store.tables import (
    graph_documents,
    graph_entities,
    graph_mentions,
    graph_relations,
    kb_chunks,
    kb_collections,
    kb_documents,
    kb_jobs,
    kb_leftovers,
    kb_texts,
)

TEXT_PIECE: Final = 65_536
"""How many characters a stored piece of a document's text has, but for the last."""

_PER_QUERY: Final = 500
_COLLECTION: Final = [one.name for one in fields(Collection)]
_DOCUMENT: Final = [one.name for one in fields(Document)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Leftover:
    """Something that a vector store may hold and that is in no document."""

    index: str
    revision: str
    """Empty: the whole index."""


def _now() -> datetime:
    return datetime.now(UTC)


class KnowledgeStore:
    """Read and write knowledge.  Every call waits for the database: not on an event loop."""

    def __init__(self, database: Database, *, now: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._now = now

    # Collections

    def create(self, collection: Collection) -> Collection:
        """
        Keep a new collection, and return it as it is kept.

        Raises:
            StoreError: There is one of that name.
        """
        row = {name: getattr(collection, name) for name in _COLLECTION}
        row |= {"index": _new_index(collection.name), "created": self._now()}
        with self._database.write() as connection:
            # Drivers do not agree on the row count of an insert that may do nothing.
            if _collection(connection, collection.name) is not None:
                raise StoreError(
                    f"there is a collection called {collection.name!r} already; add to it, or "
                    "choose another name"
                )
            connection.execute(insert(kb_collections).values(**row))
        return Collection(**row)

    def collection(self, name: str) -> Collection:
        """Return a collection; StoreError with the known names if there is none called so."""
        with self._database.read() as connection:
            found = _collection(connection, name)
            if found is None:
                names = connection.execute(
                    select(kb_collections.c.name).order_by(kb_collections.c.name)
                ).scalars()
                known = ", ".join(names) or "none"
                raise StoreError(
                    f"no collection is called {name!r}; known: {known}; `refdesk kb create` makes"
                    " one"
                )
        return found

    def collections(self) -> list[Collection]:
        """Return all of them, by name."""
        with self._database.read() as connection:
            rows = connection.execute(select(kb_collections).order_by(kb_collections.c.name))
            return [_as_collection(row) for row in rows.mappings()]

    def change(self, name: str, **values: Any) -> None:
        """Change fields of a collection; nothing happens to its documents."""
        with self._database.write() as connection:
            connection.execute(
                update(kb_collections).where(kb_collections.c.name == name).values(**values)
            )

    def settle_embedder(self, name: str, identity: str, dimension: int) -> Collection:
        """Remember what embeds a collection, unless it remembers already; return the collection."""
        table = kb_collections
        with self._database.write() as connection:
            connection.execute(
                update(table)
                .where(table.c.name == name, table.c.embedder_id.is_(None))
                .values(embedder_id=identity, dimension=dimension)
            )
        return self.collection(name)

    def drop(self, name: str) -> list[str]:
        """
        Delete a collection with its documents, chunks, graph and jobs.

        Its indexes become leftovers.  Returns the uploads whose files are no longer wanted.
        """
        with self._database.write() as connection:
            found = _collection(connection, name)
            if found is None:
                return []
            mine = select(kb_documents.c.id).where(kb_documents.c.collection == name)
            for table in (kb_chunks, kb_texts):
                connection.execute(delete(table).where(table.c.document_id.in_(mine)))
            uploads = connection.execute(
                select(kb_jobs.c.upload).where(
                    kb_jobs.c.collection == name, kb_jobs.c.upload.is_not(None)
                )
            ).scalars()
            gone = [str(upload) for upload in uploads]
            for table in (
                kb_documents,
                kb_jobs,
                graph_documents,
                graph_relations,
                graph_mentions,
                graph_entities,
            ):
                connection.execute(delete(table).where(table.c.collection == name))
            connection.execute(delete(kb_collections).where(kb_collections.c.name == name))
            unstage(connection, found.index)
            self._leave(connection, found.index, "")
        return gone

    # Documents

    def documents(self, collection: str) -> list[Document]:
        """Return all documents of a collection, by key."""
        query = select(kb_documents).where(kb_documents.c.collection == collection)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(kb_documents.c.key)).mappings().all()
        return [_as_document(row) for row in rows]

    def document(self, collection: str, name: str) -> Document | None:
        """Return a document by its id or its key."""
        table = kb_documents
        query = select(table).where(
            table.c.collection == collection, or_(table.c.id == name, table.c.key == name)
        )
        with self._database.read() as connection:
            row = connection.execute(query).mappings().first()
        return _as_document(row) if row else None

    def document_by_id(self, document_id: str) -> Document | None:
        """Return a document of any collection."""
        query = select(kb_documents).where(kb_documents.c.id == document_id)
        with self._database.read() as connection:
            row = connection.execute(query).mappings().first()
        return _as_document(row) if row else None

    def publish(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        text: str,
        *,
        job: str,
        owner: str,
        index: str | None,
    ) -> Document | None:
        """
        Put a document in the place of the one with its key, and end the job that made it.

        Its chunks must be in the vector store already, in that index.  Returns the document as it
        is kept, with the id that it had before; None if the job is no longer its owner's or the
        collection's index is another by now, and then nothing has changed.
        """
        with self._database.write() as connection:
            if not _owns(connection, job, owner):
                return None
            collection = _collection(connection, document.collection)
            if collection is None or (index is not None and collection.index != index):
                return None
            old = connection.execute(
                select(kb_documents.c.id, kb_documents.c.revision).where(
                    kb_documents.c.collection == document.collection,
                    kb_documents.c.key == document.key,
                )
            ).first()
            if old is not None:
                _forget(connection, document.collection, old.id)
                self._leave(connection, collection.index, old.revision)
            row = {name: getattr(document, name) for name in _DOCUMENT}
            row |= {"id": old.id if old is not None else document.id, "updated": self._now()}
            connection.execute(insert(kb_documents).values(**row))
            for start in range(0, len(chunks), _PER_QUERY):
                connection.execute(
                    insert(kb_chunks),
                    [chunk_row(chunk, row["id"]) for chunk in chunks[start : start + _PER_QUERY]],
                )
            for start in range(0, len(text), TEXT_PIECE):
                piece = text[start : start + TEXT_PIECE]
                values = {"document_id": row["id"], "start": start, "text": piece}
                connection.execute(insert(kb_texts).values(**values))
            _strike(connection, collection.index, document.revision)
            connection.execute(delete(kb_jobs).where(kb_jobs.c.id == job))
        return _as_document(row)

    def note(self, document_id: str, report: DocumentReport) -> None:
        """Replace the report of a document; nothing else changes."""
        with self._database.write() as connection:
            connection.execute(
                update(kb_documents)
                .where(kb_documents.c.id == document_id)
                .values(report=report, updated=self._now())
            )

    def forget(self, collection: str, name: str) -> Document | None:
        """Delete a document, by id or key, with chunks, text and graph; its vectors are left."""
        found = self.document(collection, name)
        if found is None:
            return None
        with self._database.write() as connection:
            kept = _collection(connection, collection)
            # It may have been updated meanwhile: what is there now is what goes.
            revision = connection.execute(
                select(kb_documents.c.revision).where(kb_documents.c.id == found.id)
            ).scalar()
            _forget(connection, collection, found.id)
            if kept is not None and revision is not None:
                self._leave(connection, kept.index, revision)
        return found

    # Chunks

    def chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        """Return those of the chunks that belong to a document, by id."""
        wanted = list(dict.fromkeys(ids))
        found: dict[str, Chunk] = {}
        with self._database.read() as connection:
            for start in range(0, len(wanted), _PER_QUERY):
                part = wanted[start : start + _PER_QUERY]
                found |= {one.id: one for one in _read(connection, kb_chunks.c.id.in_(part))}
        return found

    def chunks_of(self, document_id: str, first: int = 0, last: int | None = None) -> list[Chunk]:
        """Return chunks of a document in their order, from one ordinal to another, inclusive."""
        wanted = [kb_chunks.c.document_id == document_id, kb_chunks.c.ordinal >= first]
        if last is not None:
            wanted.append(kb_chunks.c.ordinal <= last)
        with self._database.read() as connection:
            return _read(connection, *wanted)

    def text(self, document_id: str, start: int, end: int) -> str:
        """Return some characters of a document's extracted text, half-open."""
        start = max(0, start)
        query = (
            select(kb_texts.c.start, kb_texts.c.text)
            .where(
                kb_texts.c.document_id == document_id,
                kb_texts.c.start >= start - start % TEXT_PIECE,
                kb_texts.c.start < end,
            )
            .order_by(kb_texts.c.start)
        )
        with self._database.read() as connection:
            pieces = connection.execute(query).all()
        if not pieces:
            return ""
        offset = pieces[0].start
        return "".join(piece.text for piece in pieces)[start - offset : max(0, end - offset)]

    # Leftovers

    def leave(self, index: str, revision: str, *, job: str | None = None) -> None:
        """
        Write down that a vector store may hold a revision of no document.

        Args:
            index: Where.
            revision: Which; empty for the whole index.
            job: The job that is writing it: while it is alive, the revision is no leftover.
        """
        with self._database.write() as connection:
            self._leave(connection, index, revision, job)

    def strike(self, leftover: Leftover) -> None:
        """Note that a vector store does not hold it any more."""
        with self._database.write() as connection:
            _strike(connection, leftover.index, leftover.revision)

    def leftovers(self) -> list[Leftover]:
        """Return what a vector store may still hold, except what a living job is writing."""
        alive = select(kb_jobs.c.id).where(
            kb_jobs.c.owner.is_not(None), kb_jobs.c.lease_until > self._now()
        )
        table = kb_leftovers
        query = select(table.c.index, table.c.revision).where(
            or_(table.c.job.is_(None), table.c.job.not_in(alive))
        )
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(table.c.index, table.c.revision)).all()
        return [Leftover(index=index, revision=revision) for index, revision in rows]

    def switch(
        self,
        name: str,
        old_index: str,
        built: Mapping[str, str],
        *,
        revised: Iterable[Document] = (),
        **values: Any,
    ) -> bool:
        """
        Give a collection another index and embedder; the old index becomes a leftover.

        Args:
            name: The collection.
            old_index: The index that it has.
            built: The documents that the new index holds, with the revisions that they have.
            revised: Those that get another revision, with the passages that are staged for them.
            values: The new ``index``, ``embedder``, ``embedder_id`` and ``dimension``.

        Returns:
            False, and nothing has changed, if its ready documents are not those that were built,
            or it has another index by now.
        """
        table = kb_collections
        with self._database.write() as connection:
            if _revisions(connection, name) != dict(built):
                return False
            done = connection.execute(
                update(table)
                .where(table.c.name == name, table.c.index == old_index)
                .values(**values)
            )
            if not done.rowcount:
                return False
            adopt(connection, old_index, revised, self._now())
            _strike(connection, values["index"], "")
            self._leave(connection, old_index, "")
        return True

    def revisions(self, collection: str) -> dict[str, str]:
        """Return the revision of each ready document of a collection, by its id."""
        with self._database.read() as connection:
            return _revisions(connection, collection)

    def counts(self, collection: str) -> Counts:
        """Return how much is in a collection."""
        table = kb_documents
        query = select(
            func.count(),
            func.count().filter(table.c.status == "ready"),
            func.sum(table.c.chunks),
            func.sum(table.c.characters),
        ).where(table.c.collection == collection)
        with self._database.read() as connection:
            row = connection.execute(query).one()
        documents, ready, chunks, characters = (int(value or 0) for value in row)
        return Counts(documents=documents, ready=ready, chunks=chunks, characters=characters)

    def _leave(
        self, connection: Connection, index: str, revision: str, job: str | None = None
    ) -> None:
        connection.execute(
            self._database.insert(kb_leftovers)
            .values(index=index, revision=revision, job=job)
            .on_conflict_do_update(index_elements=["index", "revision"], set_={"job": job})
        )


def new_index(collection: str) -> str:
    """Return a name for an index of a collection that none had before."""
    return _new_index(collection)


def metadata_of(document: Document) -> dict[str, Any]:
    """Return the values of a document that its chunks can be filtered by."""
    name = PurePosixPath(document.key.rstrip("/").replace("\\", "/")).name
    own = {"title": document.title, "key": document.key, "filename": name or document.key}
    return own | dict(document.metadata)


def _new_index(collection: str) -> str:
    return f"{collection}-{secrets.token_hex(4)}"


def _strike(connection: Connection, index: str, revision: str) -> None:
    table = kb_leftovers
    connection.execute(delete(table).where(table.c.index == index, table.c.revision == revision))


def _owns(connection: Connection, job: str, owner: str) -> bool:
    query = select(kb_jobs.c.id).where(kb_jobs.c.id == job, kb_jobs.c.owner == owner)
    return connection.execute(query).first() is not None


def _forget(connection: Connection, collection: str, document_id: str) -> None:
    """Delete a document with everything that the store keeps of it."""
    for table in (kb_chunks, kb_texts, graph_documents, graph_relations, graph_mentions):
        connection.execute(delete(table).where(table.c.document_id == document_id))
    connection.execute(delete(kb_documents).where(kb_documents.c.id == document_id))
    named = select(graph_mentions.c.entity).where(graph_mentions.c.entity == graph_entities.c.id)
    connection.execute(
        delete(graph_entities).where(graph_entities.c.collection == collection, ~named.exists())
    )


def _revisions(connection: Connection, collection: str) -> dict[str, str]:
    table = kb_documents
    query = select(table.c.id, table.c.revision).where(
        table.c.collection == collection, table.c.status == "ready"
    )
    return {row[0]: row[1] for row in connection.execute(query.order_by(table.c.id))}


def _collection(connection: Connection, name: str) -> Collection | None:
    row = connection.execute(select(kb_collections).where(kb_collections.c.name == name))
    found = row.mappings().first()
    return _as_collection(found) if found else None


def _as_collection(row: Mapping[Any, Any]) -> Collection:
    return Collection(**{name: row[name] for name in _COLLECTION})


def _as_document(row: Mapping[Any, Any]) -> Document:
    values = {name: row[name] for name in _DOCUMENT}
    if not isinstance(values["report"], DocumentReport):
        values["report"] = msgspec.convert(values["report"], DocumentReport)
    return Document(**values)


def _read(connection: Connection, *wanted: Any) -> list[Chunk]:
    query = (
        select(kb_chunks, *(kb_documents.c[name].label(f"d_{name}") for name in _DOCUMENT))
        .join(kb_documents, kb_documents.c.id == kb_chunks.c.document_id)
        .where(*wanted)
        .order_by(kb_chunks.c.document_id, kb_chunks.c.ordinal)
    )
    found: list[Chunk] = []
    metadata: dict[str, Mapping[str, Any]] = {}
    for row in connection.execute(query).mappings():
        if (id_ := row["document_id"]) not in metadata:
            metadata[id_] = metadata_of(_as_document({n: row[f"d_{n}"] for n in _DOCUMENT}))
        found.append(
            Chunk(
                id=row["id"],
                document_id=id_,
                revision=row["d_revision"],
                collection=row["d_collection"],
                ordinal=row["ordinal"],
                text=row["text"],
                index_text=row["index_text"],
                page=row["page"],
                heading=tuple(row["heading"]),
                start=row["start"],
                end=row["end"],
                metadata=metadata[id_],
            )
        )
    return found
