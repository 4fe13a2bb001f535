"""What holds an event loop up is counted, named, and told."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import MutableMapping
from types import FrameType
from typing import Any

import pytest
from structlog.testing import capture_logs

from refdesk.cli import _running
from refdesk.gateway.metrics import Metrics
from refdesk.telemetry.stalls import (
    BEAT_S,
    LOAD,
    OTHER,
    OUTSIDE,
    STALL_S,
    LoopWatch,
    Sample,
    Stalls,
    sample_of,
)


class Watched:
    """A watch whose clock and samples a test sets."""

    def __init__(self) -> None:
        self.now = 0.0
        self.runs = Sample("refdesk.a:read", 1)
        self.looks = 0
        self.watch = LoopWatch(look=self._look, clock=lambda: self.now)

    def _look(self) -> Sample:
        self.looks += 1
        return self.runs

    def beat(self, late_s: float = 0.0, *, checks: int = 1) -> None:
        """Let the next beat come so late, the thread looking some times meanwhile."""
        due = self.now + BEAT_S
        for number in range(checks):
            self.now = due + late_s * (number + 1) / (checks + 1)
            self.watch.check()
        self.now = due + late_s
        self.watch.beat()

    @property
    def found(self) -> dict[str, Stalls]:
        """What was found until now."""
        return self.watch.found()


def test_a_loop_that_goes_on() -> None:
    """Beats in time, or late by less than 50 ms, are no stalls."""
    watched = Watched()
    for late_s in (0.0, 0.01, 0.049):
        for _ in range(10):
            watched.beat(late_s)
    assert watched.found == {}


def test_nothing_is_looked_at_in_time() -> None:
    """The stack is looked at only where a beat is late."""
    watched = Watched()
    for _ in range(100):
        watched.beat(0.0, checks=2)
    assert watched.looks == 0


def test_a_stall() -> None:
    """A late beat is counted for what ran, with the longest time."""
    watched = Watched()
    watched.beat(0.2)
    watched.beat(1.5)
    watched.beat(0.06)
    watched.runs = Sample("refdesk.b:write", 2)
    watched.beat(0.3)

    found = watched.found
    assert {where: each.number for where, each in found.items()} == {
        "refdesk.a:read": 3,
        "refdesk.b:write": 1,
    }
    assert found["refdesk.a:read"].longest_s == pytest.approx(1.5)
    assert found["refdesk.b:write"].longest_s == pytest.approx(0.3)


def test_the_first_that_was_seen() -> None:
    """One step is named after the function that ran when the beat was first missed."""
    watched = Watched()
    due = watched.now + BEAT_S
    for at, place in ((0.03, "refdesk.a:first"), (0.06, "refdesk.a:second")):
        watched.runs = Sample(place, 1)
        watched.now = due + at
        watched.watch.check()
    watched.now = due + 0.1
    watched.watch.beat()

    assert list(watched.found) == ["refdesk.a:first"]


@pytest.mark.parametrize("steps", [(1, 2), (1, 1, 2), (1, 2, 1, 3), (1, 1, 2, 3, 4, 5)])
def test_what_ran_behind_it(steps: tuple[int, ...]) -> None:
    """What ran for a moment behind the step that took long is not to blame."""
    watched = Watched()
    due = watched.now + BEAT_S
    for number, step in enumerate(steps, 1):
        watched.runs = Sample(f"refdesk.a:f{step}", step)
        watched.now = due + 0.025 * number
        watched.watch.check()
    watched.now = due + 0.2
    watched.watch.beat()

    assert list(watched.found) == ["refdesk.a:f1"]


def test_many_short_steps() -> None:
    """Where other steps run at each look, no one of them is to blame: it is the load."""
    watched = Watched()
    due = watched.now + BEAT_S
    for step in (1, 2, 3):
        watched.runs = Sample(f"refdesk.a:f{step}", step)
        watched.now = due + 0.03 * step
        watched.watch.check()
    watched.now = due + 0.1
    watched.watch.beat()

    assert list(watched.found) == [LOAD]


def test_a_stall_that_was_not_seen() -> None:
    """A late beat at which nobody looked, or for which an old look stands, is nobody's."""
    watched = Watched()
    watched.beat(0.03)
    watched.beat(0.2, checks=0)
    assert list(watched.found) == [OUTSIDE]


def test_places_are_bounded() -> None:
    """Beyond 64 places all are one."""
    watched = Watched()
    for number in range(200):
        watched.runs = Sample(f"refdesk.a:f{number}", number)
        watched.beat(0.1)

    assert len(watched.found) == 65
    assert watched.found[OTHER].number == 136


def test_the_log() -> None:
    """Once a minute at most, with what was found since."""
    watched = Watched()
    lines: list[MutableMapping[str, Any]]
    with capture_logs() as lines:
        while watched.now < 119:
            watched.beat(0.2)

    assert len(lines) == 2
    assert {line["event"] for line in lines} == {"the event loop was held up"}
    assert {line["where"] for line in lines} == {"refdesk.a:read"}
    assert lines[0]["times"] == 1
    assert lines[1]["times"] == sum(each.number for each in watched.found.values()) - 1 - (
        watched.watch._untold["refdesk.a:read"].number
    )
    assert lines[1]["longest_s"] == 0.2


def code_of(module: str) -> Any:
    """Functions as if a module had them: one runs another, which calls what it is given."""
    names: dict[str, Any] = {"__name__": module}
    exec(
        "def outer(inner): return inner()\n"
        "class Reader:\n    def read(self, call): return call()\n",
        names,
    )
    return names


def here() -> FrameType:
    """The innermost frame."""
    return sys._getframe()


def test_the_name() -> None:
    """A stack is named after its innermost function of Refdesk, whatever that calls."""
    own, foreign = code_of("refdesk.wires.pretend"), code_of("json.pretend")

    found = sample_of(own["outer"](lambda: own["Reader"]().read(lambda: foreign["outer"](here))))
    assert found.place == "refdesk.wires.pretend:Reader.read"
    assert sample_of(foreign["outer"](here)).place == OUTSIDE
    assert sample_of(None) == Sample(OUTSIDE)


def test_steps() -> None:
    """Stacks of one step have it in common, and those of two have not."""
    own, loop = code_of("refdesk.a"), code_of("asyncio.events")
    exec("def _run(inner): return inner()", loop)

    def step() -> list[Sample]:
        return [sample_of(here()), own["outer"](lambda: sample_of(here()))]

    first = loop["_run"](lambda: (step(), sys._getframe()))
    second = loop["_run"](lambda: (step(), sys._getframe()))
    assert first[0][0].step == first[0][1].step
    assert first[0][0].step != second[0][0].step


async def test_a_real_loop() -> None:
    """A function that waits on the loop is found by the thread, and counted by the next beat."""
    seen = threading.Event()
    counted = asyncio.Event()

    class Seeing(LoopWatch):
        last = Sample(OUTSIDE)

        def _sample(self) -> Sample:
            if not seen.is_set():
                self.last = super()._sample()
                if self.last.place.startswith("refdesk.pretend"):
                    seen.set()
            return self.last

        def beat(self) -> None:
            super().beat()
            if self.found():
                counted.set()

    # The clock jumps when the function is seen, so that no test has to wait for a real stall.
    watch = Seeing(clock=lambda: 1000.0 if seen.is_set() else 0.1)
    watch.start(asyncio.get_running_loop())
    try:
        watch._due = 0.0
        assert code_of("refdesk.pretend")["outer"](lambda: seen.wait(10))
        async with asyncio.timeout(10):
            await counted.wait()
    finally:
        watch.stop()

    assert list(watch.found()) == ["refdesk.pretend:outer"]
    assert watch.found()["refdesk.pretend:outer"].longest_s > STALL_S


def test_metrics_and_doctor() -> None:
    """The page of metrics tells number and longest time; the doctor tells what to do."""
    metrics = Metrics()
    found: dict[str, Stalls] = {}
    metrics.stalls(lambda: found)
    assert _running.findings("") == []
    assert _running.findings("# nonsense {{{\nx y z") == []
    (well,) = _running.findings(metrics.page()[1].decode())
    assert (well.area, well.level) == ("loop", "ok")

    found |= {
        "refdesk.wires.document:Document.read": Stalls(3, 1.25),
        OUTSIDE: Stalls(7, 0.3),
        LOAD: Stalls(1, 0.06),
        "refdesk.kb:x": Stalls(1, 0.05),
    }
    page = metrics.page()[1].decode()
    assert 'refdesk_loop_stalls_total{where="outside"} 7.0' in page
    told = _running.findings(page)

    assert [each.name for each in told] == ["refdesk.wires.document:Document.read", OUTSIDE, LOAD]
    assert {each.level for each in told} == {"warning"}
    assert "3 times, for up to 1.2 s" in told[0].text
    assert "report it" in told[0].remedy
    assert "processor" in told[1].remedy
    assert "workers" in told[2].remedy
