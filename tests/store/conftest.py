"""Every test of the store runs on SQLite and on PostgreSQL, each time on a fresh one."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from postgres import answering, schema
from refdesk.store import RequestRecord, SearchItem, SearchRecord, Store, StoreKey
from refdesk.store.connection import Database
from refdesk.store.tables import metadata

KEY = StoreKey(keys=(bytes(range(32)),))
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a store may be made, as often as one likes."""

    url: str
    data_dir: Path | None
    key: StoreKey = KEY

    def open(self, **options: Any) -> Store:
        """Open it, with the key that all tests have."""
        return Store.open(self.url, data_dir=self.data_dir, key=self.key, **options)


@pytest.fixture(scope="session")
def postgres() -> str:
    """The URL of a PostgreSQL server that answers."""
    return answering()


@contextmanager
def _schema(postgres: str) -> Iterator[Place]:
    with schema(postgres) as url:
        yield Place(url=url, data_dir=None)


@pytest.fixture
def postgres_place(postgres: str) -> Iterator[Place]:
    """A PostgreSQL schema of its own, dropped afterwards."""
    with _schema(postgres) as place:
        yield place


@pytest.fixture(scope="session")
def postgres_made(postgres: str) -> Iterator[Place]:
    """A store on PostgreSQL that was made already."""
    with _schema(postgres) as place:
        place.open().close()
        yield place


@pytest.fixture(scope="session")
def sqlite_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store that was made already."""
    path = tmp_path_factory.mktemp("made") / "refdesk.db"
    Store.open(f"sqlite:///{path}", key=KEY).close()
    return path


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Place:
    """A folder that is not there yet."""
    folder = tmp_path / "data"
    return Place(url=f"sqlite:///{folder / 'refdesk.db'}", data_dir=folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest) -> Place:
    """A place on each of the two databases."""
    name = "sqlite_place" if request.param == "sqlite" else "postgres_place"
    found: Place = request.getfixturevalue(name)
    return found


@pytest.fixture(params=["sqlite", "postgresql"])
def made_place(request: pytest.FixtureRequest) -> Place:
    """An empty store on each of the two, made already: making one is not what all tests are for."""
    if request.param == "sqlite":
        place: Place = request.getfixturevalue("sqlite_place")
        assert place.data_dir is not None
        place.data_dir.mkdir(mode=0o700)
        shutil.copy(request.getfixturevalue("sqlite_made"), place.data_dir)
        return place
    place = request.getfixturevalue("postgres_made")
    database = Database(place.url)
    with database.write() as connection:
        for table in metadata.sorted_tables:
            if table.name != "meta":
                connection.execute(table.delete())
    database.close()
    return place


@pytest.fixture
def store(made_place: Place) -> Iterator[Store]:
    """An open store, whose clock stands still at noon."""
    with made_place.open(now=lambda: NOON) as opened:
        yield opened


@pytest.fixture
def database(place: Place) -> Iterator[Database]:
    """A database whose tables were made just now."""
    place.open().close()
    database = Database(place.url)
    yield database
    database.close()


class Log(logging.Handler):
    """What the store said, and a way to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._said = threading.Condition()

    def emit(self, record: logging.LogRecord) -> None:
        with self._said:
            self.lines.append(record.getMessage())
            self._said.notify_all()

    def wait_for(self, part: str) -> bool:
        """Wait until a line has that in it."""
        with self._said:
            return self._said.wait_for(lambda: any(part in line for line in self.lines), 10)

    def count(self, part: str) -> int:
        """Count the lines that have that in them."""
        return sum(part in line for line in self.lines)


@pytest.fixture
def said() -> Iterator[Log]:
    """The log of the store."""
    log, handler = logging.getLogger("refdesk.store"), Log()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield handler
    log.removeHandler(handler)
    log.setLevel(level)


class Make:
    """Records to write: all alike but for what a test says."""

    @staticmethod
    def request(number: int = 1, **changes: Any) -> RequestRecord:
        """Return a plain request."""
        record = RequestRecord(id=f"req-{number}", time=NOON, wire="messages", status=200)
        return replace(record, **changes)

    @staticmethod
    def search(number: int = 1, **changes: Any) -> SearchRecord:
        """Return a search with one result."""
        record = SearchRecord(
            id=f"{number:040x}",
            request_id=f"req-{number}",
            time=NOON,
            items=(SearchItem(title="Title", url="https://example.org/", snippet="Text"),),
        )
        return replace(record, **changes)


@pytest.fixture
def make() -> Make:
    """What makes records."""
    return Make()


@pytest.fixture(scope="session")
def child_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What child processes inherit; they share compiled modules, where nothing else keeps them."""
    environment = dict(os.environ)
    if environment.pop("PYTHONDONTWRITEBYTECODE", None):
        environment["PYTHONPYCACHEPREFIX"] = str(tmp_path_factory.mktemp("compiled"))
    return environment
