"""MCP servers for tests of the client: real ones of the official SDK, on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp_types
import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import CallToolResult, TextContent, Tool
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from refdesk.config.library import McpServerEntry

Answer = CallToolResult | Callable[[dict[str, Any]], Awaitable[CallToolResult]]


def text(*texts: str, error: bool = False, data: Any = None) -> CallToolResult:
    """Return a tool's result."""
    return CallToolResult(
        content=[TextContent(type="text", text=one) for one in texts],
        structured_content=data,
        is_error=error,
    )


def tool(name: str, **fields: Any) -> Tool:
    """Return a tool that takes anything."""
    return Tool(name=name, input_schema={"type": "object"}, **fields)


@contextlib.asynccontextmanager
async def served(app: Any, port: int = 0) -> AsyncIterator[str]:
    """Serve an ASGI application; yields its address."""
    config = uvicorn.Config(app, http=HttpToolsProtocol, ws="none", lifespan="off", log_config=None)
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: HttpToolsProtocol(config, state, {}), "127.0.0.1", port
    )
    host, port = server.sockets[0].getsockname()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()
        while tasks := list(state.tasks):
            await asyncio.wait(tasks)
        await server.wait_closed()


class Peer:
    """
    An MCP server over HTTP whose tools answer as told.

    Args:
        answers: By the tool's name: a result, or a coroutine function of the arguments.
        tools: What it lists; by default the names of ``answers``.
        modern: Whether it speaks the protocol without sessions, too.
    """

    def __init__(
        self,
        answers: dict[str, Answer],
        *,
        tools: list[Tool] | None = None,
        modern: bool = False,
    ) -> None:
        self.answers = answers
        self.tools = [tool(name) for name in answers] if tools is None else tools
        self.modern = modern
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.methods: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.page = 1000
        self._manager: StreamableHTTPSessionManager | None = None
        self._stop = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    @property
    def sessions(self) -> int:
        """How many sessions are open."""
        return len(self._manager._server_instances) if self._manager else 0

    async def start(self) -> None:
        """Begin with no sessions, as a server does that was started anew."""
        await self.stop()
        server: Server[Any] = Server(
            "peer", on_list_tools=self._list_tools, on_call_tool=self._call_tool
        )
        manager = self._manager = StreamableHTTPSessionManager(server)
        up, self._stop = asyncio.Event(), asyncio.Event()
        stop = self._stop

        async def run() -> None:
            async with manager.run():
                up.set()
                await stop.wait()

        self._running = asyncio.create_task(run())
        await up.wait()

    async def stop(self) -> None:
        """End all sessions."""
        self._stop.set()
        if self._running is not None:
            await self._running
        self._running = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.headers.append(headers)
        version = headers.get("mcp-protocol-version")
        if not self.modern and version and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            await send({"type": "http.response.start", "status": 400, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        assert self._manager is not None
        await self._manager.handle_request(scope, receive, send)

    async def _list_tools(
        self, context: Any, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        self.methods.append("tools/list")
        start = int(params.cursor) if params and params.cursor else 0
        more = start + self.page < len(self.tools)
        return mcp_types.ListToolsResult(
            tools=self.tools[start : start + self.page],
            next_cursor=str(start + self.page) if more else None,
        )

    async def _call_tool(
        self, context: Any, params: mcp_types.CallToolRequestParams
    ) -> CallToolResult:
        self.methods.append("tools/call")
        arguments = dict(params.arguments or {})
        self.calls.append((params.name, arguments))
        answer = self.answers[params.name]
        return answer if isinstance(answer, CallToolResult) else await answer(arguments)


@contextlib.asynccontextmanager
async def open_peer(answers: dict[str, Answer], **options: Any) -> AsyncIterator[tuple[Peer, str]]:
    """Serve a peer; yields it and its address."""
    peer = Peer(answers, **options)
    await peer.start()
    try:
        async with served(peer) as url:
            yield peer, f"{url}/mcp"
    finally:
        await peer.stop()


def over_http(url: str, **headers: str) -> McpServerEntry:
    """Return the configuration of a server at a URL."""
    return McpServerEntry.model_validate({"url": url, "headers": headers})


def by_command(script: Path, *args: str, **env: str) -> McpServerEntry:
    """Return the configuration of a server that is a Python script."""
    return McpServerEntry.model_validate(
        {"command": sys.executable, "args": [str(script), *args], "env": env}
    )
