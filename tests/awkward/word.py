"""Word documents that readers trip over."""

from __future__ import annotations

from collections.abc import Mapping

from awkward.sample import XML, Sample, relations, types, zipped

_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml."
_SPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    ' xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    ' xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
    ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    ' xmlns:v="urn:schemas-microsoft-com:vml"'
)
STYLES = (
    f'{XML}<w:styles {_SPACES}><w:style w:type="paragraph" w:styleId="berschrift1">'
    '<w:name w:val="heading 1"/></w:style><w:style w:type="paragraph" w:styleId="Abschnitt">'
    '<w:name w:val="Abschnitt"/><w:basedOn w:val="berschrift2"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
    "</w:styles>"
)


def docx(body: str, parts: Mapping[str, tuple[str, str]] | None = None) -> bytes:
    """
    Return a Word document.

    Args:
        body: What is in its body.
        parts: Further parts: name to kind of relation and XML; ``rId1`` is the first of them.
    """
    parts = parts or {}
    listed = {f"rId{at}": (kind, name) for at, (name, (kind, _)) in enumerate(parts.items(), 1)}
    kinds = {f"word/{name}": f"{_TYPE}{kind}+xml" for name, (kind, _) in parts.items()}
    document = f"{XML}<w:document {_SPACES}><w:body>{body}</w:body></w:document>"
    return zipped(
        {
            "[Content_Types].xml": types(
                {"word/document.xml": f"{_TYPE}document.main+xml"} | kinds
            ),
            "_rels/.rels": relations({"r1": ("officeDocument", "word/document.xml")}),
            "word/document.xml": document,
            "word/_rels/document.xml.rels": relations(listed),
        }
        | {f"word/{name}": xml for name, (_, xml) in parts.items()}
    )


def t(text: str) -> str:
    """Return a run of text."""
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def p(*inner: str, style: str = "") -> str:
    """Return a paragraph."""
    about = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{about}{''.join(inner)}</w:p>"


def tc(*inner: str, about: str = "") -> str:
    """Return a cell."""
    return f"<w:tc><w:tcPr>{about}</w:tcPr>{''.join(inner) or '<w:p/>'}</w:tc>"


def tbl(*rows: str) -> str:
    """Return a table of rows, each some cells."""
    return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in rows) + "</w:tbl>"


def part(tag: str, inner: str) -> str:
    """Return a part of this root element."""
    return f"{XML}<w:{tag} {_SPACES}>{inner}</w:{tag}>"


def _box(text: str) -> str:
    inner = f"<w:txbxContent>{p(t(text))}</w:txbxContent>"
    return (
        '<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:anchor><a:graphic>'
        '<a:graphicData uri="http://schemas.microsoft.com/office/word/2010/wordprocessingShape">'
        f"<wps:wsp><wps:txbx>{inner}</wps:txbx></wps:wsp></a:graphicData></a:graphic></wp:anchor>"
        f"</w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape><v:textbox>{inner}</v:textbox>"
        "</v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )


def _field(code: str, shown: str) -> str:
    return (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        f'<w:r><w:instrText xml:space="preserve">{code}</w:instrText></w:r>'
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{t(shown)}'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


_BY = 'w:id="1" w:author="Ann" w:date="2026-01-01T00:00:00Z"'
_SIGNS = (
    "Falafel &amp; Hummus: R&amp;D found 5 &gt; 3 and x&lt;y; see https://a.example/?a=1&amp;b=2"
)
_SIGNS_SEEN = "Falafel & Hummus: R&D found 5 > 3 and x<y; see https://a.example/?a=1&b=2"

_NUMBERING = part(
    "numbering",
    '<w:abstractNum w:abstractNumId="0">'
    '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%2)"/>'
    "</w:lvl></w:abstractNum>"
    '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:start w:val="4"/>'
    '<w:numFmt w:val="decimal"/><w:lvlText w:val="§ %1"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>',
)


def _item(text: str, level: int = 0, number: int = 1) -> str:
    about = (
        f'<w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr></w:pPr>'
    )
    return f"<w:p>{about}{t(text)}</w:p>"


WORD = (
    Sample(
        name="signs.docx",
        data=docx(
            p(t("AT&amp;T &lt;2026&gt;"), style="berschrift1")
            + p(t(_SIGNS))
            + tbl(
                tc(p(t("Firm"))) + tc(p(t("Sign"))), tc(p(t("A&amp;B"))) + tc(p(t("&lt;none&gt;")))
            ),
            {"styles.xml": ("styles", STYLES)},
        ),
        seen=("# AT&T <2026>", _SIGNS_SEEN, "A&B", "<none>"),
    ),
    Sample(
        name="tabs.docx",
        data=docx(
            p(t("Total"), "<w:r><w:tab/></w:r>", t("5,00"))
            + p("<w:r><w:t>Name</w:t><w:tab/><w:t>Ann</w:t><w:br/><w:t>Street</w:t></w:r>")
            + p("<w:r><w:t>well</w:t><w:noBreakHyphen/><w:t>known</w:t></w:r>")
            + p("<w:r><w:t>Do</w:t><w:softHyphen/><w:t>nau</w:t></w:r>")
            + p('<w:r><w:ptab w:relativeTo="margin" w:alignment="right"/><w:t>right</w:t></w:r>')
        ),
        seen=("Total 5,00", "Name Ann Street", "well-known", "Donau", "right"),
    ),
    Sample(
        name="boxes.docx",
        data=docx(
            p(t("Before the box. "), _box("Notice: the gate closes at nine."), t(" After the box."))
            + p(
                "<w:r><w:pict><v:shape><v:textbox><w:txbxContent>"
                + p(t("An old box says Kestrel."))
                + "</w:txbxContent></v:textbox></v:shape></w:pict></w:r>"
            )
            + tbl(tc(p(_box("A box in a cell.")), p(t("The cell"))))
        ),
        seen=("Before the box.", "After the box.", "An old box says Kestrel.", "A box in a cell."),
        once=("the gate closes at nine", "A box in a cell", "Kestrel"),
    ),
    Sample(
        name="headers.docx",
        data=docx(
            p(t("The body of the letter."))
            + '<w:sectPr><w:headerReference w:type="default" r:id="rId1"/>'
            '<w:headerReference w:type="first" r:id="rId2"/>'
            '<w:footerReference w:type="default" r:id="rId3"/><w:titlePg/></w:sectPr>',
            {
                "header1.xml": ("header", part("hdr", p(t("Contract 4711, draft")))),
                "header2.xml": ("header", part("hdr", p(t("Harbour Authority &amp; Sons")))),
                "footer1.xml": ("footer", part("ftr", p(t("Confidential: Kestrel works")))),
                "header3.xml": ("header", part("hdr", p(t("belongs to no section")))),
            },
        ),
        seen=(
            "The body of the letter.",
            "Contract 4711, draft",
            "Harbour Authority & Sons",
            "Confidential: Kestrel works",
        ),
        once=("Contract 4711, draft",),
        unseen=("belongs to no section",),
    ),
    Sample(
        name="tracked.docx",
        data=docx(
            p(
                t("The rent is "),
                f"<w:ins {_BY}>{t('900')}</w:ins>",
                f"<w:del {_BY}><w:r><w:delText>850</w:delText></w:r></w:del>",
                t(" euros."),
            )
            + f'<w:moveFromRangeStart {_BY} w:name="m1"/>'
            + p(f"<w:moveFrom {_BY}>{t('The moved clause.')}</w:moveFrom>")
            + '<w:moveFromRangeEnd w:id="1"/>'
            + p(t("Between the two."))
            + f'<w:moveToRangeStart {_BY} w:name="m1"/>'
            + p(f"<w:moveTo {_BY}>{t('The moved clause.')}</w:moveTo>")
            + '<w:moveToRangeEnd w:id="1"/>'
            + tbl(tc(p(f"<w:ins {_BY}>{t('inserted cell')}</w:ins>")))
            + "<w:tbl><w:tr><w:trPr><w:del "
            + _BY
            + "/></w:trPr>"
            + tc(p(f"<w:del {_BY}><w:r><w:delText>deleted row</w:delText></w:r></w:del>"))
            + "</w:tr></w:tbl>"
        ),
        seen=("The rent is 900 euros.", "Between the two.", "inserted cell"),
        once=("The moved clause.",),
        unseen=("850", "deleted row"),
    ),
    Sample(
        name="notes.docx",
        data=docx(
            p(t("Sales rose"), '<w:r><w:footnoteReference w:id="2"/></w:r>', t(" again."))
            + p(t("See the end"), '<w:r><w:endnoteReference w:id="2"/></w:r>'),
            {
                "footnotes.xml": (
                    "footnotes",
                    part(
                        "footnotes",
                        '<w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>'
                        f'<w:footnote w:id="2">{p(t("Without the Kestrel works."))}</w:footnote>',
                    ),
                ),
                "endnotes.xml": (
                    "endnotes",
                    part(
                        "endnotes",
                        f'<w:endnote w:id="2">{p(t("Source: harbour office."))}</w:endnote>',
                    ),
                ),
                "comments.xml": (
                    "comments",
                    part(
                        "comments", f"<w:comment {_BY}>{p(t('Is this right, Bert?'))}</w:comment>"
                    ),
                ),
            },
        ),
        seen=("Sales rose", "Without the Kestrel works.", "Source: harbour office."),
        once=("Without the Kestrel works.",),
        told=("comment",),
    ),
    Sample(
        name="tables.docx",
        data=docx(
            p(t("Berths"))
            + tbl(
                tc(p(t("Pier"))) + tc(p(t("Ship"))) + tc(p(t("Berth"))),
                tc(p(t("North")), about='<w:vMerge w:val="restart"/>')
                + tc(p(t("Anna")))
                + tc(p(t("1"))),
                tc(p(), about="<w:vMerge/>") + tc(p(t("Berta"))) + tc(p(t("2"))),
                tc(p(t("Closed in May")), about='<w:gridSpan w:val="2"/>') + tc(p(t("3"))),
                tc(p(t("Inner")), tbl(tc(p(t("nested a"))) + tc(p(t("nested b")))), p(t("below")))
                + tc()
                + tc(p(t("9 | 10"))),
            )
        ),
        seen=(
            "| North | Anna | 1 |",
            "| North | Berta | 2 |",
            "Closed in May",
            "nested a",
            "nested b",
            "below",
            "9",
            "10",
        ),
    ),
    Sample(
        name="controls.docx",
        data=docx(
            "<w:sdt><w:sdtContent>"
            + p(t("A block in a control."))
            + "</w:sdtContent></w:sdt>"
            + p(
                t("Dear "), f"<w:sdt><w:sdtContent>{t('Ms Kestrel')}</w:sdtContent></w:sdt>", t(",")
            )
            + "<w:tbl><w:sdt><w:sdtContent><w:tr>"
            + tc(p(t("row in a control")))
            + f"<w:sdt><w:sdtContent>{tc(p(t('cell in a control')))}</w:sdtContent></w:sdt>"
            + "</w:tr></w:sdtContent></w:sdt></w:tbl>"
            + p(
                f'<w:smartTag w:element="place">{t("Hamburg")}</w:smartTag>',
                f'<w:customXml w:element="x">{t(" port")}</w:customXml>',
            )
            + p("<w:bdo>" + t("in a direction") + "</w:bdo>")
        ),
        seen=(
            "A block in a control.",
            "Dear Ms Kestrel,",
            "row in a control",
            "cell in a control",
            "Hamburg port",
            "in a direction",
        ),
    ),
    Sample(
        name="fields.docx",
        data=docx(
            p(t("Page "), _field(" PAGEREF x ", "17"), t(" of the book"))
            + p(f'<w:fldSimple w:instr=" TITLE ">{t("The harbour")}</w:fldSimple>')
            + p(_field(' HYPERLINK "https://kestrel.example/?a=1&amp;b=2" ', "the plan"))
            + p(f'<w:hyperlink r:id="rId9">{t("a link")}</w:hyperlink>')
            + p(
                t("Shown, "),
                "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden words</w:t></w:r>",
                t("shown."),
            )
        ),
        seen=("Page 17 of the book", "The harbour", "the plan", "a link", "Shown, shown."),
        unseen=("PAGEREF", "hidden words"),
    ),
    Sample(
        name="maths.docx",
        data=docx(
            p(
                t("Energy: "),
                "<m:oMath><m:r><m:t>E=m</m:t></m:r><m:sSup><m:e><m:r><m:t>c</m:t></m:r>"
                "</m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>",
            )
            + p(
                "<w:r><w:ruby><w:rubyPr/><w:rt>"
                + t("とうきょう")
                + "</w:rt><w:rubyBase>"
                + t("東京")
                + "</w:rubyBase></w:ruby></w:r>"
            )
            + p('<w:r><w:sym w:font="Wingdings" w:char="F0FC"/></w:r>', t(" done"))
        ),
        seen=("Energy:", "E=m", "東京", "done"),
    ),
    Sample(
        name="lists.docx",
        data=docx(
            p(t("Duties"), style="berschrift1")
            + p(t("Of the tenant"), style="Abschnitt")
            + _item("Pay the rent")
            + _item("in time", 1)
            + _item("in full", 1)
            + _item("Sweep the stairs")
            + _item("Liability", 0, 2)
            + _item("Term", 0, 2),
            {"numbering.xml": ("numbering", _NUMBERING), "styles.xml": ("styles", STYLES)},
        ),
        seen=(
            "# Duties",
            "## Of the tenant",
            "1. Pay the rent",
            "a) in time",
            "b) in full",
            "2. Sweep the stairs",
            "§ 4 Liability",
            "§ 5 Term",
        ),
    ),
)
