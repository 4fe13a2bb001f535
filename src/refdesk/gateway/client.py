"""
The client's side of one request: its body read within bounds, its answer sent, its leaving noticed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from refdesk.errors import WireError
from refdesk.gateway.headers import clean, is_incognito

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
HeaderList = list[tuple[bytes, bytes]]

BODY_TIMEOUT_S: Final = 60.0
"""For the whole body, once its head is in."""
PING_EVERY_S: Final = 5.0
LINGER_S: Final = 2.0
"""For a client that still sends when it has its answer; then the connection ends.  Closed at once,
the client would see a reset in place of the answer."""
LINGER_BYTES: Final = 64 * 1024 * 1024
"""What such a client may send meanwhile; it is thrown away."""
LEAVING: Final = "refdesk.leaving"
"""The ASGI extension of our own server: an object whose ``on_leaving`` is called when the client
leaves, whose ``arrived`` tells whether `receive` returns at once, and whose ``cut`` breaks an
answer off.  It costs nothing, while a server without it has to be asked."""
_WATCH_AFTER_S: Final = 0.2
"""There, requests that are answered sooner never pay for a watcher."""
_TOLD: Final = frozenset(
    {
        b"content-length",
        b"content-encoding",
        b"x-request-id",
        b"x-client-request-id",
        b"x-refdesk-incognito",
    }
)
"""Headers that are read here."""

STREAM_HEADERS: Final[HeaderList] = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    # nginx and others would hold events back.
    (b"x-accel-buffering", b"no"),
]


class Client:
    """One client, for the time of one request."""

    __slots__ = (
        "_leaving",
        "_receive",
        "_send",
        "_task",
        "_timer",
        "gone",
        "head_sent",
        "incognito",
        "is_stream",
        "pinging",
        "request_id",
    )

    def __init__(self, receive: Receive, send: Send, scope: Scope | None = None) -> None:
        self._receive = receive
        self._send = send
        self._leaving: Any = (scope.get("extensions") or {}).get(LEAVING) if scope else None
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self.pinging: asyncio.TimerHandle | asyncio.Task[None] | None = None
        """Whether there is something that `stop_pings` would stop."""
        self.request_id: str | None = None
        """The client's own id for the request."""
        self.incognito = False
        """It asked that nothing of the request be kept (``x-refdesk-incognito``)."""
        self.gone = False
        """It closed the connection before its answer was complete."""
        self.head_sent = False
        self.is_stream = False
        """The head that was sent is that of a stream, so that something can still be said in it."""

    async def read_body(
        self,
        headers: HeaderList,
        *,
        max_bytes: int,
        timeout_s: float | None = None,
    ) -> bytes:
        """
        Return the whole body, or raise WireError: too large, too slow, or encoded.

        Args:
            headers: Of the request.
            max_bytes: A larger body is refused (413).
            timeout_s: Instead of `BODY_TIMEOUT_S`.
        """
        timeout_s = BODY_TIMEOUT_S if timeout_s is None else timeout_s
        declared: int | None = None
        for name, value in headers:
            if name not in _TOLD:
                continue
            if name == b"content-length":
                declared = int(value) if value.isdigit() else None
            elif name in (b"x-request-id", b"x-client-request-id"):
                self.request_id = value[:128].decode("latin-1")
            elif name == b"x-refdesk-incognito":
                self.incognito = is_incognito([(name, value)])
            elif name == b"content-encoding" and value.lower() not in (b"", b"identity"):
                coding = value.decode("latin-1")[:40]
                raise WireError(
                    f"the body is encoded as {coding!r}; send it without content-encoding",
                    status=415,
                )
        if declared is not None and declared > max_bytes:
            raise _too_large(declared, max_bytes)
        if self._leaving is None or not self._leaving.arrived:
            return await self._read_rest(b"", max_bytes, timeout_s)
        # Most bodies are there with their head, and need no clock.
        message = await self._receive()
        body: bytes = message.get("body", b"")
        if not message.get("more_body"):
            self._check_gone(message)
            if len(body) > max_bytes:
                raise _too_large(len(body), max_bytes)
            return body
        return await self._read_rest(body, max_bytes, timeout_s)

    async def _read_rest(self, first: bytes, max_bytes: int, timeout_s: float) -> bytes:
        parts = [first]
        size = len(first)
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    message = await self._receive()
                    self._check_gone(message)
                    part = message.get("body", b"")
                    size += len(part)
                    if size > max_bytes:
                        raise _too_large(size, max_bytes)
                    parts.append(part)
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise WireError(
                f"the body did not arrive within {timeout_s:.0f} s", status=408
            ) from None

    def _check_gone(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.disconnect":
            self.gone = True
            raise asyncio.CancelledError

    # Leaving

    def watch(self, task: asyncio.Task[Any]) -> None:
        """From a moment from now on, cancel the task if the client leaves."""
        if self._leaving is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_WATCH_AFTER_S, self._start_watching, task)
            return

        def leave() -> None:
            self.gone = True
            task.cancel()

        self._leaving.on_leaving = leave

    def _start_watching(self, task: asyncio.Task[Any]) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._wait_for_leaving(task))

    async def _wait_for_leaving(self, task: asyncio.Task[Any]) -> None:
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.gone = True
                task.cancel()
                return

    def unwatch(self) -> None:
        """Stop watching: the answer is complete."""
        if self._leaving is not None:
            self._leaving.on_leaving = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is not None:
            self._task.cancel()
            self._task = None

    # Answering

    async def answer(self, status: int, headers: HeaderList, body: bytes) -> None:
        """Send a whole answer."""
        headers.append((b"content-length", b"%d" % len(body)))
        self.head_sent = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    async def start(self, status: int, headers: HeaderList) -> None:
        """Send the head of a streamed answer."""
        self.head_sent = self.is_stream = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def write(self, data: bytes) -> None:
        """Send a piece of a streamed answer at once."""
        if data:
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """Complete a streamed answer."""
        await self._send({"type": "http.response.body", "body": b""})

    def cut(self) -> None:
        """Break off a streamed answer, so that the client sees that it is not complete."""
        if self._leaving is not None:
            self._leaving.cut()

    # Keeping alive

    def ping_after(self, delay_s: float, headers: Callable[[], HeaderList], ping: bytes) -> None:
        """After a delay, send a stream's head early, and pings until `stop_pings`."""

        loop = asyncio.get_running_loop()

        def begin() -> None:
            self.pinging = loop.create_task(self._ping(headers, ping))

        self.pinging = loop.call_later(delay_s, begin)

    async def _ping(self, headers: Callable[[], HeaderList], ping: bytes) -> None:
        await self.start(200, headers())
        while True:
            await self.write(ping)
            await asyncio.sleep(PING_EVERY_S)

    async def stop_pings(self) -> None:
        """Stop; the caller goes on with the stream, whose head may have been sent by now."""
        pinging, self.pinging = self.pinging, None
        if pinging is None:
            return
        pinging.cancel()
        if isinstance(pinging, asyncio.Task):
            # Waited for, not awaited: our own cancellation must not be taken for the task's.
            await asyncio.wait((pinging,))
            if not pinging.cancelled():
                pinging.exception()  # a write that failed; the next one will tell


def header(name: str, value: str) -> tuple[bytes, bytes]:
    """Return a header as bytes; what would end it is taken out."""
    return name.encode("latin-1"), clean(value.encode("latin-1", "replace"))


def _too_large(size: int, limit: int) -> WireError:
    return WireError(f"the body has {size} bytes or more; the limit is {limit}", status=413)
