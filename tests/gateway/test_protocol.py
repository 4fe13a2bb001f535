"""The server's side of a connection, on a transport that only takes notes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from connection import Served, answering, body, start
from refdesk.gateway import protocol
from refdesk.gateway.client import LEAVING

GET = b"GET /a%20b?c=d HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 6\r\n\r\nabcdef"


async def test_a_whole_answer() -> None:
    """Head and body leave in one write; the connection takes the next request."""
    served = Served(answering(start((b"content-length", b"2")), body(b"hi")))

    await served.take(GET)
    await served.take(GET)

    assert served.written == [b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"] * 2
    assert not served.transport.closed
    served.lose()


async def test_a_long_answer() -> None:
    """A long body is not copied: it leaves behind its head."""
    data = b"x" * 100_000
    served = Served(answering(start((b"content-length", b"100000")), body(data)))

    await served.take(GET)

    assert served.written == [b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n", data]
    served.lose()


async def test_a_stream() -> None:
    """The head of a stream leaves at once, and each piece when it is sent."""
    served = Served(answering(start(), body(b"one", more=True), body()))

    await served.take(GET)

    assert served.written == [
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        b"3\r\none\r\n",
        b"0\r\n\r\n",
    ]
    served.lose()


@pytest.mark.parametrize(
    ("request_line", "status", "expected"),
    [
        (b"HEAD / HTTP/1.1", 200, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"),
        (b"GET / HTTP/1.1", 204, b"HTTP/1.1 204 No Content\r\n\r\n"),
    ],
)
async def test_no_body(request_line: bytes, status: int, expected: bytes) -> None:
    """Where there is no body there is a head, and no framing that promises one."""
    headers = [(b"content-length", b"2")] if status == 200 else []
    served = Served(answering(start(*headers, status=status), body()))

    await served.take(request_line + b"\r\nhost: x\r\n\r\n")

    assert served.written == [expected]
    served.lose()


@pytest.mark.parametrize("asked", [b"connection: close\r\n", b""])
async def test_closing(asked: bytes) -> None:
    """Who asks for the end of the connection gets it, and so does who speaks HTTP/1.0."""
    version = b"HTTP/1.1" if asked else b"HTTP/1.0"
    served = Served(answering(start((b"content-length", b"2")), body(b"hi")))

    await served.take(b"GET / " + version + b"\r\n" + asked + b"\r\n")

    assert b"connection: close\r\n" in served.written[0]
    assert served.transport.closed
    served.lose()


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"a\rb", b"a\0b", b"a\x7fb"])
async def test_a_header_that_would_be_two(value: bytes) -> None:
    """What would begin a header of its own is never written: it is a fault, and 500."""
    served = Served(answering(start((b"x-a", value)), body(b"hi")))

    await served.take(GET)

    assert served.written[0].startswith(b"HTTP/1.1 500 ")
    assert b"x-a" not in b"".join(served.written)
    served.lose()


@pytest.mark.parametrize("sent", [b"too long", b"x"])
async def test_a_false_length(sent: bytes) -> None:
    """A body that is not as long as was said ends the connection: no client waits for the rest."""
    served = Served(answering(start((b"content-length", b"2")), body(sent)))

    await served.take(GET)

    assert served.transport.closed
    served.lose()


@pytest.mark.parametrize("app", [answering(), answering(start((b"content-length", b"2")))])
async def test_an_unfinished_answer(app: Callable[..., Any]) -> None:
    """An application that says nothing is answered for; one that stops half-way is cut off."""
    served = Served(app)

    await served.take(GET)

    assert served.transport.closed
    assert b"".join(served.written) == b"" or served.written[0].startswith(b"HTTP/1.1 500 ")
    served.lose()


async def test_the_request() -> None:
    """Path, query and headers are as ASGI wants them; a body may come in any pieces."""
    seen: dict[str, Any] = {}
    data = b""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal data
        seen.update(scope)
        more = True
        while more:
            message = await receive()
            data += message["body"]
            more = message["more_body"]
        await send(start((b"content-length", b"0")))
        await send(body())

    served = Served(app)
    served.protocol.data_received(POST[:20])
    for at in range(20, len(POST)):
        served.protocol.data_received(POST[at : at + 1])
    await served.take()
    assert data == b"abcdef"

    await served.take(GET)
    assert (seen["path"], seen["raw_path"], seen["query_string"]) == ("/a b", b"/a%20b", b"c=d")
    assert seen["headers"] == [(b"host", b"x")]
    served.lose()


async def test_two_at_once() -> None:
    """Requests that come together are answered in their order, one after the other."""
    served = Served(answering(start((b"content-length", b"0")), body()))

    await served.take(GET + GET)
    await served.take()

    assert len(served.written) == 2
    served.lose()


async def test_leaving() -> None:
    """Whoever asked is told when the client leaves before its answer, and only then."""
    told: list[str] = []
    begun = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["extensions"][LEAVING].on_leaving = lambda: told.append(scope["path"])
        begun.set()
        if scope["path"] == "/whole":
            await send(start((b"content-length", b"0")))
            await send(body())
        else:
            await receive()
            await receive()

    served = Served(app)
    await served.take(b"GET /whole HTTP/1.1\r\n\r\n")
    begun.clear()
    served.protocol.data_received(b"GET /cut HTTP/1.1\r\n\r\n")
    await begun.wait()
    assert told == []
    served.lose()
    await served.take()

    assert told == ["/cut"]


async def test_timers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request whose head comes in one piece sets no timer; one in two pieces does."""
    set_: list[float] = []
    served = Served(answering(start((b"content-length", b"0")), body()))
    await served.take(GET)
    loop = served.protocol.loop
    real = loop.call_later

    def noted(delay: float, *rest: Any, **more: Any) -> asyncio.TimerHandle:
        set_.append(delay)
        return real(delay, *rest, **more)

    monkeypatch.setattr(loop, "call_later", noted)
    await served.take(GET)
    assert set_ == []

    await served.take(GET[:10], GET[10:])
    assert set_ == [protocol.HEAD_TIMEOUT_S]
    served.lose()


async def test_idle() -> None:
    """A connection is closed when it was idle for the whole time, and not while it is used."""
    served = Served(answering(start((b"content-length", b"0")), body()))
    await served.take(GET)
    served.protocol.timeout_keep_alive_handler()
    assert not served.transport.closed

    served.protocol.timeout_keep_alive = 0
    served.protocol.timeout_keep_alive_handler()
    assert served.transport.closed
    served.lose()
