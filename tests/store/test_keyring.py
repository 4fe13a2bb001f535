"""Checking client keys from memory."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.errors import StoreError
from refdesk.store import ClientKey, KeyRing, Store
from refdesk.store.keys import ClientKeys, digest

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
TOKEN = "rdk_0123456789ab_" + "s" * 43
KEY = ClientKey(id="0123456789ab", name="laptop", prefix="rdk_0123456789ab_ssss", created=NOON)


class Keys(ClientKeys):
    """One key, from a store that may be away."""

    def __init__(self) -> None:
        self.away = False

    def snapshot(self, unless=None):
        if self.away:
            raise StoreError("the store is away")
        return "stamp", ({} if unless == "stamp" else {KEY.id: (digest(TOKEN), KEY)})


@pytest.fixture
def ring() -> KeyRing:
    """A ring with that key."""
    ring = KeyRing(Keys(), now=lambda: NOON)
    assert ring.reload()
    return ring


def test_right_key(ring: KeyRing) -> None:
    """The right token gives its key; by its id it is found without."""
    assert ring.check(TOKEN) == KEY
    assert ring.get(KEY.id) == KEY
    assert ring.get("other") is None
    assert len(ring) == 1
    assert TOKEN not in repr(ring)


@pytest.mark.parametrize(
    "presented",
    [
        "",
        "rdk_",
        "rdk_0123456789ab",
        "rdk_0123456789ab_",
        TOKEN[:-1],
        TOKEN[:-1] + "t",
        TOKEN + "\0",
        TOKEN + " ",
        TOKEN.upper(),
        TOKEN.replace("ab_", "ac_"),
        "x" * 1_000_000,
        "rdk_" + "x" * 1_000_000,
        "' OR 1=1--",
        "rdk_\0_\0",
        "rdk_\ud800_é",
    ],
)
def test_junk(ring: KeyRing, presented: str) -> None:
    """Whatever else is presented lets nobody in and raises nothing."""
    assert ring.check(presented) is None


@settings(deadline=None)
@given(st.text(), st.sampled_from(["", "rdk_", "rdk_0123456789ab_"]))
def test_any_text(text: str, prefix: str) -> None:
    """No text but the token is let in."""
    ring = KeyRing(Keys(), now=lambda: NOON)
    ring.reload()
    assert ring.check(prefix + text) is None


def test_expired(store: Store) -> None:
    """A key ends at its time, to the moment, without a look at the store."""
    now = [NOON]
    token, key = store.keys.create("laptop", expires=NOON + timedelta(hours=1))
    ring = KeyRing(store.keys, now=lambda: now[0])
    ring.reload()
    assert ring.check(token) == key
    now[0] = NOON + timedelta(hours=1)
    assert ring.check(token) is None


def test_changes_are_seen(store: Store, made_place) -> None:
    """What another process creates or revokes is seen at the next reload."""
    ring = store.key_ring()
    assert not ring.reload()
    with made_place.open() as other:
        token, key = other.keys.create("laptop")
        assert ring.check(token) is None
        assert ring.reload()
        assert ring.check(token) == key
        assert not ring.reload()
        other.keys.revoke(key.id)
        assert ring.reload()
        assert ring.check(token) is None


async def test_store_away(said) -> None:
    """While the store is away keys are checked from memory; each change is one line in the log."""
    keys = Keys()
    ring = KeyRing(keys, now=lambda: NOON)
    assert await ring.refresh()
    keys.away = True
    for _ in range(3):
        assert not await ring.refresh()
    assert ring.check(TOKEN) == KEY
    keys.away = False
    for _ in range(3):
        assert await ring.refresh()
    assert said.lines == [
        "client keys are checked from memory: the store is away",
        "client keys are read from the store again",
    ]


async def test_watch() -> None:
    """Watching goes on over failures, and ends when cancelled."""
    loop = asyncio.get_running_loop()
    asked = asyncio.Semaphore(0)

    class Watched(Keys):
        def snapshot(self, unless=None):
            loop.call_soon_threadsafe(asked.release)
            return super().snapshot(unless)

    keys = Watched()
    keys.away = True
    ring = KeyRing(keys, now=lambda: NOON)
    task = asyncio.create_task(ring.watch(every_s=0))
    async with asyncio.timeout(10):
        for _ in range(3):
            await asked.acquire()
        assert ring.check(TOKEN) is None
        keys.away = False
        while ring.check(TOKEN) is None:
            await asked.acquire()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()
