"""One server per embedded store."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from refdesk.errors import StoreError
from refdesk.store import lock_server

HOLD = """
import sys
from pathlib import Path
from refdesk.store import lock_server
lock = lock_server(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_second_server(sqlite_place) -> None:
    """A second server is refused with the process that holds the store; then the first ends."""
    with sqlite_place.open() as store:
        with store.lock_server():
            with pytest.raises(StoreError, match=rf"by process {os.getpid()} already"):
                lock_server(sqlite_place.data_dir)
            sqlite_place.open().close()  # a command is no server
        lock_server(sqlite_place.data_dir).release()


def test_killed_server(tmp_path, child_environment) -> None:
    """The lock of a server that was killed is free at once."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=child_environment,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(StoreError, match=f"by process {child.pid} already"):
            lock_server(tmp_path)
        child.kill()
    lock = lock_server(tmp_path)
    lock.release()
    lock.release()


def test_replicas(postgres_place) -> None:
    """On PostgreSQL any number of servers may run."""
    with postgres_place.open() as store, store.lock_server(), store.lock_server():
        assert not store.embedded
