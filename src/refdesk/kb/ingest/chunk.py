"""
Parts a document's text into passages.

A passage never runs across a heading, unless the heading stands alone, nor across a page; a row of
a table is never cut while it fits, and every part of a table begins with the table's header.
Offsets come from parting the text, never from looking for it again.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from semantic_text_splitter import MarkdownSplitter, TextSplitter

Shape = Literal["plain", "markdown", "rows"]

_SLAB: Final = 20_000
"""
How much is given to the splitter at once, if passages are not longer than a tenth of it.

Where a text has no spaces, its time grows with the square of the length: 200,000 characters of
Chinese take 12 s at once and 1.4 s in such pieces (semantic-text-splitter 0.33, November 2026).
"""
_MAX_CAPTION: Final = 200
"""Characters of a table's caption that its parts repeat."""
_MAX_QUOTED_LINES: Final = 50
"""Lines that one quoted cell may span; beyond it the quote is taken for text."""

_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#*)?[ \t]*$")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_TABLE_RULE: Final = re.compile(r"[ \t]*\|?[ \t:|-]*-[ \t:|-]*$")
_MARKUP: Final = re.compile(r"\\(?=[^\w\s])|[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """A passage: see `refdesk.store.passages.Chunk`."""

    text: str = field(repr=False)
    start: int
    end: int
    heading: tuple[str, ...] = ()
    page: int | None = None
    lead: str = field(default="", repr=False)
    """What goes before the text where it is indexed: headings and caption that it has not."""

    @property
    def index_text(self) -> str:
        """What is embedded and searched."""
        return f"{self.lead}\n{self.text}" if self.lead else self.text


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    start: int
    end: int
    heading: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Run:
    start: int
    end: int
    table: bool = False


def parted(text: str, *, shape: Shape, chars: int, pages: Sequence[int] = ()) -> list[Piece]:
    """
    Return the passages of a text, in order; together they hold all of it but white space.

    Args:
        text: The extracted text.
        shape: Whether it has Markdown's headings and tables, rows of a table, or neither.
        chars: How long a passage is at most, headings and header rows aside.
        pages: Where each page begins, where there are pages.
    """
    if shape == "rows":
        found = list(_rows(text, chars))
    elif shape == "markdown":
        found = [
            piece
            for section in _by_page(_sections(text), pages)
            for piece in _section(text, section, chars)
        ]
    else:
        whole = _Section(start=0, end=len(text))
        found = [
            piece
            for part in _by_page([whole], pages)
            for piece in _prose(text, part, part.start, part.end, chars, False)
        ]
    if not pages:
        return found
    return [
        Piece(
            text=piece.text,
            start=piece.start,
            end=piece.end,
            heading=piece.heading,
            lead=piece.lead,
            page=max(1, bisect.bisect_right(pages, piece.start)),
        )
        for piece in found
    ]


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where each line begins and ends, without its line end."""
    while start < end:
        stop = text.find("\n", start, end)
        if stop < 0:
            stop = end
        yield start, stop
        start = stop + 1


def _sections(text: str) -> list[_Section]:
    path: list[tuple[int, str]] = []
    sections: list[_Section] = []
    start, bare, fence = 0, True, ""
    before: tuple[int, str] | None = None
    body = _front_matter(text)

    def close(at: int) -> None:
        nonlocal start
        if at > start:
            heading = tuple(name for _, name in path if name)
            sections.append(_Section(start=start, end=at, heading=heading))
        start = at

    for at, stop in _lines(text, body, len(text)):
        line = text[at:stop]
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
            before = None
            continue
        level, name, where = 0, "", at
        if mark:
            fence = mark[1]
        elif found := _HEADING.match(line):
            level, name = len(found[1]), found[2] or ""
        elif before and (under := _UNDERLINE.match(line)):
            level, name, where = (1 if under[1][0] == "=" else 2), before[1], before[0]
        if level:
            # A heading with nothing under it goes with what follows: alone it says too little.
            if not bare:
                close(where)
            path = [one for one in path if one[0] < level] + [(level, _plain(name))]
            bare, before = True, None
        else:
            if line.strip():
                bare = False
            usable = line.strip() and not mark and line.lstrip()[0] not in "|>-*+#"
            before = (at, line.strip()) if usable else None
    close(len(text))
    return sections


def _by_page(sections: Sequence[_Section], pages: Sequence[int]) -> Iterator[_Section]:
    """Part sections where pages begin: a passage that is shown with its page is all on it."""
    for section in sections:
        start = section.start
        for page in pages[bisect.bisect_right(pages, start) :]:
            if page >= section.end:
                break
            yield _Section(start=start, end=page, heading=section.heading)
            start = page
        yield _Section(start=start, end=section.end, heading=section.heading)


def _front_matter(text: str) -> int:
    if not text.startswith("---\n"):
        return 0
    end = text.find("\n---\n", 3, 10_000)
    return end + 5 if end > 0 else 0


def _plain(name: str) -> str:
    return _MARKUP.sub("", name).strip()


def _section(text: str, section: _Section, chars: int) -> Iterator[Piece]:
    start, end = _trimmed(text, section.start, section.end)
    if end - start <= chars:
        if end > start:
            yield _piece(text, section, start, end)
        return
    for run in _runs(text, start, end):
        if run.table:
            caption = _caption(text, section.start, run.start)
            lines = list(_lines(text, run.start, run.end))
            yield from _table(text, section, lines[0][0], lines[1][1], lines[2:], chars, caption)
        else:
            yield from _prose(text, section, run.start, run.end, chars, True)


def _runs(text: str, start: int, end: int) -> list[_Run]:
    """Return prose and tables in turn."""
    runs: list[_Run] = []
    lines = list(_lines(text, start, end))
    at, open_, fence = 0, start, ""
    while at < len(lines):
        line = text[slice(*lines[at])]
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence):
                fence = ""
        follows = text[slice(*lines[at + 1])] if at + 1 < len(lines) else ""
        is_head = not fence and "|" in line and "|" in follows and _TABLE_RULE.match(follows)
        if not is_head:
            at += 1
            continue
        last = at + 1
        while last + 1 < len(lines) and "|" in text[slice(*lines[last + 1])]:
            last += 1
        if lines[at][0] > open_:
            runs.append(_Run(start=open_, end=lines[at][0]))
        runs.append(_Run(start=lines[at][0], end=lines[last][1], table=True))
        open_ = lines[last][1]
        at = last + 1
    if open_ < end:
        runs.append(_Run(start=open_, end=end))
    return runs


def _caption(text: str, start: int, table: int) -> str:
    """Return the line above a table, which usually says what it shows."""
    lines = [text[slice(*line)].strip() for line in _lines(text, max(start, table - 2000), table)]
    said = next((line for line in reversed(lines) if line), "")
    return _plain(said.lstrip("# ")) if len(said) <= _MAX_CAPTION and "|" not in said else ""


def _prose(
    text: str, section: _Section, start: int, end: int, chars: int, markdown: bool
) -> Iterator[Piece]:
    splitter = MarkdownSplitter(chars) if markdown else TextSplitter(chars)
    slab = max(_SLAB, 10 * chars)
    while start < end:
        stop = min(end, start + slab)
        if stop < end:
            stop = _soft_end(text, start, stop)
        for offset, part in splitter.chunk_indices(text[start:stop]):
            at, last = _trimmed(text, start + offset, start + offset + len(part))
            if last > at:
                yield _piece(text, section, at, last)
        start = stop


def _soft_end(text: str, start: int, stop: int) -> int:
    for mark in ("\n\n", "\n", "。", ". ", " "):
        found = text.rfind(mark, (start + stop) // 2, stop)
        if found > 0:
            return found + len(mark)
    return stop


def _table(
    text: str,
    section: _Section,
    head: int,
    head_end: int,
    rows: Sequence[tuple[int, int]],
    chars: int,
    caption: str = "",
) -> Iterator[Piece]:
    """Part a table between rows; ``head`` to ``head_end`` is what each part begins with."""
    header = text[head:head_end]
    room = max(chars - len(header) - 1, chars // 2)
    at, first = 0, True
    if not rows:
        yield _piece(text, section, head, head_end, caption)
    while at < len(rows):
        last = at
        while last + 1 < len(rows) and rows[last + 1][1] - rows[at][0] <= room:
            last += 1
        start, end = rows[at][0], rows[last][1]
        if end - start > 4 * room:
            spans = [
                (start + offset, start + offset + len(part))
                for offset, part in TextSplitter(room).chunk_indices(text[start:end])
            ]
        else:
            spans = [(start, end)]
        for begin, stop in spans:
            if first:
                yield _piece(text, section, head, stop, caption)
            elif text[begin:stop].strip():
                yield _piece(text, section, begin, stop, caption, header)
            first = False
        at = last + 1


def _rows(text: str, chars: int) -> Iterator[Piece]:
    records = [(start, end) for start, end in _records(text) if text[start:end].strip(' \t,;|"\n')]
    if not records:
        return
    section = _Section(start=0, end=len(text))
    (head, head_end), rest = records[0], records[1:]
    yield from _table(text, section, head, head_end, rest, chars)


def _records(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each record of a CSV begins and ends; a quoted field may hold line ends."""
    waiting: list[tuple[int, int]] = []
    odd = False
    for start, end in _lines(text, 0, len(text)):
        waiting.append((start, end))
        odd ^= bool(text.count('"', start, end) % 2)
        if not odd:
            yield waiting[0][0], waiting[-1][1]
            waiting = []
        elif len(waiting) > _MAX_QUOTED_LINES:
            # Inches, or a quotation mark that nobody closed: the lines are the records.
            yield from waiting
            waiting, odd = [], False
    yield from waiting


def _piece(
    text: str, section: _Section, start: int, end: int, caption: str = "", header: str = ""
) -> Piece:
    body = text[start:end]
    shown = f"{header}\n{body}" if header else body
    above = [name for name in (*section.heading, caption) if name]
    missing = [name for at, name in enumerate(above) if name not in above[:at]]
    lead = " > ".join(name for name in missing if name not in body)
    return Piece(text=shown, start=start, end=end, heading=section.heading, lead=lead)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
