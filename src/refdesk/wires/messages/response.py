"""
A whole answer with a search in it, and errors in this wire's JSON.

Blocks that stand in the answer are copied as they are; a text block only gets citations added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import Raw

from refdesk.errors import UpstreamError, WireError
from refdesk.wires.base import GatewaySearch
from refdesk.wires.citations import CitationFinder
from refdesk.wires.document import Document, dump, elements, is_null, kind, string
from refdesk.wires.json_text import finder
from refdesk.wires.messages.blocks import (
    BOM,
    THINKING,
    citation,
    opened,
    search_blocks,
    text_of,
    written,
)
from refdesk.wires.messages.request import calls_directly, wants_json

_ERROR_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def attach_search(
    answer: bytes,
    search: GatewaySearch,
    asked: Document,
    *,
    on_unknown: Callable[[int], None] = lambda _: None,
) -> bytes:
    """
    Put the search into a whole answer: its blocks, its citations, its count.

    Raises:
        UpstreamError: The answer is not a message (``bad_response``).
    """
    try:
        document = Document.read(answer.removeprefix(BOM))
        old = message_blocks(document)
    except WireError as exc:
        raise UpstreamError(
            f"the upstream's answer is no message: {exc}", fault="bad_response"
        ) from exc
    blocks: list[Raw] = []
    shown: list[Raw] = []
    if search.shown:
        pair = search_blocks(search, direct=calls_directly(asked))
        shown = [Raw(written(each)) for each in pair]
    as_json = wants_json(asked)
    leading = True
    unknown = 0
    for block in old:
        table = opened(block)
        if leading and string(table.get("type")) not in THINKING:
            leading = False
            blocks += shown
        finding = finder(search.urls, as_json=as_json)
        blocks.append(_with_citations(block, table, search, finding))
        unknown += finding.unknown
    if leading:
        blocks += shown
    on_unknown(unknown)
    changes: dict[str, Raw | bytes | None] = {"content": dump(blocks)}
    usage = count_search(document.get("usage"), add=True) if search.shown else None
    if usage is not None:
        changes["usage"] = usage
    return bytes(document.replace(changes))


def count_search(usage: Raw | None, *, add: bool) -> bytes | None:
    """
    Return the usage with one search more; None where it is to stay as it is.

    Token counts are not touched.  Usage of a shape we do not know stays as it is.

    Args:
        usage: The upstream's; None where it sent none, or null.
        add: Whether the count of searches is added where there is none yet.
    """
    if usage is not None and kind(usage) != "object":
        return None
    table: dict[str, Any] = dict(opened(usage))
    tools = table.get("server_tool_use")
    if tools is None or is_null(tools):
        if not add:
            return None
        # The SDK's type has both counts.
        return dump(
            {**table, "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0}}
        )
    if kind(tools) != "object":
        return None
    counts: dict[str, Any] = dict(opened(tools))
    before = counts.get("web_search_requests", Raw(b"0"))
    digits = b"0" if is_null(before) else bytes(before)
    if not digits.isdigit():
        return None
    counts["web_search_requests"] = int(digits) + 1
    return dump({**table, "server_tool_use": counts})


def error_body(
    message: str, *, status: int, param: str | None, request_id: str, code: str | None = None
) -> bytes:
    """Return an error as this wire's JSON; the wire has no place for ``param``."""
    error: dict[str, Any] = {"type": _ERROR_TYPES.get(status, "api_error"), "message": message}
    if code is not None:
        error["details"] = {"error_code": code}
    return dump({"type": "error", "error": error, "request_id": request_id})


def message_blocks(document: Document) -> list[Raw]:
    """Return the content blocks of a message, or raise WireError where it is none."""
    name = document.get("type")
    content = document.get("content")
    if (name is not None and string(name) != "message") or content is None:
        raise WireError("it has no content blocks")
    return elements(content)


def _with_citations(
    block: Raw, table: dict[str, Raw], search: GatewaySearch, finder: CitationFinder
) -> Raw:
    text = text_of(table)
    found = [*finder.feed(text), *finder.finish()] if text and search.sources else []
    if not found:
        return block
    # The provider's own come first: in a stream they come before the text they belong to.
    old = table.get("citations")
    kept: list[Any] = list(elements(old)) if old is not None and kind(old) == "array" else []
    ours = [Raw(written(citation(search.sources[each.source]))) for each in found]
    return Raw(dump({**table, "citations": [*kept, *ours]}))
