"""
What Refdesk adds to a query of a million rows: ours and the driver's own, turn by turn.

Each question is asked twice, by us from its document to rows, and by psycopg alone with the SQL
that came of it.  The difference of the two is taken: of the processor's time where every row is
read, which takes the server long; of the clock's where rows are found by an index.  Of the clock
the quickest tenth counts, as the others tell what else the machine had to do.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import psycopg

from refdesk.db.dsl.parse import parse
from refdesk.db.gate import Written, write
from refdesk.db.reading import Scope, compile_for

ROWS = 1_000_000
TABLE = (
    f"""
    CREATE TABLE million AS
    SELECT n AS id, 'name ' || n AS name, n % 97 AS kind,
           (n::bigint * 7919 % 100000)::numeric / 100 AS price,
           timestamp '2025-01-01' + (n % 500) * interval '1 day' AS made
    FROM generate_series(1, {ROWS}) AS n
    """,
    "ALTER TABLE million ADD PRIMARY KEY (id)",
    "ANALYZE million",
)
SCANNED, FOUND = 40, 200
"""How often each kind of question is asked."""
_WARM = 5
"""Questions before the first that counts."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """What we add to one question, in ms."""

    scanned: float
    """Of the processor's time, where every row is read."""
    found: float
    """Of the clock's, where rows are found by an index."""
    whole: float
    """How long a question of the first kind took on the clock, all in all."""


def fill(url: str) -> None:
    """Make the table."""
    with psycopg.connect(url, autocommit=True) as server:
        for each in TABLE:
            server.execute(each)


async def measure(url: str, scope: Scope) -> Share:
    """Ask, turn by turn."""
    with psycopg.connect(url) as server:
        server.prepare_threshold = None
        scanned = await _turns(server, scope, _scanned, SCANNED)
        found = await _turns(server, scope, _found, FOUND)
    return Share(
        scanned=median(ours.work - bare.work for ours, bare in scanned),
        found=quickest([ours.clock for ours, _ in found])
        - quickest([bare.clock for _, bare in found]),
        whole=median(ours.clock for ours, _ in scanned),
    )


def quickest(times: list[float]) -> float:
    """Return how long the slowest of the quickest tenth took."""
    return sorted(times)[len(times) // 10]


@dataclass(frozen=True)
class Took:
    """How long something took, in ms."""

    clock: float
    work: float


async def _turns(
    server: psycopg.Connection[Any], scope: Scope, document: Any, count: int
) -> list[tuple[Took, Took]]:
    """Return what each question took, ours and the driver alone."""
    turns = []
    for number in range(-_WARM, count):
        began = _now()
        written = await _ours(document(number % 97), scope)
        between = _now()
        _bare(server, written)
        ended = _now()
        if number >= 0:
            turns.append((_between(began, between), _between(between, ended)))
    return turns


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _between(began: tuple[float, float], ended: tuple[float, float]) -> Took:
    return Took((ended[0] - began[0]) * 1000, (ended[1] - began[1]) * 1000)


async def _ours(document: Mapping[str, Any], scope: Scope) -> Written:
    database = scope.database
    written = write(compile_for(parse(document), scope), database.dialect)
    rows = await database.runner.run(written)
    assert len(rows.rows) == 20
    return written


def _bare(server: psycopg.Connection[Any], written: Written) -> None:
    with server.transaction(), server.cursor() as cursor:
        assert len(cursor.execute(written.sql, dict(written.params)).fetchall()) == 20


def _scanned(kind: int) -> dict[str, Any]:
    return _document([{"field": "kind", "=": kind}, {"field": "price", ">=": 500}])


def _found(kind: int) -> dict[str, Any]:
    return _document([{"field": "id", "between": [kind * 1000, kind * 1000 + 30]}])


def _document(wheres: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "select": ["id", "name", "kind", "price", "made"],
        "from": "million",
        "wheres": wheres,
        "orders": ["price desc"],
        "limit": 20,
    }
