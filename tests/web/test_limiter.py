"""How many searches run at once, and who gets in next."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from refdesk.errors import SearchShed
from refdesk.web.limiter import Limiter, resident_bytes


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


class Crowd:
    """Tasks that hold a place until told to go."""

    def __init__(self, limiter: Limiter) -> None:
        self.limiter = limiter
        self.inside: list[int] = []
        self.peak = 0
        self.doors: list[asyncio.Event] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def come(self, number: int) -> None:
        for _ in range(number):
            door = asyncio.Event()
            self.doors.append(door)
            self.tasks.append(asyncio.create_task(self._one(len(self.tasks), door)))
        await settle()

    async def _one(self, name: int, door: asyncio.Event) -> None:
        async with self.limiter.place():
            self.inside.append(name)
            self.peak = max(self.peak, len(self.inside))
            await door.wait()
            self.inside.remove(name)

    async def go(self, *names: int) -> None:
        for name in names:
            self.doors[name].set()
        await settle()


async def test_first_come_first_served() -> None:
    """A place that comes free goes to whoever has waited longest."""
    crowd = Crowd(Limiter(2, queue_timeout_s=60))
    await crowd.come(5)
    assert crowd.inside == [0, 1]
    await crowd.go(1)
    assert crowd.inside == [0, 2]
    await crowd.go(0, 2)
    assert crowd.inside == [3, 4]
    await crowd.go(3, 4)
    await asyncio.gather(*crowd.tasks)
    counts = crowd.limiter.counts
    assert (counts.running, counts.waiting, counts.admitted) == (0, 0, 5)


async def test_nobody_jumps_the_queue() -> None:
    """Who comes in the instant a place is given does not take it."""
    limiter = Limiter(1, queue_timeout_s=60)
    await limiter.acquire()
    first = asyncio.create_task(limiter.acquire())
    await settle()
    limiter.release()
    second = asyncio.create_task(limiter.acquire())
    await settle()
    assert first.done()
    assert not second.done()
    limiter.release()
    await second
    limiter.release()
    assert limiter.counts.running == 0


async def test_two_hundred_at_sixty_four() -> None:
    """With 200 searches at once, 64 run, and all get through."""
    crowd = Crowd(Limiter(64, queue_timeout_s=60))
    await crowd.come(200)
    assert (len(crowd.inside), crowd.limiter.counts.waiting) == (64, 136)
    await crowd.go(*range(200))
    await asyncio.gather(*crowd.tasks)
    assert crowd.peak == 64
    assert crowd.limiter.counts.admitted == 200
    assert crowd.limiter.counts.running == 0


async def test_size_changes_at_once() -> None:
    """64 → 1 → 64: a smaller size lets nobody in until few are left; a larger one, all at once."""
    crowd = Crowd(Limiter(64, queue_timeout_s=60))
    await crowd.come(64)
    crowd.limiter.resize(1)
    await crowd.come(70)
    await crowd.go(*range(63))
    assert crowd.inside == [63]
    await crowd.go(63)
    assert crowd.inside == [64]
    crowd.limiter.resize(64)
    await settle()
    assert len(crowd.inside) == 64
    await crowd.go(*range(134))
    await asyncio.gather(*crowd.tasks)
    assert crowd.limiter.counts.running == crowd.limiter.counts.waiting == 0


async def test_shed_when_the_queue_takes_too_long() -> None:
    """Whoever waits longer than the queue time-out is shed, and holds no place."""
    limiter = Limiter(1, queue_timeout_s=0.01)
    async with limiter.place():
        with pytest.raises(SearchShed, match="concurrency") as caught:
            await limiter.acquire()
        assert caught.value.reason == "queue_timeout"
        assert limiter.counts.waiting == 0
        assert limiter.counts.shed_queue == 1
    assert limiter.counts.running == 0


async def test_no_time_to_wait() -> None:
    """A queue time-out of 0 takes a free place, and waits for none."""
    limiter = Limiter(1, queue_timeout_s=0)
    assert await limiter.acquire() == 0
    with pytest.raises(SearchShed):
        await limiter.acquire()


async def test_the_search_may_have_less_time_than_the_queue() -> None:
    """The time a search has left bounds its waiting, too."""
    limiter = Limiter(1, queue_timeout_s=60)
    await limiter.acquire()
    with pytest.raises(SearchShed):
        await limiter.acquire(within_s=0)


async def test_cancelled_while_waiting() -> None:
    """Who is cancelled in the queue is out of it, and the next one gets the place."""
    crowd = Crowd(Limiter(1, queue_timeout_s=60))
    await crowd.come(3)
    crowd.tasks[1].cancel()
    await settle()
    assert crowd.limiter.counts.waiting == 1
    await crowd.go(0)
    assert crowd.inside == [2]
    await crowd.go(2)
    assert crowd.limiter.counts.running == 0


async def test_cancelled_in_the_instant_of_admission() -> None:
    """A place given to somebody who is cancelled before running goes on to the next one."""
    limiter = Limiter(1, queue_timeout_s=60)
    await limiter.acquire()
    unlucky = asyncio.create_task(limiter.acquire())
    lucky = asyncio.create_task(limiter.acquire())
    await settle()
    limiter.release()
    unlucky.cancel()
    await settle()
    assert unlucky.cancelled()
    assert lucky.done()
    limiter.release()
    assert limiter.counts.running == limiter.counts.waiting == 0


async def test_cancelled_in_the_instant_of_shedding() -> None:
    """Cancellation and time-out together lose nothing and warn of nothing."""
    limiter = Limiter(1, queue_timeout_s=0)
    await limiter.acquire()
    task = asyncio.create_task(limiter.acquire())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises((asyncio.CancelledError, SearchShed)):
        await task
    limiter.release()
    assert limiter.counts.running == limiter.counts.waiting == 0


async def test_memory_pressure() -> None:
    """Above the memory limit nothing new is admitted; below it, everything as before."""
    resident = 100 * 2**20
    limiter = Limiter(1, memory_limit_mb=99, resident=lambda: resident)
    with pytest.raises(SearchShed, match=r"100 MiB.*\(99\)") as caught:
        await limiter.acquire()
    assert caught.value.reason == "memory_pressure"
    assert limiter.counts.shed_memory == 1
    resident = 99 * 2**20
    await limiter.acquire()


def test_size_must_let_somebody_in() -> None:
    """A size that admits nobody is refused."""
    with pytest.raises(ValueError, match="give 1 or more"):
        Limiter(0)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_resident_bytes() -> None:
    """A Python process holds at least some megabytes."""
    assert resident_bytes() > 2**22
