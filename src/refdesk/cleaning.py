"""Foreign text made harmless: visible characters only, markup escaped, length bounded."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_COMBINING: Final = 3
"""Marks kept on one letter; more are only ever used to smear a page."""


def one_line(text: str | None, max_chars: int) -> str:
    """
    Return foreign text as one line that cannot be taken for anything else.

    Controls, invisible characters and stacked marks are out, white space is folded, angle brackets
    and ampersands are escaped.  The result has at most ``max_chars`` characters.
    """
    if not text:
        return ""
    # Ten times the room is enough to fill it, and bounds the work on a text of megabytes.
    text = text[: 10 * max_chars + 1000]
    plain = text.isascii() and text.isprintable()
    folded = " ".join((text if plain else visible(text)).split())
    escaped = escape(folded)
    if len(escaped) <= max_chars:
        return escaped
    cut = escaped[: max_chars - 1]
    # Not in the middle of an entity.
    cut = re.sub(r"&[a-z]{0,3}$", "", cut)
    return cut.rstrip() + "…"


def escape(text: str) -> str:
    """Escape what could open or close an element."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_attribute(text: str) -> str:
    """Escape what could end an attribute's value, whichever quotes it is in."""
    return escape(text).replace('"', "&quot;").replace("'", "&#39;")


def visible(text: str) -> str:
    """Return text without invisible characters; controls and odd spaces become plain spaces."""
    if text.isascii():
        return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
    kept: list[str] = []
    marks = 0
    for char in unicodedata.normalize("NFC", text):
        category = unicodedata.category(char)
        if category in ("Mn", "Me"):
            marks += 1
            if marks > _COMBINING or "\ufe00" <= char <= "\ufe0f" or char >= "\U000e0100":
                continue
        else:
            marks = 0
        if category in ("Cc", "Zl", "Zp", "Zs"):
            kept.append(" ")
        elif category not in ("Cf", "Cs", "Co", "Cn"):
            kept.append(char)
    return "".join(kept)


def visible_lines(text: str) -> str:
    """Return text as `visible` does, but with its lines left apart, ended by line feeds."""
    return "\n".join(visible(line) for line in re.split(r"\r\n?|\n", text))
