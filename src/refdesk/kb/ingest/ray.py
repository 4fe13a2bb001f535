"""
Documents read, parted and embedded on the machines of a Ray cluster: the extra ``ray``.

A document's bytes go to a worker through Ray's object store, and its passages in batches to whoever
is free, so that a long document is spread as well.  Workers get no key and no place to write to:
embedders that ask an endpoint ask it from here, and stores are written from here.  A worker that
dies is replaced by Ray, and what it had is done again elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import socket
import tempfile
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from refdesk.errors import ConfigError, IngestError, RefdeskError
from refdesk.kb.embedders import Embedder
from refdesk.kb.ingest.chunk import Piece
from refdesk.kb.ingest.parse import Parsed, ParseLimits, Parser, Refused, check_size
from refdesk.kb.ingest.work import batches, joined, pieces_of
from refdesk.kb.ports import PassageEmbedder, Vectors

T = TypeVar("T")

NOT_INSTALLED: Final = "Ray is not installed: run `pip install 'refdesk[ray]'`, or do without `ray`"
ROOM: Final = 128 * 1024 * 1024
"""How many bytes of documents are worked on at once; one that is larger has it all."""
_ENDPOINT_AT_ONCE: Final = 4
_CONNECT_S: Final = 10.0
_PROBE_S: Final = 120.0
"""A worker may have to be started first."""
_RETRIES: Final = 3
_LOCAL_STORE: Final = 512 * 1024 * 1024
_TMP: Final = "/tmp"  # noqa: S108
"""Where Ray has its files by itself too: the paths of sockets must be short."""
_QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # It would send the current folder, with the configuration in it, to all workers.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
_LOOPBACK: Final = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""With this, Ray listens on loopback only, on every system."""
_AUTH: Final = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Cluster:
    ray: Any
    read: Any
    embed: Any
    cpus: int
    folder: Path | None
    ours: bool
    """Whether it was connected here, and not by the program that uses Refdesk."""


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
        self._cluster: _Cluster | None = None
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
        done = await _done(cluster, cluster.read, _here(), body, name, self.limits, chars)
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
            await self._there(_disconnect, cluster)
        self._thread.shutdown(wait=False)

    async def _batch(self, embedder: PassageEmbedder, texts: Sequence[str]) -> Vectors:
        if not (isinstance(embedder, Embedder) and embedder.computes):
            async with self._asking:
                return await embedder.passages(texts)
        cluster = await self._connected()
        async with self._embedding:
            made = (type(embedder), embedder.options, embedder.identity)
            return await _done(cluster, cluster.embed, _here(), *made, list(texts))

    async def _connected(self) -> _Cluster:
        async with self._connecting:
            if self._cluster is None:
                self._cluster = await self._there(_connect, self._address, self._cpus)
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


def is_installed() -> bool:
    """Whether the extra ``ray`` is there."""
    return find_spec("ray") is not None


def _connect(address: str, cpus: int | None) -> _Cluster:
    """Connect to a cluster; in a thread, where Ray leaves the handlers of signals alone."""
    if not is_installed():
        raise ConfigError(NOT_INSTALLED)
    local = address == "local"
    # Without a token of ours Ray would put one into the home folder.
    values = _QUIET | _LOOPBACK | {_AUTH[1]: secrets.token_hex(32)} if local else _QUIET
    folder = None
    with _environment(values), warnings.catch_warnings():
        # Ray forks, and LanceDB, which would rather not, has nothing running in a child that execs.
        warnings.filterwarnings("ignore", message="lancedb fork", category=RuntimeWarning)
        import ray
        from ray._private import ray_constants, worker

        # Where the program has imported Ray before, it has looked at the environment already.
        ray_constants.RAY_ENABLE_UV_RUN_RUNTIME_ENV = False
        ray_constants.ENABLE_RAY_CLUSTER = not local and ray_constants.ENABLE_RAY_CLUSTER
        ours = not ray.is_initialized()
        if ours:
            # It would write to standard output that a worker died, whatever `log_to_driver` says.
            worker._worker_logs_enabled = False
            logging.getLogger("ray").setLevel(logging.ERROR)
            options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
            if local:
                folder = Path(tempfile.mkdtemp(prefix="refdesk-ray-", dir=_TMP))
                options |= {
                    "num_cpus": cpus,
                    "include_dashboard": False,
                    "object_store_memory": _LOCAL_STORE,
                    "_node_ip_address": "127.0.0.1",
                    # Ray lets everybody into its folder, so that it gets one in ours.
                    "_temp_dir": str(folder / "r"),
                }
            else:
                _check_reachable(address)
            try:
                ray.init(address=address, **options)
            except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as exc:
                _remove(folder)
                raise _away(address, exc) from None
    cluster = _Cluster(
        ray=ray,
        read=ray.remote(read_there).options(num_cpus=1, max_retries=_RETRIES),
        embed=ray.remote(embed_there).options(num_cpus=1, max_retries=_RETRIES),
        cpus=int(_resources(ray).get("CPU", 0)),
        folder=folder,
        ours=ours,
    )
    try:
        if not cluster.cpus:
            raise IngestError(f"the Ray cluster at {address} has no processors: start a worker")
        _check_workers(ray)
    except BaseException:
        if ours:
            _disconnect(cluster)
        raise
    return cluster


def _resources(ray: Any) -> dict[str, float]:
    found: dict[str, float] = ray.cluster_resources()
    return found


def _disconnect(cluster: _Cluster) -> None:
    cluster.ray.shutdown()
    _remove(cluster.folder)


def _remove(folder: Path | None) -> None:
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set variables of the environment for a while; Ray looks at them while it starts."""
    before = {name: os.environ.get(name) for name in (*values, *_AUTH)}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _check_reachable(address: str) -> None:
    """Raise IngestError where nobody listens: Ray itself would try for many minutes."""
    where = address
    if address == "auto":
        noted = Path(os.environ.get("RAY_TMPDIR", _TMP), "ray", "ray_current_cluster")
        where = os.environ.get("RAY_ADDRESS") or (noted.read_text() if noted.is_file() else "")
    try:
        url = urlsplit(where if "://" in where else f"ray://{where.strip()}")
        if url.hostname is not None and url.port is not None:
            socket.create_connection((url.hostname, url.port), _CONNECT_S).close()
    except (OSError, ValueError) as exc:
        raise _away(address, exc) from None


def _away(address: str, why: Exception) -> IngestError:
    said = " ".join(str(why).split())[:300] or type(why).__name__
    return IngestError(
        f"the Ray cluster at {address!r} cannot be used ({said}): start it, correct `ingest.ray`, "
        "or leave it out to work on this machine"
    )


def _check_workers(ray: Any) -> None:
    """Raise ConfigError unless every machine that works has Refdesk in this version."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def installed() -> str | None:  # it travels by value: who has no Refdesk can run it
        from importlib import metadata

        try:
            return metadata.version("refdesk")
        except metadata.PackageNotFoundError:
            return None

    probe = ray.remote(installed)
    asked = {
        node["NodeManagerAddress"]: probe.options(
            num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], False)
        ).remote()
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU")
    }
    try:
        found = dict(zip(asked, ray.get(list(asked.values()), timeout=_PROBE_S), strict=True))
    except ray.exceptions.RayError as exc:
        raise IngestError(
            f"the workers of the Ray cluster do not answer ({type(exc).__name__}): look at"
            " `ray status`"
        ) from None
    for machine, theirs in found.items():
        if theirs != _here():
            raise _other_version(machine, theirs)


def _other_version(machine: str, theirs: str | None) -> ConfigError:
    has = f"has Refdesk {theirs}" if theirs else "has no Refdesk"
    return ConfigError(
        f"the Ray worker {machine} {has}, and here it is {_here()}: run "
        f"`pip install 'refdesk[ray]=={_here()}'` there"
    )


async def _done(cluster: _Cluster, task: Any, *args: Any) -> Any:
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
            f"a Ray worker failed over it ({type(exc.cause).__name__}): see that Refdesk {_here()}"
            " is on every machine, and add it again"
        ) from None
    except (ray.exceptions.RayError, ConnectionError) as exc:
        raise IngestError(
            f"no Ray worker could finish it in {_RETRIES + 1} tries ({type(exc).__name__}): see"
            " `ray status` and the workers' memory, and add it again"
        ) from None


def _bytes(path: Path) -> Any:
    import numpy as np

    # As an array it goes into the object store, and out of it, without a copy more.
    return np.fromfile(path, dtype=np.uint8)


# On workers, each of which does one thing at a time


def read_there(
    theirs: str, body: Any, name: str, limits: ParseLimits, chars: int
) -> tuple[Parsed, list[Piece]] | Refused:
    """Read and part a document, whose parser runs in a child process as everywhere."""
    _check_same(theirs)
    with tempfile.NamedTemporaryFile(prefix="refdesk-") as file:
        file.write(body)
        file.flush()
        try:
            parsed = _loop().run(_parser(limits).read(Path(file.name), name))
        except Refused as refused:
            return refused
    return parsed, pieces_of(parsed, chars)


def embed_there(
    theirs: str, kind: type[Embedder], options: Any, identity: str, texts: Sequence[str]
) -> Vectors:
    """Embed passages by an embedder that this process makes once."""
    _check_same(theirs)
    embedder = _embedder(kind, options)
    if embedder.identity != identity:
        raise ConfigError(
            f"the Ray worker {socket.gethostname()} embeds by {embedder.identity}, and {identity} "
            "is wanted: install the same there"
        )
    return _loop().run(embedder.passages(texts))


def _here() -> str:
    return version("refdesk")


def _check_same(theirs: str) -> None:
    """Look again: a machine may have joined after all were asked."""
    if theirs != _here():
        raise ConfigError(
            f"the Ray worker {socket.gethostname()} has Refdesk {_here()}, and {theirs} asked it: "
            f"run `pip install 'refdesk[ray]=={theirs}'` there"
        )


@cache
def _loop() -> asyncio.Runner:
    return asyncio.Runner()


@cache
def _parser(limits: ParseLimits) -> Parser:
    return Parser(limits)


@cache
def _embedder(kind: type[Embedder], options: Any) -> Embedder:
    return kind(options)
