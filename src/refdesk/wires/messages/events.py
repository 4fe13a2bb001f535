"""
One event of a streamed answer: what we look at of it, and what we change in it.

What is changed is changed where it stands; an event that cannot be read stays the bytes that came.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import Raw

from refdesk.errors import WireError
from refdesk.wires.document import Document, dump, kind, string
from refdesk.wires.messages.blocks import opened, written
from refdesk.wires.messages.response import count_search
from refdesk.wires.sse import Event, encode

_INDEX: Final = re.compile(
    rb'\s*\{\s*(?:"type"\s*:\s*"[a-z_]*"\s*,\s*)?"index"\s*:\s*(\d{1,9})(?=\s*[,}])'
)
"""The number at the usual place, where no other member can be taken for it."""


class Part(msgspec.Struct):
    type: str = ""
    text: str = ""


class Body(msgspec.Struct):
    """What we look at of an event's data."""

    type: str = ""
    index: int | None = None
    content_block: Part | None = None
    delta: Part | None = None


_BODY: Final = msgspec.json.Decoder(Body)


def read(data: bytes) -> Body | None:
    """Look at an event's data; None if it is no JSON object."""
    try:
        return _BODY.decode(data)
    except (msgspec.DecodeError, RecursionError):
        pass
    # A member of an odd type, or half of a character that was cut between two deltas.
    try:
        document = Document.read(data)
    except WireError:
        return None
    index = document.get("index")
    number = bytes(index) if index is not None else b""
    return Body(
        type=string(document.get("type")) or "",
        index=int(number) if number.isdigit() and len(number) < 10 else None,
        content_block=_part(document.get("content_block")),
        delta=_part(document.get("delta")),
    )


def _part(raw: Raw | None) -> Part | None:
    if raw is None or kind(raw) != "object":
        return None
    table = opened(raw)
    return Part(string(table.get("type")) or "", string(table.get("text")) or "")


def moved(event: Event, index: int, place: int) -> bytes:
    """Number a block's event anew."""
    data = event.data
    match = _INDEX.match(data)
    if match and int(match[1]) == index:
        before, after = data[: match.start(1)], data[match.end(1) :]
        return _with_data(event, b"%s%d%s" % (before, place, after))
    return replaced(event, {"index": b"%d" % place})


def counted(event: Event, *, in_message: bool) -> bytes:
    """Count our search in the usage of an event."""
    try:
        document = Document.read(event.data)
    except WireError:
        return event.raw
    if in_message:
        message = opened(document.get("message"))
        usage = count_search(message.get("usage"), add=False)
        if usage is None:
            return event.raw
        return replaced(event, {"message": dump({**message, "usage": Raw(usage)})})
    usage = count_search(document.get("usage"), add=True)
    return event.raw if usage is None else replaced(event, {"usage": usage})


def replaced(event: Event, changes: dict[str, bytes]) -> bytes:
    """Put other members into an event; one that cannot be read stays as it is."""
    try:
        return _with_data(event, bytes(Document.read(event.data).replace(changes)))
    except WireError:
        return event.raw


def _with_data(event: Event, data: bytes) -> bytes:
    before, found, after = event.raw.partition(event.data)
    if found:
        return before + data + after
    # The data came in several lines, and line ends can only stand between its tokens.
    return encode(data.replace(b"\n", b" "), event.name)


def own_event(name: str, index: int, **more: object) -> bytes:
    return encode(written({"type": name, "index": index, **more}), name)


def error_event(message: str) -> bytes:
    error = {"type": "error", "error": {"type": "api_error", "message": message}}
    return encode(written(error), "error")
