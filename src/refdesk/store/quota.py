"""
Limits of client keys: searches a day, counted before they begin, and requests a minute.

Searches are counted in the ledger, so that they outlast a restart and other processes learn of them
with the next write: a key's limit may be passed there by what they do in that time.  Requests are
counted in this process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from refdesk.errors import WireError
from refdesk.store.keyring import KeyRing
from refdesk.store.ledger import Ledger, LedgerEntry, Usage

ASKED: Final = ""
"""The ledger's engine name for searches as clients ask for them, whatever answers."""
_MINUTE_S: Final = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """Searches that were counted before they began."""

    _give_back: Callable[[int], None]

    def give_back(self, searches: int = 1) -> None:
        """Uncount searches that found no engine to answer."""
        self._give_back(searches)


class SearchQuota:
    """
    Count searches against the daily limits of client keys.

    Args:
        ledger: Holds the counts.
        keys: The client keys with their limits.
        count: Takes a ledger entry: counts it at once, and has it written later.
        now: The time.
    """

    def __init__(
        self,
        ledger: Ledger,
        keys: KeyRing,
        *,
        count: Callable[[LedgerEntry], object],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._ledger = ledger
        self._keys = keys
        self._count = count
        self._now = now

    def reserve(self, key_id: str | None, searches: int = 1) -> Reservation:
        """
        Count searches of a key before they begin.

        Nothing is awaited between the look and the count, so parallel requests cannot pass the
        limit together.

        Raises:
            WireError: They would pass the key's limit of today (429, with the seconds until it ends
                at midnight UTC).
        """
        if key_id is None:
            return Reservation(_give_back=lambda _: None)
        key = self._keys.get(key_id)
        if key is not None and key.daily_limit is not None:
            asked = self._ledger.today(engine=ASKED, key_id=key_id).asked
            if asked + searches > key.daily_limit:
                raise WireError(
                    f"the client key {key.name!r} may do {key.daily_limit} searches a day (UTC), "
                    f"did {asked}, and this request asks for {searches}; try again tomorrow, or "
                    "have the operator make a key with a higher --searches-per-day",
                    status=429,
                    retry_after_s=self._until_midnight(),
                )
        self._add(key_id, searches)
        return Reservation(_give_back=lambda given: self._add(key_id, -min(given, searches)))

    def _add(self, key_id: str, searches: int) -> None:
        self._count(LedgerEntry(engine=ASKED, usage=Usage(asked=searches), key_id=key_id))

    def _until_midnight(self) -> int:
        now = self._now().astimezone(UTC)
        midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return max(1, math.ceil((midnight - now).total_seconds()))


class RequestRates:
    """
    Requests a minute of each client key: a burst of a whole minute's share, then evenly spread.

    The generic cell rate algorithm (ITU-T I.371): one number for each key.

    Args:
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}

    def take(self, key_id: str, per_minute: int) -> int:
        """Count a request; return 0, or the seconds after which one would pass."""
        now = self._clock()
        share = _MINUTE_S / per_minute
        due = max(self._due.get(key_id, 0.0), now)
        wait = due + share - _MINUTE_S - now
        if wait > 1e-9:
            return math.ceil(wait)
        self._due[key_id] = due + share
        return 0
