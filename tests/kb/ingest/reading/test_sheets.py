"""Workbooks."""

from __future__ import annotations

import papers
from awkward.sample import OFFICE, relations
from awkward.sheets import number, rows, text, xlsx
from refdesk.kb.ingest.parse_child import read


def lines_of(sheet: str) -> list[str]:
    """Return the lines of a workbook of one sheet."""
    return str(read(xlsx({"Sheet": sheet}), "a.xlsx")["text"]).splitlines()


def test_figures_of_a_report() -> None:
    """Shares, sums, rates, days and hours stand in the table as the program shows them."""
    found = lines_of(
        rows(
            (text("House"), text("Let"), text("Rent"), text("Rate"), text("Since"), text("Opens")),
            (
                text("Harbour House"),
                number("0.653", "0%"),
                number("56701.03", '"$"#,##0.00'),
                number("0.0575", "0.00%"),
                number("46095", "yyyy\\-mm\\-dd"),
                number("0.39583333333333331", "hh:mm"),
            ),
        )
    )
    assert found[-1] == "| Harbour House | 65% | $56,701.03 | 5.75% | 2026-03-14 | 09:30 |"


def test_titles_above_the_header() -> None:
    """Lines of one label above a table are no header of it."""
    assert lines_of(
        rows(
            (text("Calls of ships"),),
            (text("in 2026"),),
            (),
            (text("Pier"), text("Calls")),
            (text("North"), number("7")),
        )
    ) == [
        "## Sheet", "", "Calls of ships", "", "in 2026", "",
        "| Pier | Calls |", "| --- | --- |", "| North | 7 |",
    ]  # fmt: skip


def test_one_column() -> None:
    """A sheet of one column is a table with all its rows."""
    assert lines_of(rows((text("Pier"),), (text("North"),), (text("South"),))) == [
        "## Sheet", "", "| Pier |", "| --- |", "| North |", "| South |",
    ]  # fmt: skip


def test_cells_without_places() -> None:
    """Cells that do not say where they are stand one after the other."""
    sheet = (
        "<sheetData><row><c><v>1</v></c><c><v>2</v></c></row><row><c/><c><v>4</v></c></row>"
        "</sheetData>"
    )
    assert lines_of(sheet)[2:] == ["| 1 | 2 |", "| --- | --- |", "|  | 4 |"]


def test_merged_header() -> None:
    """A label over two columns of three stands over both of them."""
    found = lines_of(
        rows(
            (text("Pier"), text("2026"), ""),
            ("", text("May"), text("June")),
            (text("North"), number("1"), number("2")),
            after='<mergeCells><mergeCell ref="A1:A2"/><mergeCell ref="B1:C1"/></mergeCells>',
        )
    )
    assert found[2:] == [
        "| Pier | 2026 | 2026 |", "| --- | --- | --- |", "| Pier | May | June |",
        "| North | 1 | 2 |",
    ]  # fmt: skip


def test_label_of_a_group_in_a_long_table() -> None:
    """A group's label stands in each of its rows, so that every part of a long table has it."""
    cells = [(text("Pier"), text("Ship"))]
    cells += [(text("North") if not at else "", text(f"ship {at}")) for at in range(300)]
    merged = '<mergeCells><mergeCell ref="A2:A301"/></mergeCells>'
    found = lines_of(rows(*cells, after=merged))
    assert found[4:] == [f"| North | ship {at} |" for at in range(300)]


def test_formulas() -> None:
    """Stored values are read; where none is stored, the places of the formulas are told."""
    found = read(
        xlsx(
            {
                "One": rows((text("a"), *["<c><f>NOW()</f></c>"] * 7)),
                "Two": rows((text("b"), "<c><f>1+1</f><v>2</v></c>")),
            }
        ),
        "a.xlsx",
    )
    assert "| b | 2 |" in found["text"]
    (note,) = found["notes"]
    assert note == (
        "7 formulas of the sheet 'One' whose value was not stored (B1, C1, D1, E1, F1, …):"
        " save it anew in a spreadsheet program"
    )


def test_formula_that_says_nothing() -> None:
    """A formula whose text is empty has a value: nothing is told of it."""
    data = xlsx({"One": rows((text("a"), '<c t="str"><f>""</f><v></v></c>'))})
    assert read(data, "a.xlsx")["notes"] == []


def test_hidden_sheets_alone() -> None:
    """A workbook of which nothing is shown is empty, and its report says what is hidden."""
    found = read(xlsx({"Back": rows((text("a"),))}, states={"Back": "hidden"}), "a.xlsx")
    assert found["text"] == ""
    assert found["notes"] == ["the hidden sheet 'Back': show it to have it read"]


def test_strict_workbooks() -> None:
    """Workbooks in the strict form of the format have other namespaces and the same text."""
    data = xlsx({"Sheet": rows((text("a"), text("b")))})
    for part in ("xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/_rels/workbook.xml.rels"):
        data = papers.changed(
            data,
            part,
            lambda body: body.replace(
                b"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
                b"http://purl.oclc.org/ooxml/spreadsheetml/main",
            ).replace(OFFICE.encode(), b"http://purl.oclc.org/ooxml/officeDocument/relationships"),
        )
    assert "| a | b |" in read(data, "a.xlsx")["text"]


def test_damaged_numbers() -> None:
    """A text or a style that is not there is an empty cell, and no error."""
    cells = '<c r="A1" t="s"><v>99</v></c><c r="B1" s="99"><v>5</v></c>'
    sheet = f'<sheetData><row r="1">{cells}</row></sheetData>'
    assert lines_of(sheet)[2] == "| 5 |"


def test_printed_pages_and_files() -> None:
    """Headers of printed pages, and files put into a sheet, are told; fields alone are not."""
    head = "<headerFooter><oddHeader>&amp;L{}&amp;C&amp;P</oddHeader></headerFooter>"
    told = read(
        xlsx(
            {
                "One": rows((text("a"),), after=head.format('&amp;"Arial"&amp;12Harbour office')),
                "Two": rows((text("b"),), after=head.format("")),
            },
            sheet_relations=relations({"r1": ("package", "../embeddings/x.docx")}),
        ),
        "a.xlsx",
    )["notes"]
    assert told == [
        "header and footer of the printed pages of the sheet 'One'",
        "1 embedded file: add what they say by itself (One)",
    ]


def test_long_labels_stand_once() -> None:
    """A label as long as a paragraph is not repeated: text grows no faster than the workbook."""
    long = "word " * 60
    cells = [(text(long), text("0")), *(("", text(str(at))) for at in range(1, 50))]
    found = lines_of(rows(*cells, after='<mergeCells><mergeCell ref="A1:A50"/></mergeCells>'))
    assert "\n".join(found).count(long.strip()) == 1
