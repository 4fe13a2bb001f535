"""What day it is, for everything that interprets dates; durations go by the monotonic clock."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from refdesk.errors import ConfigError


def now() -> datetime:
    """
    Return the time, with its zone: that of ``REFDESK_NOW`` where it is set, else the system's.

    Raises:
        ConfigError: ``REFDESK_NOW`` is no ISO 8601 time.
    """
    fixed = os.environ.get("REFDESK_NOW")
    if not fixed:
        return datetime.now(UTC).astimezone()
    try:
        moment = datetime.fromisoformat(fixed)
    except ValueError:
        raise ConfigError(
            f"REFDESK_NOW is {fixed!r}; it must be a time such as 2026-03-15T12:00:00+00:00"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
