"""Documents read by a child: every format, and those that are made to do harm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import papers
from refdesk.kb.ingest.chunk import parted
from refdesk.kb.ingest.parse import COMMAND, Parsed, ParseLimits, Parser, Refused

HTML = (
    "<html><head><title>The page</title></head><body><nav><a href=/>Home</a></nav><article>"
    "<h1>Head</h1><p>{}</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr>"
    "</table></article></body></html>"
).format("Some words of the main text. " * 20)


@pytest.fixture
async def parser() -> AsyncIterator[Parser]:
    """A parser with the usual limits."""
    made = Parser()
    yield made
    await made.aclose()


async def _read(parser: Parser, folder: Path, name: str, data: bytes) -> Parsed:
    path = folder / "bytes"
    path.write_bytes(data)
    return await parser.read(path, name)


async def test_every_format(parser: Parser, tmp_path: Path) -> None:
    """Each format gives its text, with headings, tables and pages where it has them."""
    word = await _read(parser, tmp_path, "a.docx", papers.docx("Report", "It went well."))
    assert "# Report" in word.text
    assert "It went well." in word.text
    assert "| Quarter | Sales |\n| --- | --- |\n| Q3 2024 | 1300 |" in word.text
    assert (word.shape, word.pages, word.parser) == ("markdown", (), "word")

    sheet = await _read(parser, tmp_path, "a.xlsx", papers.xlsx([["q", "n"], ["x", "7"]]))
    assert sheet.text == "## Sales\n\n| q | n |\n| --- | --- |\n| x | 7 |\n"

    paged = await _read(parser, tmp_path, "a.pdf", papers.pdf(["Alpha page", "", "Gamma page"]))
    assert len(paged.pages) == 3
    assert "Alpha" in paged.text[: paged.pages[1]]
    assert paged.text[paged.pages[2] :].strip().startswith("Gamma")
    assert paged.blank_pages == (2,)

    page = await _read(parser, tmp_path, "a.html", HTML.encode())
    assert "Some words of the main text." in page.text
    assert "| a | b |" in page.text
    assert "Home" not in page.text
    assert (page.mime, page.parser) == ("text/html", "trafilatura")

    table = await _read(parser, tmp_path, "a.csv", "产品,价格\r\n苹果,3\r\n".encode("gbk"))
    assert (table.text, table.shape, table.encoding) == ("产品,价格\n苹果,3\n", "rows", "gb18030")
    assert len(table.content_hash) == 64


async def test_harmful_ones(parser: Parser, tmp_path: Path) -> None:
    """What is damaged, locked, scanned or made to do harm is refused with the reason."""

    async def refused(name: str, data: bytes) -> Refused:
        with pytest.raises(Refused) as caught:
            await _read(parser, tmp_path, name, data)
        return caught.value

    word = papers.docx("Report", "It went well.")
    assert "damaged" in str(await refused("a.docx", word[: len(word) // 2]))
    assert "get a whole copy" in str(await refused("a.pdf", papers.pdf(["x"])[:60]))
    assert "encrypted" in str(await refused("a.pdf", papers.locked_pdf()))
    assert "times its size" in str(await refused("a.docx", papers.bomb()))
    scanned = await refused("a.pdf", papers.pdf(["", ""]))
    assert "run OCR" in str(scanned)
    assert (scanned.status, scanned.pages, scanned.blank_pages) == ("empty", 2, (1, 2))
    blank = await refused("a.txt", b" \n\0\0 ")
    assert blank.status == "empty"
    # And it goes on reading.
    assert (await _read(parser, tmp_path, "../../x.txt", b"fine")).text == "fine"


async def test_too_large(parser: Parser, tmp_path: Path) -> None:
    """A file of 500 MB is refused by its size, without being read."""
    path = tmp_path / "large.txt"
    with path.open("wb") as file:
        file.truncate(500_000_000)
    with pytest.raises(Refused, match="has 500000000 bytes, and 268435456 are allowed: split it"):
        await parser.read(path, path.name)


async def test_too_much_text(tmp_path: Path) -> None:
    """A text of more characters than allowed is refused."""
    parser = Parser(ParseLimits(characters=10))
    with pytest.raises(Refused, match="11 characters of text, and 10 are allowed"):
        await _read(parser, tmp_path, "a.txt", b"01234567890")
    await parser.aclose()


async def test_memory_limit(tmp_path: Path) -> None:
    """A document that needs more memory than allowed is refused; the next one is read."""
    parser = Parser(ParseLimits(memory=96 * 1024 * 1024))
    with pytest.raises(Refused, match="memory"):
        await _read(parser, tmp_path, "a.txt", b"some text\n" * 8_000_000)
    assert (await _read(parser, tmp_path, "a.txt", b"fine")).text == "fine"
    await parser.aclose()


async def test_time_limit(tmp_path: Path) -> None:
    """A document that takes too long is given up, and its child is ended."""
    endless = (sys.executable, "-c", "import time; time.sleep(3600)")
    parser = Parser(ParseLimits(seconds=0.05), command=endless)
    with pytest.raises(Refused, match=r"longer to read than the 0\.05 s allowed"):
        await _read(parser, tmp_path, "a.txt", b"x")
    assert parser._idle == []


def test_child_without_a_parent(tmp_path: Path) -> None:
    """A child ends by itself when a document takes too long and nobody is left to end it."""
    os.mkfifo(tmp_path / "endless")
    asked = {"path": os.fsencode(tmp_path / "endless").hex(), "name": "x", "seconds": 0.05}
    child = subprocess.run(
        [*COMMAND, str(1 << 30)], input=json.dumps(asked).encode(), timeout=20, check=False
    )
    assert child.returncode == -signal.SIGALRM


async def test_child_that_dies(tmp_path: Path) -> None:
    """A child that dies over a document is no accident: the document is refused."""
    parser = Parser(command=(sys.executable, "-c", "import os; os.abort()"))
    with pytest.raises(Refused, match="its parser died over it"):
        await _read(parser, tmp_path, "a.txt", b"x")


async def test_gone(parser: Parser, tmp_path: Path) -> None:
    """A file that is not there is refused."""
    with pytest.raises(Refused, match="cannot be opened"):
        await parser.read(tmp_path / "nothing", "nothing")


async def test_parted_in_the_child(parser: Parser) -> None:
    """A text is parted by the child as it would be here, with pages, headings and headers."""
    marked = "# One\n\nSome words 中文 é.\n\n| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 40
    for shape, text, pages in (
        ("markdown", marked, (0, 9)),
        ("rows", "name,note\n" + "anna,one\n" * 40, ()),
        ("plain", "One two. " * 40, (0, 100, 200)),
        ("plain", "", ()),
    ):
        there = await parser.part(text, shape=shape, chars=80, pages=pages)  # type: ignore[arg-type]
        assert there == parted(text, shape=shape, chars=80, pages=pages)  # type: ignore[arg-type]


async def test_parting_has_the_limits_of_reading() -> None:
    """A text that takes too much time or memory to part is refused, and the next one is parted."""
    text = "参考台回答问题并且给出出处" * 40_000
    for limits, told in (
        (ParseLimits(seconds=0.05), "took longer to read than the 0.05 s"),
        (ParseLimits(memory=64 * 1024 * 1024), "memory"),
    ):
        parser = Parser(limits)
        with pytest.raises(Refused, match=told):
            await parser.part(text * 10, shape="plain", chars=50)
        await parser.aclose()
    parser = Parser()
    with pytest.raises(Refused, match="more than 200000 passages: split it"):
        await parser.part("# a\nb\n" * 200_001, shape="markdown", chars=50)
    assert len(await parser.part("a b", shape="plain", chars=50)) == 1
    await parser.aclose()
