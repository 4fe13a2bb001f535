"""
Where a model's text names a source: by its URL, or by its number in brackets.

Offsets count code points of the text, half-open, over the whole visible marker: ``[2]``,
``[title](url)``, ``([title](url))``, or a bare URL.  What stands in code is no citation; a number
or URL that belongs to no source is counted and otherwise left alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from refdesk.http import normal_url

_URL: Final = r"https?://[^\s<>\"'`\[\]【】()]*(?:\([^\s<>\"'`()]*\)[^\s<>\"'`\[\]【】()]*)*"
_MARK: Final = re.compile(
    r"(?P<code>(?<!`)`++)(?:(?!(?<!`)(?P=code)(?!`)).)*+(?P=code)(?!`)"
    rf"|\(?(?P<link>\[(?:[^\[\]]|\[[^\[\]]*\])*\]\((?P<target>{_URL})[^()\n]*\))\)?"
    r"|(?P<numbers>\[\d{1,3}(?:\s*[,;]\s*\d{1,3})*\]|【\d{1,3}[^】\n]{0,20}】)"
    rf"|(?P<bare>{_URL})"
)
_UNFINISHED: Final = re.compile(
    r"\(?\[(?:[^\[\]]|\[[^\[\]]*\])*(?:\[[^\[\]]*)?$"
    r"|\(?\[(?:[^\[\]]|\[[^\[\]]*\])*\](?:\((?:[^()]|\([^()]*\))*(?:\([^()]*)?\)?)?$"
    r"|【[^】]*$"
    r"|https?://[^\s<>\"'`]*$"
    r"|h(?:t(?:t(?:p(?:s?(?::/?)?)?)?)?)?$"
)
_AFTER_URL: Final = ".,;:!?*_~"
_LOOK_AHEAD: Final = 2
"""Characters after a marker that may still change what it is: ``[1]`` or ``[1](…``."""
_LONGEST_LINE: Final = 8192
"""Characters of a line that is searched for citations; beyond it the line is passed on as it is."""


@dataclass(frozen=True, slots=True)
class Cited:
    """The text from ``start`` to ``end`` names the source at this place (0 is the first)."""

    start: int
    end: int
    source: int


class CitationFinder:
    """
    Find citations in a text that arrives in pieces.

    What is found does not depend on where the text was cut.

    Args:
        urls: The URLs of the sources, in the order of their numbers.
    """

    def __init__(self, urls: Sequence[str]) -> None:
        self._places = {normal_url(url): place for place, url in reversed(list(enumerate(urls)))}
        self._count = len(urls)
        self._line = ""
        self._line_start = 0
        self._done = 0
        self._fenced = False
        self.unknown = 0
        """How many markers named no source."""

    def feed(self, text: str) -> list[Cited]:
        """Take the next piece; return the citations that are certain by now, in order."""
        found: list[Cited] = []
        *whole, rest = text.split("\n")
        for piece in whole:
            self._line += piece
            found += self._scan(final=True)
            self._next_line()
        self._line += rest
        if rest:
            found += self._scan(final=False)
        return found

    def finish(self) -> list[Cited]:
        """Return the citations that only the end of the text makes certain."""
        return self._scan(final=True)

    def _next_line(self) -> None:
        if self._line.lstrip().startswith("```"):
            self._fenced = not self._fenced
        self._line_start += len(self._line) + 1
        self._line, self._done = "", 0

    def _scan(self, *, final: bool) -> list[Cited]:
        if self._fenced or self._line.lstrip().startswith("```"):
            return []
        found: list[Cited] = []
        certain = len(self._line) if final else len(self._line) - _LOOK_AHEAD
        if not final:
            certain = min(certain, self._open_tick())
            if unfinished := _UNFINISHED.search(self._line, self._done):
                certain = min(certain, unfinished.start())
        settled = max(certain, self._done)
        for match in _MARK.finditer(self._line, self._done):
            if match.end() > certain:
                settled = min(settled, match.start())
                break
            found += self._cited(match)
        # What is no marker by now, and no start of one, is not looked at again.
        self._done = settled
        if not final and len(self._line) - self._done > _LONGEST_LINE:
            self._done = len(self._line) - _LONGEST_LINE // 2
        return found

    def _open_tick(self) -> int:
        # A backtick whose partner has not come yet: what follows may turn out to be code.
        if self._line.find("`", self._done) < 0:
            return len(self._line)
        rest = _MARK.sub(lambda m: " " * len(m[0]) if m["code"] else m[0], self._line[self._done :])
        at = rest.find("`")
        return len(self._line) if at < 0 else self._done + at

    def _cited(self, match: re.Match[str]) -> list[Cited]:
        start, end = match.span()
        if match["code"]:
            return []
        if match["numbers"]:
            numbers = [int(digits) for digits in re.findall(r"\d{1,3}", match["numbers"])]
            if match["numbers"].startswith("【"):
                numbers = numbers[:1]
            known = [number - 1 for number in numbers if 1 <= number <= self._count]
            self.unknown += len(numbers) - len(known)
            return [self._at(start, end, place) for place in known]
        if match["link"]:
            text = match.group(0)
            if not (text.startswith("(") and text.endswith("))")):
                start, end = match.span("link")
            target = match["target"]
        else:
            target = match["bare"].rstrip(_AFTER_URL)
            end = start + len(target)
        place = self._places.get(normal_url(target))
        if place is None:
            self.unknown += 1
            return []
        return [self._at(start, end, place)]

    def _at(self, start: int, end: int, place: int) -> Cited:
        return Cited(self._line_start + start, self._line_start + end, place)


def find(text: str, urls: Sequence[str]) -> list[Cited]:
    """Return all citations of a whole text."""
    finder = CitationFinder(urls)
    return finder.feed(text) + finder.finish()
