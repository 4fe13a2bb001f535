"""One sheet of a workbook: its cells, and how they are told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from refdesk.kb.ingest.reading.found import counted, embedded
from refdesk.kb.ingest.reading.tables import MAX_LABEL_CHARS, table, titles_of

_MOST_MERGED: Final = 100_000
"""Merged cells that one label is repeated in; over more it stands in the first alone."""


@dataclass(kw_only=True)
class Sheet:
    """The cells of one sheet, and what of it is hidden."""

    name: str
    cells: dict[int, dict[int, str]] = field(default_factory=dict)
    """Row and column, from 0, to what is shown there."""
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    """First row, first column, last row, last column."""
    hidden_rows: int = 0
    hidden_columns: int = 0
    uncached: list[str] = field(default_factory=list)
    """Where formulas stand whose value was not stored."""
    boxes: list[str] = field(default_factory=list)
    """Text of drawings."""
    comments: int = 0
    embedded: int = 0
    """Files put into it."""
    printed: bool = False
    """Whether its printed pages have a header or a footer."""

    def markdown(self) -> str:
        """Return heading, table and what is drawn over it; empty without any text."""
        self._fill_merged()
        rows = [self.cells[at] for at in sorted(self.cells)]
        titles = titles_of(rows)
        rows = rows[len(titles) :]
        used = sorted({at for row in rows for at in row})
        body = table([[row.get(at, "") for at in used] for row in rows])
        blocks = [*titles, *([body] if body else []), *self.boxes]
        return "\n\n".join([f"## {self.name}", *blocks]) if blocks else ""

    def notes(self) -> Iterator[str]:
        """Yield what was left out."""
        where = f"of the sheet {self.name!r}"
        if self.hidden_rows:
            yield f"{counted(self.hidden_rows, 'hidden row')} {where}: show them to have them read"
        if self.hidden_columns:
            columns = counted(self.hidden_columns, "hidden column")
            yield f"{columns} {where}: show them to have them read"
        if self.comments:
            yield f"{counted(self.comments, 'comment')} {where}"
        if self.printed:
            yield f"header and footer of the printed pages {where}"
        yield from (f"{each} ({self.name})" for each in embedded(self.embedded))
        if self.uncached:
            more = ", …" if len(self.uncached) > 5 else ""
            yield (
                f"{counted(len(self.uncached), 'formula')} {where} whose value was not stored"
                f" ({', '.join(self.uncached[:5])}{more}): save it anew in a spreadsheet program"
            )

    def _fill_merged(self) -> None:
        """Put a label of merged cells in each of its rows, and in each column but all."""
        width = max((at for row in self.cells.values() for at in row), default=0) + 1
        for top, left, bottom, right in self.merged:
            label = self.cells.get(top, {}).get(left)
            if (
                not label
                or len(label) > MAX_LABEL_CHARS
                or (bottom - top + 1) * (right - left + 1) > _MOST_MERGED
            ):
                continue
            last = left if right - left + 1 >= width > 1 else min(right, width - 1)
            for row in range(top, bottom + 1):
                if row in self.cells:
                    for column in range(left, last + 1):
                        self.cells[row].setdefault(column, label)
