"""What a document is, and which are refused before they are read."""

from __future__ import annotations

import io
import zipfile

import pytest

import papers
from refdesk.kb.ingest.reading import package
from refdesk.kb.ingest.reading.found import Refusal
from refdesk.kb.ingest.reading.kinds import kind_of

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (papers.pdf(["x"]), "letter.txt", "application/pdf"),
        (papers.docx("a", "b"), "letter.pdf", DOCX),
        (b"<!doctype html><p>x", "page.pdf", "text/html"),
        (b"<!-- made by -->\n<html lang=en>", "page", "text/html"),
        (b"{\\rtf1 x}", "x.doc", "application/rtf"),
        (b"# x", "x.MD", "text/markdown"),
        (b"<html>", "about-html.txt", "text/plain"),
        (b"a,b", "x.csv", "text/csv"),
        (b"BM is how this text begins", "x.txt", "text/plain"),
        (b"x", "../../etc/cron.d/x", "text/plain"),
        (b"x", "a\0.pdf", "text/plain"),
    ],
)
def test_kind_by_content(data: bytes, name: str, kind: str) -> None:
    """What a document is, its bytes say; the name decides among texts only."""
    assert kind_of(data, name) == kind


def test_zip_bomb() -> None:
    """An archive that unpacks to many times its size is refused before it is unpacked."""
    with pytest.raises(Refusal, match="times its size"):
        kind_of(papers.bomb(), "x.docx")


def test_archive_of_many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive of more parts than any document has is refused."""
    monkeypatch.setattr(package, "MAX_MEMBERS", 3)
    with pytest.raises(Refusal, match="4 parts"):
        kind_of(papers.zipped(dict.fromkeys("abcd", "")), "x.docx")


def test_archive_that_lies_about_its_size() -> None:
    """An archive that would unpack to more than is allowed is refused, whatever its ratio."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("word/document.xml", "x" * 100)
    small = out.getvalue()
    size = (100).to_bytes(4, "little")
    lying = small.replace(size + size, size + (0xFFFFFFF0).to_bytes(4, "little"))
    assert lying != small
    with pytest.raises(Refusal, match="would unpack to"):
        kind_of(lying, "x.docx")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (papers.zipped({"a.txt": "x"}), "is an archive and no document: unpack it"),
        (b"PK\3\4 and no more", "is damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        (b"\x89PNG\r\n\x1a\n", "image"),
    ],
)
def test_refused(data: bytes, why: str) -> None:
    """What is not read is refused with the reason and what to do."""
    with pytest.raises(Refusal, match=why):
        kind_of(data, "x.docx")


def test_encrypted_opendocument() -> None:
    """An OpenDocument file with a password is told to have one, and not to be damaged."""
    manifest = (
        '<m:manifest xmlns:m="m"><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>'
    )
    data = papers.changed(
        papers.added(papers.odt("a", "b"), {"META-INF/manifest.xml": manifest}),
        "content.xml",
        lambda _: b"\x00\x17\x99",
    )
    with pytest.raises(Refusal, match="it is encrypted"):
        kind_of(data, "a.odt")


def test_binary_workbook() -> None:
    """A workbook in the binary form is told to be one."""
    relation = (
        '<Relationships xmlns="r"><Relationship Id="r1" Type="x/officeDocument"'
        ' Target="xl/workbook.bin"/></Relationships>'
    )
    with pytest.raises(Refusal, match=r"binary workbook \(XLSB\): save it as XLSX"):
        kind_of(papers.zipped({"_rels/.rels": relation, "xl/workbook.bin": b"x"}), "a.xlsb")
