"""
What comes back of earlier searches: ours, looked up by id; a provider's, which another provider
cannot read.

A reasoning item belongs to the item that follows it: sent without that one, OpenAI refuses the
request.  Our calls have no reasoning of their own, so that what stood before one now belongs to
what follows it, and nothing may be put between the two.  A provider's call takes its reasoning
along when it goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from msgspec import Raw

from refdesk.errors import WireError
from refdesk.wires import restored
from refdesk.wires.base import GatewaySearch, History, Kept, Marks
from refdesk.wires.document import Document, dump, kind, string
from refdesk.wires.responses.items import (
    PREFIX,
    entries,
    fields,
    is_own_call,
    item_type,
    search_id,
)

_PREFIX: Final = PREFIX.encode()


def find_marks(document: Document) -> Marks:
    """Return the ids of our searches in the history: of call items and of references to them."""
    raw = document.get("input")
    if raw is None or kind(raw) != "array" or _PREFIX not in bytes(raw):
        return Marks()
    items = (fields(each) for each in entries(raw))
    ids = (search_id(string(item.get("id")) or "") for item in items if is_own_call(item))
    return Marks(ids=tuple(dict.fromkeys(found for found in ids if found)))


def restore(document: Document, history: History, *, kept: Kept | None) -> Document:
    """
    Turn our search calls into messages with their results; take out those that nobody knows.

    The message stands before the reasoning that preceded the call.  A provider's call whose id
    ``kept`` has not becomes a message with its query and URLs; the reasoning that led to it goes,
    and with it whatever encrypted reasoning stands in the same turn.
    """
    raw = document.get("input")
    if raw is None or kind(raw) != "array" or not _concerns(bytes(raw)):
        return document
    items = [(each, fields(each)) for each in entries(raw)]
    foreign = _foreign_turns(items, kept)
    new: list[Raw] = []
    reasoning = 0  # How many items at the end of `new` are reasoning.
    changed = False
    turn = 0
    for each, item in items:
        turn += _is_user(item)
        if is_own_call(item):
            changed = True
            search = history.searches.get(search_id(string(item.get("id")) or "") or "")
            if search is not None:
                new.insert(
                    len(new) - reasoning, _message(restored.results(search.query, search.sources))
                )
        elif _is_foreign(item, kept):
            changed = True
            del new[len(new) - reasoning :]
            reasoning = 0
            if text := _trace(item):
                new.append(_message(text))
        elif turn in foreign and "encrypted_content" in item and _is_reasoning(item):
            changed = True
        else:
            new.append(each)
            reasoning = reasoning + 1 if _is_reasoning(item) else 0
    return document.replace({"input": dump(new)}) if changed else document


def earlier_search(document: Document, history: History, *, after: int) -> GatewaySearch | None:
    """Return our newest search after a user message, where it is known."""
    raw = document.get("input")
    if raw is None or kind(raw) != "array" or _PREFIX not in bytes(raw):
        return None
    for each in reversed(entries(raw)[after + 1 :]):
        item = fields(each)
        search = history.searches.get(search_id(string(item.get("id")) or "") or "")
        if is_own_call(item) and search is not None and search.sources:
            return replace(search, shown=False)
    return None


def _concerns(data: bytes) -> bool:
    return _PREFIX in data or b"web_search_call" in data or b'"ws_' in data


def _foreign_turns(items: list[tuple[Raw, dict[str, Raw]]], kept: Kept | None) -> set[int]:
    """Return the turns, counted by user messages, in which another provider searched."""
    turns: set[int] = set()
    turn = 0
    for _, item in items:
        turn += _is_user(item)
        if not is_own_call(item) and _is_foreign(item, kept):
            turns.add(turn)
    return turns


def _is_user(item: dict[str, Raw]) -> bool:
    return item_type(item) == "message" and string(item.get("role")) == "user"


def _is_foreign(item: dict[str, Raw], kept: Kept | None) -> bool:
    """Whether this is a provider's call that the upstream did not make."""
    if not _is_hosted_call(item):
        return False
    return kept is None or not kept.has_id(string(item.get("id")) or "")


def _is_reasoning(item: dict[str, Raw]) -> bool:
    type_ = item_type(item)
    return type_ == "reasoning" or (
        type_ == "item_reference" and (string(item.get("id")) or "").startswith("rs_")
    )


def _is_hosted_call(item: dict[str, Raw]) -> bool:
    type_ = item_type(item)
    return type_ == "web_search_call" or (
        type_ == "item_reference" and (string(item.get("id")) or "").startswith("ws_")
    )


def _message(text: str) -> Raw:
    return Raw(
        dump(
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            }
        )
    )


def _trace(item: dict[str, Raw]) -> str:
    action = fields(item.get("action"))
    lines: list[str] = []
    if queries := list(_queries(item, action)):
        lines.append(
            "Web search for " + ", ".join(f'"{restored.query_line(query)}"' for query in queries)
        )
    sources = [fields(each) for each in entries(action.get("sources"))]
    urls = [string(action.get("url")), *(string(source.get("url")) for source in sources)]
    if seen := list(dict.fromkeys(restored.url_line(url) for url in urls if url)):
        lines.append(("Found: " if queries else "Read: ") + " ".join(seen))
    return "\n".join(lines)


def _queries(item: dict[str, Raw], action: dict[str, Raw]) -> Iterator[str]:
    several = [text for each in entries(action.get("queries")) if (text := string(each))]
    if several:
        yield from several
    elif query := string(action.get("query")):
        yield query
    elif not action and (arguments := string(item.get("arguments"))):
        # xAI, November 2025: no action, but the arguments of a call, as JSON in a string.
        data = arguments.strip().encode()
        if data.startswith(b"{") and (query := string(_opened(data).get("query"))):
            yield query


def _opened(data: bytes) -> dict[str, Raw]:
    try:
        return fields(data)
    except WireError:
        return {}
