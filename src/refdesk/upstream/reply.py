"""An answer, while it arrives."""

from __future__ import annotations

import asyncio
import sys
from typing import Protocol

from refdesk.errors import UpstreamError


class Arriving(Protocol):
    """The connection that an answer arrives on."""

    loop: asyncio.AbstractEventLoop

    def consumed(self, reply: Reply) -> None:
        """Take note that the reader has taken what was held for it."""

    def drop(self) -> None:
        """Close the socket at once."""


class Reply:
    """
    One answer.

    A whole one has its ``body``.  A streamed one is iterated, once; its chunks are the bytes of the
    body as they came, never empty.  Iterating to the end gives the connection back by itself; who
    stops before that calls `close`.
    """

    __slots__ = (
        "_chunks",
        "_connection",
        "_done",
        "_error",
        "_head",
        "_held",
        "_received",
        "_room",
        "_waiter",
        "_whole",
        "body",
        "headers",
        "status",
    )

    def __init__(self, connection: Arriving, whole: bool, max_bytes: int | None) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        """Names are lower-case; order and repetitions are the server's."""
        self.body = b""
        """The body, if the whole answer was asked for; empty in a stream."""
        self._connection = connection
        self._whole = whole
        self._room = sys.maxsize if max_bytes is None else max_bytes
        self._head = False
        self._done = False
        self._error: UpstreamError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._chunks: list[bytes | bytearray] = []
        self._held = 0
        self._received = 0

    def __repr__(self) -> str:
        # Headers may hold cookies.
        return f"Reply(status={self.status})"

    def header(self, name: bytes) -> bytes | None:
        """Return the first value of a header, by its lower-case name."""
        for key, value in self.headers:
            if key == name:
                return value
        return None

    async def ready(self) -> None:
        """Wait for the head of a stream, or the end of a whole answer; raise UpstreamError."""
        if self._error is None and not (self._done if self._whole else self._head):
            self._waiter = self._connection.loop.create_future()
            await self._waiter
        if self._error is not None:
            raise self._error

    def __aiter__(self) -> Reply:
        return self

    async def __anext__(self) -> bytes:
        """
        Return the next bytes of the body.

        Raises:
            UpstreamError: The answer broke off; all that came before has been returned.
        """
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self._done:
                raise StopAsyncIteration
            self._waiter = self._connection.loop.create_future()
            try:
                await self._waiter
            except asyncio.CancelledError:
                self.close()
                raise
        data = self._take()
        if not self._done:
            self._connection.consumed(self)
        return data

    async def read(self) -> bytes:
        """Return what is left of a stream's body, in one piece."""
        return b"".join([chunk async for chunk in self])

    def close(self) -> None:
        """
        Be done with the answer, whether or not it has ended.

        If it has, its connection is in the pool already; if not, the connection is closed at once,
        and the server sees that nobody listens any more.  May be called any number of times.
        """
        self._chunks = []
        if not self._done and self._error is None:
            self._error = UpstreamError("the answer was closed before its end", fault="cut")
            self._connection.drop()
        self._wake()

    def _take(self) -> bytes:
        chunks, self._chunks, self._held = self._chunks, [], 0
        # Joined or converted, but not copied where one chunk is all there is.
        return bytes(chunks[0]) if len(chunks) == 1 else b"".join(chunks)

    def _gather(self) -> None:
        """Make one of many chunks: an object for every two bytes would take twenty times more."""
        first, *rest = self._chunks
        if not isinstance(first, bytearray):
            first = bytearray(first)
        first += b"".join(rest)
        self._chunks = [first]

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)
