"""
The request log: one row for each model request, with what was decided, and how it went.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Dialect, Select, delete, select

from refdesk.store.connection import Database
from refdesk.store.tables import CleanText, Json, as_json, clean, requests
from refdesk.types import Attempt

_CHUNK: Final = 1000
_ROWS: Final = 32
"""In one statement for SQLite; with all columns that stays below the 999 values that any takes."""


# Not frozen: there is one for every request, and with so many fields a frozen one takes five times
# as long to make.  Nobody changes it all the same.
@dataclass(kw_only=True, slots=True)
class RequestRecord:
    """One request, as it is logged when it has ended.  Durations are in milliseconds."""

    id: str
    """What the client was told in ``x-request-id``."""
    time: datetime
    """When it came, with its zone."""
    wire: str
    stream: bool = False
    client_request_id: str | None = None
    key_id: str | None = None
    """The id of the client key; never the key."""
    model: str | None = None
    upstream: str | None = None
    status: int | None = None
    route: str | None = None
    """``pass``, ``hosted`` or ``gateway``."""
    route_reason: str | None = None
    route_source: str | None = None
    """Which layer said so: model, upstream, capability."""
    search_header: str | None = None
    """The value of ``x-refdesk-search``."""
    reason: str | None = None
    """Why a gateway search did not happen: a `refdesk.errors.Reason`; None unless degraded."""
    query: str | None = None
    """None also where the configuration says that queries are not kept."""
    engine: str | None = None
    results: int = 0
    cached: bool = False
    notices: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    queue_ms: float | None = None
    search_ms: float | None = None
    first_byte_ms: float | None = None
    """Until the upstream's first byte."""
    total_ms: float | None = None
    injected_chars: int = 0
    client_disconnected: bool = False
    upstream_cut: bool = False
    error: str | None = None

    @property
    def weight(self) -> int:
        """About how many bytes it holds while it waits to be written."""
        texts = len(self.query or "") + len(self.error or "") + sum(map(len, self.notices))
        return 1500 + 2 * texts + 200 * len(self.attempts)


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedRequest:
    """A request as it stands in the log; ``seq`` grows in the order of writing."""

    seq: int
    record: RequestRecord = field(repr=False)


Page = list[LoggedRequest]

_COLUMNS: Final = [item.name for item in fields(RequestRecord)]


def insert(database: Database, connection: Connection, records: Sequence[RequestRecord]) -> None:
    """Write records; one whose id is there already is passed over."""
    made = database.insert(requests).on_conflict_do_nothing(index_elements=["id"])
    if not database.embedded:
        connection.execute(made, [{n: getattr(r, n) for n in _COLUMNS} for r in records])
        return
    # There is a record for every request: the rows go to the driver as it takes them, which costs
    # a fifth of what the columns' types do.  And many go in one statement, since the driver lets
    # the other threads in and waits for its turn again at each.
    one, many = _sqlite_statements(connection.dialect, made)
    rows = list(map(_sqlite_row, records))
    whole = len(rows) - len(rows) % _ROWS
    for start in range(0, whole, _ROWS):
        values = tuple(chain.from_iterable(rows[start : start + _ROWS]))
        connection.exec_driver_sql(many, values)
    if whole < len(rows):
        connection.exec_driver_sql(one, rows[whole:])


def _sqlite_statements(dialect: Dialect, made: Any) -> tuple[str, str]:
    """Return the statement for one row, and for many."""
    if not _STATEMENTS:
        one = str(made.values(dict.fromkeys(_COLUMNS)).compile(dialect=dialect))
        places = f"({', '.join('?' * len(_COLUMNS))})"
        assert places in one
        _STATEMENTS.extend((one, one.replace(places, ", ".join([places] * _ROWS))))
    return _STATEMENTS[0], _STATEMENTS[1]


_STATEMENTS: Final[list[str]] = []
# As the statement has them: in the order of the table.
_PLACES: Final = [column.name for column in requests.c if column.name in _COLUMNS]
_VALUES: Final = attrgetter(*_PLACES)
_TIME: Final = _PLACES.index("time")
_LISTS: Final = tuple(_PLACES.index(name) for name in ("notices", "attempts"))
_TEXTS: Final = tuple(
    place
    for place, name in enumerate(_PLACES)
    if isinstance(requests.c[name].type, CleanText | Json)
)
_TEXTS_OF: Final = itemgetter(*_TEXTS)


def _sqlite_row(record: RequestRecord) -> tuple[Any, ...]:
    if record.time.tzinfo is None:
        raise ValueError("a stored time must know its zone")
    row = list(_VALUES(record))
    time = record.time if record.time.tzinfo is UTC else record.time.astimezone(UTC)
    row[_TIME] = time.isoformat(" ", "microseconds")[:26]
    for place in _LISTS:
        row[place] = as_json(row[place]) if row[place] else "[]"
    texts = "".join(filter(None, _TEXTS_OF(row)))
    if not (texts.isascii() and texts.isprintable()):
        for place in _TEXTS:
            if row[place]:
                row[place] = clean(row[place])
    return tuple(row)


def _logged(row: Mapping[Any, Any]) -> LoggedRequest:
    values = {name: row[name] for name in _COLUMNS}
    values["notices"] = tuple(values["notices"])
    values["attempts"] = msgspec.convert(values["attempts"], tuple[Attempt, ...])
    return LoggedRequest(seq=row["seq"], record=RequestRecord(**values))


class RequestLog:
    """Read the log, and shorten it.  Every call waits for the database: not on an event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, request_id: str) -> LoggedRequest | None:
        """Return one request by its id."""
        found = self._read(select(requests).where(requests.c.id == request_id))
        return found[0] if found else None

    def list(
        self,
        *,
        limit: int = 100,
        before_id: str | None = None,
        degraded: bool | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        key_id: str | None = None,
        model: str | None = None,
        engine: str | None = None,
        reason: str | None = None,
    ) -> Page:
        """
        Return the newest requests, newest first.

        Args:
            limit: The most rows.
            before_id: Only what was logged before that request: the next page.  After an id that
                is not in the log comes nothing.
            degraded: Only those whose search did not happen though it should (True), or the
                others (False).
            since: From this moment on.
            until: Before this moment.
            key_id: Of this client key.
            model: As the client named it.
            engine: That gave the results.
            reason: With this reason code.
        """
        query = select(requests)
        if before_id is not None:
            place = select(requests.c.seq).where(requests.c.id == before_id).scalar_subquery()
            query = query.where(requests.c.seq < place)
        query = _degraded(query, degraded)
        if since is not None:
            query = query.where(requests.c.time >= since)
        if until is not None:
            query = query.where(requests.c.time < until)
        for column, value in (("key_id", key_id), ("model", model), ("engine", engine)):
            if value is not None:
                query = query.where(requests.c[column] == value)
        if reason is not None:
            query = query.where(requests.c.reason == reason)
        return self._read(query.order_by(requests.c.seq.desc()).limit(limit))

    def after(self, seq: int, *, limit: int = 500, degraded: bool | None = None) -> Page:
        """Return what was logged after that number, oldest first: for following the log."""
        query = _degraded(select(requests).where(requests.c.seq > seq), degraded)
        return self._read(query.order_by(requests.c.seq).limit(limit))

    def newest(self) -> int:
        """Return the number of the newest row; 0 for an empty log.  Following starts here."""
        with self._database.read() as connection:
            query = select(requests.c.seq).order_by(requests.c.seq.desc()).limit(1)
            return connection.execute(query).scalar() or 0

    def delete_before(self, moment: datetime) -> int:
        """Delete what is older; return how many rows.  In short steps, so that writing goes on."""
        deleted = 0
        while True:
            oldest = select(requests.c.seq).where(requests.c.time < moment).limit(_CHUNK)
            with self._database.write() as connection:
                done = connection.execute(
                    delete(requests).where(requests.c.seq.in_(oldest))
                ).rowcount
            deleted += done
            if done < _CHUNK:
                return deleted

    def _read(self, query: Select[Any]) -> Page:
        with self._database.read() as connection:
            return [_logged(row) for row in connection.execute(query).mappings()]


def _degraded(query: Select[Any], degraded: bool | None) -> Select[Any]:
    if degraded is None:
        return query
    return query.where(requests.c.reason.is_not(None) if degraded else requests.c.reason.is_(None))
