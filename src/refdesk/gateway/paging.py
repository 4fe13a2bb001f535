"""
Pages of a list of names, as the two vendors' SDKs ask for them.

Anthropic: ``limit`` (1 to 1,000, by default 20), ``after_id``, ``before_id``
(https://docs.anthropic.com/en/api/models-list).  OpenAI: all, or ``limit`` and ``after``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from refdesk.errors import WireError

MAX_LIMIT: Final = 1000
"""Names on a page at most, as Anthropic has it; a larger ``limit`` is refused (400)."""
_DEFAULT_LIMIT: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A part of a list."""

    names: list[str]
    has_more: bool
    """Whether there are more in the direction that was asked for."""


def read_page(query: bytes, names: Sequence[str], *, messages: bool) -> Page:
    """
    Return the page of names that a URL's query asks for.

    Args:
        query: The query, as it came.
        names: All of them, in order.
        messages: Whether the client speaks Anthropic's dialect.

    Raises:
        WireError: ``limit`` is no number from 1 to 1,000, or a name to start from is not listed.
    """
    given = dict(parse_qsl(query.decode("latin-1")))
    limit = _limit(given.get("limit"), _DEFAULT_LIMIT if messages else None)
    before = given.get("before_id") if messages else None
    after = given.get("after_id" if messages else "after")
    if before is not None:
        left = list(names[: _place(before, names, "before_id")])
        kept = left if limit is None else left[max(0, len(left) - limit) :]
        return Page(names=kept, has_more=len(kept) < len(left))
    left = list(names)
    if after is not None:
        left = left[_place(after, names, "after_id" if messages else "after") + 1 :]
    kept = left if limit is None else left[:limit]
    return Page(names=kept, has_more=len(kept) < len(left))


def _limit(text: str | None, default: int | None) -> int | None:
    if text is None:
        return default
    if text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= MAX_LIMIT:
        return int(text)
    raise WireError(f"limit is {text[:80]!r}; give a number from 1 to {MAX_LIMIT}", param="limit")


def _place(name: str, names: Sequence[str], param: str) -> int:
    try:
        return names.index(name)
    except ValueError:
        raise WireError(
            f"{param} is {name[:80]!r}, which is no model of the list", param=param
        ) from None
