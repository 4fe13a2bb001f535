"""
Standard streams that never make a server wait for whoever reads them.

A pipe that is full and not read blocks each write to it, and with it the event loop.  Here a write
puts its lines into a queue, and a thread hands them to the system.  Lines beyond the queue's bound
are dropped and counted.
"""

from __future__ import annotations

import atexit
import io
import logging
import os
import select
import sys
import threading
from queue import SimpleQueue
from typing import Final, TextIO

MAX_WAITING_BYTES: Final = 256 * 1024
"""Bytes that wait to be written to stdout or stderr; lines beyond it are dropped and counted."""
EXIT_S: Final = 1.0
"""How long the end of the process waits for what is still to be written."""

_log = logging.getLogger("refdesk")


class Outlet(io.TextIOBase):
    """
    A text stream on a file descriptor, written by a thread.

    Args:
        stream: What it stands for; its encoding and descriptor are used.
        max_waiting: The most bytes that wait.
    """

    def __init__(self, stream: TextIO, *, max_waiting: int = MAX_WAITING_BYTES) -> None:
        super().__init__()
        self.dropped = 0
        """Lines that were not written."""
        self._stream = stream
        self._fd = stream.fileno()
        self._max_waiting = max_waiting
        self._told = 0
        self._begin()

    def _begin(self) -> None:
        # Reentrant: a signal may come while its thread is in here, and be logged.
        self._lock = threading.RLock()
        self._idle = threading.Event()
        self._idle.set()
        self._queue: SimpleQueue[bytes] = SimpleQueue()
        self._waiting = 0
        self._begun = threading.local()  # `print` writes a line end by itself
        self._thread: threading.Thread | None = None

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Of the stream that it stands for."""
        return self._stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """What becomes of characters that the encoding lacks."""
        return "backslashreplace"

    def fileno(self) -> int:
        """Return the descriptor; a write to it may wait."""
        return self._fd

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self._stream.isatty()

    def writable(self) -> bool:
        """Say yes."""
        return True

    def write(self, text: str) -> int:
        """Queue the lines of a text; what follows the last line end waits for its own."""
        with self._lock:
            lines, end, rest = (self._taken() + text).rpartition("\n")
            self._begun.text = rest
            if end:
                self._put(lines + end)
            if len(rest) > self._max_waiting:
                self.flush()
        return len(text)

    def flush(self) -> None:
        """Queue what was written; does not wait."""
        with self._lock:
            if begun := self._taken():
                self._put(begun)

    def _taken(self) -> str:
        """Take the line that this thread has begun."""
        begun: str = getattr(self._begun, "text", "")
        self._begun.text = ""
        return begun

    def _put(self, text: str) -> None:
        data = text.encode(self.encoding, "backslashreplace")
        if self._waiting + len(data) > self._max_waiting:
            self.dropped += max(1, text.count("\n"))
            return
        self._waiting += len(data)
        self._idle.clear()
        self._queue.put(data)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="log writer", daemon=True)
            self._thread.start()

    def drain(self, timeout_s: float) -> bool:
        """Wait until all is written; return whether it is."""
        self.flush()
        return self._idle.wait(timeout_s)

    def _run(self) -> None:
        while True:
            data = self._queue.get()
            written = self._hand_over(data)
            with self._lock:
                self._waiting -= len(data)
                if not written:
                    self.dropped += max(1, data.count(b"\n"))
                done = not self._waiting
                if done:
                    self._idle.set()
            if done and written:
                self._tell()

    def _hand_over(self, data: bytes) -> bool:
        rest = memoryview(data)
        try:
            while rest:
                try:
                    rest = rest[os.write(self._fd, rest) :]
                except BlockingIOError:
                    waiter = select.poll()
                    waiter.register(self._fd, select.POLLOUT)
                    waiter.poll()
        except OSError:
            return False  # nobody reads any more
        return True

    def _tell(self) -> None:
        missing, self._told = self.dropped - self._told, self.dropped
        if missing:
            _log.warning("%d log lines were dropped: they were not read in time", missing)


_outlets: list[Outlet] = []


def install() -> None:
    """Let this process, and those that it forks, write to its standard streams without waiting."""
    if _outlets:
        return
    for name in ("stdout", "stderr"):
        try:
            outlet = Outlet(getattr(sys, name))
        except (AttributeError, OSError):
            continue  # there is none, or none of the system's
        _outlets.append(outlet)
        setattr(sys, name, outlet)
        # A fork takes no threads along; what waits is the parent's to write.
        os.register_at_fork(after_in_child=outlet._begin)
    atexit.register(drain)


def drain(timeout_s: float = EXIT_S) -> None:
    """Wait a moment for what is still to be written."""
    for outlet in _outlets:
        outlet.drain(timeout_s)


def dropped() -> int:
    """Return how many lines were dropped since the start."""
    return sum(outlet.dropped for outlet in _outlets)
