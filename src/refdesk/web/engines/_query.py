"""
The words of a query: cut to what an engine takes, and joined with ``site:`` operators.

Operators stand before the words, and words next to operators lose what could undo them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from refdesk.types import WebQuery

_UNSENDABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ufeff]")
_SITE: Final = re.compile(
    r"(?:\w[\w-]*\.)*\w[\w-]*(?::[0-9]{1,5})?(?P<path>(?:/[\w\-.~%!$&'*+,;=:@]*)*)"
)
_BOOLEAN: Final = re.compile(r"\b(?:OR|AND|NOT|NEAR)\b")
_ZWJ: Final = "\u200d"


@dataclass(frozen=True, kw_only=True, slots=True)
class Scoped:
    """A query's words with its site operators, and which of these did not fit."""

    text: str
    sites_dropped: bool = False
    blocked_dropped: bool = False


def clean(text: str) -> str:
    """Return text that can be sent anywhere: valid Unicode, no controls, white space folded."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return " ".join(_UNSENDABLE.sub(" ", text).split())


def cut(text: str, chars: int, words: int | None = None) -> str:
    """
    Return at most that many characters and words, cut between words where there are any.

    Scripts without spaces are cut between characters, never inside one: marks, joined emoji and
    flags stay whole.
    """
    text = clean(text)
    if words is not None:
        text = " ".join(text.split(" ")[:words])
    if len(text) <= chars:
        return text
    space = text.rfind(" ", 0, chars + 1)
    if space > chars // 2:
        return text[:space]
    edge = chars
    while edge > 0 and _continues(text, edge):
        edge -= 1
    return text[: edge or chars].rstrip()


def _continues(text: str, at: int) -> bool:
    """Whether the character at this place belongs to the one before it."""
    char = text[at]
    if unicodedata.category(char).startswith("M") or char == _ZWJ or text[at - 1] == _ZWJ:
        return True
    if "\U0001f3fb" <= char <= "\U0001f3ff" or "\uff9e" <= char <= "\uff9f":
        return True  # skin tones; half-width voicing marks
    if not "\U0001f1e6" <= char <= "\U0001f1ff":
        return False
    flags = 0
    while at - flags - 1 >= 0 and "\U0001f1e6" <= text[at - flags - 1] <= "\U0001f1ff":
        flags += 1
    return flags % 2 == 1


def domains(sites: Iterable[str], most: int | None = None) -> list[str]:
    """Return the sites that are domains, optionally with a path, in plain form and once each."""
    found: dict[str, None] = {}
    for site in sites:
        bare = re.sub(r"^[a-z][a-z0-9+.-]*://", "", clean(site).strip(), flags=re.IGNORECASE)
        bare = bare.removeprefix("*").lstrip(".").split("?")[0].split("#")[0].rstrip("/")
        if len(bare) <= 253 and (match := _SITE.fullmatch(bare)):
            path = match["path"]
            found[bare.removesuffix(path).lower() + path] = None
    return list(found)[:most]


def scoped(query: WebQuery, chars: int, words: int | None = None, *, either: str = "OR") -> Scoped:
    """
    Write ``site:`` and ``-site:`` before the words of a query.

    Operators take at most half of what the engine accepts; of a longer list the first ones stand.
    Operators are advice to an engine: whoever asks filters the results again.

    Args:
        query: Words, ``sites`` and ``blocked_sites``.
        chars: The most characters the engine takes, operators included.
        words: The most words, likewise.
        either: How the engine writes "or".
    """
    only, never = domains(query.sites), domains(query.blocked_sites)
    if not only and not never:
        return Scoped(
            text=cut(query.text, chars, words),
            sites_dropped=bool(query.sites),
            blocked_dropped=bool(query.blocked_sites),
        )
    half = chars // 2
    half_words = words // 2 if words else len(only) * 2 + len(never)
    wanted = _fitting([f"site:{site}" for site in only], f" {either} ", half - 2, half_words)
    head = f" {either} ".join(wanted)
    head = f"({head})" if len(wanted) > 1 else head
    left = half - len(head) - 1
    shut = _fitting([f"-site:{site}" for site in never], " ", left, half_words - len(head.split()))
    head = " ".join([*([head] if head else []), *shut])
    left_words = words - len(head.split()) if words else None
    rest = cut(_tame(query.text), chars - len(head) - 1, left_words)
    return Scoped(
        text=f"{head} {rest}".strip(),
        sites_dropped=len(wanted) < len(only) or len(only) < len(set(query.sites)),
        blocked_dropped=len(shut) < len(never) or len(never) < len(set(query.blocked_sites)),
    )


def _fitting(operators: list[str], joint: str, chars: int, words: int) -> list[str]:
    fitting: list[str] = []
    length = count = 0
    for operator in operators:
        length += len(operator) + (len(joint) if fitting else 0)
        count += 1 + (len(joint.split()) if fitting else 0)
        if length > chars or count > words:
            break
        fitting.append(operator)
    return fitting


def _tame(text: str) -> str:
    """Take from the words what would widen or end the operators before them."""
    text = _BOOLEAN.sub(lambda match: match[0].lower(), clean(text))
    text = re.sub(r"[()|]", " ", text)
    return text.replace('"', " ") if text.count('"') % 2 else text
