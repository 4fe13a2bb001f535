"""Several processes, and processes that die."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from refdesk.store import Store

CHILD = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from sqlalchemy import Engine, event
from refdesk.store import (
    LedgerEntry, RequestRecord, SearchItem, SearchRecord, Store, StoreKey, Usage
)

task, name, url, folder = sys.argv[1:]

if task == "die-migrating":
    @event.listens_for(Engine, "after_cursor_execute")
    def die(connection, cursor, statement, *rest):
        if "CREATE TABLE ledger" in statement:
            os.kill(os.getpid(), signal.SIGKILL)

sys.stdin.readline()
key = StoreKey(keys=(bytes(range(32)),)) if folder == "-" else None
store = Store.open(url, data_dir=None if folder == "-" else Path(folder), key=key)
print("open", store.sealer.key_id, flush=True)
for number in range(100_000 if task == "write-for-ever" else 300):
    ident = f"{name}-{number}"
    now = datetime.now(UTC)
    store.writer.offer(RequestRecord(id=ident, time=now, wire="chat", query="words " * 50))
    item = SearchItem(title=ident, url="https://example.org/", snippet="words " * 50)
    store.writer.offer(
        SearchRecord(id=ident, request_id=ident, time=now, items=(item,) * 5)
    )
    store.writer.offer(LedgerEntry(engine="main", usage=Usage(searches=1, cost_usd=0.5)))
    if number % 20 == 19:
        assert store.writer.drain(20)
        print("written", number, flush=True)
store.close()
print("closed", store.writer.dropped, flush=True)
"""


class Child:
    """A process of its own that does something with a store when told to begin."""

    def __init__(self, task: str, name: str, place, environment) -> None:
        folder = str(place.data_dir) if place.data_dir else "-"
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", CHILD, task, name, place.url, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def begin(self) -> None:
        """Let it begin."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def line(self) -> str:
        """The next line it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self) -> tuple[str, str]:
        """Wait for its end; return what it printed, and its complaints."""
        return self.process.communicate(timeout=50)


@pytest.fixture
def child(place, child_environment):
    """What starts children on one place, and sees to their end."""
    children: list[Child] = []

    def start(task: str, name: str = "a") -> Child:
        children.append(Child(task, name, place, child_environment))
        return children[-1]

    yield start
    for one in children:
        one.process.kill()
        one.process.communicate()


def _open(place) -> Store:
    key = None if place.data_dir else place.key
    return Store.open(place.url, data_dir=place.data_dir, key=key)


def test_killed_while_writing(place, child) -> None:
    """After kill -9 the store opens without repair; what was acknowledged is there, whole."""
    one = child("write-for-ever")
    one.begin()
    assert one.line().startswith("open")
    acknowledged = [int(one.line().split()[1]) for _ in range(4)][-1]
    one.process.kill()
    one.end()
    with _open(place) as store:
        logged = store.requests.after(0, limit=100_000)
        assert len(logged) > acknowledged
        assert [item.record.id for item in logged] == [f"a-{n}" for n in range(len(logged))]
        searches = store.searches.get(item.record.id for item in logged)
        assert all(len(record.items) == 5 for record in searches.values())
        assert len(searches) >= acknowledged + 1
        (row,) = store.ledger.summary(2)
        assert row.usage.searches >= acknowledged + 1
        assert store.keys.create("works")


def test_killed_while_migrating(place, child) -> None:
    """After kill -9 half-way through a migration nothing of it is there, and the next one works."""
    one = child("die-migrating")
    one.begin()
    out, err = one.end()
    assert one.process.returncode == -9, err
    assert out == ""
    with _open(place) as store:
        assert store.upgraded_from is None
        assert store.requests.list() == []


def test_two_at_once(place, child) -> None:
    """Two processes that make one store at the same moment share its key, and lose no record."""
    pair = [child("write", "a"), child("write", "b")]
    for one in pair:
        one.begin()
    outputs = [one.end() for one in pair]
    for out, err in outputs:
        assert err == ""
        assert out.endswith("closed 0\n")
    assert outputs[0][0].splitlines()[0] == outputs[1][0].splitlines()[0]
    with _open(place) as store:
        logged = store.requests.after(0, limit=1000)
        assert len(logged) == 600
        for name in "ab":
            mine = [item.record.id for item in logged if item.record.id.startswith(name)]
            assert mine == [f"{name}-{number}" for number in range(300)]
        rows = store.ledger.summary(2)
        assert sum(row.usage.searches for row in rows) == 600
        assert sum(row.usage.cost_usd for row in rows) == 300.0
    if place.data_dir:
        assert not list(Path(place.data_dir).glob("*.new"))
