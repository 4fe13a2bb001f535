"""
Credentials taken out of foreign text, in whatever form they are quoted there.

What a peer answers may hold the key it was sent: without its scheme, percent-encoded, escaped for
JSON or HTML, in base64 or hex, in another case.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Final

MASK: Final = "••••"
_MIN_CHARS: Final = 4
"""Shorter values would blank out ordinary words, and are no secrets."""
_MIN_PART_CHARS: Final = 8
"""The same for a part of a value: ``Bearer`` and ``Token`` are none."""
_MOST_LAYERS: Final = 4
"""Escapes within escapes, such as HTML in JSON, that are undone to look for credentials."""

_SEPARATOR: Final = re.compile(r"[,;:=?&@\"'<>]+")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://(?:([^/?#@]*)@)?[^/?#@]*(.*)", re.DOTALL)
_ESCAPED: Final = re.compile(
    r"%(?:25){0,3}([0-9A-Fa-f]{2})"
    r"|\\{1,4}(?:u\{?|U|x)([0-9A-Fa-f]{2,8})\}?"
    r"|(&#?\w{1,10};)"
    r"|\\([^\w\s\\])"
)
_LOWER: Final = {ord(char): char.lower() for char in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
"""Lower case that keeps a text's length."""


class Masker:
    """
    Takes credentials out of texts, in time linear in the text.

    Every part of a value that is long enough counts, so that ``Bearer KEY``, ``user:KEY`` and
    ``https://host/?key=KEY`` are found by the key alone.

    Args:
        secrets: The values as they are configured.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        parts = {part for secret in secrets for part in _parts(secret.strip())}
        # Bytes that were percent-encoded come out as Latin-1.
        parts |= {part.encode("utf-8", "surrogatepass").decode("latin-1") for part in parts}
        self._plain = sorted({part.translate(_LOWER) for part in parts})
        self._coded = sorted({form for part in parts for form in _codings(part)})

    def __call__(self, text: str) -> str:
        """Return a text with every credential replaced by `MASK`."""
        spans = [(at, at + len(form)) for form in self._coded for at in _places(text, form)]
        for view, starts in _views(text) if self._plain else ():
            folded = view.translate(_LOWER)
            spans += [
                (starts[at], starts[at + len(part)])
                for part in self._plain
                for at in _places(folded, part)
            ]
        return _without(text, spans) if spans else text


def _parts(secret: str) -> Iterator[str]:
    """Yield a value, and the parts of it that are credentials by themselves."""
    if len(secret) >= _MIN_CHARS:
        yield secret
    for word in secret.split():
        if url := _URL.fullmatch(word):
            # Where it is is no secret.
            parts = [*_SEPARATOR.split(url[1] or ""), *re.split(r"[/#]|[,;:=?&]", url[2])]
        else:
            parts = [word, *_SEPARATOR.split(word)]
        yield from (part for part in parts if len(part) >= _MIN_PART_CHARS)
        # Basic authorization: a user's name and password.
        if (pair := _user_and_password(word)) is not None:
            yield from (part for part in (pair, *pair.split(":", 1)) if len(part) >= _MIN_CHARS)


def _user_and_password(word: str) -> str | None:
    try:
        text = base64.b64decode(word, validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return text if text.isprintable() and ":" in text else None


def _codings(part: str) -> Iterator[str]:
    """Yield a part in hex and base64, which are found as they are; short ones are too common."""
    if len(part) < _MIN_PART_CHARS:
        return
    data = part.encode("utf-8", "surrogatepass")
    yield from (data.hex(), data.hex().upper())
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        # The first characters hold bits of what stands before, the last of what follows.
        whole = (before + len(data)) % 3 == 0
        inner = coded[(0, 2, 3)[before] : None if whole else -1]
        yield from (inner, inner.translate({ord("+"): "-", ord("/"): "_"}))
        yield from (inner.replace("+", "%2B").replace("/", "%2F"), inner.replace("/", "\\/"))


def _views(text: str) -> Iterator[tuple[str, list[int]]]:
    """Yield a text, then as it reads unescaped, with the place in the text of each character."""
    starts = list(range(len(text) + 1))
    view = text
    for _ in range(_MOST_LAYERS):
        yield view, starts
        chars: list[str] = []
        places: list[int] = []
        at = 0
        for match in _ESCAPED.finditer(view):
            char = _unescaped(match)
            chars += (view[at : match.start()], char)
            places += starts[at : match.start()]
            places += [starts[match.start()]] * len(char)
            at = match.end()
        if not at:
            return
        view, starts = "".join(chars) + view[at:], places + starts[at:]


def _unescaped(match: re.Match[str]) -> str:
    byte, point, entity, sign = match.groups()
    if entity:
        return unescape(entity)
    if sign:
        return sign
    number = int(byte or point, 16)
    return chr(number) if number <= 0x10FFFF else match[0]


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    kept: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if start > at or not kept:
            kept += (text[at:start], MASK)
        at = max(at, end)
    return "".join(kept) + text[at:]
