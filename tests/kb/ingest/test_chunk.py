"""Texts parted into passages: where they begin and end, what they carry."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.kb.ingest.chunk import parted
from refdesk.kb.ingest.report import covered

GUIDE = """# Guide

## Install

Some text here.

```
# not a heading
```

Setext
======

Quarterly sales 2023–2024:

| Quarter | Sales |
|---|---|
""" + "".join(f"| Q{at} | {at * 100} |\n" for at in range(30))


def test_offsets_of_repeated_text() -> None:
    """A passage whose text occurs twice has its own place, not the first one's."""
    pieces = parted("chunk chunk", shape="plain", chars=5)
    assert [(piece.start, piece.end) for piece in pieces] == [(0, 5), (6, 11)]


def test_heading_path() -> None:
    """A passage knows the headings above it; a heading alone goes with what follows."""
    first, *rest = parted(GUIDE, shape="markdown", chars=120)
    assert first.heading == ("Guide", "Install")
    assert first.text.startswith("# Guide\n\n## Install\n\nSome text")
    assert "# not a heading" in first.text
    assert {piece.heading for piece in rest} == {("Setext",)}


def test_table_keeps_header_and_caption() -> None:
    """Every part of a table has the header row, and is indexed under heading and caption."""
    tables = [piece for piece in parted(GUIDE, shape="markdown", chars=120) if "|" in piece.text]
    assert len(tables) > 2
    for piece in tables:
        assert piece.text.startswith("| Quarter | Sales |\n|---|---|\n| Q")
        assert piece.text.endswith(GUIDE[piece.start : piece.end])
        assert piece.index_text.startswith("Setext > Quarterly sales 2023–2024:\n")
        assert len(piece.text) <= 120
    rows = "".join(GUIDE[piece.start : piece.end] + "\n" for piece in tables)
    assert [f"| Q{at} | {at * 100} |" in rows for at in range(30)] == [True] * 30


def test_csv_by_row() -> None:
    """Records are not cut, also not at a line end in quotation marks, and keep the header."""
    text = 'name,note\nanna,"one\ntwo"\nben,plain\n'
    pieces = parted(text, shape="rows", chars=20)
    assert [piece.text for piece in pieces] == [
        'name,note\nanna,"one\ntwo"',
        "name,note\nben,plain",
    ]
    assert text[pieces[1].start : pieces[1].end] == "ben,plain"


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_csv_with_lines_above_its_header(mark: str) -> None:
    """What stands above the header of a table is not taken for it, whatever parts the fields."""
    rows = [f"ship {at}{mark}pier {at % 3}{mark}{at}" for at in range(30)]
    header = mark.join(("name", "pier", "berth"))
    text = "\n".join(["Calls of ships, 2026", "", "made on 1 May", header, *rows]) + "\n"
    pieces = parted(text, shape="rows", chars=80)
    assert pieces[0].text == "Calls of ships, 2026\n\nmade on 1 May"
    assert all(piece.text.startswith(header) for piece in pieces[1:])
    assert covered(text, pieces) == sum(map(len, text.split()))


def test_csv_whose_first_record_is_longer() -> None:
    """A first record with more fields than the others is the header still."""
    text = "a,b,c,d,e\n" + "1,2,3\n" * 30
    pieces = parted(text, shape="rows", chars=40)
    assert all(piece.text.startswith("a,b,c,d,e\n") for piece in pieces)


def test_csv_with_a_stray_quotation_mark() -> None:
    """A quotation mark that nobody closes does not make one record of all the rest."""
    text = "size\n" + '5" pipe\n' + "".join(f"row {at}\n" for at in range(200))
    pieces = parted(text, shape="rows", chars=100)
    assert max(len(piece.text) for piece in pieces) < 700
    assert covered(text, pieces) == sum(map(len, text.split()))


def test_row_longer_than_a_passage() -> None:
    """A row that is many passages long is cut, and each part has the header."""
    text = "h1,h2\n" + "word " * 400 + ",x\nlast,row\n"
    pieces = parted(text, shape="rows", chars=100)
    assert all(piece.text.startswith("h1,h2\n") for piece in pieces)
    assert max(len(piece.text) for piece in pieces) <= 110
    assert covered(text, pieces) == sum(map(len, text.split()))


def test_pages() -> None:
    """A passage has the number of the page that it begins on."""
    text = "first page words\n\n" + "second page words"
    pieces = parted(text, shape="plain", chars=20, pages=(0, 18))
    assert [piece.page for piece in pieces] == [1, 2]
    assert [one.page for one in parted(text, shape="plain", chars=99, pages=(0, 18))] == [1, 2]
    assert parted(text, shape="plain", chars=20)[0].page is None


def test_chinese() -> None:
    """Chinese, which has no spaces, is parted into passages of the asked length."""
    text = "参考台回答问题并且给出出处。" * 40
    pieces = parted(text, shape="plain", chars=100)
    assert max(len(piece.text) for piece in pieces) <= 100
    assert covered(text, pieces) == len(text)


def test_long_text_without_any_break() -> None:
    """A text longer than what the splitter is given at once is parted whole."""
    text = "x" * 450_000
    pieces = parted(text, shape="plain", chars=1000)
    assert pieces[-1].end == len(text)
    assert covered(text, pieces) == len(text)


@pytest.mark.parametrize("text", ["", " \n\t ", "---\n", "#", "|", "|a|\n|-|", '"', ",\n,,\n"])
@pytest.mark.parametrize("shape", ["plain", "markdown", "rows"])
def test_nearly_nothing(text: str, shape: str) -> None:
    """Texts of next to nothing give passages of next to nothing, never an error."""
    for piece in parted(text, shape=shape, chars=50):  # type: ignore[arg-type]
        assert piece.text.strip()


LINES = st.sampled_from(
    ["# One", "## Two", "#", "Title", "===", "---", "```", "~~~", "| a | b |", "|---|---|", "", " "]
) | st.text(alphabet='ab |#"-=,`é中\t\r😀', max_size=30)


@settings(max_examples=120, deadline=None)
@given(
    text=st.lists(LINES, max_size=16).map("\n".join),
    shape=st.sampled_from(["plain", "markdown", "rows"]),
    chars=st.integers(1, 80),
)
def test_nothing_is_lost(text: str, shape: str, chars: int) -> None:
    """Whatever the text, passages are in order, lie where they say, and hold all words."""
    pieces = parted(text, shape=shape, chars=chars)  # type: ignore[arg-type]
    at = 0
    for piece in pieces:
        assert at <= piece.start < piece.end <= len(text)
        at = piece.end
        body = text[piece.start : piece.end]
        assert piece.text == body or piece.text.endswith("\n" + body)
    lost = sum(map(len, text.split())) - covered(text, pieces)
    # Records of a CSV that hold separators only say nothing.
    assert lost == 0 or (shape == "rows" and lost <= sum(text.count(mark) for mark in ',;|"'))
