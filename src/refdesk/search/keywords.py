"""
The words of a text that tell what it is about.

`extract` needs no model and no network.  `KeywordExtractor` lets an assistant or an MCP tool do it
where the configuration says so, and falls back to `extract`.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from refdesk.config.library import KeywordStep
from refdesk.errors import RefdeskError
from refdesk.search._answers import keywords_in
from refdesk.search._han import han_words, installed_segmenter
from refdesk.search._tokens import Token, tokens
from refdesk.search._words import STOP, WEAK
from refdesk.search.delegate import DELEGATE_TIMEOUT_S, Delegate, ask
from refdesk.types import Keyword
from refdesk.uses import BUILTIN, Uses

# What a word counts by what it looks like, before frequency and position.
_PHRASE: Final = 1.0
_NAME: Final = 0.9
_PLAIN: Final = 0.65
_NUMBER: Final = 0.6
_WEAK: Final = 0.35

_LONGEST: Final = 60
"""A word without a space longer than this is data, not language."""
_NAME_WORDS: Final = 4

_CAPITALS: Final = frozenset({"US", "IT", "WHO"})
"""Names that are function words in small letters."""

_YEAR: Final = re.compile(r"1\d{3}|2[01]\d{2}")
_MARKED: Final = re.compile(r"[^\W_].*(?:[A-Z]|[._@+#:/&])|.*[+#]$|\.", re.DOTALL)
"""A capital or a sign after the first letter, or a dot before it: iPhone, node.js, C++, .NET."""


@dataclass(slots=True)
class _Counted:
    text: str
    first: int
    worth: float
    count: int = 1


def extract(text: str, *, max_keywords: int = 10, language: str = "auto") -> list[Keyword]:
    """
    Return the keywords of a text, heaviest first; of equal ones the first in the text leads.

    Names with signs or digits (C++, .NET, gpt-5.4, CVE-2024-3094, $100), versions and years stay
    whole and as they are written.  Quoted phrases and proper nouns weigh more.  Weights lie between
    0.1 and 1; the heaviest is 1.  Any text is allowed; time is linear in its length.

    Args:
        text: A question or a passage.
        max_keywords: How many at most; 0 or less gives none.
        language: ``zh``, ``en``, another ISO 639-1 code, or ``auto``.  jieba, where it is
            installed, parts Chinese for ``zh`` and ``auto``.
    """
    if max_keywords <= 0:
        return []
    found: dict[str, _Counted] = {}
    place = 0
    for word, worth in _candidates(list(tokens(text)), language):
        key = word.casefold()
        if (known := found.get(key)) is None:
            found[key] = _Counted(text=word, first=place, worth=worth)
        else:
            known.count += 1
            known.worth = max(known.worth, worth)
        place += 1
    return _weighed(list(found.values()), place)[:max_keywords]


def _weighed(found: list[_Counted], places: int) -> list[Keyword]:
    if not found:
        return []
    most = math.log1p(max(one.count for one in found))
    scores = [
        one.worth * (0.75 * math.log1p(one.count) / most + 0.25 * (1 - one.first / places))
        for one in found
    ]
    top = max(scores)
    keywords = [
        Keyword(text=one.text, weight=max(0.1, round(score / top, 2)))
        for one, score in zip(found, scores, strict=True)
    ]
    return sorted(keywords, key=lambda keyword: -keyword.weight)


def _candidates(pieces: list[Token], language: str) -> list[tuple[str, float]]:
    """Return the words that may be keywords, in order, and what each is worth."""
    segmenter = None
    if language.lower()[:2] in ("au", "zh") and any(piece.kind == "han" for piece in pieces):
        segmenter = installed_segmenter()
    title_case = _is_title_case(pieces)
    found: list[tuple[str, float]] = []
    name: list[str] = []  # the proper noun that the last pieces form
    for piece in pieces:
        text = piece.text
        # "iPhone 15", "New York": a name goes on with another capital or with a number.
        if name and piece.joined and len(name) < _NAME_WORDS and _continues(piece, title_case):
            name.append(text)
            found[-1] = (" ".join(name), _NAME if title_case else 0.5 * (_NAME + _PHRASE))
            continue
        name = []
        match piece.kind:
            case "quoted":
                if any(_says_something(word) for word in tokens(text)):
                    found.append((" ".join(text.split()), _PHRASE))
            case "year":
                found.append((text, _NUMBER))
            case "host" | "money" | "lettered":
                found.append((text.rstrip(".-"), _NAME))
            case "kana":
                if len(text) > 1:
                    found.append((text, _PLAIN))
            case "han":
                found.extend(
                    (word, _WEAK if weak else _PLAIN) for word, weak in han_words(text, segmenter)
                )
            case "word" if (worth := _worth(piece, title_case)) is not None:
                found.append((text, worth))
                if _is_capital(text) and text.casefold() not in WEAK:
                    name = [text]
    return found


def _says_something(piece: Token) -> bool:
    if piece.kind == "word":
        return _worth(piece, title_case=True) is not None
    return piece.kind != "han" or any(True for _ in han_words(piece.text))


def _worth(piece: Token, title_case: bool) -> float | None:
    """Return what a word is worth by its looks, or None where it says nothing."""
    text = piece.text
    if len(text) == 1:
        return _PLAIN if text in "CR" and not piece.starts else None
    lower = text.casefold()
    if len(text) > _LONGEST:
        return None
    if lower in STOP:
        named = text in _CAPITALS and not (piece.starts or title_case)
        return _NAME if named else None
    if text.isdecimal():
        return _NUMBER if _YEAR.fullmatch(text) else None
    if not any(map(str.isalpha, text)):
        return _NAME if any(map(str.isdecimal, text)) else None
    if lower in WEAK:
        return _WEAK
    if any(map(str.isdecimal, text)):
        return _NAME
    if _MARKED.match(text) and not (title_case and text.isupper()):
        return _NAME
    if text[0].isupper() and not piece.starts and not title_case:
        return _NAME
    return _PLAIN


def _continues(piece: Token, title_case: bool) -> bool:
    text = piece.text
    if piece.kind != "word" or piece.starts:
        return False
    if text.isdecimal():
        return len(text) <= 4 and not _YEAR.fullmatch(text)
    return not title_case and _is_capital(text) and text.casefold() not in STOP


def _is_capital(text: str) -> bool:
    """Whether it is written as a name is: a first capital, or one further on (iPhone)."""
    return text[0].isalpha() and any(map(str.isupper, text)) and text.isalnum()


def _is_title_case(pieces: list[Token]) -> bool:
    """Whether nearly all words are written large, so that a capital tells nothing."""
    words = [one.text for one in pieces if one.kind == "word" and len(one.text) > 3]
    large = sum(1 for word in words if word[0].isupper())
    return len(words) >= 4 and large > 0.75 * len(words)


@dataclass(frozen=True, kw_only=True, slots=True)
class Extracted:
    """The keywords of a text, heaviest first, and what went wrong on the way."""

    keywords: tuple[Keyword, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """The keywords as one query, heaviest first; empty where there are none."""
        return " ".join(keyword.text for keyword in self.keywords)


class KeywordExtractor:
    """
    Extracts keywords the way the configuration says: builtin, by an assistant, or by an MCP tool.

    Args:
        uses: Who does it.
        delegates: Calls assistants and MCP tools; without it the builtin does everything.
        settings: How many keywords, and in which language, where a call does not say.
        timeout_s: How long an assistant or tool may take, in seconds.
    """

    def __init__(
        self,
        uses: Uses = BUILTIN,
        delegates: Delegate | None = None,
        settings: KeywordStep | None = None,
        *,
        timeout_s: float = DELEGATE_TIMEOUT_S,
    ) -> None:
        self._uses = uses
        self._delegates = delegates
        self._settings = settings or KeywordStep()
        self._timeout_s = timeout_s

    async def extract(
        self, text: str, *, max_keywords: int | None = None, language: str | None = None
    ) -> Extracted:
        """
        Return the keywords of a text.  It does not raise: what an assistant or tool cannot do,
        the builtin does, and a notice says why.

        Args:
            text: A question or a passage.
            max_keywords: None is as configured; 0 or less gives none.
            language: None is as configured.
        """
        most = self._settings.max_keywords if max_keywords is None else max_keywords
        tongue = language or self._settings.language
        if most <= 0 or not text.strip():
            return Extracted()
        if not self._uses.delegated:
            return Extracted(keywords=await _builtin(text, most, tongue))
        payload = {"content": text, "max_keywords": most, "language": tongue}
        keywords, problem = await self._ask(payload)
        if keywords:
            return Extracted(keywords=tuple(keywords[:most]))
        return Extracted(
            keywords=await _builtin(text, most, tongue),
            notices=(f"keywords by {self._uses} failed ({problem}); the builtin was used instead",),
        )

    async def _ask(self, payload: Mapping[str, Any]) -> tuple[list[Keyword], str]:
        try:
            answer = await ask(self._delegates, self._uses, payload, timeout_s=self._timeout_s)
            return keywords_in(answer), "its answer holds no keywords"
        except RefdeskError as exc:
            return [], str(exc)


async def _builtin(text: str, most: int, language: str) -> tuple[Keyword, ...]:
    # A segmenter reads its dictionary for a second, and a long text takes as long.
    return tuple(await asyncio.to_thread(extract, text, max_keywords=most, language=language))
