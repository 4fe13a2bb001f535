"""Results outside of the client's domain lists, left out of an answer that a provider searched."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Raw

from refdesk.errors import UpstreamError, WireError
from refdesk.wires.document import Document, dump, elements, kind, string
from refdesk.wires.limiting import Limit, LimitedStream
from refdesk.wires.messages.blocks import BOM, opened
from refdesk.wires.messages.ending import broken_stream, is_complete
from refdesk.wires.messages.events import replaced
from refdesk.wires.messages.response import message_blocks
from refdesk.wires.sse import Event


def limited(answer: bytes, limit: Limit) -> bytes:
    """
    Return a whole answer without the results, and the citations of them, that may not be shown.

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
    new = [_block(raw, limit) for raw in old]
    if all(after is before for after, before in zip(new, old, strict=True)):
        return answer
    return bytes(document.replace({"content": dump(new)}))


def limiter(limit: Limit, on_end: Callable[[], None]) -> LimitedStream:
    """Return what leaves them out of a streamed answer."""
    return LimitedStream(
        lambda event: _limited_event(event, limit),
        is_complete=is_complete,
        broken_stream=broken_stream,
        on_end=on_end,
    )


def _limited_event(event: Event, limit: Limit) -> bytes:
    """Return what is sent in an event's place; nothing for a citation that may not be shown."""
    if b'"url"' not in event.data:
        return event.raw
    try:
        document = Document.read(event.data)
    except WireError:
        return event.raw
    match string(document.get("type")):
        case "content_block_start":
            block = document.get("content_block")
            if block is not None and (new := _block(block, limit)) is not block:
                return replaced(event, {"content_block": bytes(new)})
        case "content_block_delta":
            citation = opened(opened(document.get("delta")).get("citation"))
            if citation and not limit.allows(string(citation.get("url"))):
                return b""
    return event.raw


def _block(raw: Raw, limit: Limit) -> Raw:
    block = opened(raw)
    key = {"web_search_tool_result": "content", "text": "citations"}.get(
        string(block.get("type")) or ""
    )
    listed = block.get(key) if key else None
    if key is None or listed is None or kind(listed) != "array":
        return raw
    left = limit.left(elements(listed), lambda each: string(opened(each).get("url")))
    return raw if left is None else Raw(dump({**block, key: left}))
