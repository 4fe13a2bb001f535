"""
The peers that an end-to-end run puts round the gateway, all on loopback.

    client → Tap → gateway → Upstream
                      └────→ Engine

The tap passes everything on and keeps what was said; the upstream answers from a script, and keeps
what it was asked; the engine finds the same page for every question, and keeps the questions.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

_PIECE: Final = 61
"""A stream goes out in pieces of so many bytes, so that events are cut."""
_HOP: Final = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}

_PAGE: Final = {
    "title": "What's new in Python 3.14",
    "url": "https://docs.python.org/3/whatsnew/3.14.html",
    "text": "Python 3.14 was released on 7 October 2025.",
}

Script = Callable[[str, Any], bytes]
"""What an upstream answers: path and parsed body in, an event stream or a JSON object out."""


@dataclass(kw_only=True, slots=True)
class Exchange:
    """One request, and what was answered."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    status: int = 0
    answer_headers: Mapping[str, str] = field(default_factory=dict)
    answer: bytes = field(default=b"", repr=False)

    @property
    def json(self) -> Any:
        """The body, parsed; empty where there is none."""
        return json.loads(self.body) if self.body else {}

    @property
    def search(self) -> str:
        """What the gateway says became of search."""
        return self.answer_headers.get("x-refdesk-search", "")


class _Server:
    """A threaded HTTP server that keeps the exchanges in order of arrival."""

    def __init__(self) -> None:
        self.seen: list[Exchange] = []
        handler = type("Handler", (_Handler,), {"peer": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, exchange: Exchange, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        raise NotImplementedError


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    peer: _Server

    def _any(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        exchange = Exchange(
            method=self.command,
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(length),
        )
        self.peer.seen.append(exchange)
        try:
            self.peer.answer(exchange, self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = _any  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: the run prints its own table."""


class Upstream(_Server):
    """A model server that cannot search: it answers with what the script says."""

    def __init__(self, script: Script) -> None:
        self._script = script
        super().__init__()

    def answer(self, exchange: Exchange, handler: BaseHTTPRequestHandler) -> None:
        """Send the script's event stream, in small pieces."""
        exchange.answer = self._script(exchange.path.partition("?")[0], exchange.json)
        exchange.status = 200
        kind = "application/json" if exchange.answer.startswith(b"{") else "text/event-stream"
        handler.send_response(200)
        handler.send_header("content-type", kind)
        handler.send_header("content-length", str(len(exchange.answer)))
        handler.end_headers()
        for at in range(0, len(exchange.answer), _PIECE):
            handler.wfile.write(exchange.answer[at : at + _PIECE])


class Engine(_Server):
    """A search engine, as `type: http` asks it."""

    def answer(self, exchange: Exchange, handler: BaseHTTPRequestHandler) -> None:
        """Find one page."""
        exchange.answer = json.dumps({"hits": [_PAGE]}).encode()
        exchange.status = 200
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(exchange.answer)))
        handler.end_headers()
        handler.wfile.write(exchange.answer)

    @property
    def asked(self) -> list[str]:
        """The texts that it was asked for, in order."""
        queries = (parse_qs(urlsplit(one.path).query) for one in self.seen)
        return [query["q"][0] for query in queries]


class Tap(_Server):
    """Passes every request on to the gateway, and the answer back as it comes."""

    def __init__(self, target: str) -> None:
        self._target = urlsplit(target).netloc
        super().__init__()

    def answer(self, exchange: Exchange, handler: BaseHTTPRequestHandler) -> None:
        """Carry one exchange."""
        connection = http.client.HTTPConnection(self._target, timeout=60)
        headers = {name: each for name, each in exchange.headers.items() if name not in _HOP}
        connection.request(exchange.method, exchange.path, exchange.body or None, headers)
        response = connection.getresponse()
        exchange.status = response.status
        exchange.answer_headers = {name.lower(): value for name, value in response.getheaders()}
        handler.close_connection = True
        handler.send_response_only(response.status)
        for name, value in response.getheaders():
            if name.lower() not in _HOP:
                handler.send_header(name, value)
        handler.send_header("connection", "close")
        handler.end_headers()
        while data := response.read1():
            exchange.answer += data
            handler.wfile.write(data)
            handler.wfile.flush()
        connection.close()
