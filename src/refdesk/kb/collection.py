"""
The knowledge service: collections, and documents in them.

`Knowledge` is what the command line, the API and the library call.  Several processes may use one
store at once: a document is taken in by one of them, and the others find it there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from refdesk.config.fields import fitting_chunk_chars
from refdesk.config.references import COLLECTION_NAME
from refdesk.errors import ConfigError, StoreError
from refdesk.fetch import Fetcher
from refdesk.kb.ingest.jobs import OnProgress, Progress, Runner
from refdesk.kb.ingest.parse import ParseLimits, Parser
from refdesk.kb.ingest.pipeline import Added, Pipeline, other_embedder
from refdesk.kb.ingest.sources import key_of, sources_of, upload_key
from refdesk.kb.ingest.work import Here, Work
from refdesk.kb.metadata import check_metadata
from refdesk.kb.ports import ChunkIndex, PassageEmbedder
from refdesk.kb.reindex import rebuild
from refdesk.kb.remembered import refuse_secrets, without_secrets
from refdesk.store import Store
from refdesk.store.passages import Chunk, Collection, Counts, Document, Job

__all__ = ["Added", "Chunk", "Collection", "Document", "Job", "Knowledge", "OnProgress", "Progress"]

EmbedderFor = Callable[[Collection], PassageEmbedder]

_REINDEX_KEY: Final = " reindex"
"""A job that is no document's: no key of one begins with a space."""
_ABANDONED_S: Final = 3600.0


class Knowledge:
    """
    Collections and their documents.

    Args:
        store: Keeps what they say.
        index: Keeps vectors and words.
        embedder_for: Gives the embedder of a collection; its ``embedder`` says which.
        data_dir: Where bytes lie while they are worked on.
        fetcher: Gets pages of the web; without it URLs are refused.
        limits: What reading one document may cost.
        parser: Reads documents; one with those limits if None.
        work: Does what costs in place of this machine, with limits of its own.
    """

    def __init__(
        self,
        store: Store,
        index: ChunkIndex,
        embedder_for: EmbedderFor,
        *,
        data_dir: Path,
        fetcher: Fetcher | None = None,
        limits: ParseLimits | None = None,
        parser: Parser | None = None,
        work: Work | None = None,
    ) -> None:
        self.store = store
        self.index = index
        self.embedder_for = embedder_for
        self._folder = data_dir / "incoming"
        self._work = work or Here(parser or Parser(limits))
        self._pipeline = Pipeline(store, index, self._work, fetcher=fetcher, folder=self._folder)
        self._runner = Runner(store, self._pipeline, folder=self._folder)

    async def __aenter__(self) -> Knowledge:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.aclose()

    # Collections

    async def create(self, collection: Collection) -> Collection:
        """
        Make a collection, and return it as it is kept.

        Raises:
            ConfigError: Its name or a value of it is not allowed, its embedder cannot be, or has a
                key in it, which is not kept.
            BadMetadata: Its permission is larger than it may be.
            StoreError: There is one of that name.
        """
        if not COLLECTION_NAME.match(collection.name):
            raise ConfigError(
                f"a collection cannot be called {collection.name[:80]!r}: it needs a letter or"
                " digit, then at most 63 letters, digits, points, dashes and underscores"
            )
        check_chunk_chars(collection.chunk_chars)
        check_metadata({"permission": collection.permission}, name="collection")
        refuse_secrets(collection.name, collection.embedder)
        self.embedder_for(collection)
        return await self.store.run(self.store.knowledge.create, collection)

    async def list(self) -> Sequence[Collection]:
        """Return all collections, by name."""
        return await self.store.run(self.store.knowledge.collections)

    async def show(self, name: str) -> Collection:
        """Return a collection; StoreError if there is none of that name."""
        return await self.store.run(self.store.knowledge.collection, name)

    def configures(self, name: str) -> bool:
        """Return whether a configuration describes this collection; here there is none."""
        return False

    async def counts(self, name: str) -> Counts:
        """Return how much is in a collection; nothing is in one that is not there."""
        return await self.store.run(self.store.knowledge.counts, name)

    async def drop(self, name: str) -> None:
        """Delete a collection with everything in it; StoreError if there is none."""
        await self.show(name)
        for upload in await self.store.run(self.store.knowledge.drop, name):
            await asyncio.to_thread((self._folder / upload).unlink, missing_ok=True)
        await self._pipeline.sweep()

    async def reindex(
        self,
        name: str,
        *,
        embedder: Mapping[str, Any] | None = None,
        chunk_chars: int | None = None,
        progress: OnProgress | None = None,
    ) -> Collection:
        """
        Embed a collection anew; searches use the old index until the new one is whole.

        Documents whose passages have not the collection's length are parted anew.

        Args:
            name: The collection.
            embedder: Another embedder's settings; the configured one's if None.
            chunk_chars: Another length of passages; the collection's if None.
            progress: Told after each document.

        Raises:
            ConfigError: The passages would be too short.
            StoreError: There is no such collection, or another process is at this.
        """
        collection = await self.show(name)
        if chunk_chars is not None:
            check_chunk_chars(chunk_chars)
            collection = replace(collection, chunk_chars=chunk_chars)
        spec = dict(embedder) if embedder is not None else dict(collection.embedder)
        chosen = self.embedder_for(replace(collection, embedder=spec))
        run, jobs = self.store.run, self.store.jobs
        job, _ = await run(jobs.put, name, _REINDEX_KEY, kind="path")
        claimed = await self._runner.claim(job)
        if claimed is None:
            raise StoreError(
                f"the collection {name!r} is being re-indexed by another process; wait for it"
            )
        try:
            await self._pipeline.sweep()
            return await rebuild(
                self.store,
                self.index,
                self._pipeline,
                collection,
                chosen,
                claimed,
                spec=without_secrets(spec),
                progress=progress,
            )
        finally:
            await self._runner.end(claimed)
            await self._pipeline.sweep()

    # Documents

    async def add(
        self,
        name: str,
        sources: Sequence[str | Path] = (),
        *,
        metadata: Mapping[str, Any] | None = None,
        progress: OnProgress | None = None,
    ) -> Sequence[Added]:
        """
        Take in files, what is in folders, and pages of the web; return what became of each.

        What is there already with the same content is no work; with another content it is
        replaced.  A failure of one is no failure of the others.  What is returned, or told to
        ``progress``, as added or updated is in the store for good.

        Args:
            name: The collection.
            sources: Paths and URLs.
            metadata: Values that its passages can be filtered by.
            progress: Told after each document.

        Raises:
            StoreError: There is no such collection.
            ConfigError: It was embedded by another embedder.
            BadMetadata: The metadata is larger than documents may carry.
        """
        check_metadata(metadata or {})
        collection, embedder = await self._open(name)
        found = await asyncio.to_thread(lambda: [*sources_of(sources)])
        try:
            return await self._runner.add(
                collection, found, embedder, metadata=dict(metadata or {}), progress=progress
            )
        finally:
            await self._settle(collection)

    async def upload(
        self, name: str, filename: str, body: bytes, *, metadata: Mapping[str, Any] | None = None
    ) -> Added:
        """
        Take in bytes under a name; folders in the name are cut off, and it is no place to write.

        Raises:
            StoreError: There is no such collection.
            ConfigError: It was embedded by another embedder.
            BadMetadata: The metadata is larger than documents may carry.
        """
        check_metadata(metadata or {})
        collection, embedder = await self._open(name)
        try:
            return await self._runner.upload(
                collection, upload_key(filename), body, embedder, metadata=dict(metadata or {})
            )
        finally:
            await self._settle(collection)

    async def resume(
        self, name: str | None = None, *, progress: OnProgress | None = None
    ) -> Sequence[Added]:
        """Do what others left undone, in one collection or all, and clear up after them."""
        jobs = await self.store.run(self.store.jobs.open, name)
        await asyncio.to_thread(self._forget_files, {job.upload for job in jobs})
        wanted = [job for job in jobs if job.key != _REINDEX_KEY]
        if not self.store.embedded:
            # A file of another machine is not gone: whoever has it will do it.
            here = await asyncio.to_thread(lambda: [self._is_here(job) for job in wanted])
            wanted = [job for job, found in zip(wanted, here, strict=True) if found]
        # Half an index is of no use to anybody: the old one serves, and this one is swept.
        await self._give_up(job for job in jobs if job.key == _REINDEX_KEY and job.owner)
        done = await self._runner.resume(wanted, self._open, progress)
        await self._pipeline.sweep()
        return done

    async def remove(self, name: str, document: str) -> Document:
        """
        Delete a document: chunks, vectors, text and graph.

        Args:
            name: The collection.
            document: Its id, or the path, URL or name it was added from.

        Raises:
            StoreError: There is no such collection or document.
        """
        (found,) = await self.report(name, document)
        # What another process left undone of it must not bring it back.
        left = await self.store.run(self.store.jobs.open, name)
        await self._give_up(job for job in left if job.key == found.key)
        gone = await self.store.run(self.store.knowledge.forget, name, found.id) or found
        await self._pipeline.sweep()
        return gone

    async def documents(self, name: str) -> Sequence[Document]:
        """Return the documents of a collection, by key; StoreError if there is no such one."""
        await self.show(name)
        return await self.store.run(self.store.knowledge.documents, name)

    async def report(self, name: str, document: str | None = None) -> Sequence[Document]:
        """Return documents with their reports: all, or the one of that id or key."""
        if document is None:
            return await self.documents(name)
        await self.show(name)
        lookup = self.store.knowledge.document
        found = await self.store.run(lookup, name, document)
        if found is None:  # also as a path from where the caller stands, as it was given to `add`
            found = await self.store.run(lookup, name, key_of(Path(document)))
        if found is None:
            raise StoreError(
                f"the collection {name!r} has no document {document!r}; give its id, or the path,"
                " URL or name that `refdesk kb show` lists"
            )
        return [found]

    async def text(self, document_id: str, start: int, end: int) -> str:
        """Return some characters of a document's text, half-open; empty if there are none."""
        return await self.store.run(self.store.knowledge.text, document_id, start, end)

    async def aclose(self) -> None:
        """End what was started for taking documents in."""
        await self._runner.aclose()
        await self._work.aclose()

    async def _open(self, name: str) -> tuple[Collection, PassageEmbedder]:
        """Return a collection, which remembers its embedder from now on, and that embedder."""
        collection = await self.show(name)
        embedder = self.embedder_for(collection)
        if collection.embedder_id is None:
            collection = await self.store.run(
                self.store.knowledge.settle_embedder,
                name,
                embedder.identity,
                await embedder.dimension(),
            )
        if collection.embedder_id != embedder.identity:
            raise other_embedder(collection, embedder.identity)
        await self._check_there(collection)
        return collection, embedder

    async def _check_there(self, collection: Collection) -> None:
        """Raise StoreError where the index is lost: a new one would hide that documents are."""
        name = collection.name
        if await self.index.count(collection.index):
            return
        ready = (await self.counts(name)).ready
        # Another process may have put in the first one, or switched to another index, meanwhile.
        if not ready or await self.index.count(collection.index):
            return
        if (await self.show(name)).index == collection.index:
            raise StoreError(
                f"the vector store has nothing of the {ready} documents of {name!r}: its files are"
                f" gone; run `refdesk kb reindex {name}`, which makes them anew from the store"
            )

    async def _settle(self, collection: Collection) -> None:
        await self._pipeline.sweep()
        # There is no index as long as nothing was added, and none of this name after a switch or a
        # drop.  A search in an index that is not settled is slower, and no worse.
        with suppress(StoreError):
            await self.index.settle((await self.show(collection.name)).index)

    async def _give_up(self, jobs: Iterable[Job]) -> None:
        """End jobs undone, but for those whose owner is alive."""
        for job in jobs:
            if (claimed := await self._runner.claim(job)) is None:
                continue
            if job.key == _REINDEX_KEY:
                with suppress(StoreError):  # it is gone, and so is what was staged
                    index = (await self.show(job.collection)).index
                    await self.store.run(self.store.staging.discard, index)
            await self._runner.end(claimed)

    def _is_here(self, job: Job) -> bool:
        if job.upload is not None:
            return (self._folder / job.upload).exists()
        return job.kind != "path" or Path(job.key).exists()

    def _forget_files(self, wanted: set[str | None]) -> None:
        """Delete files that belong to no job and were left by a process that died."""
        if not self._folder.is_dir():
            return
        before = time.time() - _ABANDONED_S
        for path in self._folder.iterdir():
            with suppress(OSError):
                if path.name not in wanted and path.stat().st_mtime < before:
                    path.unlink()


def check_chunk_chars(chars: int) -> None:
    """Raise ConfigError, with the reason, if passages of such a length are not made."""
    try:
        fitting_chunk_chars(chars)
    except ValueError as exc:
        raise ConfigError(f"chunk_chars is {chars}, but {exc}") from None
