"""Saved settings."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from refdesk.errors import StoreError
from refdesk.store import Store
from refdesk.store.connection import Database


def test_values(store: Store) -> None:
    """JSON values come back as they were saved, with the time; a later one replaces."""
    value = {"on": True, "list": [1, 2.5, None, "ü"], "none": None}
    store.settings.put("engines.main", value)
    store.settings.put("null", None)
    saved = store.settings.get("engines.main")
    assert saved is not None
    assert (saved.value, saved.secret) == (value, False)
    assert saved.updated_at.isoformat() == "2026-11-30T12:00:00+00:00"
    store.settings.put("engines.main", 3)
    assert {name: item.value for name, item in store.settings.all().items()} == {
        "engines.main": 3,
        "null": None,
    }
    assert store.settings.get("unknown") is None


def test_secrets(store: Store, made_place) -> None:
    """A secret comes back; neither its repr nor the table shows it."""
    store.settings.put_secret("a", "canary")
    saved = store.settings.get("a")
    assert saved is not None
    assert (saved.value, saved.secret) == ("canary", True)
    assert "canary" not in repr(saved)
    assert "canary" not in repr(store.settings.all())
    database = Database(made_place.url)
    with database.read() as connection:
        (kept,) = connection.execute(text("SELECT value FROM settings")).scalars()
    database.close()
    assert kept.startswith('"rd1.')
    assert "canary" not in kept


def test_moved_secret(store: Store, made_place) -> None:
    """A sealed value that was copied to another name does not open there."""
    store.settings.put_secret("a", "canary")
    database = Database(made_place.url)
    with database.write() as connection:
        connection.execute(text("UPDATE settings SET name = 'b'"))
    database.close()
    with pytest.raises(StoreError, match=r"'b' was sealed with the store key [0-9a-f]{8}"):
        store.settings.get("b")


def test_delete(store: Store) -> None:
    """A deleted setting is gone; deleting tells whether there was one."""
    store.settings.put("a", 1)
    assert store.settings.delete("a")
    assert not store.settings.delete("a")
    assert store.settings.get("a") is None


def test_stamp(store: Store) -> None:
    """Every change changes the stamp; reading does not."""
    stamps = [store.settings.stamp()]
    for change in (
        lambda: store.settings.put("a", 1),
        lambda: store.settings.put_secret("b", "x"),
        lambda: store.settings.delete("a"),
    ):
        change()
        stamps.append(store.settings.stamp())
        store.settings.all()
        assert store.settings.stamp() == stamps[-1]
    assert len(set(stamps)) == 4
