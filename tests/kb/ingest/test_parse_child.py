"""What the child that reads documents answers; the functions only, in this process."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

import papers
from refdesk.kb.ingest.parse_child import answer, read
from refdesk.kb.ingest.reading.found import Refusal

WORDS = "The harvest was good. " * 20
TEXT_PARTS = [
    (papers.docx("Report", WORDS), "word/document.xml"),
    (papers.xlsx([["Q1", WORDS]]), "xl/worksheets/sheet1.xml"),
    (papers.pptx([WORDS, WORDS]), "ppt/slides/slide2.xml"),
    (papers.odt("Report", WORDS), "content.xml"),
]
ZIPPED = [*TEXT_PARTS, (papers.epub("Report", WORDS), "a.xhtml")]


def test_xml_entities_stay_as_they_are() -> None:
    """XML is read as text: no entity is resolved, so that none can reach a file or the network."""
    bomb = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
    assert read(bomb, "x.xml")["text"] == bomb.decode()


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
    assert any("what follows a damage in a.xhtml" in note for note in found["notes"])


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
