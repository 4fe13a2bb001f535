"""The stand-ins do as they are told, and remember what was asked."""

from __future__ import annotations

import asyncio

import pytest

from refdesk.errors import EngineError
from refdesk.http import HttpRequest, HttpResponse
from refdesk.testing.fakes import HANG, FakeClock, FakeEngine, FakeFetcher, page
from refdesk.types import WebPage, WebQuery
from refdesk.web.engines import LocalEngine

QUERY = WebQuery(text="q")


async def test_answers_in_order_and_the_last_one_again() -> None:
    """Answers come in order; the last is given again and again; queries are kept."""
    engine = FakeEngine("main", page("https://a.com"), WebPage(), priority=7)
    assert isinstance(engine, LocalEngine)
    assert engine.options.priority == 7
    got = [await engine.search(QUERY, timeout_s=1) for _ in range(3)]
    assert [len(each.items) for each in got] == [1, 0, 0]
    assert engine.queries == [QUERY] * 3


async def test_errors_waits_and_silence() -> None:
    """An exception is raised, an event is waited for, and HANG lasts until cancelled."""
    gate = asyncio.Event()
    engine = FakeEngine(
        "main", EngineError("no", outcome="bad_key"), gate, page("https://a.com"), HANG
    )
    with pytest.raises(EngineError):
        await engine.search(QUERY, timeout_s=1)
    task = asyncio.create_task(engine.search(QUERY, timeout_s=1))
    await asyncio.sleep(0)
    assert engine.script.running == 1
    gate.set()
    assert (await task).items
    task = asyncio.create_task(engine.search(QUERY, timeout_s=1))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (engine.script.cancelled, engine.script.running, engine.script.peak) == (1, 0, 1)


async def test_a_fetcher_without_answers_says_so() -> None:
    """A fake that is asked for more than it was given fails the test loudly."""
    fetcher = FakeFetcher()
    request = HttpRequest(method="GET", url="https://a.com/")
    with pytest.raises(AssertionError, match="more often than it has answers"):
        await fetcher.send(request, timeout_s=2, max_bytes=3, public_only=True)
    assert (fetcher.requests, fetcher.limits) == ([request], [(2, 3)])
    fetcher = FakeFetcher(HttpResponse(status=204))
    assert (await fetcher.send(request, timeout_s=2, max_bytes=3, public_only=True)).status == 204


async def test_a_clock_that_is_told() -> None:
    """The clock moves when told, and by sleeping on it."""
    clock = FakeClock(5)
    clock.advance(1.5)
    await clock.sleep(2)
    assert (clock(), clock.sleeps) == (8.5, [2])
