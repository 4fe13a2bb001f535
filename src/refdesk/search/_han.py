"""
Runs of Chinese characters made into words.

Without a dictionary a run is parted at function words and at frequent words; what remains is
usually a name and stays whole, and a long remainder becomes bigrams.  With jieba installed
(the extra ``chinese``), jieba parts it.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final

from refdesk.search._words import HAN_COMMON, HAN_CUT, HAN_STOP, HAN_WEAK, HAN_WHOLE

Segmenter = Callable[[str], Iterable[str]]
"""Parts a run of Chinese characters into words, in order."""

_LONGEST_NAME: Final = 8
"""A remainder up to so many characters stays whole: 特斯拉, 诺贝尔物理学奖."""

_KNOWN: Final = HAN_STOP | HAN_COMMON | HAN_WEAK | HAN_WHOLE | HAN_CUT
_LENGTHS: Final = {
    first: sorted({len(word) for word in _KNOWN if word[0] == first}, reverse=True)
    for first in {word[0] for word in _KNOWN}
}
"""How long the known words are that begin with a character, the longest first."""


@cache
def installed_segmenter() -> Segmenter | None:
    """Return jieba's segmenter, or None where it is not installed or does not work here."""
    try:
        # Its modules hold escapes that newer Pythons warn of.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jieba = importlib.import_module("jieba")
            jieba.setLogLevel(60)  # it reports the loading of its dictionary on stderr
            jieba.initialize()
        cut: Segmenter = jieba.lcut
    except Exception:  # an extra that is broken must not break a search
        return None
    return cut


def han_words(run: str, segmenter: Segmenter | None = None) -> Iterator[tuple[str, bool]]:
    """Yield the words of a run that say something, and of each whether it is a weak one."""
    for word in _segmented(run, segmenter):
        if word not in HAN_STOP and word not in HAN_CUT:
            yield word, word in HAN_WEAK


def _segmented(run: str, segmenter: Segmenter | None) -> Iterable[str]:
    if segmenter is None:
        return _parted(run)
    try:
        return list(segmenter(run))
    except Exception:  # a foreign segmenter must not break a search
        return _parted(run)


def _parted(run: str) -> Iterator[str]:
    """Yield known words and what lies between them; the longest known word wins."""
    start = at = 0
    while at < len(run):
        word = _known_at(run, at)
        if word is None or (word in HAN_CUT and not _may_cut(run, start, at)):
            at += 1
            continue
        if word in HAN_WHOLE and word not in HAN_COMMON and word not in HAN_STOP:
            at += len(word)  # it only keeps its characters from being cut
            continue
        yield from _remainder(run[start:at])
        yield word
        at += len(word)
        start = at
    yield from _remainder(run[start:])


def _known_at(run: str, at: int) -> str | None:
    for length in _LENGTHS.get(run[at], ()):
        if (word := run[at : at + length]) in _KNOWN:
            return word
    return None


def _may_cut(run: str, start: int, at: int) -> bool:
    """Whether both sides of one character are long enough to be words of their own."""
    return at - start != 1 and len(run) - at - 1 != 1


def _remainder(piece: str) -> Iterator[str]:
    if not piece:
        return
    if len(piece) <= _LONGEST_NAME:
        yield piece
        return
    # Most words have two characters, so those that start at even places come first; the others
    # are needed after a word of one or three.
    yield from (piece[at : at + 2] for at in range(0, len(piece) - 1, 2))
    yield from (piece[at : at + 2] for at in range(1, len(piece) - 1, 2))
