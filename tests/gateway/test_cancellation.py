"""Clients that leave, or read slowly (catalogue of bad inputs, E1, E2 and C13)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from desk import PATHS, SSE_HEAD, WIRES, Desk, OpenDesk, Stall, answers, asks, chunk, stream, whole
from refdesk.gateway import client
from refdesk.testing.fakes import HANG, FakeEngine


@pytest.fixture(autouse=True)
def _watch_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait that spares quick requests a watcher is for speed; here it would only cost time."""
    monkeypatch.setattr(client, "_WATCH_AFTER_S", 0.0)


async def _send(desk: Desk, wire: str, body: dict[str, Any]) -> asyncio.StreamWriter:
    _, writer = await asyncio.open_connection(desk.host, desk.port)
    data = json.dumps(body).encode()
    writer.write(desk.http("POST", "/v1" + PATHS[wire], data))
    await writer.drain()
    return writer


async def _left_nothing(desk: Desk) -> None:
    """The log says who left; no place, call or connection is kept."""
    entry = await desk.last()
    assert entry.end == "client_disconnected"
    assert entry.error == ""
    assert desk.application.web.limiter.counts.running == 0
    assert desk.application.web.limiter.counts.waiting == 0
    await desk.upstream.until(lambda: desk.upstream.open == 0)
    assert desk.application.upstream.open_connections == 0
    assert 'refdesk_request_ends_total{end="client_disconnected"} 1.0' in desk.metrics()


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("streamed", [False, True])
class TestLeaving:
    """R7: what was begun for a client that left is stopped, in every phase."""

    async def test_before_the_engine_answers(
        self, opened: OpenDesk, wire: str, streamed: bool
    ) -> None:
        """The engine's call is cancelled, and is no failure of the engine."""
        engine = FakeEngine("fake", HANG)
        async with opened(engine) as desk:
            writer = await _send(desk, wire, asks(wire, stream=streamed))
            async with asyncio.timeout(5):
                await engine.script.started.wait()
            writer.close()
            await _left_nothing(desk)
            assert engine.script.running == 0
            assert engine.script.cancelled == 1
            assert desk.upstream.seen == []
            (condition,) = desk.application.web.health.snapshot(desk.engines)
            assert condition.state != "resting"

    async def test_before_the_first_byte(self, desk: Desk, wire: str, streamed: bool) -> None:
        """The wait for the upstream is given up."""
        desk.upstream.will([Stall()])
        writer = await _send(desk, wire, asks(wire, stream=streamed))
        await desk.upstream.until(lambda: bool(desk.upstream.seen))
        writer.close()
        await _left_nothing(desk)

    @pytest.mark.parametrize("search", [False, True])
    async def test_in_the_midst(self, desk: Desk, wire: str, streamed: bool, search: bool) -> None:
        """Half an answer is enough to see that nobody wants the rest."""
        half = (
            [SSE_HEAD, chunk(b"".join(stream(wire))[:700])]
            if streamed
            else [whole(answers(wire))[:-9]]
        )
        sent = asyncio.Event()
        desk.upstream.will([*half, sent, Stall()])
        reader, writer = await asyncio.open_connection(desk.host, desk.port)
        data = json.dumps(asks(wire, search=search, stream=streamed)).encode()
        writer.write(desk.http("POST", "/v1" + PATHS[wire], data))
        if streamed:
            await reader.readuntil(b"\r\n\r\n")
        else:
            await desk.upstream.until(lambda: bool(desk.upstream.seen))
        writer.close()
        await _left_nothing(desk)

    async def test_while_its_body_is_read(self, desk: Desk, wire: str, streamed: bool) -> None:
        """Half a request is no request; nobody is asked anything."""
        body = json.dumps(asks(wire, stream=streamed)).encode()
        _, writer = await asyncio.open_connection(desk.host, desk.port)
        writer.write(desk.http("POST", "/v1" + PATHS[wire], body)[:-20])
        await writer.drain()
        await desk.until_running(1)
        writer.close()
        await _left_nothing(desk)
        assert desk.engine.queries == []


async def test_one_of_two_that_share_a_search(opened: OpenDesk) -> None:
    """Who leaves does not take a search away from who stays."""
    go = asyncio.Event()
    engine = FakeEngine("fake", go, FakeEngine("x").script.answers[0])
    async with opened(engine) as desk:
        desk.upstream.will(whole(answers("messages")))
        writer = await _send(desk, "messages", asks("messages"))
        async with asyncio.timeout(5):
            await engine.script.started.wait()
        staying = asyncio.create_task(desk.ask("messages"))
        await desk.until_running(2)
        writer.close()
        async with asyncio.timeout(5):
            while len(desk.state.tasks) > 1:
                await asyncio.wait(list(desk.state.tasks), return_when=asyncio.FIRST_COMPLETED)
        go.set()
        response = await staying
        assert response.headers["x-refdesk-search"].startswith("gateway; engine=fake")


async def test_a_client_that_does_not_read(desk: Desk) -> None:
    """E2: a fast stream is held back for a slow reader, and others go on."""
    piece = chunk(b": " + b"x" * 60_000 + b"\n\n")
    desk.upstream.will([SSE_HEAD, *[piece] * 200, Stall()], whole(answers("chat")))
    reader, writer = await asyncio.open_connection(desk.host, desk.port, limit=1024)
    data = json.dumps(asks("chat", search=False, stream=True)).encode()
    writer.write(desk.http("POST", "/v1/chat/completions", data))
    await reader.readuntil(b"\r\n\r\n")

    for _ in range(5):
        assert (await desk.ask("chat", search=False)).status_code == 200

    (held,) = [one for one in desk.state.connections if not one.cycle.response_complete]
    # High water marks of the two sockets' buffers; far below the 12 MB that were sent.
    assert held.transport.get_write_buffer_size() < 512 * 1024
    (waiting,) = [one for one in desk.application.upstream._open if one._reply is not None]
    assert waiting._reply._held < 1024 * 1024
    writer.transport.abort()
    await desk.idle()
