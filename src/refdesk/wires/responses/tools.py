"""
The declaration of hosted web search: read, and taken out.

Only ``type`` decides: ``web_search``, ``web_search_preview`` and their dated forms.  A function or
custom tool is the client's own, whatever its name.
"""

from __future__ import annotations

import re
from typing import Any, Final

from msgspec import Raw

from refdesk.errors import WireError
from refdesk.types import ContextSize, Location
from refdesk.wires.base import Choice, SearchTool
from refdesk.wires.document import Document, dump, kind, string
from refdesk.wires.responses.items import entries, fields

_TYPE: Final = "web_search"
_SIZES: Final[dict[str | None, ContextSize]] = {"low": "low", "medium": "medium", "high": "high"}
_WORDS: Final[dict[str | None, Choice]] = {"none": "none", "required": "required"}
_COUNT: Final = re.compile(rb"\d{1,9}")
_OF_TOOLS: Final = ("tools", "tool_choice", "parallel_tool_calls")
"""Fields that an upstream refuses, or has no use for, where no tool is declared."""


def search_tool(document: Document) -> SearchTool | None:
    """
    Return the declaration of hosted web search, or None where there is none.

    Declared twice it is still one search, with the settings of the first.  A setting that makes no
    sense counts as absent.
    """
    raw = document.get("tools")
    if raw is None or not _may_name_search(raw):
        return None
    tools = [fields(tool) for tool in entries(raw)]
    declared = [tool for tool in tools if _is_search(tool)]
    if not declared:
        return None
    tool = declared[0]
    if _words(tool.get("allowed_domains")) and _words(tool.get("excluded_domains")):
        raise WireError(
            f"the tool {string(tool.get('type'))!r} has both allowed_domains and "
            "excluded_domains; send one of them",
            param="tools",
        )
    filters = fields(tool.get("filters"))
    return SearchTool(
        type=string(tool.get("type")) or "",
        choice=_choice(document.get("tool_choice")),
        alone=len(declared) == len(tools),
        # xAI writes its filters at the top level, and `excluded_` for blocked.
        allowed_domains=_words(filters.get("allowed_domains"))
        or _words(tool.get("allowed_domains")),
        blocked_domains=_words(filters.get("blocked_domains"))
        or _words(tool.get("excluded_domains")),
        location=_location(fields(tool.get("user_location"))),
        context_size=_SIZES.get(string(tool.get("search_context_size"))),
        max_uses=_count(document.get("max_tool_calls")),
        # `indexed_web_access` only restricts which pages may be fetched live; a search fetches
        # none (openai/codex, codex-rs/core/src/tools/hosted_spec.rs, seen November 2026).
        live=not _is(tool.get("external_web_access"), b"false"),
        background=_is(document.get("background"), b"true"),
    )


def strip_search_tool(document: Document, *, searched: bool = False) -> Document:
    """
    Take every declaration of hosted search out, and put the tool choice right.

    The other tools stay, in their order.  Without any, the fields that need tools go as well.
    Where the search was done, a choice that it could meet (``required``) becomes ``auto``.
    """
    tools = entries(document.get("tools"))
    kept = [tool for tool in tools if not _is_search(fields(tool))]
    if len(kept) == len(tools):
        return document
    if not kept:
        return document.replace({name: None for name in _OF_TOOLS if name in document})
    raw = document.get("tool_choice")
    lifted = searched and _choice(raw) == "required"
    return document.replace({"tools": dump(kept), **_choice_without(raw, lifted=lifted)})


def _choice_without(raw: Raw | None, *, lifted: bool) -> dict[str, bytes]:
    choice = fields(raw)
    if _is_search(choice) or (lifted and not choice):
        return {"tool_choice": b'"auto"'}
    if string(choice.get("type")) == "allowed_tools":
        allowed = entries(choice.get("tools"))
        kept = [tool for tool in allowed if not _is_search(fields(tool))]
        if len(kept) == len(allowed):
            return {}
        mode = {"mode": "auto"} if lifted else {}
        left = dump({**choice, **mode, "tools": kept})
        return {"tool_choice": left if kept else b'"auto"'}
    return {}


def _choice(raw: Raw | None) -> Choice:
    if kind(raw) != "object":
        return _WORDS.get(string(raw), "auto")
    choice = fields(raw)
    if _is_search(choice):
        return "search"
    type_ = string(choice.get("type"))
    if type_ == "allowed_tools":
        allowed = [_is_search(fields(tool)) for tool in entries(choice.get("tools"))]
        if not any(allowed):
            return "other"
        if string(choice.get("mode")) != "required":
            return "auto"
        return "search" if all(allowed) else "required"
    return "auto" if type_ is None else "other"


def _may_name_search(raw: Raw) -> bool:
    # Most requests declare tools and no search; they need not be opened.  Nothing but an escape
    # could hide the name.
    data = bytes(raw)
    return b"web_search" in data or b"\\u" in data


def _is_search(tool: dict[str, Raw]) -> bool:
    type_ = string(tool.get("type")) or ""
    return type_ == _TYPE or type_.startswith(_TYPE + "_")


def _is(raw: Raw | None, word: bytes) -> bool:
    return raw is not None and bytes(raw) == word


def _words(raw: Raw | None) -> tuple[str, ...]:
    # One text in place of a list: a limit that is written wrongly binds all the same.
    texts = [one] if (one := string(raw)) is not None else [string(each) for each in entries(raw)]
    return tuple(text.strip() for text in texts if text and text.strip())


def _location(place: dict[str, Raw]) -> Location | None:
    parts: dict[str, Any] = {
        name: text.strip()
        for name in ("city", "region", "country", "timezone")
        if (text := string(place.get(name))) and text.strip()
    }
    return Location(**parts) if parts else None


def _count(raw: Raw | None) -> int | None:
    # `max_tool_calls` caps the hosted calls of one response, ours among them.
    return int(bytes(raw)) if raw is not None and _COUNT.fullmatch(bytes(raw)) else None
