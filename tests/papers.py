"""Documents for tests, made from nothing: small, valid, and some that are made to do harm."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence

_PACKAGE = "http://schemas.openxmlformats.org/package/2006/"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_ODF = "urn:oasis:names:tc:opendocument:xmlns:"


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a ZIP archive of these parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in parts.items():
            archive.writestr(name, body)
    return out.getvalue()


def docx(heading: str, text: str) -> bytes:
    """Return a Word document: a heading, a paragraph, a table of two rows."""
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    rows = "".join(
        f"<w:tr>{cell.format(left)}{cell.format(right)}</w:tr>"
        for left, right in (("Quarter", "Sales"), ("Q3 2024", "1300"))
    )
    body = (
        f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{heading}</w:t></w:r></w:p>'
        f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p><w:tbl>{rows}</w:tbl>"
    )
    return zipped(
        {
            "[Content_Types].xml": _types("word/document", "wordprocessingml.document"),
            "_rels/.rels": _relation("officeDocument", "word/document.xml"),
            "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body>'
            "</w:document>",
        }
    )


def xlsx(rows: Sequence[Sequence[str]]) -> bytes:
    """Return a workbook of one sheet called Sales."""
    cells = "".join(
        f'<row r="{at}">'
        + "".join(
            f'<c r="{chr(65 + column)}{at}" t="inlineStr"><is><t>{value}</t></is></c>'
            for column, value in enumerate(row)
        )
        + "</row>"
        for at, row in enumerate(rows, 1)
    )
    return zipped(
        {
            "[Content_Types].xml": _types("xl/workbook", "spreadsheetml.sheet"),
            "_rels/.rels": _relation("officeDocument", "xl/workbook.xml"),
            "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>'
            '<sheet name="Sales" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": _relation("worksheet", "worksheets/sheet1.xml"),
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_SHEET}"><sheetData>{cells}'
            "</sheetData></worksheet>",
        }
    )


def pptx(slides: Sequence[str]) -> bytes:
    """Return a presentation with one line of text on each slide."""
    numbers = range(1, len(slides) + 1)
    listed = "".join(f'<p:sldId id="{255 + at}" r:id="r{at}"/>' for at in numbers)
    targets = "".join(
        f'<Relationship Id="r{at}" Type="{_OFFICE}/slide" Target="slides/slide{at}.xml"/>'
        for at in numbers
    )
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": _types("ppt/presentation", "presentationml.presentation"),
        "_rels/.rels": _relation("officeDocument", "ppt/presentation.xml"),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{_SLIDES}" xmlns:r="{_OFFICE}">'
        f"<p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": f'<Relationships xmlns="{_PACKAGE}relationships">'
        f"{targets}</Relationships>",
    }
    for at, text in zip(numbers, slides, strict=True):
        parts[f"ppt/slides/slide{at}.xml"] = (
            f'<p:sld xmlns:p="{_SLIDES}" xmlns:a="{_DRAWING}"><p:cSld><p:spTree><p:sp><p:nvSpPr>'
            '<p:cNvPr id="2" name="T"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody>'
            f"<a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp></p:spTree>"
            "</p:cSld></p:sld>"
        )
    return zipped(parts)


def odt(heading: str, text: str) -> bytes:
    """Return an OpenDocument text: a heading and a paragraph."""
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f'<office:document-content xmlns:office="{_ODF}office:1.0"'
            f' xmlns:text="{_ODF}text:1.0"><office:body><office:text>'
            f'<text:h text:outline-level="1">{heading}</text:h><text:p>{text}</text:p>'
            "</office:text></office:body></office:document-content>",
        }
    )


def epub(heading: str, text: str) -> bytes:
    """Return a book of one chapter."""
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container version="1.0" xmlns="urn:oasis:names:tc:opendocu'
            'ment:xmlns:container"><rootfiles><rootfile full-path="c.opf" media-type="application'
            '/oebps-package+xml"/></rootfiles></container>',
            "c.opf": '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata'
            f' xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{heading}</dc:title>'
            '</metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
            '</manifest><spine><itemref idref="a"/></spine></package>',
            "a.xhtml": '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>'
            f"<h1>{heading}</h1><p>{text}</p></body></html>",
        }
    )


def mail(text: str, *, charset: str = "utf-8", attached: str = "") -> bytes:
    """Return a mail by Ann, perhaps with a file of that name attached."""
    body = f"Content-Type: text/plain; charset={charset}\r\n\r\n{text}\r\n"
    if attached:
        body = (
            f"Content-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\n{body}--B\r\n"
            f"Content-Disposition: attachment; filename={attached}\r\n\r\nx\r\n--B--\r\n"
        )
    head = "From: Ann <ann@example.com>\r\nSubject: Harvest\r\nMIME-Version: 1.0\r\n"
    return (head + body).encode(charset)


def changed(data: bytes, part: str, change: Callable[[bytes], bytes]) -> bytes:
    """Return a ZIP archive with one part changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return zipped(parts | {part: change(parts[part])})


def added(data: bytes, parts: Mapping[str, str]) -> bytes:
    """Return a ZIP archive with further parts."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return zipped({name: archive.read(name) for name in archive.namelist()} | dict(parts))


def renamed(data: bytes, part: str, name: str) -> bytes:
    """Return a ZIP archive with one part under another name, and its relations with it."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    folder, _, old = part.rpartition("/")
    new = name.rpartition("/")[2]
    return zipped(
        {
            each.replace(f"{folder}/{old}", name).replace(
                f"{folder}/_rels/{old}", f"{folder}/_rels/{new}"
            ): body.replace(part.encode(), name.encode())
            for each, body in parts.items()
        }
    )


def pdf(pages: Sequence[str], *, trailer: str = "") -> bytes:
    """Return a PDF with one line of text on each page; a page without text is blank."""
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {len(pages)}/Kids["
        + " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
        + "]>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for at, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 40 700 Td ({text}) Tj ET" if text else ""
        objects.append(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>"
            f"/Contents {5 + 2 * at} 0 R>>"
        )
        objects.append(f"<</Length {len(stream)}>>stream\n{stream}\nendstream")
    out = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj{body}endobj\n".encode("latin-1")
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    tail = f"trailer<</Root 1 0 R/Size {len(objects) + 1}{trailer}>>\nstartxref\n{start}\n%%EOF"
    return out + tail.encode("latin-1")


def locked_pdf() -> bytes:
    """Return a PDF that asks for a password."""
    secret = f"/Encrypt<</Filter/Standard/V 1/R 2/O<{'11' * 32}>/U<{'22' * 32}>/P -4>>/ID[<00><00>]"
    return pdf(["secret"], trailer=secret)


def bomb() -> bytes:
    """Return a Word document of some kilobytes that unpacks to hundreds of megabytes."""
    return zipped({"[Content_Types].xml": "<Types/>", "word/document.xml": b"0" * 60_000_000})


def _types(part: str, kind: str) -> str:
    return (
        f'<Types xmlns="{_PACKAGE}content-types"><Default Extension="rels" ContentType="application'
        '/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml"'
        f' ContentType="application/xml"/><Override PartName="/{part}.xml" ContentType='
        f'"application/vnd.openxmlformats-officedocument.{kind}.main+xml"/></Types>'
    )


def _relation(kind: str, target: str) -> str:
    return (
        f'<Relationships xmlns="{_PACKAGE}relationships"><Relationship Id="r1"'
        f' Type="{_OFFICE}/{kind}" Target="{target}"/></Relationships>'
    )
