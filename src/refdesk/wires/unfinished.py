"""
What a JSON object lacks that was cut off somewhere.

Bytes that a client already has cannot be taken back.  Where a stream breaks inside of an event, the
event can only be finished, and be made to mean something that nobody minds.
"""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(
    rb'[ \t\r\n]*(?:("(?:[^"\\]|\\.)*+")|([{}\[\],:])|([^\s{}\[\],:"]+)|(")|\Z)', re.DOTALL
)
_ESCAPE: Final = re.compile(
    rb'"(?:[^\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*+(\\(?:u[0-9a-fA-F]{0,3})?)?\Z', re.DOTALL
)
_CHARACTER: Final = re.compile(
    rb"(?:([\xc2-\xdf])|([\xe0-\xef])([\x80-\xbf]?)|([\xf0-\xf4])([\x80-\xbf]{0,2}))\Z"
)
_WORDS: Final = (b"true", b"false", b"null")
_CLOSER: Final = {b"{": b"}", b"[": b"]"}


def closing(half: bytes, members: bytes) -> bytes | None:
    """
    Return what makes a cut object whole and puts these members last.

    Where a key stands twice, the last one counts with most parsers; so a type and a number given
    here are the ones that are read.  None where the text is no cut object: where it is whole
    already, or no object, or broken otherwise.
    """
    stack: list[bytes] = []
    last = b""  # The last token: a punctuation mark, or k for a key and v for a value.
    out = b""
    at = 0
    while at < len(half):
        match = _TOKEN.match(half, at)
        if match is None:
            return None
        string, mark, word, opened = match.groups()
        at = match.end()
        if string or opened:
            is_key = stack[-1:] == [b"{"] and last in (b"{", b",")
            last = b"k" if is_key else b"v"
            if opened:
                out = _close_string(half[match.start(4) :])
                break
        elif word:
            last = b"v"
            if at == len(half):
                out = _close_word(word)
        elif mark:
            if mark in b"{[":
                stack.append(mark)
            elif mark in b"}]" and (not stack or _CLOSER[stack.pop()] != mark):
                return None
            last = b"v" if mark in b"}]" else mark
        if not stack:
            return None
    if stack[:1] != [b"{"]:
        return None
    if last == b"k":
        out += b":null"
    elif last == b":" or (last == b"," and stack[-1] == b"["):
        out += b"null"
    elif last == b"," and len(stack) > 1:
        out += b'"":null'
    out += b"".join(_CLOSER[mark] for mark in reversed(stack[1:]))
    bare = len(stack) == 1 and last in (b"{", b",")
    return out + (b"" if bare else b",") + members + b"}"


def _close_string(half: bytes) -> bytes:
    if (match := _ESCAPE.match(half)) and (escape := match[1]):
        return (b"\\" if escape == b"\\" else b"0" * (6 - len(escape))) + b'"'
    return _close_character(half) + b'"'


def _close_character(half: bytes) -> bytes:
    match = _CHARACTER.search(half)
    if match is None:
        return b""
    two, three, second, four, rest = match.groups()
    if two:
        return b"\x80"
    if three:
        # The second byte of some leads starts higher (no overlong forms).
        return b"\x80" if second else (b"\xa0\x80" if three == b"\xe0" else b"\x80\x80")
    first = b"" if rest else (b"\x90" if four == b"\xf0" else b"\x80")
    return first + b"\x80" * (3 - len(rest) - len(first))


def _close_word(word: bytes) -> bytes:
    for whole in _WORDS:
        if whole.startswith(word):
            return whole[len(word) :]
    return b"" if word[-1:].isdigit() else b"0"
