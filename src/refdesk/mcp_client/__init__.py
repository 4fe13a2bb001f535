"""
The tools of MCP servers: called for steps of a search, listed for assistants.

The official SDK is imported at the first call, since it brings a whole web server along.
"""

from __future__ import annotations

from refdesk.mcp_client.answers import ToolAnswer
from refdesk.mcp_client.limits import Limits
from refdesk.mcp_client.names import alias_of
from refdesk.mcp_client.servers import McpServers, Tool

__all__ = ["Limits", "McpServers", "Tool", "ToolAnswer", "alias_of"]
