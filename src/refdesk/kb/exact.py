"""
Codes of a question (part numbers, error codes, years, abbreviations) that few passages have.

In a collection of a dozen passages every word is rare, so BM25 hardly tells a code from the words
round it; a question with a code asks for the passage that has it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from refdesk.kb.terms import pieces

_LEAST: Final = 3
"""So many letters and digits make a code."""
_FEW: Final = 0.1
"""A code is rare where it is in this part of the passages at most, or in two."""
_WEAK: Final = 0.6
"""What a short number or an abbreviation is worth: it may be a year, or a word that is stressed."""
_LONG: Final = 5
_ORDINAL: Final = re.compile(r"\d+(?:st|nd|rd|th|s)")


def exact_scores(question: str, passages: Mapping[str, str]) -> dict[str, float]:
    """
    Return how much of a question's rare codes each passage has, 0 to 1; none is left out.

    Args:
        question: The question.
        passages: Texts of passages by their ids.  Codes that none of them has do not count.
    """
    codes = _codes(question)
    if not codes:
        return {}
    holders: dict[str, list[str]] = {code: [] for code in codes}
    for id_, text in passages.items():
        for code in codes.keys() & _written(text):
            holders[code].append(id_)
    most = max(2, _FEW * len(passages))
    rare = {code: ids for code, ids in holders.items() if 0 < len(ids) <= most}
    scores: dict[str, float] = {}
    for code, ids in rare.items():
        for id_ in ids:
            scores[id_] = scores.get(id_, 0.0) + codes[code] / len(rare)
    return scores


def _codes(question: str) -> dict[str, float]:
    """Return the codes of a question without the signs in them, and what each is worth."""
    found = list(pieces(question))
    shouted = question.upper() == question and len(found) > 1
    codes: dict[str, float] = {}
    for piece in found:
        code = _bare(piece)
        digits = sum(map(str.isdigit, code))
        if len(code) < _LEAST:
            continue
        if digits:
            weak = digits == len(code) < _LONG or _ORDINAL.fullmatch(code.lower())
            codes[code.lower()] = _WEAK if weak else 1.0
        elif code.isupper() and not shouted:
            codes[code.lower()] = _WEAK
    return codes


def _written(text: str) -> set[str]:
    """Return what a text has that may be a code: words, and parts of words, without signs."""
    found: set[str] = set()
    for piece in pieces(text.lower()):
        found.add(_bare(piece))
        found.update(re.split(r"\W", piece))
    return found


def _bare(piece: str) -> str:
    return "".join(filter(str.isalnum, piece))
