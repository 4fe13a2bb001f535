"""
Presentations (PPTX): each slide a page, with its notes.

Hidden slides are left out and told, and so are comments.  The number of a slide and the like, which
programs fill in, are no text of its.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from refdesk.kb.ingest.reading.drawing import paragraph, paragraphs, pictured
from refdesk.kb.ingest.reading.found import Found, clean, counted, embedded
from refdesk.kb.ingest.reading.package import Package, attribute, child, local
from refdesk.kb.ingest.reading.tables import MAX_LABEL_CHARS, MAX_SPAN, spread, table

_FILLED = ("sldNum", "dt", "sldImg")
"""Placeholders that programs fill in."""


def read_slides(data: bytes) -> Found:
    """Return the text of a presentation."""
    package = Package(data)
    hidden: list[int] = []
    starts: list[int] = []
    blank: list[int] = []
    held: list[str] = []
    everywhere: set[str] = set()
    text, comments, files = "", 0, 0
    for number, part in enumerate(_slides(package), 1):
        root = package.xml(part)
        starts.append(len(text))
        kinds = package.relations(part).values()
        comments += sum("comment" in kind.lower() for kind, _ in kinds)
        if root is None or attribute(root, "show") in ("0", "false"):
            hidden.append(number)
            continue
        drawn = _drawn(package, part, root)
        blocks = [*_shapes(root), *pictured(package, part)]
        blocks += [each for each in drawn if each not in everywhere]
        everywhere.update(drawn)
        files += package.embedded(part)
        notes = next((target for kind, target in kinds if kind == "notesSlide"), "")
        spoken = package.xml(notes)
        blocks += [f"Note: {each}" for each in (() if spoken is None else _shapes(spoken))]
        held += [
            each.text or ""
            for one in (root, spoken)
            if one is not None
            for each in one.iter("{*}t")
            if not any(local(up) == "fld" for up in each.iterancestors())
        ]
        text += "".join(f"{clean(each)}\n\n" for each in blocks)
        if not blocks:
            blank.append(number)
    told = []
    if hidden:
        numbers = ", ".join(map(str, hidden))
        told.append(
            f"{counted(len(hidden), 'hidden slide')} ({numbers}): show them to have them read"
        )
    if comments:
        told.append(f"comments on {counted(comments, 'slide')}")
    told += embedded(files)
    return Found(
        text=text,
        title=package.title,
        pages=starts,
        blank=blank,
        parser="slides",
        notes=told,
        held="\n".join(held),
    )


def _slides(package: Package) -> Iterator[str]:
    """Yield the parts of the slides, in the order in which they are shown."""
    relations = package.relations(package.main)
    for each in package.xml(package.main).iter("{*}sldId"):
        kind, part = relations.get(_relation(each), ("", ""))
        if kind == "slide":
            yield posixpath.normpath(part)


def _drawn(package: Package, part: str, root: Any) -> list[str]:
    """Return what the layout and the master of a slide say on it, which is the same on others."""
    said: list[str] = []
    for kind in ("slideLayout", "slideMaster"):
        if attribute(root, "showMasterSp") in ("0", "false"):
            break
        part = next((path for each, path in package.relations(part).values() if each == kind), "")
        root = package.xml(part)
        if root is None:
            break
        shapes = (each for each in root.iter("{*}sp") if next(each.iter("{*}ph"), None) is None)
        said += [text for each in shapes for text in paragraphs(each)]
    return said


def _relation(element: Any) -> str:
    """Return the relation of an element, which has an ``id`` of its own as well."""
    return next((value for key, value in element.attrib.items() if key.endswith("}id")), "")


def _shapes(parent: Any) -> Iterator[str]:
    """Yield what is said on a slide, a block for each paragraph, title and table."""
    for each in parent:
        name = local(each)
        if name == "sp":
            kind = next((one.get("type", "") for one in each.iter("{*}ph")), "")
            if kind in _FILLED:
                continue
            said = "\n".join(paragraphs(each))
            if kind in ("title", "ctrTitle") and said:
                yield f"## {' '.join(said.split())}"
            elif said:
                yield said
        elif name == "tbl":
            yield _table(each)
        elif name == "AlternateContent":
            choice = child(each, "Choice")
            yield from _shapes(choice if choice is not None else each)
        elif name not in ("nvGrpSpPr", "grpSpPr", "extLst"):
            yield from _shapes(each)


def _table(element: Any) -> str:
    rows: list[list[str]] = []
    for row in element.iter("{*}tr"):
        cells: list[tuple[str, int]] = []
        for each in row.iterchildren("{*}tc"):
            if each.get("hMerge") in ("1", "true"):
                continue
            text = " ".join(filter(None, map(paragraph, each.iter("{*}p"))))
            at = sum(span for _, span in cells)
            if each.get("vMerge") in ("1", "true") and rows and at < len(rows[-1]):
                text = rows[-1][at] if len(rows[-1][at]) <= MAX_LABEL_CHARS else ""
            cells.append((text, min(MAX_SPAN, int(each.get("gridSpan") or 1))))
        rows.append(spread(cells))
    return table(rows)
