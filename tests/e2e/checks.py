"""What an end-to-end run found: one row for each promise, and a table of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sessions import Row


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One promise, and whether it held."""

    client: str
    promise: str
    holds: bool
    seen: str
    """What was seen, in a few words."""


def table(checks: Sequence[Check]) -> str:
    """Return the checks as aligned text, one a line."""
    widths = (max(len(each.client) for each in checks), max(len(each.promise) for each in checks))
    return "\n".join(
        f"{'ok  ' if each.holds else 'FAIL'}  {each.client:<{widths[0]}}  "
        f"{each.promise:<{widths[1]}}  {each.seen}"
        for each in checks
    )


def session_table(rows: Sequence[Row]) -> str:
    """Return the sessions as aligned text: client, user turns, requests, what the engine got."""
    width = max(len(row.client) for row in rows)
    lines = [f"      {'client':<{width}}  turns  model requests  engine calls  texts sent"]
    for row in rows:
        texts = "; ".join(row.asked) or "-"
        lines.append(
            f"{'ok  ' if row.holds else 'FAIL'}  {row.client:<{width}}  {len(row.turns):>5}  "
            f"{row.requests:>14}  {len(row.asked):>12}  {texts}"
        )
    return "\n".join(lines)
