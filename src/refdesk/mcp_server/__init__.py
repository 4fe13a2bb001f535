"""The MCP face: Refdesk's searches as tools, for any MCP client, at ``/mcp``."""

from __future__ import annotations

from refdesk.mcp_server.face import McpFace

__all__ = ["McpFace"]
