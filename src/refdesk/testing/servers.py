"""
A server that does what a script says, byte by byte: for tests of what speaks to servers.

    answer = b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nok"
    async with ScriptedServer([REQUEST, answer]) as server:
        ...  # connect to server.host, server.port
        assert server.peers[0].received.startswith(b"POST")

A script is a list of steps, done in turn for one connection:

- ``bytes`` are sent, and the step ends when they are handed to the kernel
- an `asyncio.Event` is waited for
- `REQUEST` waits until one request is in: a head, and a body of its ``content-length``
- `STALL` does nothing until the client leaves
- `CLOSE` closes the connection, as does the end of the script
- `RESET` closes it without manners: the client sees a reset
- `Repeat` sends the same bytes again and again until the client leaves

The n-th connection gets the n-th script; the last one serves all that follow.  The server listens
on loopback only.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from types import TracebackType
from typing import Final


class Step(Enum):
    """A step of a script that has no argument."""

    REQUEST = auto()
    STALL = auto()
    CLOSE = auto()
    RESET = auto()


REQUEST: Final = Step.REQUEST
STALL: Final = Step.STALL
CLOSE: Final = Step.CLOSE
RESET: Final = Step.RESET


@dataclass(frozen=True, slots=True)
class Repeat:
    """Send ``data`` for ever, each time after ``pause_s`` seconds: a flood, or a drip."""

    data: bytes
    pause_s: float = 0.0


Script = Sequence["bytes | asyncio.Event | Step | Repeat"]

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


class Peer:
    """One connection, as the server sees it."""

    def __init__(self) -> None:
        self.received = b""
        """All bytes that came, as far as the script has read them."""
        self.requests = 0
        """How many `REQUEST` steps have ended."""
        self.gone = asyncio.Event()
        """Set when the client has closed the connection, or reset it."""


class ScriptedServer:
    """
    A raw TCP or TLS server on loopback; an asynchronous context manager.

    Args:
        scripts: What to do with each connection.
        tls: With it, the server speaks TLS.
        host: ``127.0.0.1`` or ``::1``.
    """

    def __init__(
        self, *scripts: Script, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
    ) -> None:
        self.host = host
        self.port = 0
        self.peers: list[Peer] = []
        """The connections so far, in order."""
        self._scripts = scripts or ([REQUEST, STALL],)
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The address of the server, without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}"

    async def __aenter__(self) -> ScriptedServer:
        self._server = await asyncio.start_server(
            self._accept, self.host, 0, ssl=self._tls, limit=2**24
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        script = self._scripts[min(len(self.peers), len(self._scripts) - 1)]
        peer = Peer()
        self.peers.append(peer)
        task = asyncio.create_task(_Performance(peer, reader, writer).run(script))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Performance:
    """One script, on one connection."""

    def __init__(
        self, peer: Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._peer = peer
        self._reader = reader
        self._writer = writer

    async def run(self, script: Script) -> None:
        try:
            for step in script:
                await self._do(step)
        except (OSError, EOFError):
            self._peer.gone.set()
        finally:
            # Not waited for: a client that does not read would hold the server up.
            self._writer.transport.abort() if self._peer.gone.is_set() else self._writer.close()

    async def _do(self, step: bytes | asyncio.Event | Step | Repeat) -> None:
        if isinstance(step, bytes):
            self._writer.write(step)
            await self._writer.drain()
        elif isinstance(step, asyncio.Event):
            await step.wait()
        elif isinstance(step, Repeat):
            await self._repeat(step)
        elif step is REQUEST:
            await self._request()
        elif step is STALL:
            while data := await self._reader.read(65536):
                self._peer.received += data
            raise EOFError
        else:
            if step is RESET:
                sock: socket.socket = self._writer.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self._writer.transport.abort()
            self._writer.close()

    async def _request(self) -> None:
        head = await self._reader.readuntil(b"\r\n\r\n")
        self._peer.received += head
        if match := _LENGTH.search(head):
            self._peer.received += await self._reader.readexactly(int(match[1]))
        self._peer.requests += 1

    async def _repeat(self, step: Repeat) -> None:
        while not self._reader.at_eof():
            self._writer.write(step.data)
            await self._writer.drain()
            # Always gives way, so that a flood leaves the loop to others.
            await asyncio.sleep(step.pause_s)
        raise EOFError
