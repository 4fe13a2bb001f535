"""
Foreign text made plain.

Titles and snippets are HTML at some vendors and plain text at others, so ``<`` may open a tag or
stand for itself: in ``a < b``, ``List<String>`` and ``git checkout <branch>`` it does.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

# Each of its parts is bounded, so that a text is gone through once.
_MARKUP: Final = re.compile(
    r"<(/?)([A-Za-z][A-Za-z0-9]{0,15})((?:[\s/][^<>]{0,500})?)>|<!(?:--|[A-Za-z])[^<>]{0,500}>"
)
_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'")
_ATTRIBUTE: Final = re.compile(r"/|[A-Za-z_:@][\w:.\-]*(?:=\S*)?")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")
"""Control characters (PostgreSQL refuses NUL) and stray byte order marks."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BREAKS: Final = _names(
    "br hr p div li ul ol dl dt dd tr td th thead tbody tfoot h1 h2 h3 h4 h5 h6 blockquote pre img"
)
"""Tags that words on both sides of them are apart at."""
_INLINE: Final = _names(
    "b strong em i u s wbr span sub sup tt nobr del ins kbd samp abbr bdi bdo hlword"
)
_INLINE_WORDS: Final = _names(
    "a q code cite mark small big font strike var time data label output slot ruby rt rp"
)
_WORDS: Final = _INLINE_WORDS | _names(
    "table caption col colgroup center section article header footer main nav aside figure "
    "figcaption address details summary dialog menu search script style noscript title head body "
    "html base link meta template picture source video audio track canvas svg math object embed "
    "param iframe map area form fieldset legend input button select option optgroup datalist "
    "textarea progress meter"
)
"""Tags whose names are words that stand in angle brackets for themselves, as ``<table>`` does."""
_KNOWN: Final = _BREAKS | _INLINE | _WORDS
_APART: Final = _KNOWN - _INLINE - _INLINE_WORDS


def plain(text: str | None) -> str:
    """Return foreign text without tags, entities and control characters, white space folded."""
    if not text:
        return ""
    if "<" in text:
        text = "".join(_without_tags(text))
    if "&" in text:
        text = html.unescape(text)
    return " ".join(_UNPRINTABLE.sub("", text).split())


def _without_tags(text: str) -> Iterator[str]:
    """Yield the pieces of a text between its tags, and a space where a tag keeps words apart."""
    found = list(_MARKUP.finditer(text))
    opened = {match[2] for match in found if match[2] and not match[1]}
    closed = {match[2] for match in found if match[1]}
    at = 0
    for match in found:
        name = match[2]
        if name is not None and not _is_tag(match, paired=name in opened and name in closed):
            continue
        yield text[at : match.start()]
        if name is None or name.lower() in _APART:
            yield " "
        at = match.end()
    yield text[at:]


def _is_tag(match: re.Match[str], *, paired: bool) -> bool:
    """
    Whether angle brackets hold a tag of HTML.

    A letter in upper case is a type's parameter, and a word like ``table`` a placeholder, unless
    there are both an opening and a closing one, or attributes with values.
    """
    _, name, rest = match.groups()
    kind = name.lower()
    if rest.strip(" \t\r\n/"):
        return kind in _KNOWN and _are_attributes(rest)
    if kind in _WORDS or (len(name) == 1 and name.isupper()):
        return paired
    return kind in _KNOWN


def _are_attributes(text: str) -> bool:
    words = _QUOTED.sub("", text).split()
    return "=" in text and all(map(_ATTRIBUTE.fullmatch, words))
