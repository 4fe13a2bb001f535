"""
OpenDocument texts, spreadsheets and presentations (ODT, ODS, ODP), as they are shown.

Values stand in their cells as they are shown.  Deleted text is left out; hidden sheets, slides and
comments are left out and told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from refdesk.kb.ingest.reading.found import Found, clean, counted
from refdesk.kb.ingest.reading.grid import Grid, hidden_columns
from refdesk.kb.ingest.reading.package import Package, attribute, child, local

_SILENT = frozenset(
    [
        "tracked-changes",
        "annotation",
        "annotation-end",
        "forms",
        "shapes",
        "sequence-decls",
        "variable-decls",
        "user-field-decls",
        "note-citation",
        "bookmark",
        "change-info",
        "ruby-text",
        "settings",
        "hidden-text",
        "title",
        "desc",
        "event-listeners",
        "calculation-settings",
        "content-validations",
        "named-expressions",
    ]
)
"""Elements whose text is no text of the document, or is not shown."""


def read_opendocument(data: bytes) -> Found:
    """Return the text of an OpenDocument file."""
    document = _Document(Package(data))
    blocks = list(document.blocks())
    starts, blank, length = [], [], 0
    for each in document.slides:
        starts.append(length)
        length += sum(len(block) + 2 for block in each)
        blank += [] if each else [len(starts)]
    return Found(
        text=clean("\n\n".join(blocks)) + "\n" if blocks else "",
        title=document.title,
        pages=starts or None,
        blank=blank if starts else None,
        parser="opendocument",
        notes=document.notes(),
        held=document.held(),
    )


class _Document:
    def __init__(self, package: Package) -> None:
        self._root = package.xml("content.xml")
        styles = package.xml("styles.xml")
        self._hidden = {
            attribute(style, "name")
            for root in (self._root, styles)
            if root is not None
            for style in root.iter("{*}style")
            if any(
                attribute(each, "display") == "false" or attribute(each, "visibility") == "hidden"
                for each in style
            )
        }
        masters = () if styles is None else styles.iter("{*}master-page")
        self._margins = [each for master in masters for each in master]
        meta = package.xml("meta.xml")
        found = None if meta is None else next(meta.iter("{*}title"), None)
        self.title = "" if found is None else found.text or ""
        self.slides: list[list[str]] = []
        """The blocks of each slide, where there are slides."""
        self._left: Counter[str] = Counter()
        self._after: list[str] = []
        self._depth = 0
        self._columns: dict[Any, set[int]] = {}

    def blocks(self) -> Iterator[str]:
        """Yield headers, body and footers."""
        margins = {
            name: list(
                dict.fromkeys(
                    block
                    for each in self._margins
                    if local(each).startswith(name) and attribute(each, "display") != "false"
                    for block in self._blocks(each)
                )
            )
            for name in ("header", "footer")
        }
        body = child(self._root, "body")
        inner = None if body is None or not len(body) else body[0]
        is_text = inner is not None and local(inner) == "text"
        yield from margins["header"] if is_text else ()
        yield from self._blocks(() if inner is None else inner)
        yield from margins["footer"] if is_text else ()

    def notes(self) -> list[str]:
        """Return what was left out."""
        comments = sum(1 for _ in self._root.iter("{*}annotation"))
        changes = sum(1 for _ in self._root.iter("{*}deletion"))
        told = [counted(comments, "comment")] if comments else []
        told += [counted(changes, "tracked deletion")] if changes else []
        return [*told, *self._left]

    def held(self) -> str:
        """Return all text that is shown, by its elements alone."""
        said: list[str] = []

        def take(element: Any) -> None:
            said.append((" " if local(element) == "note" else "") + (element.text or ""))
            at, hidden = 0, self._hidden_columns(element)
            for each in element:
                name = local(each)
                if name and name not in _SILENT and not self._is_hidden(each) and at not in hidden:
                    take(each)
                said.append(each.tail or "")
                at += int(attribute(each, "number-columns-repeated") or 1) if hidden else 0
            if local(element) != "span":
                said.append(" ")

        body = child(self._root, "body")
        if body is not None:
            take(body)
        return "".join(said)

    def _hidden_columns(self, element: Any) -> set[int]:
        """Return the hidden columns of the table that a row is in; none of what is no row."""
        if local(element) != "table-row":
            return set()
        whole = next(element.iterancestors("{*}table"))
        if whole not in self._columns:
            self._columns[whole] = hidden_columns(whole, self._is_hidden)
        return self._columns[whole]

    def _is_hidden(self, element: Any) -> bool:
        return (
            local(element) in ("table", "page", "section", "table-row", "table-column")
            and attribute(element, "style-name") in self._hidden
        ) or attribute(element, "visibility") in ("collapse", "filter")

    def _blocks(self, parent: Any) -> Iterator[str]:
        for each in parent:
            name = local(each)
            if name in _SILENT or not name:
                continue
            if name == "table":
                yield from self._table(each)
            elif name == "page":
                yield from self._slide(each)
            elif self._is_hidden(each):
                self._left[f"the hidden {name} {attribute(each, 'name')!r}"] += 1
            elif name in ("p", "h"):
                yield from self._paragraph(each)
            elif name == "list":
                self._depth += 1
                yield from self._blocks(each)
                self._depth -= 1
            elif name in ("list-item", "list-header"):
                yield from self._item(each)
            else:
                yield from self._blocks(each)

    def _paragraph(self, element: Any) -> Iterator[str]:
        waiting, self._after = self._after, []
        text = "".join(self._inline(element)).strip()
        if local(element) == "h" and text:
            level = int(attribute(element, "outline-level") or 1)
            text = "#" * max(1, min(6, level)) + " " + " ".join(text.split())
        if text:
            yield text
        after, self._after = self._after, waiting
        yield from after

    def _item(self, element: Any) -> Iterator[str]:
        mark = "  " * (self._depth - 1) + "- "
        for block in self._blocks(element):
            yield block if block.lstrip().startswith("- ") else mark + block

    def _inline(self, parent: Any) -> Iterator[str]:
        yield parent.text or ""
        for each in parent:
            name = local(each)
            if name in ("tab", "line-break"):
                yield "\t" if name == "tab" else "\n"
            elif name == "s":
                yield " " * min(100, int(attribute(each, "c") or 1))
            elif name == "note":
                said = " ".join(self._blocks(child(each, "note-body")))
                mark = (
                    "".join(child(each, "note-citation").itertext())
                    if child(each, "note-citation") is not None
                    else ""
                )
                self._after += [f"[^{mark}]: {said}"] if said else []
            elif name in ("frame", "custom-shape", "rect", "ellipse", "g", "text-box", "control"):
                self._after += self._blocks([each] if name != "text-box" else each)
            elif name and name not in _SILENT:
                yield from self._inline(each)
            yield each.tail or ""

    def _slide(self, page: Any) -> Iterator[str]:
        if self._is_hidden(page):
            self._left[
                f"the hidden slide {attribute(page, 'name')!r}: show it to have it read"
            ] += 1
            self.slides.append([])
            return
        blocks = [
            block for each in page if local(each) != "notes" for block in self._blocks([each])
        ]
        for each in page:
            if local(each) == "notes":
                blocks += [f"Note: {block}" for block in self._blocks(each)]
        self.slides.append(blocks)
        yield from blocks

    def _table(self, element: Any) -> Iterator[str]:
        name = attribute(element, "name")
        if self._is_hidden(element):
            self._left[f"the hidden sheet {name!r}: show it to have it read"] += 1
            return
        grid = Grid(element, say=lambda cell: " ".join(self._blocks(cell)), hides=self._is_hidden)
        for number, what in ((grid.hidden_rows, "row"), (grid.hidden_columns, "column")):
            if number:
                hidden = counted(number, f"hidden {what}")
                self._left[f"{hidden} of the table {name!r}: show them to have them read"] += 1
        is_sheet = local(element.getparent()) == "spreadsheet"
        titles, body = grid.markdown(titled=is_sheet)
        blocks = [*titles, *([body] if body else [])]
        if blocks and is_sheet:
            yield f"## {name}"
        yield from blocks
