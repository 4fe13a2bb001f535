"""
Writing without making anybody wait.

Records go into a bounded queue, and one thread writes them in batches.  While the database refuses
(disk full, locked, away) they are kept and tried again; what does not fit any more, or has waited
too long, is dropped, oldest first, and counted.  Nobody who offers a record ever waits or fails.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from sqlalchemy import Connection
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from refdesk.store import requests, searches
from refdesk.store.connection import Database
from refdesk.store.ledger import Ledger, LedgerEntry
from refdesk.store.requests import RequestRecord
from refdesk.store.searches import SearchRecord
from refdesk.store.tables import searches as searches_table

_log = logging.getLogger(__name__)

Record = RequestRecord | SearchRecord

_BATCH: Final = 500
_WARN_EVERY_S: Final = 60.0


class Writer:
    """
    The one thread that writes; it starts with the first record.

    Args:
        database: Where to.
        ledger: What counts ledger entries, and is written with each batch.
        max_records: How many records may wait.
        max_bytes: About how much memory they may take.
        linger_s: How long a first record waits for company.
        retry_s: How long to wait after the database refused.
        patience_s: For how long a refused batch is kept, from the first refusal on.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        *,
        max_records: int = 10_000,
        max_bytes: int = 32 * 1024 * 1024,
        linger_s: float = 0.05,
        retry_s: float = 1.0,
        patience_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._ledger = ledger
        self._max_records = max_records
        self._max_bytes = max_bytes
        self._linger_s = linger_s
        self._retry_s = retry_s
        self._patience_s = patience_s
        self._clock = clock
        self._state = threading.Condition()
        self._queue: deque[Record] = deque()
        self._bytes = 0
        self._inflight: list[Record] = []
        self._counted = 0
        self._entries_written = 0
        self._waiting = 0
        self._closing = False
        self._gone = False
        self._thread: threading.Thread | None = None
        self._asleep = True
        self._failing_since: float | None = None
        self._warned_at: float | None = None
        self.written = 0
        """Records in the database."""
        self.dropped = 0
        """Records given up."""

    @property
    def failing(self) -> bool:
        """Whether the last try to write was refused."""
        return self._failing_since is not None

    @property
    def queued(self) -> int:
        """How many records wait."""
        return len(self._queue) + len(self._inflight)

    def offer(self, record: Record | LedgerEntry) -> bool:
        """
        Take a record to be written; return whether all found room.

        An entry of the ledger counts at once in memory.  False: the oldest record had to go (or,
        after `close`, this one).
        """
        with self._state:
            return self._take(record)

    def offer_all(self, records: Iterable[Record | LedgerEntry]) -> None:
        """Offer many at once."""
        with self._state:
            for record in records:
                self._take(record)

    def _take(self, record: Record | LedgerEntry) -> bool:
        if isinstance(record, LedgerEntry):
            self._ledger.add(record)
            self._counted += 1
            room = True
        elif self._closing:
            self.dropped += 1
            return False
        else:
            self._queue.append(record)
            self._bytes += record.weight
            room = self._shrink() == 0
        # Waking the thread for every record would cost more than the record.
        if self._asleep:
            self._start()
        return room

    def drain(self, timeout_s: float) -> bool:
        """Wait until all that was offered so far is written or dropped; False: it took too long."""
        with self._state:
            records = self.written + self.dropped + self.queued
            entries = self._counted
            if self._is_past(records, entries):
                return True
            self._waiting += 1
            self._state.notify_all()
            try:
                return self._state.wait_for(lambda: self._is_past(records, entries), timeout_s)
            finally:
                self._waiting -= 1

    def close(self, deadline_s: float = 5.0) -> None:
        """Write what waits, and end the thread; what is left at the deadline is dropped."""
        with self._state:
            self._closing = True
            self._state.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(deadline_s)
        with self._state:
            self._gone = True  # a thread that still hangs in the database counts nothing any more
            self._state.notify_all()
            lost = len(self._queue) + len(self._inflight)
            self._queue.clear()
            self._inflight = []
            self._bytes = 0
            self.dropped += lost
        if lost or self._ledger.has_pending:
            _log.warning(
                "the store %s could not be written before the end; %d records were dropped",
                self._database.name,
                lost,
            )

    # The thread

    def _start(self) -> None:
        self._asleep = False
        if self._thread is None and not self._closing:
            self._thread = threading.Thread(target=self._work, name="refdesk-store", daemon=True)
            self._thread.start()
        self._state.notify_all()

    def _is_past(self, records: int, entries: int) -> bool:
        return self._gone or (
            self.written + self.dropped >= records and self._entries_written >= entries
        )

    def _work(self) -> None:
        while True:
            with self._state:
                self._asleep = True
                self._state.wait_for(
                    lambda: self._queue or self._ledger.has_pending or self._closing
                )
                self._asleep = False
                if not self._waiting and not self._closing:
                    self._state.wait_for(lambda: self._waiting or self._closing, self._linger_s)
                if self._gone or not (self._queue or self._ledger.has_pending):
                    return
                entries = self._counted
                self._inflight = [
                    self._queue.popleft() for _ in range(min(_BATCH, len(self._queue)))
                ]
                self._bytes -= sum(record.weight for record in self._inflight)
            refused = self._write()
            with self._state:
                if not refused:
                    self._entries_written = entries
                self._state.notify_all()
                if refused:
                    self._state.wait_for(lambda: self._gone, self._retry_s)

    def _write(self) -> bool:
        """Write the batch in flight, and the ledger; return whether the database refused."""
        batch = list(self._inflight)
        with self._ledger.turn:
            counts = self._ledger.take()
            try:
                with self._database.write() as connection:
                    self._insert(connection, batch)
                    sums = self._ledger.write(connection, counts) if counts else {}
            except Exception as exc:
                self._ledger.put_back(counts)
                if not _is_records_fault(exc):
                    self._refused(batch, exc)
                    return True
            else:
                self._ledger.settle(sums)
                self._done(len(batch))
                return False
        # Something in it cannot be stored (a number out of range, say): that is to go alone.
        return self._write_singly(batch) or self._write_counts()

    def _write_singly(self, batch: Sequence[Record]) -> bool:
        for place, record in enumerate(batch):
            try:
                with self._database.write() as connection:
                    self._insert(connection, [record])
            except Exception as exc:
                if not _is_records_fault(exc):
                    self._refused(batch[place:], exc)
                    return True
                self._give_up([record], exc)
            else:
                self._done(1)
        return False

    def _write_counts(self) -> bool:
        with self._ledger.turn:
            counts = self._ledger.take()
            try:
                with self._database.write() as connection:
                    sums = self._ledger.write(connection, counts)
            except Exception as exc:
                if not _is_records_fault(exc):
                    self._ledger.put_back(counts)
                    self._refused([], exc)
                    return True
                self._warn(exc)
            else:
                self._ledger.settle(sums)
        return False

    def _insert(self, connection: Connection, batch: Sequence[Record]) -> None:
        # A record that is there already came in a batch whose commit we did not hear of.
        logged = [item for item in batch if isinstance(item, RequestRecord)]
        if logged:
            requests.insert(self._database, connection, logged)
        found = [searches.row_of(item) for item in batch if isinstance(item, SearchRecord)]
        if found:
            statement = self._database.insert(searches_table)
            connection.execute(statement.on_conflict_do_nothing(index_elements=["id"]), found)

    def _done(self, count: int) -> None:
        with self._state:
            if not self._gone:
                self.written += count
                del self._inflight[:count]
            recovered = self._failing_since is not None
            self._failing_since = None
            self._warned_at = None if recovered else self._warned_at
            dropped = self.dropped
        if recovered:
            _log.info(
                "the store %s is written again; %d records were dropped in all",
                self._database.name,
                dropped,
            )

    def _refused(self, batch: Sequence[Record], error: Exception) -> None:
        now = self._clock()
        with self._state:
            if self._failing_since is None:
                self._failing_since = now
            if self._gone:
                return
            self._inflight = []
            if now - self._failing_since >= self._patience_s:
                self.dropped += len(batch)
            else:
                self._queue.extendleft(reversed(batch))
                self._bytes += sum(record.weight for record in batch)
                self._shrink()
        self._warn(error)

    def _give_up(self, batch: Sequence[Record], error: Exception) -> None:
        with self._state:
            if not self._gone:
                self.dropped += len(batch)
                del self._inflight[: len(batch)]
        self._warn(error)

    def _shrink(self) -> int:
        lost = 0
        while self._queue and (
            len(self._queue) > self._max_records or self._bytes > self._max_bytes
        ):
            self._bytes -= self._queue.popleft().weight
            lost += 1
        self.dropped += lost
        return lost

    def _warn(self, error: Exception) -> None:
        now = self._clock()
        if self._warned_at is not None and now - self._warned_at < _WARN_EVERY_S:
            return
        self._warned_at = now
        _log.warning(
            "the store %s cannot be written: %s; requests are served as before, %d records wait and"
            " %d were dropped",
            self._database.name,
            self._database.explain(error.__cause__ or error),
            self.queued,
            self.dropped,
        )


def _is_records_fault(error: Exception) -> bool:
    """Whether the record is at fault, and not the database: what fails in the same way again."""
    cause = error.__cause__ or error
    if isinstance(cause, PoolTimeout):
        return False
    return not isinstance(cause, DBAPIError) or isinstance(cause, DataError | IntegrityError)
