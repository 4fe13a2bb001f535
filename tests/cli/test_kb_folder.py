"""One folder with every format, and a broken one of each: the report says the truth about all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import papers
from commands import Command

PAGE = "<html><body><article><h1>Head</h1><p>" + "Some words of the text. " * 30 + "</p></article>"
WORD = papers.docx("Report", "It went well.")
SHEET = papers.xlsx([["quarter", "sales"], ["Q3", "1300"]])
GOOD = {
    "report.docx": WORD,
    "sales.xlsx": SHEET,
    "talk.pptx": papers.pptx(["Delta slide", "Epsilon slide"]),
    "memo.odt": papers.odt("Memo", "The memo says little."),
    "book.epub": papers.epub("Book", "The book says more."),
    "mail.eml": papers.mail("收成很好", charset="gb2312"),
    "paged.pdf": papers.pdf(["Alpha page", "", "Gamma page"]),
    "page.html": PAGE.encode(),
    "notes.md": "# 笔记\n\n今天天气很好。\n".encode(),
    "list.csv": "产品,价格\r\n苹果,3\r\n".encode("gbk"),
    "plain.txt": "Just some text.".encode("utf-16"),
    "sub/deep.txt": b"Text in a folder below.",
    "odd \\..\\x.txt": b"A file with an odd name.",
    "new\nline.txt": b"A file whose name has two lines.",
    os.fsdecode(b"no\xff.txt"): b"A file whose name is no text.",
}
BAD = {
    "cut.docx": WORD[: len(WORD) // 2],
    "cut.xlsx": SHEET[: len(SHEET) // 2],
    "cut.pdf": papers.pdf(["x"])[:60],
    "cut.pptx": papers.pptx(["x"])[:300],
    "half.docx": papers.changed(WORD, "word/document.xml", lambda part: part[: len(part) // 2]),
    "half.xlsx": papers.changed(SHEET, "xl/worksheets/sheet1.xml", lambda part: part[:60]),
    "half.odt": papers.changed(papers.odt("a", "b"), "content.xml", lambda part: part[:100]),
    "nothing.epub": papers.changed(papers.epub("a", "b"), "a.xhtml", lambda _: b"\0\1"),
    "none.pdf": papers.pdf([]),
    "locked.pdf": papers.locked_pdf(),
    "bomb.docx": papers.bomb(),
}
EMPTY = {"scan.pdf": papers.pdf(["", ""]), "blank.txt": b" \n "}


@pytest.mark.timeout(240)  # a dozen documents, each in a process of its own
def test_every_format(refdesk: Command, folder: Path) -> None:
    """
    What can be read is ready and can be found; the rest is told by name and reason, and no
    document without text is ever ready.
    """
    source = folder / "in"
    for name, data in (GOOD | BAD | EMPTY).items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(data)
    (source / ".hidden.txt").write_text("never read")
    (source / "outside").symlink_to("/etc")
    (source / "loop").symlink_to("loop")
    os.mkfifo(source / "pipe")
    with (source / "large.txt").open("wb") as file:
        file.truncate(500_000_000)

    refdesk("kb", "create", "docs", yaml="version: 1\nengines: {}\n")
    added = refdesk("kb", "add", "--collection", "docs", "in", "--json")
    assert added.code == 1
    outcomes = {str(Path(one["key"]).relative_to(source)): one for one in added.json}
    expected = {
        **dict.fromkeys(GOOD, "added"),
        **dict.fromkeys([*BAD, "large.txt"], "failed"),
        **dict.fromkeys(EMPTY, "empty"),
        **dict.fromkeys([".hidden.txt", "outside", "loop", "pipe"], "skipped"),
    }
    expected["no\ufffd.txt"] = expected.pop(os.fsdecode(b"no\xff.txt"))
    assert {name: one["outcome"] for name, one in outcomes.items()} == expected
    assert all(one["reason"] for name, one in outcomes.items() if one["outcome"] != "added")

    reports = {
        str(Path(one["key"]).relative_to(source)): one
        for one in refdesk("kb", "report", "docs", "--json").json
    }
    ready = {name for name, one in reports.items() if one["status"] == "ready"}
    assert len(ready) == len(GOOD)
    assert not ready & {*BAD, *EMPTY, "large.txt"}
    assert reports["paged.pdf"]["report"]["pages_without_text"] == [2]
    assert all(reports[name]["report"]["coverage"] > 0.99 for name in ready)
    assert "OCR" in (reports["scan.pdf"]["report"]["error"] or "")

    wanted = {
        "苹果 价格": "list.csv",
        "天气": "notes.md",
        "收成": "mail.eml",
        "Epsilon": "talk.pptx",
        "Gamma": "paged.pdf",
    }
    for question, name in wanted.items():
        found = refdesk("kb", "search", "--collection", "docs", question, "--json").json["items"]
        assert found[0]["metadata"]["filename"] == name, question
    (gamma,) = [item for item in found if item["metadata"]["filename"] == "paged.pdf"][:1]
    assert gamma["metadata"]["page"] in (1, 3)
