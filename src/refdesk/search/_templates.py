"""
Prompts that a program filled in, told by their shape.

A user asks; a program's prompt has headed sections, labels with nothing behind them, the turns of a
conversation, rules for the answer.  Where a section holds the user's question, that is the request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

_MOST_CHARS: Final = 65_536
"""Characters of a text in which the shape of a prompt is looked for."""
_MOST_JSON: Final = 1_000_000
_LONG: Final = 400
"""Shorter texts, in characters, are not counted for signs."""
_SIGNS: Final = 3

_MARK: Final = re.compile(
    r"(?:\A|\n)[ \t]*+(?:(#{1,6})[ \t]++([^\n]{1,80}+)(?=\n|\Z)"
    r"|([A-Za-z][A-Za-z -]{0,30}):(?=\s|\Z))"
)
_SPEAKER: Final = re.compile(
    r"(?:\A|\n)[ \t#*\[]*+(user|human|assistant|ai)[\]*]*+[ \t]*+(?::|\n|\Z)", re.IGNORECASE
)
_ASKERS: Final = frozenset({"user", "human"})

_SECTIONS: Final = frozenset(
    {
        *("task", "tasks", "your task", "instruction", "instructions", "role", "objective", "goal"),
        *("guidelines", "rules", "constraints", "context", "context information", "background"),
        *("system", "history", "chat history", "conversation history", "example", "examples"),
        *("input", "format", "output format", "output rules", "response format", "answer format"),
        *("expected output", "output"),
    }
)
_REQUESTS: Final = frozenset(
    {
        *("question", "query", "request", "user query", "user question", "user request"),
        *("user message", "user input", "user prompt", "original question", "current question"),
    }
)
_GIVEN: Final = frozenset(
    {
        *("context", "context information", "documents", "passages", "instructions", "history"),
        *("chat history", "conversation history"),
    }
)
"""Labels of what a program hands over beside the question."""
_ANSWERS: Final = frozenset(
    {"answer", "helpful answer", "final answer", "response", "your answer", "thought"}
)
_WRITINGS: Final = frozenset(
    {
        *("standalone question", "new summary", "summary", "concise summary", "title", "output"),
        *("completion", "json", "tags", "keywords", "translation", "search query", "sql query"),
        *("search queries", "rephrased question", "rewritten question", "category"),
    }
)
"""Labels behind which a model is to write something that is no answer to a user."""
_LABELS: Final = _REQUESTS | _GIVEN | _ANSWERS | _WRITINGS

_PATCH: Final = re.compile(r"(?:\A|\n)(?:diff --git a/|--- a/)")
_PATCH_CHARS: Final = 200
_ROLE: Final = re.compile(
    r"\A\W*(?:you (?:are|will|have been)|act as|your (?:task|job|goal|role))\b", re.IGNORECASE
)
_SHOUTED: Final = re.compile(r"\b(?:MUST|ONLY|NEVER|NOT|CRITICAL|IMPORTANT|EXCLUSIVELY|ALWAYS)\b")
_LISTED: Final = re.compile(r"\n[ \t]*+(?:[-*•]|\d{1,2}[.)])[ \t]")
_ANSWER_FORM: Final = re.compile(
    r"\b(?:(?:respond|reply|return|output) (?:with|only|in|strictly|just|exclusively)"
    r"|json|plain text|without any (?:other|additional|extra))\b",
    re.IGNORECASE,
)
_PARTIES: Final = re.compile(
    r"\b(?:the (?:user|assistant)|conversation|chat history)\b", re.IGNORECASE
)
_PLACEHOLDER: Final = re.compile(r"<(?:analysis|summary|output|answer|response)>|\{\{|\$\{")


@dataclass(frozen=True, slots=True)
class Template:
    """A program's prompt, and what it asks in a user's name; empty where it asks nothing."""

    request: str
    what: str


@dataclass(frozen=True, slots=True)
class _Mark:
    """A heading or label, and where its line begins and ends."""

    name: str
    start: int
    end: int
    heading: bool


def read_template(text: str) -> Template | None:
    """Return what a text is and asks, if its shape is a program's; None where a user wrote it."""
    looked = text[:_MOST_CHARS]
    if found := _read_sections(text):
        return found
    speakers = {match[1].lower() for match in _SPEAKER.finditer(looked)}
    if speakers & _ASKERS and speakers - _ASKERS:
        return Template("", "the turns of a conversation")
    if _is_json(text):
        return Template("", "data without a question")
    patch = _PATCH.search(looked[:_PATCH_CHARS]) is not None
    if patch and not text.rstrip().endswith(("?", "？")):
        return Template("", "a patch without a question")
    if len(text) >= _LONG and _signs(looked) >= _SIGNS:
        return Template("", "instructions of a program")
    return None


def is_headed(text: str) -> bool:
    """Whether a text begins with the heading of a program's prompt."""
    mark = _MARK.match(text)
    return mark is not None and mark[1] is not None and _name(mark[2]) in _SECTIONS


def _read_sections(text: str) -> Template | None:
    marks = list(_marks(text[:_MOST_CHARS]))
    if not marks:
        return None
    if mine := [mark for mark in marks if mark.name.startswith("my request")]:
        return Template(text[mine[0].end :].strip(), "a prompt before the request")
    last = marks[-1]
    open_end = not text[last.end :].strip()
    if open_end and last.name in _WRITINGS:
        return Template("", f"a prompt that ends in {last.name!r}")
    asked = [at for at, mark in enumerate(marks) if mark.name in _REQUESTS]
    framed = open_end and last.name in _ANSWERS
    framed = framed or any(mark.heading or mark.name in _GIVEN for mark in marks)
    if asked and len(marks) > 1 and framed:
        at = asked[-1]
        end = marks[at + 1].start if at + 1 < len(marks) else len(text)
        return Template(text[marks[at].end : end].strip(), "a prompt round the question")
    if len({mark.name for mark in marks} & _SECTIONS) < 2:
        return None
    # What is retrieved stands in a block, and the question behind it (Open WebUI's RAG template).
    block = text.find(">", text.rfind("\n</") + 1) if "\n</" in text else -1
    if block > last.end:
        return Template(text[block + 1 :].strip(), "a prompt before the question")
    return Template("", "a prompt in sections")


def _marks(text: str) -> Iterator[_Mark]:
    for match in _MARK.finditer(text):
        name = _name(match[2] or match[3])
        if match[1] or name in _LABELS:
            yield _Mark(name, match.start(), match.end(), heading=match[1] is not None)


def _name(heading: str) -> str:
    return heading.strip(" \t*:#").lower()


def _is_json(text: str) -> bool:
    text = text.strip()
    if text[:1] + text[-1:] not in ("{}", "[]") or len(text) > _MOST_JSON:
        return False
    try:
        return isinstance(json.loads(text), (dict, list))
    except (ValueError, RecursionError):
        return False


def _signs(text: str) -> int:
    """Count what speaks for a program's instructions."""
    return sum(
        (
            _ROLE.search(text) is not None,
            len(list(islice(_SHOUTED.finditer(text), 2))) == 2,
            len(list(islice(_LISTED.finditer(text), 4))) == 4,
            _ANSWER_FORM.search(text) is not None,
            _PARTIES.search(text) is not None,
            _PLACEHOLDER.search(text) is not None,
        )
    )
