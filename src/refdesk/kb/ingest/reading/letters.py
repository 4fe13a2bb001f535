"""
What was read, compared with what the file holds: letters, digits, and signs that carry meaning.

The order does not matter, and neither does where words part: two readers seldom agree on either.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Final

_WORD = re.compile(r"[^\W_]+")
_SIGN = re.compile(r"[&<>%@#§°+=±×÷/$€£¥₹]")  # of those, Markdown only adds to `#`
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_PIECE = 16
"""Longer runs of letters (Chinese has no spaces) are looked for in pieces of so many."""
_MAX_WORK: Final = 1_000_000_000
"""Characters looked through for lost words of a document; beyond it letters are counted."""
_SHOWN = 8


def compare(held: str, text: str) -> tuple[int, int, str]:
    """
    Return how many letters and signs a file holds, how many of them were lost, and where it begins.

    Args:
        held: What the second reader finds.
        text: What was read.
    """
    unknown = held.count("\ufffd")  # what could not be decoded: by no reader
    held, text = _plain(held), _plain(text)
    words = _words(held)
    signs = Counter(_SIGN.findall(held))
    total = sum(len(word) * count for word, count in words.items()) + signs.total() + unknown
    lost = signs - Counter(_SIGN.findall(text))
    missing = _missing(held, text, words - _words(text))
    number = sum(len(word) * count for word, count in missing.items()) + lost.total() + unknown
    shown = list(dict.fromkeys(word for word in _WORD.findall(held) if word[:_PIECE] in missing))
    shown = shown[:_SHOWN] if missing else list(lost)
    return total, min(total, number), " ".join(shown)


def _missing(held: str, text: str, missing: Counter[str]) -> Counter[str]:
    """Return what of these words is not anywhere in the text, whatever stands round it."""
    if not missing:
        return missing
    held, text = ("".join(_WORD.findall(each)) for each in (held, text))
    if len(missing) * (len(held) + len(text)) > _MAX_WORK:
        return Counter(held) - Counter(text)
    found: Counter[str] = Counter()
    for word, count in missing.items():
        gone = min(count, held.count(word) - text.count(word))
        if gone > 0:
            found[word] = gone
    return found


def _words(text: str) -> Counter[str]:
    words = Counter(_WORD.findall(text))
    for word in [each for each in words if len(each) > _PIECE]:
        count = words.pop(word)
        for at in range(0, len(word), _PIECE):
            words[word[at : at + _PIECE]] += count
    return words


def _plain(text: str) -> str:
    """Return a text with characters that look alike made alike: ligatures, wide forms."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
