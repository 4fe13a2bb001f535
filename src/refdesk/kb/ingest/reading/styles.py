"""Word's styles: which paragraphs are headings, and which are items of a list."""

from __future__ import annotations

import re
from typing import Any

from refdesk.kb.ingest.reading.package import attribute, child, local

_DEEPEST = 20
"""So many styles may be based on each other; more go round in a circle."""


class Styles:
    """
    The styles of a document.

    Args:
        root: The part ``styles.xml``, or None.
    """

    def __init__(self, root: Any) -> None:
        styles = (each for each in (() if root is None else root) if local(each) == "style")
        self._styles = {attribute(each, "styleId"): each for each in styles}

    def heading(self, about: Any) -> int | None:
        """Return the level of a heading, from 0; None of other paragraphs."""
        own = value_of(about, "outlineLvl")
        style, seen = value_of(about, "pStyle"), 0
        while own is None and style in self._styles and seen < _DEEPEST:
            element = self._styles[style]
            name = (value_of(element, "name") or "").lower()
            if name == "title":
                return 0
            if name.startswith("heading ") and name[8:].isdigit():
                own = str(int(name[8:]) - 1)
            else:
                own = value_of(child(element, "pPr"), "outlineLvl")
            style, seen = value_of(element, "basedOn"), seen + 1
        if own is None and style and (found := re.fullmatch(r"(?i)heading ?(\d)", style)):
            own = str(int(found[1]) - 1)
        return int(own) if own is not None and own.isdigit() and int(own) < 9 else None

    def number(self, about: Any) -> tuple[str, int] | None:
        """Return the list of a paragraph and its level there."""
        number = child(about, "numPr")
        style, seen, id_, level = value_of(about, "pStyle"), 0, None, None
        while seen < _DEEPEST:
            id_ = id_ or value_of(number, "numId")
            level = level or value_of(number, "ilvl")
            if id_ or style not in self._styles:
                break
            element = self._styles[style]
            number = child(child(element, "pPr"), "numPr")
            style, seen = value_of(element, "basedOn"), seen + 1
        return (id_, int(level or 0)) if id_ else None


def value_of(element: Any, name: str) -> str | None:
    """Return the value (``w:val``) of a child of this name; None where there is none."""
    found = child(element, name)
    return None if found is None else attribute(found, "val")
