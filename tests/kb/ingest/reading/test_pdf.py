"""PDF files: nothing that the pages say is lost, and values stand in their columns."""

from __future__ import annotations

import random

import pytest

from awkward.pdfs import PROSE, column, pdf, table
from refdesk.kb.ingest.parse_child import read
from refdesk.kb.ingest.reading.pdf import chosen, plain_pages

_SMALL = [f"Point {i}: the valve of unit {i * 7} was left as it stood." for i in range(1, 9)]


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of all tables of a text."""
    lines = (line for line in text.splitlines() if line.startswith("|") and "---" not in line)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("large", [1, 3, 7, 12, 20])
@pytest.mark.parametrize("size", [10, 12, 14])
def test_lines_of_two_sizes(large: int, size: int) -> None:
    """A title and lines of one size above lines of another: all are read, once."""
    above = [f"The report of day {i} was filed by shift {i * 3}." for i in range(large)]
    page = [(72, 800, size, "Building register"), *column(72, 770, above, size=size, step=16)]
    page += column(72, 440, _SMALL)
    found = read(pdf(page), "a.pdf")
    flat = " ".join(found["text"].split())
    assert {line: flat.count(line) for line in ["Building register", *above, *_SMALL]} == (
        dict.fromkeys(["Building register", *above, *_SMALL], 1)
    )
    assert (found["lost"], found["notes"]) == (0, [])


@pytest.mark.parametrize("columns", [4, 8, 15])
@pytest.mark.parametrize("full", [1.0, 0.6, 0.3])
@pytest.mark.parametrize("words", [False, True])
def test_values_in_their_columns(columns: int, full: float, words: bool) -> None:
    """However few cells of a table are filled, each value stands in the column of its header."""
    dice = random.Random(columns)
    cells = [["Item", *(f"W{at}" for at in range(1, columns))]]
    for at in range(1, 13):
        values = (dice.choice(("rope", "sail", "gate")) if words else str(dice.randint(1, 999))
                  for _ in range(1, columns))  # fmt: skip
        filled = [value if dice.random() < full else "" for value in values]
        cells.append([f"Row {at}", *(filled if any(filled) else ["7", *filled[1:]])])
    width = min(60, 500 / columns)
    page = [(20, 800, 14, "Weeks"), *column(20, 780, PROSE)]
    page += table(20, 700, [width * 1.4] + [width] * (columns - 1), cells, size=6, step=11)
    page += column(20, 500, PROSE)
    found = read(pdf(page), "a.pdf")
    assert rows_of(found["text"]) == cells
    assert "# Weeks" in found["text"]
    assert found["text"].rstrip().endswith("waits for a week.")
    assert found["lost"] == 0


def test_prose_is_no_table() -> None:
    """Columns of prose, lists and lines with gaps in them are not made tables."""
    left = [f"Left column line {i} is all about ropes and their ends." for i in range(1, 20)]
    right = [f"Right column line {i} is about sails and their care." for i in range(1, 20)]
    page = [
        (72, 800, 18, "Ropes"),
        *column(50, 700, left, size=9),
        *column(310, 700, right, size=9),
    ]
    page += [(72, 300 - 14 * at, 10, f"Chapter {at} . . . . . . . . {at}") for at in range(5)]
    assert rows_of(read(pdf(page), "a.pdf")["text"]) == []


def test_running_lines() -> None:
    """What stands at the head and the foot of every page is read, on each."""
    pages = [[(72, 810, 8, "Harbour office"), *column(72, 740, PROSE), (500, 30, 8, f"Page {at}")]
             for at in range(1, 6)]  # fmt: skip
    found = read(pdf(*pages), "a.pdf")
    starts = [*found["pages"], len(found["text"])]
    for at in range(5):
        part = found["text"][starts[at] : starts[at + 1]]
        assert "Harbour office" in part
        assert f"Page {at + 1}" in part
    assert found["lost"] == 0


_PAGE = [(72, 800, 16, "Building register"), *column(72, 760, PROSE), *column(72, 600, _SMALL)]
_WRITTEN = "\n\n".join(["# Building register", " ".join(PROSE), " ".join(_SMALL)])


@pytest.mark.parametrize("gone", ["# Building register\n\n", PROSE[1], _SMALL[7], _SMALL[3][:20]])
def test_fewer_letters_than_the_page(gone: str) -> None:
    """Markdown that lacks letters of its page gives way to the lines of the page."""
    (page,) = plain_pages(pdf(_PAGE)) or ()
    assert chosen(_WRITTEN, page) == _WRITTEN
    text = " ".join(chosen(_WRITTEN.replace(gone, ""), page).split())
    assert all(line in text for line in ["Building register", *PROSE, *_SMALL])


def test_headings_of_pages_that_were_chosen() -> None:
    """Where the lines of a page are taken, the headings that were found stay headings."""
    (page,) = plain_pages(pdf(_PAGE)) or ()
    lines = chosen(_WRITTEN.replace(_SMALL[2], ""), page).split("\n")
    assert "# Building register" in lines
    assert _SMALL[2] in lines


def test_hyphens_at_line_ends() -> None:
    """A word parted at the end of a line is whole in the Markdown, and hyphened in the lines."""
    data = pdf(
        column(72, 700, ["The inter-", "national trade of the well-", "known port"], size=11)
    )
    found = read(data, "a.pdf")
    assert " ".join(found["text"].split()) == "The international trade of the well-known port"
    assert found["lost"] == 0
    (page,) = plain_pages(data) or ()
    assert chosen("", page) == "The inter-national\ntrade of the well-known\nport"


def test_form() -> None:
    """What was filled into a form is read."""
    fields = ["<</FT/Tx/T(Name)/V(Ann Kestrel)/Type/Annot/Subtype/Widget/Rect[0 0 9 9]>>"]
    found = read(pdf([(72, 800, 12, "Application for a berth")], fields=fields), "a.pdf")
    assert "Application for a berth" in found["text"]
    assert "Name: Ann Kestrel" in found["text"]
