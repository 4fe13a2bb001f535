"""
Reading vendors' JSON: typed, one row at a time, so that a bad row costs itself and no other.

An answer's shape is a msgspec Struct that names only what we use (unknown fields cost no memory).
Rows are ``list[msgspec.Raw]``, read one by one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from refdesk.http import web_url
from refdesk.types import ResultItem
from refdesk.web.engines._text import plain

T = TypeVar("T")

MAX_ROWS: Final = 100
"""More rows than any engine is asked for; the rest of a longer list is not read."""
_MOST_READ: Final = 1_000
"""So many rows are looked at for good ones: a flood of empty ones must not hold up the server."""
MAX_TITLE_CHARS: Final = 300
"""Characters of a result's title; the rest is cut off."""
MAX_CONTENT_CHARS: Final = 8_000
"""Characters of a result's text; the rest is cut off."""
MAX_ANSWER_CHARS: Final = 4_000
"""Characters of an engine's own answer; the rest is cut off."""
_MAX_DATE_CHARS: Final = 64
"""Characters of a result's date; a longer one is no date."""

EMPTY: Final = msgspec.Raw(b"null")

# Possessive, and without need of the closing quote: a hostile body is gone through once.
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|-?\b(?:Infinity|NaN)\b', re.DOTALL)
_TO_MEND: Final = re.compile(r"\\u[dD][89a-fA-F]|[\x00-\x1f]")
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.|[\x00-\x1f]",
    re.DOTALL,
)


class Unreadable(Exception):
    """The bytes are no JSON, or not of the shape the vendor documents."""


def decode(body: bytes, shape: type[T]) -> T:
    """
    Return an answer in its shape, or raise Unreadable.

    Invalid UTF-8, lone surrogates, control characters in strings, a byte order mark and NaN, which
    real vendors send and JSON does not allow, are mended first.
    """
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.ValidationError as exc:
        raise Unreadable(str(exc)) from None
    except RecursionError:
        raise Unreadable("it is nested too deep") from None
    except (msgspec.MsgspecError, ValueError):
        pass
    try:
        return msgspec.json.decode(_mended(body), type=shape)
    except (msgspec.MsgspecError, ValueError) as exc:
        raise Unreadable(str(exc)) from None
    except RecursionError:
        raise Unreadable("it is nested too deep") from None


def part(raw: msgspec.Raw, shape: type[T]) -> T | None:
    """Return one part of an answer in its shape; None if it is absent or of another shape."""
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def item(
    *, url: Any, title: Any = None, content: Any = None, published: Any = None, score: Any = None
) -> ResultItem | None:
    """
    Return a row as a result item: clean text, a title in any case; None without a web URL.

    What is not of its type counts as absent, except the URL.
    """
    if not isinstance(url, str) or (url := web_url(url)) is None:
        return None
    return ResultItem(
        title=_text(title, MAX_TITLE_CHARS) or urlsplit(url).hostname or url,
        url=url,
        content=_text(content, MAX_CONTENT_CHARS),
        published=_text(published, _MAX_DATE_CHARS) or None,
        score=_number(score),
    )


def collect(
    raws: Sequence[msgspec.Raw] | None, shape: type[T], make: Callable[[T], ResultItem | None]
) -> tuple[tuple[ResultItem, ...], int]:
    """
    Return the usable rows in the vendor's order, at most `MAX_ROWS`, and how many were not.

    Args:
        raws: The rows as they came; a list that is null or absent has none.
        shape: What a row must be to be read.
        make: Makes a row an item (see `item`), or None if it is not fit to be one.
    """
    items: list[ResultItem] = []
    skipped = 0
    for raw in (raws or ())[:_MOST_READ]:
        row = part(raw, shape)
        made = make(row) if row is not None else None
        if made is None:
            skipped += 1
            continue
        items.append(made)
        if len(items) == MAX_ROWS:
            break
    return tuple(items), skipped


def first_date(*candidates: Any) -> str | None:
    """Return the first candidate that is a date or words for one: text, on one line."""
    texts = (_text(candidate, _MAX_DATE_CHARS) for candidate in candidates)
    return next(filter(None, texts), None)


def first_text(*candidates: Any) -> str | None:
    """Return the first candidate that is text with something in it, clean and bounded."""
    for candidate in candidates:
        if isinstance(candidate, str) and (text := plain(candidate)):
            return text[:MAX_ANSWER_CHARS]
    return None


def _text(value: Any, chars: int) -> str:
    return plain(value)[:chars].strip() if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _mended(body: bytes) -> str:
    return _TOKEN.sub(_mended_token, body.decode("utf-8", "replace").removeprefix("\ufeff"))


def _mended_token(match: re.Match[str]) -> str:
    token = match[0]
    if not token.startswith('"'):
        return "null"
    return _ESCAPE.sub(_mended_escape, token) if _TO_MEND.search(token) else token


def _mended_escape(match: re.Match[str]) -> str:
    if match[1]:
        return r"\ufffd"
    return max(match[0], " ")
