"""Text in the drawings of Office documents: shapes, diagrams and charts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from refdesk.kb.ingest.reading.package import Package, local


def paragraphs(element: Any) -> Iterator[str]:
    """Yield the paragraphs of DrawingML below an element, in order."""
    for each in element.iter("{*}p"):
        if "drawingml" in each.tag and (text := paragraph(each)):
            yield text


def paragraph(element: Any) -> str:
    """Return the text of one paragraph."""
    parts = []
    for each in element.iter():
        name = local(each)
        if name == "t":
            parts.append(each.text or "")
        elif name == "br":
            parts.append("\n")
    return "".join(parts).strip()


def pictured(package: Package, part: str, ids: Iterator[str] | None = None) -> list[str]:
    """
    Return the text of the charts and diagrams that a part refers to, a paragraph each.

    Args:
        package: The document.
        part: Which part.
        ids: Only these relations; None for all.
    """
    wanted = None if ids is None else set(ids)
    said: list[str] = []
    for id_, (kind, target) in package.relations(part).items():
        if wanted is not None and id_ not in wanted:
            continue
        if kind in ("chart", "chartEx") and (root := package.xml(target)) is not None:
            said += _chart(root)
        elif kind == "diagramData" and (root := package.xml(target)) is not None:
            said += paragraphs(root)
    return said


def _chart(root: Any) -> list[str]:
    """Return titles, and of each series its name, and its points with their labels."""
    said = [text for title in root.iter("{*}title") if (text := " ".join(paragraphs(title)))]
    for series in root.iter("{*}ser"):
        kinds: dict[str, list[str]] = {}
        for each in series:
            if (name := local(each)) in ("tx", "cat", "val", "xVal", "yVal"):
                kinds[name] = [found.text or "" for found in each.iter("{*}v")]
        labels = kinds.get("cat") or kinds.get("xVal") or []
        values = kinds.get("val") or kinds.get("yVal") or []
        points = [
            f"{labels[at]}: {value}" if at < len(labels) else value
            for at, value in enumerate(values)
        ]
        name = " ".join(kinds.get("tx", []))
        said.append(": ".join(filter(None, (name, ", ".join(points)))))
    return [each for each in said if each]
