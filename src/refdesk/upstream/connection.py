"""One connection: bytes in, at most one answer at a time."""

from __future__ import annotations

import asyncio
import select
from typing import TYPE_CHECKING, Final, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from refdesk.errors import UpstreamError
from refdesk.upstream.origin import Origin
from refdesk.upstream.proxy import Proxy, absolute_form
from refdesk.upstream.reply import Reply

if TYPE_CHECKING:
    from refdesk.upstream.client import UpstreamClient

MAX_HEAD_BYTES: Final = 64 * 1024
MAX_HEADERS: Final = 200
MAX_HELD_BYTES: Final = 256 * 1024
"""What a stream holds for a slow reader before the server is made to wait."""
PIECE: Final = 64 * 1024
"""A request body above this is written piece by piece, as fast as the server takes it."""

_WATCHED: Final = frozenset((b"keep-alive", b"transfer-encoding"))


class Connection(asyncio.Protocol):
    """
    A connection to one origin, and the parser's target.

    It is busy while it has a reply.  When the answer is whole it goes back to its client, if the
    server keeps it open and sent nothing beyond the answer; otherwise it is closed.
    """

    __slots__ = (
        "_client",
        "_extra",
        "_head_only",
        "_keep",
        "_last",
        "_parser",
        "_patience_s",
        "_paused",
        "_poll",
        "_raw",
        "_reason",
        "_reply",
        "_room_to_write",
        "_timer",
        "_transport",
        "_uploading",
        "_via",
        "_write_paused",
        "loop",
        "origin",
        "unheard",
    )

    def __init__(self, client: UpstreamClient, origin: Origin, via: Proxy | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self.origin = origin
        self.unheard = False
        """Whether it was closed before the whole request had been handed over, without a byte of
        an answer: the server cannot have acted on it."""
        self._client = client
        self._via = via
        self._transport: asyncio.Transport | None = None
        self._poll: select.poll | None = None
        self._parser: HttpResponseParser | None = None
        self._reply: Reply | None = None
        self._reason: str | None = None
        self._head_only = False
        self._keep = False
        self._extra = False
        self._raw = 0
        self._paused = False
        self._uploading = False
        self._write_paused = False
        self._room_to_write: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._last = 0.0
        self._patience_s = client.keep_alive_s

    # What the client does with it

    def begin(self, head: bytes, body: bytes, whole: bool, max_bytes: int | None) -> Reply:
        """Write a request; of a long body only what `upload` then writes."""
        assert self._transport is not None
        if self._parser is None:
            self._parser = HttpResponseParser(self)
        self._reply = reply = Reply(self, whole, max_bytes)
        self._raw = 0
        self._head_only = head.startswith(b"HEAD ")
        if self._via is not None:
            head = absolute_form(self.origin, self._via, head)
        self._last = self.loop.time()
        if not body and head.startswith((b"GET ", b"HEAD ")):
            self._transport.write(head + b"\r\n")
        elif len(body) > PIECE:
            self._uploading = True
            self._transport.write(b"%bcontent-length: %d\r\n\r\n" % (head, len(body)))
        else:
            self._transport.write(b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body))
        return reply

    async def upload(self, body: bytes) -> None:
        """Write a long body; stop early if the server answers, or leaves, before its end."""
        assert self._transport is not None
        reply, view = self._reply, memoryview(body)
        for at in range(0, len(view), PIECE):
            if reply is None or self._reply is not reply or reply._head:
                return  # still marked as uploading: this connection cannot carry another request
            self._transport.write(view[at : at + PIECE])
            if self._write_paused:
                self._room_to_write = self.loop.create_future()
                await self._room_to_write
        self._uploading = False

    def is_usable(self) -> bool:
        """Whether a connection from the pool can carry a request, as far as one can know."""
        # What the kernel has and the loop has not read yet is the server's good-bye.
        return (
            self._transport is not None
            and not self._transport.is_closing()
            and self.loop.time() - self._last < self._patience_s
            and not (self._poll is not None and self._poll.poll(0))
        )

    def consumed(self, reply: Reply) -> None:
        """Take note that the reader of a stream has taken what was held for it."""
        if self._paused and self._reply is reply and self._transport is not None:
            self._paused = False
            self._last = self.loop.time()
            self._transport.resume_reading()

    def drop(self) -> None:
        """Close the socket at once, whatever goes on."""
        self._reply = None
        self._client.forget(self)
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Close the socket at once; an answer that was due ends in an error."""
        if self._reply is None:
            self.drop()
        else:
            message = f"the request to {self.origin} was given up, because the client was closed"
            self._fail(self._reply, UpstreamError(message, fault="cut"))

    # What the transport tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: uvloop's transports are none of asyncio's classes.
        self._transport = cast(asyncio.Transport, transport)
        self._client.opened(self)
        self._last = self.loop.time()
        sock = transport.get_extra_info("socket")
        if sock is not None:
            self._poll = select.poll()
            self._poll.register(sock.fileno(), select.POLLIN)
        self._timer = self.loop.call_later(self._client.shortest_s, self._look_at_clock)

    def data_received(self, data: bytes) -> None:
        reply, parser = self._reply, self._parser
        self._last = self.loop.time()
        if reply is None or parser is None:
            self.drop()  # nobody asked for anything
            return
        received = reply._received
        try:
            parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as exc:
            if not reply._done:
                self._refuse(reply, self._reason or f"what it sent is not HTTP/1.1 ({exc})")
                return
            self._extra = True
        if reply._done:
            self._finish(reply)
            return
        if received == reply._received:
            # A head, a trailer or chunk sizes without end: they are held, so they are bounded.
            self._raw += len(data)
            if self._raw > MAX_HEAD_BYTES:
                self._refuse(reply, f"it sent more than {MAX_HEAD_BYTES} bytes of headers")
                return
        else:
            self._raw = 0
        if not reply._whole:
            if reply._held > MAX_HELD_BYTES and not self._paused and self._transport is not None:
                self._paused = True
                self._transport.pause_reading()
            if reply._head:
                reply._wake()
        if reply._head and self._room_to_write is not None:
            self._resume_upload()

    def eof_received(self) -> None:
        reply = self._reply
        if reply is None:
            self._client.forget(self)
        else:
            self._end(reply, None)

    def connection_lost(self, exc: Exception | None) -> None:
        reply = self._reply
        if reply is not None:
            self._end(reply, exc)
        if self._timer is not None:
            self._timer.cancel()
        self._resume_upload()
        # The parser holds methods of this object; without it there is no cycle left to collect.
        self._parser = self._poll = self._transport = self._timer = None
        self._client.lost(self)

    def pause_writing(self) -> None:
        self._write_paused = True

    def resume_writing(self) -> None:
        self._write_paused = False
        self._last = self.loop.time()
        self._resume_upload()

    # What the parser finds

    def on_message_begin(self) -> None:
        if self._reply is None or self._reply._done:
            self._extra = True

    def on_header(self, name: bytes, value: bytes) -> None:
        reply = self._reply
        if reply is not None and not reply._head:  # else a trailer, or another answer
            reply.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        reply, parser = self._reply, self._parser
        if reply is None or parser is None or reply._done:
            return
        status, headers = parser.get_status_code(), reply.headers
        if len(headers) > MAX_HEADERS:
            self._stop(f"it sent {len(headers)} headers; at most {MAX_HEADERS} are taken")
        if sum(len(name) + len(value) for name, value in headers) > MAX_HEAD_BYTES:
            self._stop(f"it sent more than {MAX_HEAD_BYTES} bytes of headers")
        if status < 200:
            if status == 101:
                self._stop("it switched to another protocol, which nobody asked for")
            headers.clear()
            return
        self._keep = parser.should_keep_alive()
        for name, value in headers:
            if name in _WATCHED:
                self._heed(name, value)
        reply.status = status
        reply._head = True
        if self._head_only:
            reply._done = True

    def on_body(self, data: bytes) -> None:
        reply = self._reply
        if reply is None or reply._done:
            self._extra = True
            return
        size = len(data)
        reply._received += size
        if reply._received > reply._room:
            self._stop(f"its answer is longer than the {reply._room} bytes allowed")
        reply._chunks.append(data)
        reply._held += size

    def on_message_complete(self) -> None:
        reply = self._reply
        if reply is not None and reply._head:
            reply._done = True

    def _heed(self, name: bytes, value: bytes) -> None:
        if name == b"transfer-encoding":
            if value.strip().lower() != b"chunked":
                self._stop("it used a transfer encoding other than chunked")
            return
        for part in value.split(b","):
            key, _, seconds = part.strip().lower().partition(b"=")
            if key == b"timeout" and seconds.isdigit():
                # A second early: a request must not meet the server's good-bye half-way.
                self._patience_s = min(self._client.keep_alive_s, int(seconds[:6]) - 1.0)

    # Endings

    def _stop(self, reason: str) -> None:
        """Make the parser stop."""
        self._reason = reason
        raise ValueError(reason)

    def _finish(self, reply: Reply) -> None:
        """The answer is whole."""
        self._reply = None
        if reply._whole:
            chunks = reply._chunks
            reply.body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
            reply._chunks = []
        transport = self._transport
        if transport is None:
            pass
        elif self._keep and not (self._extra or self._uploading or self._write_paused):
            if self._paused:
                self._paused = False
                transport.resume_reading()
            if self._head_only:
                self._parser = None  # it still waits for the body that the length promised
            self._client.release(self)
        else:
            self._client.forget(self)
            transport.abort() if self._uploading else transport.close()
        reply._wake()
        self._resume_upload()

    def _end(self, reply: Reply, exc: Exception | None) -> None:
        """The server closed while an answer was due: that ends it, or cuts it."""
        self._keep = False
        if reply._head and exc is None and _ends_with_connection(reply):
            reply._done = True
            self._finish(reply)
            return
        if not reply._head:
            # A broken pipe means that the kernel refused to take the request, so nothing of it
            # left; a reset may have come after the server read all of it.
            silent = not (self._raw or reply.headers)
            self.unheard = silent and (self._uploading or isinstance(exc, BrokenPipeError))
            message = (
                f"{self.origin} closed the connection before it answered; look into its log, it "
                "may have crashed or refused the request"
            )
        else:
            message = (
                f"{self.origin} broke off its answer after {reply._received} bytes; look into its "
                "log, and at the time limits of what stands between"
            )
        self._fail(reply, UpstreamError(message, fault="cut"))

    def _refuse(self, reply: Reply, reason: str) -> None:
        message = f"the answer of {self.origin} cannot be used: {reason}; check its address"
        self._fail(reply, UpstreamError(message, fault="bad_response"))

    def _fail(self, reply: Reply, error: UpstreamError) -> None:
        reply._error = error
        self.drop()
        reply._wake()
        self._resume_upload()

    def _resume_upload(self) -> None:
        waiter = self._room_to_write
        if waiter is not None:
            self._room_to_write = None
            if not waiter.done():
                waiter.set_result(None)

    def _look_at_clock(self) -> None:
        """One timer for the life of a connection: it looks how long ago the last bytes came."""
        now, reply = self.loop.time(), self._reply
        if self._paused:
            self._last = now  # it is our reader that is slow, not the server
        limit = self._patience_s if reply is None else self._client.idle_timeout_s
        left = self._last + limit - now
        if left > 0:
            delay = min(left, self._client.shortest_s)
            self._timer = self.loop.call_later(delay, self._look_at_clock)
        elif reply is None:
            self.drop()
        else:
            message = (
                f"{self.origin} sent nothing for {limit:g} s; see whether it is overloaded, or "
                "allow it more time"
            )
            self._fail(reply, UpstreamError(message, fault="timeout"))


def _ends_with_connection(reply: Reply) -> bool:
    """Whether the end of the connection is the end of the body (RFC 9112, section 6.3)."""
    return not any(name in (b"content-length", b"transfer-encoding") for name, _ in reply.headers)
