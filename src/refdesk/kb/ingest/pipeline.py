"""
One document, from its bytes to its place in a collection.

The order is what makes a crash harmless: read, part, write down what the vector store is about to
hold, embed, add the vectors, and only then publish the document with its chunks in one transaction
of the store.  Until then nobody sees it; afterwards it is whole.  What was there before goes then.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from refdesk.errors import ConfigError, EngineError, RefdeskError, StoreError
from refdesk.fetch import Fetcher
from refdesk.kb.ingest.chunk import Piece, Shape
from refdesk.kb.ingest.parse import Refused
from refdesk.kb.ingest.report import report_of, report_of_refusal
from refdesk.kb.ingest.sources import fetched, name_of
from refdesk.kb.ingest.work import Work
from refdesk.kb.ports import ChunkIndex, PassageEmbedder
from refdesk.store import Store
from refdesk.store.knowledge import Leftover, metadata_of
from refdesk.store.passages import Chunk, Collection, Document, DocumentReport, Job

Outcome = Literal["added", "updated", "unchanged", "failed", "empty", "skipped"]

ADD_BATCH: Final = 1024
"""How many chunks wait in memory for being added together."""
SETTLE_EVERY: Final = 256
"""After so many documents an index is settled: each leaves it a small file and a version."""
_RETIRED: Final = frozenset({"kreuzberg"})
"""Readers that are no longer used: what they read is read again when it is added again."""
_TRIES: Final = 3
"""How often a document is embedded anew because its collection was re-indexed meanwhile."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Added:
    """What became of one source that was to be added."""

    key: str
    outcome: Outcome
    document: Document | None = None
    """As the store has it now; None where it has none."""
    reason: str | None = None
    """Why it failed, is empty or was skipped."""


class Pipeline:
    """
    Takes documents into collections.

    Args:
        store: Keeps documents and chunks.
        index: Keeps vectors.
        work: Reads documents and makes vectors.
        fetcher: Gets pages of the web; without it URLs are refused.
        folder: Where bytes lie while they are worked on, under names of our own.
    """

    def __init__(
        self,
        store: Store,
        index: ChunkIndex,
        work: Work,
        *,
        fetcher: Fetcher | None,
        folder: Path,
    ) -> None:
        self._store = store
        self._index = index
        self._work = work
        self._fetcher = fetcher
        self._folder = folder
        self._writing = asyncio.Lock()
        self._added = 0
        self._made: set[str] = set()

    async def take(
        self, job: Job, collection: Collection, embedder: PassageEmbedder, *, path: Path | None
    ) -> Added:
        """
        Do a claimed job to its end.

        Raises:
            RefdeskError: The embedder or a store failed.  The job is still there, to be done again.
        """
        began = time.monotonic()
        owned = None
        try:
            if path is None:
                path = owned = await self._bytes_of(job)
            async with self._work.room(await asyncio.to_thread(_size, path)):
                return await self._from_file(job, collection, embedder, path, began)
        except Refused as refused:
            return await self._refuse(job, collection, refused, 0, began)
        finally:
            if owned is not None:
                await asyncio.to_thread(owned.unlink, missing_ok=True)

    async def ready(self) -> int:
        """Get ready to work, and return on how many documents at once; see `Work.ready`."""
        return await self._work.ready()

    async def part(
        self, text: str, *, shape: Shape, chars: int, pages: Sequence[int]
    ) -> list[Piece]:
        """Return the parts of a text that is kept; Refused if there are too many."""
        return await self._work.part(text, shape=shape, chars=chars, pages=pages)

    async def embed(self, index: str, embedder: PassageEmbedder, chunks: Sequence[Chunk]) -> None:
        """Add chunks with their vectors to an index."""
        for start in range(0, len(chunks), ADD_BATCH):
            part = chunks[start : start + ADD_BATCH]
            vectors = await self._work.passages(embedder, [chunk.index_text for chunk in part])
            async with self._writing:
                await self._index.add(index, part, vectors)
                self._added += 1
                if self._added % SETTLE_EVERY == 0:
                    await self._index.settle(index)

    async def sweep(self) -> int:
        """Delete from the vector store what no document has; return how much there was."""
        run, knowledge = self._store.run, self._store.knowledge
        leftovers: list[Leftover] = await run(knowledge.leftovers)
        for leftover in leftovers:
            async with self._writing:
                if leftover.revision:
                    await self._index.delete(leftover.index, leftover.revision)
                else:
                    await self._index.drop(leftover.index)
            await run(knowledge.strike, leftover)
        return len(leftovers)

    async def _bytes_of(self, job: Job) -> Path:
        if job.kind != "url":
            raise Refused("its file is no longer there: add it again")
        if self._fetcher is None:
            raise Refused("pages of the web are not fetched here: save it as a file and add that")
        try:
            answer = await fetched(self._fetcher, job.key)
        except EngineError as exc:
            raise _Unfetched(f"it cannot be fetched: {exc}") from None
        target = self._folder / f"page-{secrets.token_hex(12)}"
        await asyncio.to_thread(_write, target, answer.body)
        return target

    async def _from_file(
        self,
        job: Job,
        collection: Collection,
        embedder: PassageEmbedder,
        path: Path,
        began: float,
    ) -> Added:
        run, knowledge = self._store.run, self._store.knowledge
        try:
            size, content_hash = await asyncio.to_thread(_hash, path, self._work.limits.bytes)
        except OSError as exc:
            raise Refused(f"it cannot be opened ({exc.strerror})") from None
        old = await run(knowledge.document, job.collection, job.key)
        if _same(old, content_hash, job):
            await run(self._store.jobs.done, job.id, job.owner or "")
            return Added(key=job.key, outcome="unchanged", document=old)
        try:
            parsed, pieces = await self._work.read(
                path, name_of(job.key, job.kind), chars=collection.chunk_chars
            )
        except Refused as refused:
            refused.content_hash = refused.content_hash or content_hash
            return await self._refuse(job, collection, refused, size, began)
        if not pieces:
            nothing = Refused("there is no text in it", status="empty", mime=parsed.mime)
            nothing.content_hash = parsed.content_hash
            return await self._refuse(job, collection, nothing, size, began)
        document = Document(
            id=old.id if old else f"doc_{secrets.token_hex(10)}",
            collection=collection.name,
            key=job.key,
            kind=job.kind,
            revision="",
            content_hash=parsed.content_hash,
            status="ready",
            title=parsed.title or _first_heading(pieces) or name_of(job.key, job.kind) or job.key,
            mime=parsed.mime,
            pages=len(parsed.pages) or None,
            characters=len(parsed.text),
            chunks=len(pieces),
            metadata=dict(job.metadata),
        )
        for _ in range(_TRIES):
            report = report_of(parsed, pieces, size=size, seconds=time.monotonic() - began)
            kept = await self._publish(document, pieces, parsed.text, report, job, embedder)
            if kept is not None:
                outcome: Outcome = "updated" if old else "added"
                return Added(key=job.key, outcome=outcome, document=kept)
        reason = "its collection was re-indexed or removed, or another process took it over"
        return Added(key=job.key, outcome="failed", document=old, reason=reason)

    async def _publish(
        self,
        document: Document,
        pieces: Sequence[Piece],
        text: str,
        report: DocumentReport,
        job: Job,
        embedder: PassageEmbedder,
    ) -> Document | None:
        """Embed and publish a new revision; None if the ground shifted meanwhile."""
        run, knowledge = self._store.run, self._store.knowledge
        collection = await run(knowledge.collection, document.collection)
        if collection.embedder_id not in (None, embedder.identity):
            raise other_embedder(collection, embedder.identity)
        document = replace(document, revision=f"rev_{secrets.token_hex(10)}", report=report)
        chunks = chunks_from(document, pieces)
        await run(knowledge.leave, collection.index, document.revision, job=job.id)
        await self._make(collection, embedder)
        try:
            await self.embed(collection.index, embedder, chunks)
        except StoreError:
            # The index may be gone because another took its place.
            if (await run(knowledge.collection, document.collection)).index == collection.index:
                raise
            await run(
                knowledge.strike, Leftover(index=collection.index, revision=document.revision)
            )
            return None
        kept = await run(
            knowledge.publish,
            document,
            chunks,
            text,
            job=job.id,
            owner=job.owner or "",
            index=collection.index,
        )
        if kept is None:
            # Nobody may sweep it a second time: the mark may be gone with another's job.
            async with self._writing:
                await self._index.delete(collection.index, document.revision)
            leftover = Leftover(index=collection.index, revision=document.revision)
            await run(knowledge.strike, leftover)
        return kept

    async def _make(self, collection: Collection, embedder: PassageEmbedder) -> None:
        """Make a collection's index, once: no name of an index is used again after it went."""
        async with self._writing:
            if collection.index not in self._made:
                await self._index.create(
                    collection.index,
                    dimension=await embedder.dimension(),
                    language=collection.language,
                )
                self._made.add(collection.index)

    async def _refuse(
        self, job: Job, collection: Collection, refused: Refused, size: int, began: float
    ) -> Added:
        """Record why a document was not taken in; one that was there before stays, with a note."""
        run, knowledge = self._store.run, self._store.knowledge
        report = report_of_refusal(refused, size=size, seconds=time.monotonic() - began)
        old = await run(knowledge.document, job.collection, job.key)
        keep = old is not None and old.status == "ready" and refused.status == "failed"
        if keep or isinstance(refused, _Unfetched):
            if old is not None:
                error = f"the newer version was not taken in: {refused}"
                await run(knowledge.note, old.id, replace(old.report, error=error))
                old = await run(knowledge.document, job.collection, job.key)
            await run(self._store.jobs.done, job.id, job.owner or "")
            return Added(key=job.key, outcome="failed", document=old, reason=str(refused))
        document = Document(
            id=old.id if old else f"doc_{secrets.token_hex(10)}",
            collection=collection.name,
            key=job.key,
            kind=job.kind,
            revision=f"rev_{secrets.token_hex(10)}",
            content_hash=refused.content_hash,
            status=refused.status,
            title=name_of(job.key, job.kind) or job.key,
            mime=refused.mime,
            pages=refused.pages,
            metadata=dict(job.metadata),
            report=report,
        )
        kept = await run(
            knowledge.publish, document, (), "", job=job.id, owner=job.owner or "", index=None
        )
        return Added(key=job.key, outcome=refused.status, document=kept, reason=str(refused))


class _Unfetched(Refused):
    """A page could not be had: that says nothing about what it holds."""


def other_embedder(collection: Collection, identity: str) -> ConfigError:
    """Return the error about a collection whose vectors another embedder made."""
    return ConfigError(
        f"the collection {collection.name!r} was embedded by {collection.embedder_id} and is"
        f" configured with {identity}: put {collection.embedder_id} back, or run `refdesk kb"
        f" reindex --collection {collection.name}`"
    )


def _same(old: Document | None, content_hash: str, job: Job) -> bool:
    return (
        old is not None
        and old.content_hash == content_hash
        and old.status in ("ready", "empty")
        and old.report.parser not in _RETIRED
        and dict(old.metadata) == dict(job.metadata)
    )


def chunks_from(document: Document, pieces: Sequence[Piece]) -> list[Chunk]:
    """Return the passages of a revision, of the parts of its text."""
    metadata = metadata_of(document)
    return [
        Chunk(
            id=f"{document.revision}-{ordinal}",
            document_id=document.id,
            revision=document.revision,
            collection=document.collection,
            ordinal=ordinal,
            text=piece.text,
            index_text=piece.index_text,
            page=piece.page,
            heading=piece.heading,
            start=piece.start,
            end=piece.end,
            metadata=metadata,
        )
        for ordinal, piece in enumerate(pieces)
    ]


def _first_heading(pieces: Sequence[Piece]) -> str:
    return next((piece.heading[0] for piece in pieces[:5] if piece.heading), "")


def _size(path: Path) -> int:
    """Return the size of a file; 0 of one that cannot be read, which is told later."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _hash(path: Path, limit: int) -> tuple[int, str]:
    """Return size and SHA-256 of a file; none is computed of one that is too large anyway."""
    size = path.stat().st_size
    if size > limit:
        return size, ""
    with path.open("rb") as file:
        return size, hashlib.file_digest(file, "sha256").hexdigest()


def _write(path: Path, body: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(body)


def failure_of(key: str, exc: RefdeskError, document: Document | None = None) -> Added:
    """Return what is said of a source whose job could not be done, and is kept."""
    return Added(key=key, outcome="failed", document=document, reason=str(exc))
