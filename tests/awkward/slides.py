"""Presentations that readers trip over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from awkward.sample import OFFICE, XML, Sample, relations, types, zipped

_TYPE = "application/vnd.openxmlformats-officedocument.presentationml."
_SPACES = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    f' xmlns:r="{OFFICE}"'
)


def pptx(
    slides: Sequence[str],
    *,
    notes: Mapping[int, str] | None = None,
    hidden: frozenset[int] = frozenset(),
) -> bytes:
    """
    Return a presentation.

    Args:
        slides: What is in the tree of shapes of each.
        notes: What the speaker's notes of a slide say, by its number.
        hidden: The numbers of slides that are not shown.
    """
    notes = notes or {}
    numbers = range(1, len(slides) + 1)
    listed = "".join(f'<p:sldId id="{255 + at}" r:id="r{at}"/>' for at in numbers)
    parts = {
        "_rels/.rels": relations({"r1": ("officeDocument", "ppt/presentation.xml")}),
        "ppt/presentation.xml": f"{XML}<p:presentation {_SPACES}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            {f"r{at}": ("slide", f"slides/slide{at}.xml") for at in numbers}
        ),
    }
    kinds = {"ppt/presentation.xml": f"{_TYPE}presentation.main+xml"}
    for at, inner in zip(numbers, slides, strict=True):
        shown = ' show="0"' if at in hidden else ""
        parts[f"ppt/slides/slide{at}.xml"] = (
            f"{XML}<p:sld {_SPACES}{shown}><p:cSld><p:spTree>{inner}</p:spTree></p:cSld></p:sld>"
        )
        kinds[f"ppt/slides/slide{at}.xml"] = f"{_TYPE}slide+xml"
        if at in notes:
            parts[f"ppt/slides/_rels/slide{at}.xml.rels"] = relations(
                {"r1": ("notesSlide", f"../notesSlides/notesSlide{at}.xml")}
            )
            kinds[f"ppt/notesSlides/notesSlide{at}.xml"] = f"{_TYPE}notesSlide+xml"
            parts[f"ppt/notesSlides/notesSlide{at}.xml"] = (
                f"{XML}<p:notes {_SPACES}><p:cSld><p:spTree>{shape(notes[at], kind='body')}"
                "</p:spTree></p:cSld></p:notes>"
            )
    return zipped({"[Content_Types].xml": types(kinds)} | parts)


def shape(*lines: str, kind: str = "") -> str:
    """Return a shape with a paragraph for each line; ``kind`` is that of a placeholder."""
    place = f'<p:nvPr><p:ph type="{kind}"/></p:nvPr>' if kind else "<p:nvPr/>"
    inner = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="T"/><p:cNvSpPr/>{place}</p:nvSpPr><p:spPr/>'
        f"<p:txBody><a:bodyPr/>{inner}</p:txBody></p:sp>"
    )


def _table(*rows: Sequence[str]) -> str:
    cells = "".join(
        "<a:tr>"
        + "".join(
            f"<a:tc><a:txBody><a:bodyPr/><a:p><a:r><a:t>{cell}</a:t></a:r></a:p></a:txBody></a:tc>"
            if cell
            else "<a:tc><a:txBody><a:bodyPr/><a:p/></a:txBody></a:tc>"
            for cell in row
        )
        + "</a:tr>"
        for row in rows
    )
    return (
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="4" name="t"/><p:cNvGraphicFramePr/><p:nvPr/>'
        "</p:nvGraphicFramePr><p:xfrm/><a:graphic><a:graphicData "
        f'uri="http://schemas.openxmlformats.org/drawingml/2006/table"><a:tbl>{cells}</a:tbl>'
        "</a:graphicData></a:graphic></p:graphicFrame>"
    )


SLIDES = (
    Sample(
        name="signs.pptx",
        data=pptx([shape("R&amp;D &lt;2026&gt;", kind="title") + shape("5 &gt; 3", "AT&amp;T")]),
        seen=("R&D <2026>", "5 > 3", "AT&T"),
    ),
    Sample(
        name="groups.pptx",
        data=pptx(
            [
                shape("Harbour", kind="title")
                + '<p:grpSp><p:nvGrpSpPr><p:cNvPr id="9" name="g"/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
                + shape("in a group")
                + '<p:grpSp><p:nvGrpSpPr><p:cNvPr id="10" name="g"/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
                + shape("deeper")
                + "</p:grpSp></p:grpSp>"
                + "<p:cxnSp/>",
                _table(("Pier", "Ship"), ("North", "Anna"), ("", "Berta")),
                '<p:sp><p:nvSpPr><p:cNvPr id="2" name="T"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody>'
                "<a:bodyPr/><a:p><a:r><a:t>one</a:t></a:r><a:br/><a:r><a:t>two</a:t></a:r>"
                '<a:fld type="slidenum"><a:t>33</a:t></a:fld></a:p></p:txBody></p:sp>',
            ]
        ),
        seen=("Harbour", "in a group", "deeper", "Pier", "North", "Anna", "Berta", "one", "two"),
    ),
    Sample(
        name="notes.pptx",
        data=pptx(
            [shape("Shown first"), shape("Not shown"), shape("Shown last")],
            notes={1: "Say that the Kestrel works close."},
            hidden=frozenset({2}),
        ),
        seen=("Shown first", "Shown last", "Say that the Kestrel works close."),
        unseen=("Not shown",),
        told=("hidden",),
    ),
)
