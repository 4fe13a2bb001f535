"""Sources outside of the client's domain lists, left out of an answer that a provider searched."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from msgspec import Raw

from refdesk.errors import UpstreamError, WireError
from refdesk.wires.document import Document, dump, kind, plain, string
from refdesk.wires.limiting import Limit, LimitedStream
from refdesk.wires.responses.broken import broken_stream, is_complete
from refdesk.wires.responses.items import entries, fields, item_type
from refdesk.wires.sse import Event, encode, one_line

_COUNT: Final = re.compile(rb'("sequence_number"\s*:\s*)(\d{1,15})(?!\d)')
_BOM: Final = b"\xef\xbb\xbf"


def limited(answer: bytes, limit: Limit) -> bytes:
    """
    Return a whole answer without the sources and annotations that may not be shown.

    Raises:
        UpstreamError: The answer has no output (``bad_response``).
    """
    try:
        response = Document.read(answer.removeprefix(_BOM))
    except WireError as exc:
        raise UpstreamError(f"the upstream's answer: {exc}", fault="bad_response") from exc
    if kind(response.get("output")) != "array":
        raise UpstreamError("the upstream's answer has no output array", fault="bad_response")
    left = _response(response, limit)
    return answer if left is None else bytes(left)


def limiter(limit: Limit, on_end: Callable[[], None]) -> LimitedStream:
    """Return what leaves them out of a streamed answer."""
    return LimitedStream(
        LimitedEvents(limit).edit,
        is_complete=is_complete,
        broken_stream=broken_stream,
        on_end=on_end,
    )


class LimitedEvents:
    """Edits the events of one stream; the numbers after a dropped one close up."""

    def __init__(self, limit: Limit) -> None:
        self._limit = limit
        self._gone = 0
        """Events that were dropped."""
        self._annotations: dict[tuple[bytes, bytes], int] = {}
        """How many annotations of each text part were dropped."""

    def edit(self, event: Event) -> bytes:
        """Return what is sent in an event's place; nothing for an annotation that is left out."""
        if b'"url"' not in event.data:
            return self._numbered(event.raw)
        try:
            document = Document.read(event.data)
        except WireError:
            return event.raw
        changes: dict[str, Any] = {}
        match string(document.get("type")) or event.name:
            case "response.output_text.annotation.added":
                output = bytes(document.get("output_index") or b"")
                where = output, bytes(document.get("content_index") or b"")
                before = self._annotations.get(where, 0)
                if not self._limit.allows(_url(document.get("annotation") or Raw(b"{}"))):
                    self._gone += 1
                    self._annotations[where] = before + 1
                    return b""
                index = bytes(document.get("annotation_index") or b"")
                if before and index.isdigit():
                    changes["annotation_index"] = b"%d" % (int(index) - before)
            case "response.output_item.added" | "response.output_item.done":
                item = document.get("item")
                if item is not None and (new := _item(item, self._limit)) is not item:
                    changes["item"] = new
            case "response.content_part.done":
                part = document.get("part")
                if part is not None and (new := _part(part, self._limit)) is not part:
                    changes["part"] = new
            case "response.completed" | "response.incomplete" | "response.failed":
                changes |= self._terminal(document)
        raw = _framed(event, bytes(document.replace(changes))) if changes else event.raw
        return self._numbered(raw)

    def _terminal(self, document: Document) -> dict[str, Any]:
        response = document.get("response")
        try:
            told = Document.read(plain(response or b""))
        except WireError:
            return {}
        left = _response(told, self._limit)
        return {} if left is None else {"response": bytes(left)}

    def _numbered(self, raw: bytes) -> bytes:
        if not self._gone:
            return raw
        return _COUNT.sub(lambda m: m[1] + b"%d" % (int(m[2]) - self._gone), raw, count=1)


def _response(response: Document, limit: Limit) -> Document | None:
    old = entries(response.get("output"))
    new = [_item(item, limit) for item in old]
    if all(after is before for after, before in zip(new, old, strict=True)):
        return None
    return response.replace({"output": dump(new)})


def _item(raw: Raw, limit: Limit) -> Raw:
    item = fields(raw)
    if item_type(item) == "message":
        old = entries(item.get("content"))
        new = [_part(part, limit) for part in old]
        same = all(after is before for after, before in zip(new, old, strict=True))
        return raw if same else Raw(dump({**item, "content": new}))
    action = fields(item.get("action"))
    left = limit.left(entries(action.get("sources")), _url)
    if item_type(item) != "web_search_call" or left is None:
        return raw
    return Raw(dump({**item, "action": {**action, "sources": left}}))


def _part(raw: Raw, limit: Limit) -> Raw:
    part = fields(raw)
    left = limit.left(entries(part.get("annotations")), _url)
    return raw if left is None else Raw(dump({**part, "annotations": left}))


def _url(raw: Raw) -> str | None:
    return string(fields(raw).get("url"))


def _framed(event: Event, data: bytes) -> bytes:
    data = one_line(data)
    found = event.data in event.raw
    return event.raw.replace(event.data, data, 1) if found else encode(data, event.name)
