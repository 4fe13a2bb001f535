"""Columns on a terminal and in a pipe: nothing is cut, and nothing foreign steers the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from refdesk.cli.output import out

if TYPE_CHECKING:
    from rich.text import Text

_GAP = "  "


def printable(text: str) -> str:
    """Return text in which whatever does not print is written out, such as ``\\x1b``."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def print_columns(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows below their heads; nothing at all where there are no rows."""
    from rich.cells import cell_len
    from rich.text import Text

    table = [[printable(cell) for cell in row] for row in rows]
    if not table:
        return
    widths = [max(map(cell_len, column)) for column in zip(heads, *table, strict=True)]

    def line(cells: Sequence[str], style: str = "") -> Text:
        padded = (
            cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True)
        )
        return Text(_GAP.join(padded).rstrip(), style=style)

    out().print(line(heads, "bold"))
    for row in table:
        out().print(line(row))
