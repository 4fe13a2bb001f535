"""
The server's side of a connection: uvicorn's HTTP protocol, with bounds, and lean where every
request passes.

What an application sees is ASGI as uvicorn speaks it.  Three things differ: a request's head has
bounds in time and size, a whole answer leaves in one write, and no timer is set for a request
that takes the usual course.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, MutableMapping
from typing import Any, Final
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from refdesk.gateway.client import LEAVING, LINGER_S, MAX_HEADER_BYTES

HEAD_TIMEOUT_S: Final = 10.0
"""For the first line and the headers of a request; a connection that sends nothing has it too."""
_JOINED_BYTES: Final = 64 * 1024
"""A body up to this is copied behind its head, so that both leave in one write."""

_NEVER_IN_A_HEAD: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class GuardedProtocol(HttpToolsProtocol):
    """The server's HTTP protocol with bounds on a request's head, which uvicorn has not."""

    _head_timer: asyncio.TimerHandle | None = None
    _head_open = False
    """Whether a request's head has begun and not ended."""
    _head_bytes = 0
    _refused = False
    _idle_since: float | None = None
    cycle: Cycle  # type: ignore[assignment]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_open = True
        self._head_timer = self.loop.call_later(HEAD_TIMEOUT_S, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
        super().connection_lost(exc)
        cycle = self.cycle
        if cycle is not None and cycle.on_leaving is not None and not cycle.response_complete:
            cycle.on_leaving()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        super().data_received(data)
        if self._head_open and not self._refused:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEADER_BYTES and not self.transport.is_closing():
                self._refuse(b"431 Request Header Fields Too Large", b"The header is too large.")
            elif self._head_timer is None and not self.transport.is_closing():
                # Only a head that did not come in one piece is worth a timer.
                self._head_timer = self.loop.call_later(HEAD_TIMEOUT_S, self._too_slow)

    def send_400_response(self, msg: str) -> None:
        self._refuse(b"400 Bad Request", msg.encode("ascii"))

    def _refuse(self, status: bytes, message: bytes) -> None:
        """Answer what is no request.  What still comes is thrown away, since closing on it would
        make the client see a reset in place of the answer."""
        self._refused = True
        self.transport.write(
            b"HTTP/1.1 %b\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n%b" % (status, len(message), message)
        )
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._stop_timer()
        self._head_timer = self.loop.call_later(LINGER_S, self._too_slow)

    # What the parser finds

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if not self._head_open:
            self._head_open = True
            self._head_bytes = 0

    def on_headers_complete(self) -> None:
        self._head_open = False
        if self._head_timer is not None:
            self._stop_timer()
        parser, scope = self.parser, self.scope
        version = parser.get_http_version()
        if version != "1.1":
            scope["http_version"] = version
        scope["method"] = parser.get_method().decode("ascii")
        url = httptools.parse_url(self.url)
        raw = url.path
        path = raw.decode("ascii")
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"] = raw
        scope["query_string"] = url.query or b""
        before = self.cycle
        keep_alive = version != "1.0" and parser.should_keep_alive()
        self.cycle = cycle = Cycle(self, keep_alive=keep_alive)
        scope["extensions"] = {LEAVING: cycle}  # type: ignore[dict-item]
        if before is None or before.response_complete:
            self._start_asgi_task(cycle, self.app)  # type: ignore[arg-type]
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))  # type: ignore[arg-type]

    def on_body(self, body: bytes) -> None:
        cycle = self.cycle
        if cycle.response_complete:
            return
        if not cycle.body:
            cycle.body = body
        else:
            if isinstance(cycle.body, bytes):
                cycle.body = bytearray(cycle.body)
            cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.more_body = False
            cycle.message_event.set()

    # Between requests

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.flow.read_paused:
            self.flow.resume_reading()
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
            return
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._look_again_in(self.timeout_keep_alive)

    def _unset_keepalive_if_required(self) -> None:
        # The timer goes on, and looks how long ago the last request ended.
        self._idle_since = None

    def _look_again_in(self, seconds: float) -> None:
        handler = self.timeout_keep_alive_handler
        self.timeout_keep_alive_task = self.loop.call_later(seconds, handler)

    def timeout_keep_alive_handler(self) -> None:
        self.timeout_keep_alive_task = None
        if self._idle_since is None or self.transport.is_closing():
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._look_again_in(left)
        else:
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_slow(self) -> None:
        self._head_timer = None
        self.transport.close()


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

    def __init__(self, protocol: GuardedProtocol, *, keep_alive: bool) -> None:
        self._protocol = protocol
        self._transport = protocol.transport
        self._flow = protocol.flow
        self.scope = protocol.scope
        self.message_event = _Arrival(protocol.loop)
        self.keep_alive = keep_alive
        self.waiting_for_100_continue = protocol.expect_100_continue
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
                self._transport.close()
        else:
            if self.response_complete or self.disconnected:
                return
            if not self.response_started:
                log.error("ASGI callable returned without starting response.")
                await self._send_500()
            else:
                log.error("ASGI callable returned without completing response.")
                self._transport.close()

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
                chunked = value.lower() == b"chunked"
            elif name == b"connection":
                closes = b"close" in [part.strip() for part in value.lower().split(b",")]
            lines.append(b"%b: %b\r\n" % (name, value))
        if closes:
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(b"connection: close\r\n")
        has_body = self.scope["method"] != "HEAD" and status not in (204, 304)
        if length is None and not chunked and has_body:
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
        if not self.keep_alive:
            self._transport.close()
        self._protocol.on_response_complete()
