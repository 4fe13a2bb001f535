"""
The server's side of a connection: uvicorn's HTTP protocol, with bounds, and lean where every
request passes.

What an application sees is ASGI as uvicorn speaks it.  These things differ:

- a request's head, the rest of its body after the answer, an idle connection and a client that
  does not read its answer have bounds in time and size;
- an upgrade is ignored, as RFC 9110 (7.8) lets a server do: the request is read as if it asked for
  none, body included;
- a whole answer leaves in one write, and no timer is set for a request that takes the usual course.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final
from urllib.parse import unquote

import httptools
from uvicorn import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from refdesk.gateway import client
from refdesk.gateway.client import LEAVING
from refdesk.gateway.connections import Connections
from refdesk.gateway.cycle import Cycle
from refdesk.gateway.headers import MAX_HEADER_BYTES

HEAD_TIMEOUT_S: Final = 10.0
"""For the first line and the headers of a request; a connection that sends nothing has it too."""
WRITE_TIMEOUT_S: Final = 60.0
"""For a client to take 16 KiB of an answer that waits; one that takes less is cut off."""
WRITE_LEAST_BYTES: Final = 16 * 1024
_NO_RETRY: Final = b"x-should-retry: false\r\n"


class GuardedProtocol(HttpToolsProtocol):
    """
    The server's HTTP protocol with bounds.

    Args:
        connections: Counts the open connections of all instances and says which is one too many;
            None sets no bound.
    """

    cycle: Cycle  # type: ignore[assignment]
    """The request that was read last; earlier ones may still wait for their answer."""
    _active: Cycle | None = None
    """The request that is being answered."""
    _head_open = False
    """Whether a request's head has begun and not ended."""
    _head_bytes = 0
    _body_open = False
    """Whether the head of `cycle` has ended, and its body has not."""
    _empty_bytes = 0
    """Bytes of a body's framing since the last byte of the body itself: chunk sizes, trailers."""
    _timer: asyncio.TimerHandle | None = None
    """Ends a head that does not end, or the rest of a body that does not."""
    _write_timer: asyncio.TimerHandle | None = None
    _unsent: int | None = None
    """Bytes that waited for the client when the write timer was set."""
    _idle_since: float | None = None
    _refusal: bytes | None = None
    """The last answer of this connection, which waits for those before it."""
    _deaf = False
    """What comes is thrown away."""
    _thrown = 0

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connections: Connections | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._connections = connections
        self._turned_away = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.url = b""
        counted = self._connections
        if counted is not None and (why := counted.enter(self._address)):
            self._turned_away = True
            self._refuse(b"503 Service Unavailable", why, b"retry-after: 1\r\n")
            if counted.must_hurry:
                self.close()
            return
        self._head_open = True
        self._set_timer(HEAD_TIMEOUT_S)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._connections is not None:
            self._connections.leave(self._address, refused=self._turned_away)
        self._stop_timer()
        for timer in (self.timeout_keep_alive_task, self._write_timer):
            if timer is not None:
                timer.cancel()
        self.timeout_keep_alive_task = self._write_timer = None
        super().connection_lost(exc)
        self.pipeline.clear()
        active, self._active = self._active, None
        if active is not None:
            active.abandon()

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def eof_received(self) -> None:
        self.close()

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            self._throw_away(len(data))
            return
        head_was_open = self._head_open
        if self._body_open:
            if self._active is None:
                self._throw_away(len(data))
            self._empty_bytes += len(data)
        self._feed(data)
        if self._deaf:
            return
        if self._head_open:
            if head_was_open:
                self._head_bytes += len(data)
            if self._head_bytes > MAX_HEADER_BYTES:
                self._refuse_head()
            elif self._timer is None and self._active is None:
                # Only a head that did not come in one piece is worth a timer.
                self._set_timer(HEAD_TIMEOUT_S)
        elif self._body_open and self._empty_bytes > MAX_HEADER_BYTES:
            self._refuse(b"400 Bad Request", "the chunks hold more than 64 KiB of no body")

    def _feed(self, data: bytes | memoryview) -> None:
        try:
            while True:
                try:
                    self.parser.feed_data(data)
                except httptools.HttpParserUpgrade as upgrade:
                    if self.parser.get_method() == b"CONNECT":
                        self._refuse(b"400 Bad Request", "CONNECT is not served; this is no proxy")
                        return
                    # The parser takes what follows for another protocol, body and all.
                    data = memoryview(data)[upgrade.args[0] :]
                    self._read_again()
                else:
                    return
        except httptools.HttpParserError:
            if self._head_open and len(self.url) > MAX_HEADER_BYTES:
                self._refuse_head()
            else:
                self._refuse(b"400 Bad Request", "this is no HTTP request")

    def _read_again(self) -> None:
        """Read the head anew, less its wish for another protocol."""
        old = self.parser
        lines = [b"%b %b HTTP/%b" % (old.get_method(), self.url, old.get_http_version().encode())]
        for name, value in self.headers:
            if name == b"upgrade":
                continue
            if name == b"connection":
                options = (option.strip() for option in value.split(b","))
                value = b", ".join(each for each in options if each.lower() != b"upgrade")
            lines.append(b"%b: %b" % (name, value))
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.parser.feed_data(b"\r\n".join([*lines, b"", b""]))

    # What the parser finds

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._idle_since = None
        if not self._head_open:
            self._head_open = True
            self._head_bytes = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._head_open:
            return  # it is a trailer, which may not pass for a header
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        parser, scope = self.parser, self.scope
        if parser.should_upgrade():
            return  # `_feed` has it read again
        if self._timer is not None:
            self._stop_timer()
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
        keep_alive = version == "1.1" and parser.should_keep_alive()
        self.cycle = cycle = Cycle(self, version=version, keep_alive=keep_alive)
        scope["extensions"] = {LEAVING: cycle}  # type: ignore[dict-item]
        self._head_open = False
        self._body_open = True
        if self._active is None:
            self._active = cycle
            self._start_asgi_task(cycle, self.app)  # type: ignore[arg-type]
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))  # type: ignore[arg-type]

    def on_body(self, body: bytes) -> None:
        self._empty_bytes = 0
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
        if not self._body_open:
            return  # it is read again
        self._body_open = False
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.more_body = False
            cycle.message_event.set()
        else:
            self._stop_timer()
            self._rest()

    # Between requests

    def answered(self, cycle: Cycle) -> None:
        """Go on after an answer: with the next request, or the end of the connection."""
        self.server_state.total_requests += 1
        self._active = None
        if self.transport.is_closing():
            return
        if self.flow.read_paused:
            self.flow.resume_reading()
        if not cycle.keep_alive:
            if self._body_open and cycle is self.cycle:
                self._end()
            else:
                self.close()
        elif self.pipeline:
            following, app = self.pipeline.pop()
            self._active = following  # type: ignore[assignment]
            self._start_asgi_task(following, app)
        elif self._refusal is not None:
            self._end(self._refusal)
        elif self._body_open:
            self._thrown = 0
            self._set_timer(client.LINGER_S)
        elif self._head_open:
            self._set_timer(HEAD_TIMEOUT_S)
        else:
            self._rest()

    def shutdown(self) -> None:
        """End the connection, after the answer that is under way."""
        if self._active is None:
            self.close()
        else:
            self._active.keep_alive = False

    def _rest(self) -> None:
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._look_again_in(self.timeout_keep_alive)

    def _look_again_in(self, seconds: float) -> None:
        handler = self.timeout_keep_alive_handler
        self.timeout_keep_alive_task = self.loop.call_later(seconds, handler)

    def timeout_keep_alive_handler(self) -> None:
        # One timer for all pauses of a connection: it looks how long ago the last answer ended.
        self.timeout_keep_alive_task = None
        if self._idle_since is None or self.transport.is_closing():
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._look_again_in(left)
        else:
            self.close()

    # The end

    def _refuse(self, status: bytes, message: str, headers: bytes = _NO_RETRY) -> None:
        """Answer what is no request, after what is due to those before it, and read no more."""
        self._deaf = True
        self._stop_timer()
        text = message.encode()
        refusal = (
            b"HTTP/1.1 %b\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
            b"%bcontent-length: %d\r\n\r\n%b" % (status, headers, len(text), text)
        )
        active = self._active
        if active is None:
            self._end(refusal)
        elif self._body_open and active is self.cycle:
            # The request that is being answered is the broken one.
            self._active = None
            active.abandon()
            self._end(b"" if active.response_started else refusal)
        else:
            if self._body_open:
                self.pipeline.popleft()
            self._refusal = refusal

    def _refuse_head(self) -> None:
        limit = f"the limit is {MAX_HEADER_BYTES} bytes"
        self._refuse(b"431 Request Header Fields Too Large", f"the header is too large; {limit}")

    def _end(self, last: bytes = b"") -> None:
        """Say that nothing more comes, after these bytes; close when the client has them."""
        if last:
            self.transport.write(last)
        if not self.transport.can_write_eof():
            self.close()
            return
        self._deaf = True
        self._thrown = 0
        self.flow.resume_reading()
        self.transport.write_eof()
        self._set_timer(client.LINGER_S)

    def _throw_away(self, size: int) -> None:
        self._thrown += size
        if self._thrown > client.LINGER_BYTES:
            self.transport.abort()

    def close(self) -> None:
        """Close the connection; what was written still goes out, if the client takes it."""
        if self.transport.is_closing():
            return
        if self._write_timer is None:
            self._watch_writing(None)
        self.transport.close()

    def _set_timer(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self._too_slow)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        self.close()

    # A client that does not read

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._watch_writing(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None and not self.transport.is_closing():
            self._write_timer.cancel()
            self._write_timer = None

    def _watch_writing(self, unsent: int | None) -> None:
        self._unsent = unsent
        seconds = client.LINGER_S if unsent is None else WRITE_TIMEOUT_S
        self._write_timer = self.loop.call_later(seconds, self._look_at_writing)

    def _look_at_writing(self) -> None:
        self._write_timer = None
        left = self.transport.get_write_buffer_size()
        if left and self._unsent is not None and self._unsent - left < WRITE_LEAST_BYTES:
            self.transport.abort()
        elif left:
            self._watch_writing(left)
