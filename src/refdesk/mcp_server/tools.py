"""The tools at work, as the SDK's server wants them.  Imported with the SDK, at the first call."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Final

import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from refdesk.cleaning import one_line
from refdesk.errors import RefdeskError
from refdesk.mcp_server.catalog import (
    INSTRUCTIONS,
    TOOLS,
    BadArguments,
    ToolSpec,
    read_arguments,
)
from refdesk.mcp_server.searches import Searches, ToolCall
from refdesk.mcp_server.texts import safe, write_reference, write_result
from refdesk.search.emit import reference_json, result_json
from refdesk.types import SearchType

CALLER: Final = "refdesk.caller"
"""Where the request's scope holds the `ToolCall`."""

_NOT_CONFIGURED: Final[dict[SearchType, str]] = {
    "web": "there is no search engine here; the operator adds one under `engines`",
    "kb": (
        "name some of its collections, or the operator adds a collection under `collections` and"
        " names it in search.kb.collections"
    ),
    "db": "no database is connected here; the operator adds one under `databases`",
}

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk.mcp")


def build_server(searches: Searches) -> Server[Any]:
    """Return the SDK's server with our tools."""
    listed = [_listed(spec) for spec in TOOLS.values()]

    async def list_tools(
        context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call_tool(
        context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult:
        spec = TOOLS.get(params.name)
        if spec is None:
            raise MCPError(
                INVALID_PARAMS,
                f"no tool is called {params.name[:80]!r}; there are {', '.join(TOOLS)}",
            )
        assert context.request is not None, "the server speaks HTTP only"
        call: ToolCall = context.request.scope[CALLER]
        try:
            arguments = read_arguments(spec, params.arguments)
            if spec.type is None:
                return await _read(searches, arguments, call.caller.key_id)
            return await _search(searches, spec.type, arguments, call)
        except (BadArguments, RefdeskError) as exc:
            return _failed(str(exc))
        except Exception:
            _log.exception("an MCP tool failed", tool=spec.name, request_id=call.request_id)
            return _failed(f"{spec.name} failed here; the log says why, under {call.request_id}")

    return Server(
        "refdesk",
        version=version("refdesk"),
        title="Refdesk",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _search(
    searches: Searches, kind: SearchType, arguments: dict[str, Any], call: ToolCall
) -> CallToolResult:
    if not searches.can(kind):
        return _failed(_NOT_CONFIGURED[kind])
    # A model that calls a tool searches by itself; nobody wrote this search down.
    request = {**arguments, "type": kind, "source": "auto"}
    result = await searches.search(request, call)
    if result.error is not None:
        return _failed(result.error)
    if kind == "kb" and not result.items and not (arguments.get("collections") or searches.chosen):
        return _failed(f"no collection was named, so nothing was searched; {_NOT_CONFIGURED[kind]}")
    return _done(write_result(result), result_json(result))


async def _read(
    searches: Searches, arguments: dict[str, Any], key_id: str | None
) -> CallToolResult:
    request_id, index = arguments["request_id"], arguments["index"]
    if not isinstance(request_id, str) or not request_id:
        return _failed(f"request_id is {_shown(request_id)}; give the one that a search gave")
    # True is an int, and 2.0 is how some clients write 2.
    if isinstance(index, bool) or not isinstance(index, int | float) or index != index // 1:
        return _failed(f"index is {_shown(index)}; give the number of a result, from 1")
    reference = await searches.reference(request_id, int(index), key_id)
    data = reference_json(reference)
    data["metadata"] = data.pop("meta")
    return _done(write_reference(reference), data)


def _done(text: str, data: dict[str, Any]) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=safe(data)
    )


def _failed(why: str) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=one_line(why, 2000))], is_error=True
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _listed(spec: ToolSpec) -> Tool:
    return Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input_schema=spec.input_schema,
        output_schema=dict(spec.output),
        annotations=ToolAnnotations(
            read_only_hint=True, destructive_hint=False, open_world_hint=spec.open_world
        ),
    )
