"""
Documents read, parted and embedded on the machines of a Ray cluster: the extra ``ray``.

A document's bytes go to a worker through Ray's object store, and its passages in batches to whoever
is free, so that a long document is spread as well.  Workers get no key and no place to write to:
embedders that ask an endpoint ask it from here, and stores are written from here.  A worker that
dies is replaced by Ray, and what it had is done again elsewhere.  Nothing is waited for without a
limit: Ray itself would try for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from refdesk.errors import IngestError, RefdeskError
from refdesk.kb.embedders import Embedder
from refdesk.kb.ingest.chunk import Piece, Shape
from refdesk.kb.ingest.parse import Parsed, ParseLimits, Parser, Refused, check_size
from refdesk.kb.ingest.ray_cluster import RETRIES, Cluster, connect, disconnect, silent
from refdesk.kb.ingest.ray_local import kill, new_folder
from refdesk.kb.ingest.ray_thread import RayThread
from refdesk.kb.ingest.ray_worker import here
from refdesk.kb.ingest.work import batches, joined
from refdesk.kb.ports import PassageEmbedder, Vectors

ROOM: Final = 128 * 1024 * 1024
"""How many bytes of documents are worked on at once; one that is larger has it all."""
_ENDPOINT_AT_ONCE: Final = 4
_CONNECT_S: Final = 120.0
_TASK_S: Final = 900.0
"""One task: its wait for a processor, and its tries."""
_END_S: Final = 30.0


class OnRay:
    """
    Works on a cluster, which is connected when there is work.

    Args:
        address: ``auto`` for the cluster that this machine belongs to, ``host:port`` or
            ``ray://host:port`` for another, ``local`` for one on this machine alone, which is
            started, listens on loopback, and ends with `aclose`.
        limits: What reading one document may cost.
        cpus: How many processors one that is ``local`` has; all of this machine's if None.
    """

    def __init__(
        self, address: str, limits: ParseLimits | None = None, *, cpus: int | None = None
    ) -> None:
        self.limits = limits or ParseLimits()
        self._address = address
        self._cpus = cpus
        self._connecting = asyncio.Lock()
        self._thread = RayThread()
        self._late: Future[Cluster] | None = None
        self._cluster: Cluster | None = None
        self._parser = Parser(self.limits)
        self._room = _Room(ROOM)
        self._embedding = asyncio.Semaphore(1)
        self._asking = asyncio.Semaphore(_ENDPOINT_AT_ONCE)

    async def ready(self) -> int:
        """
        Connect, and return how many documents to work on at once.

        Raises:
            ConfigError: Ray is not installed, or Refdesk is not on a worker in this version.
            IngestError: There is no such cluster, it has no processors, it does not answer within
                two minutes, or there is too little memory for one that is ``local``.
        """
        return 2 * (await self._connected()).cpus + 2

    def room(self, size: int) -> AbstractAsyncContextManager[None]:
        """Wait until documents of `ROOM` bytes, with this one, are worked on at most."""
        return self._room.take(size)

    async def read(self, path: Path, name: str, *, chars: int) -> tuple[Parsed, list[Piece]]:
        """Return what a document says, and its parts; see `refdesk.kb.ingest.work.Work.read`."""
        await asyncio.to_thread(check_size, path, self.limits)
        cluster = await self._connected()
        try:
            body = await asyncio.to_thread(_bytes, path)
        except OSError as exc:
            raise Refused(f"it cannot be opened ({exc.strerror})") from None
        done = await self._done(cluster, cluster.read, here(), body, name, self.limits, chars)
        if isinstance(done, Refused):
            raise done
        parsed, pieces = done
        return parsed, pieces

    async def part(
        self, text: str, *, shape: Shape, chars: int, pages: Sequence[int]
    ) -> list[Piece]:
        """Return the parts of a text; that costs too little to be sent away."""
        return await self._parser.part(text, shape=shape, chars=chars, pages=pages)

    async def passages(self, embedder: PassageEmbedder, texts: Sequence[str]) -> Vectors:
        """Return one vector per text; several batches are embedded at once."""
        tasks = [asyncio.create_task(self._batch(embedder, each)) for each in batches(texts)]
        try:
            return joined(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def aclose(self) -> None:
        """Let go of the cluster; one that is ``local`` ends, within half a minute at most."""
        cluster, self._cluster = self._cluster, None
        await self._parser.aclose()
        try:
            if cluster is not None and cluster.ours:
                gone = self._thread.call(disconnect, cluster)
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.wrap_future(gone), _END_S)
        finally:
            if cluster is not None and cluster.folder is not None:
                kill(cluster.folder)
            self._thread.end()

    async def _batch(self, embedder: PassageEmbedder, texts: Sequence[str]) -> Vectors:
        if not (isinstance(embedder, Embedder) and embedder.computes):
            async with self._asking:
                return await embedder.passages(texts)
        cluster = await self._connected()
        async with self._embedding:
            made = (type(embedder), embedder.options, embedder.identity)
            return await self._done(cluster, cluster.embed, here(), *made, list(texts))

    async def _connected(self) -> Cluster:
        async with self._connecting:
            if self._cluster is None:
                self._cluster = await self._connect()
                # More than can be worked on, so that a cluster that grows sees why.
                self._embedding = asyncio.Semaphore(2 * self._cluster.cpus)
            return self._cluster

    async def _connect(self) -> Cluster:
        if self._late is not None and not self._late.done():
            raise silent(self._address, _CONNECT_S)
        folder = await asyncio.to_thread(new_folder) if self._address == "local" else None
        made = self._thread.call(connect, self._address, self._cpus, folder)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(made), _CONNECT_S)
        except BaseException as exc:
            if folder is not None:
                kill(folder)
            if made.done():
                raise
            self._late = made
            made.add_done_callback(_let_go)
            if isinstance(exc, TimeoutError):
                raise silent(self._address, _CONNECT_S) from None
            raise

    async def _done(self, cluster: Cluster, task: Any, *args: Any) -> Any:
        """Have a worker do something, and return what comes of it."""
        ray, ref = cluster.ray, None
        try:
            async with asyncio.timeout(_TASK_S):
                ref = await asyncio.wrap_future(self._thread.call(task.remote, *args))
                # `ray.cancel` ends it: by itself a client prints traces when it is cancelled.
                waiting = asyncio.ensure_future(ref)
                waiting.add_done_callback(_heard)
                return await asyncio.shield(waiting)
        except ray.exceptions.RayTaskError as exc:
            if isinstance(exc.cause, RefdeskError):
                raise exc.cause from None
            # What it says in full is in Ray's own logs, and may quote the document.
            raise IngestError(
                f"a Ray worker failed over it ({type(exc.cause).__name__}): see that Refdesk "
                f"{here()} is on every machine, and add it again"
            ) from None
        except (ray.exceptions.RayError, ConnectionError) as exc:
            raise IngestError(
                f"no Ray worker could finish it in {RETRIES + 1} tries ({type(exc).__name__}): see"
                " `ray status` and the workers' memory, and add it again"
            ) from None
        except (asyncio.CancelledError, TimeoutError) as exc:
            if ref is not None:
                self._thread.call(ray.cancel, ref)
            if isinstance(exc, asyncio.CancelledError):
                raise
            raise IngestError(
                f"no Ray worker has finished it in {_TASK_S / 60:.0f} minutes: see `ray status` and"
                " the workers' memory, and add it again"
            ) from None


class _Room:
    """So much of something, of which whoever wants more than there is gets all."""

    def __init__(self, size: int) -> None:
        self._size = self._free = size
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def take(self, size: int) -> AsyncIterator[None]:
        """Wait for so much, and hold it."""
        size = min(size, self._size)
        async with self._changed:
            await self._changed.wait_for(lambda: self._free >= size)
            self._free -= size
        try:
            yield
        finally:
            self._free += size
            async with self._changed:
                self._changed.notify_all()


def _heard(waiting: asyncio.Future[Any]) -> None:
    """Look at what became of it, of which asyncio tells on standard error otherwise."""
    if not waiting.cancelled():
        waiting.exception()


def _let_go(made: Future[Cluster]) -> None:
    """Let go of a cluster that was connected when nobody waited any more."""
    if not made.cancelled() and made.exception() is None and made.result().ours:
        disconnect(made.result())


def _bytes(path: Path) -> Any:
    import numpy as np

    # As an array it goes into the object store, and out of it, without a copy more.
    return np.fromfile(path, dtype=np.uint8)
