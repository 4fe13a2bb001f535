"""
The route table: what answers each path, which right it asks for, and the small pages beside the
model routes.

Every request passes `refdesk.gateway.gate` here, before its handler is called.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

import msgspec

from refdesk.errors import WireError
from refdesk.gateway import endpoints
from refdesk.gateway.app import WIRES, Gateway
from refdesk.gateway.client import Client, HeaderList, Receive, Scope, Send
from refdesk.gateway.gate import Gate, Right
from refdesk.gateway.headers import check_size, refusal_headers
from refdesk.gateway.paging import read_page
from refdesk.gateway.passing import Passing
from refdesk.gateway.targets import Target
from refdesk.ids import new_request_id
from refdesk.types import Caller
from refdesk.wires import chat, messages
from refdesk.wires.base import Wire

Handler = Callable[[Scope, Receive, Send, Caller], Awaitable[None]]
Refuse = Callable[[Scope, Receive, Send, WireError], Awaitable[None]]
"""Answers what the gate refused, in the route's own error shape."""

MODEL_ROUTES: Final = (
    "POST /v1/messages, POST /v1/messages/count_tokens, POST /v1/chat/completions, "
    "POST /v1/responses, GET /v1/models, GET /v1/models/{id}"
)
UPSTREAM_ROUTES: Final = (
    "POST /v1/embeddings, /v1/responses/…, /v1/conversations…, /v1/chat/completions/{id}, "
    "/v1/files…, /v1/batches…, /v1/messages/batches…"
)
"""What is passed on to an upstream that has it."""
_TEXT: Final = b"text/plain; charset=utf-8"
_JSON: Final = b"application/json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    """A route: a method, a path, what answers it and who may call it."""

    method: Literal["GET", "POST", "DELETE"]
    path: str
    """One that ends in a slash stands for all that begin with it."""
    right: Right
    handler: Handler
    refuse: Refuse
    files: bool = False
    """Whether it takes uploads, so that a form of the same site may be sent to it."""
    shown: str = ""
    """How error messages and the start page list it; empty: not at all."""


class Root:
    """
    The ASGI application.

    Args:
        gateway: The model routes.
        gate: Admits requests; a reload replaces it.
        ready: Returns what keeps the server from being ready, or an empty string.
        metrics: Writes the Prometheus page: its content type and body.
        mounts: What else is served.  Model routes are looked up first.
    """

    def __init__(
        self,
        gateway: Gateway,
        gate: Gate,
        *,
        ready: Callable[[], str],
        metrics: Callable[[], tuple[str, bytes]],
        mounts: Sequence[Mount] = (),
    ) -> None:
        self.gateway = gateway
        self.gate = gate
        self._ready = ready
        self._metrics = metrics
        self.mounts: tuple[Mount, ...] = (*self._model_routes(), *self._pages(), *mounts)
        """Every route; looked up in this order."""
        self._exact: dict[tuple[str, str], Mount] = {}
        for mount in self.mounts:
            if not mount.path.endswith("/") or mount.path == "/":
                self._exact.setdefault((mount.method, mount.path), mount)
        self._below = [each for each in self.mounts if each.path.endswith("/") and each.path != "/"]
        self._served = ", ".join(
            [MODEL_ROUTES, UPSTREAM_ROUTES, *(mount.shown for mount in mounts if mount.shown)]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                # Refused before it is accepted: the server answers 403.
                await receive()
                await send({"type": "websocket.close", "code": 1000})
            return
        method, headers = scope["method"], scope["headers"]
        mount = self.find("GET" if method == "HEAD" else method, scope["path"])
        try:
            check_size(scope)
        except WireError as exc:
            await (mount.refuse if mount else _refuse)(scope, receive, send, exc)
            return
        origin = self.gate.allows_origin(headers)
        if origin is not None:
            send = _shared_with(origin, send)
            if method == "OPTIONS":
                await _answer(scope, send, 204, _TEXT, b"", _preflight(headers))
                return
        try:
            if mount is None:
                self.gate.admit(headers, Right.PAGE)
                raise self._unknown(method, scope["path"])
            caller = self.gate.admit(
                headers,
                Right.OPEN if method == "HEAD" and mount.path == "/" else mount.right,
                posts=method == "POST",
                files=mount.files,
            )
        except WireError as exc:
            await (mount.refuse if mount else _refuse)(scope, receive, send, exc)
            return
        await mount.handler(scope, receive, send, caller)

    def find(self, method: str, path: str) -> Mount | None:
        """Return the route of a method and a path, None where none is."""
        found = self._exact.get((method, path))
        if found is not None:
            return found
        for mount in self._below:
            if mount.method == method and path.startswith(mount.path):
                return mount
        return None

    # Routes

    def _model_routes(self) -> list[Mount]:
        gateway = self.gateway
        passing = Passing(gateway, keys_required=lambda: self.gate.access.required)
        found: list[Mount] = []
        for prefix in ("/v1", ""):
            served = [(wire.PATH, wire, gateway.handle) for wire in WIRES.values()]
            served.append(("/messages/count_tokens", messages, gateway.count_tokens))
            found += [
                Mount(
                    method="POST",
                    path=prefix + path,
                    right=Right.CLIENT,
                    handler=partial(handle, wire),
                    refuse=partial(gateway.refuse, wire),
                )
                for path, wire, handle in served
            ]
            found += [
                Mount(
                    method=method,
                    path=prefix + path,
                    right=Right.CLIENT,
                    handler=passing.handle,
                    refuse=passing.refuse,
                    files=files,
                )
                for (method, path), files in endpoints.mounts().items()
            ]
        return found

    def _pages(self) -> list[Mount]:
        pages = [
            ("/", Right.PAGE, self._home),
            ("/livez", Right.OPEN, self._livez),
            ("/readyz", Right.OPEN, self._readyz),
            ("/metrics", Right.METRICS, self._metrics_page),
            ("/v1/models", Right.CLIENT, self._models),
            ("/models", Right.CLIENT, self._models),
            ("/v1/models/", Right.CLIENT, self._model),
            ("/models/", Right.CLIENT, self._model),
        ]
        return [
            Mount(method="GET", path=path, right=right, handler=handler, refuse=_refuse)
            for path, right, handler in pages
        ]

    # Pages

    async def _home(self, scope: Scope, receive: Receive, send: Send, _: Caller) -> None:
        """Answer with what is served."""
        await _answer(scope, send, 200, _TEXT, f"Refdesk. {self._served}\n".encode())

    async def _livez(self, scope: Scope, receive: Receive, send: Send, _: Caller) -> None:
        """Answer that the process runs."""
        await _answer(scope, send, 200, _TEXT, b"ok\n")

    async def _readyz(self, scope: Scope, receive: Receive, send: Send, _: Caller) -> None:
        """Answer whether requests are taken: 200, or 503 with the reason."""
        missing = self._ready()
        await _answer(
            scope, send, 503 if missing else 200, _TEXT, (missing or "ready").encode() + b"\n"
        )

    async def _metrics_page(self, scope: Scope, receive: Receive, send: Send, _: Caller) -> None:
        """Answer with the Prometheus page."""
        kind, body = self._metrics()
        await _answer(scope, send, 200, kind.encode(), body)

    async def _models(self, scope: Scope, receive: Receive, send: Send, _: Caller) -> None:
        """List the models, in pages, as the client's SDK reads them."""
        targets = self.gateway.targets.listed
        try:
            page = read_page(scope["query_string"], list(targets), messages=_speaks_messages(scope))
        except WireError as exc:
            await _refuse(scope, receive, send, exc)
            return
        names = page.names
        if _speaks_messages(scope):
            body: object = {
                "data": [_messages_model(name) for name in names],
                "has_more": page.has_more,
                "first_id": names[0] if names else None,
                "last_id": names[-1] if names else None,
            }
        else:
            body = {
                "object": "list",
                "data": [_openai_model(name, targets[name]) for name in names],
                "has_more": page.has_more,
            }
        await _answer(scope, send, 200, _JSON, msgspec.json.encode(body))

    async def _model(self, scope: Scope, receive: Receive, send: Send, _: Caller) -> None:
        """Show one model."""
        name = scope["path"].split("/models/", 1)[1]
        try:
            target = self.gateway.targets.find(name)
        except WireError as exc:
            await _refuse(scope, receive, send, exc)
            return
        shown = _messages_model(name) if _speaks_messages(scope) else _openai_model(name, target)
        await _answer(scope, send, 200, _JSON, msgspec.json.encode(shown))

    def _unknown(self, method: str, path: str) -> WireError:
        allowed = [other for other in ("POST", "GET", "DELETE") if self.find(other, path)]
        if allowed:
            return NotServed(f"{method} {path[:200]} is not served; use {allowed[0]}", allowed)
        return WireError(f"{path[:200]} is not served here; served: {self._served}", status=404)


class NotServed(WireError):
    """The path is served with other methods."""

    def __init__(self, message: str, allowed: Sequence[str]) -> None:
        super().__init__(message, status=405)
        self.allowed = ", ".join(allowed)


def _openai_model(name: str, target: Target) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": target.upstream}


def _messages_model(name: str) -> dict[str, object]:
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
    }


def _speaks_messages(scope: Scope) -> bool:
    return any(name == b"anthropic-version" for name, _ in scope["headers"])


async def _refuse(scope: Scope, receive: Receive, send: Send, fault: WireError) -> None:
    request_id = new_request_id()
    path = scope["path"]
    wire: Wire = messages if _speaks_messages(scope) or "/messages" in path else chat
    body = wire.error_body(
        str(fault), status=fault.status, param=fault.param, request_id=request_id
    )
    headers: HeaderList = [
        (b"content-type", _JSON),
        (b"x-content-type-options", b"nosniff"),
        (b"x-request-id", request_id.encode()),
        *refusal_headers(fault.status, fault.retry_after_s),
    ]
    if isinstance(fault, NotServed):
        headers.append((b"allow", fault.allowed.encode()))
    shown = b"" if scope["method"] == "HEAD" else body
    await Client(receive, send).answer(fault.status, headers, shown)


_CORS_HEADERS: Final = (
    b"x-request-id, x-refdesk-search, x-refdesk-wire, x-refdesk-notices, server-timing, retry-after"
)


def _shared_with(origin: bytes, send: Send) -> Send:
    """Return a `send` that lets pages of an origin in ``server.origins`` read the answer."""

    async def share(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                *message.get("headers", ()),
                (b"access-control-allow-origin", origin),
                (b"access-control-expose-headers", _CORS_HEADERS),
                (b"vary", b"origin"),
            ]
        await send(message)

    return share


def _preflight(headers: HeaderList) -> HeaderList:
    wanted = dict(headers).get(b"access-control-request-headers", b"content-type, authorization")
    return [
        (b"access-control-allow-methods", b"GET, POST, DELETE"),
        (b"access-control-allow-headers", wanted),
        (b"access-control-max-age", b"600"),
    ]


async def _answer(
    scope: Scope,
    send: Send,
    status: int,
    content_type: bytes,
    body: bytes,
    extra: HeaderList | None = None,
) -> None:
    headers: HeaderList = [
        (b"content-type", content_type),
        (b"content-length", b"%d" % len(body)),
        (b"x-content-type-options", b"nosniff"),
        *(extra or []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
