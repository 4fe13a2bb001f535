"""The numbers of Word's lists and headings, which are counted and not written in the text."""

from __future__ import annotations

import re
from typing import Any

from refdesk.kb.ingest.reading.package import attribute, child, local

_PLACE = re.compile(r"%(\d)")
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


class Numbering:
    """
    Counts list items.

    Args:
        root: The part ``numbering.xml``, or None.
    """

    def __init__(self, root: Any) -> None:
        self._levels: dict[str, dict[int, tuple[str, str, int]]] = {}
        """Of each abstract list: level to format, text and first number."""
        self._lists: dict[str, tuple[str, dict[int, int]]] = {}
        """Of each list: its abstract list, and where its levels begin anew."""
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[tuple[str, int]] = set()
        for each in () if root is None else root:
            if local(each) == "abstractNum":
                levels = (one for one in each if local(one) == "lvl")
                found = {int(attribute(one, "ilvl") or 0): _level(one) for one in levels}
                self._levels[attribute(each, "abstractNumId") or ""] = found
            elif local(each) == "num":
                self._lists[attribute(each, "numId") or ""] = (
                    _value(each, "abstractNumId") or "",
                    {
                        int(attribute(one, "ilvl") or 0): int(start)
                        for one in each
                        if (start := _value(one, "startOverride"))
                    },
                )

    def label(self, number: str, level: int) -> str:
        """
        Count one item, and return what stands before it, with a space; empty where there is none.

        Args:
            number: The list's id.
            level: How deep it is, from 0.
        """
        if number not in self._lists:
            return "" if number == "0" else "- "
        abstract, starts = self._lists[number]
        levels = self._levels.get(abstract, {})
        if level not in levels:
            return "- "
        counts = self._counts.setdefault(abstract, {})
        if level in starts and (number, level) not in self._begun:
            self._begun.add((number, level))
            counts[level] = starts[level]
        else:
            counts[level] = counts.get(level, levels[level][2] - 1) + 1
        for deeper in [each for each in counts if each > level]:
            del counts[deeper]
        shape, text, _ = levels[level]
        if shape == "bullet":
            return "- "
        if shape == "none" or not text:
            return ""

        def one(found: re.Match[str]) -> str:
            at = int(found[1]) - 1
            form, _, start = levels.get(at, ("decimal", "", 1))
            return written(counts.get(at, start), form)

        return _PLACE.sub(one, text).strip() + " "


def written(number: int, form: str) -> str:
    """Return a number as a list writes it: ``lowerLetter``, ``upperRoman`` and so on."""
    if form.endswith("Letter") and number > 0:
        letter = chr(97 + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter.upper() if form.startswith("upper") else letter
    if form.endswith("Roman") and 0 < number < 4000:
        roman = ""
        for worth, sign in _ROMAN:
            roman += sign * (number // worth)
            number %= worth
        return roman.upper() if form.startswith("upper") else roman
    return f"{number:02}" if form == "decimalZero" else str(number)


def _level(element: Any) -> tuple[str, str, int]:
    form = _value(element, "numFmt") or "decimal"
    return form, _value(element, "lvlText") or "", int(_value(element, "start") or 1)


def _value(element: Any, name: str) -> str | None:
    found = child(element, name)
    return None if found is None else attribute(found, "val")
