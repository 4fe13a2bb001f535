"""Load from wrk, and whether what it measured may be believed."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from servers import HERE, LOAD_CORE, UPSTREAM_PORT, Running, get

_RESULT = re.compile(r"^RESULT (\d+) (\d+) (\S+) (\S+) (\d+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One kind of request, and who is asked."""

    who: str
    what: str
    body: str
    """The name of its file."""
    path: str = "/v1/chat/completions"
    connections: int = 16
    kept: bool = True
    """Whether the server has to keep its connections to the upstream."""

    @property
    def name(self) -> str:
        """How it stands in the table."""
        return f"{self.who}: {self.what}"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What one run of wrk gave."""

    per_s: float
    per_cpu_s: float
    p50_ms: float
    p99_ms: float
    faults: tuple[str, ...]
    """Why the run does not count."""


@dataclass
class Samples:
    """All runs of a case."""

    taken: list[Sample] = field(default_factory=list)

    def median(self, name: str) -> float:
        """Return the median of a figure over the runs."""
        return float(median(getattr(sample, name) for sample in self.taken))

    @property
    def faults(self) -> list[str]:
        """What was wrong with any of them."""
        return [fault for sample in self.taken for fault in sample.faults]


def measure(case: Case, body: Path, seconds: float, server: Running | None) -> Sample:
    """Put a server under load; None: the upstream itself, whose own time is not told."""
    port = server.server.port if server else UPSTREAM_PORT
    before, cpu = _upstream(), server.cpu_s() if server else 0.0
    requests, micros, p50, p99, errors = wrk(port, case.path, case.connections, seconds, body)
    used = server.cpu_s() - cpu if server else 0.0
    after = _upstream()
    faults: list[str] = []
    if errors:
        faults.append(f"wrk saw {errors} errors")
    if not requests:
        faults.append("nothing was answered")
    reached = after["requests"] - before["requests"]
    # What is under way at either end of the time is counted by one of the two only.
    slack = 0.02 * requests + 2 * case.connections + 8
    if abs(reached - requests) > slack:
        faults.append(f"{requests} requests were answered, and the upstream saw {reached}")
    # One that opens a connection for each request answers as well, and at half the speed.
    opened = after["connections"] - before["connections"]
    if server and case.kept and opened > max(2 * case.connections + 8, reached // 20):
        faults.append(f"the upstream saw {opened} new connections in {reached} requests")
    return Sample(
        per_s=requests / (micros / 1e6),
        per_cpu_s=requests / used if used > 0.05 else 0.0,
        p50_ms=p50 / 1000,
        p99_ms=p99 / 1000,
        faults=tuple(faults),
    )


def wrk(
    port: int, path: str, connections: int, seconds: float, body: Path
) -> tuple[int, int, float, float, int]:
    """Run wrk: requests, microseconds, p50 and p99 in microseconds, errors."""
    # wrk takes whole seconds only.
    command = ["taskset", "-c", LOAD_CORE, os.environ.get("WRK", "wrk"), "-t1"]
    command += [f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "20s", "--latency"]
    command += ["-s", str(HERE / "post.lua"), f"http://127.0.0.1:{port}{path}"]
    done = subprocess.run(
        command,
        env=os.environ | {"BODY": str(body)},
        capture_output=True,
        text=True,
        timeout=seconds + 60,
        check=False,
    )
    found = _RESULT.search(done.stdout)
    if found is None:
        raise SystemExit(f"wrk gave no result: {(done.stderr or done.stdout).strip()[:500]}")
    requests, micros, p50, p99, errors = found.groups()
    return int(requests), int(micros), float(p50), float(p99), int(errors)


def _upstream() -> dict[str, int]:
    counts: dict[str, int] = json.loads(get(UPSTREAM_PORT, "/stats")[1])
    return counts
