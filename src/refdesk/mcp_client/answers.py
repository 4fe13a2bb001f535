"""
What a tool answered, as text and as data.  No I/O.

A tool's answer is foreign text: it is bounded here, and whoever shows it cleans it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from refdesk.cleaning import one_line
from refdesk.errors import DelegateError

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

_SHOWN_CHARS: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolAnswer:
    """What a tool answered; one that failed raises instead."""

    text: str = ""
    """All of its text, a blank line between two parts."""
    data: Any = None
    """Its structured content, or its first text that is a JSON object or array; else None."""


def read_answer(
    result: CallToolResult, *, tool: str, max_bytes: int, mask: Callable[[str], str]
) -> ToolAnswer:
    """
    Read a tool's result.

    Args:
        result: As the SDK has parsed it.
        tool: The tool's name, for messages.
        max_bytes: The largest text, and the largest structured content.
        mask: Takes secrets out of a text that goes into a message.

    Raises:
        DelegateError: The tool says that it failed, or the answer is too large.
    """
    texts = [text for block in result.content if (text := _text_of(block))]
    if result.is_error:
        said = one_line(mask("\n".join(texts)[: 10 * _SHOWN_CHARS]), _SHOWN_CHARS)
        raise DelegateError(f"the MCP tool {tool} failed: {said or 'it does not say why'}")
    text = "\n\n".join(texts)
    size = max(len(text.encode("utf-8", "replace")), _size_of(result.structured_content))
    if size > max_bytes:
        raise DelegateError(
            f"the MCP tool {tool} answered with {size} bytes; at most {max_bytes} are taken"
        )
    if result.structured_content is not None:
        return ToolAnswer(text=text, data=_unwrapped(result.structured_content))
    return ToolAnswer(text=text, data=next(filter(None, map(_json_of, texts)), None))


def _text_of(block: ContentBlock) -> str:
    match block.type:
        case "text":
            return block.text
        case "resource":
            return getattr(block.resource, "text", "")
        case "resource_link":
            return f"{block.title or block.name}: {block.uri}"
        case _:
            return f"[{block.type} left out]"


def _size_of(data: Any) -> int:
    try:
        return len(msgspec.json.encode(data))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        # Out of JSON, and yet not to be written as JSON: nested too deeply.
        return 2**63


def _unwrapped(data: Any) -> Any:
    # SDKs put what is no object under this one key, since structured content must be an object.
    if isinstance(data, dict) and list(data) == ["result"]:
        return data["result"]
    return data


def _json_of(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
