"""Calls to one engine keep their distance."""

from __future__ import annotations

import asyncio

import pytest

from refdesk.testing.fakes import FakeClock
from refdesk.web.spacing import Crowded, Spacing


async def test_turns_are_spaced() -> None:
    """Calls start at least the interval apart, in the order they came; engines do not share it."""
    clock = FakeClock()
    spacing = Spacing(clock=clock, sleep=clock.sleep)
    starts: list[tuple[int, float]] = []

    async def call(number: int) -> None:
        await spacing.turn("main", 1.1, within_s=60)
        starts.append((number, round(clock.now - 1000, 3)))

    await asyncio.gather(*(call(number) for number in range(4)))
    assert starts == [(0, 0.0), (1, 1.1), (2, 2.2), (3, 3.3)]
    await spacing.turn("other", 1.1, within_s=0)
    assert round(clock.now - 1000, 3) == 3.3


async def test_no_interval_no_wait() -> None:
    """An engine without an interval is called at once."""
    clock = FakeClock()
    spacing = Spacing(clock=clock, sleep=clock.sleep)
    for _ in range(5):
        await spacing.turn("main", 0, within_s=0)
    assert clock.sleeps == []


async def test_too_crowded() -> None:
    """A turn that would come too late is refused at once, without waiting for it."""
    clock = FakeClock()
    gate = asyncio.Event()

    async def stuck(_: float) -> None:
        await gate.wait()

    spacing = Spacing(clock=clock, sleep=stuck)
    await spacing.turn("main", 1.0, within_s=10)
    waiting = [asyncio.create_task(spacing.turn("main", 1.0, within_s=10)) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(Crowded, match="once every 1 s"):
        await spacing.turn("main", 1.0, within_s=3.5)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    clock.advance(1)
    await spacing.turn("main", 1.0, within_s=0)  # the cancelled ones used up no turn
