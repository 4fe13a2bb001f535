"""Where in a JSON text the value of each path stands."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from refdesk.db.dsl.types import Diagnostic, Position

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_ATOM: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,\]}]+', re.DOTALL)

_MOST_LEVELS: Final = 100
"""Levels whose places are told; what is deeper stands where the value around it stands."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """The spans of a text by path, such as ``wheres[0].value``."""

    text: str
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def placed(self, finding: Diagnostic) -> Diagnostic:
        """Return a finding with where it stands: its own path, or the nearest one around it."""
        path = finding.path
        while path and path not in self.spans:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        start, end = self.spans.get(path, (0, len(self.text)))
        source = finding.source or self.text[start:end][:200]
        return replace(finding, position=_position(self.text, start, end), source=source)

    def placed_at(self, finding: Diagnostic, text: str, offset: int) -> Diagnostic:
        """Return a finding that stands at one character of a text."""
        return replace(finding, position=_position(text, offset, min(offset + 1, len(text))))


def find_places(text: str) -> Places:
    """Return the places in a text that is known to be JSON; of other text, the whole."""
    spans: dict[str, tuple[int, int]] = {}
    if text:
        # An explicit stack: how deep the text is nested is not ours to choose.
        _scan(text, spans)
    return Places(text=text, spans=spans)


def _scan(text: str, spans: dict[str, tuple[int, int]]) -> None:
    at = _skip(text, 0)
    stack: list[_Open] = []
    path = ""
    while at < len(text) and len(stack) < _MOST_LEVELS:
        char = text[at]
        if char in "{[":
            stack.append(_Open(path=path, start=at, is_object=char == "{"))
            at = _skip(text, at + 1)
        elif char in "]}":
            closed = stack.pop()
            spans[closed.path] = (closed.start, at + 1)
            at = _skip(text, at + 1)
            if not stack:
                return
            at = _skip(text, at + 1) if text[at : at + 1] == "," else at
        else:
            match = _ATOM.match(text, at)
            if match is None:
                return
            spans[path] = match.span()
            at = _skip(text, match.end())
            if not stack:
                return
            at = _skip(text, at + 1) if text[at : at + 1] == "," else at
        if text[at : at + 1] in ("]", "}", ""):
            continue
        at, path = _member(text, at, stack[-1])


def _member(text: str, at: int, around: _Open) -> tuple[int, str]:
    """Return where the next value starts, and its path."""
    if not around.is_object:
        path = f"{around.path}[{around.count}]"
        around.count += 1
        return at, path
    match = _ATOM.match(text, at)
    assert match is not None
    key: Any = json.loads(match[0])
    at = _skip(text, match.end())
    return _skip(text, at + 1), f"{around.path}.{key}" if around.path else key


@dataclass(kw_only=True, slots=True)
class _Open:
    path: str
    start: int
    is_object: bool
    count: int = 0


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _position(text: str, start: int, end: int) -> Position:
    def place(offset: int) -> tuple[int, int]:
        return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1

    (line, column), (end_line, end_column) = place(start), place(end)
    return Position(
        line=line,
        column=column,
        offset=start,
        end_line=end_line,
        end_column=end_column,
        end_offset=end,
    )
