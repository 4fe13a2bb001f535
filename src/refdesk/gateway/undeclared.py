"""A search that the client did not declare and that its model's name or entry asks for."""

from __future__ import annotations

from typing import Final

from msgspec import Raw

from refdesk.wires.base import Choice, SearchTool
from refdesk.wires.document import Document, kind, members, string

_FREE: Final = (None, "auto", "any", "required", "allowed_tools")
"""Types of a tool choice that name no tool; what they demand are the client's own tools."""


def undeclared(document: Document) -> SearchTool:
    """
    Return the declaration that a request is treated as if it had.

    It stands beside the client's own tools and limits nothing.  A tool choice of none, or of one of
    the client's tools, is no step to search in, as it would not be for a declared one.
    """
    background = document.get("background")
    return SearchTool(
        declared=False,
        choice=_choice(document),
        background=background is not None and bytes(background) == b"true",
    )


def _choice(document: Document) -> Choice:
    # `function_call` is what `tool_choice` was called while tools were `functions`.
    raw = document.get("tool_choice") or document.get("function_call")
    if raw is None or kind(raw) != "object":
        return "none" if string(raw) == "none" else "auto"
    choice = members(raw)
    type_ = string(choice.get("type"))
    if type_ == "none":
        return "none"
    return "other" if type_ not in _FREE or _names_a_tool(choice) else "auto"


def _names_a_tool(choice: dict[str, Raw]) -> bool:
    return string(choice.get("name")) is not None
