"""
Errors that an upstream tells inside of an answer whose status is good.

A stream's head goes out before the model has begun, so what fails after it can only be told in an
event: ``event: error`` on Messages, ``error`` or ``response.failed`` on Responses, ``{"error": …}``
on Chat.  Some upstreams answer whole requests so, too.  Of an error only its type is read: its
message may quote the request.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import Raw

from refdesk.wires.document import kind, string
from refdesk.wires.sse import Decoder, Event

_TYPE_CHARS: Final = 64
_BEGINNING: Final = 1024
"""Bytes of a whole answer in which an error stands, if there is one."""
_NO_WORD: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_SIGN: Final = b"error"
_FIRST: Final = 4096
_LAST: Final = 8


_NULL: Final = Raw(b"null")


class _Choice(msgspec.Struct):
    finish_reason: str | None = None


class _Body(msgspec.Struct):
    type: Raw = _NULL
    object: Raw = _NULL
    error: Raw = _NULL
    code: Raw = _NULL
    response: Raw = _NULL
    choices: Raw = _NULL


class _Error(msgspec.Struct):
    type: Raw = _NULL
    code: Raw = _NULL


_BODY: Final = msgspec.json.Decoder(_Body)
_ERROR: Final = msgspec.json.Decoder(_Error)
_CHOICES: Final = msgspec.json.Decoder(list[_Choice])


def error_in_stream(head: bytes, tail: bytes) -> str:
    """
    Return the type of the last error that a stream tells, or an empty string.

    Args:
        head: Its first bytes.
        tail: Its last bytes; they may begin inside of an event.
    """
    return _error_in(_last_events(tail)) or (_error_in(head[:_FIRST]) if head != tail else "")


def _last_events(tail: bytes) -> bytes:
    """Return the events at the end, among which an error stands, and what may follow it."""
    at = len(tail)
    for _ in range(_LAST):
        at = tail.rfind(b"\n\n", 0, at)
        if at < 0:
            return tail
    return tail[at:]


def _error_in(part: bytes) -> str:
    if not _may_tell(part):
        return ""
    decoder = Decoder()
    found = ""
    for event in (*decoder.feed(part), decoder.finish()):
        if event is not None and event.data:
            found = _of_event(event) or found
    return found


def error_in_body(body: bytes) -> str:
    """Return the type of the error that a whole answer is, or an empty string."""
    if not _may_tell(body[:_BEGINNING]):
        return ""
    found = _read(body)
    return _of_body(found) if found is not None else ""


def _may_tell(data: bytes) -> bool:
    # Nearly all answers tell none; they are only looked through for a word, and what stands by it.
    at = data.find(_SIGN)
    while at >= 0:
        end = at + len(_SIGN)
        before = data[max(0, at - 16) : at].rstrip(b" ")
        if before.endswith(b"event:"):
            return True
        if before.endswith(b'"') and data[end : end + 1] == b'"':
            after = data[end + 1 : end + 16].lstrip()
            value = after[1:].lstrip()[:1] if after[:1] == b":" else b""
            if value in (b"{", b'"'):
                return True
            if not value and before[:-1].rstrip().endswith(b":"):
                return True
            if b"response.failed" in data:
                return True
        at = data.find(_SIGN, end)
    return False


def _of_event(event: Event) -> str:
    body = _read(event.data)
    if body is None:
        return "error" if event.name == "error" else ""
    return _of_body(body) or ("error" if event.name == "error" else "")


def _of_body(body: _Body) -> str:
    type_ = string(body.type)
    if type_ == "response.failed":
        failed = _read(bytes(body.response))
        return (_of_error(failed.error) if failed else "") or "response.failed"
    if kind(body.error) in ("object", "string"):
        return _of_error(body.error) or "error"
    if type_ == "error":
        return _word(body.code) or "error"
    if string(body.object) == "error":
        return _word(body.type) or _word(body.code) or "error"
    return _of_choices(body.choices)


def _of_error(raw: Raw) -> str:
    if kind(raw) != "object":
        return ""
    try:
        error = _ERROR.decode(raw)
    except msgspec.DecodeError:
        return ""
    return _word(error.type) or _word(error.code)


def _of_choices(raw: Raw) -> str:
    """Return what is told as a choice's end (Mistral)."""
    if b'"error"' not in bytes(raw):
        return ""
    try:
        choices = _CHOICES.decode(raw)
    except msgspec.DecodeError:
        return ""
    return "error" if any(each.finish_reason == "error" for each in choices) else ""


def _word(raw: Raw) -> str:
    """Return a text or a number as a word that can be a label."""
    if kind(raw) not in ("string", "number"):
        return ""
    text = string(raw) if kind(raw) == "string" else bytes(raw).decode("ascii", "replace")
    return _NO_WORD.sub("_", (text or "")[:_TYPE_CHARS]).strip("_")


def _read(data: bytes) -> _Body | None:
    try:
        return _BODY.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
