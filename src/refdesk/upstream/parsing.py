"""What the parser finds in the bytes of a connection, and what of it is not taken."""

from __future__ import annotations

from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from refdesk.upstream.reply import Reply

MAX_HEAD_BYTES: Final = 64 * 1024
"""Bytes of an upstream's header lines; beyond it its answer is an error (502)."""
MAX_HEADERS: Final = 200
"""Header lines of an upstream's answer; beyond it the answer is an error (502)."""
MAX_CHUNKS: Final = 512
"""Chunks that are parsed before the loop may do something else."""

_WATCHED: Final = frozenset((b"keep-alive", b"transfer-encoding"))


class AnswerParser:
    """
    The reading half of a connection: fills in the reply that is expected.

    Interim answers (1xx) are passed over, trailers are dropped.  The ``on_`` methods are the
    parser's; one parser reads all answers of a connection.
    """

    __slots__ = (
        "_extra",
        "_head_only",
        "_headers",
        "_keep",
        "_keep_s",
        "_parser",
        "_raw",
        "_reason",
        "_reply",
    )

    def __init__(self) -> None:
        self._parser: HttpResponseParser | None = None
        self._reply: Reply | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._reason: str | None = None
        self._head_only = False
        self._keep = False
        """Whether the server keeps the connection open after the answer."""
        self._keep_s: float | None = None
        """For how long, where it says so."""
        self._extra = False
        """Whether more came than the answer."""
        self._raw = 0
        """Bytes since the last one of a body."""

    def expect(self, reply: Reply, *, head_only: bool) -> None:
        """Take note which reply comes next, and whether it ends with its head."""
        if self._parser is None:
            self._parser = HttpResponseParser(self)
        self._reply = reply
        self._headers = reply.headers
        self._head_only = head_only
        self._raw = 0

    def parse(self, reply: Reply, data: bytes) -> str | None:
        """Read what came; return what is wrong with it, or None."""
        parser = self._parser
        assert parser is not None
        received = reply._received
        self._raw += len(data)
        try:
            parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as exc:
            if not reply._done:
                return self._reason or f"what it sent is not HTTP/1.1 ({exc})"
            self._extra = True
        if received != reply._received:
            self._raw = 0
            if len(reply._chunks) > MAX_CHUNKS:
                reply._gather()
        elif self._raw > MAX_HEAD_BYTES and not reply._done:
            # A head, a trailer or chunk sizes without end: they are held, so they are bounded.
            return f"it sent more than {MAX_HEAD_BYTES} bytes of headers"
        if self._head_only and reply._done:
            self._parser = None  # it still waits for the body that the length promised
        return None

    def on_message_begin(self) -> None:
        if self._reply is None or self._reply._done:
            self._extra = True

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        reply, parser, headers = self._reply, self._parser, self._headers
        if reply is None or parser is None or reply._head:
            return  # another answer after the end of this one
        if len(headers) > MAX_HEADERS:
            self._stop(f"it sent {len(headers)} headers; at most {MAX_HEADERS} are taken")
        if self._raw > MAX_HEAD_BYTES and _size(headers) > MAX_HEAD_BYTES:
            self._stop(f"it sent more than {MAX_HEAD_BYTES} bytes of headers")
        status = parser.get_status_code()
        if status < 200:
            if status == 101:
                self._stop("it switched to another protocol, which nobody asked for")
            headers.clear()
            return
        self._keep = parser.should_keep_alive()
        for name, value in headers:
            if name in _WATCHED:
                self._heed(name, value)
        self._headers = []  # for trailers, which nobody reads
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
                self._keep_s = float(seconds[:6])

    def _stop(self, reason: str) -> None:
        """Make the parser stop; `parse` returns the reason."""
        self._reason = reason
        raise ValueError(reason)


def ends_with_connection(reply: Reply) -> bool:
    """Whether the end of the connection is the end of the body (RFC 9112, section 6.3)."""
    return not any(name in (b"content-length", b"transfer-encoding") for name, _ in reply.headers)


def _size(headers: list[tuple[bytes, bytes]]) -> int:
    return sum(len(name) + len(value) for name, value in headers)
