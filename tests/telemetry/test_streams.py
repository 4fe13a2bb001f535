"""Streams that never make their writer wait."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from refdesk.telemetry.streams import Outlet


class Pipe:
    """A pipe, its writing end as a text stream."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        self.stream = io.TextIOWrapper(
            io.FileIO(self.writing, "w", closefd=False), encoding="utf-8"
        )
        self.filled = 0

    def fill(self) -> None:
        """Write until it takes no more."""
        os.set_blocking(self.writing, False)
        try:
            while True:
                self.filled += os.write(self.writing, b"x" * 1024)
        except BlockingIOError:
            os.set_blocking(self.writing, True)

    def empty(self) -> None:
        """Read what `fill` wrote."""
        while self.filled:
            self.filled -= len(os.read(self.reading, self.filled))

    def close(self) -> None:
        """Close both ends."""
        for end in (self.reading, self.writing):
            with contextlib.suppress(OSError):
                os.close(end)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """A pipe for one test."""
    one = Pipe()
    yield one
    one.close()


def test_lines_come_in_order(pipe: Pipe) -> None:
    """What is written comes out as it was, whatever the pieces were."""
    outlet = Outlet(pipe.stream)

    outlet.write("one\ntw")
    outlet.write("o\n")
    print("three, ü", file=outlet, flush=True)
    outlet.write("no line end")

    assert outlet.drain(5)
    assert os.read(pipe.reading, 1000) == "one\ntwo\nthree, ü\nno line end".encode()
    assert outlet.dropped == 0


@pytest.mark.parametrize("blocking", [True, False])
def test_a_full_pipe(pipe: Pipe, blocking: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A writer goes on at once; what was within the bound comes when somebody reads."""
    pipe.fill()
    os.set_blocking(pipe.writing, blocking)
    outlet = Outlet(pipe.stream, max_waiting=1000)

    for number in range(200):
        outlet.write(f"line {number:04d}\n")
    assert not outlet.drain(0)
    assert outlet.dropped == 100

    pipe.empty()
    assert outlet.drain(5)
    lines = os.read(pipe.reading, 10_000).decode().splitlines()
    assert lines == [f"line {number:04d}" for number in range(100)]

    with caplog.at_level(logging.WARNING, "refdesk"):
        outlet.write("again\n")
        assert outlet.drain(5)
    assert os.read(pipe.reading, 100) == b"again\n"
    assert "100 log lines were dropped" in caplog.text


def test_a_line_that_is_too_long(pipe: Pipe) -> None:
    """A line longer than the bound is dropped whole; the next one comes."""
    outlet = Outlet(pipe.stream, max_waiting=100)

    outlet.write("x" * 1000 + "\n")
    outlet.write("short\n")

    assert outlet.drain(5)
    assert os.read(pipe.reading, 100) == b"short\n"
    assert outlet.dropped == 1


def test_nobody_at_the_other_end(pipe: Pipe) -> None:
    """A reader that is gone costs lines, and is no failure."""
    os.close(pipe.reading)
    outlet = Outlet(pipe.stream)

    outlet.write("one\ntwo\n")

    assert outlet.drain(5)
    assert outlet.dropped == 2


def test_many_writers(pipe: Pipe) -> None:
    """Lines of several threads are not mixed."""
    outlet = Outlet(pipe.stream)

    def work(name: str) -> None:
        for number in range(50):
            print(f"{name} {number}", file=outlet)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert outlet.drain(5)
    lines = os.read(pipe.reading, 100_000).decode().splitlines()
    assert sorted(lines) == sorted(f"{name} {number}" for name in "abcd" for number in range(50))


def test_a_process() -> None:
    """Prints, warnings, tracebacks and logs of a process and of its fork all come through."""
    code = """if True:
        import os, sys, warnings
        from refdesk.telemetry import logs, streams
        streams.install()
        logs.set_up(json=True)
        import structlog
        print("on stdout")
        warnings.warn("a warning")
        pid = os.fork()
        if not pid:
            structlog.get_logger("refdesk").info("in the fork")
            streams.drain()
            os._exit(0)
        os.waitpid(pid, 0)
        structlog.get_logger("refdesk").info("in the process")
        raise ValueError("a traceback")
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert done.stdout == "on stdout\n"
    for said in ("a warning", "in the fork", "in the process", "ValueError: a traceback"):
        assert done.stderr.count(said) == 1
