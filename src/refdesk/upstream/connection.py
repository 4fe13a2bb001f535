"""One connection: bytes in, at most one answer at a time."""

from __future__ import annotations

import asyncio
import math
import select
from typing import Final, Protocol, cast

from refdesk.errors import UpstreamError
from refdesk.upstream.origin import Origin
from refdesk.upstream.parsing import AnswerParser, ends_with_connection
from refdesk.upstream.proxy import Proxy, absolute_form
from refdesk.upstream.reply import Reply

MAX_HELD_BYTES: Final = 256 * 1024
"""What a stream holds for a slow reader before the server is made to wait."""
PIECE: Final = 64 * 1024
"""A request body above this is written piece by piece, as fast as the server takes it."""


class Pool(Protocol):
    """The client that a connection belongs to."""

    keep_alive_s: float
    idle_timeout_s: float
    shortest_s: float

    def opened(self, connection: Connection) -> None:
        """Take note of a new connection."""

    def release(self, connection: Connection) -> None:
        """Take back a connection whose answer is whole."""

    def forget(self, connection: Connection) -> None:
        """Hand the connection to no further request."""

    def lost(self, connection: Connection) -> None:
        """Take note that the connection has ended."""


class Connection(AnswerParser, asyncio.Protocol):
    """
    A connection to one origin.

    It is busy while it has a reply.  When the answer is whole it goes back to its client, if the
    server keeps it open and sent nothing beyond the answer; otherwise it is closed.
    """

    __slots__ = (
        "_client",
        "_deadline",
        "_last",
        "_limit_s",
        "_looks_at",
        "_patience_s",
        "_paused",
        "_poll",
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

    def __init__(self, client: Pool, origin: Origin, via: Proxy | None = None) -> None:
        super().__init__()
        self.loop = asyncio.get_running_loop()
        self.origin = origin
        self.unheard = False
        """Whether it was closed before the whole request had been handed over, without a byte of
        an answer: the server cannot have acted on it."""
        self._client = client
        self._via = via
        self._transport: asyncio.Transport | None = None
        self._poll: select.poll | None = None
        self._paused = False
        self._uploading = False
        self._write_paused = False
        self._room_to_write: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._last = 0.0
        self._looks_at = 0.0
        """When the timer fires next."""
        self._limit_s = self._deadline = math.inf
        """How long the answer may take in all, and when it then has to be whole."""
        self._patience_s = client.keep_alive_s

    # What the client does with it

    def begin(
        self,
        head: bytes,
        body: bytes,
        whole: bool,
        max_bytes: int | None,
        limit_s: float = math.inf,
    ) -> Reply:
        """Write a request; of a long body only what `upload` then writes."""
        assert self._transport is not None
        reply = Reply(self, whole, max_bytes)
        self.expect(reply, head_only=head.startswith(b"HEAD "))
        if self._via is not None:
            head = absolute_form(self.origin, self._via, head)
        self._last = now = self.loop.time()
        self._limit_s = limit_s
        self._deadline = now + limit_s
        if self._deadline < self._looks_at:
            self._look_in(limit_s)
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

    def abandon(self) -> None:
        """
        Close the socket of a connection that nobody was given, and take note of it at once.

        Where a call is cancelled just when its connection is made, uvloop closes the transport
        without a word to its protocol.
        """
        self.drop()
        if self._transport is not None:
            self.connection_lost(None)

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
        self._look_in(self._client.shortest_s)

    def data_received(self, data: bytes) -> None:
        reply = self._reply
        self._last = self.loop.time()
        if reply is None:
            self.drop()  # nobody asked for anything
            return
        fault = self.parse(reply, data)
        if fault is not None:
            message = f"the answer of {self.origin} cannot be used: {fault}; check its address"
            self._fail(reply, UpstreamError(message, fault="bad_response"))
        elif reply._done:
            self._finish(reply)
        elif reply._head:
            if not reply._whole:
                if reply._held > MAX_HELD_BYTES and not self._paused and self._transport:
                    self._paused = True
                    self._transport.pause_reading()
                reply._wake()
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

    # Endings

    def _finish(self, reply: Reply) -> None:
        """The answer is whole."""
        self._reply = None
        if reply._whole:
            reply.body = reply._take()
        transport = self._transport
        if transport is None:
            pass
        elif self._keep and not (self._extra or self._uploading or self._write_paused):
            if self._paused:
                self._paused = False
                transport.resume_reading()
            if self._keep_s is not None:
                # A second early: a request must not meet the server's good-bye half-way.
                self._patience_s = min(self._client.keep_alive_s, self._keep_s - 1)
            self._client.release(self)
        else:
            self._client.forget(self)
            transport.abort() if self._uploading else transport.close()
        reply._wake()
        self._resume_upload()

    def _end(self, reply: Reply, exc: Exception | None) -> None:
        """The server closed while an answer was due: that ends it, or cuts it."""
        self._keep = False
        if reply._head and exc is None and ends_with_connection(reply):
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
        if reply is not None and self._deadline <= now:
            message = f"the upstream's answer was not complete after {self._limit_s:g} s"
            self._fail(reply, UpstreamError(message, fault="timeout"))
        elif left > 0:
            if reply is not None:
                left = min(left, self._deadline - now)
            self._look_in(min(left, self._client.shortest_s))
        elif reply is None:
            self.drop()
        else:
            message = (
                f"{self.origin} sent nothing for {limit:g} s; see whether it is overloaded, or "
                "allow it more time"
            )
            self._fail(reply, UpstreamError(message, fault="timeout"))

    def _look_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._looks_at = self.loop.time() + seconds
        self._timer = self.loop.call_later(seconds, self._look_at_clock)
