"""
Word documents, as they look when they are printed with all changes accepted.

Headers go before the text and footers after it, each once.  Deleted and hidden text is left out,
and so are comments.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from refdesk.kb.ingest.reading.found import Found, clean, counted, embedded
from refdesk.kb.ingest.reading.numbering import Numbering
from refdesk.kb.ingest.reading.package import Package, attribute, child, local
from refdesk.kb.ingest.reading.styles import Styles
from refdesk.kb.ingest.reading.word_text import GONE, WordText, is_hidden, is_on

_LEFT = {
    "altChunk": (
        "document put in as a file: add it by itself",
        "documents put in as files: add them by themselves",
    ),
    "hidden": ("run of hidden text", "runs of hidden text"),
    "del": ("tracked deletion", "tracked deletions"),
}
_PARTS = [f"{{*}}{name}" for name in ("t", "tab", "br", "p", "rt", "rubyBase")]


def read_word(data: bytes) -> Found:
    """Return the text of a Word document."""
    package = Package(data)
    text = WordText(
        package,
        styles=Styles(_part(package, "styles")),
        numbering=Numbering(_part(package, "numbering")),
        notes={
            (kind, attribute(each, "id")): each
            for kind, name in (("footnotes", "footnote"), ("endnotes", "endnote"))
            for each in _all(package, kind, name)
        },
    )
    blocks = list(_blocks(package, text))
    comments = sum(1 for _ in _all(package, "comments", "comment"))
    notes = [counted(comments, "comment")] if comments else []
    notes += embedded(package.embedded(package.main))
    return Found(
        text=clean("\n\n".join(blocks)) + "\n",
        title=package.title,
        parser="word",
        notes=notes + [counted(count, *_LEFT[what]) for what, count in text.left.items()],
        held=_held(package),
    )


def _blocks(package: Package, text: WordText) -> Iterator[str]:
    """Yield the blocks of headers, body and footers."""
    roots = {part: package.xml(part) for part in _margins(package)}
    said = [
        (local(root) == "ftr", block)
        for part, root in roots.items()
        if root is not None
        for block in text.blocks(part, root)
    ]
    yield from dict.fromkeys(block for is_footer, block in said if not is_footer)
    body = child(package.xml(package.main), "body")
    yield from text.blocks(package.main, () if body is None else body)
    yield from dict.fromkeys(block for is_footer, block in said if is_footer)


def _held(package: Package) -> str:
    """Return all text of the parts that are shown, by its elements alone."""
    parts = [package.main, *_margins(package)]
    relations = package.relations(package.main).values()
    parts += [part for kind, part in relations if kind in ("footnotes", "endnotes")]
    said: list[str] = []
    for part in parts:
        root = package.xml(part)
        for each in () if root is None else root.iter(*_PARTS):
            if local(each) != "t":
                said.append(" ")
            elif not _is_gone(each):
                said.append(each.text or "")
    return "".join(said)


def _is_gone(text: Any) -> bool:
    """Whether a run is deleted, hidden, or the copy of a box that is kept for old programs."""
    for each in text.iterancestors():
        name = local(each)
        if name in GONE or name == "Fallback" or (name == "r" and is_hidden(each)):
            return True
        if name == "tr" and child(child(each, "trPr"), "del") is not None:
            return True
    return False


def _margins(package: Package) -> list[str]:
    """Return the parts of the headers, and then the footers, that some page shows."""
    relations = package.relations(package.main)
    even = child(_part(package, "settings"), "evenAndOddHeaders")
    found: dict[str, list[str]] = {"headerReference": [], "footerReference": []}
    root = package.xml(package.main)
    for section in () if root is None else root.iter("{*}sectPr"):
        for each in section:
            if (name := local(each)) in found:
                kind = attribute(each, "type") or "default"
                shown = {"first": child(section, "titlePg"), "even": even}.get(kind, each)
                if shown is not None and is_on(shown):
                    found[name].append(relations.get(attribute(each, "id") or "", ("", ""))[1])
    return list(dict.fromkeys(filter(None, chain.from_iterable(found.values()))))


def _part(package: Package, kind: str) -> Any:
    """Return the root of the part that the document refers to as this; None where there is none."""
    relations = package.relations(package.main).values()
    return package.xml(next((part for each, part in relations if each == kind), ""))


def _all(package: Package, kind: str, name: str) -> Iterator[Any]:
    root = _part(package, kind)
    return (each for each in (() if root is None else root) if local(each) == name)
