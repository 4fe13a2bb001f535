"""
Settings that were saved while running, above those of the file.

A secret lies sealed in the store, under its own name: moved to another name it does not open.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, delete, select, update

from refdesk.errors import StoreError
from refdesk.store.connection import Database
from refdesk.store.schema import get_meta, put_meta
from refdesk.store.sealing import Sealer, token_key_id
from refdesk.store.tables import settings

_STAMP: Final = "settings_stamp"


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One saved value; of a secret it is the plain text, which no repr shows."""

    name: str
    value: Any = field(repr=False)
    secret: bool
    updated_at: datetime


def _now() -> datetime:
    return datetime.now(UTC)


def _purpose(name: str) -> bytes:
    return b"setting:" + name.encode()


class Settings:
    """Read and save.  Every call waits for the database: not on an event loop."""

    def __init__(
        self, database: Database, sealer: Sealer, *, now: Callable[[], datetime] = _now
    ) -> None:
        self._database = database
        self._sealer = sealer
        self._now = now

    def get(self, name: str) -> Setting | None:
        """
        Return a setting; None if nothing was saved under that name.

        Raises:
            StoreError: It is a secret that none of our keys opens.
        """
        with self._database.read() as connection:
            row = connection.execute(select(settings).where(settings.c.name == name)).mappings()
            found = row.first()
        return self._setting(found) if found else None

    def all(self) -> dict[str, Setting]:
        """Return all of them by name."""
        with self._database.read() as connection:
            rows = connection.execute(select(settings).order_by(settings.c.name)).mappings().all()
        return {row["name"]: self._setting(row) for row in rows}

    def put(self, name: str, value: Any) -> None:
        """Save a JSON value in place of an earlier one."""
        self._put(name, value, secret=False)

    def put_secret(self, name: str, value: str) -> None:
        """Save a text that only we can read again."""
        sealed = self._sealer.seal(value.encode(), purpose=_purpose(name))
        self._put(name, sealed, secret=True)

    def delete(self, name: str) -> bool:
        """Forget a setting; return whether there was one."""
        with self._database.write() as connection:
            put_meta(self._database, connection, _STAMP, secrets.token_hex(8))
            done = connection.execute(delete(settings).where(settings.c.name == name))
            return done.rowcount > 0

    def stamp(self) -> str:
        """Return a text that changes with every change: for noticing what another replica saved."""
        with self._database.read() as connection:
            return get_meta(connection, _STAMP) or ""

    def _put(self, name: str, value: Any, *, secret: bool) -> None:
        values = {"value": value, "secret": secret, "updated_at": self._now()}
        with self._database.write() as connection:
            put_meta(self._database, connection, _STAMP, secrets.token_hex(8))
            connection.execute(
                self._database.insert(settings)
                .values(name=name, **values)
                .on_conflict_do_update(index_elements=["name"], set_=values)
            )

    def _setting(self, row: Any) -> Setting:
        value = row["value"]
        if row["secret"]:
            plain = self._sealer.open(value, _purpose(row["name"]))
            if plain is None:
                raise StoreError(
                    f"the setting {row['name']!r} was sealed with the store key"
                    f" {token_key_id(value) or 'of an unknown id'}; add that key to store.key, or"
                    " save the setting again"
                )
            value = plain.decode()
        return Setting(
            name=row["name"], value=value, secret=row["secret"], updated_at=row["updated_at"]
        )


def reseal(connection: Connection, sealer: Sealer) -> int:
    """Seal every secret anew that another key than the first one sealed; return how many."""
    done = 0
    query = select(settings.c.name, settings.c.value).where(settings.c.secret)
    for name, token in connection.execute(query).all():
        if token_key_id(token) == sealer.key_id:
            continue
        plain = sealer.open(token, _purpose(name))
        if plain is None:
            continue  # reading it says which key is missing; the others need not wait for that
        sealed = sealer.seal(plain, purpose=_purpose(name))
        connection.execute(update(settings).where(settings.c.name == name).values(value=sealed))
        done += 1
    return done
