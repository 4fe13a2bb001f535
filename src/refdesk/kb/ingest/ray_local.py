"""A Ray cluster on this machine alone: what it may take, where its files are, and its end."""

from __future__ import annotations

import atexit
import os
import select
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from refdesk.errors import IngestError
from refdesk.kb.ingest.jobs import is_dead, owner_here

TMP: Final = "/tmp"  # noqa: S108
"""Where Ray has its files by itself too: the paths of sockets must be short."""
STORE: Final = 512 * 1024 * 1024
"""What the object store may take, in bytes."""
_WORKER: Final = 1024 * 1024 * 1024
_HEADROOM: Final = 0.05
"""Where less of all memory is left, Ray ends workers."""
_PREFIX: Final = "refdesk-ray-"
_OWNER: Final = "owner"
RAY: Final = "r"
"""Ray lets everybody into its folder, so that it gets this one in ours."""
_GONE_MS: Final = 1000


def new_folder() -> Path:
    """Make a folder for a cluster's files, and remove those that dead processes left behind."""
    for left in Path(TMP).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody else's, or one that is being made
            if is_dead((left / _OWNER).read_text()):
                _remove(left)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=TMP))
    (folder / _OWNER).write_text(owner_here())
    # Where Ray hung, it makes some of it anew at exit; its handler is newer, and called before.
    atexit.register(_remove, folder)
    return folder


def workers(wanted: int | None) -> int:
    """
    Return how many workers the free memory is enough for: all that are wanted, or fewer.

    Args:
        wanted: As many as this machine has processors if None.

    Raises:
        IngestError: It is not enough for one.
    """
    from ray._common.utils import get_system_memory
    from ray._private.utils import get_num_cpus, get_used_memory

    # Ray's own numbers are inside the limits of a container, and those by which it ends workers.
    free = int((1 - _HEADROOM) * get_system_memory()) - int(get_used_memory())  # type: ignore[no-untyped-call]
    if free < STORE + _WORKER:
        raise IngestError(
            f"the Ray cluster at 'local' wants {(STORE + _WORKER) / 2**30:.1f} GiB of free memory, "
            f"and {max(free, 0) / 2**30:.1f} GiB may be taken: free some, or leave `ingest.ray` "
            "out to work without a cluster"
        )
    return min(wanted or int(get_num_cpus()), (free - STORE) // _WORKER)


def kill(folder: Path) -> None:
    """End what was started here for the cluster with that folder, which is deleted."""
    parents = _parents()
    mine = [pid for pid, parent in parents.items() if parent == os.getpid()]
    ours = [pid for pid in mine if os.fsencode(folder) in _command(pid)]
    for pid in ours:  # it grows
        ours += [child for child, parent in parents.items() if parent == pid]
    for pid in ours:
        with suppress(ProcessLookupError):
            _end(pid)
    _remove(folder)


def _end(pid: int) -> None:
    """Kill a process, and wait until it is gone: it may be writing a file."""
    process, gone = os.pidfd_open(pid), select.poll()
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
        gone.register(process, select.POLLIN)
        gone.poll(_GONE_MS)
    finally:
        os.close(process)


def _remove(folder: Path) -> None:
    """Delete a folder; where something is left, the next start knows whose it was."""
    shutil.rmtree(folder / RAY, ignore_errors=True)
    if not (folder / RAY).exists():
        shutil.rmtree(folder, ignore_errors=True)


def _parents() -> dict[int, int]:
    """Return the parent of every process; none where the system does not tell."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            found[int(entry.name)] = int(fields[1])
    return found


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
