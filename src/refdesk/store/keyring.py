"""
The client keys in memory: who may come in is known without asking the database.

So a database that is away locks nobody out, and lets nobody in who was not let in before.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from refdesk.errors import StoreError
from refdesk.store.keys import PREFIX, ClientKey, ClientKeys, digest

_log = logging.getLogger(__name__)

_MAX_CHARS: Final = 256
"""Our tokens have 60; what is longer is none, and not worth hashing."""
_NO_DIGEST: Final = "0" * 64

POLL_S: Final = 2.0
"""How often changes are looked for: a revoked key stops within this time, and a database read."""


def _now() -> datetime:
    return datetime.now(UTC)


class KeyRing:
    """
    Check keys from memory.

    Nothing is in it before the first `reload`.
    """

    def __init__(self, keys: ClientKeys, *, now: Callable[[], datetime] = _now) -> None:
        self._keys = keys
        self._now = now
        self._stamp: str | None = None
        self._ring: dict[str, tuple[str, ClientKey]] = {}
        self._failing = False

    def __repr__(self) -> str:
        return f"KeyRing({len(self._ring)} keys)"

    def __len__(self) -> int:
        """How many keys there are, revoked and expired ones included."""
        return len(self._ring)

    def check(self, presented: str) -> ClientKey | None:
        """
        Return the key that was shown, or None: unknown, wrong, revoked or expired alike.

        Any text will do, of any length, and the time taken says nothing about a known key's
        secret.
        """
        if len(presented) > _MAX_CHARS or not presented.startswith(PREFIX):
            return None
        ident = presented[len(PREFIX) :].partition("_")[0]
        wanted, key = self._ring.get(ident, (_NO_DIGEST, None))
        same = hmac.compare_digest(digest(presented), wanted)
        return key if same and key is not None and key.is_valid(self._now()) else None

    def get(self, key_id: str) -> ClientKey | None:
        """Return a key by its id, valid or not: for its name and its limit."""
        found = self._ring.get(key_id)
        return found[1] if found else None

    def reload(self) -> bool:
        """
        Take over what changed in the store; return whether anything did.

        It waits for the database: not on an event loop.

        Raises:
            StoreError: The database cannot be read; the keys in memory stay.
        """
        stamp, ring = self._keys.snapshot(unless=self._stamp)
        if stamp == self._stamp:
            return False
        self._stamp, self._ring = stamp, ring
        return True

    async def refresh(self) -> bool:
        """
        Do `reload` off the event loop; return whether the database could be read.

        When it can not be, and when it can be again, one line is logged.
        """
        try:
            await asyncio.to_thread(self.reload)
        except StoreError as exc:
            if not self._failing:
                _log.warning("client keys are checked from memory: %s", exc)
            self._failing = True
            return False
        if self._failing:
            _log.info("client keys are read from the store again")
        self._failing = False
        return True

    async def watch(self, *, every_s: float = POLL_S) -> None:
        """Refresh for ever, until cancelled."""
        while True:
            await asyncio.sleep(every_s)
            await self.refresh()
