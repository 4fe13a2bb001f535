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
from refdesk.mcp_client.cutting import cut_data, cut_text
from refdesk.web.refusal import refusal

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

_SHOWN_CHARS: Final = 500
_REFUSAL_CHARS: Final = 16_384
"""How much of each text of a refusal is kept."""
_REFUSAL_DEPTH: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolAnswer:
    """What a tool answered; one that failed raises instead."""

    text: str = ""
    """All of its text, a blank line between two parts; it tells at its end where it was cut."""
    data: Any = None
    """Its structured content, or its first text that is a JSON object or array; else None."""
    cut: bool = False
    """Whether the answer was longer, and only its beginning is here."""


def read_answer(
    result: CallToolResult, *, tool: str, max_bytes: int, mask: Callable[[str], str]
) -> ToolAnswer:
    """
    Read a tool's result.

    Args:
        result: As the SDK has parsed it.
        tool: The tool's name, for messages.
        max_bytes: How much of the text is taken, and how much of the structured content.
        mask: Takes secrets out of a text.

    Raises:
        DelegateError: The tool says that it failed.
    """
    texts = [text for block in result.content if (text := _text_of(block))]
    if result.is_error:
        said = one_line(mask("\n".join(texts)[: 10 * _SHOWN_CHARS]), _SHOWN_CHARS)
        raise DelegateError(f"the MCP tool {tool} failed: {said or 'it does not say why'}")
    data = _data_of(result, texts)
    if isinstance(data, dict) and refusal(data) is not None:
        # It may quote the key that it was sent.
        texts = [mask(text[:_REFUSAL_CHARS]) for text in texts]
        data = _masked(data, mask)
    text, text_cut = cut_text("\n\n".join(texts), max_bytes)
    data, data_cut = cut_data(data, max_bytes)
    return ToolAnswer(text=text, data=data, cut=text_cut or data_cut)


def _data_of(result: CallToolResult, texts: list[str]) -> Any:
    if result.structured_content is not None:
        return _unwrapped(result.structured_content)
    return next(filter(None, map(_json_of, texts)), None)


def _masked(value: Any, mask: Callable[[str], str], depth: int = 0) -> Any:
    match value:
        case str():
            return mask(value[:_REFUSAL_CHARS])
        case list() | dict() if depth > _REFUSAL_DEPTH:
            return None
        case list():
            return [_masked(each, mask, depth + 1) for each in value]
        case dict():
            return {name: _masked(each, mask, depth + 1) for name, each in value.items()}
    return value


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
