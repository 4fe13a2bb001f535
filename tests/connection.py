"""The server's side of a connection on a transport that only takes notes, for tests of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn import Config
from uvicorn.server import ServerState

from refdesk.gateway.protocol import GuardedProtocol


class Notes(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:
        """Keep it."""
        self.written.append(bytes(data))

    def close(self) -> None:
        """Be closed."""
        self.closed = True

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return self.closed

    def can_write_eof(self) -> bool:
        """Say no."""
        return False

    def pause_reading(self) -> None:
        """Do nothing: nothing is read."""

    def resume_reading(self) -> None:
        """Do nothing: nothing is read."""


class Served:
    """A connection to an application."""

    def __init__(self, app: Callable[..., Any], *, keep_alive_s: int = 75) -> None:
        config = Config(
            app, http=GuardedProtocol, ws="none", lifespan="off", log_config=None,
            timeout_keep_alive=keep_alive_s, server_header=False, date_header=False,
        )  # fmt: skip
        config.load()
        self.state = ServerState()
        self.transport = Notes()
        self.protocol = GuardedProtocol(config, self.state, {})
        self.protocol.connection_made(self.transport)

    @property
    def written(self) -> list[bytes]:
        """What was written, write by write."""
        return self.transport.written

    async def take(self, *pieces: bytes) -> None:
        """Receive these pieces, and wait until the application is done."""
        for piece in pieces:
            self.protocol.data_received(piece)
        while tasks := list(self.state.tasks):
            await asyncio.wait(tasks)

    def lose(self) -> None:
        """Lose the connection."""
        self.protocol.connection_lost(None)


def answering(*messages: dict[str, Any]) -> Callable[..., Any]:
    """An application that reads its request and sends these messages."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        for message in messages:
            await send(message)

    return app


def start(*headers: tuple[bytes, bytes], status: int = 200) -> dict[str, Any]:
    """The head of an answer."""
    return {"type": "http.response.start", "status": status, "headers": list(headers)}


def body(data: bytes = b"", *, more: bool = False) -> dict[str, Any]:
    """A piece of its body."""
    return {"type": "http.response.body", "body": data, "more_body": more}
