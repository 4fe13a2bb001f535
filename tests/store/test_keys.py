"""Client keys in the store."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from refdesk.errors import StoreError
from refdesk.store import Store
from refdesk.store.connection import Database

NEXT_YEAR = datetime(2027, 1, 1, tzinfo=UTC)


def test_create(store: Store) -> None:
    """A new key has a token of 256 random bits, shown once, and everything it was given."""
    token, key = store.keys.create(
        "laptop", claims={"id": 7, "team": "sales"}, daily_limit=100, expires=NEXT_YEAR
    )
    assert re.fullmatch(r"rdk_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", token)
    assert token.startswith(f"rdk_{key.id}_")
    assert token.startswith(key.prefix)
    assert len(key.prefix) < 25
    (listed,) = store.keys.list()
    assert listed == key
    assert (listed.claims, listed.daily_limit) == ({"id": 7, "team": "sales"}, 100)
    assert token not in repr(key)


def test_hash_only(store: Store, made_place) -> None:
    """The table holds a hash of the token and not the token."""
    token, _ = store.keys.create("laptop")
    database = Database(made_place.url)
    with database.read() as connection:
        row = connection.execute(text("SELECT * FROM client_keys")).mappings().one()
    database.close()
    assert re.fullmatch(r"[0-9a-f]{64}", row["hash"])
    assert token[21:] not in str(dict(row))


def test_revoke(store: Store) -> None:
    """A revoked key stays listed, with the time of the first revocation."""
    _, key = store.keys.create("laptop")
    revoked = store.keys.revoke(key.id)
    assert revoked.revoked == datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert store.keys.revoke(key.id) == revoked
    assert store.keys.list() == [revoked]
    assert not revoked.is_valid(NEXT_YEAR)


@pytest.mark.parametrize("ident", ["unknown", "' OR 1=1--", "\0", ""])
def test_revoke_unknown(store: Store, ident: str) -> None:
    """Revoking what is not there says so, and changes nothing."""
    _, key = store.keys.create("laptop")
    with pytest.raises(StoreError, match="no client key has the id"):
        store.keys.revoke(ident)
    assert store.keys.list() == [key]


@pytest.mark.parametrize(
    ("name", "options", "part"),
    [
        (" ", {}, "needs a name"),
        ("a", {"daily_limit": -1}, "-1 is below 0"),
        ("a", {"expires": NEXT_YEAR.replace(tzinfo=None)}, "names no zone"),
    ],
)
def test_wrong_values(store: Store, name: str, options, part: str) -> None:
    """Values without sense are refused, and no key is made."""
    with pytest.raises(StoreError, match=part):
        store.keys.create(name, **options)
    assert store.keys.list() == []
