"""
What a body may hold at most, counted before anything of it is made.

A body of 32 MiB can hold sixteen million values, an object for each of which would take gigabytes
and seconds.  Counting looks at each byte a few times, and stops where a bound is passed.
"""

from __future__ import annotations

import re
from typing import Final

from refdesk.errors import WireError

MAX_VALUES: Final = 1_000_000
"""Values of a body, arrays and objects among them; one with more is refused (400)."""
MAX_KEYS: Final = 20_000
"""Keys of one object in a body; beyond it the body is refused (400)."""
MAX_DIGITS: Final = 4300
"""
Digits in a row of a number; beyond it the body is refused (400).

It is the standard library's own limit (CVE-2020-10735).
"""
MAX_KEY_CHARS: Final = 65_536
"""Characters of a key at the top level of a body; beyond it the body is refused (400)."""
MAX_LONE_SURROGATES: Final = 10_000
"""Halves of characters in a body, each of which is kept; with more it is refused (400)."""

_WINDOW: Final = 1024 * 1024
"""Bytes that a pattern is given at once: other threads run in between."""
_MARK: Final = re.compile(rb"[{}\[\],]")
_IN_STRING: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_DIGITS: Final = re.compile(rb"[0-9]*+")
_TWO_DIGITS: Final = re.compile(rb"[0-9](?=[0-9])")


def check_bounds(data: bytes) -> None:
    """
    Refuse a body that holds too much.

    What is not JSON passes, for its parser to refuse.

    Raises:
        WireError: It has too many values, an object too many keys, or a number too many digits.
    """
    if len(data) > MAX_DIGITS:
        _check_digits(data)
    if len(data) <= 2 * MAX_KEYS:
        return
    # In strings these marks mean nothing; bodies that are mostly text have few even so.
    commas = data.count(b",")
    many_keys = commas >= MAX_KEYS and data.count(b":") > MAX_KEYS
    many_values = (
        len(data) > MAX_VALUES and commas + data.count(b"[") + data.count(b"{") > MAX_VALUES
    )
    if many_keys or many_values:
        _count(data)


def _count(data: bytes) -> None:
    values = unmarked = at = 0
    keys: list[int] = []
    """Of the objects that are open; negative for an array."""
    while unmarked < 2:
        quote = data.find(b'"', at)
        unmarked += 1  # two strings with nothing between them but a colon are a key and its value
        for mark in _MARK.finditer(data, at, len(data) if quote < 0 else quote):
            unmarked = 0
            match mark[0]:
                case b"}" | b"]":
                    if not keys:
                        return
                    keys.pop()
                    continue
                case b",":
                    if keys and keys[-1] > 0:
                        keys[-1] += 1
                        if keys[-1] > MAX_KEYS:
                            raise WireError(f"an object has more than {MAX_KEYS:,} keys")
                case b"{":
                    keys.append(1)
                case _:
                    keys.append(-1)
            values += 1
            if values > MAX_VALUES:
                raise WireError(f"the body has more than {MAX_VALUES:,} values")
        if quote < 0:
            return
        at = _end_of_string(data, quote + 1)


def _end_of_string(data: bytes, at: int) -> int:
    while match := _IN_STRING.match(data, at, at + _WINDOW):
        if data[match.end() : match.end() + 1] == b'"':
            return match.end() + 1
        if match.end() == at:
            break
        at = match.end()
    return len(data)


def _check_digits(data: bytes) -> None:
    # Of samples taken half of the bound apart, two neighbours stand in a run that is too long.
    step = MAX_DIGITS // 2
    run_end = seen = quotes = 0
    for pair in _TWO_DIGITS.finditer(data[::step]):
        at = pair.start() * step
        if at < run_end or not data[at : at + step].isdigit():
            continue
        before = data[max(0, at - step) : at]
        start = at - (len(before) - len(before.rstrip(b"0123456789")))
        run_end = _run_end(data, at)
        if run_end - start <= MAX_DIGITS:
            continue
        # Digits in a string are text, of any length.
        quotes += data[seen:start].replace(b"\\\\", b"").replace(b'\\"', b"").count(b'"')
        seen = start
        if quotes % 2 == 0:
            raise WireError(f"a number has more than {MAX_DIGITS} digits")


def _run_end(data: bytes, at: int) -> int:
    while (match := _DIGITS.match(data, at, at + _WINDOW)) and match.end() > at:
        at = match.end()
    return at
