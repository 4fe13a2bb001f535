"""How an answer on this wire ends, and how one is ended that broke off."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Raw

from refdesk.errors import UpstreamError, WireError
from refdesk.wires.document import Document, dump, plain
from refdesk.wires.responses.items import fields
from refdesk.wires.sse import Decoder, Event, encode
from refdesk.wires.unfinished import closing

_TERMINAL: Final = re.compile(
    rb"event:[ ]?(?:response\.(?:completed|incomplete|failed)|error)(?=[\r\n]|\Z)"
    rb'|data:[ ]?\{\s*"type"\s*:\s*"(?:response\.(?:completed|incomplete|failed)|error)"'
    rb'|data:[^\r\n]{1,200}?"type"\s*:\s*"response\.(?:completed|incomplete|failed)"'
)
_SIGNS: Final = (
    b"response.completed",
    b"response.incomplete",
    b"response.failed",
    b"event: error",
    b"event:error",
    b'"type":"error"',
    b'"type": "error"',
)
_OF_RESPONSE: Final = re.compile(rb'"(?:parallel_tool_calls|tool_choice|truncation|usage)"\s*:')
_BEGUN: Final = re.compile(rb'"usage"\s*:\s*null|"status"\s*:\s*"in_progress"')
_SEQUENCE: Final = re.compile(rb'"sequence_number"\s*:\s*(\d{1,15})(?!\d)')
_ID: Final = re.compile(rb'"id"\s*:\s*"([\w.-]{1,128})"')
_MODEL: Final = re.compile(rb'"model"\s*:\s*"([\w./:@-]{1,128})"')
_BOUNDARY: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")


def is_complete(tail: bytes) -> bool:
    """
    Whether a stream that ends in these bytes came to its terminal event.

    The event may be longer than the tail: then its own last fields tell.
    """
    if _ends(tail):
        return True
    tail = _without_trailers(tail)
    if _BOUNDARY.search(tail) or tail.startswith((b"event:", b"data:", b"\xef\xbb\xbf")):
        return False
    # The rest of one event.  Only a response has these fields, and one that has just begun has
    # used nothing and said nothing.
    begun = _BEGUN.search(tail) is not None and b'"output_text"' not in tail
    return tail.endswith(b"}") and _OF_RESPONSE.search(tail) is not None and not begun


def _ends(tail: bytes) -> bool:
    """Whether a whole event is terminal; the text of an answer may hold its signs, too."""
    undecided = set(_SIGNS)
    for start, end in _lines_backwards(tail):
        borne = {sign for sign in undecided if tail.find(sign, start, end) >= 0}
        if borne and _TERMINAL.match(tail, start):
            if _whole(tail[start:]):
                return True
            undecided -= borne
    return False


def _without_trailers(tail: bytes) -> bytes:
    """Take off what may follow the last event: blank lines, comments, ``[DONE]``."""
    for start, end in _lines_backwards(tail):
        line = tail[start:end].rstrip()
        if line and line not in (b"data: [DONE]", b"data:[DONE]") and not line.startswith(b":"):
            return tail[: start + len(line)]
    return b""


def _lines_backwards(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each line begins and ends, the last one first."""
    if b"\r" in data:
        data = data.replace(b"\r", b"\n")
    end = len(data)
    while end >= 0:
        start = data.rfind(b"\n", 0, end) + 1
        yield start, end
        end = start - 1


def broken_stream(head: bytes, tail: bytes, message: str) -> bytes:
    """
    Return the ending for a stream that was passed on unread and broke off.

    It is ``response.failed`` with the next sequence number and the response that the stream had
    begun, with the finished items as far as they can be seen.  An event that was cut is finished as
    a ``keepalive``, which clients ignore.  Nothing where the stream had ended.
    """
    if is_complete(tail):
        return b""
    seen = _events(head)
    response = next((found for event in seen if (found := _begun(event))), None)
    half = _half(tail)
    told = tail[: len(tail) - len(half.raw)] if half else tail
    sequence = _next_number(told, head)
    ending = b""
    if half is not None and (told or tail == head):
        ending = _keepalive(half, sequence)
        sequence += 1
    if half is not None and not ending:
        # It is whole but for its blank line, or its beginning is out of sight.
        ending = b"\n\n"
        sequence = _next_number(tail, head)
    id_, model = _ID.search(head), _MODEL.search(head)
    return ending + failed_events(
        message,
        sequence=sequence,
        response=response,
        output=_finished([*seen, *_events(tail)]),
        response_id=id_[1].decode() if id_ else "resp_refdesk_cut",
        model=model[1].decode() if model else "",
    )


def failed_events(
    message: str,
    *,
    sequence: int,
    response: bytes | None,
    output: Sequence[bytes],
    response_id: str,
    model: str,
) -> bytes:
    """
    Return ``response.failed``, after a ``response.created`` where there was none.

    Args:
        message: What happened.
        sequence: The next sequence number.
        response: The response as the stream last told it, or None where it never did.
        output: The items that were finished.
        response_id: The id to use where there is no response.
        model: The model to name there.
    """
    events: list[bytes] = []
    if response is None:
        response = _minimal(response_id, model)
        created = {
            "type": "response.created",
            "sequence_number": sequence,
            "response": Raw(response),
        }
        events.append(encode(dump(created), "response.created"))
        sequence += 1
    failed = Document.read(response).replace(
        {
            "status": b'"failed"',
            "error": dump({"code": "server_error", "message": message}),
            "output": dump([Raw(item) for item in output]),
        }
    )
    event = {
        "type": "response.failed",
        "sequence_number": sequence,
        "response": Raw(bytes(failed).replace(b"\n", b" ")),
    }
    events.append(encode(dump(event), "response.failed"))
    return b"".join(events)


def _minimal(id_: str, model: str) -> bytes:
    # The fields that the SDKs' types require.  When it was made is not known here.
    return dump(
        {
            "id": id_,
            "object": "response",
            "created_at": 0,
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": model,
            "output": [],
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": None,
        }
    )


def _events(data: bytes) -> list[Event]:
    try:
        return list(Decoder().feed(data))
    except UpstreamError:
        return []


def _opened(event: Event) -> dict[str, Raw]:
    try:
        return fields(event.data)
    except WireError:
        return {}


def _begun(event: Event) -> bytes | None:
    if b"response.created" not in event.data[:200] and event.name != "response.created":
        return None
    try:
        document = Document.read(event.data)
        raw = document.get("response")
        return None if raw is None else bytes(Document.read(plain(raw)))
    except WireError:
        return None


def _finished(events: Sequence[Event]) -> list[bytes]:
    """Return the finished items; none where the middle of the stream is out of sight."""
    items: dict[int, bytes] = {}
    for event in events:
        if b"response.output_item.done" not in event.raw[:200]:
            continue
        opened = _opened(event)
        place, item = opened.get("output_index"), opened.get("item")
        if place is not None and item is not None and bytes(place).isdigit():
            items[int(bytes(place)[:15])] = bytes(item)
    seen = sorted(items)
    return [items[place] for place in seen] if seen == [*range(len(seen))] else []


def _whole(data: bytes) -> bool:
    decoder = Decoder()
    try:
        if next(iter(decoder.feed(data)), None) is not None:
            return True
    except UpstreamError:
        return False
    event = decoder.finish()
    return event is not None and bool(_opened(event))


def _half(tail: bytes) -> Event | None:
    decoder = Decoder()
    try:
        for _ in decoder.feed(tail):
            pass
    except UpstreamError:
        return None
    return decoder.finish()


def _keepalive(half: Event, sequence: int) -> bytes:
    """Return what makes of a half event a keepalive; nothing where it cannot become one."""
    members = b'"type":"keepalive","sequence_number":%d' % sequence
    line = re.split(rb"[\r\n]", half.raw)[-1]
    if not half.data:
        start = b"" if line.startswith(b"data:") else b"\ndata: "
        return start + b"{" + members + b"}\nevent: keepalive\n\n"
    rest = closing(half.data, members) if line.startswith(b"data:") else None
    return b"" if rest is None else rest + b"\nevent: keepalive\n\n"


def _next_number(seen: bytes, head: bytes) -> int:
    numbers = _SEQUENCE.findall(seen) or _SEQUENCE.findall(head)
    return int(numbers[-1]) + 1 if numbers else 0
