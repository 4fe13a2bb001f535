"""Limits of client keys, before anything is done."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from refdesk.errors import WireError
from refdesk.store import Store
from refdesk.store.quota import RequestRates, SearchQuota

EVENING = datetime(2026, 3, 15, 23, 0, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, at: datetime = EVENING) -> None:
        self.at = at

    def __call__(self) -> datetime:
        """Return the time."""
        return self.at


def opened(folder: Path, clock: Clock) -> Store:
    return Store.open(f"sqlite:///{folder}/refdesk.db", data_dir=folder, now=clock)


def quota_of(store: Store, clock: Clock) -> SearchQuota:
    ring = store.key_ring()
    return SearchQuota(store.ledger, ring, count=store.writer.offer, now=clock)


def test_searches_are_counted_before_they_begin(tmp_path: Path) -> None:
    """The search that would pass the limit is refused although none has ended."""
    clock = Clock()
    with opened(tmp_path, clock) as store:
        _, key = store.keys.create("team", daily_limit=3)
        quota = quota_of(store, clock)
        for _ in range(3):
            quota.reserve(key.id)
        with pytest.raises(WireError, match="'team' may do 3 searches a day") as caught:
            quota.reserve(key.id)
    assert (caught.value.status, caught.value.retry_after_s) == (429, 3600)


def test_several_searches_count_as_several(tmp_path: Path) -> None:
    """A request of many searches is refused whole where they do not all fit."""
    clock = Clock()
    with opened(tmp_path, clock) as store:
        _, key = store.keys.create("team", daily_limit=5)
        quota = quota_of(store, clock)
        with pytest.raises(WireError, match="did 0, and this request asks for 6"):
            quota.reserve(key.id, 6)
        quota.reserve(key.id, 5)
        with pytest.raises(WireError):
            quota.reserve(key.id)


def test_failed_searches_are_given_back_once(tmp_path: Path) -> None:
    """What failed does not count, and no more is given back than was reserved."""
    clock = Clock()
    with opened(tmp_path, clock) as store:
        _, key = store.keys.create("team", daily_limit=2)
        quota = quota_of(store, clock)
        quota.reserve(key.id)
        quota.reserve(key.id).give_back(5)
        quota.reserve(key.id)
        with pytest.raises(WireError):
            quota.reserve(key.id)


def test_a_new_day_and_a_restart(tmp_path: Path) -> None:
    """Counts outlast the process and end with the day (UTC)."""
    clock = Clock()
    with opened(tmp_path, clock) as store:
        _, key = store.keys.create("team", daily_limit=1)
        quota_of(store, clock).reserve(key.id)
        assert store.writer.drain(5)
    with opened(tmp_path, clock) as store:
        store.ledger.load()
        quota = quota_of(store, clock)
        with pytest.raises(WireError):
            quota.reserve(key.id)
        clock.at = datetime(2026, 3, 16, tzinfo=UTC)
        quota.reserve(key.id)


def test_without_a_limit_nothing_is_refused(tmp_path: Path) -> None:
    """No key and a key without a limit search as often as they like; the latter is counted."""
    clock = Clock()
    with opened(tmp_path, clock) as store:
        _, key = store.keys.create("team")
        quota = quota_of(store, clock)
        for _ in range(100):
            quota.reserve(None)
            quota.reserve(key.id)
        assert store.ledger.today(key_id=key.id).asked == 100
        assert store.ledger.today(key_id=key.id).searches == 0


def test_request_rates() -> None:
    """A minute's share at once, then evenly spread; each key for itself; an idle minute refills."""
    now = 100.0
    rates = RequestRates(lambda: now)
    assert [rates.take("a", 3) for _ in range(5)] == [0, 0, 0, 20, 20]
    assert rates.take("b", 3) == 0
    now = 119.0
    assert rates.take("a", 3) == 1
    now = 120.0
    assert [rates.take("a", 3) for _ in range(2)] == [0, 20]
    now = 1000.0
    assert [rates.take("a", 3) for _ in range(4)] == [0, 0, 0, 20]
