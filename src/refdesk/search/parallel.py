"""
Several searches at once, as JavaScript's Promise has it: all, the first good one, the first.

Results stand in the order of the jobs.  When enough is known the rest is cancelled, and its slots
are None.  However a call ends, also when it is cancelled itself, none of its tasks is left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

R = TypeVar("R")

Job = Callable[[], Coroutine[Any, Any, R]]
"""What starts one search.  It does not raise: failure is a result."""

GRACE_S: Final = 1.0
"""How long a cancelled search may take to put its things in order before nobody waits for it."""

_leaving: set[asyncio.Task[Any]] = set()
"""Cancelled tasks that have not ended; the event loop itself holds them only weakly."""


async def run_all(jobs: Sequence[Job[R]], *, lost: Callable[[int], R]) -> list[R]:
    """
    Wait for all.

    Args:
        jobs: What to do.
        lost: Gives the result of a job that was cancelled from within.
    """
    slots = await _run(jobs, lost, lambda _: False)
    return [lost(place) if slot is None else slot for place, slot in enumerate(slots)]


async def run_any(
    jobs: Sequence[Job[R]], good: Callable[[R], bool], *, lost: Callable[[int], R]
) -> list[R | None]:
    """Return at the first good result; what ended before it stays.  None good: all of them."""
    return await _run(jobs, lost, good)


async def run_race(jobs: Sequence[Job[R]], *, lost: Callable[[int], R]) -> list[R | None]:
    """Return at the first result, whatever it is."""
    return await _run(jobs, lost, lambda _: True)


async def _run(
    jobs: Sequence[Job[R]], lost: Callable[[int], R], enough: Callable[[R], bool]
) -> list[R | None]:
    slots: list[R | None] = [None] * len(jobs)
    # A queue, and not asyncio.wait: that would look at all of them again each time one ends.
    ended: asyncio.Queue[int] = asyncio.Queue()
    tasks = [asyncio.create_task(job()) for job in jobs]
    for place, task in enumerate(tasks):
        task.add_done_callback(partial(_tell, ended, place))
    try:
        for _ in tasks:
            place = await ended.get()
            task = tasks[place]
            result = lost(place) if task.cancelled() else task.result()
            slots[place] = result
            if enough(result):
                break
    finally:
        await _end(task for task in tasks if not task.done())
    return slots


def _tell(ended: asyncio.Queue[int], place: int, _: asyncio.Task[Any]) -> None:
    ended.put_nowait(place)


async def _end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    ending = set(tasks)
    if not ending:
        return
    for task in ending:
        _leaving.add(task)
        task.add_done_callback(_left)
        task.cancel()
    await asyncio.wait(ending, timeout=GRACE_S)


def _left(task: asyncio.Task[Any]) -> None:
    _leaving.discard(task)
    if not task.cancelled():
        # Looked at, so that asyncio does not report what nobody wants to know.
        task.exception()
