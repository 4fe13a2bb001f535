"""Google's own way to say when, which serper and SerpAPI pass on."""

from __future__ import annotations

from datetime import date

from refdesk.types import WebQuery


def tbs(query: WebQuery) -> str | None:
    """Return ``tbs``: a range of dates if there is one, else how far back."""
    if query.since or query.until:
        parts = ["cdr:1"]
        if query.since:
            parts.append(f"cd_min:{_day(query.since)}")
        if query.until:
            parts.append(f"cd_max:{_day(query.until)}")
        return ",".join(parts)
    return f"qdr:{query.time_range[0]}" if query.time_range else None


def _day(day: date) -> str:
    return f"{day.month}/{day.day}/{day.year}"
