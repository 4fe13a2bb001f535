"""
Pages of a PDF by the places of their words: lines, and tables with their empty cells.

A table has at least three rows and three columns, and the same gaps between its columns in each
row.  This is the second reader of PDF files: it knows neither headings nor columns of prose, and
loses no letters.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from refdesk.kb.ingest.reading.tables import table

_WORD = re.compile(r"\S+")
_GAP = 0.8
"""So much of the height of letters parts two cells: between words it is a third of it."""
_LONGEST = 24
"""Cells are shorter than this, as a rule; columns of prose are not."""
_LEAST = 3
"""Rows and columns of a table."""
_MOST_LINES: Final = 2000
"""Lines of a PDF page on which tables are looked for; a page of more is a drawing."""


@dataclass(kw_only=True)
class Cell:
    """Words that stand beside each other."""

    left: float
    right: float
    text: str


@dataclass(kw_only=True)
class Line:
    """What stands at one height."""

    base: float
    height: float
    cells: list[Cell]

    @property
    def text(self) -> str:
        """All of it, with a space between cells."""
        return " ".join(cell.text for cell in self.cells)


@dataclass(kw_only=True)
class Block:
    """A line, or the rows of a table."""

    lines: list[Line]
    rows: list[list[str]] | None = None

    @property
    def markdown(self) -> str:
        """Return it as Markdown."""
        return table(self.rows) if self.rows else self.lines[0].text


def blocks_of(page: Any, text: str) -> list[Block]:
    """
    Return the blocks of a page from top to bottom.

    Args:
        page: A text page of PDFium.
        text: Its text, character for character.
    """
    lines = _lines(page, text)
    found: list[Block] = []
    at = 0
    while at < len(lines):
        end, columns = _reach(lines, at) if len(lines) <= _MOST_LINES else (at, [])
        rows = [_row(line, columns) for line in lines[at:end]]
        if end - at >= _LEAST and len(columns) >= _LEAST and _is_table(lines[at:end]):
            found.append(Block(lines=lines[at:end], rows=rows))
            at = end
        else:
            found.append(Block(lines=[lines[at]]))
            at += 1
    return found


def _lines(page: Any, text: str) -> list[Line]:
    """Return the words of a page in lines, from top to bottom, and from left to right."""
    import pypdfium2.raw as raw

    words: list[tuple[float, float, float, float, str]] = []
    box = raw.FS_RECTF()
    for found in _WORD.finditer(text):
        edges = [
            (box.left, box.bottom, box.right, box.top)
            for at in (found.start(), found.end() - 1)
            if raw.FPDFText_GetLooseCharBox(page.raw, at, ctypes.byref(box))
        ]
        if edges:
            (left, low, _, high), (_, _, right, _) = edges[0], edges[-1]
            words.append((low, high - low, left, max(left, right), found[0]))
    words.sort(key=lambda word: (-word[0], word[2]))
    lines: list[list[tuple[float, float, float, float, str]]] = []
    for word in words:
        if lines and lines[-1][0][0] - word[0] < 0.3 * max(1.0, lines[-1][0][1]):
            lines[-1].append(word)
        else:
            lines.append([word])
    return [_line(sorted(each, key=lambda word: word[2])) for each in lines]


def _line(words: Sequence[tuple[float, float, float, float, str]]) -> Line:
    height = max(1.0, median(word[1] for word in words))
    cells: list[Cell] = []
    for _, _, left, right, text in words:
        if cells and left - cells[-1].right < _GAP * height:
            cells[-1].right = max(cells[-1].right, right)
            cells[-1].text += " " + text
        else:
            cells.append(Cell(left=left, right=right, text=text))
    return Line(base=words[0][0], height=height, cells=cells)


def _reach(lines: Sequence[Line], start: int) -> tuple[int, list[tuple[float, float]]]:
    """Return where a table that begins with a line ends, and from where to where its columns go."""
    columns = [(cell.left, cell.right) for cell in lines[start].cells]
    if len(columns) < _LEAST:
        return start, []
    step = 0.0
    end = start + 1
    for line in lines[start + 1 :]:
        drop = lines[end - 1].base - line.base
        if drop > 2.2 * (step or 2 * line.height):
            break
        wider = _merged(columns, line)
        if wider is None:
            break
        columns, step, end = wider, max(step, drop), end + 1
    return end, columns


def _merged(columns: Sequence[tuple[float, float]], line: Line) -> list[tuple[float, float]] | None:
    """Return columns with a line's cells among them; None where a cell is over two of them."""
    merged = list(columns)
    taken: set[int] = set()
    for cell in line.cells:
        over = [
            at for at, (left, right) in enumerate(merged) if cell.left < right and left < cell.right
        ]
        if len(over) > 1 or (over and over[0] in taken):
            return None
        if over:
            left, right = merged[over[0]]
            merged[over[0]] = (min(left, cell.left), max(right, cell.right))
            taken.add(over[0])
        else:
            merged.append((cell.left, cell.right))
            taken.add(len(merged) - 1)
    return merged


def _row(line: Line, columns: Sequence[tuple[float, float]]) -> list[str]:
    row = [""] * len(columns)
    order = sorted(range(len(columns)), key=lambda at: columns[at])
    for cell in line.cells:
        for place, at in enumerate(order):
            left, right = columns[at]
            if left <= cell.left and cell.right <= right:
                row[place] = cell.text
    return row


def _is_table(lines: Sequence[Line]) -> bool:
    cells = [cell for line in lines for cell in line.cells]
    return (
        sum(len(cell.text) for cell in cells) <= _LONGEST * len(cells)
        and sum(len(line.cells) > 1 for line in lines) >= _LEAST
    )
