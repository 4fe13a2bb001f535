"""Annotations outside of the client's domain lists, left out of a provider's answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Raw

from refdesk.errors import UpstreamError, WireError
from refdesk.wires.chat.ending import broken_stream, is_complete
from refdesk.wires.document import Document, dump, elements, kind, members, string
from refdesk.wires.limiting import Limit, LimitedStream
from refdesk.wires.sse import Event, encode, one_line


def limited(answer: bytes, limit: Limit) -> bytes:
    """
    Return a whole answer without the annotations that may not be shown.

    Raises:
        UpstreamError: The answer is no JSON object with a list of choices (``bad_response``).
    """
    try:
        document = Document.read(answer)
        choices = elements(document.get("choices") or b"null")
    except WireError as exc:
        raise UpstreamError(
            f"the upstream's answer is no chat completion: {exc}", fault="bad_response"
        ) from exc
    left = _choices(choices, "message", limit)
    return answer if left is None else bytes(document.replace({"choices": dump(left)}))


def limiter(limit: Limit, on_end: Callable[[], None]) -> LimitedStream:
    """Return what leaves them out of a streamed answer."""
    return LimitedStream(
        lambda event: _limited_event(event, limit),
        is_complete=is_complete,
        broken_stream=broken_stream,
        on_end=on_end,
    )


def _limited_event(event: Event, limit: Limit) -> bytes:
    """Return a chunk without the annotations that may not be shown."""
    if b'"url_citation"' not in event.data:
        return event.raw
    try:
        document = Document.read(event.data)
        choices = elements(document.get("choices") or b"[]")
    except WireError:
        return event.raw
    left = _choices(choices, "delta", limit)
    if left is None:
        return event.raw
    data = one_line(bytes(document.replace({"choices": dump(left)})))
    found = event.data in event.raw
    return event.raw.replace(event.data, data, 1) if found else encode(data, event.name)


def _choices(choices: list[Raw], key: str, limit: Limit) -> list[Any] | None:
    new = [_choice(raw, key, limit) for raw in choices]
    same = all(after is before for after, before in zip(new, choices, strict=True))
    return None if same else new


def _choice(raw: Raw, key: str, limit: Limit) -> Any:
    choice = _opened(raw)
    message = _opened(choice.get(key))
    listed = message.get("annotations")
    if listed is None or kind(listed) != "array":
        return raw
    left = limit.left(elements(listed), _url)
    return raw if left is None else {**choice, key: {**message, "annotations": left}}


def _url(annotation: Raw) -> str | None:
    opened = _opened(annotation)
    return string(_opened(opened.get("url_citation")).get("url")) or string(opened.get("url"))


def _opened(raw: Raw | None) -> dict[str, Raw]:
    return members(raw) if raw is not None and kind(raw) == "object" else {}
