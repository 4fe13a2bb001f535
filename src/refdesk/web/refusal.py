"""Failures that a JSON answer tells of in its body, whatever its HTTP status."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from refdesk.errors import Outcome
from refdesk.web.wording import class_of, is_all_well, is_nothing_found, is_trouble

BY_STATUS: Final[dict[int, Outcome]] = {
    401: "bad_key",
    402: "no_credit",
    403: "bad_key",
    408: "upstream_down",
    422: "unsupported_param",
    429: "rate_limited",
}
"""What an HTTP status means, as the answer's own or as a number in its body."""

_MOST_DEPTH: Final = 4
_MOST_ENTRIES: Final = 40
"""Members of an object that are looked at for a failure; a refusal is a small one."""

_FAULT: Final = frozenset(
    {"error", "errors", "err", "fault", "faults", "exception", "failure", "errormessage", "errmsg"}
    | {"errormsg", "errordescription", "errordetail", "errordetails", "faultstring"}
)
"""Names of members that stand there for a failure; folded, as `_folded` gives them."""
_SAYING: Final = ("message", "detail", "msg", "reason", "details", "description")
"""Names of members that also say that all is well."""
_FLAG: Final = frozenset({"success", "ok", "succeeded", "successful"})
_STATE: Final = frozenset({"status", "state", "result", "type"})
_BAD_STATE: Final = frozenset({"error", "fail", "failed", "failure", "errorresponse", "ko", "nok"})
_NUMBER: Final = frozenset({"code", "status", "statuscode", "errorcode", "errcode", "httpstatus"})
_NAME: Final = frozenset({"code", "tag", "errorcode", "errcode", "name", "type", "status"})
"""Names of members whose value may be a code, such as RATE_LIMITED."""
_WRAPPER: Final = ("data", "response", "result", "body")
_UNSAID: Final = frozenset({"", "none", "null", "false", "0", "no"})

_CODE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]{2,80}")
_STATUS: Final = re.compile(r"[45][0-9]{2}")


def refusal(document: Any) -> Outcome | None:
    """
    Return the class of the failure that an answer without rows tells of; None if it tells of none.

    A member that is there for failures (``error``, ``errors``, ``success: false``,
    ``status: "error"``, a code of 400 or more) is one.  A text that may say anything (``message``,
    ``detail``) is one where its words tell of trouble, or where the answer has no list of rows at
    all.  A text that says that nothing was found is none.

    Args:
        document: The answer, decoded.
    """
    if isinstance(document, str):
        return class_of(document) if is_trouble(document) else None
    if not isinstance(document, dict):
        return None
    layers = [document, *(part for part in _inner(document) if isinstance(part, dict))]
    told = " ".join(dict.fromkeys(text for layer in layers for text in _sentences(layer)))
    if is_nothing_found(told):
        return None
    number = next((code for layer in layers if (code := _number(layer))), None)
    if number or any(_is_fault(layer) for layer in layers):
        codes = " ".join(code for layer in layers for code in _codes(layer))
        words = class_of(f"{told} {codes}")
        if number is None:
            return words or "upstream_down"
        vague = words is None or words == "bad_request"
        return BY_STATUS.get(number, _by_range(number)) if vague else words
    if not told or is_all_well(told):
        return None
    if is_trouble(told):
        return class_of(told) or "upstream_down"
    return None if _has_list(document) else class_of(told) or "upstream_down"


def said(value: Any, depth: int = 0) -> str:
    """Return the sentence of a JSON refusal, and its code; vendors nest it in a few known ways."""
    if isinstance(value, str):
        return value
    if depth > _MOST_DEPTH:
        return ""
    if isinstance(value, list):
        return said(value[0], depth + 1) if value else ""
    if not isinstance(value, dict):
        return ""
    members = {_folded(name): member for name, member in _members(value)}
    told = ""
    for name in (*_SAYING, *sorted(_FAULT)):
        told = told or said(members.get(name), depth + 1)
    code = next((members[name] for name in ("code", "tag", "errorcode") if members.get(name)), None)
    return f"{told} ({code})" if told and isinstance(code, str) else told


def _is_fault(layer: Mapping[str, Any]) -> bool:
    for name, value in _members(layer):
        key = _folded(name)
        if key in _FAULT and _is_set(value):
            return True
        if key in _FLAG and (value is False or value in (0, "false", "False")):
            return True
        if key in _STATE and isinstance(value, str) and _folded(value) in _BAD_STATE:
            return True
    return False


def _sentences(layer: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an object says of how the search went."""
    for name, value in _members(layer):
        if (key := _folded(name)) in _FAULT or key in _SAYING:
            yield from _strings(value, depth=0)


def _codes(layer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the codes of a failure, such as RATE_LIMITED."""
    for name, value in _members(layer):
        if _folded(name) in _NAME and isinstance(value, str) and _CODE.fullmatch(value):
            yield value


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        if value.strip().lower() not in _UNSAID:
            yield value
    elif depth < _MOST_DEPTH and isinstance(value, dict):
        for _, member in _members(value):
            yield from _strings(member, depth + 1)
    elif depth < _MOST_DEPTH and isinstance(value, list):
        for member in value[:_MOST_ENTRIES]:
            yield from _strings(member, depth + 1)


def _number(layer: Mapping[str, Any]) -> int | None:
    """Return an HTTP status that stands in the body, where it is one of a failure."""
    for name, value in _members(layer):
        if _folded(name) in _FAULT and isinstance(value, dict):
            if number := _number(value):
                return number
        elif _folded(name) in _NUMBER and type(value) in (int, str):
            text = str(value)[:8]
            if _STATUS.fullmatch(text):
                return int(text)
    return None


def _by_range(number: int) -> Outcome:
    return "upstream_down" if number >= 500 else "bad_request"


def _inner(document: Mapping[str, Any]) -> Iterator[Any]:
    for name in _WRAPPER:
        yield document.get(name)


def _has_list(document: Mapping[str, Any]) -> bool:
    """Whether there is a list anywhere near the top: a place where rows would be."""
    layers = [document, *(part for _, part in _members(document) if isinstance(part, dict))]
    return any(isinstance(value, list) for layer in layers for _, value in _members(layer))


def _is_set(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() not in _UNSAID
    return bool(value)


def _members(value: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    for number, (name, member) in enumerate(value.items()):
        if number == _MOST_ENTRIES:
            return
        if isinstance(name, str):
            yield name, member


def _folded(name: str) -> str:
    return name[:40].lower().replace("_", "").replace("-", "")
