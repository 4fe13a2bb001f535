"""A whole Refdesk on loopback that answers at /mcp, and the official client to ask it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from desk import Desk, open_desk
from refdesk.search import Searcher


@dataclass(slots=True)
class McpDesk:
    """A desk that answers at /mcp."""

    desk: Desk

    @property
    def searcher(self) -> Searcher:
        """Who searches."""
        return self.desk.application.searcher

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
    """Start a desk; see `desk.open_desk`."""
    async with open_desk(folder, *engines, **changes) as desk:
        yield McpDesk(desk=desk)
    assert [one for one in asyncio.all_tasks() if one.get_name() == "MCP server"] == []
