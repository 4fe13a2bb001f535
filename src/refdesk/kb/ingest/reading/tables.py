"""Tables written as Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

_SPACE = re.compile(r"\s+")


MAX_SPAN: Final = 1000
"""Columns that a cell of Word or PowerPoint may go over; more count as so many."""
MAX_LABEL_CHARS: Final = 200
"""Characters of a label of merged cells that is repeated; a longer one stands once."""


def table(rows: Sequence[Sequence[str]]) -> str:
    """
    Return rows as a Markdown table, the first of them as its header; empty without any text.

    Rows and columns without text are left out; rows are filled up to the same length.
    """
    cells = [[cell(each) for each in row] for row in rows]
    used = sorted({at for row in cells for at, each in enumerate(row) if each})
    lines = [
        "| " + " | ".join(row[at] if at < len(row) else "" for at in used) + " |"
        for row in cells
        if any(row)
    ]
    if not lines:
        return ""
    return "\n".join([lines[0], "|" + " --- |" * len(used), *lines[1:]])


def titles_of(rows: Sequence[Mapping[int, str]]) -> list[str]:
    """Return what the first rows of a sheet say that have one label each: they are no header."""
    titles: list[str] = []
    if not any(len(row) > 1 for row in rows):
        return titles
    for row in rows:
        if len(set(row.values())) != 1:
            break
        titles.append(next(iter(row.values())))
    return titles


def cell(text: str) -> str:
    """Return a text on one line, without what would end a cell."""
    return _SPACE.sub(" ", text).strip().replace("|", "\\|")


def spread(row: Sequence[tuple[str, int]]) -> list[str]:
    """
    Return a row of cells, each a text and over how many columns it goes.

    A label over some columns stands in each of them; one over the whole row stands once.
    """
    width = sum(span for _, span in row)
    return [
        text if not at or (span < width and len(text) <= MAX_LABEL_CHARS) else ""
        for text, span in row
        for at in range(span)
    ]
