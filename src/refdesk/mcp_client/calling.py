"""
One call of a tool, by the SDK's session.

Not by its `call_tool`: that one lists the tools after a call, to check the answer against the
tool's schema.  A server that fails then would seem to have failed the call, and get it twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from refdesk.errors import DelegateError

if TYPE_CHECKING:
    from mcp.client.client import Client
    from mcp_types import CallToolResult
    from pydantic import TypeAdapter


async def call(client: Client, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
    """
    Call a tool.

    Raises:
        DelegateError: The tool wants to ask somebody something.
        Exception: Whatever the SDK raises.
    """
    from mcp.shared.exceptions import MCPError
    from mcp_types import HEADER_MISMATCH, CallToolRequest, CallToolRequestParams, CallToolResult

    request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
    try:
        result = await client.session.send_request(request, _results())
    except MCPError as exc:
        if exc.code != HEADER_MISMATCH:
            raise
        # Some tools want arguments in headers, too; the SDK knows which once it has listed them.
        await client.session.list_tools()
        result = await client.session.send_request(request, _results())
    if not isinstance(result, CallToolResult):
        raise DelegateError(f"the MCP tool {tool!r} asks for input, and nobody is here to give it")
    return result


@cache
def _results() -> TypeAdapter[Any]:
    from mcp_types import CallToolResult, InputRequiredResult
    from pydantic import TypeAdapter

    return TypeAdapter(CallToolResult | InputRequiredResult)
