"""Word documents."""

from __future__ import annotations

import pytest

import papers
from awkward.word import docx, p, part, t, tbl, tc
from refdesk.kb.ingest.parse_child import read
from refdesk.kb.ingest.reading.numbering import written


def text_of(body: str, parts: dict[str, tuple[str, str]] | None = None) -> str:
    """Return what is read of a document with this body."""
    return str(read(docx(body, parts), "a.docx")["text"])


def test_signs_of_markup() -> None:
    """The signs of XML and of Markdown come out as they are written, wherever they stand."""
    assert text_of(p(t("R&amp;D: 5 &gt; 3, x&lt;y, &quot;a_b*c&quot;"))) == (
        'R&D: 5 > 3, x<y, "a_b*c"\n'
    )
    assert text_of(p(t("# of ships: 7"))) == "\\# of ships: 7\n"
    assert text_of(p(t("#1 of ten"))) == "#1 of ten\n"


def test_main_part_of_another_name() -> None:
    """The main part is what the package says it is, whatever it is called; macros are no matter."""
    data = docx(p(t("Kestrel")))
    renamed = papers.renamed(data, "word/document.xml", "word/document2.xml")
    assert read(renamed, "a.docx")["text"] == "Kestrel\n"
    macros = papers.changed(
        renamed,
        "[Content_Types].xml",
        lambda body: body.replace(
            b"vnd.openxmlformats-officedocument.wordprocessingml.document.main",
            b"vnd.ms-word.document.macroEnabled.main",
        ),
    )
    assert read(macros, "a.docm")["text"] == "Kestrel\n"


def test_strict_documents() -> None:
    """Documents in the strict form of the format have other namespaces and the same text."""
    strict = papers.changed(
        docx(p(t("Kestrel"))),
        "word/document.xml",
        lambda body: body.replace(
            b"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
            b"http://purl.oclc.org/ooxml/wordprocessingml/main",
        ),
    )
    assert read(strict, "a.docx")["text"] == "Kestrel\n"


@pytest.mark.parametrize(
    ("section", "settings", "shown"),
    [
        ("", "", ["all"]),
        ("<w:titlePg/>", "", ["first", "all"]),
        ('<w:titlePg w:val="0"/>', "", ["all"]),
        ("", "<w:evenAndOddHeaders/>", ["all", "even"]),
    ],
)
def test_headers_that_are_shown(section: str, settings: str, shown: list[str]) -> None:
    """A header for first or even pages is read where the document has such pages."""
    references = "".join(
        f'<w:headerReference w:type="{kind}" r:id="rId{at}"/>'
        for at, kind in enumerate(("first", "default", "even"), 1)
    )
    parts = {
        f"header{at}.xml": ("header", part("hdr", p(t(said))))
        for at, said in enumerate(("first", "all", "even"), 1)
    }
    parts["settings.xml"] = ("settings", part("settings", settings))
    body = f"{p(t('body'))}<w:sectPr>{references}{section}</w:sectPr>"
    found = read(docx(body, parts), "a.docx")
    assert found["text"].split() == [*shown, "body"]
    assert found["lost"] == 0


def test_one_column_is_a_frame() -> None:
    """A table of one column is a frame round text: headings and lists in it stay what they are."""
    heading = '<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr>' + t("Notice") + "</w:p>"
    assert text_of(
        tbl(tc(heading, p(t("The gate is shut.")), tbl(tc(p(t("a"))) + tc(p(t("b"))))))
    ) == ("## Notice\n\nThe gate is shut.\n\n| a | b |\n| --- | --- |\n")


def test_labels_of_merged_cells() -> None:
    """A label over rows and columns stands in each; one over the whole row stands once."""
    span = '<w:gridSpan w:val="2"/>'
    body = tbl(
        tc(p(t("Calls")), about='<w:gridSpan w:val="3"/>'),
        tc(p(t("Pier"))) + tc(p(t("2026")), about=span),
        tc(p(t("North")), about='<w:vMerge w:val="restart"/>') + tc(p(t("1"))) + tc(p(t("2"))),
        tc(p(), about="<w:vMerge/>") + tc(p(t("3"))) + tc(p(t("4"))),
    )
    assert text_of(body).splitlines() == [
        "| Calls |  |  |",
        "| --- | --- | --- |",
        "| Pier | 2026 | 2026 |",
        "| North | 1 | 2 |",
        "| North | 3 | 4 |",
    ]


def test_hidden_and_put_in() -> None:
    """Hidden runs, deletions and files put in are counted in the report, one by one."""
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r>"
    shown = '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>open</w:t></w:r>'
    gone = '<w:del w:id="1"><w:r><w:delText>old</w:delText></w:r></w:del>'
    found = read(docx(p(hidden, shown, gone) + p(hidden) + '<w:altChunk r:id="rId1"/>'), "a.docx")
    assert found["text"] == "open\n"
    assert found["notes"] == [
        "2 runs of hidden text",
        "1 tracked deletion",
        "1 document put in as a file: add it by itself",
    ]


def test_diagrams_and_charts() -> None:
    """What a diagram and a chart say is read after the paragraph that has them."""
    drawing = '<w:r><w:drawing><c:chart xmlns:c="c" r:id="rId1"/></w:drawing></w:r>'
    chart = (
        '<c:chartSpace xmlns:c="c" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
        "<c:title><a:p><a:r><a:t>Calls of ships</a:t></a:r></a:p></c:title><c:ser>"
        "<c:tx><c:v>North</c:v></c:tx><c:cat><c:v>May</c:v><c:v>June</c:v></c:cat>"
        "<c:val><c:v>7</c:v><c:v>9</c:v></c:val></c:ser></c:chartSpace>"
    )
    said = text_of(p(t("See:"), drawing) + p(t("after")), {"charts/chart1.xml": ("chart", chart)})
    assert said == "See:\n\nCalls of ships\n\nNorth: May: 7, June: 9\n\nafter\n"


@pytest.mark.parametrize(
    ("number", "form", "said"),
    [
        (3, "decimal", "3"), (3, "decimalZero", "03"), (28, "lowerLetter", "bb"),
        (2, "upperLetter", "B"), (1994, "upperRoman", "MCMXCIV"), (4, "lowerRoman", "iv"),
        (0, "lowerRoman", "0"), (7, "chineseCounting", "7"),
    ],
)  # fmt: skip
def test_numbers_of_lists(number: int, form: str, said: str) -> None:
    """Items are numbered as the list says; what is not known is numbered in figures."""
    assert written(number, form) == said


def test_lists_that_begin_anew() -> None:
    """A list that says so begins at its own number again, and levels below begin with each item."""

    def item(said: str, list_: int, level: int = 0) -> str:
        about = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_}"/></w:numPr>'
        return f"<w:p><w:pPr>{about}</w:pPr>{t(said)}</w:p>"

    levels = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
        f'<w:lvlText w:val="{label}"/></w:lvl>'
        for at, label in enumerate(("%1.", "%1.%2"))
    )
    numbering = part(
        "numbering",
        f'<w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0">'
        '<w:startOverride w:val="1"/></w:lvlOverride></w:num>',
    )
    body = item("a", 1) + item("b", 1, 1) + item("c", 1, 1) + item("d", 1) + item("e", 1, 1)
    body += item("f", 2) + item("g", 2) + item("h", 1) + item("i", 9) + item("j", 0)
    said = text_of(body, {"numbering.xml": ("numbering", numbering)})
    assert said.split("\n\n") == [
        "1. a", "  1.1 b", "  1.2 c", "2. d", "  2.1 e", "1. f", "2. g", "3. h", "- i", "j\n",
    ]  # fmt: skip


def test_letters_across_the_page() -> None:
    """A watermark in the header is read."""
    mark = '<w:r><w:pict><v:shape><v:textpath string="DRAFT of May"/></v:shape></w:pict></w:r>'
    body = f'{p(t("body"))}<w:sectPr><w:headerReference w:type="default" r:id="rId1"/></w:sectPr>'
    assert text_of(body, {"header1.xml": ("header", part("hdr", p(mark)))}).split("\n\n") == [
        "DRAFT of May", "body\n",
    ]  # fmt: skip


def test_long_labels_stand_once() -> None:
    """A label as long as a paragraph is not repeated: text grows no faster than the document."""
    long = "word " * 60
    merged = '<w:vMerge w:val="restart"/><w:gridSpan w:val="2"/>'
    rows = [tc(p(t(long)), about=merged) + tc(p(t("0")))]
    rows += [
        tc(p(), about='<w:vMerge/><w:gridSpan w:val="2"/>') + tc(p(t(str(at))))
        for at in range(1, 50)
    ]
    assert text_of(tbl(*rows)).count(long.strip()) == 1
