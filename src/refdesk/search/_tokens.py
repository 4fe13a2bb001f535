"""
A text taken apart into the pieces that keywords are made of.

Names with signs in them stay whole: C++, C#, .NET, node.js, gpt-5.4, CVE-2024-3094, $100, 3.14.
One pass, linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

HAN: Final = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"

# What no word holds: white space, controls, ASCII signs without `_`, punctuation, currency and
# other symbols, emoji, and the scripts that are read by other rules (kana, Han).
_NOT_WORD: Final = (
    r"\s\x00-\x2f:-@\[-\^`{-\u00bf×÷\u060c\u061b\u061f\u0964\u0965\u2000-\u206f\u20a0-\u20cf"
    r"\u2100-\u214f\u2190-\u2bff\u3000-\u303f\u3040-\u30ff\ud800-\uf8ff\ufe00-\ufe4f\uff01-\uff20"
    r"\uff3b-\uff40\uff5b-\uff65\uffe0-\uffff\U0001f000-\U0001faff\U000e0000-\U0010ffff"
)
_CORE: Final = rf"[^{_NOT_WORD}{HAN}]"

_INNER: Final = r"(?:[.\-\u2010\u2011'’@]|::|\+\+(?=\d)|(?<=\d)[,:/](?=\d)|(?<=[A-Z])[&/](?=[A-Z]))"

_TOKEN: Final = re.compile(
    rf"""
      (?P<quoted>
          (?<!{_CORE})"(?=\S)[^"\n]{{2,60}}(?<=\S)"(?!{_CORE})
        | “[^”\n]{{2,60}}” | „[^“”\n]{{2,60}}[“”] | «[^»\n]{{2,60}}»
        | 「[^」\n]{{1,40}}」 | 『[^』\n]{{1,40}}』 | 《[^》\n]{{1,40}}》
        | (?<!`)`[^`\n]{{2,60}}`(?!`) )
    | https?://(?:www\.)?(?P<host>[\w.-]{{1,100}})[^\s{HAN}<>"]*
    | (?P<money>[$€£¥₹₩]\s?\d+(?:[.,]\d+)*(?:[kKmMbB]n?\b)?)
    | (?<!{_CORE})(?P<year>[12]\d{{3}})年
    | (?<!{_CORE})(?P<lettered>
          [A-Z](?:语言|語言|股|站|线|恤|型|轮|盘)
        | \d{{1,20}}(?:\.\d{{1,9}})?(?:万|亿|元|月|日|号|岁|%|％) )
    | (?P<han>[{HAN}]+)
    | (?P<kana>[\u30a1-\u30fa\u30fc-\u30fe]+)
    | (?P<word>
          (?:(?<![^\s("'])\.(?=[A-Za-z]{{2}}))?
          {_CORE}+ (?:{_INNER}{_CORE}+)*
          (?:\+{{1,2}}(?!{_CORE})|(?<=[A-Za-z])\#(?!{_CORE})|(?<=\d)%)? )
    """,
    re.VERBOSE,
)

# Full-width forms are the same letters and digits in another width.
_WIDTH: Final = {code: code - 0xFEE0 for code in (*range(0xFF10, 0xFF3B), *range(0xFF41, 0xFF5B))}
_HYPHENS: Final = {0x2010: "-", 0x2011: "-", 0x2019: "'"}

_SENTENCE_END: Final = re.compile(r"[.!?:;。！？：；\n]")

Kind = Literal["quoted", "host", "money", "year", "lettered", "han", "kana", "word"]


class Token(NamedTuple):
    """A piece of text.  A tuple, since a long text has hundreds of thousands of them."""

    kind: Kind
    text: str
    starts: bool
    """Whether a sentence starts with it."""
    joined: bool
    """Whether nothing but one space parts it from the piece before."""


def tokens(text: str) -> Iterator[Token]:
    """Yield the pieces of a text in order; what lies between them says nothing."""
    text = text.translate(_WIDTH)
    end = 0
    for match in _TOKEN.finditer(text):
        kind: Kind = match.lastgroup  # type: ignore[assignment]  # one of the groups matched
        start = match.start()
        between = text[end:start] if start - end < 64 else "\n"
        piece = match[kind]
        if kind == "quoted":
            piece = piece[1:-1].strip()
        elif kind == "word":
            if not piece.isascii():
                piece = piece.translate(_HYPHENS)
            piece = piece.strip("_")
            if piece[-2:] in ("'s", "'S"):
                piece = piece[:-2]
        if piece:
            joined = between == " "
            starts = end == 0 or (not joined and _SENTENCE_END.search(between) is not None)
            yield Token(kind, piece, starts, joined)
        end = match.end()
