"""
Locks between processes, as files that the system unlocks when their holder dies.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from refdesk.errors import StoreError


class ServerLock:
    """
    The right to be the one server of an embedded store.

    It lasts until `release`, or the end of the process.  Commands and workers need none.

    Raises:
        StoreError: Another process holds it; the message says which.
    """

    def __init__(self, path: Path | None) -> None:
        self._descriptor: int | None = None
        if path is None:  # a database server: any number of replicas may share it
            return
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            if exc.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise StoreError(f"{path} cannot be locked: {exc.strerror}") from exc
            raise StoreError(
                f"the store in {path.parent} is served by process {holder or 'unknown'} already;"
                " stop it, or give this one another data_dir"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor

    def __enter__(self) -> ServerLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Let another process be the server; may be called twice."""
        if self._descriptor is not None:
            # The file stays: deleting it would let two processes lock two files of one name.
            os.close(self._descriptor)
            self._descriptor = None


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Wait until no other process is inside, for work that one at a time may do."""
    descriptor = _open(path)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as exc:
            raise StoreError(f"{path} cannot be locked: {exc.strerror}") from exc
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise StoreError(
            f"{path} cannot be opened: {exc.strerror}; make the folder writable or set data_dir"
            " to another"
        ) from exc
