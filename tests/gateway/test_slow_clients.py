"""Clients that stop half-way, say nothing, or do not read: their connections end on each route."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from connection import Served, answering, body, start
from desk import LAST_CHUNK, SSE_HEAD, Desk, OpenDesk, answers, asks, chunk, stream, whole
from refdesk.gateway import client, protocol
from refdesk.gateway.protocol import GuardedProtocol
from refdesk.gateway.root import Mount
from refdesk.mcp_server import face

SOON_S = 0.05
LIVE = b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n"


class Impatient(GuardedProtocol):
    """A protocol that holds an idle connection for a moment only."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.timeout_keep_alive = SOON_S  # type: ignore[assignment]


@pytest_asyncio.fixture
async def impatient(opened: OpenDesk, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    """A desk on which every bound in time is short."""
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT_S", SOON_S)
    monkeypatch.setattr(protocol, "WRITE_TIMEOUT_S", SOON_S)
    monkeypatch.setattr(client, "BODY_TIMEOUT_S", SOON_S)
    monkeypatch.setattr(client, "LINGER_S", SOON_S)
    monkeypatch.setattr(face, "BODY_TIMEOUT_S", SOON_S)
    monkeypatch.setattr("refdesk.api.documents.UPLOAD_TIMEOUT_S", SOON_S)
    async with opened(protocol=Impatient) as desk:
        yield desk


def routes(desk: Desk, method: str) -> list[str]:
    """A path of every route with a method, and one of none."""
    mounts: tuple[Mount, ...] = desk.application.root.mounts
    paths = [each.path for each in mounts if each.method == method]
    return [*(path + "x" if path.endswith("/") and path != "/" else path for path in paths), "/no"]


def head(start: str, *lines: str) -> bytes:
    """A request's head."""
    return "\r\n".join([start, "host: localhost", *lines, "", ""]).encode("latin-1")


async def ends(desk: Desk, *pieces: bytes) -> bytes:
    """Send pieces, each after an answer to the one before; return all that came until the end."""
    reader, writer = await asyncio.open_connection(desk.host, desk.port)
    got = b""
    try:
        async with asyncio.timeout(5):
            for number, piece in enumerate(pieces):
                if number:
                    got += await reader.readuntil(b"\r\n\r\n")
                writer.write(piece)
            with contextlib.suppress(ConnectionResetError):
                got += await reader.read()
        return got
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


class TestIdle:
    """A connection without a request under way."""

    @pytest.mark.parametrize(
        "then", [b"", b"\r\n", b"\r\n" * 5, b"\n", b"G", b"GET /livez HTTP/1.1\r\nx-a: "]
    )
    async def test_after_an_answer(self, impatient: Desk, then: bytes) -> None:
        """It ends in its time, whatever of no request was sent meanwhile."""
        got = await ends(impatient, LIVE, then)

        assert got.count(b"HTTP/1.1 200 ") == 1

    @pytest.mark.parametrize(
        "sent", [b"", b"\r\n", b"GET / HTTP/1.1\r\n", b"\r\n\r\nPOST /v1/mess"]
    )
    async def test_before_any_request(self, impatient: Desk, sent: bytes) -> None:
        """So does one that never sent a request."""
        assert await ends(impatient, sent) == b""

    async def test_line_ends_do_not_prolong_it(self) -> None:
        """Line ends between requests, of which HTTP takes any number, keep no connection open."""
        served = Served(answering(start((b"content-length", b"0")), body()))
        await served.take(LIVE)

        await served.take(b"\r\n")
        served.protocol.timeout_keep_alive = 0
        served.protocol.timeout_keep_alive_handler()

        assert served.transport.closed
        served.lose()


class TestHalfSentBodies:
    """A body that does not come to its end."""

    @pytest.mark.parametrize("sent", [b"", b"{", b"{" * 70_000])
    async def test_every_route(self, impatient: Desk, sent: bytes) -> None:
        """Its connection ends on every route, be the body read or not."""
        places = [(m, p) for m in ("GET", "POST", "DELETE", "PUT") for p in routes(impatient, m)]
        begun = [head(f"{m} {p} HTTP/1.1", "content-length: 100000") + sent for m, p in places]
        # Some at a time: clients that are not given time to read an answer may not see it.
        got: list[bytes] = []
        for at in range(0, len(begun), 20):
            got += await asyncio.gather(*(ends(impatient, each) for each in begun[at : at + 20]))

        for place, one in zip(places, got, strict=True):
            assert one.startswith(b"HTTP/1.1 "), place
            assert one.count(b"HTTP/1.1 ") == 1, place

    async def test_a_byte_after_the_answer(self, impatient: Desk) -> None:
        """A byte of the body that follows the answer changes nothing."""
        begun = head("POST /nowhere HTTP/1.1", "content-length: 100")

        got = await ends(impatient, begun, b"{")

        assert got.startswith(b"HTTP/1.1 404 ")

    async def test_the_rest_in_time(self, impatient: Desk) -> None:
        """One that does come to its end leaves the connection to the next request."""
        sent = b"x" * 100_000
        got = await ends(
            impatient, head("POST /nowhere HTTP/1.1", "content-length: 100000"), sent + LIVE
        )

        assert got.count(b"HTTP/1.1 404 ") == 1
        assert got.endswith(b"ok\n")

    async def test_more_than_is_thrown_away(
        self, impatient: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is thrown away has a bound too."""
        monkeypatch.setattr(client, "LINGER_S", 60.0)
        monkeypatch.setattr(client, "LINGER_BYTES", 10_000)
        begun = head("POST /nowhere HTTP/1.1", "content-length: 1000000")

        got = await ends(impatient, begun, b"x" * 20_000)

        assert got.startswith(b"HTTP/1.1 404 ")

    async def test_the_answer_is_seen(self, desk: Desk) -> None:
        """A client that sends all of its long body before it reads still sees the refusal."""
        size = 40 * 1024 * 1024
        begun = head("POST /v1/messages HTTP/1.1", f"content-length: {size}")
        reader, writer = await asyncio.open_connection(desk.host, desk.port)
        async with asyncio.timeout(10):
            writer.write(begun)
            for _ in range(40):
                writer.write(b"x" * 1024 * 1024)
                await writer.drain()
            got = await reader.read()
        writer.close()

        assert got.startswith(b"HTTP/1.1 413 ")

    async def test_framing_without_a_body(self, impatient: Desk) -> None:
        """Trailers and extensions of chunks have a bound, and trailers are no headers."""
        chunked = head("POST /v1/messages HTTP/1.1", "transfer-encoding: chunked")
        for endless in (
            b"0\r\n" + b"x-a: b\r\n" * 20_000,
            b"0\r\nx-a: " + b"b" * 200_000,
            b"1;" + b"a" * 200_000,
        ):
            got = await ends(impatient, chunked + endless)
            assert got.count(b"HTTP/1.1 ") <= 1
            assert b" 200 " not in got.split(b"\r\n", 1)[0]


class TestHeads:
    """How large a head may be."""

    @pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE", "PUT", "OPTIONS"])
    async def test_every_route(self, desk: Desk, method: str) -> None:
        """More than 64 KiB of it, or 200 lines, are 431 on every route."""
        known = {"HEAD": "GET", "PUT": "POST", "OPTIONS": "POST"}.get(method, method)
        for path in routes(desk, known):
            for lines in (["x-long: " + "a" * 70_000], [f"x-{n}: a" for n in range(250)]):
                got = await ends(desk, head(f"{method} {path} HTTP/1.1", *lines))
                assert got.startswith(b"HTTP/1.1 431 "), (method, path)
                assert b"connection: close" in got

    async def test_the_target(self, desk: Desk) -> None:
        """The path and the query count as well."""
        for target in ("/livez?" + "a" * 70_000, "/" + "a" * 70_000):
            got = await ends(desk, head(f"GET {target} HTTP/1.1"))
            assert got.startswith(b"HTTP/1.1 431 ")
            assert b"x-should-retry: false\r\n" in got

    async def test_behind_a_long_body(self, desk: Desk) -> None:
        """The end of a long body does not count as the head of the request behind it."""
        sent = head("POST /nowhere HTTP/1.1", "content-length: 200000") + b"x" * 200_000
        reader, writer = await asyncio.open_connection(desk.host, desk.port)
        writer.write(sent + LIVE[:10])
        async with asyncio.timeout(5):
            assert b" 404 " in await reader.readuntil(b"\r\n\r\n")
            writer.write(LIVE[10:])
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async def test_while_an_answer_is_under_way(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A half-sent head cuts no answer off; its time begins when the answer has ended."""
        go = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await go.wait()
            await send(start((b"content-length", b"0")))
            await send(body())

        served = Served(app)
        set_: list[float] = []
        monkeypatch.setattr(served.protocol, "_set_timer", set_.append)
        served.protocol.data_received(LIVE + LIVE[:10])
        served.protocol.data_received(LIVE[10:12])
        assert set_ == []

        go.set()
        await served.take()

        assert set_ == [protocol.HEAD_TIMEOUT_S]
        served.lose()


def ask(**changes: Any) -> bytes:
    """A request to a model, without search."""
    data = json.dumps(asks("chat", search=False, **changes)).encode()
    return head("POST /v1/chat/completions HTTP/1.1", f"content-length: {len(data)}") + data


class TestNotReading:
    """A client that does not take its answer."""

    @pytest.mark.parametrize("kind", ["stream", "whole", "close"])
    async def test_it_is_cut_off(self, impatient: Desk, kind: str) -> None:
        """Its connection is cut, and so is the upstream's answer, however it is sent."""
        pieces = 64
        large = b"data: " + b"x" * 1024 * 1024 + b"\n\n"
        if kind == "stream":
            impatient.upstream.will([SSE_HEAD, *[chunk(large)] * pieces, LAST_CHUNK])
        else:
            impatient.upstream.will(whole(answers("chat", "x" * len(large) * pieces)))
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        with sock:
            await loop.sock_connect(sock, (impatient.host, impatient.port))
            asked = ask(stream=kind == "stream")
            if kind == "close":
                asked = asked.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1)
            await loop.sock_sendall(sock, asked)
            await impatient.upstream.until(lambda: bool(impatient.upstream.seen))
            async with asyncio.timeout(10):
                while impatient.state.connections:  # noqa: ASYNC110
                    await asyncio.sleep(0)
        await impatient.idle()


class TestOldClients:
    """HTTP/1.0."""

    async def test_a_stream(self, desk: Desk) -> None:
        """A streamed answer ends with the connection, without chunks."""
        desk.upstream.will([SSE_HEAD, *map(chunk, stream("chat")), LAST_CHUNK])

        got = await ends(desk, ask(stream=True).replace(b"HTTP/1.1", b"HTTP/1.0", 1))

        shown, _, data = got.partition(b"\r\n\r\n")
        assert b"transfer-encoding" not in shown
        assert b"connection: close" in shown
        assert data == b"".join(stream("chat"))

    @pytest.mark.parametrize("version", [b"1.0", b"0.9", b"2.0"])
    @pytest.mark.parametrize("connection", [b"", b"connection: keep-alive\r\n"])
    async def test_an_answer_with_a_length(
        self, desk: Desk, version: bytes, connection: bytes
    ) -> None:
        """One with a length has it, and the connection ends."""
        got = await ends(desk, b"GET /livez HTTP/" + version + b"\r\n" + connection + b"\r\n")

        assert b"content-length: 3\r\n" in got
        assert got.endswith(b"\r\n\r\nok\n")

    @pytest.mark.parametrize(
        ("headers", "expected"),
        [
            ((), b"onetwo"),
            (((b"transfer-encoding", b"chunked"),), b"onetwo"),
            (((b"content-length", b"6"),), b"onetwo"),
        ],
    )
    async def test_any_application(
        self, headers: tuple[tuple[bytes, bytes], ...], expected: bytes
    ) -> None:
        """Whatever the application says of its length, no chunk is sent."""
        served = Served(answering(start(*headers), body(b"one", more=True), body(b"two")))

        await served.take(b"GET / HTTP/1.0\r\n\r\n")

        assert b"".join(served.written).partition(b"\r\n\r\n")[2] == expected
        assert b"chunked" not in b"".join(served.written)
        assert served.transport.closed
        served.lose()

    async def test_no_leave_to_go_on(self) -> None:
        """HTTP/1.0 knows no 100 (Continue), so none is sent."""
        served = Served(answering(start((b"content-length", b"0")), body()))

        await served.take(
            b"POST / HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n", b"x"
        )

        assert served.written[0].startswith(b"HTTP/1.1 200 ")
        served.lose()


class TestBrokenBehindAnother:
    """What is no request, while an answer is due."""

    @pytest.mark.parametrize(
        "broken", [b"nonsense\r\n\r\n", b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n"]
    )
    async def test_the_answer_comes_first(self, desk: Desk, broken: bytes) -> None:
        """The answer that is due goes out whole, then the refusal, then the end."""
        desk.upstream.will(whole(answers("chat", "first")))

        got = await ends(desk, ask() + broken)

        assert got.index(b"first") < got.index(b"HTTP/1.1 400 ")
        assert got.count(b"HTTP/1.1 ") == 2

    async def test_a_broken_body(self, desk: Desk) -> None:
        """A body whose chunks are none is one refusal, and goes to no upstream."""
        got = await ends(
            desk,
            head("POST /v1/chat/completions HTTP/1.1", "transfer-encoding: chunked")
            + b"3\r\n{}\n\r\nzz\r\n",
        )

        assert got.startswith(b"HTTP/1.1 400 ")
        assert got.count(b"HTTP/1.1 ") == 1
        assert desk.upstream.seen == []

    async def test_a_broken_body_that_waits(self, desk: Desk) -> None:
        """So it is behind another request, whose answer comes first."""
        desk.upstream.will(whole(answers("chat", "first")))

        got = await ends(
            desk,
            ask()
            + head("POST /v1/chat/completions HTTP/1.1", "transfer-encoding: chunked")
            + b"3\r\n{}\n\r\nzz\r\n",
        )

        assert got.index(b"first") < got.index(b"HTTP/1.1 400 ")
        assert len(desk.upstream.seen) == 1


async def test_leaving_with_requests_behind() -> None:
    """The request under way is told that its client left, also when others wait behind it."""
    told: list[str] = []
    begun = asyncio.Event()

    async def app(scope: Any, receive: Callable[[], Any], send: Any) -> None:
        begun.set()
        await receive()
        told.append((await receive())["type"])

    served = Served(app)
    served.protocol.data_received(LIVE + LIVE + LIVE)
    await begun.wait()
    served.lose()
    await served.take()

    assert told == ["http.disconnect"]
