"""The ledger."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from refdesk.store import LedgerEntry, LedgerRow, Store, Usage

ONE = Usage(searches=1, calls=2, cost_usd=0.002)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 30, 23, 59, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture
def clock() -> Clock:
    """One minute to midnight."""
    return Clock()


@pytest.fixture
def store(made_place, clock):
    """A store with that clock."""
    with made_place.open(now=clock) as opened:
        yield opened


def _count(store: Store, engine: str, key_id: str | None = None, usage: Usage = ONE) -> None:
    assert store.writer.offer(LedgerEntry(engine=engine, key_id=key_id, usage=usage))


def test_sums(store: Store) -> None:
    """What is counted is in today's sums at once: of an engine, a key, both, all."""
    _count(store, "main", "k1")
    _count(store, "main", "k2")
    _count(store, "own", "k1")
    _count(store, "own")
    today = store.ledger.today
    assert today(engine="main").searches == 2
    assert today(key_id="k1").searches == 2
    assert today(engine="own", key_id="k1") == ONE
    assert today() == Usage(searches=4, calls=8, cost_usd=pytest.approx(0.008))
    assert today(engine="none") == today(key_id="none") == Usage()


def test_written(store: Store) -> None:
    """Batches are added up in the database, by day, key and engine."""
    for _ in range(3):
        _count(store, "main", "k1")
        _count(store, "main", None, Usage(cache_hits=1))
        assert store.writer.drain(10)
    day = date(2026, 11, 30)
    without, with_key = store.ledger.summary(1)
    assert without == LedgerRow(day=day, key_id=None, engine="main", usage=Usage(cache_hits=3))
    assert (with_key.key_id, with_key.usage.searches, with_key.usage.calls) == ("k1", 3, 6)
    assert with_key.usage.cost_usd == pytest.approx(0.006)
    assert store.ledger.today(engine="main").searches == 3


def test_restart(store: Store, made_place, clock) -> None:
    """A daily limit holds over a restart: the sums are loaded again."""
    _count(store, "main", "k1")
    store.close()
    with made_place.open(now=clock) as again:
        assert again.ledger.today(engine="main") == Usage()
        again.ledger.load()
        assert again.ledger.today(engine="main") == ONE
        again.ledger.load()
        assert again.ledger.today(key_id="k1") == ONE


def test_two_processes(store: Store, made_place, clock) -> None:
    """Each sees the other's counts as of its own last write, or when it loads."""
    with made_place.open(now=clock) as other:
        _count(store, "main")
        assert store.writer.drain(10)
        _count(other, "main")
        assert other.writer.drain(10)
        assert other.ledger.today(engine="main").searches == 2
        assert store.ledger.today(engine="main").searches == 1
        store.ledger.load()
        assert store.ledger.today(engine="main").searches == 2


def test_midnight(store: Store, clock: Clock) -> None:
    """A new day begins at zero; a clock put back over midnight finds what was counted."""
    _count(store, "main")
    clock.time += timedelta(minutes=2)
    assert store.ledger.today(engine="main") == Usage()
    _count(store, "main")
    _count(store, "main")
    clock.time -= timedelta(minutes=2)
    assert store.ledger.today(engine="main").searches == 1
    clock.time += timedelta(minutes=2)
    assert store.ledger.today(engine="main").searches == 2
    assert store.writer.drain(10)
    assert [(row.day.day, row.usage.searches) for row in store.ledger.summary(2)] == [
        (1, 2),
        (30, 1),
    ]
    assert len(store.ledger.summary(1)) == 1


def test_old_days_are_forgotten(store: Store, clock: Clock) -> None:
    """Memory holds the last days only."""
    for _ in range(10):
        _count(store, "main", "k1")
        clock.time += timedelta(days=1)
    assert len(store.ledger._rows) <= 3
    assert len(store.ledger._by_key) <= 3


def test_many_rows(store: Store) -> None:
    """More rows than one statement takes are written all the same."""
    for number in range(2500):
        store.ledger.add(LedgerEntry(engine=f"e{number}", usage=ONE))
    _count(store, "main")
    assert store.writer.drain(10)
    assert len(store.ledger.summary(1)) == 2501
