"""
Adding documents as jobs in the store: several at a time, each of them once, resumable.

Every source becomes a job before the first is worked on.  Whoever works on one holds a lease and
renews it; of a process that died, the jobs are free when the lease is over, or at once where it can
be seen on this machine that it is gone.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from refdesk.errors import RefdeskError
from refdesk.kb.ingest.pipeline import Added, Outcome, Pipeline, failure_of
from refdesk.kb.ingest.sources import Skipped, Source
from refdesk.kb.ingest.sparing import sparing
from refdesk.kb.ports import PassageEmbedder
from refdesk.store import Store
from refdesk.store.passages import Collection, Job

LEASE_S: Final = 60.0
"""Seconds that a claim lasts without a sign of life from its owner; then others may claim it."""
FIRST_PAUSE_S: Final = 0.1
"""Seconds before the second look at a document that another owner works on; each pause grows."""
LONGEST_PAUSE_S: Final = 2.0
"""Seconds between two looks at a document that another owner works on."""
MAX_WAIT_S: Final = 3_600.0
"""Seconds of these pauses in all; a document that is still worked on then is reported failed."""

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far a long call is."""

    done: int
    total: int
    key: str
    """What was finished last."""
    bytes_done: int
    bytes_total: int
    """Of files; pages of the web have no size before they are fetched."""
    seconds: float
    left_s: float | None
    """About how long it will still take; None as long as that cannot be said."""
    last: Added | None = None


OnProgress = Callable[[Progress], Awaitable[None] | None]


async def told(progress: OnProgress | None, how_far: Progress) -> None:
    """Tell whoever wants to know how far a call is."""
    if progress is not None:
        said = progress(how_far)
        if inspect.isawaitable(said):
            await said


class Runner:
    """
    Works on jobs.

    Args:
        store: Where they are.
        pipeline: Does one.
        folder: Where uploads wait.
        lease_s: How long a claim lasts without a sign of life.
        sleep: Waits between two looks at a document that another owner works on.
    """

    def __init__(
        self,
        store: Store,
        pipeline: Pipeline,
        *,
        folder: Path,
        lease_s: float = LEASE_S,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._store = store
        self._pipeline = pipeline
        self._folder = folder
        self._lease_s = lease_s
        self._sleep = sleep
        self._closing = asyncio.Event()
        self.owner = owner_here()
        self._mine: set[str] = set()
        self._keeper: asyncio.Task[None] | None = None

    async def add(
        self,
        collection: Collection,
        sources: Sequence[Source | Skipped],
        embedder: PassageEmbedder,
        *,
        metadata: Mapping[str, Any],
        progress: OnProgress | None = None,
    ) -> list[Added]:
        """
        Take sources in, and return what became of each, in their order.

        Raises:
            RefdeskError: Whatever does the work is not to be had; no job was made.
        """
        kinds = {one.key: one.kind for one in sources if isinstance(one, Source)}
        if kinds:
            await self._pipeline.ready()
        await self._store.run(self._store.jobs.put_all, collection.name, kinds, metadata)
        spared = sparing(embedder)

        async def work(source: Source | Skipped) -> Added:
            if isinstance(source, Skipped):
                outcome: Outcome = "failed" if source.failed else "skipped"
                return Added(key=source.key, outcome=outcome, reason=source.reason)
            return await self._one(collection, source, spared, metadata, None)

        return await self._each(sources, work, progress)

    async def upload(
        self,
        collection: Collection,
        key: str,
        body: bytes,
        embedder: PassageEmbedder,
        *,
        metadata: Mapping[str, Any],
    ) -> Added:
        """
        Take in bytes that were sent, which outlive this process once whatever works is there.

        Raises:
            RefdeskError: It is not to be had; no job was made.
        """
        await self._pipeline.ready()
        name = f"upload-{secrets.token_hex(12)}"
        path = self._folder / name
        await asyncio.to_thread(_keep, path, body)
        source = Source(key=key, kind="upload", path=path, size=len(body))
        try:
            return await self._one(collection, source, embedder, metadata, name)
        finally:
            if await self._open_job(collection.name, key, name) is None:
                await asyncio.to_thread(path.unlink, missing_ok=True)

    async def resume(
        self,
        jobs: Sequence[Job],
        of: Callable[[str], Awaitable[tuple[Collection, PassageEmbedder]]],
        progress: OnProgress | None = None,
    ) -> list[Added]:
        """Do jobs that were left behind; those whose owner is alive are left to it."""
        spared: dict[str, PassageEmbedder] = {}

        async def work(job: Job) -> Added:
            claimed = await self.claim(job)
            if claimed is None:
                reason = "another process is at it"
                return Added(key=job.key, outcome="skipped", reason=reason)
            try:
                collection, embedder = await of(job.collection)
            except RefdeskError as exc:
                await self._release(claimed)
                return failure_of(job.key, exc)
            embedder = spared.setdefault(job.collection, sparing(embedder))
            return await self._do(claimed, collection, embedder)

        return await self._each(jobs, work, progress)

    async def _one(
        self,
        collection: Collection,
        source: Source,
        embedder: PassageEmbedder,
        metadata: Mapping[str, Any],
        upload: str | None,
    ) -> Added:
        for pause in _pauses():
            job = await self._claimed(collection, source, metadata, upload)
            if job is not None:
                return await self._do(job, collection, embedder, source.path)
            # Another owner works on this very document.  When it is done, it is found unchanged.
            if not await self._pause(pause):
                reason = "this process ends while another works on it: add it again"
                break
        else:
            reason = f"others worked on it for {MAX_WAIT_S / 60:.0f} minutes: add it again later"
        return Added(key=source.key, outcome="failed", reason=reason)

    async def _claimed(
        self,
        collection: Collection,
        source: Source,
        metadata: Mapping[str, Any],
        upload: str | None,
    ) -> Job | None:
        """Return the job for a source, held by this process; None while another owner has it."""
        run, jobs = self._store.run, self._store.jobs
        job, fresh = await run(
            jobs.put,
            collection.name,
            source.key,
            kind=source.kind,
            metadata=metadata,
            upload=upload,
            owner=self.owner,
            lease_s=self._lease_s,
        )
        if fresh:
            return self._hold(job)
        claimed = await self.claim(job)
        if claimed is None:
            return None
        same = (claimed.kind, claimed.upload) == (source.kind, upload)
        if same and dict(claimed.metadata) == dict(metadata):
            return claimed
        # What was left undone here is an older version: this one takes its place.
        try:
            newer = await run(
                jobs.replace,
                claimed.id,
                self.owner,
                kind=source.kind,
                metadata=metadata,
                upload=upload,
            )
        except BaseException:
            await self._let_go(claimed)
            raise
        if newer is None:
            self._mine.discard(claimed.id)
        elif claimed.upload not in (None, upload):
            path = self._folder / claimed.upload
            await asyncio.to_thread(path.unlink, missing_ok=True)
        return newer

    async def _pause(self, seconds: float) -> bool:
        """Wait; False as soon as this process closes."""
        closing = asyncio.ensure_future(self._closing.wait())
        sleeping = asyncio.ensure_future(self._sleep(seconds))
        try:
            await asyncio.wait((closing, sleeping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            closing.cancel()
            sleeping.cancel()
        return not self._closing.is_set()

    async def _do(
        self,
        job: Job,
        collection: Collection,
        embedder: PassageEmbedder,
        path: Path | None = None,
    ) -> Added:
        upload = None
        if job.upload is not None:
            path = upload = self._folder / job.upload
        elif job.kind == "path" and path is None:
            path = Path(job.key)
        try:
            added = await self._pipeline.take(job, collection, embedder, path=path)
        except RefdeskError as exc:
            await self._release(job)
            return failure_of(job.key, exc)
        except BaseException:
            await self._let_go(job)
            raise
        self._mine.discard(job.id)
        if upload is not None:
            await asyncio.to_thread(upload.unlink, missing_ok=True)
        return added

    async def claim(self, job: Job) -> Job | None:
        """Take a job, and hold it until it ends; None if somebody alive has it, or it is done."""
        over = job.owner if job.owner is not None and is_dead(job.owner) else None
        claimed = await self._store.run(
            self._store.jobs.claim, job.id, self.owner, lease_s=self._lease_s, over=over
        )
        return None if claimed is None else self._hold(claimed)

    def _hold(self, job: Job) -> Job:
        self._mine.add(job.id)
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.create_task(self._keep_leases())
        return job

    async def end(self, job: Job) -> None:
        """End a job that was claimed here and has nothing to publish."""
        self._mine.discard(job.id)
        await self._store.run(self._store.jobs.done, job.id, self.owner)

    async def _let_go(self, job: Job) -> None:
        """Release a job whose work was cut off, also if this is cut off too."""
        with suppress(Exception):
            await asyncio.shield(self._release(job))

    async def _release(self, job: Job) -> None:
        self._mine.discard(job.id)
        await self._store.run(self._store.jobs.release, job.id, self.owner)

    async def _keep_leases(self) -> None:
        while self._mine:
            await asyncio.sleep(self._lease_s / 3)
            with suppress(RefdeskError):  # the next time will do
                await self._store.run(
                    self._store.jobs.keep, list(self._mine), self.owner, lease_s=self._lease_s
                )

    async def _open_job(self, collection: str, key: str, upload: str) -> Job | None:
        found = await self._store.run(self._store.jobs.open, collection)
        return next((job for job in found if (job.key, job.upload) == (key, upload)), None)

    async def _each(
        self,
        things: Sequence[Any],
        work: Callable[[Any], Awaitable[Added]],
        progress: OnProgress | None,
    ) -> list[Added]:
        """Work on several at once; return what came of all, in their order."""
        results: dict[int, Added] = {}
        sizes = [getattr(thing, "size", 0) for thing in things]
        began, bytes_total, bytes_done = time.monotonic(), sum(sizes), 0
        waiting = iter(enumerate(things))

        async def worker() -> None:
            nonlocal bytes_done
            for at, thing in waiting:
                results[at] = added = await work(thing)
                bytes_done += sizes[at]
                seconds = time.monotonic() - began
                share = bytes_done / bytes_total if bytes_total else len(results) / len(things)
                await told(
                    progress,
                    Progress(
                        done=len(results),
                        total=len(things),
                        key=added.key,
                        bytes_done=bytes_done,
                        bytes_total=bytes_total,
                        seconds=seconds,
                        left_s=seconds * (1 - share) / share if share else None,
                        last=added,
                    ),
                )

        at_once = await self._pipeline.ready() if things else 0
        async with asyncio.TaskGroup() as group:
            for _ in range(min(at_once, len(things))):
                group.create_task(worker())
        return [results[at] for at in range(len(things))]

    async def aclose(self) -> None:
        """Stop waiting for others, and renewing leases."""
        self._closing.set()
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper


def _pauses() -> Iterator[float]:
    """Yield pauses that grow, `MAX_WAIT_S` in all."""
    pause, waited = FIRST_PAUSE_S, 0.0
    while waited < MAX_WAIT_S:
        yield pause
        waited += pause
        pause = min(1.5 * pause, LONGEST_PAUSE_S)


def owner_here() -> str:
    """Return a name for this process that tells others on this machine whether it lives."""
    pid = os.getpid()
    return f"{socket.gethostname()}/{pid}/{_started(pid) or 0}/{secrets.token_hex(4)}"


def is_dead(owner: str) -> bool:
    """Whether an owner was a process of this machine that is gone; False where nobody can say."""
    host, _, rest = owner.partition("/")
    pid, _, rest = rest.partition("/")
    started = rest.partition("/")[0]
    if host != socket.gethostname() or not pid.isdigit() or started in ("", "0"):
        return False
    return _started(int(pid)) != started


def _started(pid: int) -> str | None:
    """Return when a process started, in the kernel's ticks; None if there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    # The 22nd field; state, the third, is the first one after the name.
    return None if fields[0] in "ZX" else fields[19]


def _keep(path: Path, body: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
