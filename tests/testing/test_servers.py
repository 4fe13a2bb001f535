"""The scripted server does what its script says."""

from __future__ import annotations

import asyncio

import pytest

from refdesk.testing.servers import CLOSE, REQUEST, RESET, STALL, Repeat, ScriptedServer


async def test_steps_in_turn() -> None:
    """It waits for a request, sends, waits for an event, sends, and closes."""
    go = asyncio.Event()
    async with ScriptedServer([REQUEST, b"one", go, b"two", CLOSE]) as server:
        assert server.url == f"http://127.0.0.1:{server.port}"
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
        assert await reader.readexactly(3) == b"one"
        assert (server.peers[0].requests, server.peers[0].received[-3:]) == (1, b"abc")
        go.set()
        assert await reader.read() == b"two"
        writer.close()


async def test_each_connection_has_its_script() -> None:
    """The n-th connection gets the n-th script, the last serves the rest."""
    async with ScriptedServer([b"1"], [b"2"]) as server:
        for said in (b"1", b"2", b"2"):
            reader, writer = await asyncio.open_connection(server.host, server.port)
            assert await reader.read() == said
            writer.close()


async def test_a_reset() -> None:
    """The client of a reset sees one."""
    async with ScriptedServer([REQUEST, RESET]) as server:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()


@pytest.mark.parametrize("step", [STALL, REQUEST, Repeat(b"x" * 1000), Repeat(b"x", pause_s=0.001)])
async def test_leaving_is_noticed(step: object) -> None:
    """The server knows when its client has gone, whatever it was doing."""
    async with ScriptedServer([b"hello", step]) as server:  # type: ignore[list-item]
        reader, writer = await asyncio.open_connection(server.host, server.port)
        assert await reader.readexactly(5) == b"hello"
        if isinstance(step, Repeat):
            assert await reader.readexactly(5) == b"xxxxx"
        writer.transport.abort()
        await asyncio.wait_for(server.peers[0].gone.wait(), 5)
