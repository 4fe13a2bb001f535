"""
Client keys: what a client shows to be let in here.

A token is ``rdk_``, the key's id, ``_`` and 256 random bits in base64url.  It is shown once; the
store keeps its SHA-256.  (A slow hash is for secrets that people choose: 256 random bits cannot be
guessed.)
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import insert, select, update

from refdesk.errors import StoreError
from refdesk.store.connection import Database
from refdesk.store.schema import get_meta, put_meta
from refdesk.store.tables import client_keys

PREFIX: Final = "rdk_"
_STAMP: Final = "keys_stamp"


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientKey:
    """A client key, without what would let one in."""

    id: str
    name: str
    prefix: str
    """The token's first characters, to know it by."""
    claims: Mapping[str, Any] = field(default_factory=dict)
    """The identity that requests with this key have."""
    daily_limit: int | None = None
    """Searches a day (UTC); None: no limit."""
    requests_per_minute: int | None = None
    """Requests a minute, of any kind; None: no limit."""
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """Whether it lets one in at this moment."""
        return self.revoked is None and (self.expires is None or now < self.expires)


def _now() -> datetime:
    return datetime.now(UTC)


def digest(token: str) -> str:
    """Return what the store keeps of a token; any text has a digest, broken ones too."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class ClientKeys:
    """Make, list and revoke keys.  Every call waits for the database: not on an event loop."""

    def __init__(self, database: Database, *, now: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._now = now

    def create(
        self,
        name: str,
        *,
        claims: Mapping[str, Any] | None = None,
        daily_limit: int | None = None,
        requests_per_minute: int | None = None,
        expires: datetime | None = None,
    ) -> tuple[str, ClientKey]:
        """
        Make a key.

        Returns:
            The token, which cannot be had again, and the key.

        Raises:
            StoreError: A value makes no sense; the message names it.
        """
        if not name.strip():
            raise StoreError("a client key needs a name, so that it can be told from the others")
        if daily_limit is not None and daily_limit < 0:
            raise StoreError(f"the daily limit {daily_limit} is below 0; leave it out for no limit")
        if requests_per_minute is not None and requests_per_minute < 1:
            raise StoreError(
                f"{requests_per_minute} requests a minute let no request pass; give 1 or more, or "
                "leave it out for no limit"
            )
        if expires is not None and expires.tzinfo is None:
            raise StoreError(f"the time {expires} names no zone; write it as 2027-01-31T00:00Z")
        ident = secrets.token_hex(6)
        secret = base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()
        token = f"{PREFIX}{ident}_{secret}"
        key = ClientKey(
            id=ident,
            name=name,
            prefix=f"{PREFIX}{ident}_{secret[:4]}",
            claims=dict(claims or {}),
            daily_limit=daily_limit,
            requests_per_minute=requests_per_minute,
            created=self._now(),
            expires=expires,
        )
        row = {column: getattr(key, column) for column in _COLUMNS}
        with self._database.write() as connection:
            self._touch(connection)
            connection.execute(insert(client_keys).values(**row, hash=digest(token)))
        return token, key

    def list(self) -> list[ClientKey]:
        """Return all keys, revoked and expired ones too, oldest first."""
        order = (client_keys.c.created, client_keys.c.id)
        with self._database.read() as connection:
            rows = connection.execute(select(client_keys).order_by(*order)).mappings()
            return [_key(row) for row in rows]

    def revoke(self, key_id: str) -> ClientKey:
        """
        End a key for good; one that was revoked before stays as it is.

        Raises:
            StoreError: There is no such key.
        """
        query = select(client_keys).where(client_keys.c.id == key_id)
        with self._database.write() as connection:
            connection.execute(
                update(client_keys)
                .where(client_keys.c.id == key_id, client_keys.c.revoked.is_(None))
                .values(revoked=self._now())
            )
            self._touch(connection)
            row = connection.execute(query).mappings().first()
        if row is None:
            raise StoreError(
                f"no client key has the id {key_id[:40]!r}; `refdesk keys list` shows them"
            )
        return _key(row)

    def snapshot(self, unless: str | None = None) -> tuple[str, dict[str, tuple[str, ClientKey]]]:
        """
        Return a stamp of the state, and digest and key by id.

        Where nothing changed since the stamp ``unless``, there are no keys and the stamp is that
        one: asking costs one row.
        """
        with self._database.read() as connection:
            # First the stamp: what is changed in between is then read twice, and not missed.
            stamp = get_meta(connection, _STAMP) or ""
            if stamp == unless:
                return stamp, {}
            rows = connection.execute(select(client_keys)).mappings()
            return stamp, {row["id"]: (row["hash"], _key(row)) for row in rows}

    def _touch(self, connection: Any) -> None:
        put_meta(self._database, connection, _STAMP, secrets.token_hex(8))


_COLUMNS: Final = (
    "id",
    "name",
    "prefix",
    "claims",
    "daily_limit",
    "requests_per_minute",
    "created",
    "expires",
    "revoked",
)


def _key(row: Mapping[Any, Any]) -> ClientKey:
    return ClientKey(**{column: row[column] for column in _COLUMNS})
