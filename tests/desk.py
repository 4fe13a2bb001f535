"""
A whole Refdesk on loopback, and the peers it speaks to, for tests of the gateway.

The server is the real one, in the test's own loop; the upstream is a small HTTP server that answers
from a queue; engines are fakes, or real ones whose address is on loopback.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2
import uvicorn
from uvicorn.server import ServerState

from refdesk.application import Application
from refdesk.config import Config
from refdesk.gateway.log import Entry
from refdesk.server import GuardedProtocol
from refdesk.store import Store
from refdesk.testing.fakes import FakeEngine
from refdesk.web.building import build_engines
from refdesk.web.engines import BaseEngine

CLIENT_KEY: Final = "rdk-canary-client-0123456789abcdef"
UPSTREAM_KEY: Final = "canary-upstream-key-0123456789"
QUESTION: Final = "When was Python 3.14 released?"
PATHS: Final = {"messages": "/messages", "chat": "/chat/completions", "responses": "/responses"}
WIRES: Final = tuple(PATHS)


class Stall:
    """A step of an answer: nothing, until the peer leaves."""


class Close:
    """A step of an answer: the connection is closed."""


class Reset:
    """A step of an answer: the connection is reset."""


@dataclass(slots=True)
class Seen:
    """A request as the upstream got it."""

    line: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes
    raw: bytes = field(repr=False)

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        """The only value of a header; None where it is absent."""
        found = [value for key, value in self.headers if key == name.encode()]
        assert len(found) < 2, f"{name} was sent {len(found)} times"
        return found[0].decode() if found else None


class Upstream:
    """A server that gives the next answer of a queue, and the last one again and again."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.answers: deque[Sequence[Any]] = deque()
        self.open = 0
        """Connections that are open now."""
        self.changed = asyncio.Event()
        self._last: Sequence[Any] = ()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Its address."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def will(self, *answers: Sequence[Any] | bytes) -> None:
        """Answer so from now on: a list of steps, or just bytes, for each request."""
        self.answers = deque([one] if isinstance(one, bytes) else one for one in answers)

    async def start(self) -> None:
        """Begin to listen."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=2**26)

    async def stop(self) -> None:
        """Stop, and drop all connections."""
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something of this server is so."""
        async with asyncio.timeout(5):
            while not true():
                self.changed.clear()
                await self.changed.wait()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.changed.set()
        try:
            with contextlib.suppress(OSError, EOFError):
                while await self._one(reader, writer):
                    pass
        finally:
            self.open -= 1
            self.changed.set()
            writer.transport.abort() if reader.at_eof() else writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        line, *rest = head[:-4].split(b"\r\n")
        headers = [
            (name.lower(), value.strip())
            for name, _, value in (each.partition(b":") for each in rest)
        ]
        length = int(dict(headers).get(b"content-length", b"0"))
        body = await reader.readexactly(length)
        self.seen.append(Seen(line, headers, body, head + body))
        self.changed.set()
        if self.answers:
            self._last = self.answers.popleft()
        for step in self._last:
            if isinstance(step, asyncio.Event):
                waits = asyncio.ensure_future(step.wait())
                leaves = asyncio.ensure_future(reader.read(1))
                done, pending = await asyncio.wait(
                    (waits, leaves), return_when=asyncio.FIRST_COMPLETED
                )
                for task in pending:
                    task.cancel()
                await asyncio.gather(*pending, return_exceptions=True)
                if leaves in done:
                    return False
            elif isinstance(step, Stall):
                await reader.read(1)
                return False
            elif isinstance(step, Close):
                return False
            elif isinstance(step, Reset):
                writer.transport.abort()
                return False
            else:
                writer.write(step)
                await writer.drain()
        return True


def whole(
    body: bytes | Mapping[str, Any],
    status: int = 200,
    kind: str = "application/json",
    **headers: str,
) -> bytes:
    """An answer with a length."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return (
        f"HTTP/1.1 {status} Whatever\r\ncontent-type: {kind}\r\n"
        f"content-length: {len(data)}\r\n{lines}\r\n"
    ).encode() + data


SSE_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
LAST_CHUNK: Final = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """A piece of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def sse(body: bytes, *, cut: int = 0) -> list[bytes]:
    """A streamed answer, in pieces of ``cut`` bytes, or in one."""
    pieces = [body[at : at + cut] for at in range(0, len(body), cut)] if cut else [body]
    return [SSE_HEAD, *(chunk(piece) for piece in pieces), LAST_CHUNK]


def asks(wire: str, text: str = QUESTION, *, search: bool = True, **changes: Any) -> dict[str, Any]:
    """A request on a wire, with search declared or not."""
    user = {"role": "user", "content": text}
    match wire:
        case "messages":
            body: dict[str, Any] = {"model": "m", "max_tokens": 100, "messages": [user]}
            if search:
                body["tools"] = [{"type": "web_search_20250305", "name": "web_search"}]
        case "chat":
            body = {"model": "m", "messages": [user]}
            if search:
                body["web_search_options"] = {}
        case _:
            body = {"model": "m", "input": [user]}
            if search:
                body["tools"] = [{"type": "web_search"}]
    return body | changes


def answers(wire: str, text: str = "On 7 October 2025 [1].") -> dict[str, Any]:
    """A whole answer on a wire."""
    match wire:
        case "messages":
            return {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        case "chat":
            message = {"role": "assistant", "content": text}
            return {
                "id": "c_1",
                "object": "chat.completion",
                "created": 1,
                "model": "m",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": [
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        ],
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
    }


def event(data: Mapping[str, Any]) -> bytes:
    """An event of a stream, named where it has a type."""
    named = f"event: {data['type']}\n" if "type" in data else ""
    return f"{named}data: {json.dumps(data)}\n\n".encode()


def stream(wire: str, text: str = "On 7 October 2025 [1].") -> list[bytes]:
    """The events of a streamed answer on a wire."""
    body = answers(wire, text)
    if wire == "messages":
        start = body | {"content": [], "stop_reason": None}
        return [
            event({"type": "message_start", "message": start}),
            event(
                {
                    "type": "content_block_start",
                    "index": 0,
                    "content_block": {"type": "text", "text": ""},
                }
            ),
            event(
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "text_delta", "text": text},
                }
            ),
            event({"type": "content_block_stop", "index": 0}),
            event(
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                    "usage": {"output_tokens": 1},
                }
            ),
            event({"type": "message_stop"}),
        ]
    if wire == "chat":
        base = {"id": "c_1", "object": "chat.completion.chunk", "created": 1, "model": "m"}

        def piece(delta: dict[str, Any], finish: str | None = None) -> bytes:
            return event(
                base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            )

        return [
            piece({"role": "assistant", "content": ""}),
            piece({"content": text}),
            piece({}, "stop"),
            b"data: [DONE]\n\n",
        ]
    item = body["output"][0]
    part = item["content"][0]
    begun = body | {"status": "in_progress", "output": []}
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": item | {"status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **at, "part": part | {"text": ""}},
        {"type": "response.output_text.delta", **at, "delta": text, "logprobs": []},
        {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": body},
    ]
    return [event(each | {"sequence_number": number}) for number, each in enumerate(events)]


def events(data: bytes) -> list[Any]:
    """The JSON of a stream's events, in order."""
    found = re.findall(rb"^data: ?(.*)$", data, re.MULTILINE)
    return [json.loads(each) for each in found if each != b"[DONE]"]


class Complaints(logging.Handler):
    """What the server says when an application fails: nothing, if all is well."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.said.append(self.format(record))


OpenDesk = Callable[..., contextlib.AbstractAsyncContextManager["Desk"]]


@dataclass(kw_only=True, slots=True)
class Desk:
    """A running Refdesk and its peers."""

    application: Application
    upstream: Upstream
    engines: Mapping[str, BaseEngine]
    client: httpx2.AsyncClient
    host: str
    port: int
    entries: list[Entry]
    complaints: list[str]
    store: Store
    state: ServerState

    @property
    def engine(self) -> FakeEngine:
        """The first engine."""
        first = next(iter(self.engines.values()))
        assert isinstance(first, FakeEngine)
        return first

    async def post(
        self, path: str, body: bytes | Mapping[str, Any], **headers: str
    ) -> httpx2.Response:
        """Send a body; return the whole answer."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.client.post(
            path,
            content=data,
            headers={"content-type": "application/json"}
            | {name.replace("_", "-"): value for name, value in headers.items()},
        )

    async def ask(self, wire: str, **changes: Any) -> httpx2.Response:
        """Send a request of `asks` to its wire."""
        return await self.post("/v1" + PATHS[wire], asks(wire, **changes))

    async def raw(self, data: bytes, *, close: bool = False) -> bytes:
        """Send bytes on a connection of their own; return all that comes until it is closed."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            writer.write(data)
            with contextlib.suppress(OSError):
                await writer.drain()
            if close:
                writer.write_eof()
            async with asyncio.timeout(10):
                return await reader.read()
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def last(self) -> Entry:
        """Return the log's entry of the last request, when it has ended."""
        await self.idle()
        self.application.log.drain()
        return self.entries[-1]

    async def idle(self) -> None:
        """Wait until no request is under way any more."""
        async with asyncio.timeout(5):
            while tasks := list(self.state.tasks):
                await asyncio.wait(tasks)

    async def until_running(self, number: int) -> None:
        """Wait until so many requests are under way."""
        async with asyncio.timeout(5):
            while len(self.state.tasks) < number:  # noqa: ASYNC110
                # The server has no event for it; every turn of the loop is a chance.
                await asyncio.sleep(0)

    def metrics(self) -> str:
        """Return the metrics page."""
        return self.application._metrics_page()[1].decode()

    def http(self, method: str, path: str, body: bytes = b"", *headers: str) -> bytes:
        """Return a request as bytes, after which the connection is closed."""
        lines = [f"{method} {path} HTTP/1.1", f"host: {self.host}", "connection: close", *headers]
        if body:
            lines.append(f"content-length: {len(body)}")
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def config_of(upstream: str, folder: Path, **changes: Any) -> Config:
    """A configuration with one upstream that speaks all three wires, deep changes on top."""
    base: dict[str, Any] = {
        "data_dir": str(folder / "data"),
        "upstreams": {
            "up": {
                "wire": ["messages", "chat", "responses"],
                "base_url": upstream,
                "api_key": UPSTREAM_KEY,
            }
        },
        "models": {"m": {"upstream": "up"}},
        "engines": {"fake": {"type": "ddgs"}},
        "default_model": "m",
        "gateway": {"search": {"pages_per_query": 1}},
    }
    merged = _merged(base, changes)
    merged["engines"] = changes.get("engines", base["engines"])
    return Config.model_validate(merged)


def _merged(base: Any, changes: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(changes, dict)):
        return changes
    return base | {
        key: _merged(base[key], value) if key in base else value for key, value in changes.items()
    }


@contextlib.asynccontextmanager
async def open_desk(
    folder: Path,
    *engines: BaseEngine,
    real_engines: bool = False,
    upstream: Upstream | None = None,
    store: Store | None = None,
    protocol: type[GuardedProtocol] = GuardedProtocol,
    **changes: Any,
) -> AsyncIterator[Desk]:
    """
    Start a desk.

    Args:
        folder: For its store.
        engines: In place of those of the configuration; a `FakeEngine` by default.
        real_engines: Build the engines that the configuration names.
        upstream: One that is running already; by default a new one.
        store: One that is open already; by default a new one.
        protocol: The server's side of a connection.
        changes: To the configuration.
    """
    own_upstream = upstream is None
    if upstream is None:
        upstream = Upstream()
        await upstream.start()
    config = config_of(upstream.url, folder, **changes)
    own_store = store is None
    if store is None:
        store = await asyncio.to_thread(
            Store.open, config.store.url, data_dir=Path(config.data_dir)
        )
    fakes = {engine.name: engine for engine in engines or (FakeEngine("fake"),)}
    makes = build_engines if real_engines else lambda _: dict(fakes)
    complaints = Complaints()
    logger = logging.getLogger("uvicorn.error")
    logger.addHandler(complaints)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.said.append(repr(context)))
    try:
        application = await Application.start(config, store, engines=makes)
        entries: list[Entry] = []
        application.log._sinks = (*application.log._sinks, entries.extend)
        served = uvicorn.Config(
            application.root, http=protocol, ws="none", lifespan="off", log_config=None,
            access_log=False, server_header=False, proxy_headers=False,
        )  # fmt: skip
        served.load()
        state = ServerState()
        server = await loop.create_server(lambda: protocol(served, state, {}), "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        client = httpx2.AsyncClient(
            base_url=f"http://{host}:{port}", trust_env=False, verify=False, timeout=10
        )
        desk = Desk(
            application=application,
            upstream=upstream,
            engines=application.web.engines,
            client=client,
            host=host,
            port=port,
            entries=entries,
            complaints=complaints.said,
            store=store,
            state=state,
        )
        try:
            yield desk
        finally:
            await client.aclose()
            server.close()
            for connection in list(state.connections):
                connection.transport.abort()
            await desk.idle()
            await server.wait_closed()
            await application.close()
    finally:
        logger.removeHandler(complaints)
        loop.set_exception_handler(None)
        if own_upstream:
            await upstream.stop()
        if own_store:
            await asyncio.to_thread(store.close)
    assert complaints.said == []
