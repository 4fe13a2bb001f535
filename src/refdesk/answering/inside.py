"""A request to an ASGI application in the same process: no port, but streamed all the same."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, Final

Message = MutableMapping[str, Any]
App = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]

_AHEAD: Final = 16
"""Pieces of an answer held while nobody reads: the application waits then, as on a socket."""


class Inside:
    """An answer: its status and headers, and its body as it comes."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue(_AHEAD)
        self.begun = asyncio.Event()
        """Set when the head is there, or none comes."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._read()

    async def read(self) -> bytes:
        """Return the whole body, or what is left of it."""
        return b"".join([piece async for piece in self])

    async def _read(self) -> AsyncIterator[bytes]:
        while (piece := await self._pieces.get()) is not None:
            yield piece

    async def send(self, message: Message) -> None:
        """Take a message of the application."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in message["headers"]
            }
            self.begun.set()
            return
        if body := message.get("body"):
            await self._pieces.put(body)
        if not message.get("more_body"):
            await self.close()

    async def close(self) -> None:
        """Say that nothing more comes."""
        self.begun.set()
        await self._pieces.put(None)


@asynccontextmanager
async def post(
    app: App, path: str, body: bytes, headers: Iterable[tuple[bytes, bytes]] = ()
) -> AsyncIterator[Inside]:
    """
    Send a body; the answer's head is there when the block begins.

    Whoever leaves the block before the end of the answer is a client that hung up.  What the
    application raises before its answer begins is raised here.
    """
    answer = Inside()
    sent = False
    gone = asyncio.Event()

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await gone.wait()
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    scope: Message = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [
            (b"host", b"localhost"),
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            *headers,
        ],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 0),
    }

    async def run() -> None:
        try:
            await app(scope, receive, answer.send)
        except asyncio.CancelledError:
            raise  # nobody reads any more
        except BaseException:
            # Nobody is to wait for an end that does not come.
            await answer.close()
            raise
        await answer.close()

    task = asyncio.create_task(run())
    try:
        await answer.begun.wait()
        if not answer.status:
            await task
            raise RuntimeError("the application ended without an answer")
        yield answer
    finally:
        gone.set()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task
