"""
Whether an upstream's refusal is about the search tool that a request declared.  No I/O.

A 400 may be about anything in the request.  It is about the tool where it names the tool's type, or
the tool's place in ``tools``, and not one of the tool's settings, another tool or another field.

Wordings: MiniMax ``invalid params, invalid tool type: (2013)``, OpenAI ``Invalid value:
'web_search'`` with ``param: tools[0].type``, pydantic ``loc: [body, tools, 0, function]``, and
Anthropic ``tools.0: Input tag 'web_search_…' found using 'type' does not match …`` (reports of
2026).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from refdesk.errors import WireError
from refdesk.wires.document import Document, elements, kind, members, string

OPTIONS: Final = "web_search_options"
"""The declaration on Chat that is no tool."""
_MAX_TYPE_CHARS: Final = 64
_MAX_BYTES: Final = 256 * 1024
_MAX_CHARS: Final = 4000
_MAX_DEPTH: Final = 10
_TOLD: Final = frozenset(
    {"error", "errors", "detail", "details", "message", "msg", "reason", "description", "title"}
    | {"base_resp", "status_msg", "error_msg", "metadata", "raw"}
)
"""Members of an error that hold words, or further members; others may repeat the request."""

_ITS_FIELDS: Final = frozenset({"tools", OPTIONS, "model"})
"""Fields that a complaint of the tool may begin with."""
_OTHERS: Final = frozenset({"tool_choice", "messages", "input", "system", "max_tokens"})

_ECHO: Final = re.compile(r"\{[^{}]*\}")
_PLACE: Final = re.compile(r"\btools?[.\[/]+(\d+)\]?((?:[.\[/]+['\"]?\w+['\"]?\]?)*)")
_FIELD: Final = re.compile(r"[\s`'\"]*(?:body\.)?(\w+)(?:[.\[/]\S*)?[`'\"]?\s*:")
_SETTING: Final = re.compile(
    r"\b(?:max_uses|allowed_domains|blocked_domains|excluded_domains|user_location|filters"
    r"|search_context_size|external_web_access|allowed_callers|cache_control|defer_loading"
    r"|approximate|city|region|country|timezone)\b"
)
_TOOL_TYPE: Final = re.compile(
    r"\btools?[ _-]types?\b|\btypes? of (?:the )?tools?\b", re.IGNORECASE
)
_SEARCH: Final = re.compile(r"\bweb[ _-]?search", re.IGNORECASE)
_ANY_TOOL: Final = re.compile(r"\btools?\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Declared:
    """A request's declaration of search, as an upstream may complain of it."""

    type: str
    """``web_search_20250305``, ``web_search``, or ``web_search_options``."""
    places: frozenset[int]
    """Of all search tools in ``tools``."""
    alone: bool
    """Whether no other tool is declared."""
    others: frozenset[str]
    """Fields of the request that are not the tool's."""


def declared(document: Document) -> Declared | None:
    """Return the declaration of search in a request, or None where there is none."""
    try:
        table = members(bytes(document))
        tools = table.get("tools")
        entries = elements(tools) if kind(tools) == "array" and tools is not None else []
        types = [string(members(each).get("type")) or "" for each in entries]
    except WireError:
        return None
    places = frozenset(at for at, type_ in enumerate(types) if type_.startswith("web_search"))
    if places:
        name = types[min(places)]
    elif OPTIONS in table:
        name = OPTIONS
    else:
        return None
    if len(name) > _MAX_TYPE_CHARS:
        return None
    alone = len(places) == len(types) and "functions" not in table
    others = (_OTHERS | table.keys()) - _ITS_FIELDS
    return Declared(type=name, places=places, alone=alone, others=others)


def concerns(body: bytes, tool: Declared) -> bool:
    """Whether an upstream's refusal is about the search tool."""
    places, text = _read(body)
    if places:
        return any(_is_tool(place, tool) for place in places)
    found = list(_PLACE.finditer(text))
    if found:
        return any(_is_own(match, tool) for match in found)
    if (named := _FIELD.match(text)) is not None and named[1] in tool.others:
        return False
    return not _SETTING.search(text) and _names(text, tool)


def _names(text: str, tool: Declared) -> bool:
    if _SEARCH.search(text) or _TOOL_TYPE.search(text):
        return True
    return tool.alone and _ANY_TOOL.search(text) is not None


def _is_tool(place: str, tool: Declared) -> bool:
    """Whether the field that an error names is the tool, or what makes it one."""
    if (match := _PLACE.search(place)) is not None:
        return _is_own(match, tool)
    name = place.removeprefix("body.").strip("/$.")
    return name == tool.type or (name in ("tools", "tool") and tool.alone)


def _is_own(match: re.Match[str], tool: Declared) -> bool:
    return int(match[1][:9]) in tool.places and not _SETTING.search(match[2])


def _read(body: bytes) -> tuple[list[str], str]:
    """Return the fields that an error names as data, and its words."""
    places: list[str] = []
    words: list[str] = []
    text = body[:_MAX_BYTES].decode(errors="replace")
    for is_place, part in _walk(text, 0):
        (places if is_place else words).append(part)
    return places, _plain(" ".join(words)[:_MAX_CHARS])


def _walk(tree: Any, depth: int) -> Iterator[tuple[bool, str]]:
    """Yield the parts of an error, and of those that it quotes; a field is marked true."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(tree, str):
        before, quoted = _quoted(tree)
        yield False, before
        yield from _walk(quoted, depth + 1)
    elif isinstance(tree, list):
        for each in tree[:100]:
            yield from _walk(each, depth + 1)
    elif isinstance(tree, dict):
        for name, each in tree.items():
            if name in ("param", "loc"):
                parts = each if isinstance(each, list) else [each]
                if path := ".".join(str(part)[:100] for part in parts[:20] if part is not None):
                    yield True, path
            elif name in _TOLD:
                yield from _walk(each, depth + 1)


def _quoted(text: str) -> tuple[str, Any]:
    """Return the words of a text, and the JSON that follows them."""
    is_list = text.lstrip().startswith("[")
    start, end = text.find("[" if is_list else "{"), text.rfind("]" if is_list else "}") + 1
    if 0 <= start < end:
        try:
            return text[:start], msgspec.json.decode(text[start:end].encode(errors="replace"))
        except (msgspec.DecodeError, RecursionError):
            pass
    return text, None


def _plain(text: str) -> str:
    """Return the words of an error without what it repeats of the request."""
    for _ in range(_MAX_DEPTH):
        shorter = _ECHO.sub(" ", text)
        if shorter == text:
            break
        text = shorter
    return text
