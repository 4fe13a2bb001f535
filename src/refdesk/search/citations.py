"""
Where an answer cites its references, found while it streams.

Found are ``<a class="ref" data-ref-id="ref_001" …>[ref_001]</a>`` with any attributes in any
order, ``<a index="1" />``, ``[ref_001]``, ``[1]``, ``[1, 2]``, ``[words](#ref:ref_001)``,
``#ref:ref_001``, and the configured format.  What stands in code is text.

What is found does not depend on where the answer was cut, the pieces' ``raw`` put together is the
answer, and no piece ends inside a tag.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from refdesk.search import _marks as marks
from refdesk.types import Reference


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """Text to show as it is.  ``raw`` is what stood in the answer, from ``start`` to ``end``."""

    text: str
    raw: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """A marker that names references.  Offsets count code points of the answer, half-open."""

    references: tuple[Reference, ...]
    """In the order named; never empty."""
    unknown: tuple[str, ...] = ()
    """Ids in the same marker that name nothing."""
    label: str = ""
    """Words that the marker was put around; to be shown before it."""
    raw: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class UnknownCitation:
    """A marker that names no reference.  ``text`` is what to show in its place."""

    ids: tuple[str, ...]
    text: str
    raw: str
    start: int
    end: int


_SHORT: Final = 256

Piece = Text | Citation | UnknownCitation


class CitationParser:
    """
    Parts an answer that arrives in pieces into text and citations.

    Args:
        references: What may be cited.
        format: The configured form of a citation (``search.citation.format``).
    """

    def __init__(self, references: Iterable[Reference], *, format: str = "#ref:{id}") -> None:  # noqa: A002
        self._references = {reference.index: reference for reference in references}
        self._custom = marks.Custom.read(format)
        self._starts = marks.starts(self._custom)
        self._held = ""
        self._looked = 0
        """How much of what is held was there when it was last looked at."""
        self._at = 0
        self._line = ""
        """The line before what is held, as far as it matters."""
        self._fence = ""
        self._anchors = 0
        self.cited: list[Reference] = []
        """The references cited so far, each once, in the order they came."""
        self.unknown: list[UnknownCitation] = []
        """What was cited so far and is not there."""

    def feed(self, text: str) -> list[Piece]:
        """Take the next piece of the answer; return what is certain by now."""
        self._held += text
        # What waits for its end is looked at with each piece while it is short, then seldom.
        grown = min(self._looked + self._looked // 4, marks.LONGEST_CHARS)
        return [] if _SHORT < len(self._held) < grown else self._scan(final=False)

    def finish(self) -> list[Piece]:
        """Return the rest.  A tag of ours that was cut off is not shown."""
        return self._scan(final=True)

    def _scan(self, *, final: bool) -> list[Piece]:
        pieces: list[Piece] = []
        done = at = 0
        while True:
            if self._fence:
                at, wait = self._code(at, final=final)
                if wait or self._fence:
                    break
            found = self._starts.search(self._held, at)
            if found is None:
                at = len(self._held)
                break
            at = found.start()
            step = self._look(at, final=final)
            if step is None:
                break
            if isinstance(step, int):
                at = step
                continue
            self._text(pieces, done, at)
            end = at + len(step.raw)
            pieces.append(self._piece(step, at, end))
            done = at = end
        self._text(pieces, done, at)
        self._drop(at)
        return pieces

    def _look(self, at: int, *, final: bool) -> marks.Mark | int | None:
        """Return the marker here, or where to look on if there is none, or None to wait."""
        held, char = self._held, self._held[at]
        if self._before(at).endswith("\\"):
            return at + 1
        if self._custom and (step := self._custom.look(held, at, final=final)) != at + 1:
            return step
        if char == "<":
            return marks.tag(held, at, final=final, open_anchors=self._anchors)
        if char in "`~":
            return self._ticks(at, final=final)
        if char == "#":
            return marks.anchor(held, at, final=final)
        if char == "【":
            return marks.lenticular(held, at, final=final)
        if char == "[" and not self._before(at).endswith("!"):
            return marks.bracket(held, at, final=final)
        return at + 1

    def _ticks(self, at: int, *, final: bool) -> int | None:
        if marks.may_open_fence(self._before(at)):
            fence = marks.fence(self._held, at, final=final)
            if fence is None:
                return None
            if fence:
                self._fence = fence
                return at + len(fence)
        return marks.code_span(self._held, at, final=final)

    def _code(self, at: int, *, final: bool) -> tuple[int, bool]:
        """Go on in a fenced block; return where, and whether to wait for more there."""
        held = self._held
        while at < len(held):
            end = held.find("\n", at)
            line = held[at:] if end < 0 else held[at:end]
            if not self._before(at):
                if end < 0 and not final and marks.may_close_fence(line):
                    return at, True
                if marks.closes_fence(line, self._fence):
                    self._fence = ""
                    return at + len(line), False
            at = len(held) if end < 0 else end + 1
        return at, False

    def _piece(self, mark: marks.Mark, start: int, end: int) -> Piece:
        start, end = self._at + start, self._at + end
        self._anchors = max(0, self._anchors + mark.opens)
        if not mark.ids:
            return Text(text=mark.label, raw=mark.raw, start=start, end=end)
        numbers = [marks.number_of(name) for name in mark.ids]
        known = [self._references[number] for number in numbers if number in self._references]
        missing = tuple(
            name
            for name, number in zip(mark.ids, numbers, strict=True)
            if number not in self._references
        )
        for reference in known:
            if reference not in self.cited:
                self.cited.append(reference)
        lost = UnknownCitation(ids=missing, text=mark.shown, raw=mark.raw, start=start, end=end)
        if missing:
            self.unknown.append(lost)
        if not known:
            return lost
        return Citation(
            references=tuple(known),
            unknown=missing,
            label=mark.label,
            raw=mark.raw,
            start=start,
            end=end,
        )

    def _text(self, pieces: list[Piece], start: int, end: int) -> None:
        if end > start:
            raw = self._held[start:end]
            pieces.append(Text(text=raw, raw=raw, start=self._at + start, end=self._at + end))

    def _before(self, at: int) -> str:
        """Return the line up to here, or its last characters if it is long."""
        begin = max(0, at - marks.LEAD_CHARS)
        line = self._held.rfind("\n", begin, at) + 1
        if line or begin:
            return self._held[max(line, begin) : at]
        return (self._line + self._held[:at])[-marks.LEAD_CHARS :]

    def _drop(self, at: int) -> None:
        self._line = self._before(at)
        self._held = self._held[at:]
        self._looked = len(self._held)
        self._at += at
