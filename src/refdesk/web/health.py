"""
Which engines rest, why, and until when.

One failure of the vendor's making (a wrong key, no credit, a rate limit) rests an engine at once;
faults that may be chance (down, unreachable, slow, unreadable) only when they come in a row.  An
engine that found nothing, or refused a question, is well.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

State = Literal["ready", "resting"]

NO_CREDIT_S: Final = 6 * 3600.0
"""Credit comes back by a payment or a new month; a few wasted calls a day find out."""
RATE_LIMITED_S: Final = 30.0
"""Where the vendor does not say how long."""
RETRY_AFTER_S: Final = (1.0, 3600.0)
"""What a vendor may ask for; a header is foreign input, and one saw the year 2099."""
IN_A_ROW: Final = 3
"""So many chance faults are no chance."""
FIRST_REST_S: Final = 30.0
LONGEST_REST_S: Final = 600.0
"""The longest rest of an engine that fails again and again."""

_BY_CHANCE: Final = frozenset({"upstream_down", "unreachable", "timeout", "parse_error"})
_WELL: Final = frozenset({"ok", "empty"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """How one engine is: what `engines list` and the metrics show."""

    engine: str
    state: State = "ready"
    reason: str | None = None
    """The outcome it rests for, or ``daily_limit``."""
    until: datetime | None = None
    """When it is back (UTC); None while resting means until the configuration changes."""
    faults_in_a_row: int = 0
    last_outcome: str | None = None


@dataclass(slots=True)
class _Record:
    until: float | None = None
    """On the monotonic clock; infinity until the configuration changes."""
    reason: str | None = None
    in_a_row: int = 0
    last: str | None = None


class Health:
    """
    The rests of all engines of this process.

    Args:
        clock: A monotonic clock, in seconds.
        now: The time of day; daily limits end at midnight UTC.
        used_today: How many searches an engine has done this UTC day; without it, or without a
            limit set, there are no daily limits.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        used_today: Callable[[str], int] | None = None,
    ) -> None:
        self._clock = clock
        self._now = now
        self._used_today = used_today
        self._limits: dict[str, int] = {}
        self._records: dict[str, _Record] = {}

    def record(self, name: str, outcome: str, *, retry_after_s: float | None = None) -> None:
        """Take note of how a call to an engine ended; an outcome that says nothing is passed by."""
        record = self._records.setdefault(name, _Record())
        record.last = outcome
        if outcome in _WELL:
            record.in_a_row = 0
            if record.reason in _BY_CHANCE:
                record.until = record.reason = None
        elif outcome == "bad_key":
            self._rest(record, outcome, math.inf)
        elif outcome == "no_credit":
            self._rest(record, outcome, NO_CREDIT_S)
        elif outcome == "rate_limited":
            self._rest(record, outcome, _clamped(retry_after_s))
        elif outcome in _BY_CHANCE and not self._rests(record):
            # Those in flight when the rest began fail too, and shall not lengthen it.
            record.in_a_row += 1
            if (over := record.in_a_row - IN_A_ROW) >= 0:
                self._rest(record, outcome, min(FIRST_REST_S * 2 ** min(over, 10), LONGEST_REST_S))

    def ready(self, name: str) -> bool:
        """Whether the engine may be asked now."""
        record = self._records.get(name)
        return not (record and self._rests(record)) and not self._spent(name)

    def back_in_s(self, name: str) -> float | None:
        """In how many seconds a resting engine is back: 0 if it is, None if nobody can say."""
        wait = self._wait(name)
        return None if wait == math.inf else wait

    def condition(self, name: str) -> Condition:
        """Return how one engine is."""
        record = self._records.get(name, _Record())
        wait = self._wait(name)
        if wait <= 0:
            return Condition(engine=name, faults_in_a_row=record.in_a_row, last_outcome=record.last)
        return Condition(
            engine=name,
            state="resting",
            reason=record.reason if self._rests(record) else "daily_limit",
            until=None if wait == math.inf else self._now() + timedelta(seconds=wait),
            faults_in_a_row=record.in_a_row,
            last_outcome=record.last,
        )

    def snapshot(self, names: Iterable[str]) -> tuple[Condition, ...]:
        """Return how each of these engines is, in their order."""
        return tuple(self.condition(name) for name in names)

    def configure(self, limits: Mapping[str, int | None], changed: Collection[str] = ()) -> None:
        """
        Take in a new configuration.

        Args:
            limits: Every engine's name and daily limit; what is known of others is dropped.
            changed: Engines whose settings are new: nothing known of them holds any longer.

        A rest for a bad key ends in any case: someone has been at the configuration, and the key
        may come from a file or variable that it only names.
        """
        self._limits = {name: limit for name, limit in limits.items() if limit is not None}
        self._records = {
            name: record
            for name, record in self._records.items()
            if name in limits and name not in changed and record.reason != "bad_key"
        }

    def forget(self, name: str) -> None:
        """Let an engine start afresh, after a call made on purpose has shown it well."""
        self._records.pop(name, None)

    def _rest(self, record: _Record, reason: str, seconds: float) -> None:
        until = self._clock() + seconds
        # A shorter rest never replaces a longer one that still runs.
        if not self._rests(record) or record.until is None or until >= record.until:
            record.until, record.reason = until, reason

    def _rests(self, record: _Record) -> bool:
        return record.until is not None and record.until > self._clock()

    def _spent(self, name: str) -> bool:
        limit = self._limits.get(name)
        return (
            limit is not None and self._used_today is not None and (self._used_today(name) >= limit)
        )

    def _wait(self, name: str) -> float:
        record = self._records.get(name)
        wait = 0.0
        if record and record.until is not None:
            wait = max(0.0, record.until - self._clock())
        if self._spent(name):
            now = self._now().astimezone(UTC)
            tomorrow = datetime(now.year, now.month, now.day, tzinfo=UTC) + timedelta(days=1)
            wait = max(wait, (tomorrow - now).total_seconds())
        return wait


def _clamped(seconds: float | None) -> float:
    if seconds is None or math.isnan(seconds):
        return RATE_LIMITED_S
    least, most = RETRY_AFTER_S
    return min(max(seconds, least), most)
