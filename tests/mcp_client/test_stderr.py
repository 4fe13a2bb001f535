"""Standard error of MCP servers in the log."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from refdesk.mcp_client.stderr import LineLog, stderr_pipe
from refdesk.testing.fakes import FakeClock


def line_log(clock: FakeClock | None = None, per_minute: int = 3) -> LineLog:
    return LineLog(
        "notes",
        per_minute=per_minute,
        clock=clock or FakeClock(),
        mask=lambda text: text.replace("hidden", "••••"),
    )


def lines_of(logs: list[dict[str, object]]) -> list[object]:
    return [log.get("line", log.get("lines")) for log in logs]


@settings(max_examples=30)
@given(st.lists(st.integers(0, 40)))
def test_cuts(cuts: list[int]) -> None:
    """Lines are the same, however their bytes come; secrets and controls are out."""
    data = "one\n\nzwei ä\nhidden key\x1b[0m\nlast".encode()
    with capture_logs() as logs:
        log = line_log(per_minute=9)
        places = sorted({0, *cuts, len(data)})
        for start, end in itertools.pairwise(places):
            log.feed(data[start:end])
        log.end()
    assert lines_of(logs) == ["one", "zwei ä", "•••• key [0m", "last"]
    assert {log["server"] for log in logs} == {"notes"}


def test_flood() -> None:
    """So many lines a minute are logged; the others are counted, and said later."""
    clock = FakeClock()
    with capture_logs() as logs:
        log = line_log(clock)
        log.feed(b"a\n" * 5)
        clock.advance(61)
        log.feed(b"b\n")
        log.feed(b"b\n" * 4)
        log.end()
    assert lines_of(logs) == ["a", "a", "a", 2, "b", "b", "b", 2]


def test_endless_line() -> None:
    """A line without end costs no memory, and is cut in the log."""
    with capture_logs() as logs:
        log = line_log()
        for _ in range(1000):
            log.feed(b"x" * 1000)
        assert len(log._rest) <= 4000
        log.end()
    [line] = lines_of(logs)
    assert isinstance(line, str)
    assert len(line) == 1000


@pytest.mark.parametrize("wait", [False, True])
async def test_pipe(wait: bool) -> None:
    """What is written to the pipe is logged, also what was written at the very end."""
    read = asyncio.Event()

    class Log(LineLog):
        def feed(self, data: bytes) -> None:
            super().feed(data)
            read.set()

    lines = Log("notes", per_minute=3, clock=FakeClock(), mask=str)
    with capture_logs() as logs:
        async with stderr_pipe(lines) as target:
            target.write("hello\nthere")
            target.flush()
            if wait:
                async with asyncio.timeout(5):
                    await read.wait()
    assert lines_of(logs) == ["hello", "there"]
