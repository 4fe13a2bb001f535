"""
The gateway's front door: which path is which, and the small pages beside the model routes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import msgspec

from refdesk.errors import WireError
from refdesk.gateway.app import WIRES, Gateway
from refdesk.gateway.client import HeaderList, Receive, Scope, Send
from refdesk.gateway.headers import login_tokens
from refdesk.ids import new_request_id
from refdesk.wires import chat, messages
from refdesk.wires.base import Wire

Handler = Callable[[Scope, Receive, Send], Awaitable[None]]

MODEL_ROUTES: Final = (
    "POST /v1/messages, POST /v1/messages/count_tokens, POST /v1/chat/completions, "
    "POST /v1/responses, GET /v1/models, GET /v1/models/{id}"
)
_TEXT: Final = b"text/plain; charset=utf-8"
_JSON: Final = b"application/json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    """A path beside the model routes, answered by somebody else."""

    method: Literal["GET", "POST", "DELETE"]
    path: str
    """One that ends in a slash stands for all that begin with it."""
    handler: Handler
    shown: str = ""
    """How it is told to whoever asks for a path that is not served."""


class Root:
    """
    The ASGI application.

    Args:
        gateway: The model routes.
        ready: Returns what keeps the server from being ready, or an empty string.
        metrics: Writes the Prometheus page: its content type and body.
        mounts: What else is served.  Model routes are looked up first.
    """

    def __init__(
        self,
        gateway: Gateway,
        *,
        ready: Callable[[], str],
        metrics: Callable[[], tuple[str, bytes]],
        mounts: Sequence[Mount] = (),
    ) -> None:
        self.gateway = gateway
        self._ready = ready
        self._metrics = metrics
        self._posts: dict[str, Handler] = {}
        for wire in WIRES.values():
            for prefix in ("/v1", ""):
                self._posts[prefix + wire.PATH] = self._model_route(wire)
        for prefix in ("/v1", ""):
            self._posts[f"{prefix}/messages/count_tokens"] = self._count_route()
        self._gets: dict[str, Handler] = {
            "/": self._home,
            "/livez": self._livez,
            "/readyz": self._readyz,
            "/metrics": self._metrics_page,
            "/v1/models": self._models,
            "/models": self._models,
        }
        self._deletes: dict[str, Handler] = {}
        tables = {"GET": self._gets, "POST": self._posts, "DELETE": self._deletes}
        for mount in mounts:
            if not mount.path.endswith("/"):
                tables[mount.method][mount.path] = mount.handler
        self._below = [mount for mount in mounts if mount.path.endswith("/")]
        self._served = ", ".join([MODEL_ROUTES, *(mount.shown for mount in mounts if mount.shown)])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                # Refused before it is accepted: the server answers 403.
                await receive()
                await send({"type": "websocket.close", "code": 1000})
            return
        method, path = scope["method"], scope["path"]
        if method == "POST":
            handler = self._posts.get(path) or self._find_below("POST", path)
        elif method in ("GET", "HEAD"):
            handler = self._gets.get(path)
            if handler is None and path.startswith(("/v1/models/", "/models/")):
                handler = self._model
            handler = handler or self._find_below("GET", path)
        elif method == "DELETE":
            handler = self._deletes.get(path) or self._find_below("DELETE", path)
        else:
            handler = None
        await (handler or self._unknown)(scope, receive, send)

    def _find_below(self, method: str, path: str) -> Handler | None:
        for mount in self._below:
            if mount.method == method and path.startswith(mount.path):
                return mount.handler
        return None

    # Model routes

    def _model_route(self, wire: Wire) -> Handler:
        return partial(self.gateway.handle, wire)

    def _count_route(self) -> Handler:
        return partial(self.gateway.count_tokens, messages)

    # Pages

    async def _home(self, scope: Scope, _: Receive, send: Send) -> None:
        await _answer(scope, send, 200, _TEXT, f"Refdesk. {self._served}\n".encode())

    async def _livez(self, scope: Scope, _: Receive, send: Send) -> None:
        await _answer(scope, send, 200, _TEXT, b"ok\n")

    async def _readyz(self, scope: Scope, _: Receive, send: Send) -> None:
        missing = self._ready()
        await _answer(
            scope, send, 503 if missing else 200, _TEXT, (missing or "ready").encode() + b"\n"
        )

    async def _metrics_page(self, scope: Scope, _: Receive, send: Send) -> None:
        kind, body = self._metrics()
        await _answer(scope, send, 200, kind.encode(), body)

    async def _models(self, scope: Scope, _: Receive, send: Send) -> None:
        if not await self._admit(scope, send):
            return
        names = list(self.gateway.targets.by_name)
        if _speaks_messages(scope):
            listed = [_messages_model(name) for name in names]
            body: object = {
                "data": listed,
                "has_more": False,
                "first_id": names[0] if names else None,
                "last_id": names[-1] if names else None,
            }
        else:
            body = {"object": "list", "data": [self._openai_model(name) for name in names]}
        await _answer(scope, send, 200, _JSON, msgspec.json.encode(body))

    async def _model(self, scope: Scope, _: Receive, send: Send) -> None:
        if not await self._admit(scope, send):
            return
        name = scope["path"].split("/models/", 1)[1]
        try:
            target = self.gateway.targets.find(name)
        except WireError as exc:
            await _refuse(scope, send, exc)
            return
        body = (
            _messages_model(target.name)
            if _speaks_messages(scope)
            else self._openai_model(target.name)
        )
        await _answer(scope, send, 200, _JSON, msgspec.json.encode(body))

    def _openai_model(self, name: str) -> dict[str, object]:
        target = self.gateway.targets.by_name[name]
        return {"id": name, "object": "model", "created": 0, "owned_by": target.upstream}

    async def _admit(self, scope: Scope, send: Send) -> bool:
        try:
            self.gateway.login.check(login_tokens(scope["headers"]))
        except WireError as exc:
            await _refuse(scope, send, exc)
            return False
        return True

    async def _unknown(self, scope: Scope, _: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        known = [
            allowed
            for allowed, table in (
                ("POST", self._posts),
                ("GET", self._gets),
                ("DELETE", self._deletes),
            )
            if path in table or self._find_below(allowed, path)
        ]
        if known:
            fault = WireError(f"{method} {path[:200]} is not served; use {known[0]}", status=405)
        else:
            fault = WireError(
                f"{path[:200]} is not served here; served: {self._served}", status=404
            )
        await _refuse(scope, send, fault, allow=known)


def _messages_model(name: str) -> dict[str, object]:
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
    }


def _speaks_messages(scope: Scope) -> bool:
    return any(name == b"anthropic-version" for name, _ in scope["headers"])


async def _refuse(
    scope: Scope, send: Send, fault: WireError, allow: list[str] | None = None
) -> None:
    request_id = new_request_id()
    path = scope["path"]
    wire: Wire = messages if _speaks_messages(scope) or "/messages" in path else chat
    body = wire.error_body(
        str(fault), status=fault.status, param=fault.param, request_id=request_id
    )
    extra: HeaderList = [(b"x-request-id", request_id.encode())]
    if allow:
        extra.append((b"allow", ", ".join(allow).encode()))
    await _answer(scope, send, fault.status, _JSON, body, extra)


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
