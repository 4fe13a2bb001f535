"""PDF files that readers trip over."""

from __future__ import annotations

from collections.abc import Sequence

from awkward.sample import Sample

Line = tuple[float, float, float, str]
"""From the left, from below, size, text."""


def pdf(*pages: Sequence[Line], title: str = "", fields: Sequence[str] = ()) -> bytes:
    """Return a PDF of pages of lines; ``fields`` are those of a form."""
    count = len(pages)
    objects = [
        f"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[{' '.join(fields)}]>>>>",
        f"<</Type/Pages/Kids[{' '.join(f'{5 + 2 * at} 0 R' for at in range(count))}]/Count {count}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        f"<</Title({title})>>",
    ]
    for at, lines in enumerate(pages):
        stream = "".join(
            f"BT /F1 {size:g} Tf {x:g} {y:g} Td ({_quoted(said)}) Tj ET\n"
            for x, y, size, said in lines
        )
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {6 + 2 * at} 0 R"
            "/Resources<</Font<</F1 3 0 R>>>>>>"
        )
        objects.append(f"<</Length {len(stream)}>>stream\n{stream}endstream")
    out, places = b"%PDF-1.4\n", []
    for at, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{at} 0 obj{body}endobj\n".encode("cp1252")
    tail = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    tail += "".join(f"{place:010d} 00000 n \n" for place in places)
    tail += (
        f"trailer<</Size {len(objects) + 1}/Root 1 0 R/Info 4 0 R>>\nstartxref\n{len(out)}\n%%EOF"
    )
    return out + tail.encode()


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def column(
    x: float, top: float, lines: Sequence[str], *, size: float = 10, step: float = 13
) -> list[Line]:
    """Return lines one below the other."""
    return [(x, top - step * at, size, line) for at, line in enumerate(lines)]


def table(
    left: float,
    top: float,
    widths: Sequence[float],
    rows: Sequence[Sequence[str]],
    *,
    size: float = 9,
    step: float = 16,
) -> list[Line]:
    """Return the cells of a table; those without text are not written."""
    lines: list[Line] = []
    for at, row in enumerate(rows):
        x = left
        for width, cell in zip(widths, row, strict=True):
            if cell:
                lines.append((x, top - step * at, size, cell))
            x += width
    return lines


_SMALL = [
    f"Point {i}: the valve of unit {i * 7} was checked and left as it stood." for i in range(1, 9)
]
_PUMP = ["The inspection of the pump", "was done by the day shift", "in the first week of May."]
_MANY = [f"The report of day {i} was filed by the day shift." for i in range(1, 11)]
_LEFT = [f"Left column line {i} is about ropes." for i in range(1, 9)]
_RIGHT = [f"Right column line {i} is about sails." for i in range(1, 9)]
PROSE = [
    "The harbour office keeps a register of all ships that call here.",
    "It is open to the public on every working day, and free of charge.",
    "Whoever wants a copy writes to the office and waits for a week.",
]
WIDE = [
    ["Berth", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Total"],
    ["North", "12", "", "", "7", "", "31", "50"],
    ["South", "", "4", "", "", "", "6", "10"],
    ["East", "1", "", "5", "", "", "", "6"],
    ["West", "", "", "", "", "22", "", "22"],
    ["Centre", "3", "3", "3", "3", "3", "3", "18"],
]

PDFS = (
    Sample(
        name="sizes.pdf",
        data=pdf(
            [
                (72, 770, 12, "Building register"),
                *column(72, 730, _PUMP, size=12, step=15),
                *column(72, 625, _SMALL),
            ]
        ),
        seen=("Building register", *_PUMP, *_SMALL),
    ),
    Sample(
        name="title.pdf",
        data=pdf(
            [
                (72, 770, 12, "Building register"),
                *column(72, 730, _MANY, size=12, step=15),
                *column(72, 525, _SMALL),
            ]
        ),
        seen=("Building register", *_MANY, *_SMALL),
    ),
    Sample(
        name="columns.pdf",
        data=pdf(
            [
                (72, 790, 18, "Ropes and sails"),
                *column(72, 760, PROSE),
                *column(72, 690, _LEFT),
                *column(310, 690, _RIGHT),
            ]
        ),
        seen=("Ropes and sails", *PROSE, *_LEFT, *_RIGHT),
    ),
    Sample(
        name="twopages.pdf",
        data=pdf(
            [
                (72, 770, 12, "Building register"),
                *column(72, 730, _PUMP, size=12, step=15),
                *column(72, 625, _SMALL),
            ],
            [
                (72, 790, 18, "Ropes and sails"),
                *column(72, 760, PROSE),
                *column(72, 690, _LEFT),
                *column(310, 690, _RIGHT),
            ],
        ),
        seen=("Building register", *_PUMP, *_SMALL, "Ropes and sails", *PROSE, *_LEFT, *_RIGHT),
    ),
    Sample(
        name="wide.pdf",
        data=pdf(
            [
                (72, 790, 16, "Calls of ships"),
                *column(72, 760, PROSE),
                *table(72, 690, [70, 50, 50, 50, 50, 50, 50, 60], WIDE),
            ]
        ),
        seen=(
            "Calls of ships",
            *PROSE,
            "North",
            "31",
            "| North | 12 | | | 7 | | 31 | 50 |",
            "| South | | 4 | | | | 6 | 10 |",
            "| West | | | | | 22 | | 22 |",
        ),
    ),
    Sample(
        name="footers.pdf",
        data=pdf(
            *(
                [
                    (72, 810, 8, "Harbour office, annual report"),
                    (72, 770, 16, f"Chapter {n}"),
                    *column(72, 740, [f"{line} ({n})" for line in PROSE]),
                    (500, 30, 8, f"Page {n} of 4"),
                ]
                for n in range(1, 5)
            )
        ),
        seen=("Harbour office, annual report", "Chapter 1", "Chapter 4", "(1)", "(4)"),
    ),
    Sample(
        name="short.pdf",
        data=pdf([(72, 770, 24, "Gate code"), (72, 700, 11, "4711")]),
        seen=("Gate code", "4711"),
    ),
)
