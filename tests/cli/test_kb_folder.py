"""One folder with every format, and a broken one of each: the report says the truth about all."""

from __future__ import annotations

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
    "paged.pdf": papers.pdf(["Alpha page", "", "Gamma page"]),
    "page.html": PAGE.encode(),
    "notes.md": "# 笔记\n\n今天天气很好。\n".encode(),
    "list.csv": "产品,价格\r\n苹果,3\r\n".encode("gbk"),
    "plain.txt": "Just some text.".encode("utf-16"),
    "sub/deep.txt": b"Text in a folder below.",
    "odd \\..\\x.txt": b"A file with an odd name.",
}
BAD = {
    "cut.docx": WORD[: len(WORD) // 2],
    "cut.xlsx": SHEET[: len(SHEET) // 2],
    "cut.pdf": papers.pdf(["x"])[:60],
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
        ".hidden.txt": "skipped",
    }
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

    for question, name in (("苹果 价格", "list.csv"), ("天气", "notes.md"), ("Gamma", "paged.pdf")):
        found = refdesk("kb", "search", "--collection", "docs", question, "--json").json["items"]
        assert found[0]["metadata"]["filename"] == name, question
    (gamma,) = [item for item in found if item["metadata"]["filename"] == "paged.pdf"][:1]
    assert gamma["metadata"]["page"] in (1, 3)
