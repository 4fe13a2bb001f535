"""
The MCP servers of a configuration, and their tools.

Every server has one session, opened at the first call and kept.  Where it turns out to be dead, a
new one is opened and the call made once more, once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import structlog

from refdesk.cleaning import visible_lines
from refdesk.config.library import McpServerEntry
from refdesk.config.secrets import is_secret_name
from refdesk.errors import DelegateError
from refdesk.masking import Masker
from refdesk.mcp_client.answers import ToolAnswer, read_answer
from refdesk.mcp_client.calling import call
from refdesk.mcp_client.limits import Limits
from refdesk.mcp_client.names import alias_of
from refdesk.mcp_client.session import Session
from refdesk.uses import Uses

if TYPE_CHECKING:
    from mcp.client.client import Client
    from mcp_types import Tool as SdkTool

T = TypeVar("T")

LIST_TIMEOUT_S: Final = 30.0
"""For an MCP server to list its tools; beyond it the server counts as away."""
_NAME_CHARS: Final = 256

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk.mcp")


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A tool of an MCP server.  What it says of itself is foreign text, cleaned and bounded."""

    server: str
    name: str
    """As the server says it."""
    alias: str
    """What a model calls it: at most 64 letters, digits, ``_`` and ``-``."""
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    read_only: bool = False
    """Whether the server says that it changes nothing."""


def credentials_of(entry: McpServerEntry) -> Iterator[str]:
    """
    Yield what no message about a server may hold.

    Its environment and headers, its address where that has a user or a query, and of its arguments
    those that are named like a secret (``--api-key=KEY``, ``--token KEY``) or are such an address.
    """
    yield from (
        value.get_secret_value() for value in (*entry.env.values(), *entry.headers.values())
    )
    named = False
    for arg in (str(entry.url or ""), *entry.args):
        name, _, value = arg.partition("=")
        if named or ("://" in arg and ("@" in arg or "?" in arg)):
            yield arg
        elif value and is_secret_name(name):
            yield value
        named = arg.startswith("-") and not value and is_secret_name(arg)


class McpServers:
    """
    Calls tools; does the steps of a search that are delegated to ``mcp:<server>.<tool>``.

    Args:
        servers: The configuration's ``mcp_servers``.
        limits: What each of them may take up.

    It belongs to the event loop of its first call, and is closed there.
    """

    def __init__(
        self, servers: Mapping[str, McpServerEntry], *, limits: Limits | None = None
    ) -> None:
        self._limits = limits or Limits()
        self._servers: dict[str, _Server] = {}
        self._aliases: dict[str, Tool] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self.configure(servers)

    def configure(self, servers: Mapping[str, McpServerEntry]) -> None:
        """
        Take in a new configuration.

        Servers that are as they were keep their sessions; the others end in the background.
        """
        old, self._servers = self._servers, {}
        for name, entry in servers.items():
            kept = old.get(name)
            if kept is not None and kept.entry == entry:
                self._servers[name] = old.pop(name)
            else:
                self._servers[name] = _Server(name, entry, self._limits)
        for server in old.values():
            if server.is_open:
                task = asyncio.get_running_loop().create_task(server.close())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
        self._aliases = {
            alias: tool
            for alias, tool in self._aliases.items()
            if tool.server in self._servers and tool.server not in old
        }

    async def call(self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float) -> Any:
        """
        Have a tool do a step of a search.

        Returns:
            Its structured content; else its first text that is a JSON object or array; else its
            text.

        Raises:
            DelegateError: It could not be called, took too long, or says that it failed.
        """
        if target.kind != "mcp":
            raise DelegateError(f"{str(target)!r} is no MCP tool; write mcp:<server>.<tool>")
        answer = await self.call_tool(target.server, target.tool, payload, timeout_s=timeout_s)
        return answer.text if answer.data is None else answer.data

    async def call_tool(
        self, server: str, tool: str, arguments: Mapping[str, Any], *, timeout_s: float
    ) -> ToolAnswer:
        """
        Call a tool by the names that the configuration and the server use.

        Whoever is cancelled, or runs out of time, tells the server to stop.  A call is made twice
        where the session ended under it: a server that dies of a call is called again.

        Raises:
            DelegateError: It could not be called, took too long, or says that it failed.
        """
        found = self._find(server)
        result = await found.ask(lambda client: call(client, tool, arguments), timeout_s=timeout_s)
        # Some are megabytes of JSON, and the loop has others to serve.
        answer = await asyncio.to_thread(
            read_answer,
            result,
            tool=f"{server}.{tool}",
            max_bytes=self._limits.max_bytes,
            mask=found.mask,
        )
        if answer.cut:
            _log.warning(
                "an MCP tool's answer was cut",
                server=server,
                tool=tool,
                bytes=self._limits.max_bytes,
            )
        return answer

    async def list_tools(
        self, server: str | None = None, *, timeout_s: float = LIST_TIMEOUT_S
    ) -> tuple[Tool, ...]:
        """
        Return the tools of a server, or of all; then `tool_called` knows their aliases.

        Raises:
            DelegateError: A server could not be asked.
        """
        names = [server] if server is not None else list(self._servers)
        listed = await asyncio.gather(
            *(self._find(name).list_tools(timeout_s=timeout_s) for name in names)
        )
        tools = tuple(tool for of_server in listed for tool in of_server)
        self._aliases.update({tool.alias: tool for tool in tools})
        return tools

    def tool_called(self, alias: str) -> Tool | None:
        """Return the listed tool that a model means by an alias, or None."""
        return self._aliases.get(alias)

    async def close(self) -> None:
        """End all sessions and the servers that were started here; calls fail from now on."""
        await asyncio.gather(*(server.close() for server in self._servers.values()), *self._closing)

    def _find(self, name: str) -> _Server:
        try:
            return self._servers[name]
        except KeyError:
            known = ", ".join(sorted(self._servers)) or "none"
            raise DelegateError(
                f"no MCP server is called {name!r}; known: {known}. Add it to mcp_servers"
            ) from None


class _Server:
    """One server: its session now, and those that are being closed."""

    def __init__(self, name: str, entry: McpServerEntry, limits: Limits) -> None:
        self.name = name
        self.entry = entry
        self._limits = limits
        self._session: Session | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self.mask: Final = Masker(credentials_of(entry))
        """Takes this server's credentials out of a text."""

    @property
    def is_open(self) -> bool:
        """Whether there is a session, or one that is being closed."""
        return bool(self._tasks)

    async def ask(self, what: Callable[[Client], Awaitable[T]], *, timeout_s: float) -> T:
        """Ask in the session; in a new one, once, where it has ended."""
        session = self._current()
        try:
            async with asyncio.timeout(timeout_s):
                try:
                    async with session.client() as client:
                        return await what(client)
                except DelegateError:
                    raise
                except Exception as exc:
                    if not session.ended_by(exc):
                        raise
                session.retire()
                session = self._current()
                async with session.client() as client:
                    return await what(client)
        except TimeoutError:
            raise DelegateError(
                f"the MCP server {self.name!r} did not answer within {timeout_s:g} s"
            ) from None
        except DelegateError:
            raise
        except Exception as exc:  # whatever a foreign server makes the SDK raise
            raise DelegateError(session.describe(exc)) from None

    async def list_tools(self, *, timeout_s: float) -> list[Tool]:
        """Return its tools, page by page until there are no more, or enough."""

        async def all_pages(client: Client) -> list[SdkTool]:
            found: list[SdkTool] = []
            cursor: str | None = None
            # A server that never comes to an end must not keep us.
            while len(found) < self._limits.max_tools:
                page = await client.list_tools(cursor=cursor)
                found += page.tools
                cursor = page.next_cursor
                if not cursor or not page.tools:
                    break
            return found

        found = await self.ask(all_pages, timeout_s=timeout_s)
        usable = [tool for tool in found if 0 < len(tool.name) <= _NAME_CHARS]
        kept = usable[: self._limits.max_tools]
        if len(kept) < len(found):
            _log.warning(
                "tools of an MCP server were left out",
                server=self.name,
                left=len(found) - len(kept),
            )
        return [self._tool(tool) for tool in kept]

    def _tool(self, tool: SdkTool) -> Tool:
        annotations = tool.annotations
        title = tool.title or (annotations.title if annotations else None) or ""
        return Tool(
            server=self.name,
            name=tool.name,
            alias=alias_of(self.name, tool.name),
            title=visible_lines(title[:_NAME_CHARS]),
            description=visible_lines(
                (tool.description or "")[: self._limits.max_description_chars]
            ),
            input_schema=tool.input_schema,
            output_schema=tool.output_schema,
            read_only=bool(annotations and annotations.read_only_hint),
        )

    async def close(self) -> None:
        """End its sessions, whatever the server does about it."""
        self._closed = True
        if self._session is not None:
            self._session.end()
        if not self._tasks:
            return
        _, left = await asyncio.wait(self._tasks, timeout=self._limits.close_s)
        for task in left:
            _log.warning("an MCP server does not end; it is left to itself", server=self.name)
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _current(self) -> Session:
        if self._closed:
            raise DelegateError(f"the MCP server {self.name!r} was closed")
        if self._session is None or self._session.over:
            self._session = Session(self.name, self.entry, limits=self._limits, mask=self.mask)
            self._tasks.add(self._session.task)
            self._session.task.add_done_callback(self._tasks.discard)
        return self._session
