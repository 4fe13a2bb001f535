"""
``/mcp`` as an ASGI application.

Every POST stands alone: there are no sessions to lose, so any worker can answer.  The official SDK
does the protocol; it is imported at the first request, in a thread, since it brings a whole web
framework along that a gateway without MCP clients need not carry.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import msgspec

from refdesk.errors import WireError
from refdesk.gateway.client import Client, Receive, Scope, Send
from refdesk.gateway.gate import Right
from refdesk.gateway.headers import is_incognito, refusal_headers
from refdesk.gateway.host import Host
from refdesk.gateway.log import RequestLog
from refdesk.gateway.root import Mount
from refdesk.ids import new_request_id
from refdesk.mcp_server.searches import Searches, ToolCall
from refdesk.records import ReferenceBook
from refdesk.types import Caller

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH: Final = "/mcp"
MAX_BODY_BYTES: Final = 262_144
"""Bytes of a call to ``/mcp``; a larger one is refused (413)."""
BODY_TIMEOUT_S: Final = 30.0
"""For the whole body of a call to ``/mcp``; a slower one is answered with 408."""

_NO_REQUEST: Final = -32600
"""JSON-RPC's code for what is no valid request."""


class McpFace:
    """
    The MCP face.

    Args:
        host: The application.
        book: Opens references of earlier searches.
        log: Told of every search.
    """

    def __init__(self, host: Host, book: ReferenceBook, log: RequestLog) -> None:
        self._host = host
        self._searches = Searches(host, book, log)
        self._opening: asyncio.Task[None] | None = None
        self._manager: StreamableHTTPSessionManager | None = None
        self._running: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    def mount(self) -> Mount:
        """Return the route."""
        return Mount(
            method="POST",
            path=PATH,
            right=Right.CLIENT,
            handler=self,
            refuse=_refuse,
            shown=f"POST {PATH} (MCP)",
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send, caller: Caller) -> None:
        """Answer a request to ``/mcp``."""
        request_id = new_request_id()

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {
                    **message,
                    "headers": [
                        *message.get("headers", ()),
                        (b"x-request-id", request_id.encode()),
                        (b"x-content-type-options", b"nosniff"),
                    ],
                }
            await send(message)

        try:
            if self._host.closing:
                raise WireError("this server is shutting down; try again", status=503)
            body = await _read_body(receive)
        except WireError as exc:
            await _refuse(scope, receive, answer, exc)
            return
        if body is None:
            return
        manager = await self._open()
        call = ToolCall(
            request_id=request_id, caller=caller, incognito=is_incognito(scope["headers"])
        )
        scope = {**scope, "refdesk.caller": call}

        async def work(given: Receive) -> None:
            await manager.handle_request(scope, given, answer)

        await _while_connected(work, body, receive)

    async def close(self) -> None:
        """Stop; requests under way are cut."""
        self._stop.set()
        if self._opening is not None:
            with contextlib.suppress(Exception):
                await self._opening
        if self._running is not None:
            await self._running

    async def _open(self) -> StreamableHTTPSessionManager:
        if self._manager is None:
            if self._opening is None:
                self._opening = asyncio.create_task(self._begin())
            # Several may wait for it; one who leaves must not stop it.
            try:
                await asyncio.shield(self._opening)
            except Exception:
                self._opening = None
                raise
        assert self._manager is not None
        return self._manager

    async def _begin(self) -> None:
        await asyncio.to_thread(import_module, "refdesk.mcp_server.tools")
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from refdesk.mcp_server.tools import build_server

        manager = StreamableHTTPSessionManager(
            build_server(self._searches),
            json_response=True,
            stateless=True,
            max_request_body_size=MAX_BODY_BYTES,
        )
        up = asyncio.Event()

        async def run() -> None:
            # The SDK wants to be left by the task that entered.
            async with manager.run():
                up.set()
                await self._stop.wait()

        self._running = asyncio.create_task(run(), name="MCP server")
        await up.wait()
        self._manager = manager


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body, or None where the client has left; WireError where it is too large."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                body += message.get("body", b"")
                if len(body) > MAX_BODY_BYTES:
                    raise WireError(
                        f"the body has more than {MAX_BODY_BYTES} bytes; no call needs that",
                        status=413,
                    )
                if not message.get("more_body"):
                    return bytes(body)
    except TimeoutError:
        raise WireError(
            f"the body did not come within {BODY_TIMEOUT_S:g} s; send it at once", status=408
        ) from None


async def _while_connected(
    work: Callable[[Receive], Awaitable[None]], body: bytes, receive: Receive
) -> None:
    """Do the work on a body that has been read, until it is done or the client has left."""
    left = asyncio.Event()
    given = False

    async def replay() -> dict[str, Any]:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        await left.wait()
        return {"type": "http.disconnect"}

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        left.set()

    working = asyncio.ensure_future(work(replay))
    watching = asyncio.ensure_future(watch())
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        watching.cancel()
        if not working.done():
            working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working


async def _refuse(scope: Scope, receive: Receive, send: Send, fault: WireError) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": _NO_REQUEST, "message": str(fault)},
    }
    data = msgspec.json.encode(body)
    headers = [
        (b"content-type", b"application/json"),
        *refusal_headers(fault.status, fault.retry_after_s),
    ]
    await Client(receive, send).answer(fault.status, headers, data)
