"""Both ways at once: a search step left to an MCP tool of the configuration, asked for over MCP."""

from __future__ import annotations

import json

from mcp_desk import OpenMcpDesk
from mcp_peers import open_peer, text
from refdesk.testing.fakes import FakeEngine


async def test_search_left_to_a_tool(opened: OpenMcpDesk) -> None:
    """With uses.web on an MCP tool, the tool searches, its session is kept, and ends with us."""
    items = [{"title": "T", "url": "https://t.example/", "content": "c", "score": 0.9}]
    engine = FakeEngine("fake")
    async with open_peer({"find": text(json.dumps({"items": items}))}) as (peer, url):
        async with opened(
            engine, uses={"web": "mcp:finder.find"}, mcp_servers={"finder": {"url": url}}
        ) as mcp:
            async with mcp.client() as client:
                for query in ("one", "two"):
                    result = await client.call_tool("web_search", {"query": query, "limit": 3})
                    assert result.structured_content is not None
                    [item] = result.structured_content["items"]
                    assert (item["title"], item["url"]) == ("T", "https://t.example/")
            assert peer.sessions == 1
        assert peer.sessions == 0

    assert [arguments["query"] for _, arguments in peer.calls] == ["one", "two"]
    assert engine.queries == []


async def test_tool_fails(opened: OpenMcpDesk) -> None:
    """What the tool says of its failure reaches whoever asked; nobody else is asked instead."""
    engine = FakeEngine("fake")
    async with (
        open_peer({"find": text("out of paper", error=True)}) as (_, url),
        opened(
            engine, uses={"web": "mcp:finder.find"}, mcp_servers={"finder": {"url": url}}
        ) as mcp,
        mcp.client() as client,
    ):
        result = await client.call_tool("web_search", {"query": "x"})

    assert result.is_error
    assert "the MCP tool finder.find failed: out of paper" in str(result.content)
    assert engine.queries == []
