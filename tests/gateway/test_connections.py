"""How many connections may be open, and what the next client is told."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from functools import partial
from typing import Any

import pytest

from desk import Desk, OpenDesk
from refdesk.config.schema import LimitsSection
from refdesk.gateway import client
from refdesk.gateway.connections import Connections, bounds, network
from refdesk.gateway.protocol import GuardedProtocol

LIVE = b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n"


def counted(connections: Connections) -> Any:
    """A protocol that counts there."""
    return partial(GuardedProtocol, connections=connections)


class Peers:
    """Connections of clients to a desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._writers: list[asyncio.StreamWriter] = []

    async def connect(self, host: str = "127.0.0.1") -> Peer:
        """Connect from an address."""
        reader, writer = await asyncio.open_connection(
            self._desk.host, self._desk.port, local_addr=(host, 0)
        )
        self._writers.append(writer)
        return Peer(reader, writer)

    async def __aenter__(self) -> Peers:
        return self

    async def __aexit__(self, *_: object) -> None:
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*(each.wait_closed() for each in self._writers))


class Peer:
    """A client's connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def asks(self) -> bytes:
        """Send a request and return the head of the answer."""
        self.writer.write(LIVE)
        async with asyncio.timeout(5):
            return await self.reader.readuntil(b"\r\n\r\n")

    async def rest(self) -> bytes:
        """Return what comes until the server closes."""
        async with asyncio.timeout(5):
            return await self.reader.read()


async def until(desk: Desk, number: int) -> None:
    """Wait until the server knows of so many connections."""
    async with asyncio.timeout(5):
        while len(desk.state.connections) != number:  # noqa: ASYNC110
            # The server has no event for it; every turn of the loop is a chance.
            await asyncio.sleep(0)


async def test_one_too_many(opened: OpenDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more connection than may be open is answered with 503 and closed; the others go on."""
    monkeypatch.setattr(client, "LINGER_S", 0.05)
    connections = Connections(most=2, most_per_address=2)
    async with opened(protocol=counted(connections)) as desk, Peers(desk) as peers:
        first, second = [await peers.connect() for _ in range(2)]
        assert b" 200 " in await first.asks()
        assert b" 200 " in await second.asks()

        third = await peers.connect()
        head = await third.asks()

        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1\r\n" in head
        assert b"connection: close\r\n" in head
        assert b"2 connections are open" in await third.rest()
        assert (connections.open, connections.refused) == (2, 1)

        first.writer.close()
        third.writer.close()
        await until(desk, 1)
        assert b" 200 " in await (await peers.connect()).asks()


async def test_one_address(opened: OpenDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that holds all that one may hold keeps nobody else out."""
    monkeypatch.setattr(client, "LINGER_S", 0.05)
    connections = Connections(most=100, most_per_address=1)
    async with opened(protocol=counted(connections)) as desk, Peers(desk) as peers:
        assert b" 200 " in await (await peers.connect()).asks()
        assert b" 503 " in await (await peers.connect()).asks()
        assert b" 200 " in await (await peers.connect("127.0.0.2")).asks()


async def test_all_leave(opened: OpenDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """When all have left, refused ones included, nothing is remembered of any."""
    monkeypatch.setattr(client, "LINGER_S", 0.05)
    connections = Connections(most=3, most_per_address=2)
    async with opened(protocol=counted(connections)) as desk:
        async with Peers(desk) as peers:
            for number in range(9):
                await (await peers.connect(f"127.0.0.{1 + number % 3}")).asks()
        await until(desk, 0)
    assert connections.open == 0
    assert connections.refused == 6
    assert not connections._by_address
    assert connections._leaving == 0


@pytest.mark.parametrize(("most", "held"), [(1000, 128), (20, 20), (1, 1)])
def test_refused_ones_are_not_held_without_end(most: int, held: int) -> None:
    """So many refused connections are held for a moment; those beyond are closed at once."""
    connections = Connections(most=most, most_per_address=1)
    connections.enter("a")

    for _ in range(held):
        assert connections.enter("a")
        assert not connections.must_hurry
    assert connections.enter("a")
    assert connections.must_hurry

    connections.leave("a", refused=True)
    assert not connections.must_hurry


def test_the_log(logged: list[MutableMapping[str, Any]]) -> None:
    """Refusals are logged once a minute, with the setting that bounds them."""
    times = iter((1.0, 2.0, 60.5, 61.0))
    connections = Connections(most=9, most_per_address=1, clock=lambda: next(times))
    for _ in range(5):
        connections.enter("10.0.0.1")

    assert [line["refused"] for line in logged] == [1, 4]
    assert logged[0]["setting"] == "server.limits.connections_per_address"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::9", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", ""),
    ],
)
def test_addresses(address: str, expected: str) -> None:
    """The addresses of one IPv6 network are one, since its holder has them all."""
    assert network(address) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"connections": 10}, (10, 5)),
        ({"connections": 1}, (1, 1)),
        ({"connections": 10, "connections_per_address": 10}, (10, 10)),
        ({"connections": 10, "connections_per_address": 99}, (10, 10)),
    ],
)
def test_the_configuration(given: dict[str, int], expected: tuple[int, int]) -> None:
    """By default half of all connections are one address's; no address has more than all."""
    assert bounds(LimitsSection(**given)) == expected
