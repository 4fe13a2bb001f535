"""
Documents read, parted and embedded on the machines of a Ray cluster: the extra ``ray``.

A document's bytes go to a worker through Ray's object store, and its passages in batches to whoever
is free, so that a long document is spread as well.  Workers get no key and no place to write to:
embedders that ask an endpoint ask it from here, and stores are written from here.  A worker that
dies is replaced by Ray, and what it had is done again elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from refdesk.errors import IngestError, RefdeskError
from refdesk.kb.embedders import Embedder
from refdesk.kb.ingest.chunk import Piece
from refdesk.kb.ingest.parse import Parsed, ParseLimits, Refused, check_size
from refdesk.kb.ingest.ray_cluster import RETRIES, Cluster, connect, disconnect
from refdesk.kb.ingest.ray_worker import here
from refdesk.kb.ingest.work import batches, joined
from refdesk.kb.ports import PassageEmbedder, Vectors

T = TypeVar("T")

ROOM: Final = 128 * 1024 * 1024
"""How many bytes of documents are worked on at once; one that is larger has it all."""
_ENDPOINT_AT_ONCE: Final = 4


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
        # What Ray starts ends with the thread that started it, so that one must last.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ray")
        self._cluster: Cluster | None = None
        self._room = _Room(ROOM)
        self._embedding = asyncio.Semaphore(1)
        self._asking = asyncio.Semaphore(_ENDPOINT_AT_ONCE)

    async def ready(self) -> int:
        """
        Connect, and return how many documents to work on at once.

        Raises:
            ConfigError: Ray is not installed, or Refdesk is not on a worker in this version.
            IngestError: There is no such cluster, or it has no processors.
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
        done = await _done(cluster, cluster.read, here(), body, name, self.limits, chars)
        if isinstance(done, Refused):
            raise done
        parsed, pieces = done
        return parsed, pieces

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
        """Let go of the cluster; one that is ``local`` ends."""
        cluster, self._cluster = self._cluster, None
        if cluster is not None and cluster.ours:
            await self._there(disconnect, cluster)
        self._thread.shutdown(wait=False)

    async def _batch(self, embedder: PassageEmbedder, texts: Sequence[str]) -> Vectors:
        if not (isinstance(embedder, Embedder) and embedder.computes):
            async with self._asking:
                return await embedder.passages(texts)
        cluster = await self._connected()
        async with self._embedding:
            made = (type(embedder), embedder.options, embedder.identity)
            return await _done(cluster, cluster.embed, here(), *made, list(texts))

    async def _connected(self) -> Cluster:
        async with self._connecting:
            if self._cluster is None:
                self._cluster = await self._there(connect, self._address, self._cpus)
                # More than can be worked on, so that a cluster that grows sees why.
                self._embedding = asyncio.Semaphore(2 * self._cluster.cpus)
            return self._cluster

    async def _there(self, function: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *args)


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


async def _done(cluster: Cluster, task: Any, *args: Any) -> Any:
    """Have a worker do something, and return what comes of it."""
    ray = cluster.ray
    ref = await asyncio.to_thread(task.remote, *args)
    try:
        return await ref
    except asyncio.CancelledError:
        ray.cancel(ref)
        raise
    except ray.exceptions.RayTaskError as exc:
        if isinstance(exc.cause, RefdeskError):
            raise exc.cause from None
        # What it says in full is in Ray's own logs, and may quote the document.
        raise IngestError(
            f"a Ray worker failed over it ({type(exc.cause).__name__}): see that Refdesk {here()}"
            " is on every machine, and add it again"
        ) from None
    except (ray.exceptions.RayError, ConnectionError) as exc:
        raise IngestError(
            f"no Ray worker could finish it in {RETRIES + 1} tries ({type(exc).__name__}): see"
            " `ray status` and the workers' memory, and add it again"
        ) from None


def _bytes(path: Path) -> Any:
    import numpy as np

    # As an array it goes into the object store, and out of it, without a copy more.
    return np.fromfile(path, dtype=np.uint8)
