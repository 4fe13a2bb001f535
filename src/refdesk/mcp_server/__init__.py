"""The MCP face: Refdesk's searches as tools, for any MCP client, at ``/mcp``."""

from __future__ import annotations

from refdesk.mcp_server.face import McpFace
from refdesk.mcp_server.searches import Host

__all__ = ["Host", "McpFace"]
