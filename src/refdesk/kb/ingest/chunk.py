"""
Parts a document's text into passages.

A passage never runs across a heading, unless the heading stands alone, nor across a page; a row of
a table is never cut while it fits, and every part of a table begins with the table's header.
Offsets come from parting the text, never from looking for it again.  Time, and what comes out, grow
with the text, whatever is in it.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from refdesk.kb.ingest.headings import FENCE, Section, lines_of, plain, sections

Shape = Literal["plain", "markdown", "rows"]

MAX_PASSAGES: Final = 200_000
"""Passages of one document; one that makes more is refused."""
# Documents as people write them repeat less than they say.
MAX_REPEATED: Final = 4
"""Characters of headers, headings and captions that passages repeat, for each one of the text."""
MAX_REPEATED_CHARS: Final = 65_536
"""Characters that passages may repeat beyond that; what is more is left out."""

_SLAB_CHARS: Final = 20_000
"""
How much is given to the splitter at once, unless ten passages are longer.

Where a text has neither spaces nor full stops, its time for a passage grows with what follows:
20,000 characters of Chinese in passages of 50 take 2.7 s at once, and 0.2 s in slabs of 20 passages
(semantic-text-splitter 0.33, November 2026).
"""
_SLAB_PASSAGES: Final = 20
_MAX_CAPTION: Final = 200
"""Characters of a table's caption that its parts repeat."""
_CAPTION_WITHIN: Final = 2_000
_MAX_QUOTED_LINES: Final = 50
"""Lines that one quoted cell may span; beyond it the quote is taken for text."""
_LEAD: Final = " > "
_LEAST_LEAD: Final = 200
"""A passage has half of its length for headings and caption, or so many characters."""
_TABLE_MARKS: Final = frozenset(" \t:|-")
_MOST_ABOVE: Final = 20
"""Records of a CSV among which its header is looked for; behind them it is the first one."""


class TooManyPassages(ValueError):
    """A text makes more passages than a document may have; the end of a sentence about it."""


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

    def packed(self) -> list[Any]:
        """Return its values for JSON, with the header alone where the text can be cut again."""
        header = self.text[: len(self.text) - (self.end - self.start)]
        return [self.start, self.end, header, self.heading, self.page, self.lead]

    @property
    def index_text(self) -> str:
        """What is embedded and searched."""
        return f"{self.lead}\n{self.text}" if self.lead else self.text


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
        chars: How long a passage is at most, its header row included, from 1; a row of a table
            that is up to four times as long stays whole.
        pages: Where each page begins, where there are pages.

    Raises:
        TooManyPassages: There are more than `MAX_PASSAGES`.
    """
    if shape == "rows":
        found = _rows(text, chars)
    elif shape == "markdown":
        found = (
            piece
            for section in _by_page(sections(text), pages)
            for piece in _section(text, section, chars)
        )
    else:
        whole = Section(start=0, end=len(text))
        found = (
            piece
            for part in _by_page([whole], pages)
            for piece in _prose(text, part, part.start, part.end, chars, False)
        )
    return list(_finished(text, found, pages))


def _finished(text: str, found: Iterator[Piece], pages: Sequence[int]) -> Iterator[Piece]:
    """Yield passages with their page, and with what they repeat as long as it is not too much."""
    spare = MAX_REPEATED * len(text) + MAX_REPEATED_CHARS
    for count, piece in enumerate(found):
        if count == MAX_PASSAGES:
            raise TooManyPassages(
                f"it makes more than {MAX_PASSAGES} passages: split it, or have longer passages"
                " (chunk_chars)"
            )
        body = piece.end - piece.start
        repeated = len(piece.text) - body + len(piece.lead) + sum(map(len, piece.heading))
        if repeated > spare:
            piece = replace(piece, text=text[piece.start : piece.end], heading=(), lead="")
        else:
            spare -= repeated
        if pages:
            piece = replace(piece, page=max(1, bisect.bisect_right(pages, piece.start)))
        yield piece


def _by_page(sections: Sequence[Section], pages: Sequence[int]) -> Iterator[Section]:
    """Part sections where pages begin: a passage that is shown with its page is all on it."""
    for section in sections:
        start = section.start
        for number in range(bisect.bisect_right(pages, start), len(pages)):
            page = pages[number]
            if page >= section.end:
                break
            yield Section(start=start, end=page, heading=section.heading)
            start = page
        yield Section(start=start, end=section.end, heading=section.heading)


def _section(text: str, section: Section, chars: int) -> Iterator[Piece]:
    start, end = _trimmed(text, section.start, section.end)
    if end - start <= chars:
        if end > start:
            yield _piece(text, section, start, end, chars)
        return
    for run in _runs(text, start, end):
        if run.table:
            caption = _caption(text, section.start, run.start)
            lines = list(lines_of(text, run.start, run.end))
            yield from _table(text, section, lines[0][0], lines[1][1], lines[2:], chars, caption)
        else:
            yield from _prose(text, section, run.start, run.end, chars, True)


def _runs(text: str, start: int, end: int) -> list[_Run]:
    """Return prose and tables in turn."""
    runs: list[_Run] = []
    lines = list(lines_of(text, start, end))
    at, open_, fence = 0, start, ""
    while at < len(lines):
        line = text[slice(*lines[at])]
        if mark := FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence):
                fence = ""
        follows = text[slice(*lines[at + 1])] if at + 1 < len(lines) else ""
        is_head = not fence and "|" in line and "|" in follows and _is_rule(follows)
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


def _is_rule(line: str) -> bool:
    """Return whether a line is the one between header and rows, such as ``|---|:--|``."""
    return "-" in line and _TABLE_MARKS.issuperset(line)


def _caption(text: str, start: int, table: int) -> str:
    """Return the line above a table, which usually says what it shows."""
    above = text[max(start, table - _CAPTION_WITHIN) : table].rstrip()
    said = above[above.rfind("\n") + 1 :].strip()
    return plain(said.lstrip("# ")) if len(said) <= _MAX_CAPTION and "|" not in said else ""


def _prose(
    text: str, section: Section, start: int, end: int, chars: int, markdown: bool
) -> Iterator[Piece]:
    for at, last in _spans(text, start, end, chars, markdown):
        yield _piece(text, section, at, last, chars)


def _spans(
    text: str, start: int, end: int, chars: int, markdown: bool = False
) -> Iterator[tuple[int, int]]:
    """Yield where the passages of a text begin and end, in time that grows with its length."""
    splitter = MarkdownSplitter(chars) if markdown else TextSplitter(chars)
    slab = max(min(_SLAB_CHARS, _SLAB_PASSAGES * chars), 10 * chars)
    while start < end:
        stop = min(end, start + slab)
        if stop < end:
            stop = _soft_end(text, start, stop)
        for offset, part in splitter.chunk_indices(text[start:stop]):
            at, last = _trimmed(text, start + offset, start + offset + len(part))
            if last > at:
                yield at, last
        start = stop


def _soft_end(text: str, start: int, stop: int) -> int:
    for mark in ("\n\n", "\n", "。", ". ", " "):
        found = text.rfind(mark, (start + stop) // 2, stop)
        if found > 0:
            return found + len(mark)
    return stop


def _table(
    text: str,
    section: Section,
    head: int,
    head_end: int,
    rows: Sequence[tuple[int, int]],
    chars: int,
    caption: str = "",
) -> Iterator[Piece]:
    """
    Part a table between rows; ``head`` to ``head_end`` is what each part begins with.

    A header that is longer than half of a passage is a passage by itself, and is cut where it is
    repeated: a part with its header is no longer than a passage, unless a row is.
    """
    header = _repeated(text[head:head_end], chars // 2)
    room = max(1, chars - len(header) - 1) if header else chars
    whole = len(header) == head_end - head and bool(rows)
    if not whole:
        for begin, stop in _spans(text, head, head_end, chars):
            yield _piece(text, section, begin, stop, chars, caption)
    at = 0
    while at < len(rows):
        last = at
        while last + 1 < len(rows) and rows[last + 1][1] - rows[at][0] <= room:
            last += 1
        start, end = rows[at][0], rows[last][1]
        spans = [(start, end)] if end - start <= 4 * room else _spans(text, start, end, room)
        for begin, stop in spans:
            if whole:
                yield _piece(text, section, head, stop, chars, caption)
            elif text[begin:stop].strip():
                yield _piece(text, section, begin, stop, chars, caption, header)
            whole = False
        at = last + 1


def _repeated(header: str, most: int) -> str:
    """Return the beginning of a header, up to a cell, where it is too long to be repeated."""
    if len(header) <= most:
        return header
    line = header.partition("\n")[0][: max(0, most - 2)]
    cell = max(line.rfind(mark) for mark in "|,;\t")
    kept = (line[:cell] if cell > 0 else line).rstrip()
    return f"{kept} …" if kept else ""


def _rows(text: str, chars: int) -> Iterator[Piece]:
    records = [(start, end) for start, end in _records(text) if text[start:end].strip(' \t,;|"\n')]
    if not records:
        return
    section = Section(start=0, end=len(text))
    at = _head(text, records)
    caption = ""
    if at:
        yield from _prose(text, section, records[0][0], records[at - 1][1], chars, False)
        caption = _caption(text, 0, records[at][0])
    (head, head_end), rest = records[at], records[at + 1 :]
    yield from _table(text, section, head, head_end, rest, chars, caption)


def _head(text: str, records: Sequence[tuple[int, int]]) -> int:
    """Return which record is the header: lines above it have fewer fields than the table."""
    first = records[:_MOST_ABOVE]
    best, place = len(first) // 2, 0
    for mark in ",;\t|":
        counts = [text.count(mark, *record) for record in first]
        for fields, often in Counter(filter(None, counts)).most_common(1):
            at = counts.index(fields)
            if often > best:
                best, place = often, at if max(counts[:at], default=0) < fields else 0
    return place


def _records(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each record of a CSV begins and ends; a quoted field may hold line ends."""
    waiting: list[tuple[int, int]] = []
    odd = False
    for start, end in lines_of(text, 0, len(text)):
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
    text: str,
    section: Section,
    start: int,
    end: int,
    chars: int,
    caption: str = "",
    header: str = "",
) -> Piece:
    body = text[start:end]
    shown = f"{header}\n{body}" if header else body
    above = [name for name in (*section.heading, caption) if name]
    missing = [name for at, name in enumerate(above) if name not in above[:at]]
    lead = _LEAD.join(name for name in missing if name.removesuffix("…") not in body)
    most = max(_LEAST_LEAD, chars // 2)
    if len(lead) > most:
        # What stands nearest says most.
        lead = "…" + lead[1 - most :]
    return Piece(text=shown, start=start, end=end, heading=section.heading, lead=lead)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
