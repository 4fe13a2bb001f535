"""Proxies: chosen by scheme and host, never by accident."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from refdesk.errors import ConfigError, UpstreamError
from refdesk.testing.servers import CLOSE, REQUEST, STALL, ScriptedServer
from refdesk.upstream import Origin, UpstreamClient
from refdesk.upstream.proxy import Proxy, ProxyTable

GET = b"GET /v1/x?y HTTP/1.1\r\nhost: api.test\r\n"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
API = Origin("https", "api.test", 443)
PLAIN = Origin("http", "api.test", 8080)


async def test_plain_http_names_the_whole_url() -> None:
    """Plain HTTP goes to the proxy with the URL in its first line, and the proxy's credentials."""
    async with ScriptedServer([REQUEST, OK, REQUEST, OK, STALL]) as server:
        url = f"http://us%65r:pa%3Ass@{server.host}:{server.port}"
        client = UpstreamClient(proxies={"http": url})
        for _ in range(2):
            assert (await client.send(PLAIN, GET, b"", whole=True)).body == b"hello"
        await client.close()
        assert client.connections_opened == 1
        assert server.peers[0].received.startswith(
            b"GET http://api.test:8080/v1/x?y HTTP/1.1\r\n"
            b"proxy-authorization: Basic dXNlcjpwYTpzcw==\r\nhost: api.test\r\n\r\n"
        )


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 200 Fine\r\nvia: x\r\n\r\n", b"HTTP/1.0 200\r\n\r\n"]
)
def test_tls_goes_through_a_tunnel(
    authority: Any, both_loops: Callable[[Coroutine[Any, Any, None]], None], answer: bytes
) -> None:
    """HTTPS asks for a tunnel and speaks TLS with the server in it; only CONNECT shows the name."""
    import asyncio

    async def main() -> None:
        pipes: list[asyncio.Task[None]] = []

        async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while data := await reader.read(65536):
                    writer.write(data)
            except ConnectionError:
                pass
            finally:
                writer.close()

        async with ScriptedServer(
            [REQUEST, OK, REQUEST, OK, STALL], tls=authority.server("api.test")
        ) as server:
            asked = b""

            async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                nonlocal asked
                asked += await reader.readuntil(b"\r\n\r\n")
                up_reader, up_writer = await asyncio.open_connection(server.host, server.port)
                writer.write(answer)
                pipes.append(asyncio.create_task(pump(reader, up_writer)))
                pipes.append(asyncio.create_task(pump(up_reader, writer)))

            proxy = await asyncio.start_server(accept, "127.0.0.1", 0)
            port = proxy.sockets[0].getsockname()[1]
            client = UpstreamClient(
                ssl_context=authority.client(), proxies={"https": f"http://127.0.0.1:{port}"}
            )
            for _ in range(2):
                assert (await client.send(API, GET, b"", whole=True)).body == b"hello"
            assert asked == b"CONNECT api.test:443 HTTP/1.1\r\nhost: api.test:443\r\n\r\n"
            other = Origin("https", "other.test", 443)
            with pytest.raises(UpstreamError, match="Hostname mismatch"):
                await client.send(other, GET, b"", whole=True)
            await client.close()
            assert client.open_connections == 0
            proxy.close()
            await proxy.wait_closed()
            await asyncio.gather(*pipes)

    both_loops(main())


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ([REQUEST, b"HTTP/1.1 407 Who are you\r\n\r\n", STALL], "answered 407"),
        ([REQUEST, CLOSE], "closed the connection"),
        ([REQUEST, b"SSH-2.0-OpenSSH\r\n\r\n", STALL], "answered nothing readable"),
        ([REQUEST, b"HTTP/1.1 200 OK\r\n\r\nand more", STALL], "answered 200"),
        ([REQUEST, b"a" * 20000, STALL], "answered nothing readable"),
        ([REQUEST, b"\r\n\r\n", STALL], "answered nothing readable"),
    ],
)
async def test_a_proxy_that_refuses(script: Any, said: str) -> None:
    """A proxy that makes no tunnel is told by its own name, never its password."""
    async with ScriptedServer(script) as server:
        client = UpstreamClient(proxies={"all": f"http://u:canary@{server.host}:{server.port}"})
        with pytest.raises(UpstreamError, match=f"api.test:443 .*{server.port} {said}") as caught:
            await client.send(API, GET, b"")
        assert caught.value.fault == "unreachable"
        assert "canary" not in str(caught.value)
        await client.close()


@pytest.mark.parametrize(
    ("origin", "no", "proxied"),
    [
        (API, "", True),
        (API, "other.test, api.tes, pi.test, 10.0.0.0/8", True),
        (API, "api.test", False),
        (API, "API.TEST", False),
        (API, "test", False),
        (API, ".test", False),
        (API, "*.test", False),
        (API, "api.test:443", False),
        (API, "api.test:444", True),
        (API, "*", False),
        (Origin("https", "10.1.2.3", 443), "10.0.0.0/8", False),
        (Origin("https", "10.1.2.3", 443), "11.0.0.0/8", True),
        (Origin("https", "localhost", 443), "", False),
        (Origin("http", "127.0.0.1", 80), "", False),
        (Origin("http", "::1", 80), "", False),
        (Origin("https", "api.test", 443, addresses=("192.0.2.1",)), "", False),
    ],
)
def test_who_needs_no_proxy(origin: Origin, no: str, proxied: bool) -> None:
    """Listed hosts, loopback, and addresses that were checked are reached directly."""
    table = ProxyTable({"all": "http://proxy.test:3128", "no": no}, trust_env=False)
    assert (table.find(origin) is not None) is proxied


def test_the_scheme_chooses() -> None:
    """A proxy for one scheme is none for the other."""
    table = ProxyTable({"https": "proxy.test:3128"}, trust_env=False)
    assert table.find(API) == Proxy(host="proxy.test", port=3128)
    assert table.find(PLAIN) is None


def test_the_environment_counts_only_if_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTPS_PROXY is ignored unless it was allowed, and an explicit table replaces it."""
    monkeypatch.setenv("HTTPS_PROXY", "http://env.test:1")
    monkeypatch.setenv("NO_PROXY", "inside.test")
    assert UpstreamClient().proxy_for(API) is None
    assert UpstreamClient(proxies={}, trust_env=True).proxy_for(API) is None
    trusting = UpstreamClient(trust_env=True)
    assert str(trusting.proxy_for(API)) == "env.test:1"
    assert trusting.proxy_for(Origin("https", "a.inside.test", 443)) is None


@pytest.mark.parametrize(
    "url", ["socks5://canary@x:1", "http://", "http://canary@x:port", "https://x"]
)
def test_a_proxy_that_is_none(url: str) -> None:
    """A URL that names no HTTP proxy is refused, without showing it."""
    with pytest.raises(ConfigError, match="must look like") as caught:
        UpstreamClient(proxies={"https": url})
    assert "canary" not in str(caught.value)


def test_a_password_is_not_shown() -> None:
    """Neither form of a proxy as text holds its credentials."""
    proxy = Proxy.parse("http://user:canary@proxy.test:3128")
    assert proxy.authorization
    assert "canary" not in f"{proxy} {proxy!r}"
    assert "Basic" not in repr(proxy)
