"""OpenDocument files."""

from __future__ import annotations

from awkward.other import odf
from refdesk.kb.ingest.parse_child import read

_CELL = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>"


def row(*cells: str, about: str = "") -> str:
    """Return a row of cells of text, or of cells as they are."""
    inner = "".join(each if each.startswith("<") else _CELL.format("", each) for each in cells)
    return f"<table:table-row{about}>{inner}</table:table-row>"


def test_lists_and_headings() -> None:
    """Headings have their level, and items of lists theirs."""
    body = (
        '<text:h text:outline-level="2">Piers</text:h><text:list><text:list-item><text:p>North'
        "</text:p><text:list><text:list-item><text:p>berth 1</text:p></text:list-item></text:list>"
        "</text:list-item></text:list><text:section><text:p>in a section</text:p></text:section>"
    )
    text = read(odf("text", body), "a.odt")["text"]
    assert text.split("\n\n") == ["## Piers", "- North", "  - berth 1", "in a section\n"]


def test_merged_and_repeated_cells() -> None:
    """A label over rows or columns stands in each; cells that fill up a sheet say nothing."""
    span = ' table:number-rows-spanned="2"'
    sheet = (
        row("Pier", _CELL.format(' table:number-columns-repeated="2"', "2026"))
        + row(_CELL.format(span, "North"), "1", "2")
        + row("<table:covered-table-cell/>", "3", "4")
        + row("South", "5", '<table:table-cell table:number-columns-repeated="16000"/>')
        + row("<table:table-cell/>", about=' table:number-rows-repeated="1048576"')
    )
    text = read(odf("spreadsheet", f'<table:table table:name="S">{sheet}</table:table>'), "a.ods")[
        "text"
    ]
    assert text.splitlines()[2:] == [
        "| Pier | 2026 | 2026 |", "| --- | --- | --- |", "| North | 1 | 2 |", "| North | 3 | 4 |",
        "| South | 5 |  |",
    ]  # fmt: skip


def test_hidden_rows_and_columns() -> None:
    """Rows and columns that are hidden or filtered out are not read, and told."""
    sheet = (
        '<table:table-column/><table:table-column table:visibility="collapse"/>'
        + row("a", "hidden one")
        + row("b", "hidden two", about=' table:visibility="filter"')
        + row("c", "hidden three")
    )
    found = read(odf("spreadsheet", f'<table:table table:name="S">{sheet}</table:table>'), "a.ods")
    assert found["text"].splitlines()[2:] == ["| a |", "| --- |", "| c |"]
    assert sorted(found["notes"]) == [
        "1 hidden column of the table 'S': show them to have them read",
        "1 hidden row of the table 'S': show them to have them read",
    ]


def test_slides() -> None:
    """Each slide is a page, with what is said about it in its notes."""
    box = "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    page = f"<draw:page>{box}{{}}</draw:page>"
    notes = f"<presentation:notes>{box.format('slowly')}</presentation:notes>"
    found = read(
        odf("presentation", page.format("one", notes) + "<draw:page/>" + page.format("three", "")),
        "a.odp",
    )
    first, second, third = found["pages"]
    assert found["text"][first:second].split("\n\n") == ["one", "Note: slowly", ""]
    assert found["text"][third:].strip() == "three"
    assert (second, found["blank"]) == (third, [2])
