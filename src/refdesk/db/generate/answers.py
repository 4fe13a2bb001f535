"""
What an assistant or a tool answers when it is asked for a query.

A query may come bare, in ``{"dsl", "explain", "warnings"}``, under ``data`` or ``next``,
as the text of an MCP answer, as JSON in a fence, and after thinking.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

MAX_ANSWER_CHARS: Final = 200_000
"""Characters of a delegate's answer that are read for a query; the rest is ignored."""
_LAYERS: Final = 6
"""How many wrappers are taken off: a fence in a text part in ``content`` in ``data``."""
_WRAPPERS: Final = ("dsl", "data", "next", "result", "structuredContent", "content", "text")
_THINKING: Final = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_FENCE: Final = re.compile(r"```[\w-]*+\s*+(.*?)```", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A document to be linted, or a refusal, or why there is nothing to read."""

    document: Mapping[str, Any] | None = None
    refused: str | None = None
    unread: str | None = None
    warnings: tuple[str, ...] = ()


def read_answer(answer: Any) -> Answer:
    """Find the query in an answer."""
    warnings: tuple[str, ...] = ()
    for _ in range(_LAYERS):
        match answer:
            case str():
                if len(answer) > MAX_ANSWER_CHARS:
                    return Answer(
                        unread=f"the answer has {len(answer)} characters; "
                        f"a query has at most {MAX_ANSWER_CHARS}"
                    )
                found = _documents(answer)
                if len(found) != 1:
                    return Answer(
                        unread=f"the answer holds {len(found)} queries; answer with one JSON object"
                    )
                answer = found[0]
            case Mapping():
                if {"from", "select"} & answer.keys() or isinstance(answer.get("query"), Mapping):
                    return Answer(document=answer, warnings=warnings)
                if isinstance(answer.get("warnings"), list):
                    warnings = tuple(str(each)[:300] for each in answer["warnings"][:5])
                inner = next((answer[key] for key in _WRAPPERS if answer.get(key)), None)
                if inner is None:
                    return _refusal(answer)
                answer = inner
            case [only]:
                answer = only
            case list():
                return Answer(
                    unread=f"the answer holds {len(answer)} things; answer with one JSON object"
                )
            case _:
                break
    return Answer(unread="the answer holds no query; answer with one JSON object that has a from")


def _refusal(answer: Mapping[str, Any]) -> Answer:
    said = answer.get("message") or answer.get("error")
    if answer.get("error") and isinstance(said, str):
        return Answer(refused=" ".join(said.split())[:500])
    return Answer(unread="the answer holds no query; answer with one JSON object that has a from")


def _documents(text: str) -> list[Any]:
    """Return the JSON objects of a text: the whole, or those in fences, or those in between."""
    text = _THINKING.sub("", text).strip()
    for candidates in ([text], [match[1] for match in _FENCE.finditer(text)], _braced(text)):
        found = [each for each in map(_decoded, candidates) if isinstance(each, dict | list)]
        if found:
            return found
    return []


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text.strip())
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _braced(text: str) -> list[str]:
    """Return the parts of a text from an opening brace to the one that closes it."""
    found, depth, start, quoted, escaped = [], 0, 0, False, False
    for at, char in enumerate(text):
        if quoted:
            quoted, escaped = char != '"' or escaped, char == "\\" and not escaped
        elif char == '"' and depth:
            quoted = True
        elif char == "{":
            start = start if depth else at
            depth += 1
        elif char == "}" and depth:
            depth -= 1
            if not depth:
                found.append(text[start : at + 1])
    return found
