"""Texts and tables as text."""

from __future__ import annotations

import pytest

from refdesk.kb.ingest.chunk import parted
from refdesk.kb.ingest.parse_child import read


@pytest.mark.parametrize("line", ["sep=;", "SEP=;", '"sep=;"', "sep=;;", "\ufeffsep=;"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_of_the_separator(line: str, encoding: str, end: str) -> None:
    """Excel's line that names the separator is no header, in whatever the file is written."""
    rows = [f"Dübel {at} mm;Süd;0,{at:02}" for at in range(60)]
    written = end.join([line.lstrip("\ufeff"), "Artikel;Region;Preis", *rows, ""])
    data = written.encode(encoding)
    if line.startswith("\ufeff") and encoding == "utf-8":
        data = b"\xef\xbb\xbf" + data
    found = read(data, "a.csv")
    assert found["text"].splitlines() == ["Artikel;Region;Preis", *rows]
    for piece in parted(found["text"], shape="rows", chars=200):
        assert piece.text.startswith("Artikel;Region;Preis\n")


def test_tab_as_separator() -> None:
    """The separator may be a tab, as itself or as it is written."""
    for line in ("sep=\t", "sep=\\t"):
        assert read(f"{line}\na\tb\n1\t2\n".encode(), "a.csv")["text"] == "a\tb\n1\t2\n"


def test_no_line_of_the_separator() -> None:
    """A first line that only begins so is a header; in a text it is text."""
    assert read(b"sep=arator,b\n1,2\n", "a.csv")["text"] == "sep=arator,b\n1,2\n"
    assert read(b"sep=;\nx\n", "a.txt")["text"] == "sep=;\nx\n"


def test_what_cannot_be_decoded_is_lost() -> None:
    """Characters that no reader can tell are counted as lost."""
    found = read("今天天气很好。".encode() * 10 + b"\xff", "a.txt")
    assert (found["held"], found["lost"]) == (61, 1)
