"""
Answers that are no page of results: which kind of failure, said in one sentence.

What a vendor wrote is quoted without markup, cut to `MAX_DETAIL_CHARS`, and never with a key in it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec

from refdesk.errors import EngineError, Outcome
from refdesk.http import HttpResponse
from refdesk.web.refusal import BY_STATUS, refusal, said
from refdesk.web.wording import class_of, is_trouble

Mask = Callable[[str], str]
"""Takes credentials out of a text; see `refdesk.masking.Masker`."""

MAX_DETAIL_CHARS: Final = 200
"""Characters of an engine's refusal that are kept."""
MAX_RETRY_AFTER_S: Final = 3600.0
"""A vendor that asks for more is asked again after an hour all the same."""

_MAX_READ: Final = 16_384
"""How much of a refusal is looked at: the reason stands at its beginning or nowhere."""
_MAX_EMPTY: Final = 65_536
"""Bytes of an answer without rows that are looked at for a failure told with HTTP 200."""

_REMEDY: Final[dict[Outcome, str]] = {
    "bad_key": "check the key of engines.{name}",
    "no_credit": "top up the account, or raise the limit of the key, of engines.{name}",
}

_HIDDEN: Final = re.compile(
    r"<(script|style|head)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL
)
_MARKUP: Final = re.compile(r"<[^<>]*(?:>|\Z)|[<>]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_SECONDS: Final = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,9})?")


def failure(
    response: HttpResponse,
    vendor: str,
    *,
    outcome: Outcome | None = None,
    remedy: str = "",
    mask: Mask = str,
) -> EngineError:
    """
    Return the error that this answer stands for.

    Args:
        response: An answer that is no page of results.
        vendor: What the engine is called in the message.
        outcome: The class of failure, where the vendor's text says more than the status.
        remedy: What the operator can do, as the end of a sentence.
        mask: Takes out what may not stand in the message, should the vendor have quoted it.
    """
    status = response.status
    kind = outcome or by_words(response) or outcome_of(status)
    if 300 <= status < 400:
        remedy = remedy or "engines follow no redirect: set the address it redirects to"
    remedy = remedy or _REMEDY.get(kind, "").format(name=vendor)
    told = excerpt(response.body, mask)
    message = f"{vendor} answered {status}" + (f": {told}" if told else "")
    if remedy:
        message += f"; {remedy}"
    waits = kind in ("rate_limited", "no_credit", "upstream_down")
    return EngineError(
        message, outcome=kind, retry_after_s=retry_after(response) if waits else None
    )


def told_in_body(body: bytes) -> Outcome | None:
    """
    Return the class of the failure that a 200 without rows tells of; None if it tells of none.

    What is no JSON is one where it is a few plain words of trouble: no page, and no broken JSON.
    """
    if len(body) > _MAX_EMPTY:
        return None
    try:
        return refusal(msgspec.json.decode(body))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    text = _plain_words(body)
    return class_of(text) if is_trouble(text) else None


def by_words(response: HttpResponse) -> Outcome | None:
    """
    Return the class that a refusal's words name, where they say more than its status.

    A 400 or 403 may stand for an account without credit, a 429 for the end of a month's quota.
    """
    status = response.status
    if not 400 <= status < 500 or status in (402, 408):
        return None
    words = class_of(_told(response.body))
    if status == 429:
        return "no_credit" if words == "no_credit" else None
    if words in ("no_credit", "rate_limited", "bad_key"):
        return words
    return "unsupported_param" if status == 400 and words == "unsupported_param" else None


def outcome_of(status: int) -> Outcome:
    """Return what a status means when the vendor says no more about it."""
    if status in BY_STATUS:
        return BY_STATUS[status]
    if 200 <= status < 300:
        return "parse_error"
    return "bad_request" if 300 <= status < 500 else "upstream_down"


def retry_after(response: HttpResponse) -> float | None:
    """
    Return the seconds of ``Retry-After``, 0 to `MAX_RETRY_AFTER_S`; None if it says nothing usable.

    A date is measured against the answer's own ``Date``: vendor's clock against vendor's clock.
    """
    value = (response.header("retry-after") or "").strip()
    if _SECONDS.fullmatch(value):
        return min(float(value), MAX_RETRY_AFTER_S)
    try:
        then = parsedate_to_datetime(value)
        now = parsedate_to_datetime(response.header("date") or "")
        seconds = (then - now).total_seconds()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_S)


def excerpt(body: bytes, mask: Mask = str) -> str:
    """Return what a vendor's answer says, fit for a log: no markup, no key, at most 200 chars."""
    return shown(_said(body) or body[:_MAX_READ].decode("utf-8", "replace"), mask)


def _said(body: bytes) -> str:
    if len(body) > _MAX_READ:
        return ""
    try:
        return said(msgspec.json.decode(body))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""


def _told(body: bytes) -> str:
    """Return the words of a refusal: its JSON's, or plain text; a page of HTML has none."""
    return _said(body) or _plain_words(body)


def _plain_words(body: bytes) -> str:
    text = body[:_MAX_READ].decode("utf-8", "replace").strip()
    return "" if text.startswith(("<", "{", "[")) else text


def shown(text: str, mask: Mask = str) -> str:
    """Return foreign text without markup and keys, cut to `MAX_DETAIL_CHARS`."""
    text = mask(text)
    text = html.unescape(_MARKUP.sub(" ", _HIDDEN.sub(" ", text)))
    # What was escaped may have been markup as well, or a key.
    text = " ".join(_CONTROL.sub(" ", _MARKUP.sub(" ", text)).split())
    text = mask(text)
    return text if len(text) <= MAX_DETAIL_CHARS else text[: MAX_DETAIL_CHARS - 1] + "…"
