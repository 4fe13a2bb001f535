"""Tables of OpenDocument: repeated, merged and hidden cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from refdesk.kb.ingest.reading.package import attribute, local
from refdesk.kb.ingest.reading.tables import MAX_LABEL_CHARS, table, titles_of

_MOST_REPEATED: Final = 1000
"""Cells or rows alike of an OpenDocument table; more fill up a sheet, and are one."""
_MOST_SPANNED: Final = 100_000
"""Rows that one label of an OpenDocument table is repeated in."""
_MOST_COLUMNS: Final = 20_000
"""Hidden columns of an OpenDocument table, one after the other."""


class Grid:
    """
    The cells of a table that are shown.

    Args:
        element: The table.
        say: Returns the text of a cell.
        hides: Says whether a row or a column is hidden.
    """

    def __init__(
        self, element: Any, *, say: Callable[[Any], str], hides: Callable[[Any], bool]
    ) -> None:
        self.hidden_rows = 0
        self.hidden_columns = 0
        self._say = say
        self._rows: list[dict[int, str]] = []
        hidden = hidden_columns(element, hides)
        missed: set[int] = set()
        merged: dict[int, tuple[int, str]] = {}
        for row in element.iter("{*}table-row"):
            if next(row.iterancestors("{*}table")) is not element:
                continue
            above = _above(merged)
            cells = self._cells(row, merged)
            if hides(row):
                self.hidden_rows += bool(cells)
                continue
            missed |= cells.keys() & hidden
            shown = {at: text for at, text in cells.items() if at not in hidden}
            times = _number(row, "number-rows-repeated")
            if shown:
                self._rows += [{**above, **shown}] * (times if times <= _MOST_REPEATED else 1)
        self.hidden_columns = len(missed)

    def markdown(self, *, titled: bool) -> tuple[list[str], str]:
        """Return the lines above the header, where there may be some, and the table."""
        rows = self._rows
        titles = titles_of(rows) if titled else []
        rows = rows[len(titles) :]
        used = sorted({at for row in rows for at in row})
        return titles, table([[row.get(at, "") for at in used] for row in rows])

    def _cells(self, row: Any, merged: dict[int, tuple[int, str]]) -> dict[int, str]:
        """Return the cells of a row; ``merged`` is told of those that go over the next rows."""
        cells: dict[int, str] = {}
        at = 0
        for each in row:
            if local(each) not in ("table-cell", "covered-table-cell"):
                continue
            times = _number(each, "number-columns-repeated")
            wide = min(_number(each, "number-columns-spanned"), _MOST_REPEATED)
            down = min(_number(each, "number-rows-spanned"), _MOST_SPANNED)
            text = self._say(each)
            if text and times <= _MOST_REPEATED:
                wide = wide if len(text) <= MAX_LABEL_CHARS else 1
                for column in range(at, at + max(times, wide)):
                    cells[column] = text
                    if down > 1 and len(text) <= MAX_LABEL_CHARS:
                        merged[column] = (down - 1, text)
            at += times
        return cells


def _above(merged: dict[int, tuple[int, str]]) -> dict[int, str]:
    """Return the labels that go over the next row, and count it."""
    labels = {}
    for at, (left, label) in list(merged.items()):
        labels[at] = label
        merged[at] = (left - 1, label)
        if left <= 1:
            del merged[at]
    return labels


def hidden_columns(element: Any, hides: Callable[[Any], bool]) -> set[int]:
    """Return the columns of a table that are hidden, from 0."""
    hidden: set[int] = set()
    at = 0
    for each in element.iter("{*}table-column"):
        times = _number(each, "number-columns-repeated")
        if hides(each):
            hidden.update(range(at, at + min(times, _MOST_COLUMNS)))
        at += times
    return hidden


def _number(element: Any, name: str) -> int:
    return int(attribute(element, name) or 1)
