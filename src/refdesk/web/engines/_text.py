"""Foreign text made plain."""

from __future__ import annotations

import html
import re
from typing import Final

_TAG: Final = re.compile(r"<[^<>]{0,500}>")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")
"""Control characters (PostgreSQL refuses NUL) and stray byte order marks."""


def plain(text: str | None) -> str:
    """Return foreign text without tags, entities and control characters, white space folded."""
    if not text:
        return ""
    if "<" in text:
        text = _TAG.sub("", text)
    if "&" in text:
        text = html.unescape(text)
    return " ".join(_UNPRINTABLE.sub("", text).split())
