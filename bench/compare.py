"""
Refdesk beside nginx and LiteLLM, in one run, for each second of CPU.

    python compare.py --nginx PROGRAM --litellm PROGRAM [--quick] [--gate goals.json]

All are visited in turn, round after round, so that a slow hour of the machine hits all alike; the
table shows medians.  Figures of one run may be compared with each other, and with nothing else.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from statistics import median

import bodies
from load import Case, Samples, measure, wrk
from servers import BUILD, Running, Server, litellm, nginx, refdesk, running, upstream
from streams import Arrival, memory_per_stream_kib, read_paced

MESSAGES = "/v1/messages"
CASES = (
    Case(who="direct", what="small", body="small"),
    Case(who="direct", what="small, 1 connection", body="small", connections=1),
    Case(who="direct", what="streamed", body="small-stream"),
    Case(who="nginx", what="small", body="small"),
    Case(who="nginx", what="small, 1 connection", body="small", connections=1),
    Case(who="nginx", what="big (62 KB)", body="big"),
    Case(who="nginx", what="streamed", body="small-stream"),
    Case(who="refdesk", what="small", body="small"),
    Case(who="refdesk", what="small, 1 connection", body="small", connections=1),
    Case(who="refdesk", what="big (62 KB)", body="big"),
    Case(who="refdesk", what="streamed", body="small-stream"),
    Case(who="refdesk", what="Messages, passed", body="messages", path=MESSAGES),
    Case(who="refdesk", what="Messages, searched", body="search", path=MESSAGES),
    Case(who="refdesk", what="Messages, streamed", body="messages-stream", path=MESSAGES),
    Case(who="refdesk", what="Messages, searched, streamed", body="search-stream", path=MESSAGES),
    Case(who="litellm", what="small", body="small"),
)
STREAMS = 100
SECONDS = {"litellm": 4.0}
"""Where it is not that of all others: a slow server gives too few answers in two."""


class Run:
    """All that is measured, round by round."""

    def __init__(self, servers: list[Server], *, rounds: int, seconds: float) -> None:
        self.samples = {case.name: Samples() for case in CASES}
        self.starts: dict[str, list[float]] = {server.name: [] for server in servers}
        self.memory: list[float] = []
        self.arrivals: list[Arrival] = []
        self._servers = servers
        self._rounds = rounds
        self._seconds = seconds
        self._bodies = bodies.write(BUILD / "bodies")

    def go(self) -> None:
        """Measure."""
        with upstream():
            for number in range(1, self._rounds + 1):
                self._take("direct", None, number)
                for server in self._servers:
                    with running(server) as it:
                        self.starts[server.name].append(it.started_s)
                        if server.name == "refdesk":
                            # First, while its memory holds nothing that could be used again.
                            self._look_at_streams(it)
                        self._take(server.name, it, number)

    def _take(self, who: str, server: Running | None, number: int) -> None:
        cases = [case for case in CASES if case.who == who]
        for case in cases:
            body = self._bodies[case.body]
            print(f"round {number} of {self._rounds}: {case.name}", file=sys.stderr, flush=True)
            if server:
                wrk(server.server.port, case.path, 8, 1, body)  # what is built at first use
            seconds = max(self._seconds, SECONDS.get(who, 0.0))
            self.samples[case.name].taken.append(measure(case, body, seconds, server))

    def _look_at_streams(self, server: Running) -> None:
        body = self._bodies["small-stream"]
        self.memory.append(memory_per_stream_kib(server, body, STREAMS))
        self.arrivals.append(read_paced(server.server.port, body, STREAMS))

    # What came of it

    def table(self) -> str:
        """Return the medians as a Markdown table."""
        lines = [
            "| | requests/s | for each CPU-second | p50 ms | p99 ms |",
            "| --- | ---: | ---: | ---: | ---: |",
        ]
        for name, samples in self.samples.items():
            if not samples.taken:
                continue
            per_cpu = samples.median("per_cpu_s")
            lines.append(
                f"| {name} | {samples.median('per_s'):,.0f} | "
                f"{f'{per_cpu:,.0f}' if per_cpu else '–'} | "
                f"{samples.median('p50_ms'):.2f} | {samples.median('p99_ms'):.2f} |"
            )
        return "\n".join(lines)

    def notes(self) -> list[str]:
        """Return what is no rate: times, memory, the order of events."""
        one = "small, 1 connection"
        direct = self.samples[f"direct: {one}"].median("p50_ms")
        notes = [
            f"added at one connection (p50): {who} "
            f"{self.samples[f'{who}: {one}'].median('p50_ms') - direct:.2f} ms"
            for who in ("nginx", "refdesk")
            if self.samples[f"{who}: {one}"].taken
        ]
        notes += [
            f"start to first answer: {name} {median(times):.2f} s"
            for name, times in self.starts.items()
            if times
        ]
        if self.memory:
            notes.append(f"memory for each open stream: {median(self.memory):.0f} KiB")
        if self.arrivals:
            events = sum(each.events for each in self.arrivals)
            late = [median(each.late(share) for each in self.arrivals) for share in (0.5, 0.99)]
            wrong = sum(len(each.faults) for each in self.arrivals)
            notes.append(
                f"{STREAMS} paced streams at once: {events:,} events, {wrong} missing or out of "
                f"order; on their way {late[0]:.1f} ms (p50), {late[1]:.1f} ms (p99)"
            )
        return notes

    def ratios(self) -> dict[str, tuple[str, float]]:
        """Return the figures that goals are set for: by name, as a line and as a number."""

        def per_cpu(name: str) -> float:
            samples = self.samples[name]
            return samples.median("per_cpu_s") if samples.taken else 0.0

        ours = per_cpu("refdesk: small")
        found: dict[str, tuple[str, float]] = {}
        for what, label in (
            ("small", "pass-through"),
            ("big (62 KB)", "pass-through, 62 KB"),
            ("streamed", "pass-through, streamed"),
        ):
            if base := per_cpu(f"nginx: {what}"):
                ratio = per_cpu(f"refdesk: {what}") / base
                found[f"{label} against nginx"] = (f"{label}: {ratio:.2f} of nginx", ratio)
        if base := per_cpu("litellm: small"):
            ratio = ours / base
            found["pass-through against LiteLLM"] = (f"pass-through: {ratio:.0f} x LiteLLM", ratio)
        for passed, searched, label in (
            ("Messages, passed", "Messages, searched", "searched"),
            ("Messages, streamed", "Messages, searched, streamed", "searched, streamed"),
        ):
            if base := per_cpu(f"refdesk: {searched}"):
                ratio = per_cpu(f"refdesk: {passed}") / base
                found[f"{label} against passed"] = (
                    f"{label}: {ratio:.1f} x a passed request",
                    ratio,
                )
        return found

    def faults(self) -> list[str]:
        """Return why the run does not count."""
        faults = [
            f"{name}: {fault}" for name, samples in self.samples.items() for fault in samples.faults
        ]
        faults += [f"streams: {fault}" for each in self.arrivals for fault in each.faults[:3]]
        # A stream's events cost the upstream and wrk about what they cost a proxy, so this holds
        # for whole answers only; what is counted for each CPU-second does not depend on it.
        direct = self.samples["direct: small"].median("per_s")
        for name, samples in self.samples.items():
            if samples.taken and not name.startswith("direct") and name.endswith(": small"):
                best = samples.median("per_s")
                if direct < 2 * best:
                    faults.append(
                        f"{name} gives {best:,.0f} requests/s and the upstream itself "
                        f"{direct:,.0f}: the load, not the server, may be what is measured"
                    )
        return faults


def missed(goals: dict[str, dict[str, float]], ratios: dict[str, tuple[str, float]]) -> list[str]:
    """Return the goals that were not reached, as sentences."""
    found: list[str] = []
    for name, goal in goals.items():
        if name not in ratios:
            found.append(f"{name} was not measured")
            continue
        line, ratio = ratios[name]
        if ratio < goal.get("at_least", ratio):
            found.append(f"{line}; the goal is at least {goal['at_least']:g}")
        if ratio > goal.get("at_most", ratio):
            found.append(f"{line}; the goal is at most {goal['at_most']:g}")
    return found


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nginx", help="its program; without one it is left out")
    parser.add_argument("--litellm", help="its program; without one it is left out")
    parser.add_argument("--quick", action="store_true", help="one round of one second each")
    parser.add_argument("--rounds", type=int, help="how many; 3 if not given")
    parser.add_argument("--seconds", type=float, help="for each case; 2 if not given")
    parser.add_argument("--gate", type=Path, help="goals; a missed one makes the exit status 1")
    words = parser.parse_args()
    servers = [refdesk()]
    if words.nginx:
        servers.insert(0, nginx(words.nginx))
    if words.litellm:
        servers.append(litellm(words.litellm))
    run = Run(
        servers,
        rounds=words.rounds or (1 if words.quick else 3),
        seconds=words.seconds or (1.0 if words.quick else 2.0),
    )
    try:
        run.go()
    finally:
        for folder in BUILD.glob("refdesk-*"):
            shutil.rmtree(folder, ignore_errors=True)
    ratios = run.ratios()
    print(run.table())
    print()
    print(*run.notes(), sep="\n")
    status = 0
    if faults := run.faults():
        status = 1
        print("\nThis run does not count:")
        print(*(f"- {fault}" for fault in faults), sep="\n")
    if words.gate:
        goals = json.loads(words.gate.read_text())
        if failed := missed(goals, ratios):
            status = 1
            print("\nMissed:")
            print(*(f"- {line}" for line in failed), sep="\n")
    print()
    print(*(line for line, _ in ratios.values()), sep="\n")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
