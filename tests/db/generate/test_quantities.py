"""Amounts in questions, with what they are compared by."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.db.generate.numerals import read_number
from refdesk.db.generate.quantities import find_quantities


@pytest.mark.parametrize(
    ("text", "op", "low", "high", "hint"),
    [
        ("under $50", "<", 50, None, "money"),
        ("cheaper than 20", "<", 20, None, "money"),
        ("at least 4", ">=", 4, None, None),
        ("no more than 1,500.50", "<=", 1500.5, None, None),
        ("between 50 and 150", "between", 50, 150, None),
        ("5-10", "between", 5, 10, None),
        ("more than 2.5k", ">", 2500, None, None),
        ("over 1 billion dollars", ">", 1_000_000_000, None, "money"),
        ("3 million", None, 3_000_000, None, None),
        ("15%", None, 15, None, "percent"),
        ("4 or more", ">=", 4, None, None),
        ("100 or less", "<=", 100, None, None),
        ("at least two", ">=", 2, None, None),
        ("older than 30", ">", 30, None, "age"),
        ("below -3", "<", -3, None, None),
        ("价格低于50的", "<", 50, None, None),
        ("超过1万的", ">", 10_000, None, None),
        ("三万以上", ">=", 30_000, None, None),
        ("介于10和20之间", "between", 10, 20, None),
        ("不少于1.5亿", ">=", 150_000_000, None, None),
    ],
)
def test_amounts(text, op, low, high, hint):
    """Comparison, number, unit and hint are read in both languages."""
    (found,) = find_quantities(text)
    assert (found.op, found.low, found.high, found.hint) == (op, low, high, hint)


@pytest.mark.parametrize("text", ["h2o", "1e5", "一些", "v1.2.3b", "no number"])
def test_no_amounts(text):
    """Digits inside words, and Chinese words that hold a numeral, are no amounts."""
    assert find_quantities(text) == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("三", 3),
        ("十二", 12),
        ("两百五十", 250),
        ("一万二千", 12_000),
        ("二〇二五", 2025),
        ("亿", None),
        ("twelve", 12),
        ("two hundred", 200),
        ("1,234.5", 1234.5),
        (".5", 0.5),
        ("1.5万", 15_000),
    ],
)
def test_numbers(text, value):
    """Numbers are read as they are written; a scale alone is none."""
    assert read_number(text) == value


PIECES = st.sampled_from(
    [
        "between ",
        " and ",
        "at least ",
        "$",
        "5",
        "1,000",
        "k",
        "%",
        "万",
        "三",
        "到",
        "-",
        " or more",
        ".",
        "百",
        "亿",
        " ",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=9).map("".join) | st.text(max_size=40))
def test_any_text_is_read(text):
    """No text makes it fail, and what is found lies inside the text, in order."""
    at = 0
    for found in find_quantities(text):
        assert at <= found.begin < found.stop <= len(text)
        assert found.high is None or found.low <= found.high
        at = found.stop
