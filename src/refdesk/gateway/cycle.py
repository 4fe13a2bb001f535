"""One request on a connection and its answer, as the ASGI application sees them."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, MutableMapping
from typing import Any, Final, Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

_JOINED_BYTES: Final = 64 * 1024
"""A body up to this is copied behind its head, so that both leave in one write."""

_NEVER_IN_A_HEAD: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class _Arrival:
    """Wakes the one that waits for the next piece of a request; an `asyncio.Event` in small."""

    __slots__ = ("_loop", "_waiter", "there")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiter: asyncio.Future[None] | None = None
        self.there = False
        """Whether there is something that was not taken yet."""

    def set(self) -> None:
        """Say that there is something."""
        self.there = True
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def wait(self) -> None:
        """Return when `set` is called."""
        if self._waiter is None or self._waiter.done():
            self._waiter = self._loop.create_future()
        # Several may wait, and all are woken; one that is cancelled leaves the others waiting.
        await asyncio.shield(self._waiter)


class ServerConnection(Protocol):
    """The server's side of the connection that a request came on."""

    transport: Any
    flow: Any
    scope: Any
    loop: asyncio.AbstractEventLoop
    expect_100_continue: bool
    logger: logging.Logger
    server_state: Any

    def close(self) -> None:
        """Close the connection."""

    def answered(self, cycle: Cycle) -> None:
        """Take note that a request has its whole answer."""


class Cycle:
    """
    One request and its answer, as the application sees them.

    The head of an answer that says its length is held back until the first piece of its body, or
    its end: they leave together.
    """

    __slots__ = (
        "_chunked",
        "_flow",
        "_head",
        "_left",
        "_protocol",
        "_transport",
        "_until_close",
        "body",
        "disconnected",
        "keep_alive",
        "message_event",
        "more_body",
        "on_leaving",
        "response_complete",
        "response_started",
        "scope",
        "waiting_for_100_continue",
    )

    def __init__(self, protocol: ServerConnection, *, version: str, keep_alive: bool) -> None:
        self._protocol = protocol
        self._transport = protocol.transport
        self._flow = protocol.flow
        self.scope = protocol.scope
        self.message_event = _Arrival(protocol.loop)
        self.keep_alive = keep_alive
        # HTTP/1.0 knows neither 100 (Continue) nor chunks (RFC 9110, 10.1.1; RFC 9112, 7.1).
        self._until_close = version != "1.1"
        """A body without a length ends with the connection."""
        self.waiting_for_100_continue = protocol.expect_100_continue and not self._until_close
        self.disconnected = False
        self.on_leaving: Callable[[], None] | None = None
        """Called when the client leaves before the end of its answer."""
        self.body: bytes | bytearray = b""
        self.more_body = True
        self.response_started = False
        self.response_complete = False
        self._chunked = False
        self._left = 0
        """How much of the body is still owed, where its length was said."""
        self._head = b""
        """The head, while it is held back."""

    @property
    def arrived(self) -> bool:
        """Whether a piece of the body, or its end, is there to be received."""
        return self.message_event.there

    async def run_asgi(self, app: Any) -> None:
        """Run the application; one that fails is answered for."""
        log = self._protocol.logger
        try:
            await app(self.scope, self.receive, self.send)
        except BaseException as exc:
            log.exception("Exception in ASGI application\n", exc_info=exc)
            if not self.response_started:
                await self._send_500()
            else:
                self._protocol.close()
        else:
            if self.response_complete or self.disconnected:
                return
            if not self.response_started:
                log.error("ASGI callable returned without starting response.")
                await self._send_500()
            else:
                log.error("ASGI callable returned without completing response.")
                self._protocol.close()

    def abandon(self) -> None:
        """Tell the application that its client is gone, and send nothing more."""
        if self.response_complete:
            return
        self.disconnected = True
        self.message_event.set()
        if self.on_leaving is not None:
            self.on_leaving()

    def cut(self) -> None:
        """Close the connection in the midst of an answer."""
        self.disconnected = True
        self._protocol.close()

    async def _send_500(self) -> None:
        text = b"Internal Server Error"
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"%d" % len(text)),
            (b"connection", b"close"),
        ]
        await self.send({"type": "http.response.start", "status": 500, "headers": headers})
        await self.send({"type": "http.response.body", "body": text})

    # ASGI

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Send the head of the answer, or a piece of its body."""
        if self._flow.write_paused and not self.disconnected:
            await self._flow.drain()
        if self.disconnected:
            return
        kind = message["type"]
        if not self.response_started:
            if kind != "http.response.start":
                raise RuntimeError(
                    f"Expected ASGI message 'http.response.start', but got '{kind}'."
                )
            self._start(message["status"], message.get("headers") or ())
        elif kind != "http.response.body" or self.response_complete:
            raise RuntimeError(f"Unexpected ASGI message '{kind}'.")
        else:
            self._write(message.get("body", b""), bool(message.get("more_body")))

    async def receive(self) -> dict[str, Any]:
        """Return the next piece of the request's body, or that the client is gone."""
        if self.waiting_for_100_continue and not self._transport.is_closing():
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.waiting_for_100_continue = False
        event = self.message_event
        if not self.disconnected and not self.response_complete:
            if self._flow.read_paused:
                self._flow.resume_reading()
            if not event.there:
                await event.wait()
            event.there = False
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        body, self.body = self.body, b""
        return {"type": "http.request", "body": bytes(body), "more_body": self.more_body}

    def _start(self, status: int, headers: Any) -> None:
        self.response_started = True
        self.waiting_for_100_continue = False
        length: int | None = None
        chunked = closes = False
        lines = [STATUS_LINE[status]]
        for name, value in (*self._protocol.server_state.default_headers, *headers):
            name = name.lower()
            if name == b"content-length":
                length = int(value)
            elif name == b"transfer-encoding":
                if self._until_close:
                    continue
                chunked = value.lower() == b"chunked"
            elif name == b"connection":
                closes = b"close" in [part.strip() for part in value.lower().split(b",")]
            lines.append(b"%b: %b\r\n" % (name, value))
        if closes:
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(b"connection: close\r\n")
        has_body = self.scope["method"] != "HEAD" and status not in (204, 304)
        if length is not None or not has_body:
            self._until_close = False
        elif not (chunked or self._until_close):
            chunked = True
            lines.append(b"transfer-encoding: chunked\r\n")
        count = len(lines) + 1
        lines.append(b"\r\n")
        head = b"".join(lines)
        # Each line ends once, and nothing else looks like an end: no value can begin a new header.
        if (
            head.count(b"\n") != count
            or head.count(b"\r") != count
            or _NEVER_IN_A_HEAD.search(head)
        ):
            self.response_started = False
            raise RuntimeError("Invalid HTTP header value.")
        self._chunked = chunked
        self._left = 0 if length is None or chunked else length
        if self._left and has_body:
            self._head = head
        else:
            self._transport.write(head)

    def _write(self, body: bytes, more: bool) -> None:
        if self.scope["method"] == "HEAD":
            self._left = 0
        elif self._chunked:
            piece = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            if not more:
                piece += b"0\r\n\r\n"
            if piece:
                self._transport.write(piece)
        elif self._until_close:
            if body:
                self._transport.write(body)
        else:
            size = len(body)
            if size > self._left:
                raise RuntimeError("Response content longer than Content-Length")
            self._left -= size
            head, self._head = self._head, b""
            if head and size > _JOINED_BYTES:
                self._transport.write(head)
                self._transport.write(body)
            elif head or body:
                self._transport.write(head + body)
        if more:
            return
        if self._left:
            raise RuntimeError("Response content shorter than Content-Length")
        self.response_complete = True
        self.message_event.set()
        self._protocol.answered(self)
