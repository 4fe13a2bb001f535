"""Answers cut to a size: text at a character, data at an entry.  No I/O."""

from __future__ import annotations

from typing import Any, Final

import msgspec

_MOST_DEPTH: Final = 100
"""Levels of a long tool answer's data that are kept; what is deeper is left out."""
_ENTRY_BYTES: Final = 2
"""The least that an entry takes, its comma included."""


def cut_text(text: str, max_bytes: int) -> tuple[str, bool]:
    """
    Return a text of at most so many bytes in UTF-8, and whether it was longer.

    What was cut ends in a line that says so, and how long the text was.
    """
    if len(text) <= max_bytes // 4:
        return text, False
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text, False
    mark = f"\n[cut: the first {max_bytes} of {len(data)} bytes are given]"
    kept = data[: max(0, max_bytes - len(mark))].decode("utf-8", "ignore")
    return kept + mark, True


def cut_data(data: Any, max_bytes: int) -> tuple[Any, bool]:
    """
    Return JSON's values that take at most about so many bytes, and whether there were more.

    Lists and objects end at the last entry that fits, and long texts in ``…``: rows that are given
    are whole but for the last one.
    """
    if _fits(data, max_bytes):
        return data, False
    cutter = _Cutter(max_bytes)
    kept = cutter.take(data, 0)
    return kept, cutter.cut


def _fits(data: Any, max_bytes: int) -> bool:
    try:
        return len(msgspec.json.encode(data)) <= max_bytes
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        # Out of JSON, and yet not to be written as JSON: nested too deeply.
        return False


class _Cutter:
    def __init__(self, left: int) -> None:
        self.left = left
        self.cut = False

    def take(self, value: Any, depth: int) -> Any:
        """Return as much of a value as there is room for."""
        if depth > _MOST_DEPTH:
            self.cut = True
            return None
        match value:
            case str():
                return self._text(value)
            case list():
                return self._list(value, depth)
            case dict():
                return self._object(value, depth)
        self.left -= len(str(value)) if isinstance(value, float) else 8
        return value

    def _text(self, text: str) -> str:
        size = len(text.encode("utf-8", "replace")) + _ENTRY_BYTES
        if size <= self.left:
            self.left -= size
            return text
        self.cut = True
        room = max(0, self.left - _ENTRY_BYTES - len("…".encode()))
        self.left = 0
        return text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore") + "…"

    def _list(self, values: list[Any], depth: int) -> list[Any]:
        kept: list[Any] = []
        for value in values:
            if self.left <= 0:
                self.cut = True
                break
            self.left -= _ENTRY_BYTES
            kept.append(self.take(value, depth + 1))
        return kept

    def _object(self, members: dict[Any, Any], depth: int) -> dict[Any, Any]:
        kept: dict[Any, Any] = {}
        for name, value in members.items():
            if self.left <= 0:
                self.cut = True
                break
            self.left -= len(str(name)) + 2 * _ENTRY_BYTES
            kept[name] = self.take(value, depth + 1)
        return kept
