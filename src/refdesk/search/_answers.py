"""
What assistants and MCP tools answer, read with patience.

Models wrap what they were asked for: in a block of thoughts, a code fence, a sentence.  Nothing
here raises for what an answer looks like, except that a tool's own error is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from refdesk.errors import SearchError
from refdesk.search.delegate import read_answer
from refdesk.types import Keyword

_THOUGHTS: Final = re.compile(
    r"<(think|thinking|thought|reasoning)\b[^<>]{0,200}>.*?(?:</\1\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_CLOSED_ONLY: Final = re.compile(r"\A.*</(?:think|thinking|thought|reasoning)\s*>", re.DOTALL)
_FENCE: Final = re.compile(r"```[\w-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_WEIGHTED: Final = re.compile(r"(.+)[:：]\s*+([01]?\.\d+|[0-9](?:\.\d+)?)", re.DOTALL)
_LEAD: Final = re.compile(r"^\s*(?:[-*•·]|\d{1,2}[.)、])\s+")
_PARTS: Final = re.compile(r"[\n,，、;；]")

_MOST_CHARS: Final = 100_000
"""An answer longer than this is cut before it is read."""
_DEFAULT: Final = 0.5


def plain_text(text: str) -> str:
    """Return what a model said, without its thoughts and without a fence round it."""
    text = _THOUGHTS.sub(" ", text[:_MOST_CHARS])
    # Some servers drop the opening tag, since their template has written it.
    text = _CLOSED_ONLY.sub("", text).strip()
    fence = _FENCE.search(text)
    return (fence[1] if fence else text).strip()


def texts_of(answer: Mapping[str, Any]) -> Iterator[str]:
    """
    Yield the texts of an MCP result or a chat message.

    Raises:
        SearchError: It is a tool's error.
    """
    content = answer.get("content")
    blocks = content if isinstance(content, (list, tuple)) else (content,)
    texts = [
        text
        for block in blocks
        if isinstance(text := block.get("text") if isinstance(block, Mapping) else block, str)
    ]
    if answer.get("isError") is True or answer.get("is_error") is True:
        said = " ".join((texts[0] if texts else "no reason given").split())[:200]
        raise SearchError(f"the tool reported an error: {said}", reason="engine_bad_response")
    yield from texts


def keywords_in(answer: Any) -> list[Keyword]:
    """
    Return the keywords of an answer, heaviest first; an empty list where it holds none.

    Understood are ``{keywords: […]}``, ``{data: …}`` and ``{next: …}`` round it, a bare list, an
    MCP result, and text that holds one of them, lines, or words parted by commas.  An entry is
    ``{k, w}``, ``"word:weight"`` or a word.

    Raises:
        SearchError: It is a tool's error.
    """
    best: dict[str, Keyword] = {}
    for keyword in _found(answer, depth=0):
        best.setdefault(keyword.text.casefold(), keyword)
    return sorted(best.values(), key=lambda keyword: -keyword.weight)


def _found(answer: Any, depth: int) -> list[Keyword]:
    if depth > 5:
        return []
    if isinstance(answer, str):
        text = plain_text(answer)
        value = read_answer(text)
        return _from_plain(text) if isinstance(value, str) else _found(value, depth + 1)
    if isinstance(answer, Mapping):
        for key in ("keywords", "next", "data", "structuredContent", "result"):
            if key in answer and (found := _found(answer[key], depth + 1)):
                return found
        if (one := _entry(answer)) is not None:
            return [one]
        return next((found for text in texts_of(answer) if (found := _found(text, depth + 1))), [])
    if isinstance(answer, (list, tuple)):
        return [one for entry in answer[:1000] if (one := _entry(entry))]
    return []


def _entry(entry: Any) -> Keyword | None:
    match entry:
        case str():
            return _weighted(entry)
        case {"k": str(word)} | {"keyword": str(word)} | {"text": str(word)}:
            return _keyword(word, entry.get("w", entry.get("weight")))
        case [str(word), weight]:
            return _keyword(word, weight)
    return None


def _weighted(text: str) -> Keyword | None:
    """Read ``word:weight``, cut at the last colon; a word may hold colons itself."""
    match = _WEIGHTED.fullmatch(text.strip())
    # A number above 1 behind a colon is more likely part of a word (10:30, node:20) than a weight.
    if match and float(match[2]) <= 1:
        return _keyword(match[1], float(match[2]))
    return _keyword(text, None)


def _keyword(word: str, weight: Any) -> Keyword | None:
    word = "".join(char if char.isprintable() else " " for char in word[:400])
    word = " ".join(word.split()).strip("\"'`“”「」")
    if not word or len(word) > 100:
        return None
    known = isinstance(weight, (int, float)) and not isinstance(weight, bool)
    if not known or math.isnan(weight) or weight == 0:
        weight = _DEFAULT
    return Keyword(text=word, weight=min(1.0, max(0.1, float(weight))))


def _from_plain(text: str) -> list[Keyword]:
    """Read lines or words parted by commas; prose is not a list of keywords."""
    parts = [part for raw in _PARTS.split(text) if (part := _LEAD.sub("", raw).strip(" \t\"'[]"))]
    if not parts or any(len(part) > 60 or len(part.split()) > 6 for part in parts):
        return []
    if any(part.endswith((".", "!", "?", "。", "！", "？")) and " " in part for part in parts):
        return []
    if len(parts) == 1:
        return [one for part in parts if (one := _weighted(part))]
    found = []
    for place, part in enumerate(parts):
        if (one := _weighted(part)) is not None:
            # Without weights, the order tells: each counts a tenth less than the one before.
            told = one.text != part
            found.append(one if told else Keyword(text=one.text, weight=max(0.1, 1 - place / 10)))
    return found
