"""
Whether a text asks for something that must be looked up.

Rules, in a table, in English and Chinese; the first that fits decides.  They are sure of little:
where none fits, the verdict is a guess, and its confidence says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from refdesk import clock
from refdesk.search._intent_rules import RULES

_MOST_CHARS: Final = 4000
"""What a text asks for stands at its beginning."""

_GUESS: Final = 0.3


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Whether to search, why, and how sure that is."""

    need: bool
    reason: str
    """The name of the rule: ``greeting``, ``news``…; ``unclear`` where none fits."""
    confidence: float
    """0 to 1."""


_YEAR: Final = re.compile(
    r"(?<![\w.$€£-])(20\d{2}|21\d{2})(?![\d-]|\.\d|\s*(?:px|mb|kb|kg|km|m)\b)"
)
_VERSIONED: Final = re.compile(
    r"\b[A-Za-z][A-Za-z+#]{1,20}[\s-]?v?\d{1,3}\.\d{1,3}(?:\.\d{1,4})?\b|\bCVE-\d{4}-\d+",
    re.IGNORECASE,
)
_QUESTION: Final = re.compile(
    r"^\W*(?:who|what|when|where|which|whose|how\s+(?:many|much|old|tall|far|long|big)|is|are|"
    r"does|do|did|has|have|was|were|will|"
    r"can)\b|谁|哪|是什么|多少|何时|几",
    re.IGNORECASE,
)
_NAME: Final = re.compile(
    r"(?<=[a-z,] )[A-Z][A-Za-z]+|\b[A-Z]{2,}\b|\b[a-z]+\d+\b|[\u4e00-\u9fff]{4,}"
)


def needs_search(text: str, *, today: date | None = None) -> Verdict:
    """
    Return whether a text asks for something that must be looked up.

    Args:
        text: What the user said last, without what clients wrap round it.
        today: Decides which years are recent; None asks the clock.
    """
    text = " ".join(text[:_MOST_CHARS].split())
    if not any(map(str.isalnum, text)):
        return Verdict(need=False, reason="empty", confidence=1.0)
    for rule in RULES:
        if rule.fits(text):
            return Verdict(need=rule.need, reason=rule.reason, confidence=rule.confidence)
    this_year = (today or clock.now().date()).year
    if any(this_year - 1 <= int(year[1]) <= this_year + 50 for year in _YEAR.finditer(text)):
        return Verdict(need=True, reason="recent year", confidence=0.85)
    if _VERSIONED.search(text):
        return Verdict(need=True, reason="version", confidence=0.7)
    factual = _QUESTION.search(text) is not None and _NAME.search(text) is not None
    return Verdict(need=factual, reason="unclear", confidence=_GUESS)
