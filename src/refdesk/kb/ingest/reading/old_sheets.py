"""Workbooks of old spreadsheet programs (XLS), told as those of today are."""

from __future__ import annotations

import io
from typing import Any, Final

from refdesk.kb.ingest.reading.found import Found, Refusal, clean
from refdesk.kb.ingest.reading.numbers import labelled, shown
from refdesk.kb.ingest.reading.sheet import Sheet

_TEXT: Final = 1
"""xlrd's number for cells of text."""


def read_old_sheets(data: bytes) -> Found:
    """Return the text of a workbook."""
    import xlrd

    try:
        book = xlrd.open_workbook(file_contents=data, formatting_info=True, logfile=io.StringIO())
    except xlrd.XLRDError as exc:
        if "encrypted" in str(exc).lower():
            raise Refusal("it is encrypted: save it without a password and add it again") from None
        raise Refusal(f"it cannot be read ({exc}): save it as XLSX") from None
    found: list[str] = []
    held: list[str] = []
    notes: list[str] = []
    for source in book.sheets():
        if source.visibility:
            notes.append(f"the hidden sheet {source.name!r}: show it to have it read")
            continue
        sheet = _sheet(book, source, held)
        found.append(sheet.markdown())
        notes += sheet.notes()
    blocks = [each for each in found if each]
    return Found(
        text=clean("\n\n".join(blocks)) + "\n" if blocks else "",
        parser="sheets",
        notes=notes,
        held="\n".join(held),
    )


def _sheet(book: Any, source: Any, held: list[str]) -> Sheet:
    """Return what is shown of a sheet; ``held`` gets its texts as they are stored."""
    sheet = Sheet(name=source.name)
    sheet.merged = [
        (top, left, bottom - 1, right - 1) for top, bottom, left, right in source.merged_cells
    ]
    hidden = {at for at, about in source.colinfo_map.items() if about.hidden}
    missed: set[int] = set()
    for at in range(source.nrows):
        cells = {}
        for column, cell in enumerate(source.row(at)):
            if text := _text(book, cell).strip():
                cells[column] = text
        if at in source.rowinfo_map and source.rowinfo_map[at].hidden:
            sheet.hidden_rows += bool(cells)
            continue
        missed |= cells.keys() & hidden
        sheet.cells[at] = {column: cells[column] for column in cells if column not in hidden}
        held += [source.cell_value(at, column) for column in sheet.cells[at]
                 if source.cell_type(at, column) == _TEXT]  # fmt: skip
    sheet.cells = {at: cells for at, cells in sheet.cells.items() if cells}
    sheet.hidden_columns = len(missed)
    return sheet


def _text(book: Any, cell: Any) -> str:
    """Return what is shown in a cell."""
    import xlrd

    code = book.format_map[book.xf_list[cell.xf_index].format_key].format_str
    match cell.ctype:
        case xlrd.XL_CELL_TEXT:
            return labelled(cell.value, code)
        case xlrd.XL_CELL_NUMBER | xlrd.XL_CELL_DATE:
            return shown(repr(cell.value), code, since_1904=bool(book.datemode))
        case xlrd.XL_CELL_BOOLEAN:
            return "TRUE" if cell.value else "FALSE"
        case xlrd.XL_CELL_ERROR:
            return str(xlrd.error_text_from_code.get(cell.value, ""))
    return ""
