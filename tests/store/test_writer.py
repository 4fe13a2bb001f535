"""Writing without making anybody wait."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing
from datetime import UTC, datetime

import pytest
from sqlalchemy import event, text

from refdesk.store import LedgerEntry, RequestRecord, Store, Usage
from refdesk.store.connection import Database
from refdesk.store.ledger import Ledger
from refdesk.store.requests import RequestLog
from refdesk.store.searches import Searches
from refdesk.store.writer import Writer

ENTRY = LedgerEntry(engine="main", usage=Usage(searches=1))


class Desk:
    """A writer with its database, impatient enough for tests."""

    def __init__(self, database: Database, **options) -> None:
        self.database = database
        self.ledger = Ledger(database)
        self.writer = Writer(
            database, self.ledger, **({"retry_s": 0.005, "linger_s": 0.005} | options)
        )
        self.requests = RequestLog(database)
        self.searches = Searches(database)

    def ids(self) -> list[str]:
        """The ids in the log, oldest first."""
        return [item.record.id for item in self.requests.after(0, limit=100_000)]


@pytest.fixture
def open_desk(made_place):
    """What opens desks on one place, and closes them."""
    desks: list[Desk] = []

    def opener(**options) -> Desk:
        desks.append(Desk(Database(made_place.url, busy_timeout_s=0.01), **options))
        return desks[-1]

    yield opener
    for desk in desks:
        desk.writer.close(5)
        desk.database.close()


class Refusing:
    """Make every write of a database fail as a full disk does."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.on = False
        event.listen(database.engine, "before_cursor_execute", self._refuse)

    def _refuse(self, connection, cursor, statement, *_) -> None:
        if self.on and statement.startswith("INSERT"):
            raise self.database.engine.dialect.loaded_dbapi.OperationalError(
                "database or disk is full"
            )


def test_batches_and_counts(open_desk, make) -> None:
    """Everything offered is written, in order, and counted."""
    desk = open_desk()
    for number in range(1200):
        assert desk.writer.offer(make.request(number))
        assert desk.writer.offer(make.search(number))
    assert desk.writer.drain(20)
    assert desk.ids() == [f"req-{number}" for number in range(1200)]
    assert (desk.writer.written, desk.writer.dropped, desk.writer.queued) == (2400, 0, 0)
    assert len(desk.searches.get(make.search(number).id for number in range(1200))) == 1200


def test_close_writes(open_desk, make) -> None:
    """What waits when the store is closed is written; what comes later is dropped and counted."""
    desk = open_desk(linger_s=60)
    desk.writer.offer(make.request(1))
    desk.writer.offer(ENTRY)
    desk.writer.close(10)
    assert desk.ids() == ["req-1"]
    assert desk.ledger.summary(1)[0].usage.searches == 1
    assert not desk.writer.offer(make.request(2))
    assert (desk.writer.written, desk.writer.dropped) == (1, 1)
    desk.writer.close(10)


def test_nothing_offered(open_desk) -> None:
    """A writer with nothing to write has no thread, and closes at once."""
    desk = open_desk()
    before = threading.active_count()
    assert desk.writer.drain(10)
    desk.writer.close(10)
    assert threading.active_count() == before


def test_drain_does_not_wait_for_company(open_desk, make) -> None:
    """Whoever waits for a record does not wait for the batch to fill."""
    desk = open_desk(linger_s=3600)
    desk.writer.offer(make.request(1))
    assert desk.writer.drain(20)
    assert desk.ids() == ["req-1"]


def test_blocked_database(open_desk, make, said) -> None:
    """With the database blocked, 10,000 requests are taken at once and the oldest are dropped."""
    desk = open_desk(max_records=1000, patience_s=3600)
    refusing = Refusing(desk.database)
    refusing.on = True
    desk.writer.offer(make.request(0))
    assert said.wait_for("cannot be written")
    records = [make.request(number) for number in range(1, 10_001)]
    start = time.perf_counter()
    for record in records:
        desk.writer.offer(record)
    assert time.perf_counter() - start < 10
    assert desk.writer.failing
    assert desk.writer.queued <= 1000 + 500
    refusing.on = False
    assert desk.writer.drain(20)
    assert desk.writer.written + desk.writer.dropped == 10_001
    assert desk.writer.dropped >= 8_500
    assert desk.ids()[-1] == "req-10000"
    assert desk.ids()[-900:] == [f"req-{number}" for number in range(9101, 10_001)]


def test_bounded_memory(open_desk, make, said) -> None:
    """The queue is bounded by size too."""
    desk = open_desk(max_bytes=1_000_000, patience_s=3600)
    refusing = Refusing(desk.database)
    refusing.on = True
    desk.writer.offer(make.request(0))
    assert said.wait_for("cannot be written")
    for number in range(1, 101):
        desk.writer.offer(make.request(number, query="x" * 50_000))
    assert desk.writer.queued <= 11
    refusing.on = False
    assert desk.writer.drain(20)
    assert desk.ids()[-1] == "req-100"


def test_warning_per_minute(open_desk, make, said) -> None:
    """A store that cannot be written warns once a minute, says what it dropped, and recovers."""
    clock = [0.0]
    desk = open_desk(patience_s=90, clock=lambda: clock[0])
    refusing = Refusing(desk.database)
    refusing.on = True
    tried = threading.Semaphore(0)
    event.listen(desk.database.engine, "rollback", lambda _: tried.release())

    def tries(count: int) -> None:
        for _ in range(count):
            assert tried.acquire(timeout=10)

    desk.writer.offer(make.request(1))
    tries(3)
    assert said.count("cannot be written: database or disk is full") == 1
    assert desk.writer.dropped == 0
    clock[0] = 61.0
    tries(3)
    assert said.count("cannot be written") == 2
    clock[0] = 122.0
    assert desk.writer.drain(10)  # its patience is over: the record was dropped
    assert desk.writer.dropped == 1
    refusing.on = False
    desk.writer.offer(make.request(2))
    assert desk.writer.drain(10)
    assert desk.ids() == ["req-2"]
    assert not desk.writer.failing
    assert said.wait_for("is written again; 1 records were dropped in all")


def test_ledger_survives(open_desk, said) -> None:
    """Counts are not dropped: they wait, summed up, until the database takes them."""
    desk = open_desk(patience_s=0)
    refusing = Refusing(desk.database)
    refusing.on = True
    for _ in range(1000):
        desk.writer.offer(ENTRY)
    assert said.wait_for("cannot be written")
    assert not desk.writer.drain(0)
    assert desk.ledger.today(engine="main").searches == 1000
    refusing.on = False
    assert desk.writer.drain(10)
    assert desk.ledger.summary(1)[0].usage.searches == 1000
    assert desk.ledger.today(engine="main").searches == 1000


def test_one_bad_record(open_desk, make, said) -> None:
    """A record that no database takes is dropped alone; its batch is written."""
    desk = open_desk(linger_s=60)
    desk.writer.offer(make.request(1))
    desk.writer.offer(make.request(2, status=2**70))
    desk.writer.offer(make.request(3, time=make.request().time.replace(tzinfo=None)))
    desk.writer.offer(make.request(4))
    desk.writer.offer(ENTRY)
    assert desk.writer.drain(10)
    assert desk.ids() == ["req-1", "req-4"]
    assert (desk.writer.written, desk.writer.dropped) == (2, 2)
    assert desk.ledger.summary(1)[0].usage.searches == 1
    assert not desk.writer.failing
    assert said.count("cannot be written") == 1


def test_bad_counts(open_desk, make) -> None:
    """Counts that no database takes hold up nothing else."""
    desk = open_desk()
    desk.writer.offer(LedgerEntry(engine="main", usage=Usage(searches=2**70)))
    desk.writer.offer(make.request(1))
    assert desk.writer.drain(10)
    assert desk.ids() == ["req-1"]
    assert not desk.ledger.has_pending


def test_written_twice(open_desk, make) -> None:
    """A record that comes a second time, after a commit that was not heard of, is no fault."""
    desk = open_desk()
    for record in (make.request(1), make.search(1)) * 2:
        desk.writer.offer(record)
    assert desk.writer.drain(10)
    assert desk.ids() == ["req-1"]
    assert desk.writer.dropped == 0


def test_hanging_database(open_desk, make, said) -> None:
    """Closing does not wait for a database that hangs; what is lost is counted."""
    desk = open_desk()
    entered, leave = threading.Event(), threading.Event()

    def hang(*_) -> None:
        entered.set()
        leave.wait(30)

    event.listen(desk.database.engine, "before_cursor_execute", hang)
    desk.writer.offer(make.request(1))
    assert entered.wait(10)
    desk.writer.offer(make.request(2))
    assert not desk.writer.drain(0.01)
    desk.writer.close(0.01)
    assert (desk.writer.written, desk.writer.dropped) == (0, 2)
    assert said.wait_for("before the end; 2 records were dropped")
    leave.set()
    assert desk.writer._thread is not None
    desk.writer._thread.join(10)
    assert desk.writer.dropped == 2


def test_full_disk(sqlite_place, make, said) -> None:
    """On a disk that is really full records wait, and are written when there is room again."""
    sqlite_place.open().close()
    database = Database(sqlite_place.url)
    limit = [1]

    @event.listens_for(database.engine, "checkout")
    def _limit(connection, *_) -> None:
        connection.execute(f"PRAGMA max_page_count={limit[0]}")

    desk = Desk(database)
    for number in range(200):
        desk.writer.offer(make.request(number, query="x" * 2000))
    assert said.wait_for("database or disk is full")
    limit[0] = 1_000_000
    assert desk.writer.drain(10)
    assert len(desk.ids()) == 200
    desk.writer.close()
    database.close()


def test_locked_file(sqlite_place, make, said) -> None:
    """While another process holds the file, records wait; afterwards they are written."""
    sqlite_place.open().close()
    database = Database(sqlite_place.url, busy_timeout_s=0.01)
    desk = Desk(database)
    path = sqlite_place.data_dir / "refdesk.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        desk.writer.offer(make.request(1))
        assert said.wait_for("database is locked")
        other.execute("ROLLBACK")
    assert desk.writer.drain(10)
    assert desk.ids() == ["req-1"]
    desk.writer.close()
    database.close()


def test_replaced_file(sqlite_place, make, said) -> None:
    """A file that turned to rubbish while we run is a warning, and no more."""
    sqlite_place.open().close()
    database = Database(sqlite_place.url)
    desk = Desk(database, patience_s=0)
    (sqlite_place.data_dir / "refdesk.db").write_bytes(b"rubbish " * 10_000)
    desk.writer.offer(make.request(1))
    assert said.wait_for("file is not a database")
    assert desk.writer.drain(10)
    assert desk.writer.dropped == 1
    desk.writer.close()
    database.close()


def test_connections_cut(postgres_place, make) -> None:
    """A PostgreSQL that restarts under us costs nothing."""
    with postgres_place.open() as store:
        store.writer.offer(make.request(1))
        assert store.writer.drain(10)
        admin = Database(postgres_place.url.split("?")[0])
        schema = postgres_place.url.partition("application_name=")[2]
        for number in (2, 3):
            with admin.read() as connection:
                cut = connection.execute(
                    text(
                        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                        " WHERE application_name = :name"
                    ),
                    {"name": schema},
                ).scalar()
            assert cut >= 1
            store.writer.offer(make.request(number))
            assert store.writer.drain(10)
        admin.close()
        assert [item.record.id for item in store.requests.list()] == ["req-3", "req-2", "req-1"]
        assert store.writer.dropped == 0


def test_many_offered_at_once(store: Store) -> None:
    """Records offered together are taken like those offered one by one: all, and in their order."""
    noon = datetime(2026, 11, 30, 12, tzinfo=UTC)
    store.writer.offer_all(
        RequestRecord(id=f"r{number}", time=noon, wire="chat") for number in range(5)
    )
    assert store.writer.drain(10)

    assert [item.record.id for item in store.requests.list()] == ["r4", "r3", "r2", "r1", "r0"]
