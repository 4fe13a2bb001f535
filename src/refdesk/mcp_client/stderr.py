"""Where the standard error of MCP servers goes: into the log, line by line, so many a minute."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from typing import Final, TextIO

import structlog

from refdesk.cleaning import one_line

_LINE_CHARS: Final = 1000
_READ_BYTES: Final = 65_536

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk.mcp")


class LineLog:
    """
    Writes the lines of one server to the log.

    Args:
        server: The server's name.
        per_minute: How many lines a minute are written; the others are counted.
        clock: A monotonic clock.
        mask: Takes secrets out of a line.
    """

    def __init__(
        self,
        server: str,
        *,
        per_minute: int,
        clock: Callable[[], float],
        mask: Callable[[str], str],
    ) -> None:
        self._server = server
        self._per_minute = per_minute
        self._clock = clock
        self._mask = mask
        self._rest = b""
        self._until = 0.0
        self._left = 0
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes, cut anywhere."""
        *lines, rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._write(line)
        # An endless line is cut, not kept.
        self._rest = rest[: 4 * _LINE_CHARS]

    def end(self) -> None:
        """Write what is left: a last line without an end, and how many were left out."""
        self._write(self._rest)
        self._rest = b""
        self._tell_dropped()

    def _write(self, line: bytes) -> None:
        text = one_line(self._mask(line[: 4 * _LINE_CHARS].decode("utf-8", "replace")), _LINE_CHARS)
        if not text:
            return
        now = self._clock()
        if now >= self._until:
            self._tell_dropped()
            self._until = now + 60
            self._left = self._per_minute
        if self._left > 0:
            self._left -= 1
            _log.info("an MCP server says", server=self._server, line=text)
        else:
            self._dropped += 1

    def _tell_dropped(self) -> None:
        if self._dropped:
            _log.warning("an MCP server says more", server=self._server, lines=self._dropped)
            self._dropped = 0


@contextlib.asynccontextmanager
async def stderr_pipe(lines: LineLog) -> AsyncIterator[TextIO]:
    """Give a file to be a process's standard error; what is written there goes to ``lines``."""
    reading, writing = os.pipe()
    loop = asyncio.get_running_loop()
    with os.fdopen(reading, "rb", buffering=0) as source, os.fdopen(writing, "w") as target:
        transport, _ = await loop.connect_read_pipe(lambda: _Reader(lines), source)
        try:
            yield target
        finally:
            # What was written before the process ended is still in the pipe.
            with contextlib.suppress(OSError):
                while data := _read_rest(source.fileno()):
                    lines.feed(data)
            lines.end()
            transport.close()
            # The transport closes the file in the next round of the loop, before we do.
            await asyncio.sleep(0)


def _read_rest(fd: int) -> bytes:
    try:
        return os.read(fd, _READ_BYTES)
    except BlockingIOError:
        return b""


class _Reader(asyncio.Protocol):
    def __init__(self, lines: LineLog) -> None:
        self._lines = lines

    def data_received(self, data: bytes) -> None:
        self._lines.feed(data)
