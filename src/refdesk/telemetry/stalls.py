"""
What holds an event loop up.

The loop beats 20 times a second.  A thread looks whether the beat is late, and if so at what the
loop's thread is running; the beat that comes at last tells for how long.  Requests pay nothing.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Final

import structlog

STALL_S: Final = 0.05
"""A beat that is later than this was held up."""
BEAT_S: Final = 0.05
_LOOK_S: Final = 0.025
_SUSPECT_S: Final = 0.02
"""From this on the thread looks, so that what holds up for `STALL_S` is seen at least once."""
_TELL_EVERY_S: Final = 60.0
_MOST_PLACES: Final = 64

_LOOP: Final = frozenset({"_run", "_run_once", "run", "run_forever", "run_until_complete"})
"""Functions of asyncio and uvloop that run the steps of a loop."""

OUTSIDE: Final = "outside"
"""No code of Refdesk ran: the machine had no time for the process, or a library's timer took it."""
LOAD: Final = "load"
"""No step took so long, but many waited for each other."""
OTHER: Final = "other"
"""Places beyond the number that is told apart."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk")


@dataclass(frozen=True, slots=True)
class Stalls:
    """How often and for how long one place held the loop up."""

    number: int = 0
    longest_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Sample:
    """What the loop's thread was seen to run."""

    place: str
    """The innermost function of Refdesk: ``refdesk.wires.document:Document.read``."""
    step: int = 0
    """Which step of the loop it belongs to."""


class _Seen:
    """What was seen to run while one beat was late."""

    def __init__(self, due: float) -> None:
        self.due = due
        self._looks: Counter[int] = Counter()
        self._places: dict[int, str] = {}

    def add(self, sample: Sample) -> None:
        """Take what one look found."""
        if len(self._looks) < _MOST_PLACES or sample.step in self._looks:
            self._looks[sample.step] += 1
            self._places.setdefault(sample.step, sample.place)

    def place(self) -> str:
        """
        Return what is to blame: the step that was seen most often, the first one of several.

        Where each of three looks or more found another step, none of them took long.
        """
        steps = self._looks.most_common(1)
        if not steps:
            return OUTSIDE
        step, looks = steps[0]
        return LOAD if looks == 1 and len(self._looks) > 2 else self._places[step]


class LoopWatch:
    """
    Watches one event loop.

    Args:
        look: Returns what the loop's thread runs; by default its stack is looked at.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        *,
        look: Callable[[], Sample] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._thread_id = threading.get_ident()
        self._look = look or self._sample
        self._clock = clock
        self._due = clock() + BEAT_S
        self._seen = _Seen(0.0)
        self._found: dict[str, Stalls] = {}
        self._untold: dict[str, Stalls] = {}
        self._told = float("-inf")
        self._lock = threading.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def found(self) -> dict[str, Stalls]:
        """Return what held the loop up since the start, by place."""
        with self._lock:
            return dict(self._found)

    # On the loop

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to watch the loop of this thread."""
        self._thread_id = threading.get_ident()
        self._due = self._clock() + BEAT_S
        self._go_on(loop)
        self._thread = threading.Thread(target=self._watch, name="loop watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching."""
        self._stopping.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._thread is not None:
            self._thread.join()

    def _go_on(self, loop: asyncio.AbstractEventLoop) -> None:
        self.beat()
        self._timer = loop.call_later(BEAT_S, self._go_on, loop)

    def beat(self) -> None:
        """Say that the loop goes on."""
        now = self._clock()
        late = now - self._due
        if late >= STALL_S:
            self._take(late)
        self._due = now + BEAT_S

    def _take(self, seconds: float) -> None:
        with self._lock:
            seen = self._seen
            place = seen.place() if seen.due == self._due else OUTSIDE
            for table in (self._found, self._untold):
                known = place if place in table or len(table) < _MOST_PLACES else OTHER
                before = table.get(known, Stalls())
                table[known] = Stalls(before.number + 1, max(before.longest_s, seconds))

    # On the thread

    def _watch(self) -> None:
        while not self._stopping.wait(_LOOK_S):
            self.check()

    def check(self) -> None:
        """Look at what runs if the beat is late, and log what held the loop up."""
        now, due = self._clock(), self._due
        if now - due >= _SUSPECT_S:
            sample = self._look()
            with self._lock:
                if self._seen.due != due:
                    self._seen = _Seen(due)
                self._seen.add(sample)
        if self._untold and now - self._told >= _TELL_EVERY_S:
            self._told = now
            with self._lock:
                found, self._untold = self._untold, {}
            for place, stalls in found.items():
                _log.warning(
                    "the event loop was held up",
                    where=place,
                    times=stalls.number,
                    longest_s=round(stalls.longest_s, 3),
                )

    def _sample(self) -> Sample:
        frame = sys._current_frames().get(self._thread_id)
        return sample_of(frame)


def sample_of(frame: FrameType | None) -> Sample:
    """Return what a stack says, of which this is the innermost frame."""
    place = OUTSIDE
    step = 0
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith(("asyncio.", "uvloop")) and frame.f_code.co_name in _LOOP:
            break  # below are the loop itself, and what started it
        if place == OUTSIDE and module.startswith("refdesk."):
            place = f"{module}:{frame.f_code.co_qualname}"
        step = id(frame)
        frame = frame.f_back
    return Sample(place, step)
