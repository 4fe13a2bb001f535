"""What the items of an ``input`` and an ``output`` are, read no deeper than needed."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Raw

from refdesk.wires.base import GatewaySearch
from refdesk.wires.document import elements, is_null, kind, members, string

PREFIX: Final = "ws_rd"
"""With it start the ids of search calls that we made."""
_OWN: Final = re.compile(r"ws_rd([0-9a-f]{40})")


def call_id(search: GatewaySearch) -> str:
    """Return the id of the search's item: 45 characters, where 64 are allowed."""
    return PREFIX + search.id


def search_id(item_id: str) -> str | None:
    """Return the search that an id of ours names, or None for one that we never gave out."""
    match = _OWN.fullmatch(item_id)
    return match[1] if match else None


def fields(raw: Raw | bytes | None) -> dict[str, Raw]:
    """Open an object; what is none has no members."""
    return {} if raw is None or kind(raw) != "object" else members(raw)


def entries(raw: Raw | bytes | None) -> list[Raw]:
    """Open an array; what is none has no elements."""
    return [] if raw is None or kind(raw) != "array" else elements(raw)


def given(raw: Raw | None) -> Raw | None:
    """Return a member, or None where it is null."""
    return None if raw is None or is_null(raw) else raw


def item_type(item: dict[str, Raw]) -> str:
    """Return what an item is; a message may be sent without its type, by its role alone."""
    return string(item.get("type")) or ("message" if "role" in item else "")


def is_own_call(item: dict[str, Raw]) -> bool:
    """Whether this is a search call of ours, or a reference to one."""
    return item_type(item) in ("web_search_call", "item_reference") and (
        string(item.get("id")) or ""
    ).startswith(PREFIX)


def found(raw: Raw | None) -> str:
    """Say what stands in a client's body, for a message."""
    name = kind(raw)
    if name == "absent" or raw is None:
        return "none"
    if name in ("object", "array"):
        return f"an {name}"
    shown = bytes(memoryview(raw)[:40]).decode(errors="replace")
    return shown if name == "null" else f"the {name} {shown}"
