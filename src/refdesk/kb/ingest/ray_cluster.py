"""
A Ray cluster, found or started, whose workers have what is needed.

Nothing is told to anyone about its use, no folder is sent to it, and one that is started listens on
loopback only.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from refdesk.errors import ConfigError, IngestError
from refdesk.kb.ingest.ray_local import RAY, STORE, TMP, workers
from refdesk.kb.ingest.ray_worker import embed_there, here, read_there

NOT_INSTALLED: Final = "Ray is not installed: run `pip install 'refdesk[ray]'`, or do without `ray`"
_REACH_S: Final = 10.0
_PROBE_S: Final = 90.0
"""A worker may have to be started first."""
RETRIES: Final = 3
_QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # It would send the current folder, with the configuration in it, to all workers.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # What was ended for lack of memory would be tried again without end.
    "RAY_task_oom_retries": str(RETRIES),
}
_LOOPBACK: Final = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""With this, Ray listens on loopback only, on every system."""
_AUTH: Final = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """A cluster, and what its workers can do."""

    ray: Any
    read: Any
    embed: Any
    cpus: int
    folder: Path | None
    ours: bool
    """Whether it was connected here, and not by the program that uses Refdesk."""


def is_installed() -> bool:
    """Whether the extra ``ray`` is there."""
    return find_spec("ray") is not None


def connect(address: str, cpus: int | None, folder: Path | None) -> Cluster:
    """
    Connect to a cluster; in a thread, where Ray leaves the handlers of signals alone.

    It may take for ever.

    Args:
        address: See `refdesk.kb.ingest.ray.OnRay`.
        cpus: Likewise.
        folder: Where one that is ``local`` has its files.

    Raises:
        ConfigError: Ray is not installed, or Refdesk is not on a worker in this version.
        IngestError: There is no such cluster, or it cannot be used.
    """
    if not is_installed():
        raise ConfigError(NOT_INSTALLED)
    local = folder is not None
    # Without a token of ours Ray would put one into the home folder.
    values = _QUIET | _LOOPBACK | {_AUTH[1]: secrets.token_hex(32)} if local else _QUIET
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
            if folder is not None:
                options |= {
                    "num_cpus": workers(cpus),
                    "include_dashboard": False,
                    "object_store_memory": STORE,
                    "_node_ip_address": "127.0.0.1",
                    "_temp_dir": str(folder / RAY),
                }
            else:
                _check_reachable(address)
            try:
                ray.init(address=address, **options)
            except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as exc:
                raise _away(address, exc) from None
    cluster = Cluster(
        ray=ray,
        read=ray.remote(read_there).options(num_cpus=1, max_retries=RETRIES),
        embed=ray.remote(embed_there).options(num_cpus=1, max_retries=RETRIES),
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
            disconnect(cluster)
        raise
    return cluster


def _resources(ray: Any) -> dict[str, float]:
    found: dict[str, float] = ray.cluster_resources()
    return found


def disconnect(cluster: Cluster) -> None:
    """Let go of a cluster; one that was started ends."""
    cluster.ray.shutdown()


def silent(address: str, seconds: float) -> IngestError:
    """Return what to raise where Ray says nothing for so long."""
    return IngestError(
        f"the Ray cluster at {address!r} has not answered for {seconds:.0f} s: give its machines "
        "memory (`ray status` says how they are) and add it again, or leave `ingest.ray` out to "
        "work without a cluster"
    )


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
        noted = Path(os.environ.get("RAY_TMPDIR", TMP), "ray", "ray_current_cluster")
        where = os.environ.get("RAY_ADDRESS") or (noted.read_text() if noted.is_file() else "")
    try:
        url = urlsplit(where if "://" in where else f"ray://{where.strip()}")
        if url.hostname is not None and url.port is not None:
            socket.create_connection((url.hostname, url.port), _REACH_S).close()
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
        node["NodeID"]: probe.options(
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
    for node in ray.nodes():
        if (theirs := found.get(node["NodeID"], here())) != here():
            raise _other_version(node["NodeManagerAddress"], theirs)


def _other_version(machine: str, theirs: str | None) -> ConfigError:
    has = f"has Refdesk {theirs}" if theirs else "has no Refdesk"
    return ConfigError(
        f"the Ray worker {machine} {has}, and here it is {here()}: run "
        f"`pip install 'refdesk[ray]=={here()}'` there"
    )
