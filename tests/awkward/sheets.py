"""Workbooks that readers trip over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from awkward.sample import OFFICE, XML, Sample, relations, types, zipped

_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml."
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

FORMATS = (
    "General", "0%", '"$"#,##0.00', "0.00%", "yyyy\\-mm\\-dd", "hh:mm", "[h]:mm", "#,##0;[Red]\\-#,##0",
    "0.0E+00", "dd/mm/yyyy hh:mm", "# ?/?", "00000", '#,##0.00\\ "€"', "mmm\\ yy", "h:mm AM/PM",
    '_-* #,##0.00\\ _€_-;\\-* #,##0.00\\ _€_-;_-* "-"??\\ _€_-;_-@_-', ";;;", "[$-407]d. mmmm yyyy",
    '0" pcs"', '#,##0,"k"', "mm:ss.0", '"yes";"minus";"no";"text: "@',
)  # fmt: skip


def _styles(formats: Sequence[str]) -> str:
    def quoted(code: str) -> str:
        return code.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")

    numbers = "".join(
        f'<numFmt numFmtId="{164 + at}" formatCode="{quoted(code)}"/>'
        for at, code in enumerate(formats)
    )
    cells = "".join(f'<xf numFmtId="{164 + at}"/>' for at in range(len(formats)))
    # Behind ours, those that are built in: date, time, percent.
    cells += "".join(f'<xf numFmtId="{number}"/>' for number in (14, 20, 9, 4, 22))
    return f'{XML}<styleSheet xmlns="{_MAIN}"><numFmts>{numbers}</numFmts><cellXfs>{cells}</cellXfs></styleSheet>'


def xlsx(
    sheets: Mapping[str, str],
    *,
    strings: str = "",
    states: Mapping[str, str] | None = None,
    about: str = "",
    parts: Mapping[str, str] | None = None,
    sheet_relations: str = "",
) -> bytes:
    """
    Return a workbook.

    Args:
        sheets: Name and what is in its ``worksheet``.
        strings: What is in the table of shared strings.
        states: Whether a sheet is ``hidden`` or ``veryHidden``.
        about: The workbook's properties.
        parts: Further parts.
        sheet_relations: Relations of the first sheet.
    """
    states = states or {}
    numbers = range(1, len(sheets) + 1)
    listed = "".join(
        f'<sheet name="{name}" sheetId="{at}" r:id="r{at}"'
        + (f' state="{states[name]}"' if name in states else "")
        + "/>"
        for at, name in zip(numbers, sheets, strict=True)
    )
    targets = {f"r{at}": ("worksheet", f"worksheets/sheet{at}.xml") for at in numbers}
    targets |= {"r90": ("styles", "styles.xml"), "r91": ("sharedStrings", "sharedStrings.xml")}
    bodies = {
        f"xl/worksheets/sheet{at}.xml": f'{XML}<worksheet xmlns="{_MAIN}" xmlns:r="{OFFICE}">{body}</worksheet>'
        for at, body in zip(numbers, sheets.values(), strict=True)
    }
    kinds = dict.fromkeys(bodies, f"{_TYPE}worksheet+xml")
    kinds |= {
        "xl/styles.xml": f"{_TYPE}styles+xml",
        "xl/sharedStrings.xml": f"{_TYPE}sharedStrings+xml",
    }
    return zipped(
        {
            "[Content_Types].xml": types({"xl/workbook.xml": f"{_TYPE}sheet.main+xml"} | kinds),
            "_rels/.rels": relations({"r1": ("officeDocument", "xl/workbook.xml")}),
            "xl/workbook.xml": f'{XML}<workbook xmlns="{_MAIN}" xmlns:r="{OFFICE}">{about}<sheets>{listed}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations(targets),
            "xl/styles.xml": _styles(FORMATS),
            "xl/sharedStrings.xml": f'{XML}<sst xmlns="{_MAIN}">{strings}</sst>',
        }
        | bodies
        | ({"xl/worksheets/_rels/sheet1.xml.rels": sheet_relations} if sheet_relations else {})
        | dict(parts or {})
    )


def rows(
    *lines: Sequence[str], after: str = "", before: str = "", hidden: frozenset[int] = frozenset()
) -> str:
    """Return the data of a sheet: of each cell what `text`, `number` and so on made."""
    out = []
    for at, line in enumerate(lines, 1):
        cells = "".join(
            cell.replace("<c", f'<c r="{column(place)}{at}"', 1)
            for place, cell in enumerate(line)
            if cell
        )
        out.append(
            f'<row r="{at}"{" hidden=" + chr(34) + "1" + chr(34) if at in hidden else ""}>{cells}</row>'
        )
    return f"{before}<sheetData>{''.join(out)}</sheetData>{after}"


def column(at: int) -> str:
    """Return the letters of a column: A, …, Z, AA."""
    return (column(at // 26 - 1) if at >= 26 else "") + chr(65 + at % 26)


def text(value: str) -> str:
    """Return a cell of text."""
    return f'<c t="inlineStr"><is><t xml:space="preserve">{value}</t></is></c>'


def number(value: str, shape: str = "General") -> str:
    """Return a cell of a number, in one of `FORMATS`."""
    return f'<c s="{FORMATS.index(shape)}"><v>{value}</v></c>'


def builtin(value: str, at: int) -> str:
    """Return a cell of a number in a format that is built in: 14, 20, 9, 4, 22."""
    return f'<c s="{len(FORMATS) + (14, 20, 9, 4, 22).index(at)}"><v>{value}</v></c>'


_KNOWN = (
    ("Occupied", "0.653", "0%", "65%"),
    ("Turnover", "56701.03", '"$"#,##0.00', "$56,701.03"),
    ("Interest", "0.0575", "0.00%", "5.75%"),
    ("Opened", "46095", "yyyy\\-mm\\-dd", "2026-03-14"),
    ("Gate", "0.39583333333333331", "hh:mm", "09:30"),
    ("Worked", "1.5416666666666667", "[h]:mm", "37:00"),
    ("Loss", "-1234", "#,##0;[Red]\\-#,##0", "-1,234"),
    ("Ships", "12345", "0.0E+00", "1.2E+04"),
    ("Seen", "46095.75", "dd/mm/yyyy hh:mm", "14/03/2026 18:00"),
    ("Part", "1.25", "# ?/?", "1 1/4"),
    ("Post", "1067", "00000", "01067"),
    ("Rent", "1234.5", '#,##0.00\\ "€"', "1,234.50 €"),
    ("Month", "46095", "mmm\\ yy", "Mar 26"),
    ("Tea", "0.6875", "h:mm AM/PM", "4:30 PM"),
    ("Debt", "-5", '_-* #,##0.00\\ _€_-;\\-* #,##0.00\\ _€_-;_-* "-"??\\ _€_-;_-@_-', "-5.00"),
    ("Plain", "0.1", "General", "0.1"),
    ("Long", "0.30000000000000004", "General", "0.3"),
    ("Whole", "20260314", "General", "20260314"),
    ("Pieces", "7", '0" pcs"', "7 pcs"),
    ("Thousands", "56701", '#,##0,"k"', "57k"),
    ("Lap", "0.00123", "mm:ss.0", "01:46.3"),
)

_STRINGS = (
    '<si><t>Rich </t></si><si><r><t>Har</t></r><r><rPr><b/></rPr><t xml:space="preserve">bour </t></r>'
    '<r><t>House</t></r></si><si><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh></si>'
    "<si><t>A&amp;B &lt;x&gt; | y</t></si><si><t>two\nlines</t></si>"
)


def _shared(at: int) -> str:
    return f'<c t="s"><v>{at}</v></c>'


SHEETS = (
    # Made with xlwt 1.3.0: nothing that is kept today writes this format.
    Sample(
        name="old.xls",
        data=Path(__file__).with_name("old.xls").read_bytes(),
        seen=(
            "| Harbour & House <1> | 65% | $56,701.03 | 2026-03-14 | 09:30 |",
            "| Group | 1 | TRUE |",
            "| Group | 2 |",
            "last",
        ),
        unseen=("Salaries", "hidden column", "hidden row"),
        told=("'Back'", "hidden row", "hidden column"),
    ),
    Sample(
        name="formats.xlsx",
        data=xlsx(
            {
                "Figures": rows(
                    (text("What"), text("Value")),
                    *((text(label), number(value, shape)) for label, value, shape, _ in _KNOWN),
                )
            }
        ),
        seen=tuple(f"| {label} | {shown} |" for label, _, _, shown in _KNOWN),
    ),
    Sample(
        name="builtin.xlsx",
        data=xlsx(
            {
                "Figures": rows(
                    (text("What"), text("Value")),
                    (text("Day"), builtin("46095", 14)),
                    (text("Hour"), builtin("0.39583333333333331", 20)),
                    (text("Share"), builtin("0.653", 9)),
                    (text("Sum"), builtin("56701.03", 4)),
                    (text("Both"), builtin("46095.39583333333", 22)),
                )
            }
        ),
        seen=(
            "| Day | 2026-03-14 |",
            "| Hour | 09:30 |",
            "| Share | 65% |",
            "| Sum | 56,701.03 |",
            "| Both | 2026-03-14 09:30 |",
        ),
    ),
    Sample(
        name="dates1904.xlsx",
        data=xlsx(
            {
                "Days": rows(
                    (text("Day"), text("x")), (number("44633", "yyyy\\-mm\\-dd"), text("y"))
                )
            },
            about='<workbookPr date1904="1"/>',
        ),
        seen=("2026-03-14",),
    ),
    Sample(
        name="isodate.xlsx",
        data=xlsx(
            {
                "Days": rows(
                    (text("Day"), text("x")),
                    ('<c t="d" s="4"><v>2026-03-14T00:00:00</v></c>', text("y")),
                )
            }
        ),
        seen=("2026-03-14",),
        unseen=("T00:00",),
    ),
    Sample(
        name="formulas.xlsx",
        data=xlsx(
            {
                "Sums": rows(
                    (text("What"), text("Value")),
                    (text("cached"), '<c s="2"><f>A1+1</f><v>41.5</v></c>'),
                    (text("words"), '<c t="str"><f>A1&amp;B1</f><v>both words</v></c>'),
                    (text("wrong"), '<c t="e"><f>1/0</f><v>#DIV/0!</v></c>'),
                    (text("truth"), '<c t="b"><f>1=1</f><v>1</v></c>'),
                    (text("uncached"), "<c><f>SUM(B2:B3)</f></c>"),
                    (text("uncached too"), "<c><f>NOW()</f><v/></c>"),
                )
            }
        ),
        seen=(
            "| cached | $41.50 |",
            "| words | both words |",
            "#DIV/0!",
            "| truth | TRUE |",
            "uncached",
        ),
        told=("2 formulas",),
    ),
    Sample(
        name="merged.xlsx",
        data=xlsx(
            {
                "Piers": rows(
                    (text("Pier"), text("Ship"), text("Length"), text("")),
                    (text("North"), text("Anna"), number("80")),
                    ("", text("Berta"), number("90")),
                    ("", text("Clara"), number("70")),
                    (text("South"), text("Dora"), number("60")),
                    (text("Remarks: all piers are closed in May"), "", ""),
                    after='<mergeCells count="2"><mergeCell ref="A2:A4"/><mergeCell ref="A6:C6"/></mergeCells>',
                )
            }
        ),
        seen=(
            "| North | Anna | 80 |",
            "| North | Berta | 90 |",
            "| North | Clara | 70 |",
            "| South | Dora | 60 |",
        ),
        once=("all piers are closed in May",),
    ),
    Sample(
        name="hidden.xlsx",
        data=xlsx(
            {
                "Open": rows(
                    (text("Name"), text("Cost"), text("Margin")),
                    (text("Anna"), text("shown"), text("secret column")),
                    (text("hidden row"), text("x"), text("y")),
                    (text("Berta"), text("shown too"), text("z")),
                    before='<cols><col min="3" max="3" hidden="1"/></cols>',
                    hidden=frozenset({3}),
                ),
                "Back": rows((text("Salaries"), text("900"))),
                "Deep": rows((text("Macro data"), text("1"))),
            },
            states={"Back": "hidden", "Deep": "veryHidden"},
        ),
        seen=("Anna", "shown", "Berta", "shown too"),
        unseen=("Salaries", "Macro data", "secret column", "hidden row"),
        told=("'Back'", "'Deep'", "hidden row", "hidden column"),
    ),
    Sample(
        name="strings.xlsx",
        data=xlsx(
            {
                "Words": rows(
                    (_shared(0), _shared(1), text("Leer")),
                    (_shared(2), _shared(3), ""),
                    (_shared(4), "", text("far right")),
                )
            },
            strings=_STRINGS,
        ),
        seen=("Rich", "Harbour House", "東京", "A&B <x>", "two", "lines", "far right"),
        unseen=("トウキョウ",),
    ),
    Sample(
        name="gaps.xlsx",
        data=xlsx(
            {
                "Gaps": '<sheetData><row r="3"><c r="C3" t="inlineStr"><is><t>Head</t></is></c>'
                '<c r="E3" t="inlineStr"><is><t>Far</t></is></c></row><row r="900"><c r="C900"><v>7</v></c>'
                '<c r="XFD900"><v>8</v></c></row></sheetData>',
                "Nothing": "<sheetData/>",
                "R&amp;D": rows((text("Kestrel"), text("works"))),
            }
        ),
        seen=("Head", "Far", "7", "8", "R&D", "Kestrel"),
    ),
    Sample(
        name="comments.xlsx",
        data=xlsx(
            {"Sheet": rows((text("a"), text("b")), (text("c"), text("d")))},
            parts={
                "xl/comments1.xml": f'{XML}<comments xmlns="{_MAIN}"><commentList><comment ref="A1"><text>'
                "<t>Ask Bert about this</t></text></comment></commentList></comments>",
                "xl/drawings/drawing1.xml": f'{XML}<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><xdr:sp><xdr:txBody><a:p><a:r><a:t>A box on the sheet</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:wsDr>',
            },
            sheet_relations=relations(
                {
                    "r1": ("comments", "../comments1.xml"),
                    "r2": ("drawing", "../drawings/drawing1.xml"),
                }
            ),
        ),
        seen=("a", "d", "A box on the sheet"),
        told=("comment",),
    ),
)
