"""The fetcher, against servers that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from refdesk.errors import EngineError, EngineTimeout
from refdesk.fetch import Fetcher
from refdesk.http import HttpRequest, HttpResponse
from refdesk.testing.servers import CLOSE, REQUEST, RESET, STALL, Repeat, ScriptedServer
from refdesk.upstream import Origin, UpstreamClient

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
CAP = 512 * 1024


@pytest.fixture
async def fetcher() -> AsyncIterator[Fetcher]:
    """A fetcher that must leave neither connection nor task behind, even before it is closed."""

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    before = len(asyncio.all_tasks())
    fetcher = Fetcher(UpstreamClient(connect_timeout_s=5), resolve=resolve)
    yield fetcher
    for _ in range(10):
        await asyncio.sleep(0)
    client = fetcher.client
    assert client.open_connections == client.idle_connections
    assert len(asyncio.all_tasks()) == before
    await fetcher.close()
    assert client.open_connections == 0


async def fetch(
    fetcher: Fetcher,
    server: ScriptedServer,
    *,
    timeout_s: float = 5.0,
    max_bytes: int = CAP,
    public_only: bool = False,
    **request: Any,
) -> HttpResponse:
    url = f"http://engine.test:{server.port}/canary/path?api_key=canary"
    sent = HttpRequest(**{"method": "GET", "url": url, **request})
    return await fetcher.send(
        sent, timeout_s=timeout_s, max_bytes=max_bytes, public_only=public_only
    )


def answer(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = b"".join(line + b"\r\n" for line in headers)
    return b"HTTP/1.1 %b\r\n%bcontent-length: %d\r\n\r\n%b" % (status, lines, len(body), body)


async def test_an_exchange(fetcher: Fetcher) -> None:
    """The name goes into the host header, gzip is asked for and undone, the rest is handed on."""
    packed = answer(gzip.compress(b"[1]"), b"Content-Encoding: gzip", b"Retry-After: 5")
    async with ScriptedServer([REQUEST, packed, STALL]) as server:
        response = await fetch(
            fetcher,
            server,
            method="POST",
            headers=(("x-api-key", "s3cret"), ("accept-encoding", "br"), ("content-length", "9")),
            body=b"{}",
        )
        assert response == HttpResponse(status=200, headers=(("retry-after", "5"),), body=b"[1]")
        assert server.peers[0].received.decode() == (
            "POST /canary/path?api_key=canary HTTP/1.1\r\n"
            f"host: engine.test:{server.port}\r\n"
            "accept-encoding: gzip\r\nuser-agent: refdesk\r\naccept: */*\r\n"
            "x-api-key: s3cret\r\ncontent-length: 2\r\n\r\n{}"
        )


@pytest.mark.parametrize("status", [b"200 OK", b"204 No Content", b"401 No", b"429 Slow", b"503 X"])
async def test_any_status_is_an_answer(fetcher: Fetcher, status: bytes) -> None:
    """What the engine says is the engine's affair, error or not."""
    body = b"" if status.startswith(b"204") else b"said"
    async with ScriptedServer([REQUEST, answer(body, status=status), STALL]) as server:
        response = await fetch(fetcher, server)
        assert (response.status, response.body) == (int(status[:3]), body)


@pytest.mark.parametrize(
    ("location", "told"),
    [
        (b"/canary/elsewhere", "engine.test"),
        (b"http://127.0.0.1:1/canary", "127.0.0.1"),
        (b"https://Other.test/canary?api_key=canary", "other.test"),
        (b"https://canary@other.test/", "other.test"),
        (b"file:///canary", "no web address"),
        (b"http://[canary", "cannot be read"),
        (b"http://<script>canary</script>/", "cannot be read"),
        (b"", "nowhere"),
    ],
)
async def test_redirects_are_not_followed(fetcher: Fetcher, location: bytes, told: str) -> None:
    """A redirect is a failure that names where it led to, and nothing else of it."""
    statuses = (b"301 A", b"302 B", b"303 C", b"307 D", b"308 E")
    moved = [answer(b"", b"Location: " + location, status=status) for status in statuses]
    script = [step for one in moved for step in (REQUEST, one)]
    async with ScriptedServer([*script, STALL]) as server:
        for _ in statuses:
            with pytest.raises(EngineError, match=told) as caught:
                await fetch(fetcher, server)
            assert caught.value.outcome == "upstream_down"
            assert "canary" not in str(caught.value)
        assert server.peers[0].requests == len(statuses)


DRIP = Repeat(b"1\r\nx\r\n", pause_s=0.01)


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ([STALL], "timeout"),
        ([REQUEST, STALL], "timeout"),
        ([REQUEST, b"HTTP/1.1 200 OK\r\n", STALL], "timeout"),
        ([REQUEST, CHUNKED, STALL], "timeout"),
        ([REQUEST, CHUNKED, DRIP], "timeout"),
        ([REQUEST, b"HTTP/1.1 200 OK\r\na: ", Repeat(b"x", pause_s=0.01)], "timeout"),
        ([REQUEST, answer(bytes(CAP + 1)), STALL], "too_large"),
        ([REQUEST, b"HTTP/1.1 200 OK\r\n\r\n" + bytes(CAP + 1), STALL], "too_large"),
        ([REQUEST, CHUNKED, Repeat(b"4000\r\n" + bytes(0x4000) + b"\r\n")], "too_large"),
        ([REQUEST, answer(gzip.compress(bytes(CAP + 1)), b"content-encoding: gzip")], "too_large"),
        ([REQUEST, answer(gzip.compress(b"hi")[:-8], b"content-encoding: gzip")], "parse_error"),
        ([REQUEST, answer(b"plain", b"content-encoding: gzip")], "parse_error"),
        ([REQUEST, answer(b"x", b"content-encoding: br")], "parse_error"),
        ([REQUEST, answer(b"x", b"content-encoding: zstd")], "parse_error"),
        (
            [REQUEST, answer(b"x", b"content-encoding: gzip", b"content-encoding: gzip")],
            "parse_error",
        ),
        ([REQUEST, b"SSH-2.0-OpenSSH\r\n", STALL], "parse_error"),
        ([REQUEST, answer(b"cut")[:-1], CLOSE], "parse_error"),
        ([REQUEST, CHUNKED + b"5\r\nhello\r\n", RESET], "parse_error"),
        ([REQUEST, CLOSE], "unreachable"),
        ([CLOSE], "unreachable"),
        ([REQUEST, RESET], "unreachable"),
    ],
)
async def test_engines_that_misbehave(fetcher: Fetcher, script: Any, outcome: str) -> None:
    """Every fault has its outcome, names the host, shows no path, key or header, leaves nothing."""
    timeout_s = 0.1 if outcome == "timeout" else 10.0
    async with ScriptedServer(script) as server:
        with pytest.raises(EngineError) as caught:
            await fetch(fetcher, server, timeout_s=timeout_s, headers=(("x-api-key", "canary"),))
        for _ in range(10):
            await asyncio.sleep(0)
        # The server still holds its end.  An answer that was whole, but too long, is over, too.
        client = fetcher.client
        assert client.open_connections == client.idle_connections
        assert caught.value.outcome == outcome
        assert isinstance(caught.value, EngineTimeout) is (outcome == "timeout")
        assert "engine.test" in str(caught.value)
        assert "canary" not in str(caught.value)


async def test_the_cap_is_exact(fetcher: Fetcher) -> None:
    """A body of exactly the allowed size passes."""
    async with ScriptedServer([REQUEST, answer(bytes(CAP)), STALL]) as server:
        assert len((await fetch(fetcher, server)).body) == CAP


async def test_cancelling_closes(fetcher: Fetcher) -> None:
    """Who is cancelled in the middle of a body leaves at once."""
    async with ScriptedServer([REQUEST, CHUNKED, STALL]) as server:
        task = asyncio.create_task(fetch(fetcher, server))
        for _ in range(1_000_000):
            if server.peers and server.peers[0].requests:
                break
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.peers[0].gone.wait(), 5)


async def test_nobody_listens(fetcher: Fetcher) -> None:
    """A refused connection is unreachable."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    request = HttpRequest(method="GET", url=f"http://engine.test:{port}/?key=canary")
    with pytest.raises(EngineError, match=f"engine.test:{port}") as caught:
        await fetcher.send(request, timeout_s=5, max_bytes=1, public_only=False)
    assert caught.value.outcome == "unreachable"


class Resolver:
    """Gives one list of addresses after the other, and counts."""

    def __init__(self, *answers: list[str] | Exception) -> None:
        self.answers = list(answers)
        self.calls = 0

    async def __call__(self, host: str, port: int) -> list[str]:
        self.calls += 1
        answer = self.answers[min(self.calls, len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Recorder(UpstreamClient):
    """A client that tells where it would have connected to."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.origins: list[Origin] = []

    async def send(self, origin: Origin, *_: Any, **__: Any) -> Any:
        self.origins.append(origin)
        raise asyncio.CancelledError


async def reach(url: str, resolver: Resolver, *, public_only: bool, **options: Any) -> list[Origin]:
    """Return where a fetch would connect to."""
    client = Recorder(**options)
    fetcher = Fetcher(client, resolve=resolver)
    request = HttpRequest(method="GET", url=url)
    with contextlib.suppress(asyncio.CancelledError):
        await fetcher.send(request, timeout_s=5, max_bytes=1, public_only=public_only)
    return client.origins


async def test_one_resolution_and_the_connection_keeps_to_it() -> None:
    """The resolver is asked once; what it would answer later does not matter."""
    resolver = Resolver(["203.0.114.7", "2606:4700::1"], ["127.0.0.1"])
    assert await reach("https://a.test/x", resolver, public_only=True) == [
        Origin("https", "a.test", 443, addresses=("203.0.114.7", "2606:4700::1"))
    ]
    assert resolver.calls == 1


@pytest.mark.parametrize(
    ("addresses", "public_only"),
    [
        (["127.0.0.1"], True),
        (["8.8.8.8", "127.0.0.1"], True),
        (["8.8.8.8", "10.0.0.1"], True),
        (["::ffff:169.254.169.254"], True),
        (["100.100.100.200"], True),
        (["169.254.169.254"], False),
        (["10.0.0.1", "fd00:ec2::254"], False),
    ],
)
async def test_every_address_is_checked(addresses: list[str], public_only: bool) -> None:
    """One bad address among good ones is enough; nothing is connected to."""
    client = Recorder()
    fetcher = Fetcher(client, resolve=Resolver(addresses))
    request = HttpRequest(method="GET", url="http://a.test/canary?canary")
    with pytest.raises(EngineError, match=r"a\.test is not asked") as caught:
        await fetcher.send(request, timeout_s=5, max_bytes=1, public_only=public_only)
    assert (caught.value.outcome, client.origins) == ("blocked", [])
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "host",
    ["127.1", "0x7f000001", "2130706433", "0177.0.0.1", "①②⑦.⓪.⓪.①", "0", "localhost", "[::1]",
     "[::ffff:127.0.0.1]", "LOCALHOST", "localhost."],
)  # fmt: skip
async def test_every_spelling_of_this_machine(host: str) -> None:
    """However this machine is spelled, the real resolver's answer is what is checked."""
    fetcher = Fetcher(Recorder())
    request = HttpRequest(method="GET", url=f"http://{host}/")
    with pytest.raises(EngineError) as caught:
        await fetcher.send(request, timeout_s=5, max_bytes=1, public_only=True)
    # A resolver may know no "localhost."; then there is nothing to connect to either.
    assert caught.value.outcome == "blocked" or (
        host == "localhost." and caught.value.outcome == "unreachable"
    )


@pytest.mark.parametrize("port", [22, 25, 6379, 9200])
async def test_ports_that_are_not_the_webs(port: int) -> None:
    """Strangers' URLs reach the web's ports only; the operator's reach any."""
    url = f"http://a.test:{port}/"
    with pytest.raises(EngineError, match=f"port {port}") as caught:
        await reach(url, Resolver(["8.8.8.8"]), public_only=True)
    assert caught.value.outcome == "blocked"
    assert len(await reach(url, Resolver(["10.0.0.1"]), public_only=False)) == 1


@pytest.mark.parametrize(
    "url", ["http://user:canary@a.test/", "file:///canary", "http://a.test:canary/", "gopher://a/"]
)
async def test_urls_that_are_not_fetched(url: str) -> None:
    """Another scheme, a user name, nonsense: blocked, and not shown."""
    with pytest.raises(EngineError) as caught:
        await reach(url, Resolver(["8.8.8.8"]), public_only=False)
    assert caught.value.outcome == "blocked"
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("answer", [OSError("no"), UnicodeError("no"), []])
async def test_no_address(answer: Any) -> None:
    """A name that does not resolve is unreachable."""
    with pytest.raises(EngineError, match=r"a\.test has no address") as caught:
        await reach("http://a.test/", Resolver(answer), public_only=False)
    assert caught.value.outcome == "unreachable"


async def test_a_resolver_that_hangs() -> None:
    """The deadline covers the resolver."""

    async def hangs(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    request = HttpRequest(method="GET", url="http://a.test/")
    with pytest.raises(EngineTimeout, match=r"a\.test .* 0\.02 s"):
        await Fetcher(resolve=hangs).send(request, timeout_s=0.02, max_bytes=1, public_only=False)


async def test_behind_a_proxy() -> None:
    """The operator's place is asked through a proxy, by name; a stranger's directly."""
    proxied = {"proxies": {"all": "http://proxy.test:3128"}}
    nothing = Resolver(OSError("there is no resolver here"))
    origins = await reach("http://a.test/", nothing, public_only=False, **proxied)
    assert (origins, nothing.calls) == ([Origin("http", "a.test", 80)], 0)
    public = Resolver(["8.8.8.8"])
    origins = await reach("http://a.test/", public, public_only=True, **proxied)
    assert origins == [Origin("http", "a.test", 80, addresses=("8.8.8.8",))]
    with pytest.raises(EngineError, match="metadata"):
        await reach(
            "http://169.254.169.254/", Resolver(["169.254.169.254"]), public_only=False, **proxied
        )


@pytest.mark.parametrize(
    ("method", "header"),
    [
        ("GET", ("x-api-key", "canary\r\nx: y")),
        ("GET", ("x-api-key", "canary\n")),
        ("GET", ("x-api-key", "canary\x00")),
        ("GET", ("x-api-key", "canary → arrow")),
        ("GET", ("x key", "canary")),
        ("GET", ("x:", "canary")),
        ("", ("a", "b")),
        ("GET / HTTP/1.1\r\nx:", ("a", "b")),
        ("get", ("a", "b")),
    ],
)
async def test_nothing_splits_a_head(method: str, header: tuple[str, str]) -> None:
    """A method or header that would end its line is not sent, and its value not shown."""
    client = Recorder()
    request = HttpRequest(method=method, url="http://a.test/", headers=(header,))
    with pytest.raises(EngineError) as caught:
        await Fetcher(client, resolve=Resolver(["8.8.8.8"])).send(
            request, timeout_s=5, max_bytes=1, public_only=False
        )
    assert (caught.value.outcome, client.origins) == ("bad_request", [])
    assert "canary" not in str(caught.value)
