"""
One session with an MCP server.

A task of its own opens it, holds it and closes it, since the SDK wants all three in one place;
calls come from anywhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import structlog

from refdesk.cleaning import one_line
from refdesk.config.library import McpServerEntry
from refdesk.errors import DelegateError
from refdesk.mcp_client.limits import Limits
from refdesk.mcp_client.stderr import LineLog, stderr_pipe

if TYPE_CHECKING:
    from mcp.client.client import Client

_SAID_CHARS: Final = 500
_SAID_BY_THE_SDK: Final = ("Server returned an error response", "Not Found", "Session terminated")
"""In place of a server that answers with a status only."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk.mcp")


class Session:
    """
    One session, opened when it is made.

    Args:
        name: The server's name in the configuration.
        entry: How to reach it.
        limits: What it may take up.
        mask: Takes the server's secrets out of a text.
    """

    def __init__(
        self, name: str, entry: McpServerEntry, *, limits: Limits, mask: Callable[[str], str]
    ) -> None:
        self._name = name
        self._entry = entry
        self._limits = limits
        self._mask = mask
        self._stop = asyncio.Event()
        self._status = 0
        self._answered = False
        self._gone = False
        self._retired = False
        self._calls = 0
        self._junk = 0
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        # Whether anybody still waits for it or not, its failure has been seen.
        self._ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())
        self.task: asyncio.Task[None] = asyncio.create_task(
            self._hold(),
            name=f"MCP session with {name}",
            # It outlives the request that is its first, and should not log in its name.
            context=contextvars.Context(),
        )

    @property
    def over(self) -> bool:
        """Whether it is of no use any more."""
        ready = self._ready
        failed = ready.done() and (ready.cancelled() or ready.exception() is not None)
        return failed or self._gone or self._retired or self._stop.is_set() or self.task.done()

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """
        Give the SDK's client, once it is connected, for one call.

        Raises:
            DelegateError: It cannot be.
        """
        self._calls += 1
        try:
            # A caller that leaves must not take the session from the others.
            yield await asyncio.shield(self._ready)
        finally:
            self._calls -= 1
            if self._retired and not self._calls:
                self._stop.set()

    def retire(self) -> None:
        """Take no more calls; it is closed when those under way have ended."""
        self._retired = True
        if not self._calls:
            self._stop.set()

    def end(self) -> None:
        """Have it closed; does not wait for that."""
        self._stop.set()

    def ended_by(self, fault: Exception) -> bool:
        """Whether a call failed because there is no session any more, and a new one may help."""
        code, message = getattr(fault, "code", None), str(fault)
        if self._gone or self.task.done():
            return True
        if code == _sdk_types().CONNECTION_CLOSED:
            # The same code stands for an answer too large, which would be so again.
            return not message.startswith("SSE stream failed")
        return False

    def describe(self, fault: BaseException) -> str:
        """Return a sentence about what went wrong, without secrets."""
        fault = _leaf(fault)
        where = f"mcp_servers.{self._name}"
        if isinstance(fault, DelegateError):
            return str(fault)
        if self._entry.command is not None and isinstance(fault, OSError):
            return (
                f"the MCP server {self._name!r} cannot be started "
                f"({fault.strerror or type(fault).__name__}); check {where}.command"
            )
        said = one_line(self._mask(str(fault)), _SAID_CHARS) or type(fault).__name__
        if self._status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return (
                f"the MCP server {self._name!r} answered {self._status} ({said}); "
                f"check {where}.headers"
            )
        if self._status >= HTTPStatus.BAD_REQUEST and said in _SAID_BY_THE_SDK:
            return f"the MCP server {self._name!r} answered {self._status}; check {where}.url"
        if type(fault).__module__.startswith(("httpx2", "httpcore2")):
            return (
                f"the MCP server {self._name!r} cannot be reached ({said}); check {where}.url, "
                "and that the server runs"
            )
        return f"the MCP server {self._name!r} failed: {said}"

    # What follows runs in the session's own task.

    async def _hold(self) -> None:
        try:
            # Seconds on a slow machine: not in the loop.
            await asyncio.to_thread(import_module, "mcp.client.client")
            async with contextlib.AsyncExitStack() as stack:
                client = await self._open(stack)
                self._ready.set_result(client)
                await self._stop.wait()
        except asyncio.CancelledError:
            if not self._ready.done():
                self._ready.set_exception(
                    DelegateError(f"the MCP server {self._name!r} was closed")
                )
            raise
        except Exception as exc:  # whatever a foreign server makes the SDK raise
            if not self._ready.done():
                self._ready.set_exception(DelegateError(self.describe(exc)))
            elif not self._stop.is_set():
                _log.info("an MCP session ended", server=self._name, why=self.describe(exc))

    async def _open(self, stack: contextlib.AsyncExitStack) -> Client:
        from mcp.client.client import Client
        from mcp_types import Implementation

        try:
            async with asyncio.timeout(self._limits.open_s):
                transport = await stack.enter_async_context(self._transport())
                return await stack.enter_async_context(
                    Client(
                        transport,
                        cache=None,
                        client_info=Implementation(name="refdesk", version=version("refdesk")),
                        message_handler=self._note,
                    )
                )
        except TimeoutError:
            raise DelegateError(
                f"the MCP server {self._name!r} was not ready within {self._limits.open_s:g} s"
            ) from None

    @contextlib.asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        from mcp.client.stdio import StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client

        from refdesk.mcp_client.http import http_client

        entry = self._entry
        if entry.url is not None:
            headers = {name: value.get_secret_value() for name, value in entry.headers.items()}
            async with http_client(
                headers=headers, max_bytes=self._limits.max_message_bytes, seen=self._seen
            ) as http:
                yield streamable_http_client(
                    str(entry.url),
                    http_client=http,
                    max_sse_event_size=self._limits.max_message_bytes,
                )
            return
        assert entry.command is not None, "an entry has a command or a url"
        lines = LineLog(
            self._name,
            per_minute=self._limits.stderr_lines_per_minute,
            clock=asyncio.get_running_loop().time,
            mask=self._mask,
        )
        # The SDK hands on HOME, LOGNAME, PATH, SHELL, TERM and USER, and nothing else of ours.
        parameters = StdioServerParameters(
            command=entry.command,
            args=list(entry.args),
            env={name: value.get_secret_value() for name, value in entry.env.items()},
            encoding_error_handler="replace",
        )
        async with stderr_pipe(lines) as errors:
            yield stdio_client(parameters, errlog=errors)

    def _seen(self, status: int, in_session: bool) -> None:
        self._status = status
        if not in_session:
            return
        if status == HTTPStatus.OK:
            self._answered = True
        # The specification says 404.  Servers that were started anew answer 400 with a plain text,
        # or whatever stands before them does; where the session was good until then, it is not now.
        forgotten = self._answered and HTTPStatus.BAD_REQUEST <= status < 500
        if status == HTTPStatus.NOT_FOUND or forgotten:
            self._gone = True

    async def _note(self, message: Any) -> None:
        if isinstance(message, Exception):
            self._junk += 1
            if self._junk == 1:
                _log.warning(
                    "an MCP server wrote what is no MCP message; it is passed over, as all that "
                    "follows",
                    server=self._name,
                )


def _sdk_types() -> Any:
    return import_module("mcp_types")


def _leaf(fault: BaseException) -> BaseException:
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return fault
