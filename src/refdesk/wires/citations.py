"""
Where a model's text names a source: by its URL, or by its number in brackets.

Offsets count code points of the text, half-open, over the whole visible marker: ``[2]``,
``[title](url)``, ``([title](url))``, or a bare URL.  What stands in code is no citation; a number
or URL that belongs to no source is counted and otherwise left alone.

Each place of a text is looked at a few times, however the text arrives.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from refdesk.http import MAX_URL_CHARS, normal_url

MAX_CITED_CHARS: Final = 256 * 1024
"""Characters of one text that are searched for citations; in the rest there are none."""
_LONGEST_CHARS: Final = 4096
"""Characters of a marker, or of a stretch of code; a longer one is text."""
_SETTLED: Final = 256
"""What waits for its end is looked at again with each piece until it is so long, then seldom."""

_URL_CHAR: Final = r"[^\s<>\"'`\[\]【】()]"
_URL: Final = rf"https?://{_URL_CHAR}*+(?:\([^\s<>\"'`()]*+\){_URL_CHAR}*+)*+"
_LABEL: Final = r"\[(?:[^\[\]\n]++|\[[^\[\]\n]*+\])*+"

_START: Final = re.compile(r"`++|\(?\[|【|https?://")
_START_PART: Final = re.compile(r"(?:\(|h(?:t(?:t(?:p(?:s?(?::/?)?)?)?)?)?)\Z")
_LINK: Final = re.compile(rf"\(?({_LABEL}\]\(({_URL})[^()\n]*+\))\)?")
_LINK_PART: Final = re.compile(
    rf"\(?{_LABEL}(?:\[[^\[\]\n]*+|\](?:\((?:h[^()\n]*+(?:\([^()\n]*+\)[^()\n]*+)*+(?:\([^()\n]*+)?"
    r")?+\)?+)?+)?+\Z"
)
_NUMBERS: Final = re.compile(
    r"\[[0-9]{1,3}(?:\s*+[,;]\s*+[0-9]{1,3})*+\]|【([0-9]{1,3})[^】\n]{0,20}】"
)
_NUMBERS_PART: Final = re.compile(r"【(?:[0-9]{1,3}[^】\n]{0,20})?+\Z")
_BARE: Final = re.compile(_URL)
_BARE_PART: Final = re.compile(rf"{_URL}(?:\([^\s<>\"'`()]*+)?+\Z")
_NUMBER: Final = re.compile(r"[0-9]{1,3}")
_TICKS: Final = re.compile("`++")
_LINE_START: Final = re.compile(r"\s*+(.{0,3})", re.DOTALL)
_AFTER_URL: Final = ".,;:!?*_~"


@dataclass(frozen=True, slots=True)
class Cited:
    """The text from ``start`` to ``end`` names the source at this place (0 is the first)."""

    start: int
    end: int
    source: int


class CitationFinder:
    """
    Find citations in a text that arrives in pieces, up to `MAX_CITED_CHARS`.

    What is found does not depend on where the text was cut.

    Args:
        urls: The URLs of the sources, in the order of their numbers.
    """

    def __init__(self, urls: Sequence[str]) -> None:
        self._places = {normal_url(url): place for place, url in reversed(list(enumerate(urls)))}
        self._count = len(urls)
        self._held = ""
        """What of the line is not settled yet."""
        self._at = 0
        """Where that begins in the text."""
        self._looked = 0
        """How much of it was there when it was last looked at."""
        self._line_start = ""
        """The first three characters of the line after its indent, as far as they are there."""
        self._fenced = False
        self.unknown = 0
        """How many markers named no source."""

    def feed(self, text: str) -> list[Cited]:
        """Take the next piece; return the citations that are certain by now, in order."""
        room = MAX_CITED_CHARS - self._at - len(self._held)
        if room <= 0:
            return []
        found: list[Cited] = []
        *whole, rest = text[:room].split("\n")
        for piece in whole:
            self._take(piece)
            found += self._scan(final=True)
            self._next_line()
        if rest:
            self._take(rest)
            found += self._scan(final=False)
        return found

    def finish(self) -> list[Cited]:
        """Return the citations that only the end of the text makes certain."""
        return self._scan(final=True)

    def _take(self, piece: str) -> None:
        if len(self._line_start) < 3:
            start = _LINE_START.match(self._line_start + piece)
            self._line_start = start[1] if start else ""
        self._held += piece

    def _next_line(self) -> None:
        if self._line_start == "```":
            self._fenced = not self._fenced
        self._at += 1
        self._line_start = ""

    def _scan(self, *, final: bool) -> list[Cited]:
        held = self._held
        if self._fenced or self._line_start == "```":
            self._drop(len(held))
            return []
        if not final and len(held) > _SETTLED and len(held) < self._looked + self._looked // 4:
            return []
        found: list[Cited] = []
        closers = _closers(held) if "`" in held else {}
        at = 0
        while start := _START.search(held, at):
            here = start.start()
            end = self._look(start, closers, found, final=final)
            if end < 0:
                self._drop(here)
                return found
            at = end
        part = None if final else _START_PART.search(held, max(at, len(held) - 8))
        self._drop(part.start() if part else len(held))
        return found

    def _look(
        self, start: re.Match[str], closers: dict[int, int], found: list[Cited], *, final: bool
    ) -> int:
        """Return where to look on from a place where a marker may begin; -1 to wait for more."""
        held, at = start.string, start.start()
        stop = at + _LONGEST_CHARS
        more = not final and stop > len(held)
        if start[0][0] == "`":
            # At the very end, another tick may follow.
            closed = closers.get(at, stop)
            if closed < min(stop, len(held) if more else stop):
                return closed
            return -1 if more else start.end()
        if start[0][0] == "h":
            bare = _BARE.match(held, at, stop)
            if more and _BARE_PART.match(held, at):
                return -1
            if bare is None:
                return start.end()
            target = bare[0].rstrip(_AFTER_URL)
            self._name_url(target, at, at + len(target), found)
            return bare.end()
        if more and (_LINK_PART.match(held, at) or _NUMBERS_PART.match(held, at)):
            return -1
        if link := _LINK.match(held, at, stop):
            whole = link[0].startswith("(") and link[0].endswith("))")
            self._name_url(link[2], *link.span(0 if whole else 1), found)
            return link.end()
        numbers = _NUMBERS.match(held, start.end() - 1, stop)
        if numbers is None:
            return start.end()
        self._name_numbers(numbers, found)
        return numbers.end()

    def _name_numbers(self, numbers: re.Match[str], found: list[Cited]) -> None:
        start, end = numbers.span()
        said = [numbers[1]] if numbers[1] else _NUMBER.findall(numbers[0])
        for number in map(int, said):
            if 1 <= number <= self._count:
                found.append(Cited(self._at + start, self._at + end, number - 1))
            else:
                self.unknown += 1

    def _name_url(self, target: str, start: int, end: int, found: list[Cited]) -> None:
        place = self._places.get(normal_url(target)) if len(target) <= MAX_URL_CHARS else None
        if place is None:
            self.unknown += 1
        else:
            found.append(Cited(self._at + start, self._at + end, place))

    def _drop(self, settled: int) -> None:
        self._held = self._held[settled:]
        self._at += settled
        self._looked = len(self._held)


def _closers(text: str) -> dict[int, int]:
    """Return where code ends that begins at a run of backticks: behind the next run as long."""
    runs = list(_TICKS.finditer(text))
    ahead: dict[int, int] = {}
    ends: dict[int, int] = {}
    for run in reversed(runs):
        size = len(run[0])
        if size in ahead:
            ends[run.start()] = ahead[size]
        ahead[size] = run.end()
    return ends


def find(text: str, urls: Sequence[str]) -> list[Cited]:
    """Return all citations of a whole text."""
    finder = CitationFinder(urls)
    return finder.feed(text) + finder.finish()
