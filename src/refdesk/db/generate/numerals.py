"""Numbers as people write them: ``1.5k``, ``3 million``, ``twelve``, ``三万``."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

Number = int | float

_WORDS: Final = {
    "zero": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "dozen": 12,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
}
_SCALES: Final = {
    "k": 1_000,
    "thousand": 1_000,
    "m": 1_000_000,
    "mn": 1_000_000,
    "million": 1_000_000,
    "b": 1_000_000_000,
    "bn": 1_000_000_000,
    "billion": 1_000_000_000,
    "hundred": 100,
    "百": 100,
    "千": 1_000,
    "万": 10_000,
    "百万": 1_000_000,
    "千万": 10_000_000,
    "亿": 100_000_000,
}
_HAN_DIGITS: Final = {
    char: value
    for value, chars in enumerate(("零〇", "一", "二两", *"三四五六七八九"))
    for char in chars
}
_HAN_UNITS: Final = {"十": 10, "百": 100, "千": 1_000}

_DIGITS: Final = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_SCALE: Final = (
    r"(?:\s?(?:thousand|million|billion|hundred)\b|(?:k|mn|m|bn|b)\b|\s?(?:百万|千万|[百千万亿]))"
)
WORD: Final = rf"(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})"
HAN: Final = "[零〇一二两三四五六七八九十百千万亿]{1,24}"

NUMBER: Final = (
    rf"(?:(?:{_DIGITS}){_SCALE}?|\b{WORD}\b(?:\s(?:hundred|thousand|million|billion)\b)?|{HAN})"
)
"""A pattern without groups for one number, without sign or unit."""

SMALL: Final = rf"(?:\d{{1,4}}|\b{WORD}\b|[一二两三四五六七八九十百]{{1,8}})"
"""A pattern for a count of something."""

_PARTS: Final = re.compile(rf"({_DIGITS})\s*+(\D*)")


def read_number(text: str) -> Number | None:
    """Return the value of what `NUMBER` matched; None where it is no number after all."""
    text = text.strip().lower()
    if match := _PARTS.fullmatch(text):
        unit = match[2].strip()
        scale = _SCALES.get(unit, 1 if not unit else 0)
        return _plain(Decimal(match[1].replace(",", "")) * scale) if scale else None
    first, _, second = text.partition(" ")
    if first in _WORDS and (not second or second in _SCALES):
        return _WORDS[first] * _SCALES.get(second, 1)
    return _han(text) if re.fullmatch(HAN, text) else None


def _han(text: str) -> int | None:
    if all(char in _HAN_DIGITS for char in text):
        return int("".join(str(_HAN_DIGITS[char]) for char in text))
    total = section = digit = 0
    for char in text:
        if char in _HAN_DIGITS:
            digit = _HAN_DIGITS[char]
        elif char in _HAN_UNITS:
            section += (digit or 1) * _HAN_UNITS[char]
            digit = 0
        else:
            scale = _SCALES[char]
            if not (total or section or digit):
                return None
            total = (total + section + digit) * scale
            section = digit = 0
    return total + section + digit


def _plain(value: Decimal) -> Number:
    return int(value) if value == value.to_integral_value() else float(value)
