"""The blocks that a search by the model shows, and how ours are told from a provider's."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Raw

from refdesk.errors import WireError
from refdesk.wires.base import GatewaySearch, Source
from refdesk.wires.document import dump, elements, kind, members, string

THINKING: Final = ("thinking", "redacted_thinking")
"""Blocks that must stay first: their signatures cover their place."""
BOM: Final = b"\xef\xbb\xbf"
SEALED: Final = "rd1."
"""How the payloads begin that we sealed."""
_OWN_CALL: Final = "srvtoolu_rd"
_ID_DIGITS: Final = 24
_CITED_CHARS: Final = 150
"""As long as the longest that the provider was seen to cite."""

# Legal in JSON, and a line end to readers that split text before they parse it.
_LINE_ENDS: Final = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


def call_id(search: GatewaySearch) -> str:
    """Return the id of a search's blocks."""
    return _OWN_CALL + search.id[:_ID_DIGITS]


def is_own_call(name: str | None) -> bool:
    """Whether an id is one that `call_id` made."""
    return name is not None and name.startswith(_OWN_CALL)


def search_blocks(search: GatewaySearch, *, direct: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """
    Return the call and its result.

    Args:
        search: What was searched and found.
        direct: Both blocks say that the model called the tool itself, not code of its.
    """
    caller = {"caller": {"type": "direct"}} if direct else {}
    call = {
        "type": "server_tool_use",
        "id": call_id(search),
        "name": "web_search",
        "input": {"query": search.query},
        **caller,
    }
    result = {
        "type": "web_search_tool_result",
        "tool_use_id": call_id(search),
        "content": [
            {
                "type": "web_search_result",
                "title": _title(source),
                "url": source.url,
                "encrypted_content": source.sealed,
                "page_age": source.published,
            }
            for source in search.sources
        ],
        **caller,
    }
    return call, result


def citation(source: Source) -> dict[str, Any]:
    """Return a citation of a source; where it stands is told by the block it is put on."""
    return {
        "type": "web_search_result_location",
        "cited_text": source.snippet[:_CITED_CHARS],
        "url": source.url,
        "title": _title(source),
        "encrypted_index": source.sealed,
    }


def written(tree: Any) -> bytes:
    """Write something of our own as JSON on one line, for every reader's idea of a line."""
    data = dump(tree)
    for end, escape in _LINE_ENDS:
        data = data.replace(end, escape)
    return data


def opened(raw: Raw | bytes | None) -> dict[str, Raw]:
    """Open an object one level deep; empty where there is none."""
    if raw is None or kind(raw) != "object":
        return {}
    try:
        return members(raw)
    except WireError:
        return {}


def content_blocks(message: dict[str, Raw]) -> list[Raw]:
    """Return a message's content blocks as they stand; none where the content is a string."""
    content = message.get("content")
    return elements(content) if content is not None and kind(content) == "array" else []


def text_of(block: dict[str, Raw]) -> str | None:
    """Return the text of a text block; None where it is another."""
    return string(block.get("text")) if string(block.get("type")) == "text" else None


def _title(source: Source) -> str:
    # @ai-sdk/anthropic 3.0.140 refuses a title that is null.
    return source.title or urlsplit(source.url).hostname or source.url
