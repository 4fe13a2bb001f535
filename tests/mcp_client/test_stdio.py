"""MCP servers that are programs, started by Refdesk."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from mcp_peers import by_command
from refdesk.config.library import McpServerEntry
from refdesk.errors import DelegateError
from refdesk.mcp_client import Limits, McpServers
from refdesk.uses import Uses

SCRIPT = Path(__file__).with_name("stdio_peer.py")
KEY = "canary-stdio-key-0123456789"


@contextlib.asynccontextmanager
async def started(*args: str, **limits: Any) -> AsyncIterator[McpServers]:
    servers = McpServers(
        {"notes": by_command(SCRIPT, *args, NOTES_KEY=KEY)}, limits=Limits(**limits)
    )
    try:
        yield servers
    finally:
        await servers.close()


async def environment(servers: McpServers) -> Any:
    return await servers.call(Uses.parse("mcp:notes.env"), {}, timeout_s=20)


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_life(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A program is started at the first call, kept, given the least of our environment and all of its
    own, read on standard error without its secrets, and ended with us.
    """
    monkeypatch.setenv("REFDESK_CANARY", "not for programs")
    with capture_logs() as logs:
        async with started() as servers:
            first = await environment(servers)
            again = await environment(servers)
            assert runs(first["pid"])

    assert first["pid"] == again["pid"]
    assert first["env"]["NOTES_KEY"] == KEY
    assert "REFDESK_CANARY" not in first["env"]
    ours = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
    assert set(first["env"]) - ours <= {"NOTES_KEY", "LC_CTYPE"}
    assert not runs(first["pid"])
    assert [log["line"] for log in logs] == ["ready, key ••••"]


async def test_started_anew() -> None:
    """A program that has ended is started again for the next call, which does not notice."""
    async with started() as servers:
        first = await environment(servers)
        assert (await servers.call_tool("notes", "die", {}, timeout_s=20)).text == "bye"

        assert (await environment(servers))["pid"] != first["pid"]


async def test_junk_on_standard_output() -> None:
    """A line that is no MCP message is passed over; the log names the server, not the line."""
    with capture_logs() as logs:
        async with started("junk") as servers:
            assert [tool.name for tool in await servers.list_tools()] == ["env"]
    warned = [log for log in logs if log["log_level"] == "warning"]
    assert [log["server"] for log in warned] == ["notes"]
    assert "Welcome" not in str(warned)


async def test_silent_program() -> None:
    """A program that never answers is given up on, and ended."""
    async with started("silent", open_s=0.3) as servers:
        with pytest.raises(DelegateError, match=r"'notes' was not ready within 0\.3 s"):
            await environment(servers)


async def test_busy_program_is_ended() -> None:
    """A program that is busy and does not read is ended all the same when we close."""
    async with started() as servers:
        pid = (await environment(servers))["pid"]
        with pytest.raises(DelegateError, match="did not answer within"):
            await servers.call_tool("notes", "sleep", {}, timeout_s=0.1)
        assert runs(pid)
    assert not runs(pid)


async def test_no_such_program() -> None:
    """A command that cannot be started is named by its setting."""
    servers = McpServers({"notes": McpServerEntry(command="/nowhere/notes-server")})
    with pytest.raises(DelegateError, match=r"started .*check mcp_servers\.notes\.command"):
        await asyncio.wait_for(environment(servers), 10)
    await servers.close()
