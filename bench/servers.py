"""What is measured: how each server is started, and what it has used."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE / "build"
UPSTREAM_PORT = 19100
SERVER_CORE, LOAD_CORE = "0", "1"
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Server:
    """A program under test."""

    name: str
    port: int
    command: list[str]
    probe: str
    """A path that answers as soon as the server works."""
    environment: dict[str, str] = field(default_factory=dict)
    start_s: float = 60.0
    """How long it may take to answer."""


class Running:
    """A server that runs."""

    def __init__(self, server: Server, pid: int, started_s: float) -> None:
        self.server = server
        self.pid = pid
        self.started_s = started_s
        """From its start to its first answer."""

    def cpu_s(self) -> float:
        """Return the CPU seconds that its processes have used so far."""
        return sum(map(_cpu_s, _tree(self.pid)))

    def memory_kib(self) -> int:
        """Return the memory of its processes, what is shared counted once."""
        return sum(map(_memory_kib, _tree(self.pid)))


def nginx(program: str) -> Server:
    """Return nginx as a plain proxy."""
    prefix = BUILD / "nginx"
    prefix.mkdir(parents=True, exist_ok=True)
    command = [program, "-p", str(prefix), "-c", str(HERE / "nginx.conf")]
    return Server(name="nginx", port=19200, command=command, probe="/stats")


def refdesk() -> Server:
    """Return Refdesk as it is installed here, with an empty store."""
    data = tempfile.mkdtemp(prefix="refdesk-", dir=BUILD)
    command = [sys.executable, str(HERE / "serve.py"), "serve", "--port", "19300"]
    command += ["--config", str(HERE / "refdesk.yaml"), "--data-dir", data]
    return Server(name="refdesk", port=19300, command=command, probe="/readyz")


def litellm(program: str) -> Server:
    """Return LiteLLM's proxy with one worker, asking nothing of the network at start."""
    command = [program, "--config", str(HERE / "litellm.yaml"), "--host", "127.0.0.1"]
    command += ["--port", "19400", "--num_workers", "1"]
    return Server(
        name="litellm",
        port=19400,
        command=command,
        probe="/health/liveliness",
        environment={
            "LITELLM_LOG": "ERROR",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
        },
        start_s=240.0,
    )


@contextmanager
def upstream() -> Iterator[Running]:
    """Run the fake upstream, on the core of the load."""
    server = Server(
        name="upstream",
        port=UPSTREAM_PORT,
        command=[str(BUILD / "upstream"), str(UPSTREAM_PORT), "20", "1000"],
        probe="/stats",
    )
    with running(server, core=LOAD_CORE) as it:
        yield it


@contextmanager
def running(server: Server, *, core: str = SERVER_CORE) -> Iterator[Running]:
    """Run a server on one core, from its first answer on; it is ended when the block ends."""
    log = BUILD / f"{server.name}.log"
    environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    began = time.monotonic()
    with log.open("wb") as sink:
        process = subprocess.Popen(
            ["taskset", "-c", core, *server.command],
            stdout=sink,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment | server.environment,
            start_new_session=True,
        )
    try:
        while not _answers(server):
            if process.poll() is not None or time.monotonic() - began > server.start_s:
                raise SystemExit(f"{server.name} did not start; its log is {log}")
            time.sleep(0.01)
        yield Running(server, process.pid, time.monotonic() - began)
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(10)
        except ProcessLookupError:
            process.wait(10)
        except subprocess.TimeoutExpired:
            continue
        return


def _answers(server: Server) -> bool:
    try:
        return get(server.port, server.probe)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def get(port: int, path: str) -> tuple[int, bytes]:
    """Ask a server on loopback for a page: its status and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _tree(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := _stat(int(entry.name))):
            children.setdefault(int(stat[1]), []).append(int(entry.name))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def _stat(pid: int) -> list[str]:
    # The name in brackets may hold anything, so what counts comes after the last bracket.
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()
    except OSError:
        return []


def _cpu_s(pid: int) -> float:
    stat = _stat(pid)
    return (int(stat[11]) + int(stat[12])) / _TICK if stat else 0.0


def _memory_kib(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    found = re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0
