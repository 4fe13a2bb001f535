"""Ids that nobody can guess, from random bytes drawn many at a time: the system call is dear."""

from __future__ import annotations

import os
import threading
import time
from typing import Final

_DRAW: Final = 4096


class RandomBytes:
    """Random bytes of the system, each given out once.  Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool = b""
        self._at = 0
        os.register_at_fork(after_in_child=self._forget)

    def take(self, count: int) -> bytes:
        """Return so many bytes."""
        with self._lock:
            end = self._at + count
            if end > len(self._pool):
                self._pool, self._at, end = os.urandom(max(_DRAW, count)), 0, count
            taken = self._pool[self._at : end]
            self._at = end
        return taken

    def _forget(self) -> None:
        # A worker must not give out what its parent or sibling does.
        self._lock = threading.Lock()
        self._pool, self._at = b"", 0


_random = RandomBytes()

random_bytes = _random.take
"""Return so many random bytes of the system, which nobody else is given."""


def new_request_id() -> str:
    """Return an id that sorts by time: milliseconds since the epoch, then 64 random bits."""
    return f"req_{time.time_ns() // 1_000_000:012x}{_random.take(8).hex()}"


def new_search_id() -> str:
    """Return 40 hex digits that were never given before."""
    return _random.take(20).hex()
