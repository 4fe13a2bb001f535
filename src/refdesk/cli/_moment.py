"""Points in time as people write them on a command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import typer

from refdesk import clock

_SPAN: Final = re.compile(r"(\d{1,6})\s*([smhdw])", re.IGNORECASE)
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment(text: str, option: str, *, ahead: bool) -> datetime:
    """
    Read a point in time: a span such as ``2h`` or ``30d`` from now, or an ISO date or time.

    A date is its first moment; where no zone is named, it is that of the clock.

    Args:
        text: What was written.
        option: The option it was written for, as messages name it.
        ahead: Whether spans count into the future, and not into the past.
    """
    now = clock.now()
    try:
        if span := _SPAN.fullmatch(text.strip()):
            by = timedelta(**{_UNITS[span[2].lower()]: int(span[1])})
            return (now + by if ahead else now - by).astimezone(UTC)
        found = datetime.fromisoformat(text.strip())
        return (found if found.tzinfo else found.replace(tzinfo=now.tzinfo)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text[:60]!r} is no point in time; write 30m, 12h or 7d, 2027-01-31, or "
            "2027-01-31T18:00+01:00",
            param_hint=option,
        ) from None
