"""
A server under ten minutes of hostile requests, while a quiet client goes on using it.

    python hostile.py [--minutes 10] [--seed 1]

Attackers send what `attacks` makes, from a process of their own; a client asks ``/livez`` and a
searched question once a second.  At the end: no answer took longer than a second, the server is the
same process, its memory and connections are back where they were, no answer was a fault of the
server, and no key is in any file, answer or log line.  Prints one table; exit status 1 if anything
was wrong.  All traffic is on loopback, and ends by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import httpx2

HERE: Final = Path(__file__).parent
REFDESK: Final = str(Path(sys.executable).parent / "refdesk")
CANARIES: Final = {
    "upstream": "canary-upstream-0123456789abcdef",
    "engine": "canary-engine-0123456789abcdef",
}
QUESTION: Final = "When was Python 3.14 released?"
LIMIT_S: Final = 1.0
MEMORY_MB: Final = 64
"""What caches and the allocator may keep after the attack, on top of what was held before."""
SETTLE_S: Final = 90.0
"""Connections that were left open end in the server's own time."""


class Peers:
    """An upstream and an engine on loopback; the upstream cites, and now and then is hostile."""

    def __init__(self) -> None:
        self.calls = 0
        self._servers: list[asyncio.Server] = []

    @property
    def urls(self) -> list[str]:
        """The addresses of the upstream and of the engine."""
        return [f"http://127.0.0.1:{each.sockets[0].getsockname()[1]}" for each in self._servers]

    async def start(self) -> None:
        """Begin to listen."""
        for answer in (self._model, self._engine):
            self._servers.append(await asyncio.start_server(self._serve(answer), "127.0.0.1", 0))

    def stop(self) -> None:
        """Stop listening."""
        for server in self._servers:
            server.close()

    def _serve(self, answer: Any) -> Any:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError, EOFError, asyncio.LimitOverrunError):
                while head := await reader.readuntil(b"\r\n\r\n"):
                    length = 0
                    for line in head.lower().split(b"\r\n"):
                        if line.startswith(b"content-length:"):
                            length = int(line[15:])
                    await reader.readexactly(length)
                    # The quiet client gets what a well-behaved upstream says.
                    body = json.dumps(answer(hostile=b"x-mark: hostile" in head)).encode()
                    writer.write(
                        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                        b"content-length: %d\r\n\r\n" % len(body) + body
                    )
                    await writer.drain()
            writer.close()

        return serve

    def _model(self, *, hostile: bool) -> dict[str, Any]:
        self.calls += hostile
        hostile = ("[1](" * 20_000, "``a`" * 20_000, "[" * 50_000, "٣" * 1_000)
        text = "On 7 October 2025 [1]." + (
            hostile[self.calls // 5 % 4] if self.calls % 5 == 0 else ""
        )
        return {
            "id": "c_1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }

    def _engine(self, *, hostile: bool) -> dict[str, Any]:
        del hostile  # rows are hostile for all
        rows = [
            {"t": f"Python {n} <b" * 20, "u": f"https://example.com/{n}", "s": "<" * 2_000}
            for n in range(9)
        ]
        return {"hits": [{"t": "Python", "u": "https://python.org/", "s": QUESTION}, *rows]}


def config(folder: Path, upstream: str, engine: str) -> Path:
    """Write the configuration."""
    with contextlib.closing(sqlite3.connect(folder / "shop.db")) as shop:
        shop.execute("create table orders(id integer primary key, amount real)")
        shop.executemany("insert into orders values (?, ?)", [(n, n) for n in range(500)])
        shop.commit()
    path = folder / "refdesk.yaml"
    path.write_text(
        f"""
data_dir: {folder}/data
upstreams:
  local: {{wire: [messages, chat, responses], base_url: "{upstream}/v1",
           api_key: {CANARIES["upstream"]}, search: {{enabled: "on"}}}}
models:
  m: {{upstream: local}}
engines:
  main: {{type: http, url: "{engine}/", query_param: q, results: /hits,
          headers: {{x-key: {CANARIES["engine"]}}}, fields: {{title: /t, url: /u, snippet: /s}}}}
databases:
  shop: {{url: "sqlite:///{folder}/shop.db"}}
"""
    )
    return path


def make_key(path: Path, *limits: str) -> str:
    """Make a client key; return its token."""
    command = [REFDESK, "keys", "create", "--config", str(path), *limits]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@contextlib.asynccontextmanager
async def served(folder: Path, path: Path) -> AsyncIterator[tuple[subprocess.Popen[bytes], str]]:
    """Run the server; give its process and its address."""
    command = [REFDESK, "serve", "--config", str(path), "--port", "0"]
    with (folder / "stderr.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs yet
            command, stdout=subprocess.PIPE, stderr=log, cwd=folder
        )
    assert process.stdout is not None
    try:
        line = (await asyncio.to_thread(process.stdout.readline)).decode()
        yield process, line[line.index("http") :].split()[0]
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(process.wait, 60)


def resident_mb(pid: int) -> float:
    """Return the memory that a process holds."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def sockets(pid: int) -> int:
    """Return how many sockets a process holds."""
    count = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            count += str(entry.readlink()).startswith("socket:")
    return count


def held(process: subprocess.Popen[bytes]) -> tuple[float, int]:
    """Return the memory (MB) and sockets that a process holds; nothing once it has ended."""
    if process.poll() is not None:
        return 0.0, 0
    return resident_mb(process.pid), sockets(process.pid)


class Probe:
    """A quiet client: two requests a second, each with its time."""

    def __init__(self, url: str, seed: int) -> None:
        self._url = url
        self._seed = seed
        self.times: dict[str, list[float]] = {"/livez": [], "searched": []}
        self.faults: list[str] = []

    async def run(self, seconds: float) -> None:
        """Ask until the time is over."""
        until = time.monotonic() + seconds
        number = 0
        async with httpx2.AsyncClient(base_url=self._url, trust_env=False, timeout=30) as client:
            while time.monotonic() < until:
                number += 1
                began = time.monotonic()
                await asyncio.gather(self._livez(client), self._searched(client, number))
                await asyncio.sleep(max(0.0, 1.0 - (time.monotonic() - began)))

    async def once(self) -> None:
        """Ask one searched question, so that all is loaded."""
        async with httpx2.AsyncClient(base_url=self._url, trust_env=False, timeout=60) as client:
            await self._searched(client, 0)
        self.times["searched"].clear()

    async def _livez(self, client: httpx2.AsyncClient) -> None:
        await self._timed("/livez", client.get("/livez"))

    async def _searched(self, client: httpx2.AsyncClient, number: int) -> None:
        text = f"{QUESTION} ({self._seed}, {number})"
        body = {"model": "m", "messages": [{"role": "user", "content": text}]}
        answer = await self._timed(
            "searched",
            client.post("/v1/chat/completions", json=body | {"web_search_options": {}}),
        )
        if answer is not None:
            said = answer.headers.get("x-refdesk-search", "")
            if answer.status_code != 200 or not said.startswith("gateway"):
                self.faults.append(f"a searched request: {answer.status_code} {said}")

    async def _timed(self, name: str, asking: Any) -> httpx2.Response | None:
        began = time.monotonic()
        try:
            answer: httpx2.Response = await asking
        except httpx2.HTTPError as exc:
            self.faults.append(f"{name}: {type(exc).__name__}")
            return None
        finally:
            self.times[name].append(time.monotonic() - began)
        return answer


async def soak(folder: Path, minutes: float, seed: int) -> tuple[list[str], list[str]]:
    """Attack; return the table's lines, and what was wrong."""
    peers = Peers()
    await peers.start()
    path = config(folder, *peers.urls)
    limits = ((), ("--searches-per-day", "5"), ("--requests-per-minute", "30"))
    made = [make_key(path, *each) for each in limits]
    async with served(folder, path) as (process, url):
        port = int(url.rpartition(":")[2])
        probe = Probe(url, seed)
        async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=120) as client:
            await client.post("/api/v1/collections", json={"name": "hostile"})
            await client.post(
                "/api/v1/collections/hostile/documents",
                files={"file": ("a.md", b"# A\n\nThe pump stands in hall 3.\n")},
            )
            await client.post("/api/v1/collections/hostile/search", json={"query": "pump"})
        await probe.once()
        # A short attack first: what is loaded, cached or pooled under it is no leak.
        await attack(folder, port, 15.0, seed + 1, made)
        await asyncio.sleep(15)
        before = held(process)
        attacking = asyncio.ensure_future(attack(folder, port, minutes * 60, seed, made))
        await probe.run(minutes * 60)
        told = await attacking
        after = held(process)
        until = time.monotonic() + SETTLE_S
        while time.monotonic() < until and after[1] > before[1]:
            await asyncio.sleep(1)
            after = held(process)
        alive = process.poll() is None
        metrics = ""
        with contextlib.suppress(httpx2.HTTPError):
            async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
                metrics = (await client.get("/metrics")).text
    peers.stop()
    wrong = [*probe.faults, *told["faults"]]
    if not alive:
        wrong.append(f"the server ended with the status {process.returncode}")
    for name, times in probe.times.items():
        if late := [each for each in times if each > LIMIT_S]:
            wrong.append(f"{name}: {len(late)} of {len(times)} took over {LIMIT_S:g} s")
    if after[0] > before[0] + MEMORY_MB:
        wrong.append(f"memory: {before[0]:.0f} MB before, {after[0]:.0f} MB after")
    if after[1] > before[1]:
        wrong.append(f"sockets: {before[1]} before, {after[1]} after")
    wrong += leaks(folder, made, metrics + json.dumps(told))
    wrong += complaints(folder)
    lines = [f"{'':<10} {'asked':>6} {'p50 ms':>8} {'p99 ms':>8} {'longest ms':>10}"]
    for name, times in probe.times.items():
        ordered = sorted(times)
        p50, p99 = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
        lines.append(
            f"{name:<10} {len(times):>6} {p50 * 1e3:>8.1f} {p99 * 1e3:>8.1f} "
            f"{ordered[-1] * 1e3:>10.1f}"
        )
    lines += [
        "",
        f"attacks: {sum(told['counts'].values())}, by kind and answer: {told['counts']}",
        f"memory: {before[0]:.0f} MB before, {after[0]:.0f} MB after",
        f"sockets: {before[1]} before, {after[1]} after",
        *[line for line in metrics.splitlines() if line.startswith("refdesk_loop_stalls")],
    ]
    return lines, wrong


async def attack(
    folder: Path, port: int, seconds: float, seed: int, keys: list[str]
) -> dict[str, Any]:
    """Run the attackers in a process of their own; return what they saw."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(HERE / "attacks.py"),
        str(port),
        str(seconds),
        str(seed),
        *keys,
        stdout=asyncio.subprocess.PIPE,
        cwd=folder,
    )
    out, _ = await process.communicate()
    told: dict[str, Any] = json.loads(out)
    return told


def leaks(folder: Path, keys: list[str], texts: str) -> list[str]:
    """Return where a key stands that should stand nowhere."""
    secrets = {**CANARIES, **{f"client key {n}": key for n, key in enumerate(keys)}}
    found = [f"the {name} is in an answer" for name, key in secrets.items() if key in texts]
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name in ("refdesk.yaml", "store.key"):
            continue
        data = path.read_bytes()
        found += [
            f"the {name} is in {path.relative_to(folder)}"
            for name, key in secrets.items()
            if key.encode() in data
        ]
    return found


def complaints(folder: Path) -> list[str]:
    """Return the log's lines that tell of faults of the server itself."""
    log = (folder / "stderr.log").read_text(errors="replace")
    found = [
        f"log: {line[:300]}"
        for line in log.splitlines()
        if "Traceback" in line or "fault of Refdesk" in line or not line.startswith(("{", "note: "))
    ]
    return found[:20]


def main() -> int:
    """Print the table; return 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="refdesk-hostile-") as folder:
        lines, wrong = asyncio.run(soak(Path(folder), words.minutes, words.seed))
    print("\n".join(lines))
    for each in wrong:
        print(each, file=sys.stderr)
    print(f"wrong: {len(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
