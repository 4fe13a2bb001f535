"""
A text made into the terms that full text search counts.

Scripts without spaces between words (Chinese, Japanese, Korean) become single characters and pairs
of neighbours, which finds as much as a dictionary does and needs none.  Words of other scripts
stay whole; the vector store brings them to their stems.  A text and a question are read alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

_CJK: Final = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_PIECE: Final = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:[._'’\-/+#&][^\W_{_CJK}]+)*")
_PART: Final = re.compile(r"[._'’\-/+#&]")
_IS_CJK: Final = re.compile(rf"[{_CJK}]")
_LONGEST: Final = 80
"""Longer words are encoded data, which nobody asks for."""


def index_terms(text: str) -> str:
    """Return the terms of a passage, with a space between each."""
    return " ".join(_terms(text, single=True))


def query_terms(text: str) -> str:
    """
    Return the terms of a question, with a space between each; each stands once.

    Of a run of Chinese characters only the pairs count, unless it is one character long.
    """
    return " ".join(dict.fromkeys(_terms(text, single=False)))


def pieces(text: str) -> Iterator[str]:
    """Yield the words of a text with the signs inside them; runs of Chinese characters whole."""
    return (found[0] for found in _PIECE.finditer(unicodedata.normalize("NFKC", text)))


def _terms(text: str, *, single: bool) -> Iterator[str]:
    for piece in pieces(text.lower()):
        if _IS_CJK.match(piece):
            if single or len(piece) == 1:
                yield from piece
            yield from map("".join, pairwise(piece))
            continue
        parts = [part for part in _PART.split(piece) if part]
        yield from (part for part in parts if len(part) <= _LONGEST)
        # A version, a part number or a file name is also found as a whole, and so are firms: the
        # parts of AT&T are words that are everywhere.
        is_whole = "&" in piece or any(map(str.isdigit, piece))
        if len(parts) > 1 and is_whole and len(piece) <= _LONGEST:
            yield piece
