"""Certificates: what is trusted, and what never is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from refdesk.errors import UpstreamError
from refdesk.testing.servers import CLOSE, REQUEST, STALL, ScriptedServer
from refdesk.upstream import Origin, UpstreamClient

GET = b"GET / HTTP/1.1\r\nhost: test\r\n"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"


def at(server: ScriptedServer, name: str = "api.test") -> Origin:
    return Origin("https", name, server.port, addresses=(server.host,))


def test_a_good_certificate(
    authority: Any, both_loops: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    """A certificate for the name, from a trusted authority: whole, streamed, reused, long."""

    async def main() -> None:
        client = UpstreamClient(ssl_context=authority.client())
        stream = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
        script = [REQUEST, OK, REQUEST, stream, REQUEST, OK, STALL]
        async with ScriptedServer(script, tls=authority.server("api.test")) as server:
            assert (await client.send(at(server), GET, b"", whole=True)).body == b"hello"
            assert await (await client.send(at(server), GET, b"")).read() == b"hi"
            head, body = b"POST / HTTP/1.1\r\n", bytes(1_000_000)
            assert (await client.send(at(server), head, body, whole=True)).body == b"hello"
            assert client.connections_opened == 1
            await client.close()
        assert client.open_connections == 0

    both_loops(main())


def test_a_cut_over_tls(
    authority: Any, both_loops: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    """A body shorter than its length is cut here as well; a silent handshake is a timeout."""

    async def main() -> None:
        client = UpstreamClient(ssl_context=authority.client(), connect_timeout_s=0.2)
        async with ScriptedServer(
            [REQUEST, OK[:-1], CLOSE], tls=authority.server("api.test")
        ) as server:
            with pytest.raises(UpstreamError) as caught:
                await client.send(at(server), GET, b"", whole=True)
            assert caught.value.fault == "cut"
        async with ScriptedServer([STALL]) as server:
            with pytest.raises(UpstreamError) as caught:
                await client.send(at(server), GET, b"", whole=True)
            assert caught.value.fault == "timeout"
            await asyncio.wait_for(server.peers[0].gone.wait(), 5)
        async with ScriptedServer([b"HTTP/1.1 400 Bad\r\n\r\n", CLOSE]) as server:
            with pytest.raises(UpstreamError) as caught:
                await client.send(at(server), GET, b"", whole=True)
            assert caught.value.fault == "unreachable"
        await client.close()

    both_loops(main())


@pytest.mark.parametrize(
    ("names", "days", "said"),
    [
        (("api.test",), (-10, -1), "expired"),
        (("api.test",), (5, 10), "not yet valid"),
        (("other.test",), (-1, 1), "Hostname mismatch"),
        (("127.0.0.1",), (-1, 1), "Hostname mismatch"),
    ],
)
async def test_a_bad_certificate(
    authority: Any, names: tuple[str, ...], days: tuple[int, int], said: str
) -> None:
    """One that is expired, not valid yet, or for another name is refused, and the reason said."""
    client = UpstreamClient(ssl_context=authority.client())
    async with ScriptedServer([REQUEST, OK], tls=authority.server(*names, days=days)) as server:
        with pytest.raises(UpstreamError, match=said) as caught:
            await client.send(at(server), GET, b"", whole=True)
        assert caught.value.fault == "unreachable"
        assert f"api.test:{server.port}" in str(caught.value)
        assert client.open_connections == 0
    await client.close()


async def test_an_unknown_authority(authority: Any) -> None:
    """The default trusts the system's authorities, and so not one that was made up here."""
    client = UpstreamClient()
    async with ScriptedServer([REQUEST, OK], tls=authority.server("api.test")) as server:
        with pytest.raises(UpstreamError, match="could not be trusted") as caught:
            await client.send(at(server), GET, b"", whole=True)
        assert caught.value.fault == "unreachable"
    await client.close()


async def test_an_address_as_name(authority: Any) -> None:
    """A certificate may be for an address; then that address is a good host."""
    client = UpstreamClient(ssl_context=authority.client())
    async with ScriptedServer([REQUEST, OK], tls=authority.server("127.0.0.1")) as server:
        origin = Origin("https", "127.0.0.1", server.port)
        assert (await client.send(origin, GET, b"", whole=True)).body == b"hello"
        await client.close()
