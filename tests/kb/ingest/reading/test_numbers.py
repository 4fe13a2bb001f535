"""Numbers as a spreadsheet shows them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.kb.ingest.reading.formats import BUILTIN
from refdesk.kb.ingest.reading.numbers import general, labelled, shown


@pytest.mark.parametrize(
    ("value", "code", "said"),
    [
        ("0.653", "0%", "65%"),
        ("0.655", "0%", "66%"),
        ("0.0575", "0.00%", "5.75%"),
        ("1.5", "0.0#%", "150.0%"),
        ("56701.03", '"$"#,##0.00', "$56,701.03"),
        ("-56701.03", '"$"#,##0.00', "-$56,701.03"),
        ("-56701.03", '"$"#,##0.00_);[Red]\\("$"#,##0.00\\)', "($56,701.03)"),
        ("56701.03", "[$€-2] #,##0.00", "€ 56,701.03"),
        ("56701.03", "#,##0.00\\ [$€-407]", "56,701.03 €"),
        ("1234567", "#,##0", "1,234,567"),
        ("0.004", "0.00", "0.00"),
        ("-0.004", "0.00", "0.00"),
        ("0.5", "#.##", ".5"),
        ("5", "#.##", "5"),
        ("1067", "00000", "01067"),
        ("5551234", "000-0000", "555-1234"),
        ("4915112345678", "000-00-000000000", "049-15-112345678"),
        ("1500000", '0.0,,"M"', "1.5M"),
        ("0", '"yes";"minus";"no"', "no"),
        ("-3", '"yes";"minus";"no"', "minus"),
        ("5", ";;;", ""),
        ("150", '[>100]"much";[<=100]"little"', "much"),
        ("50", '[>100]"much";[<=100]"little"', "little"),
        ("12345", "0.00E+00", "1.23E+04"),
        ("0.00012", "0.0E+00", "1.2E-04"),
        ("99999", "0.0E+00", "1.0E+05"),
        ("12345", "##0.0E+0", "12.3E+3"),
        ("1.25", "# ?/?", "1 1/4"),
        ("0.3333333", "# ?/?", "1/3"),
        ("2", "# ?/?", "2"),
        ("0.75", "# ?/8", "6/8"),
        ("1.5", "?/?", "3/2"),
        ("1.5", '0.00" €"/l', "1.50 €/l"),
        ("7", "0/10", "70/10"),
        ("46095", "yyyy-mm-dd", "2026-03-14"),
        ("46095", 'yyyy"年"m"月"d"日"', "2026年3月14日"),
        ("46095", "[$-407]d. mmmm yyyy", "14. March 2026"),
        ("46095", "ddd, d mmm yy", "Sat, 14 Mar 26"),
        ("46095.39583333333", "dd.mm.yyyy hh:mm", "14.03.2026 09:30"),
        ("0.39583333333333331", "hh:mm", "09:30"),
        ("0.39583333333333331", "h:mm AM/PM", "9:30 AM"),
        ("0.99999", "h:mm:ss AM/PM", "11:59:59 PM"),
        ("0", "h AM/PM", "12 AM"),
        ("1.5416666666666667", "[h]:mm:ss", "37:00:00"),
        ("0.0625", "[mm]", "90"),
        ("0.00123", "mm:ss.0", "01:46.3"),
        ("1", "yyyy-mm-dd", "1900-01-01"),
        ("59", "yyyy-mm-dd", "1900-02-28"),
        ("61", "yyyy-mm-dd", "1900-03-01"),
        ("3.14", "@", "3.14"),
        ("3.14", '"about "General', "about 3.14"),
        ("0.1", "General", "0.1"),
        ("0.30000000000000004", "General", "0.3"),
        ("4006381333931", "General", "4006381333931"),
        ("1E+20", "General", "1E+20"),
        ("1e400", "0", "1e400"),
        ("no number", "0", "no number"),
        ("1e30", "yyyy", "1E+30"),
    ],
)
def test_shown(value: str, code: str, said: str) -> None:
    """A number looks as it does in its cell."""
    assert shown(value, code) == said


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        (0, "7", "7"),
        (9, "0.653", "65%"),
        (14, "46095", "2026-03-14"),
        (20, "0.39583333333333331", "09:30"),
        (22, "46095.39583333333", "2026-03-14 09:30"),
        (46, "1.5", "36:00:00"),
        (57, "46095", "2026-03-14"),
    ],
)
def test_built_in(at: int, value: str, said: str) -> None:
    """Formats that a file only numbers are known; those of a country's own are ISO 8601."""
    assert shown(value, BUILTIN[at]) == said


def test_days_since_1904() -> None:
    """Old Macintosh workbooks count days from 1904."""
    assert shown("44633", "yyyy-mm-dd", since_1904=True) == "2026-03-14"


@pytest.mark.parametrize(
    ("code", "said"),
    [("@", "x"), ("General", "x"), ('0;0;0;"text: "@', "text: x"), ('@" m"', "x m"), ("0.00", "x")],
)
def test_labelled(code: str, said: str) -> None:
    """A text is shown by the section for texts, where there is one."""
    assert labelled("x", code) == said


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.text(alphabet='0#?.,%;E+-/ymdhs[]"\\@ _*$GeneralAMP', max_size=14), st.floats())
def test_any_code(code: str, value: float) -> None:
    """No format code makes a number an error."""
    assert isinstance(shown(repr(value), code), str)


@given(st.integers(-(10**14), 10**14))
def test_whole_numbers_are_whole(number: int) -> None:
    """Whole numbers (of articles, of accounts) keep all their digits."""
    assert general(Decimal(number)) == str(number)
