"""What the child that reads documents makes of bytes; the functions only, in this process."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import papers
from refdesk.kb.ingest import parse_child
from refdesk.kb.ingest.parse_child import Refusal, answer, decoded, kind_of, paged_text, read

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("产品,价格", "gb18030"),
        ("中华人民共和国，简称中国，位于亚洲东部。", "gb18030"),
        ("これは日本語の文章です。漢字も入っています。", "shift_jis"),
        ("これは日本語の文章です。漢字も入っています。", "euc_jp"),
        ("這是繁體中文的文件,用來測試編碼。", "big5"),
        ("안녕하세요. 이것은 한국어 문서입니다. 인코딩을 시험합니다.", "euc_kr"),
        ("Café déjà vu, naïve Straße, über", "cp1252"),
        ("Привет, мир! Это текст.", "cp1251"),
        ("Привет, мир! Это текст.", "koi8_r"),
        ("hello é 中", "utf-8"),
        ("hello é 中", "utf-16"),
        ("hello é 中", "utf-32"),
        ("plain text of ASCII letters", "utf-16-le"),
        ("plain text of ASCII letters", "utf-16-be"),
    ],
)
def test_encoding_is_found(text: str, encoding: str) -> None:
    """Text comes out as it was written, whatever it was encoded in; and the report can say so."""
    assert decoded(text.encode(encoding)) == (text, encoding, 0)


def test_few_words_often() -> None:
    """A Chinese table of the same few words, all of them in the Korean range too, is Chinese."""
    table = "产品,价格\n" + "苹果,3\n" * 80
    assert decoded(table.encode("gbk")) == (table, "gb18030", 0)


def test_utf8_with_bad_bytes() -> None:
    """UTF-8 that was cut off, or has bad bytes, stays UTF-8; what is lost is counted and noted."""
    text = "今天天气很好。" * 10
    assert decoded(text.encode()[:-1]) == (text[:-1] + "\ufffd", "utf-8", 1)
    found = read(b"\xff" + text.encode(), "a.txt")
    assert (found["text"][1:], found["encoding"]) == (text, "utf-8")
    assert found["notes"] == ["1 characters could not be decoded as utf-8"]


def test_garbled_is_no_text() -> None:
    """Bytes with control characters among them are no text in any encoding."""
    with pytest.raises(Refusal, match="it is no text"):
        read(bytes(range(1, 256)) * 10, "a.csv")


def test_line_ends_and_nul() -> None:
    """Line ends become one character, a byte order mark goes, and nothing else is rewritten."""
    assert decoded(b"\xef\xbb\xbfa\r\nb\rc\n  d \t")[0] == "a\nb\nc\n  d \t"


def test_binary_is_no_text() -> None:
    """Bytes of no known format are refused, not indexed as characters."""
    with pytest.raises(Refusal, match="format is not known: save it as"):
        read(bytes(range(256)) * 10, "data.bin")


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
    monkeypatch.setattr(parse_child, "MAX_MEMBERS", 3)
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


def test_pages_of_markdown() -> None:
    """Where a page begins is carried from its plain text to the Markdown of the whole."""
    pages = ["1. First\r\nwords one", "", "Second\r\nwords two"]
    text = "# 1\\. First\n\nwords one\n\n## Second\n\nwords two\n"
    found = paged_text(text, pages)
    assert found == {"pages": [0, 24, 24], "blank": [2]}
    assert text[24:].startswith("## Second")


def test_pages_that_do_not_fit() -> None:
    """Where Markdown and pages differ too much, the pages' own text is taken."""
    pages = ["one " * 200, "two " * 200]
    found = paged_text("something else altogether", pages)
    assert found["text"][found["pages"][1] :].startswith("two two")
    assert found["shape"] == "plain"


def test_xml_entities_stay_as_they_are() -> None:
    """XML is read as text: no entity is resolved, so that none can reach a file or the network."""
    bomb = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
    assert read(bomb, "x.xml")["text"] == bomb.decode()


WORDS = "The harvest was good. " * 20
TEXT_PARTS = [
    (papers.docx("Report", WORDS), "word/document.xml"),
    (papers.xlsx([["Q1", WORDS]]), "xl/worksheets/sheet1.xml"),
    (papers.pptx([WORDS, WORDS]), "ppt/slides/slide2.xml"),
    (papers.odt("Report", WORDS), "content.xml"),
]
ZIPPED = [*TEXT_PARTS, (papers.epub("Report", WORDS), "a.xhtml")]


@pytest.mark.parametrize(("data", "part"), ZIPPED)
def test_zipped(data: bytes, part: str) -> None:
    """Documents that are archives are read whole, and nothing is noted."""
    found = read(data, part)
    assert found["text"].count("The harvest was good.") in (20, 40)
    assert found["notes"] == []


@pytest.mark.parametrize(("data", "part"), TEXT_PARTS)
def test_part_that_ends_early(data: bytes, part: str) -> None:
    """Half a document is damaged, though its archive is whole and its first half could be read."""
    with pytest.raises(Refusal, match=rf"damaged \({part}: .*get a whole copy") as refused:
        read(papers.changed(data, part, lambda body: body[: len(body) // 2]), part)
    assert refused.value.status == "failed"


@pytest.mark.parametrize(("data", "part"), ZIPPED)
def test_part_that_cannot_be_unpacked(data: bytes, part: str) -> None:
    """A part whose packed bytes were changed is damage, and no document without text."""
    archive = zipfile.ZipFile(io.BytesIO(data)).getinfo(part)
    middle = archive.header_offset + 30 + len(part) + archive.compress_size // 2
    spoilt = bytearray(data)
    for at in range(middle, middle + 8):
        spoilt[at] ^= 0x55
    with pytest.raises(Refusal, match=f"damaged \\({part}: "):
        read(bytes(spoilt), part)


def test_chapter_that_ends_early() -> None:
    """Books are read as far as they can be, as their readers do; what is missing is told."""
    book = papers.changed(ZIPPED[-1][0], "a.xhtml", lambda body: body[: len(body) // 2])
    found = read(book, "a.epub")
    assert found["text"].count("The harvest was good.") > 3
    assert "what follows a damage in a.xhtml" in found["notes"][0]


@pytest.mark.parametrize(("data", "part"), TEXT_PARTS)
def test_entities_in_documents(data: bytes, part: str) -> None:
    """A document that defines entities is refused before any is resolved."""
    laughs = b'<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    with pytest.raises(Refusal, match="defines entities"):
        read(papers.changed(data, part, lambda body: laughs + body), part)


def test_slides() -> None:
    """Each slide is a page, those without text are told, and no mark of ours is left."""
    found = read(papers.pptx([WORDS, "", "The end"]), "a.pptx")
    first, second, third = found["pages"]
    assert found["text"][first:second].strip() == WORDS.strip()
    assert found["text"][second:third].strip() == ""
    assert "The end" in found["text"][third:]
    assert found["blank"] == [2]


def test_no_pages() -> None:
    """A PDF whose pages cannot be found is told to have none."""
    with pytest.raises(Refusal, match="it has no pages, or none that can be found"):
        read(papers.pdf([]), "a.pdf")


@pytest.mark.parametrize("charset", ["utf-8", "gb2312", "big5"])
def test_mail(charset: str) -> None:
    """A mail is its headers and its text, in whatever it is encoded; what is attached is told."""
    found = read(papers.mail("天氣" if charset == "big5" else "天气", charset=charset), "a.eml")
    lines = found["text"].splitlines()
    assert lines[:2] == ["Subject: Harvest", "From: Ann <ann@example.com>"]
    assert lines[3] in ("天气", "天氣")
    assert (found["title"], found["notes"]) == ("Harvest", [])
    attached = papers.mail("Words.", attached="bill.pdf")
    assert read(attached, "a.eml")["notes"] == ["the attachment bill.pdf: add it by itself"]
    assert any("damage" in note for note in read(attached[:-8], "a.eml")["notes"])


def test_mail_of_html() -> None:
    """A mail of HTML alone is read as a page is."""
    html = (
        b"Subject: Hi\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>Good <b>harvest</b></p>"
    )
    text = read(html, "a.eml")["text"]
    assert "harvest" in text
    assert "<" not in text


def test_piece_of_html() -> None:
    """A piece of a page is read too; what no parser takes is not said to be without text."""
    assert read(b"<p>Good harvest</p>", "a.html")["text"] == "Good harvest"
    with pytest.raises(Refusal, match="its HTML cannot be read") as refused:
        read(b"<div>" * 100_000 + b"words" + b"</div>" * 100_000, "a.html")
    assert refused.value.status == "failed"


def test_characters_that_cannot_be_told(tmp_path: Path) -> None:
    """Some are noted; a document that is mostly made of them is damaged."""
    path = tmp_path / "a"

    def answered(text: bytes) -> dict[str, Any]:
        path.write_bytes(b"<html><body><p>" + text + b"</p></body></html>")
        return answer({"path": os.fsencode(path).hex(), "name": "a.html", "max_chars": 10_000})

    few = answered(b"Many good words. " * 20 + b"\xef\xbf\xbd" * 4)
    assert few["ok"]
    assert "4 characters that could not be decoded" in few["notes"]
    many = answered(b"words " + b"\xef\xbf\xbd" * 10)
    assert (many["ok"], many["status"]) == (False, "failed")
    assert "10 of its 15 characters cannot be told" in many["error"]


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_decode(data: bytes) -> None:
    """Any bytes become text that can be stored, or are refused."""
    try:
        text, _, _ = decoded(data)
    except Refusal:
        return
    assert "\r" not in text
    assert "\0" not in text
    text.encode()
