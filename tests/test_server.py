"""The real command: signals, reloads, workers and the lock, each in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from desk import LAST_CHUNK, SSE_HEAD, Stall, Upstream, answers, asks, chunk, stream, whole
from refdesk.errors import ConfigError
from refdesk.server import address, listen

CONFIG = """
version: 1
server: {{host: 127.0.0.1, port: 0, workers: {workers}, limits: {{connections: {connections}}}}}
data_dir: {folder}/data
upstreams: {{up: {{wire: [chat, messages, responses], base_url: "{url}"}}}}
models: {{{model}: {{upstream: up}}}}
engines: {{}}
"""


@pytest_asyncio.fixture
async def upstream() -> AsyncIterator[Upstream]:
    """An upstream on loopback."""
    server = Upstream()
    await server.start()
    yield server
    await server.stop()


class Served:
    """A running ``refdesk serve``."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, config: Path) -> None:
        self.process = process
        self.url = url
        self.config = config

    def tell(self, sig: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(sig)

    async def end(self) -> int:
        """Wait until it has ended; return its status."""
        async with asyncio.timeout(15):
            await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode

    async def says(self, word: str) -> str:
        """Wait for a line on stderr that holds a word."""
        assert self.process.stderr is not None
        async with asyncio.timeout(15):
            while line := (await self.process.stderr.readline()).decode():
                if word in line:
                    return line
        raise AssertionError(f"it ended without a word of {word!r}")


def write(
    folder: Path, upstream: Upstream, *, model: str = "m", workers: int = 1, connections: int = 100
) -> Path:
    """Write a configuration file."""
    path = folder / "refdesk.yaml"
    text = CONFIG.format(
        folder=folder, url=upstream.url, model=model, workers=workers, connections=connections
    )
    path.write_text(text)
    return path


@contextlib.asynccontextmanager
async def served(config: Path, *, stderr: int = asyncio.subprocess.PIPE) -> AsyncIterator[Served]:
    """Run the command until it says its URL."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "from refdesk.cli import main; main()",
        "serve", "--config", str(config), stdout=asyncio.subprocess.PIPE, stderr=stderr,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        async with asyncio.timeout(30):
            url = (await process.stdout.readline()).decode().strip()
        if not url:
            _, told = await process.communicate()
            raise AssertionError(told.decode())
        yield Served(process, url, config)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


def client(url: str) -> httpx2.AsyncClient:
    """A client that does not look at the environment."""
    return httpx2.AsyncClient(base_url=url, trust_env=False, verify=False, timeout=10)


async def test_a_stop_with_an_open_stream(tmp_path: Path, upstream: Upstream) -> None:
    """E4: readiness goes 503 at once, the stream ends as it should, and the status is 0."""
    first, *rest = stream("chat")
    go = asyncio.Event()
    upstream.will([SSE_HEAD, chunk(first), go, *map(chunk, rest), LAST_CHUNK])
    async with served(write(tmp_path, upstream)) as one, client(one.url) as http:
        body = asks("chat", search=False, stream=True)
        async with http.stream("POST", "/v1/chat/completions", json=body) as response:
            pieces = response.aiter_raw()
            assert await anext(pieces) == first
            assert (await http.get("/readyz")).status_code == 200

            one.tell(signal.SIGTERM)

            async with asyncio.timeout(10):
                while (await http.get("/readyz")).status_code == 200:
                    pass
            refused = await http.post("/v1/chat/completions", json=body)
            assert refused.status_code == 503
            assert "shutting down" in refused.json()["error"]["message"]
            go.set()
            assert b"".join([piece async for piece in pieces]) == b"".join(rest)
        assert await one.end() == 0


async def test_a_second_signal(tmp_path: Path, upstream: Upstream) -> None:
    """E4: the second signal ends it at once, whatever goes on."""
    upstream.will([SSE_HEAD, chunk(stream("chat")[0]), Stall()])
    async with served(write(tmp_path, upstream)) as one, client(one.url) as http:
        body = asks("chat", search=False, stream=True)
        async with http.stream("POST", "/v1/chat/completions", json=body) as response:
            await anext(response.aiter_raw())
            one.tell(signal.SIGTERM)
            async with asyncio.timeout(10):
                while (await http.get("/readyz")).status_code == 200:
                    pass
            one.tell(signal.SIGTERM)
            assert await one.end() == 128 + signal.SIGTERM


async def test_reload(tmp_path: Path, upstream: Upstream) -> None:
    """SIGHUP takes a good configuration in, and leaves the old one in place for a bad one."""
    config = write(tmp_path, upstream)
    async with served(config) as one, client(one.url) as http:
        write(tmp_path, upstream, model="renamed")
        one.tell(signal.SIGHUP)
        await one.says("was reloaded")
        assert (await http.get("/v1/models")).json()["data"][0]["id"] == "renamed"

        config.write_text(config.read_text() + "\nenginse: {}\n")
        one.tell(signal.SIGHUP)
        assert "engines" in await one.says("was not reloaded")
        assert (await http.get("/v1/models")).json()["data"][0]["id"] == "renamed"

        one.tell(signal.SIGTERM)
        assert await one.end() == 0


async def test_too_many_connections(tmp_path: Path, upstream: Upstream) -> None:
    """One more than `server.limits.connections` is 503; a reload sets the bound anew."""
    config = write(tmp_path, upstream, connections=2)
    async with served(config) as one, client(one.url) as http, client(one.url) as other:
        assert (await http.get("/livez")).status_code == 200
        assert (await other.get("/livez")).status_code == 503
        page = (await http.get("/metrics")).text
        assert "connections_refused_total 1.0" in page
        assert "# TYPE refdesk_loop_stalls_total counter" in page

        write(tmp_path, upstream, connections=4)
        one.tell(signal.SIGHUP)
        await one.says("was reloaded")
        assert (await other.get("/livez")).status_code == 200


async def test_a_log_that_is_not_read(tmp_path: Path, upstream: Upstream) -> None:
    """A server whose stderr is a full pipe starts, serves, drops and counts lines, and stops."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    os.set_blocking(writing, True)
    try:
        async with (
            served(write(tmp_path, upstream), stderr=writing) as one,
            client(one.url) as http,
        ):
            body = asks("chat", search=False, model="unknown-" + "n" * 200)
            dropped = 0.0
            while not dropped:
                for _ in range(200):
                    answer = await http.post("/v1/chat/completions", json=body)
                    assert answer.status_code == 404
                page = (await http.get("/metrics")).text
                found = re.search(r"refdesk_log_lines_dropped_total ([\d.]+)", page)
                assert found is not None
                dropped = float(found[1])

            one.tell(signal.SIGTERM)
            assert await one.end() == 0
    finally:
        os.close(reading)
        os.close(writing)


async def test_two_servers_on_one_store(tmp_path: Path, upstream: Upstream) -> None:
    """K8: the second is refused, and told which process holds the store."""
    config = write(tmp_path, upstream)
    async with served(config) as one:
        with pytest.raises(AssertionError) as refused:
            async with served(config):
                pass
        assert str(one.process.pid) in str(refused.value)
        one.tell(signal.SIGINT)
        assert await one.end() == 0


async def test_workers(tmp_path: Path, upstream: Upstream) -> None:
    """Several workers serve one port and one store, reload, and stop on one signal."""
    upstream.will(whole(answers("chat")))
    async with served(write(tmp_path, upstream, workers=2)) as one, client(one.url) as http:
        told: list[Any] = [
            (await http.post("/v1/chat/completions", content=json.dumps(asks("chat")))).status_code
            for _ in range(4)
        ]
        assert told == [200] * 4
        one.tell(signal.SIGTERM)
        assert await one.end() == 0


def test_a_port_that_is_taken() -> None:
    """The message names the address and the flag that chooses another."""
    sock = listen("127.0.0.1", 0)
    sock.listen()
    try:
        port = sock.getsockname()[1]
        assert address(sock, "127.0.0.1") == f"http://127.0.0.1:{port}"
        with pytest.raises(ConfigError, match=rf"127\.0\.0\.1:{port} .*--port"):
            listen("127.0.0.1", port)
    finally:
        sock.close()


def test_a_port_that_is_none() -> None:
    """A number beyond the last port is no failure of ours."""
    with pytest.raises(ConfigError, match="70000"):
        listen("127.0.0.1", 70000)
