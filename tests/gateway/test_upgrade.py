"""Requests that ask for another protocol, on raw sockets."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from connection import Served, body, start
from desk import PATHS, WIRES, Desk, answers, asks, whole

PATH = "/v1/chat/completions"
BODY = json.dumps(asks("chat", search=False)).encode()
H2C = ("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAEAAEAA")
"""What the JDK's HttpClient sends with every request to an http URL."""
WEBSOCKET = (
    "connection: keep-alive, Upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
)


def head(start: str, *lines: str) -> bytes:
    """A request's head."""
    return "\r\n".join([start, "host: localhost", *lines, "", ""]).encode("latin-1")


def chunked(data: bytes, size: int = 7) -> bytes:
    """A body in chunks of a few bytes."""
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def posts(*lines: str, body: bytes = BODY, version: str = "1.1") -> bytes:
    """A POST of a body with its length."""
    return head(f"POST {PATH} HTTP/{version}", *lines, f"content-length: {len(body)}") + body


def statuses(answer: bytes) -> list[int]:
    """The statuses of the answers on a connection."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", answer)]


LAST = head("GET /livez HTTP/1.1", "connection: close")


@pytest.mark.parametrize("wire", WIRES)
async def test_a_body_with_a_length(desk: Desk, wire: str) -> None:
    """A POST that offers HTTP/2 is read with its body, as any other; the next request follows."""
    desk.upstream.will(whole(answers(wire)))
    body = json.dumps(asks(wire, search=False)).encode()
    start = f"POST /v1{PATHS[wire]} HTTP/1.1"

    answer = await desk.raw(head(start, *H2C, f"content-length: {len(body)}") + body + LAST)

    assert statuses(answer) == [200, 200]
    (seen,) = desk.upstream.seen
    assert seen.body == body
    assert seen.header("upgrade") is None
    assert seen.header("http2-settings") is None


@pytest.mark.parametrize(
    "lines",
    [
        H2C,
        WEBSOCKET,
        ("connection: upgrade", "upgrade: h2c"),
        ("Connection: UPGRADE", "Upgrade: TLS/1.0, HTTP/2.0"),
        ("upgrade: h2c", "connection: keep-alive", "connection: upgrade"),
        ("connection: upgrade,upgrade", "upgrade: h2c", "upgrade: websocket"),
        ("connection: upgrade", "upgrade: "),
        ("connection: upgrade",),
        ("upgrade: h2c",),
    ],
    ids=repr,
)
@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_every_spelling(desk: Desk, lines: tuple[str, ...], framing: str) -> None:
    """However the upgrade is asked for and the body framed, one request is one request."""
    desk.upstream.will(whole(answers("chat")))
    if framing == "length":
        sent = posts(*lines)
    else:
        sent = head(f"POST {PATH} HTTP/1.1", *lines, "transfer-encoding: chunked") + chunked(BODY)

    answer = await desk.raw(sent + LAST)

    assert statuses(answer) == [200, 200]
    assert [seen.body for seen in desk.upstream.seen] == [BODY]


async def test_a_body_that_looks_like_a_request(desk: Desk) -> None:
    """What stands in the body of an upgrade is never taken for a request of its own."""
    desk.upstream.will(whole(answers("chat")))
    hidden = head("POST /v1/chat/completions HTTP/1.1", "content-length: 2") + b"{}"

    answer = await desk.raw(posts(*H2C, body=hidden) + LAST)

    assert statuses(answer) == [400, 200]
    assert desk.upstream.seen == []


@pytest.mark.parametrize("size", [1, 2, 13])
async def test_in_small_pieces(size: int) -> None:
    """Where the bytes are cut makes no difference."""
    read: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        data = b""
        more = True
        while more:
            message = await receive()
            data += message["body"]
            more = message["more_body"]
        read.append(data)
        await send(start((b"content-length", b"0")))
        await send(body())

    served = Served(app)
    sent = posts(*H2C) + posts(*WEBSOCKET)
    await served.take(*(sent[at : at + size] for at in range(0, len(sent), size)))
    await served.take()

    assert read == [BODY, BODY]
    served.lose()


async def test_pipelined(desk: Desk) -> None:
    """Upgrades among other requests that come at once are answered in their order."""
    desk.upstream.will(*(whole(answers("chat", text)) for text in ("first", "second", "third")))
    get = head("GET /livez HTTP/1.1", *WEBSOCKET)

    answer = await desk.raw(posts() + get + posts(*H2C) + get + posts(*WEBSOCKET) + LAST)

    assert statuses(answer) == [200] * 6
    assert answer.index(b"first") < answer.index(b"second") < answer.index(b"third")


async def test_a_websocket(desk: Desk) -> None:
    """A WebSocket handshake gets the ordinary answer of its path."""
    answer = await desk.raw(head("GET /livez HTTP/1.1", *WEBSOCKET) + LAST)

    assert statuses(answer) == [200, 200]
    assert b"101" not in answer.split(b"\r\n", 1)[0]


async def test_http_1_0(desk: Desk) -> None:
    """HTTP/1.0 has no upgrades: the body is read, and the connection ends."""
    desk.upstream.will(whole(answers("chat")))

    answer = await desk.raw(posts(*H2C, version="1.0") + LAST)

    assert statuses(answer) == [200]
    assert [seen.body for seen in desk.upstream.seen] == [BODY]


async def test_the_end_of_the_connection(desk: Desk) -> None:
    """The other wishes in the same header hold."""
    desk.upstream.will(whole(answers("chat")))

    answer = await desk.raw(posts("connection: close, upgrade", "upgrade: h2c") + LAST)

    assert statuses(answer) == [200]


async def test_expect_continue(desk: Desk) -> None:
    """A client that offers an upgrade and waits for leave to send its body gets the leave."""
    desk.upstream.will(whole(answers("chat")))
    reader, writer = await asyncio.open_connection(desk.host, desk.port)
    writer.write(posts(*H2C, "expect: 100-continue")[: -len(BODY)])
    async with asyncio.timeout(5):
        assert b" 100 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(BODY)
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    writer.close()


async def test_connect(desk: Desk) -> None:
    """A tunnel is refused, and nothing that follows it is read."""
    answer = await desk.raw(head("CONNECT other.example:443 HTTP/1.1") + posts())

    assert statuses(answer) == [400]
    assert desk.upstream.seen == []


@pytest.mark.parametrize(
    "lines",
    [
        ("content-length: 3", "content-length: 4"),
        ("content-length: +3",),
        ("transfer-encoding: chunked", "content-length: 3"),
        ("transfer-encoding: gzip, chunked, identity",),
    ],
    ids=repr,
)
async def test_framing(desk: Desk, lines: tuple[str, ...]) -> None:
    """A length that is none is refused with an upgrade as without."""
    answer = await desk.raw(head(f"POST {PATH} HTTP/1.1", *H2C, *lines) + b"{}\n" + LAST)

    assert statuses(answer) == [400]
    assert desk.upstream.seen == []
