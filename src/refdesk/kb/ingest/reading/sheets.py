"""
Workbooks (XLSX), as the program shows them: each sheet a heading and a table.

Values are in their formats, and a label of merged cells stands in each of its rows.  Hidden sheets,
rows and columns are left out and told, and so are formulas whose value was not stored.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import Any

from refdesk.kb.ingest.reading.drawing import paragraphs, pictured
from refdesk.kb.ingest.reading.formats import BUILTIN
from refdesk.kb.ingest.reading.found import Found, clean
from refdesk.kb.ingest.reading.numbers import labelled, shown
from refdesk.kb.ingest.reading.package import Package, attribute, begun, child, events, local
from refdesk.kb.ingest.reading.sheet import Sheet

_DIGITS = "0123456789"
_PRINTED = re.compile(r'&(?:"[^"]*"|K[0-9A-F]{6}|\d+|.)')
"""Fields and fonts in the header of a page."""
_PLACE = re.compile(r"\$?([A-Z]{1,3})\$?(\d+)")


def read_sheets(data: bytes) -> Found:
    """Return the text of a workbook."""
    book = _Book(Package(data))
    blocks, notes = [], list(book.hidden)
    for sheet in book.sheets():
        if text := sheet.markdown():
            blocks.append(text)
        notes += sheet.notes()
    return Found(
        text=clean("\n\n".join(blocks)) + "\n" if blocks else "",
        title=book.package.title,
        parser="sheets",
        notes=notes,
        held=book.held(),
    )


class _Book:
    def __init__(self, package: Package) -> None:
        self.package = package
        self.hidden: list[str] = []
        """What is said of sheets that are hidden."""
        relations = package.relations(package.main)
        root = package.xml(package.main)
        about = child(root, "workbookPr")
        self._since_1904 = about is not None and attribute(about, "date1904") in ("1", "true")
        kinds = dict(relations.values())
        self._strings = [_rich(each) for each in self._parts(kinds.get("sharedStrings"), "si")]
        self._formats = _formats(package.xml(kinds.get("styles", "")))
        self._shown: dict[tuple[int, str], str] = {}
        self._listed: list[tuple[str, str]] = []
        for each in child(root, "sheets") if child(root, "sheets") is not None else ():
            name = each.get("name", "")
            kind, part = relations.get(attribute(each, "id") or "", ("", ""))
            if each.get("state") in ("hidden", "veryHidden"):
                self.hidden.append(f"the hidden sheet {name!r}: show it to have it read")
            elif (kind == "worksheet" and part in package.names) or kind == "chartsheet":
                self._listed.append((name, part))

    def sheets(self) -> Iterator[Sheet]:
        """Yield the sheets that are shown."""
        for name, part in self._listed:
            sheet = Sheet(name=name)
            self._read(sheet, part)
            for kind, target in self.package.relations(part).values():
                if kind == "drawing" and (root := self.package.xml(target)) is not None:
                    sheet.boxes += [*paragraphs(root), *pictured(self.package, target)]
                elif kind in ("oleObject", "package"):
                    sheet.embedded += 1
                elif kind in ("comments", "threadedComment") and not sheet.comments:
                    names = ("comment", "threadedComment")
                    sheet.comments = sum(1 for _ in self._parts(target, *names))
            yield sheet

    def held(self) -> str:
        """Return the texts of all cells that are shown, whatever their place."""
        said: list[str] = []
        for _, part in self._listed:
            hidden = _hidden_columns(self.package, part)
            for row in self._parts(part, "row"):
                if _is_true(row.get("hidden")):
                    continue
                for cell in row:
                    if (kind := cell.get("t")) not in ("s", "str", "inlineStr"):
                        continue  # numbers have other digits where they are shown
                    if hidden and _is_hidden(_column(cell.get("r", "").rstrip(_DIGITS)), hidden):
                        continue
                    value = next((each.text for each in cell if each.tag.endswith("}v")), None)
                    said.append(self._string(value) if kind == "s" else value or _rich(cell))
        return "\n".join(said)

    def _parts(self, part: str | None, *names: str) -> Iterator[Any]:
        if part in self.package.names:
            with self.package.open(str(part)) as file:
                yield from events(file, *names)

    def _read(self, sheet: Sheet, part: str) -> None:
        hidden = _hidden_columns(self.package, part)
        missed: set[int] = set()
        at = -1
        for each in self._parts(part, "row", "mergeCell", "headerFooter"):
            if local(each) == "headerFooter":
                sheet.printed = bool(_PRINTED.sub("", "".join(each.itertext())).strip())
                continue
            if local(each) == "mergeCell":
                ends = [_PLACE.fullmatch(end) for end in each.get("ref", "").split(":")]
                if len(ends) == 2 and ends[0] and ends[1]:
                    (top, left), (bottom, right) = (
                        (int(end[2]) - 1, _column(end[1])) for end in ends if end
                    )
                    sheet.merged.append((top, left, bottom, right))
                continue
            at = int(each.get("r") or at + 2) - 1
            cells = self._row(each, at, sheet)
            if _is_true(each.get("hidden")):
                sheet.hidden_rows += bool(cells)
                continue
            for column in [each for each in cells if hidden and _is_hidden(each, hidden)]:
                missed.add(column)
                del cells[column]
            if cells:
                sheet.cells[at] = cells
        sheet.hidden_columns = len(missed)

    def _row(self, row: Any, at: int, sheet: Sheet) -> dict[int, str]:
        cells: dict[int, str] = {}
        column = -1
        for each in row:
            place = each.get("r", "")
            column = _column(place.rstrip(_DIGITS)) if place else column + 1
            value, is_formula, rich = None, False, ""
            for part in each:
                tag = part.tag
                if tag.endswith("}v"):
                    value = part.text
                elif tag.endswith("}f"):
                    is_formula = True
                elif tag.endswith("}is"):
                    rich = _rich(part)
            text = rich or self._value(each.get("t"), value, int(each.get("s") or 0))
            if text and not text.isspace():
                cells[column] = text
            elif is_formula and value is None and each.get("t") != "str":
                sheet.uncached.append(place or f"row {at + 1}")
        return cells

    def _string(self, place: str | None) -> str:
        at = int(place) if place and place.isdigit() else len(self._strings)
        return self._strings[at] if at < len(self._strings) else ""

    def _value(self, kind: str | None, value: str | None, style: int) -> str:
        if value is None:
            return ""
        code = self._formats[style] if style < len(self._formats) else "General"
        match kind:
            case "s":
                text = self._string(value)
                return text if "@" not in code else labelled(text, code)
            case "str":
                return value
            case "b":
                return "TRUE" if value.strip() == "1" else "FALSE"
            case "e":
                return value
            case "d":
                return (
                    value.replace("T00:00:00", "").replace("T", " ").removesuffix(".000").strip("Z")
                )
        if (style, value) not in self._shown:
            self._shown[style, value] = shown(value, code, since_1904=self._since_1904)
        return self._shown[style, value]


def _formats(root: Any) -> list[str]:
    """Return the format code of each style of cells."""
    codes = dict(BUILTIN)
    numbers, cells = child(root, "numFmts"), child(root, "cellXfs")
    for each in () if numbers is None else numbers:
        codes[int(each.get("numFmtId", 0))] = each.get("formatCode", "General")
    return [
        codes.get(int(each.get("numFmtId") or 0), "General")
        for each in (() if cells is None else cells)
    ]


def _hidden_columns(package: Package, part: str) -> list[tuple[int, int]]:
    """Return the first and last of each run of hidden columns, in order."""
    found: list[tuple[int, int]] = []
    with package.open(part) as file:
        for each in begun(file, "col", "sheetData"):
            if local(each) == "sheetData":
                break
            if _is_true(each.get("hidden")):
                found.append((int(each.get("min", 1)) - 1, int(each.get("max", 1)) - 1))
    return sorted(found)


def _is_hidden(column: int, hidden: list[tuple[int, int]]) -> bool:
    at = bisect_right(hidden, (column, 1 << 30)) - 1
    return at >= 0 and column <= hidden[at][1]


def _is_true(value: str | None) -> bool:
    return value in ("1", "true")


@cache
def _column(letters: str) -> int:
    at = 0
    for letter in letters:
        at = at * 26 + ord(letter) - 64
    return at - 1


def _rich(element: Any) -> str:
    """Return a text of several runs, without the reading aids over it."""
    return "".join(
        (each.text or "") for each in element.iter("{*}t") if local(each.getparent()) != "rPh"
    )
