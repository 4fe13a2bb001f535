"""From names to sockets."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from refdesk.testing.servers import REQUEST, STALL, ScriptedServer
from refdesk.upstream import dial

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


async def test_families_alternate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolver's favourite comes first, then the families in turn, each address once."""

    async def answers(*_: object, **__: object) -> list[Any]:
        found = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.1", "192.0.2.1"]
        return [(0, 0, 0, "", (address, 80)) for address in found]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", answers)
    assert await dial.resolve("a.test", 80) == [
        "2001:db8::1",
        "192.0.2.1",
        "2001:db8::2",
        "2001:db8::3",
    ]


async def test_spellings_of_loopback() -> None:
    """The resolver takes odd spellings, which is why addresses are checked, never texts."""
    for text in ("127.1", "0x7f000001", "2130706433", "0177.0.0.1"):
        assert await dial.resolve(text, 80) == ["127.0.0.1"]


async def test_a_dead_address_is_passed_over() -> None:
    """A refused address gives way to the next; if all fail, the first failure is told."""
    async with ScriptedServer([REQUEST, OK, STALL]) as server:
        with await dial.connect(["127.0.0.2", "127.0.0.1"], server.port) as sock:
            assert sock.getpeername() == ("127.0.0.1", server.port)
        with pytest.raises(ConnectionRefusedError):
            await dial.connect(["127.0.0.2", "127.0.0.3"], server.port)


async def test_a_black_hole_is_overtaken(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that never answers holds nobody up, and its attempt is given up."""
    monkeypatch.setattr(dial, "HEAD_START_S", 0.01)
    loop = asyncio.get_running_loop()
    real, given_up = loop.sock_connect, asyncio.Event()

    async def hangs(sock: socket.socket, address: Any) -> None:
        if address[0] == "127.0.0.9":
            try:
                await asyncio.Event().wait()
            finally:
                given_up.set()
        await real(sock, address)

    monkeypatch.setattr(loop, "sock_connect", hangs)
    async with ScriptedServer([STALL]) as server:
        with await dial.connect(["127.0.0.9", "127.0.0.1"], server.port) as sock:
            assert sock.getpeername() == ("127.0.0.1", server.port)
        assert given_up.is_set()
        assert len(asyncio.all_tasks()) == 2  # this test, and the server's


async def test_cancelled_attempts_leave_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is cancelled while several attempts run leaves neither task nor socket."""
    monkeypatch.setattr(dial, "HEAD_START_S", 0.0)
    loop = asyncio.get_running_loop()
    sockets: list[socket.socket] = []
    both = asyncio.Event()

    async def hangs(sock: socket.socket, _: Any) -> None:
        sockets.append(sock)
        if len(sockets) == 2:
            both.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(loop, "sock_connect", hangs)
    task = asyncio.create_task(dial.connect(["127.0.0.1", "127.0.0.2"], 1))
    await both.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [sock.fileno() for sock in sockets] == [-1, -1]
    assert len(asyncio.all_tasks()) == 1
