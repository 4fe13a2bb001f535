"""The client, against a server that does what a script says."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from refdesk.errors import ConfigError, UpstreamError
from refdesk.testing.servers import CLOSE, REQUEST, RESET, STALL, Repeat, ScriptedServer
from refdesk.upstream import Origin, UpstreamClient
from refdesk.upstream.parsing import MAX_CHUNKS

POST = b"POST /v1/messages HTTP/1.1\r\nhost: test\r\nauthorization: Bearer canary-key\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-One: a\r\nx-one: b\r\nEmpty:\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
STREAM = CHUNKED + b"5\r\nhello\r\n1;ext=1\r\n \r\n5\r\nworld\r\n0\r\nTrailer: t\r\n\r\n"


def at(server: ScriptedServer) -> Origin:
    return Origin("http", server.host, server.port)


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until something holds."""
    for _ in range(1_000_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came about")


async def test_a_whole_answer(client: UpstreamClient) -> None:
    """The whole answer has status, lower-case headers in order, and body; the length was sent."""
    async with ScriptedServer([REQUEST, OK, REQUEST, OK]) as server:
        reply = await client.send(at(server), POST, b"body", whole=True)
        assert (reply.status, reply.body) == (200, b"hello")
        assert reply.headers == [
            (b"content-length", b"5"),
            (b"x-one", b"a"),
            (b"x-one", b"b"),
            (b"empty", b""),
        ]
        assert reply.header(b"x-one") == b"a"
        assert reply.header(b"none") is None
        assert server.peers[0].received == POST + b"content-length: 4\r\n\r\nbody"


async def test_a_stream_comes_as_it_comes(client: UpstreamClient) -> None:
    """A chunk is handed on before the next one is there; the framing is taken off."""
    more, end = asyncio.Event(), asyncio.Event()
    script = [REQUEST, CHUNKED, more, b"3\r\none\r\n", end, b"3\r\ntwo\r\n0\r\n\r\n", STALL]
    async with ScriptedServer(script) as server:
        reply = await client.send(at(server), POST, b"")
        assert reply.status == 200
        more.set()
        assert await anext(reply) == b"one"
        end.set()
        assert [chunk async for chunk in reply] == [b"two"]
        assert [chunk async for chunk in reply] == []
        assert client.idle_connections == 1


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("step", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (OK, b"hello"),
        (STREAM, b"hello world"),
        (
            b"HTTP/1.1 100 Continue\r\na: b\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\n" + OK,
            b"hello",
        ),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b""),
    ],
)
async def test_however_it_is_cut(
    client: UpstreamClient, answer: bytes, body: bytes, step: int, whole: bool
) -> None:
    """An answer reads the same however its bytes are cut, and its connection is kept."""
    pieces = [answer[i : i + step] for i in range(0, len(answer), step)]
    async with ScriptedServer([REQUEST, *pieces, STALL]) as server:
        reply = await client.send(at(server), POST, b"x", whole=whole)
        got = reply.body if whole else await reply.read()
        assert got == body
        assert client.idle_connections == 1
        assert not any(name == b"link" for name, _ in reply.headers)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("head", [b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
async def test_until_close(client: UpstreamClient, head: bytes, whole: bool) -> None:
    """Without a length the body ends with the connection, which is not kept."""
    async with ScriptedServer([REQUEST, head, b"all ", b"of it"]) as server:
        reply = await client.send(at(server), POST, b"", whole=whole)
        assert (reply.body if whole else await reply.read()) == b"all of it"
        assert client.idle_connections == 0


async def test_until_close_does_not_forgive_a_reset(client: UpstreamClient) -> None:
    """A reset is no end: what was to end with the connection is cut."""
    sent = asyncio.Event()
    async with ScriptedServer([REQUEST, b"HTTP/1.1 200 OK\r\n\r\npart", sent, RESET]) as server:
        reply = await client.send(at(server), POST, b"")
        assert await anext(reply) == b"part"
        sent.set()
        with pytest.raises(UpstreamError) as caught:
            await anext(reply)
        assert caught.value.fault == "cut"


async def test_head_has_no_body(client: UpstreamClient) -> None:
    """An answer to HEAD ends with its head, whatever length it names; the connection lives on."""
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n"
    async with ScriptedServer([REQUEST, head, REQUEST, OK, REQUEST, head, STALL]) as server:
        for verb, body in ((b"HEAD", b""), (b"GET", b"hello"), (b"HEAD", b"")):
            reply = await client.send(at(server), verb + b" / HTTP/1.1\r\n", b"", whole=True)
            assert reply.body == body
        assert client.connections_opened == 1
        assert b"content-length" not in server.peers[0].received


async def test_connections_are_used_again(client: UpstreamClient) -> None:
    """Requests one after another share a connection; the one used last is taken first."""
    async with ScriptedServer([REQUEST, OK] * 5 + [STALL]) as server:
        for _ in range(3):
            await client.send(at(server), POST, b"", whole=True)
        assert (client.connections_opened, client.open_connections) == (1, 1)
        replies = await asyncio.gather(
            *(client.send(at(server), POST, b"", whole=True) for _ in range(2))
        )
        assert [reply.body for reply in replies] == [b"hello", b"hello"]
        assert (client.connections_opened, client.idle_connections) == (2, 2)


async def test_origins_do_not_share(client: UpstreamClient) -> None:
    """A connection serves its own origin only."""
    async with (
        ScriptedServer([REQUEST, OK, STALL]) as one,
        ScriptedServer([REQUEST, OK, STALL]) as two,
    ):
        await client.send(at(one), POST, b"", whole=True)
        await client.send(at(two), POST, b"", whole=True)
        assert [len(server.peers) for server in (one, two)] == [1, 1]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nkeep-alive: timeout=1, max=5\r\ncontent-length: 5\r\n\r\nhello",
        OK + b"H",
        OK + b"garbage",
        OK + OK,
    ],
    ids=["close", "http-1.0", "keep-alive-1", "one byte", "garbage", "second answer"],
)
async def test_what_is_not_used_again(client: UpstreamClient, answer: bytes) -> None:
    """A connection the server will close, or that holds more than the answer, is not kept."""
    async with ScriptedServer([REQUEST, answer, STALL]) as server:
        for _ in range(2):
            reply = await client.send(at(server), POST, b"", whole=True)
            assert reply.body == b"hello"
        assert client.connections_opened == 2


@pytest.mark.parametrize("good_bye", [b"HTTP/1.1 408 Too late\r\n\r\n", b"\r\n", CLOSE, RESET])
async def test_idle_connections_are_watched(client: UpstreamClient, good_bye: Any) -> None:
    """Data or an end on a connection without a request closes it; the next one is new."""
    now = asyncio.Event()
    async with ScriptedServer([REQUEST, OK, now, good_bye, STALL], [REQUEST, OK, STALL]) as server:
        await client.send(at(server), POST, b"", whole=True)
        assert client.idle_connections == 1
        now.set()
        await until(lambda: not client.open_connections)
        assert client.idle_connections == 0
        assert (await client.send(at(server), POST, b"", whole=True)).body == b"hello"


async def test_a_good_bye_not_read_yet_is_seen(client: UpstreamClient) -> None:
    """A connection whose end waits in the kernel is not used, though the loop has not read it."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    loop = asyncio.get_running_loop()
    origin = Origin("http", "127.0.0.1", listener.getsockname()[1])
    sending = asyncio.create_task(client.send(origin, POST, b"", whole=True))
    peer, _ = await loop.sock_accept(listener)
    await loop.sock_sendall(peer, OK)
    await sending
    assert client.idle_connections == 1
    peer.close()  # from here to the write below the loop does not run
    again = asyncio.create_task(client.send(origin, POST, b"", whole=True))
    peer, _ = await loop.sock_accept(listener)
    await loop.sock_sendall(peer, OK)
    assert (await again).body == b"hello"
    assert client.connections_opened == 2
    peer.close()
    listener.close()


async def test_idle_connections_expire() -> None:
    """A connection without a request is closed after a while, by one timer."""
    client = UpstreamClient(keep_alive_s=0.05)
    async with ScriptedServer([REQUEST, OK, STALL]) as server:
        await client.send(at(server), POST, b"", whole=True)
        assert client.idle_connections == 1
        await asyncio.wait_for(server.peers[0].gone.wait(), 5)
        assert (client.open_connections, client.idle_connections) == (0, 0)
    await client.close()


async def test_the_pool_has_a_limit() -> None:
    """No more idle connections are kept than allowed."""
    client = UpstreamClient(max_idle_per_origin=1)
    async with ScriptedServer([REQUEST, OK, STALL]) as server:
        await asyncio.gather(*(client.send(at(server), POST, b"", whole=True) for _ in range(3)))
        assert client.idle_connections == 1
    await client.close()


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("end", [CLOSE, RESET])
@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 O",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell",
        CHUNKED,
        CHUNKED + b"5\r\nhel",
        CHUNKED + b"5\r\nhello\r\n",
        CHUNKED + b"5\r\nhello\r\n0\r\n",
    ],
)
async def test_a_cut_answer(client: UpstreamClient, answer: bytes, end: Any, whole: bool) -> None:
    """An answer that ends early is an error, never a short answer, and is asked for once."""
    async with ScriptedServer([REQUEST, answer, end]) as server:
        with pytest.raises(UpstreamError) as caught:
            await (await client.send(at(server), POST, b"", whole=whole)).read()
        assert caught.value.fault == "cut"
        assert f"127.0.0.1:{server.port}" in str(caught.value)
        assert "canary" not in str(caught.value)
        assert len(server.peers) == 1


async def test_what_came_before_the_cut_is_delivered(client: UpstreamClient) -> None:
    """The reader of a stream gets all that arrived, and then the error, each time it asks."""
    async with ScriptedServer([REQUEST, CHUNKED, b"5\r\nhello\r\n", CLOSE]) as server:
        reply = await client.send(at(server), POST, b"")
        await until(lambda: not client.open_connections)
        assert await anext(reply) == b"hello"
        for _ in range(2):
            with pytest.raises(UpstreamError, match="after 5 bytes"):
                await anext(reply)
        reply.close()


async def test_a_second_request_is_not_repeated(client: UpstreamClient) -> None:
    """A used connection that closes after it took a request is an error: no second call."""
    async with ScriptedServer([REQUEST, OK, REQUEST, CLOSE], [REQUEST, OK]) as server:
        await client.send(at(server), POST, b"", whole=True)
        with pytest.raises(UpstreamError) as caught:
            await client.send(at(server), POST, b"", whole=True)
        assert caught.value.fault == "cut"
        assert len(server.peers) == 1


async def test_a_request_that_was_not_handed_over_is_sent_again(client: UpstreamClient) -> None:
    """A used connection that closes during the upload is replaced, once; a new one is not."""
    body = bytes(8_000_000)
    head = POST + b"content-length: 8000000\r\n\r\n"
    ends = asyncio.Event()
    async with ScriptedServer([REQUEST, OK, ends, CLOSE], [REQUEST, OK, ends, CLOSE]) as server:
        await client.send(at(server), POST, b"", whole=True)
        sending = asyncio.create_task(client.send(at(server), POST, body, whole=True))
        await asyncio.sleep(0)
        ends.set()
        assert (await sending).body == b"hello"
        assert server.peers[1].received == head + body
    async with ScriptedServer([CLOSE]) as server:
        with pytest.raises(UpstreamError) as caught:
            await client.send(at(server), POST, body, whole=True)
        assert caught.value.fault == "cut"
        assert len(server.peers) == 1


async def test_an_early_answer_stops_the_upload(client: UpstreamClient) -> None:
    """A server that refuses a long body before its end is heard, and not used again."""
    answer = b"HTTP/1.1 413 Too large\r\ncontent-length: 2\r\n\r\nno"
    hold = asyncio.Event()
    async with ScriptedServer([answer, hold]) as server:
        reply = await client.send(at(server), POST, bytes(32_000_000), whole=True)
        assert (reply.status, reply.body) == (413, b"no")
        assert client.idle_connections == 0


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\na: b\x00c\r\n\r\n",
        b"HTTP/1.1 200 OK\r\na: b\r\n c\r\ncontent-length: 0\r\n\r\n",
        CHUNKED + b"zz\r\n",
        CHUNKED + b"-1\r\n",
        CHUNKED + b"fffffffffffffffff\r\n",
        b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nabc",
        b"HTTP/1.1 101 Switching\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 201 + b"content-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\na: " + b"b" * 65536 + b"\r\ncontent-length: 0\r\n\r\n",
    ],
)
async def test_what_is_no_answer(client: UpstreamClient, answer: bytes, whole: bool) -> None:
    """What is no HTTP/1.1, frames its body in two ways, or has a huge head is refused."""
    async with ScriptedServer([REQUEST, answer, STALL]) as server:
        with pytest.raises(UpstreamError) as caught:
            await (await client.send(at(server), POST, b"", whole=whole)).read()
        assert caught.value.fault == "bad_response"
        assert f"127.0.0.1:{server.port}" in str(caught.value)
        await asyncio.wait_for(server.peers[0].gone.wait(), 5)


@pytest.mark.parametrize(
    ("start", "flood"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\na: ", b"b" * 100),
        (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"),
        (CHUNKED + b"1;", b"x" * 100),
        (CHUNKED + b"0\r\n", b"trailer: x\r\n"),
        (CHUNKED + b"0\r\ntrailer: ", b"x" * 100),
    ],
    ids=["interim", "header", "headers", "extension", "trailers", "trailer"],
)
async def test_endless_heads(client: UpstreamClient, start: bytes, flood: bytes) -> None:
    """Whatever goes on for ever without a byte of body is cut off."""
    async with ScriptedServer([REQUEST, start, Repeat(flood * 50)]) as server:
        with pytest.raises(UpstreamError) as caught:
            await client.send(at(server), POST, b"", whole=True)
        assert caught.value.fault == "bad_response"


@pytest.mark.parametrize("whole", [True, False])
async def test_the_longest_body(client: UpstreamClient, whole: bool) -> None:
    """A body of the allowed length passes; one byte more, or no end, is refused."""
    flood = [REQUEST, CHUNKED, Repeat(b"5\r\nhello\r\n" * 100)]
    async with ScriptedServer([REQUEST, OK, CLOSE], [REQUEST, OK, CLOSE], flood) as server:
        reply = await client.send(at(server), POST, b"", whole=whole, max_bytes=5)
        assert (reply.body or await reply.read()) == b"hello"
        for limit in (4, 100_000):
            with pytest.raises(UpstreamError, match=str(limit)) as caught:
                await (
                    await client.send(at(server), POST, b"", whole=whole, max_bytes=limit)
                ).read()
            assert caught.value.fault == "bad_response"


async def test_a_slow_reader_slows_the_server(client: UpstreamClient) -> None:
    """A stream that nobody reads holds a bounded amount; read on, it is complete."""
    total = 64 * 1024 * 1024
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % total
    pieces = [bytes(1024 * 1024)] * 64
    async with ScriptedServer([REQUEST, head, *pieces, STALL]) as server:
        reply = await client.send(at(server), POST, b"")
        previous = -1
        while reply._held != previous or not reply._connection._paused:
            previous = reply._held
            for _ in range(50):
                await asyncio.sleep(0)
        assert reply._held < 1024 * 1024
        size = 0
        async for chunk in reply:
            size += len(chunk)
        assert size == total
        assert client.idle_connections == 1


async def test_tiny_chunks_are_held_as_one(client: UpstreamClient) -> None:
    """A body in chunks of two bytes is not held as an object for each of them."""
    block = b"2\r\nab\r\n" * 1000
    async with ScriptedServer([REQUEST, CHUNKED, *[block] * 100, b"0\r\n\r\n", STALL]) as server:
        reply = await client.send(at(server), POST, b"")
        await until(lambda: client.idle_connections == 1)
        assert len(reply._chunks) <= MAX_CHUNKS
        assert await reply.read() == b"ab" * 100_000


async def test_a_stream_left_early_is_closed(client: UpstreamClient) -> None:
    """Closing a stream before its end closes the socket; closing again does nothing."""
    async with ScriptedServer([REQUEST, CHUNKED, b"1\r\na\r\n", STALL]) as server:
        reply = await client.send(at(server), POST, b"")
        assert await anext(reply) == b"a"
        reply.close()
        reply.close()
        await asyncio.wait_for(server.peers[0].gone.wait(), 5)
        with pytest.raises(UpstreamError):
            await anext(reply)


async def test_closing_an_old_reply_leaves_the_next_alone(client: UpstreamClient) -> None:
    """A reply that has ended has no hold on its connection, which may serve another by now."""
    go = asyncio.Event()
    async with ScriptedServer([REQUEST, OK, REQUEST, go, OK, STALL]) as server:
        old = await client.send(at(server), POST, b"")
        assert await old.read() == b"hello"
        sending = asyncio.create_task(client.send(at(server), POST, b"", whole=True))
        await asyncio.sleep(0)
        old.close()
        go.set()
        assert (await sending).body == b"hello"
        assert client.connections_opened == 1


@pytest.mark.parametrize("whole", [True, False])
async def test_a_cancelled_call_closes_its_socket(client: UpstreamClient, whole: bool) -> None:
    """Who is cancelled while waiting for the first byte, the server sees leave at once."""
    async with ScriptedServer([REQUEST, STALL]) as server:
        task = asyncio.create_task(client.send(at(server), POST, b"", whole=whole))
        await until(lambda: bool(server.peers and server.peers[0].requests))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.peers[0].gone.wait(), 1)
        assert client.idle_connections == 0


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_call_cancelled_at_any_moment_leaves_nothing_open(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """Whenever a call is cancelled, while its connection is made too, the client can be closed."""

    async def scene(turns: int) -> None:
        client = UpstreamClient(trust_env=False)
        async with ScriptedServer([REQUEST, OK, STALL]) as server:
            task = asyncio.create_task(client.send(at(server), POST, b"", whole=True))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.wait_for(client.close(), 5)
        assert client.open_connections == 0

    with asyncio.Runner(loop_factory=new_loop) as runner:
        for turns in range(15):
            runner.run(scene(turns))


async def test_a_cancelled_upload_closes_its_socket(client: UpstreamClient) -> None:
    """The same holds while a long body waits for a server that does not read it."""
    hold = asyncio.Event()
    async with ScriptedServer([hold, STALL]) as server:
        task = asyncio.create_task(client.send(at(server), POST, bytes(64_000_000), whole=True))
        await until(lambda: client.open_connections > 0)
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        hold.set()
        await asyncio.wait_for(server.peers[0].gone.wait(), 5)


async def test_a_cancelled_reader_closes_its_socket(client: UpstreamClient) -> None:
    """The same holds for the reader of a stream."""
    async with ScriptedServer([REQUEST, CHUNKED, STALL]) as server:
        reply = await client.send(at(server), POST, b"")
        task = asyncio.create_task(reply.read())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.peers[0].gone.wait(), 1)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200", CHUNKED + b"1\r\na\r\n"])
async def test_a_silent_server(start: bytes, whole: bool) -> None:
    """A server that says nothing for the allowed time is given up, at any point."""
    client = UpstreamClient(idle_timeout_s=0.05)
    async with ScriptedServer([REQUEST, start, STALL]) as server:
        with pytest.raises(UpstreamError) as caught:
            await (await client.send(at(server), POST, b"", whole=whole)).read()
        assert caught.value.fault == "timeout"
        assert "0.05 s" in str(caught.value)
        await asyncio.wait_for(server.peers[0].gone.wait(), 5)
    await client.close()


async def test_a_server_that_takes_no_body() -> None:
    """A server that stops reading the request is given up after the allowed time, too."""
    client = UpstreamClient(idle_timeout_s=0.1)
    hold = asyncio.Event()
    async with ScriptedServer([hold]) as server:
        with pytest.raises(UpstreamError) as caught:
            await client.send(at(server), POST, bytes(64_000_000), whole=True)
        assert caught.value.fault == "timeout"
        hold.set()
    await client.close()


async def test_a_slow_reader_is_no_silent_server() -> None:
    """Time in which we do not read is not the server's."""
    client = UpstreamClient(idle_timeout_s=0.05)
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 8000000\r\n\r\n"
    async with ScriptedServer([REQUEST, head + bytes(8_000_000), STALL]) as server:
        reply = await client.send(at(server), POST, b"")
        connection = reply._connection
        for _ in range(3):  # the clock is looked at while nobody reads
            armed = connection._timer
            await until(lambda armed=armed: connection._timer is not armed)
        assert len(await reply.read()) == 8_000_000
    await client.close()


async def test_nobody_listens(client: UpstreamClient) -> None:
    """A refused connection names the place and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(UpstreamError, match=rf"127\.0\.0\.1:{port} .*check the address") as caught:
        await client.send(Origin("http", "127.0.0.1", port), POST, b"")
    assert caught.value.fault == "unreachable"


async def test_no_such_name(client: UpstreamClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name without an address is unreachable."""

    async def fails(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", fails)
    with pytest.raises(UpstreamError, match=r"nowhere\.test:80.*no address") as caught:
        await client.send(Origin("http", "nowhere.test", 80), POST, b"")
    assert caught.value.fault == "unreachable"


async def test_a_connection_that_takes_too_long() -> None:
    """A place that neither takes nor refuses a connection is a timeout, not a hang."""
    client = UpstreamClient(connect_timeout_s=0.05)
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        with pytest.raises(UpstreamError, match=r"0\.05 s") as caught:
            await client.send(Origin("http", *address), POST, b"")
        assert caught.value.fault == "timeout"
        for filler in fillers:
            filler.close()
    await client.close()


async def test_ipv6(client: UpstreamClient) -> None:
    """An IPv6 address is a host like others."""
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        server = await ScriptedServer([REQUEST, OK], host="::1").__aenter__()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    try:
        reply = await client.send(at(server), POST, b"", whole=True)
        assert reply.body == b"hello"
        assert str(at(server)) == f"[::1]:{server.port}"
    finally:
        await client.close()
        await server.__aexit__(None, None, None)


async def test_closing_the_client() -> None:
    """Closing ends requests under way and idle connections; then nothing is sent any more."""
    client = UpstreamClient()
    scripts = ([REQUEST, OK, STALL], [REQUEST, OK, REQUEST, STALL], [REQUEST, STALL])
    async with ScriptedServer(*scripts) as server:
        await asyncio.gather(*(client.send(at(server), POST, b"", whole=True) for _ in range(2)))
        assert client.idle_connections == 2
        await client.close()
        assert client.open_connections == 0
    client = UpstreamClient()
    async with ScriptedServer([REQUEST, STALL]) as server:
        busy = [asyncio.create_task(client.send(at(server), POST, b"")) for _ in range(2)]
        await until(lambda: sum(peer.requests for peer in server.peers) == 2)
        await client.close()
        for failed in busy:
            with pytest.raises(UpstreamError, match="closed"):
                await failed
        assert client.open_connections == 0
        with pytest.raises(UpstreamError, match="closed"):
            await client.send(at(server), POST, b"")


def test_an_unverifying_context_is_refused(authority: Any) -> None:
    """A TLS context that accepts any certificate is a mistake in the configuration."""
    context = authority.client()
    context.check_hostname = False
    with pytest.raises(ConfigError, match="does not verify"):
        UpstreamClient(ssl_context=context)


def test_the_same_on_both_loops(
    both_loops: Callable[[Coroutine[Any, Any, None]], None],
) -> None:
    """Whole, streamed, cut, cancelled, long bodies: on asyncio's loop and on uvloop."""

    async def main() -> None:
        client = UpstreamClient(idle_timeout_s=5)
        cut = [REQUEST, CHUNKED + b"5\r\nhello\r\n", CLOSE]
        async with ScriptedServer([REQUEST, OK, REQUEST, STREAM, REQUEST, OK, *cut]) as server:
            origin = at(server)
            assert (await client.send(origin, POST, b"", whole=True)).body == b"hello"
            assert await (await client.send(origin, POST, b"x")).read() == b"hello world"
            big = bytes(5_000_000)
            assert (await client.send(origin, POST, big, whole=True)).body == b"hello"
            reply = await client.send(origin, POST, b"x")
            assert client.connections_opened == 1
            with pytest.raises(UpstreamError):
                await reply.read()
        async with ScriptedServer([REQUEST, OK, CLOSE], [REQUEST, CHUNKED, STALL]) as server:
            await client.send(at(server), POST, b"", whole=True)
            await until(lambda: not client.open_connections)
            reply = await client.send(at(server), POST, b"")
            task = asyncio.create_task(reply.read())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait_for(server.peers[1].gone.wait(), 5)
            with pytest.raises(asyncio.CancelledError):
                await task
        await client.close()
        assert (client.open_connections, client.idle_connections) == (0, 0)

    both_loops(main())


async def test_a_limit_for_the_whole(client: UpstreamClient) -> None:
    """An answer that is not complete in time fails, however steadily it comes; others go on."""
    async with ScriptedServer([REQUEST, CHUNKED + b"1\r\na\r\n", STALL]) as server:
        with pytest.raises(UpstreamError, match=r"not complete after 0.05 s") as caught:
            await client.send(at(server), POST, b"", whole=True, limit_s=0.05)
        assert caught.value.fault == "timeout"
        assert client.open_connections == 0
