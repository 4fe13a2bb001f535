"""Text as plain words: lower case, singular; Chinese by the character; what is quoted whole."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

_TOKEN: Final = re.compile(
    r"(?P<quoted>\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|「[^」\n]{1,200}」|《[^》\n]{1,200}》"
    r"|(?<![^\W\u3400-\u9fff])['‘][^'’\n]{1,200}['’](?![^\W\u3400-\u9fff]))"
    r"|(?P<han>[\u3400-\u9fff])"
    r"|(?P<number>\d+(?:[.,]\d+)*)(?![^\W\d_\u3400-\u9fff])"
    r"|(?P<word>(?:(?![\u3400-\u9fff])\w)+(?:['’](?:s|t|d|re|ve|ll)\b)?(?:-(?=\w))?)"
)
_LONGEST_WORD: Final = 64
"""Characters of a word whose singular is looked for; a longer one is no noun."""
_CAMEL: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_IRREGULAR: Final = {
    "people": "person",
    "children": "child",
    "men": "man",
    "women": "woman",
    "news": "news",
    "series": "series",
    "species": "species",
    "status": "status",
    "movies": "movie",
    "cities": "city",
    "indices": "index",
    "cookies": "cookie",
    "has": "has",
    "was": "was",
    "canceled": "cancelled",
    "is": "is",
    "its": "its",
    "does": "does",
    "this": "this",
    "sales": "sale",
    "clothes": "clothing",
    "as": "as",
    "us": "us",
    "address": "address",
    "addresses": "address",
    "always": "always",
    "statuses": "status",
    "ids": "id",
    "bonuses": "bonus",
    "campuses": "campus",
    "buses": "bus",
    "houses": "house",
    "courses": "course",
    "days": "day",
    "less": "less",
    "gas": "gas",
    "bus": "bus",
}

TokenKind = Literal["word", "han", "number", "quoted"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """One word of a question, plain, and where it stands; of what is quoted, what is inside."""

    text: str
    raw: str
    kind: TokenKind
    begin: int
    stop: int


def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the words of a question; names in snake or camel case come apart."""
    found = []
    for match in _TOKEN.finditer(text):
        kind: TokenKind = match.lastgroup  # type: ignore[assignment]
        raw = match[0]
        if kind == "quoted":
            parts = [(raw[1:-1], raw[1:-1])]
        elif kind == "word" and ("_" in raw or re.search(r"[a-z][A-Z]", raw)):
            parts = [(plain(part), part) for part in _CAMEL.findall(raw)]
        else:
            parts = [(plain(raw), raw)]
        found += [
            Token(text=word, raw=said, kind=kind, begin=match.start(), stop=match.end())
            for word, said in parts
        ]
    return tuple(found)


def phrase(text: str) -> tuple[str, ...]:
    """Return a label or a value as the plain words that it has in a question."""
    return tuple(token.text for token in tokens_of(text.replace('"', " ").replace("'s ", " ")))


def identifier_words(name: str) -> tuple[str, ...]:
    """Return the plain words of a name in snake or camel case: ``sbCustName``, ``order_date``."""
    words: list[str] = []
    for part in re.split(r"[^\w]|_", name):
        for piece in _CAMEL.findall(part) or ([part] if part else []):
            words += list(piece) if re.match(r"[\u3400-\u9fff]", piece) else [plain(piece)]
    return tuple(words)


def plain(word: str) -> str:
    """Return a word in lower case, and in the singular where it is a plural."""
    return _plain(word) if len(word) <= _LONGEST_WORD else word.lower()


@lru_cache(maxsize=4096)
def _plain(word: str) -> str:
    word = word.lower().replace("’", "'").rstrip("-").removesuffix("'s")
    if word in _IRREGULAR or len(word) < 4 or not word.isascii():
        return _IRREGULAR.get(word, word)
    if word.endswith("ies"):
        return word[:-3] + "y"
    if re.search(r"(?:ss|x|z|ch|sh)es$", word):
        return word[:-2]
    if word.endswith("s") and not re.search(r"(?:ss|us|is|'s)$", word):
        return word[:-1]
    return word
