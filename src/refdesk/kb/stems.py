"""
English words brought to their stems, for a store that cannot do it itself.

It is Porter's algorithm (M. F. Porter, 1980, https://tartarus.org/martin/PorterStemmer/): the
stem is no word, but the same for the forms of one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

SMALL_WORDS: Final = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then
    there these they this to was will with
    """.split()  # noqa: SIM905 - a table of words is read as one
)
"""English words that say nothing of what a text is about."""

_C: Final = "[^aeiou]"
_V: Final = "[aeiouy]"
_CS: Final = f"{_C}[^aeiouy]*"
_VS: Final = f"{_V}[aeiou]*"
_M0: Final = re.compile(f"^({_CS})?{_VS}{_CS}")
_M1: Final = re.compile(f"^({_CS})?{_VS}{_CS}({_VS})?$")
_M2: Final = re.compile(f"^({_CS})?{_VS}{_CS}{_VS}{_CS}")
_HAS_VOWEL: Final = re.compile(f"^({_CS})?{_V}")
_SHORT: Final = re.compile(f"^{_CS}{_V}[^aeiouwxy]$")
_DOUBLE: Final = re.compile(r"([^aeiouylsz])\1$")
_ENGLISH: Final = re.compile(r"[a-z]{3,40}\Z")

_STEP2: Final = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
)
_STEP3: Final = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP4: Final = re.compile(
    r"^(.+?)(al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ou|ism|ate|iti|ous|ive|ize)$"
)
_STEP4_ION: Final = re.compile(r"^(.+?)(s|t)(ion)$")


def stem(word: str) -> str:
    """Return the stem of a word in small letters; what is no English word stays as it is."""
    return _stem(word) if _ENGLISH.match(word) else word


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    first_y = word[0] == "y"
    word = _plural(("Y" + word[1:]) if first_y else word)
    word = _past(word)
    if word.endswith("y") and _HAS_VOWEL.match(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, _STEP2), _STEP3)
    word = _shortened(word)
    return word.lower()


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _M0.match(word[:-3]) else word
    ending = next((one for one in ("ed", "ing") if word.endswith(one)), "")
    if not ending or not _HAS_VOWEL.match(word[: -len(ending)]):
        return word
    word = word[: -len(ending)]
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _DOUBLE.search(word):
        return word[:-1]
    return word + "e" if _SHORT.match(word) else word


def _replaced(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, instead in sorted(endings, key=lambda pair: -len(pair[0])):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + instead if _M0.match(rest) else word
    return word


def _shortened(word: str) -> str:
    if found := _STEP4.match(word):
        if _M2.match(found[1]):
            word = found[1]
    elif (found := _STEP4_ION.match(word)) and _M2.match(found[1] + found[2]):
        word = found[1] + found[2]
    if word.endswith("e"):
        rest = word[:-1]
        if _M2.match(rest) or (_M1.match(rest) and not _SHORT.match(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _M2.match(word) else word
