"""A whole Refdesk on loopback that answers at /mcp, and the official client to ask it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from desk import Desk, open_desk
from refdesk.mcp_server import McpFace
from refdesk.search import Searcher, WebHandler
from refdesk.types import Reference


@dataclass(slots=True)
class Shelf:
    """The references of a test: by request, number and owner."""

    kept: dict[tuple[str, int, str | None], Reference] = field(default_factory=dict)

    async def __call__(self, request_id: str, index: int, key_id: str | None) -> Reference | None:
        return self.kept.get((request_id, index, key_id))


@dataclass(slots=True)
class McpDesk:
    """A desk that answers at /mcp."""

    desk: Desk
    face: McpFace
    searcher: Searcher
    shelf: Shelf

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{self.desk.host}:{self.desk.port}/mcp"

    @contextlib.asynccontextmanager
    async def client(self, mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
        """Connect the official client."""
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=10) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
        ):
            yield client

    async def post(self, body: Any, **headers: str) -> httpx2.Response:
        """Send a message of the protocol without sessions, by hand."""
        return await self.desk.client.post(
            "/mcp",
            json=body,
            headers={
                "accept": "application/json, text/event-stream",
                **{name.replace("_", "-"): value for name, value in headers.items()},
            },
        )


OpenMcpDesk = Callable[..., AbstractAsyncContextManager[McpDesk]]


@contextlib.asynccontextmanager
async def open_mcp_desk(folder: Path, *engines: Any, **changes: Any) -> AsyncIterator[McpDesk]:
    """Start a desk with the face among its routes; see `desk.open_desk`."""
    async with open_desk(folder, *engines, **changes) as desk:
        application = desk.application
        searcher = Searcher(application.config.search, handlers=[WebHandler(application.web)])
        shelf = Shelf()
        face = McpFace(
            searcher,
            shelf,
            login=lambda: application.gateway.login,
            identity=lambda key_id: {"key": key_id} if key_id else None,
            can=lambda kind: kind in searcher.handlers.types(),
        )
        application.root._posts["/mcp"] = face
        try:
            yield McpDesk(desk=desk, face=face, searcher=searcher, shelf=shelf)
        finally:
            await desk.idle()
            await face.close()
        assert [one for one in asyncio.all_tasks() if one.get_name() == "MCP server"] == []
