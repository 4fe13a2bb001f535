"""What is kept, for how long, and who shares a flight."""

from __future__ import annotations

import asyncio

import pytest

from refdesk.errors import SearchError
from refdesk.testing.fakes import FakeClock
from refdesk.web.cache import Cache


def cache_of(clock: FakeClock | None = None, **bounds: int) -> Cache[str]:
    ttl_s = bounds.pop("ttl_s", 100)
    return Cache(ttl_s=ttl_s, size_of=len, clock=clock or FakeClock(), **bounds)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class Work:
    """Something that takes as long as the test wants."""

    def __init__(self) -> None:
        self.begun = 0
        self.cancelled = 0
        self.done = asyncio.Event()
        self.error: Exception | None = None

    async def __call__(self) -> str:
        self.begun += 1
        try:
            await self.done.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            await asyncio.sleep(0)  # cleaning up takes a moment
            raise
        if self.error:
            raise self.error
        return "found"


def test_lives_for_its_time() -> None:
    """A value lives for the life time, one kept briefly for a tenth of it."""
    clock = FakeClock()
    cache = cache_of(clock)
    cache.keep("a", "full")
    cache.keep("b", "", brief=True)
    clock.advance(9.9)
    assert cache.look("b") == ""
    clock.advance(0.2)
    assert cache.look("b") is None
    clock.advance(89.8)
    assert cache.look("a") == "full"
    clock.advance(0.2)
    assert cache.look("a") is None
    assert (cache.counts.hits, cache.counts.misses) == (2, 2)
    assert cache.counts.entries == cache.counts.size_bytes == 0


def test_bounded_in_entries() -> None:
    """The longest unused value goes first."""
    cache = cache_of(max_entries=2)
    cache.keep("a", "1")
    cache.keep("b", "2")
    cache.look("a")
    cache.keep("c", "3")
    assert [cache.look(key) for key in "abc"] == ["1", None, "3"]


def test_bounded_in_bytes() -> None:
    """The bytes kept never exceed the bound, and what could never fit is not kept."""
    cache = cache_of(max_bytes=10)
    cache.keep("a", "x" * 6)
    cache.keep("b", "x" * 6)
    assert cache.look("a") is None
    assert cache.counts.size_bytes == 6
    cache.keep("c", "x" * 11)
    assert cache.look("c") is None
    cache.keep("b", "x" * 3)
    assert cache.counts.size_bytes == 3


def test_switched_off() -> None:
    """A life time of 0 keeps nothing, and hides what was kept before."""
    cache = cache_of()
    cache.keep("a", "1")
    cache.ttl_s = 0
    assert cache.look("a") is None
    cache.keep("b", "2")
    cache.ttl_s = 100
    assert cache.look("b") is None


def test_clear() -> None:
    """Clearing forgets everything."""
    cache = cache_of()
    cache.keep("a", "1")
    cache.clear()
    assert cache.look("a") is None
    assert cache.counts.size_bytes == 0


async def test_single_flight() -> None:
    """All who ask at the same time share one piece of work; the first is told it began it."""
    cache, work = cache_of(ttl_s=0), Work()
    tasks = [asyncio.create_task(cache.share("k", work)) for _ in range(5)]
    await settle()
    assert cache.counts.flights == 1
    work.done.set()
    results = await asyncio.gather(*tasks)
    assert results == [("found", False)] + [("found", True)] * 4
    assert work.begun == 1
    assert cache.counts.flights == 0
    assert cache.counts.joined == 4


async def test_other_keys_fly_alone() -> None:
    """Different questions do not wait for each other."""
    cache, work, other = cache_of(), Work(), Work()
    waiting = asyncio.create_task(cache.share("k", work))
    other.done.set()
    assert await cache.share("l", other) == ("found", False)
    work.done.set()
    await waiting


async def test_a_failure_is_shared_and_not_kept() -> None:
    """All waiters get the error; the next one tries again."""
    cache, work = cache_of(), Work()
    work.error = SearchError("no", reason="no_results")
    tasks = [asyncio.create_task(cache.share("k", work)) for _ in range(3)]
    await settle()
    work.done.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert results == [work.error] * 3
    with pytest.raises(SearchError):
        await cache.share("k", work)
    assert work.begun == 2


async def test_one_waiter_leaves() -> None:
    """A cancelled waiter, be it the first, leaves the others their answer."""
    cache, work = cache_of(), Work()
    tasks = [asyncio.create_task(cache.share("k", work)) for _ in range(3)]
    await settle()
    tasks[0].cancel()
    await settle()
    assert tasks[0].cancelled()
    work.done.set()
    assert await asyncio.gather(*tasks[1:]) == [("found", True)] * 2
    assert work.cancelled == 0


async def test_the_last_waiter_leaves() -> None:
    """When nobody waits any longer, the work is cancelled, and has ended when they are gone."""
    cache, work = cache_of(), Work()
    tasks = [asyncio.create_task(cache.share("k", work)) for _ in range(2)]
    await settle()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert work.cancelled == 1
    assert cache.counts.flights == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_who_comes_while_a_flight_is_being_cancelled() -> None:
    """A newcomer does not wait for dying work, and its own is not forgotten when that has ended."""
    cache, dying, fresh = cache_of(), Work(), Work()
    first = asyncio.create_task(cache.share("k", dying))
    await settle()
    first.cancel()
    await asyncio.sleep(0)
    second = asyncio.create_task(cache.share("k", fresh))
    await settle()
    assert (dying.cancelled, fresh.begun, cache.counts.flights) == (1, 1, 1)
    fresh.done.set()
    assert await second == ("found", False)
