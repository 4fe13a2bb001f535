"""
The declaration of hosted web search: read, and taken out.

Two spellings count: the top-level object ``web_search_options``, and an entry of ``tools`` whose
``type`` is ``web_search`` or starts with ``web_search_`` (clients send it although OpenAI's own
Chat endpoint knows it not; GLM wraps its settings in a ``web_search`` object).  A function or
custom tool is the client's own, whatever its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import Raw

from refdesk.types import ContextSize, Location
from refdesk.wires.base import Choice, SearchTool
from refdesk.wires.document import Document, dump, elements, kind, members, string

T = TypeVar("T")
Fields = dict[str, Raw]

_SIZES: Final[dict[str | None, ContextSize]] = {"low": "low", "medium": "medium", "high": "high"}
_WORDS: Final[dict[str | None, Choice]] = {
    "none": "none",
    "required": "required",
    "any": "required",  # Mistral's word for it
}


def search_tool(document: Document) -> SearchTool | None:
    """
    Return the declaration of hosted web search, or None where there is none.

    Declared twice it is still one search; each field is taken from the first declaration that sets
    it.  A field that makes no sense counts as absent.
    """
    declared: list[Fields] = []
    options = document.get("web_search_options")
    if kind(options) == "object":
        declared.append(_object(options))
    tools = _list(document.get("tools"))
    others = 0
    for raw in tools:
        entry = _object(raw)
        if not _is_search(entry):
            others += 1
        elif not _is(_object(entry.get("web_search")).get("enable"), b"false"):
            declared.append(entry)
    if not declared:
        return None
    return SearchTool(
        type=string(declared[0].get("type")) or "web_search_options",
        choice=_choice(document, tools),
        alone=not others and not _list(document.get("functions")),
        allowed_domains=_first(_allowed_domains, declared) or (),
        blocked_domains=_first(_blocked_domains, declared) or (),
        location=_first(_location, declared),
        context_size=_first(_context_size, declared),
        max_uses=_first(_max_uses, declared),
        live=not any(_is(fields.get("external_web_access"), b"false") for fields in declared),
    )


def strip_search_tool(document: Document, *, searched: bool = False) -> Document:
    """
    Take every declaration of hosted search out, and with it whatever would dangle without it.

    Where the search was done, a choice that it could meet (``required``) becomes ``auto``.

    Other tools stay, in order, as they came.  Where none is left, ``tools``, ``tool_choice`` and
    ``parallel_tool_calls`` go, since upstreams refuse them alone; where some are, a choice that
    named search becomes ``auto``, and a list of allowed tools loses the entry.
    """
    changes: dict[str, Raw | bytes | None] = {}
    if "web_search_options" in document:
        changes["web_search_options"] = None
    tools = _list(document.get("tools"))
    kept = [raw for raw in tools if not _is_search(_object(raw))]
    if not kept:
        gone = [key for key in ("tools", "tool_choice", "parallel_tool_calls") if key in document]
        changes.update(dict.fromkeys(gone))
    else:
        if len(kept) < len(tools):
            changes["tools"] = dump(kept)
        choice = document.get("tool_choice")
        lifted = searched and _choice(document, tools) == "required"
        if choice is not None and (new := _without_search(choice, lifted=lifted)) is not choice:
            changes["tool_choice"] = new
    return document.replace(changes) if changes else document


def _is_search(entry: Fields) -> bool:
    type_ = string(entry.get("type"))
    return type_ is not None and (type_ == "web_search" or type_.startswith("web_search_"))


def _choice(document: Document, tools: list[Raw]) -> Choice:
    raw = document.get("tool_choice")
    choice = _object(raw)
    if _is_search(choice):
        return "search"
    if not tools and not _list(document.get("functions")):
        # `web_search_options` is no tool: without tools a choice says nothing about it.
        return "auto"
    if not choice:
        # `function_call` is what `tool_choice` was called while tools were `functions`.
        if _object(document.get("function_call")):
            return "other"
        word = _WORDS.get(string(raw), "auto")
        # `web_search_options` is no tool that "some tool" could mean.
        among = any(_is_search(_object(entry)) for entry in tools)
        return "auto" if word == "required" and not among else word
    if string(choice.get("type")) != "allowed_tools":
        return "other"
    allowed = _object(choice.get("allowed_tools"))
    entries = [_is_search(_object(entry)) for entry in _list(allowed.get("tools"))]
    if not any(entries):
        return "other"
    if string(allowed.get("mode")) != "required":
        return "auto"
    return "search" if all(entries) else "required"


def _without_search(choice: Raw, *, lifted: bool) -> Raw | bytes:
    fields = _object(choice)
    if _is_search(fields) or (lifted and not fields):
        return b'"auto"'
    if string(fields.get("type")) != "allowed_tools":
        return choice
    allowed = _object(fields.get("allowed_tools"))
    entries = _list(allowed.get("tools"))
    kept = [raw for raw in entries if not _is_search(_object(raw))]
    if len(kept) == len(entries):
        return choice
    if not kept:
        # Nothing but search was allowed: the other tools stay forbidden.
        return b'"none"'
    mode = {"mode": "auto"} if lifted else {}
    return dump({**fields, "allowed_tools": {**allowed, **mode, "tools": kept}})


def _first(read: Callable[[Fields], T | None], declared: list[Fields]) -> T | None:
    for fields in declared:
        for place in (fields, _object(fields.get("web_search"))):
            if (found := read(place)) is not None:
                return found
    return None


def _allowed_domains(fields: Fields) -> tuple[str, ...] | None:
    filters = _object(fields.get("filters"))
    # GLM's filter is one domain, as a string.
    return (
        _strings(filters.get("allowed_domains"))
        or _strings(fields.get("allowed_domains"))
        or _strings(fields.get("search_domain_filter"))
        or None
    )


def _blocked_domains(fields: Fields) -> tuple[str, ...] | None:
    filters = _object(fields.get("filters"))
    blocked = _strings(filters.get("blocked_domains"))
    return blocked or _strings(fields.get("blocked_domains")) or None


def _location(fields: Fields) -> Location | None:
    outer = _object(fields.get("user_location"))
    # Nested on this wire, flat in the Responses spelling that clients send here too.
    place = _object(outer.get("approximate")) or outer
    country = string(place.get("country")) or ""
    found = Location(
        city=string(place.get("city")) or None,
        region=string(place.get("region")) or None,
        country=country if len(country) == 2 and country.isascii() and country.isalpha() else None,
        timezone=string(place.get("timezone")) or None,
    )
    return None if found == Location() else found


def _context_size(fields: Fields) -> ContextSize | None:
    return _SIZES.get(
        string(fields.get("search_context_size")) or string(fields.get("content_size"))
    )


def _max_uses(fields: Fields) -> int | None:
    raw = fields.get("max_uses")
    digits = b"" if raw is None else bytes(raw)
    return int(digits) if digits.isdigit() and len(digits) < 10 else None


def _object(raw: Raw | None) -> Fields:
    return members(raw) if raw is not None and kind(raw) == "object" else {}


def _list(raw: Raw | None) -> list[Raw]:
    return elements(raw) if raw is not None and kind(raw) == "array" else []


def _strings(raw: Raw | None) -> tuple[str, ...]:
    one = string(raw)
    if one is not None:
        return (one,) if one else ()
    return tuple(text for entry in _list(raw) if (text := string(entry)))


def _is(raw: Raw | None, word: bytes) -> bool:
    return raw is not None and bytes(raw) == word
