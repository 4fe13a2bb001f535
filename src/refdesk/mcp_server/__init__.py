"""The MCP face: Refdesk's searches as tools, for any MCP client, at ``/mcp``."""

from __future__ import annotations

from refdesk.mcp_server.face import FindReference, McpFace, Searching

__all__ = ["FindReference", "McpFace", "Searching"]
