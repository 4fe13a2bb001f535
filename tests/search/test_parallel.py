"""Several searches at once: all, the first good one, the first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from refdesk.search import parallel
from refdesk.search.parallel import run_all, run_any, run_race


class Jobs:
    """Jobs that end when they are told to, and know how they ended."""

    def __init__(self, count: int) -> None:
        self.gates = [asyncio.Event() for _ in range(count)]
        self.cancelled: list[int] = []

    def __iter__(self) -> Any:
        return (partial(self.run, place) for place in range(len(self.gates)))

    async def run(self, place: int) -> int:
        try:
            await self.gates[place].wait()
        except asyncio.CancelledError:
            self.cancelled.append(place)
            raise
        return place

    def release(self, *places: int) -> None:
        for place in places:
            self.gates[place].set()


def lost(place: int) -> int:
    return -1 - place


def others() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
async def _nothing_is_left() -> Any:
    yield
    assert not others() - {task for task in others() if task.done()}


async def test_all_keeps_the_order() -> None:
    """Results stand in the order of the jobs, whichever ended first."""
    jobs = Jobs(3)
    running = asyncio.create_task(run_all(list(jobs), lost=lost))
    for place in (2, 0, 1):
        jobs.release(place)
        await asyncio.sleep(0)

    assert await running == [0, 1, 2]


@pytest.mark.parametrize("run", [run_all, partial(run_any, good=bool), run_race])
async def test_nothing_to_do(run: Callable[..., Coroutine[Any, Any, list[int]]]) -> None:
    """Without jobs there are no results."""
    assert await run([], lost=lost) == []


async def test_any_returns_at_the_first_good() -> None:
    """What ended before the first good one stays; the rest is cancelled, and its slots None."""
    jobs = Jobs(4)
    running = asyncio.create_task(run_any(list(jobs), lambda place: place == 2, lost=lost))
    await asyncio.sleep(0)
    jobs.release(1)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not running.done()
    jobs.release(2)

    assert await running == [None, 1, 2, None]
    assert sorted(jobs.cancelled) == [0, 3]
    assert not others()


async def test_any_without_a_good_one() -> None:
    """If none is good, all slots are filled."""
    jobs = Jobs(2)
    jobs.release(0, 1)

    assert await run_any(list(jobs), lambda _: False, lost=lost) == [0, 1]


async def test_race_returns_at_the_first() -> None:
    """The first that ends is the only one kept, whatever it is."""
    jobs = Jobs(3)
    jobs.release(1)

    assert await run_race(list(jobs), lost=lost) == [None, 1, None]
    assert sorted(jobs.cancelled) == [0, 2]


async def test_race_of_two_at_once() -> None:
    """Of two that end in the same turn of the loop only the first is kept."""
    jobs = Jobs(3)
    jobs.release(0, 1, 2)

    results = await run_race(list(jobs), lost=lost)

    assert results == [0, None, None]


async def test_cancelled_from_outside() -> None:
    """When the caller is cancelled, every job is, and none is left."""
    jobs = Jobs(3)
    running = asyncio.create_task(run_all(list(jobs), lost=lost))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(jobs.cancelled) == [0, 1, 2]
    assert not others()


async def test_cancelled_from_within() -> None:
    """A job whose own work was cancelled is a result, not a cancellation of the whole."""

    async def gives_up() -> int:
        raise asyncio.CancelledError

    jobs = Jobs(1)
    jobs.release(0)

    assert await run_all([gives_up, *jobs], lost=lost) == [-1, 0]


async def test_job_that_will_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that does not heed its cancellation holds nobody up, and is not forgotten."""
    monkeypatch.setattr(parallel, "GRACE_S", 0.0)
    let_go = asyncio.Event()

    async def stubborn() -> int:
        while True:
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
            raise RuntimeError("nobody is there any more")

    async def quick() -> int:
        return 7

    assert await run_race([stubborn, quick], lost=lost) == [None, 7]
    (left,) = others()
    assert parallel._leaving == {left}
    let_go.set()
    await asyncio.wait([left])
    assert not parallel._leaving


async def test_two_hundred() -> None:
    """Two hundred at once end with the slowest, and each in its slot."""
    jobs = Jobs(200)
    running = asyncio.create_task(run_all(list(jobs), lost=lost))
    jobs.release(*range(199))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not running.done()
    jobs.release(199)

    assert await running == list(range(200))
