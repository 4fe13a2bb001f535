"""Many open streams at once: what each costs in memory, and whether its events arrive as sent."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from servers import Running

_EVENT = re.compile(rb'"number":(\d+),"sent_us":"(\d+)"')
_EVENTS = 100
"""How many the upstream sends in a stream."""


@dataclass
class Arrival:
    """How the events of some streams arrived."""

    streams: int = 0
    events: int = 0
    faults: list[str] = field(default_factory=list)
    late_ms: list[float] = field(default_factory=list)

    def late(self, share: float) -> float:
        """Return by how much that share of all events was late at most, in milliseconds."""
        ordered = sorted(self.late_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def read_paced(port: int, body: Path, number: int) -> Arrival:
    """Read streams to their ends, side by side; every event is looked at as it comes."""
    return asyncio.run(_read_paced(port, _model(body, "bench-paced"), number))


def memory_per_stream_kib(server: Running, body: Path, number: int) -> float:
    """Open streams that hardly move, and return what each adds to the server's memory."""
    return asyncio.run(_memory(server, _model(body, "bench-slow"), number))


async def _read_paced(port: int, body: bytes, number: int) -> Arrival:
    arrival = Arrival(streams=number)
    await asyncio.gather(*(_read_one(port, body, arrival) for _ in range(number)))
    return arrival


async def _read_one(port: int, body: bytes, arrival: Arrival) -> None:
    reader, writer = await _ask(port, body)
    seen, rest = 0, b""
    try:
        async with asyncio.timeout(60):
            while data := await reader.read(65536):
                now = time.monotonic_ns() // 1000
                rest += data
                read = 0
                for found in _EVENT.finditer(rest):
                    number, sent = map(int, found.groups())
                    if number != seen:
                        arrival.faults.append(f"event {number} came in the place of {seen}")
                    seen = number + 1
                    arrival.events += 1
                    arrival.late_ms.append((now - sent) / 1000)
                    read = found.end()
                rest = rest[read:]
                if rest.endswith(b"0\r\n\r\n"):
                    break
    finally:
        writer.close()
    if seen != _EVENTS:
        arrival.faults.append(f"a stream ended after {seen} of {_EVENTS} events")


async def _memory(server: Running, body: bytes, number: int) -> float:
    port = server.server.port
    await _open_and_close(port, body, 8)  # what the first streams build once is not theirs
    before = server.memory_kib()
    opened = [await _open(port, body) for _ in range(number)]
    after = server.memory_kib()
    for writer in opened:
        writer.close()
    return (after - before) / number


async def _open_and_close(port: int, body: bytes, number: int) -> None:
    for writer in [await _open(port, body) for _ in range(number)]:
        writer.close()
    await asyncio.sleep(0.5)


async def _open(port: int, body: bytes) -> asyncio.StreamWriter:
    """Open a stream, and wait for its first event."""
    reader, writer = await _ask(port, body)
    async with asyncio.timeout(30):
        await reader.readuntil(b'"number":0')
    return writer


async def _ask(port: int, body: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = (
        "POST /v1/chat/completions HTTP/1.1",
        "host: 127.0.0.1",
        "authorization: Bearer sk-bench",
        "content-type: application/json",
        f"content-length: {len(body)}",
    )
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    return reader, writer


def _model(body: Path, name: str) -> bytes:
    return body.read_bytes().replace(b'"bench"', f'"{name}"'.encode(), 1)
