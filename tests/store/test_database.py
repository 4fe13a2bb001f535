"""Opening a store, on a first start and on later ones."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from refdesk.errors import StoreError
from refdesk.store import Store, StoreKey
from refdesk.store.connection import Database
from refdesk.store.sealing import key_id
from refdesk.store.tables import SCHEMA

OTHER = StoreKey(keys=(b"z" * 32,))


def test_first_start(sqlite_place) -> None:
    """The data folder is made with 0700; the key, the database and its companions with 0600."""
    with replace(sqlite_place, key=None).open() as store:
        store.settings.put("a", 1)
        assert stat.S_IMODE(sqlite_place.data_dir.stat().st_mode) == 0o700
        files = {path.name: path for path in sqlite_place.data_dir.iterdir()}
        assert {"refdesk.db", "refdesk.db-wal", "store.key", "store.lock"} <= set(files)
        for path in files.values():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        assert store.upgraded_from is None
        assert store.embedded


def test_second_start(place) -> None:
    """What was saved is there again, sealed things too."""
    with place.open() as store:
        store.settings.put_secret("engines.main.api_key", "s3cret")
    with place.open() as store:
        assert store.settings.get("engines.main.api_key").value == "s3cret"
        assert store.upgraded_from == SCHEMA
        store.check()


def test_wal(sqlite_place) -> None:
    """SQLite works in WAL mode, with foreign keys, NORMAL synchronisation and a busy timeout."""
    sqlite_place.open().close()
    database = Database(sqlite_place.url)
    with database.read() as connection:
        pragma = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    database.close()
    assert pragma == {
        "journal_mode": "wal",
        "synchronous": 1,
        "foreign_keys": 1,
        "busy_timeout": 5000,
    }


def test_wrong_key(place) -> None:
    """A store does not open with another key; the message names the needed one and the given."""
    place.open().close()
    with pytest.raises(StoreError) as caught:
        replace(place, key=OTHER).open()
    assert key_id(place.key.keys[0]) in str(caught.value)
    assert OTHER.ids[0] in str(caught.value)


def test_lost_key(sqlite_place) -> None:
    """A lost key file is not replaced by a new one: the message names the key that is needed."""
    own = replace(sqlite_place, key=None)
    with own.open() as store:
        needed = store.sealer.key_id
    key_file = sqlite_place.data_dir / "store.key"
    kept = key_file.read_text()
    key_file.unlink()
    with pytest.raises(StoreError, match=needed):
        own.open()
    assert not key_file.exists()
    key_file.write_text(kept)
    own.open().close()


def test_damaged_key_file(sqlite_place) -> None:
    """A key file that holds no key is named, and what it holds is not shown."""
    own = replace(sqlite_place, key=None)
    own.open().close()
    key_file = sqlite_place.data_dir / "store.key"
    key_file.write_text("canary-of-a-key")
    with pytest.raises(StoreError, match=r"store\.key") as caught:
        own.open()
    assert "canary" not in str(caught.value)


def test_rotation(place) -> None:
    """With a new key first and the old one after it, secrets are sealed anew; the old may go."""
    with place.open() as store:
        store.settings.put_secret("a", "s3cret")
    both = StoreKey(keys=(*OTHER.keys, *place.key.keys))
    replace(place, key=both).open().close()
    with replace(place, key=OTHER).open() as store:
        assert store.settings.get("a").value == "s3cret"
    with pytest.raises(StoreError, match=OTHER.ids[0]):
        place.open()


def test_key_must_be_given(postgres_place) -> None:
    """On PostgreSQL no key is made up, since each replica would make its own."""
    with pytest.raises(StoreError, match=r"store\.key must be given"):
        replace(postgres_place, key=None).open()


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("mysql://root:canary@localhost/x", "'mysql' is not supported"),
        ("postgresql+psycopg2://root:canary@localhost/x", "psycopg2"),
        ("canary of a url", "not a database URL"),
        ("postgresql://root:canary@localhost:port/x", "not a database URL"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite:///x.db?canary=1&mode=ro", "mode"),
    ],
)
def test_wrong_urls(url: str, part: str, tmp_path: Path) -> None:
    """A URL that names no database of ours is refused with the right form, and no password."""
    with pytest.raises(StoreError) as caught:
        Store.open(url, data_dir=tmp_path, key=OTHER)
    assert part in str(caught.value)
    assert "root" not in str(caught.value)
    assert "canary" not in str(caught.value) or "?canary" in url


def test_server_away(unused_tcp_port: int) -> None:
    """A database server that is not there is named, without user and password."""
    url = f"postgresql://root:canary@127.0.0.1:{unused_tcp_port}/x"
    with pytest.raises(StoreError, match=r"postgresql://127\.0\.0\.1/x failed") as caught:
        Store.open(url, key=OTHER)
    assert "canary" not in str(caught.value)
    assert "canary" not in repr(caught.value.__cause__)


def test_folder_not_writable(tmp_path: Path) -> None:
    """A data folder that cannot be made is named, with the remedy."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="set data_dir"):
        Store.open(f"sqlite:///{tmp_path}/file/data/refdesk.db")


def test_reprs(postgres_place) -> None:
    """A store shows where it is, not who uses it."""
    with postgres_place.open() as store:
        assert "root" not in repr(store) + repr(store.requests)
        assert store.name in repr(store)


def test_canaries(sqlite_place) -> None:
    """Neither secrets nor client keys nor the store key stand in any file of the database."""
    with sqlite_place.open() as store:
        store.settings.put_secret("engines.main.api_key", "canary-engine-key")
        token, _ = store.keys.create("laptop", claims={"id": 7})
        written = b"".join(path.read_bytes() for path in sqlite_place.data_dir.iterdir())
    written += b"".join(path.read_bytes() for path in sqlite_place.data_dir.iterdir())
    assert b"laptop" in written  # we look at the right files
    assert b"canary" not in written
    assert token.encode() not in written
    assert token.split("_", 2)[2].encode() not in written
    assert sqlite_place.key.keys[0] not in written


def test_retention(store: Store, make) -> None:
    """What is older than the retention goes, and nothing else."""
    now = make.request().time
    for days, number in ((40, 1), (29, 2), (0, 3)):
        when = now.replace(day=1) if days == 29 else now.replace(year=2025) if days else now
        store.writer.offer(make.request(number, time=when))
        store.writer.offer(make.search(number, time=when))
    assert store.writer.drain(10)
    assert store.forget_old(30) == 2
    assert [item.record.id for item in store.requests.list()] == ["req-3", "req-2"]
    assert store.searches.by_request("req-1") == []
    assert store.forget_old(30) == 0


async def test_run_reads_own_writes(store: Store, make) -> None:
    """A search offered a moment ago is found, from the event loop."""
    for number in range(20):
        record = make.search(number)
        store.writer.offer(record)
        assert await store.run(store.searches.get, [record.id]) == {record.id: record}


def test_other_tables(place) -> None:
    """A database that somebody else uses is left alone."""
    if place.data_dir:
        place.data_dir.mkdir()
    database = Database(place.url)
    with database.write() as connection:
        connection.execute(text("CREATE TABLE settings (theme TEXT)"))
    database.close()
    with pytest.raises(StoreError, match=r"not Refdesk's \(settings\)"):
        place.open()
