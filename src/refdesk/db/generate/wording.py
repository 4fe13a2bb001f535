"""What a question is made plain of, and what it is refused for, before its words are looked up."""

from __future__ import annotations

import re
from typing import Final

from refdesk.db.generate.leftover import askable
from refdesk.db.generate.lexicon import CHANGES
from refdesk.db.generate.numerals import read_number
from refdesk.db.schema import ModelSet

MAX_QUESTION_CHARS: Final = 500
"""Characters of a question that the rules read; a longer one is refused."""
_CHANGES: Final = re.compile(CHANGES, re.IGNORECASE)
_OPINION: Final = re.compile(
    r"^\s*(?:why|how (?:do|does|did|can|could|should|would|to|is|are|has|have)|should|explain"
    r"|is there a (?:meaning|way))\b|为什么|如何|怎么|怎样",
    re.IGNORECASE,
)
_ASIDES: Final = re.compile(
    # Spans of time include both their ends anyway, and what is joined follows from the relations.
    r"(?:[,(]\s*+|(?<![\s,(])\s*+)\b(?:inclusive of|including) (?:both |the )?"
    r"(?:\d+ \w+ ago|today(?:'s date)?|(?:both )?(?:start and end dates?|ends))\)?"
    r"|(?<!\s)\s*+\(inclusive\)"
    r"|(?<=last week)[\s,(]*+(?:exclusive of|excluding|not including) the current week\)?"
    r"|(?<=last month)[\s,(]*+(?:exclusive of|excluding|not including) the current month\)?"
    r"|(?:,\s*+|(?<![\s,])\s*+)\b(?:by|based on) (?:(?:doing|performing|using) )?(?:an? )?"
    r"(?:(?:left|inner|right|outer) )*join(?:ing)?\b[^.?!]*",
    re.IGNORECASE,
)
_ROUNDED: Final = re.compile(
    r"(?:,\s*+|(?<![\s,])\s*+)\b(?:rounded|round(?: (?:it|them|the result|the answer))?) "
    r"(?:off )?to (?:the nearest )?(?P<digits>\d|one|two|three) decimals?(?: places?| points?)?",
    re.IGNORECASE,
)
_VARIES: Final = re.compile(
    r"how (?:does|do|did) (?P<what>.+?) (?:vary|differ|change) (?:by|across|among|between|per|for)"
    r"(?: (?:the|each|different|various|all))* (?P<by>.+)",
    re.IGNORECASE,
)


def asked_plainly(text: str) -> str:
    """ "How does the price vary by brand" asks for the price per brand."""
    text = _ROUNDED.sub("", _ASIDES.sub("", text))
    if varied := _VARIES.match(text):
        return f"{varied['what']} per {varied['by']}"
    return text


def refusal_of(text: str, models: ModelSet) -> str | None:
    """Return why a text is no question for tables, and what would be; None where it is one."""
    if not text:
        return f"the question is empty; {askable(models)}"
    if len(text) > MAX_QUESTION_CHARS:
        return (
            f"the question has {len(text)} characters; "
            f"at most {MAX_QUESTION_CHARS} can be understood, so ask more shortly"
        )
    if change := _CHANGES.search(text):
        return (
            f"{change[0].strip(' .;,:!?')!r} asks for a change; "
            f"a search only reads, so ask what there is; {askable(models)}"
        )
    if opinion := _OPINION.search(text):
        return (
            f"{opinion[0].strip()!r} asks for more than tables hold; "
            f"ask for rows, counts or sums; {askable(models)}"
        )
    return None


def digits_of(question: str) -> int | None:
    """Return to how many digits figures are to be rounded; None where nothing is said."""
    said = _ROUNDED.search(question)
    digits = read_number(said["digits"]) if said else None
    return digits if isinstance(digits, int) else None
