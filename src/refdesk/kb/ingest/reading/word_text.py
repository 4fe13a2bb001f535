"""
Paragraphs and tables of Word, as Markdown.

Text boxes, notes and diagrams go after the paragraph that has them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from refdesk.kb.ingest.reading.drawing import pictured
from refdesk.kb.ingest.reading.numbering import Numbering
from refdesk.kb.ingest.reading.package import Package, attribute, child, local
from refdesk.kb.ingest.reading.styles import Styles, value_of
from refdesk.kb.ingest.reading.tables import MAX_LABEL_CHARS, MAX_SPAN, spread, table

GONE = frozenset({"del", "moveFrom"})
"""Elements round what is no longer there."""
_AROUND = frozenset(
    {
        "ins", "moveTo", "hyperlink", "smartTag", "customXml", "sdt", "sdtContent", "fldSimple",
        "bdo", "dir", "subDoc",
    }
)  # fmt: skip
"""Elements round text or blocks that say nothing of their own."""
_BESIDE = {"sup": "^", "sub": "_", "den": "/"}
"""How a formula is written on one line."""
_MARKUP = re.compile(r"(?m)^( {0,3})(?=#{1,6}(?: |$)|```|~~~)")
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}


class WordText:
    """
    Writes blocks of a document as Markdown, in their order: it counts list items as it goes.

    Args:
        package: The document.
        styles: Its styles.
        numbering: The numbers of its lists.
        notes: Its footnotes and endnotes, by kind and id.
    """

    def __init__(
        self,
        package: Package,
        *,
        styles: Styles,
        numbering: Numbering,
        notes: Mapping[tuple[str, str | None], Any],
    ) -> None:
        self.left: Counter[str] = Counter()
        """What was left out: ``hidden``, ``del`` and ``altChunk``, and how many of each."""
        self._package = package
        self._styles = styles
        self._numbering = numbering
        self._notes = notes
        self._after: list[str] = []
        """What goes after the block at hand."""
        self._where = package.main
        self._in_cell = False

    def blocks(self, part: str, root: Any) -> list[str]:
        """Return the blocks of an element of a part, without those that say nothing."""
        self._where = part
        return [*self._blocks(root), *self._flushed()]

    def _flushed(self) -> list[str]:
        after, self._after = self._after, []
        return after

    def _blocks(self, parent: Any) -> Iterator[str]:
        """Yield paragraphs and tables as Markdown, without those that say nothing."""
        for each in parent:
            name = local(each)
            if name == "p":
                if text := self._paragraph(each):
                    yield text
                yield from self._flushed()
            elif name == "tbl":
                yield from self._table(each)
                yield from self._flushed()
            elif name in _AROUND:
                yield from self._blocks(each)
            elif name == "AlternateContent":
                yield from self._blocks(_chosen(each))
            elif name == "altChunk":
                self.left[name] += 1

    def _paragraph(self, element: Any) -> str:
        about = child(element, "pPr")
        text = self._inline(element).strip()
        level, number = self._styles.heading(about), self._styles.number(about)
        if not text:
            return ""
        label = self._numbering.label(*number) if number else ""
        if level is not None:
            return "#" * min(6, level + 1) + " " + label.removeprefix("- ") + " ".join(text.split())
        text = _MARKUP.sub(r"\1\\", text)
        return "  " * (number[1] if number else 0) + label + text

    def _inline(self, parent: Any) -> str:
        return "".join(self._runs(parent))

    def _runs(self, parent: Any) -> Iterator[str]:
        for each in parent:
            name = local(each)
            if name == "r":
                if is_hidden(each):
                    self.left["hidden"] += 1
                else:
                    yield from self._runs(each)
            elif name == "t":
                yield each.text or ""
            elif name in ("tab", "ptab"):
                yield "\t"
            elif name in ("br", "cr"):
                yield "\n"
            elif name == "noBreakHyphen":
                yield "-"
            elif name == "sym":
                code = int(attribute(each, "char") or "0", 16)
                yield "" if 0xE000 <= code <= 0xF8FF else chr(code)
            elif name in GONE:
                if name == "del":
                    self.left[name] += 1
            elif name in _AROUND:
                yield from self._runs(each)
            elif name in ("oMath", "oMathPara"):
                yield "".join(_formula(each))
            elif name == "ruby":
                yield self._inline(child(each, "rubyBase"))
                yield f"({self._inline(child(each, 'rt'))})"
            elif name in _NOTES:
                self._note(_NOTES[name], attribute(each, "id"))
            elif name in ("drawing", "pict", "object", "AlternateContent"):
                self._drawn(_chosen(each) if name == "AlternateContent" else each)

    def _note(self, kind: str, id_: str | None) -> None:
        note = self._notes.get((kind, id_))
        if note is not None:
            waiting = self._flushed()
            said = " ".join(self._blocks(note))
            self._after = [*waiting, *([f"[^{id_}]: {said}"] if said else [])]

    def _drawn(self, element: Any) -> None:
        boxes = [element] if local(element) == "txbxContent" else []
        boxes += [
            box
            for box in element.iter("{*}txbxContent")
            if not any(local(one) in ("Fallback", "txbxContent") for one in _until(box, element))
        ]
        for box in boxes:
            waiting = self._flushed()
            self._after = [*waiting, *self._blocks(box)]
        # Letters across the page, such as DRAFT, are no text for Word.
        self._after += filter(None, (each.get("string") for each in element.iter("{*}textpath")))
        ids = {value for each in element.iter() for value in each.attrib.values()}
        self._after += pictured(self._package, self._where, iter(ids)) if not boxes else []

    def _table(self, element: Any) -> Iterator[str]:
        rows: list[list[str]] = []
        above: dict[int, str] = {}
        cells = [list(_cells(row)) for row in _rows(element)]
        if all(len(row) == 1 for row in cells):
            # One column is a frame round text, and no table.
            for row in cells:
                yield from self._blocks(row[0])
            return
        for row in cells:
            at, found = 0, []
            for each in row:
                about = child(each, "tcPr")
                span = max(1, min(MAX_SPAN, int(value_of(about, "gridSpan") or 1)))
                merged = child(about, "vMerge")
                text = self._cell(each)
                if merged is not None and attribute(merged, "val") != "restart":
                    text = text or above.get(at, "")
                above[at] = text if len(text) <= MAX_LABEL_CHARS else ""
                found.append((text, span))
                at += span
            rows.append(spread(found))
        if self._in_cell:
            yield "; ".join(", ".join(filter(None, row)) for row in rows if any(row))
        elif text := table(rows):
            yield text

    def _cell(self, element: Any) -> str:
        outer, self._in_cell = self._in_cell, True
        text = " ".join(self._blocks(element))
        self._in_cell = outer
        return text


def is_on(element: Any) -> bool:
    """Whether a switch is on, which it is by being there."""
    return attribute(element, "val") not in ("0", "false", "off")


def is_hidden(run: Any) -> bool:
    """Whether a run is hidden text."""
    vanish = child(child(run, "rPr"), "vanish")
    return vanish is not None and is_on(vanish)


def _rows(element: Any) -> Iterator[Any]:
    for each in element:
        if local(each) == "tr":
            about = child(each, "trPr")
            if child(about, "del") is None:
                yield each
        elif local(each) in _AROUND:
            yield from _rows(each)


def _cells(row: Any) -> Iterator[Any]:
    for each in row:
        if local(each) == "tc":
            yield each
        elif local(each) in _AROUND:
            yield from _cells(each)


def _chosen(alternatives: Any) -> Any:
    """Return what of several forms of one thing newer programs show."""
    choice = child(alternatives, "Choice")
    found = choice if choice is not None else child(alternatives, "Fallback")
    return alternatives if found is None else found


def _until(element: Any, top: Any) -> Iterator[Any]:
    for each in element.iterancestors():
        if each is top:
            return
        yield each


def _formula(element: Any) -> Iterator[str]:
    for each in element:
        yield _BESIDE.get(local(each), "")
        yield (each.text or "") if local(each) == "t" else ""
        yield from _formula(each)
