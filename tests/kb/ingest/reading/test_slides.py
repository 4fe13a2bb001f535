"""Presentations."""

from __future__ import annotations

import papers
from awkward.sample import relations
from awkward.slides import pptx, shape
from refdesk.kb.ingest.parse_child import read


def test_each_slide_is_a_page() -> None:
    """A slide is a page with its title as a heading, and its notes are on it."""
    found = read(
        pptx(
            [shape("Piers", kind="title") + shape("North", "South"), "", shape("End")],
            notes={1: "Say it slowly.", 3: "Thank them."},
        ),
        "a.pptx",
    )
    first, second, third = found["pages"]
    assert found["text"][first:second] == "## Piers\n\nNorth\nSouth\n\nNote: Say it slowly.\n\n"
    assert found["text"][second:third] == ""
    assert found["text"][third:] == "End\n\nNote: Thank them.\n\n"
    assert found["blank"] == [2]


def test_hidden_slides() -> None:
    """Hidden slides keep their numbers, and what they say is not read."""
    slides = [shape("one"), shape("two"), shape("three"), shape("four")]
    found = read(pptx(slides, hidden=frozenset({2, 3})), "a.pptx")
    assert found["text"].split() == ["one", "four"]
    assert len(found["pages"]) == 4
    assert found["notes"] == ["2 hidden slides (2, 3): show them to have them read"]
    assert (found["lost"], found["blank"]) == (0, [])


def test_what_programs_fill_in() -> None:
    """Numbers of slides and dates are no text of a presentation."""
    found = read(
        pptx([shape("12", kind="sldNum") + shape("1 May", kind="dt") + shape("x")]), "a.pptx"
    )
    assert found["text"].split() == ["x"]


def test_what_is_on_every_slide() -> None:
    """What layout and master say on each slide is read once; what they leave to slides is not."""
    data = pptx([shape("one"), shape("two")])
    layout = shape("Harbour office") + shape("Click to add a title", kind="title")
    relation = relations({"r1": ("slideLayout", "../slideLayouts/slideLayout1.xml")})
    spaces = 'xmlns:p="p" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    parts = {
        "ppt/slides/_rels/slide1.xml.rels": relation,
        "ppt/slides/_rels/slide2.xml.rels": relation,
        "ppt/slideLayouts/slideLayout1.xml": f"<p:sldLayout {spaces}>{layout}</p:sldLayout>",
    }
    text = read(papers.added(data, parts), "a.pptx")["text"]
    assert text.split("\n\n") == ["one", "Harbour office", "two", ""]


def test_files_put_in() -> None:
    """Files put into slides are told of."""
    relation = relations({"r1": ("oleObject", "../embeddings/x.bin")})
    data = papers.added(pptx([shape("one")]), {"ppt/slides/_rels/slide1.xml.rels": relation})
    assert read(data, "a.pptx")["notes"] == ["1 embedded file: add what they say by itself"]
