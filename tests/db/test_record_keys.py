"""Ids of records, read as values of their column."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.db.dsl.values import DIALECTS, Dialect
from refdesk.db.record_keys import record_key
from refdesk.db.schema import Column

TYPES = ("integer", "decimal(10,2)", "boolean", "date", "datetime", "time", "uuid", "text", "inet")


def key(text: str, type_: str, dialect: Dialect = "postgresql") -> object:
    """Read an id of a column of some type."""
    return record_key(text, Column(name="id", type=type_, primary=True), dialect)


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("5", "integer", 5),
        ("-5", "bigint", -5),
        ("1234567890123456789", "bigint", 1234567890123456789),
        ("18446744073709551615", "bigint", 2**64 - 1),
        ("007", "integer", 7),
        ("12.50", "decimal(10,2)", "12.50"),
        ("2026-01-31", "date", "2026-01-31"),
        ("0b7e1a2c-8f7b-4d8e-9a40-5a2b6f1c9d00", "uuid", "0b7e1a2c-8f7b-4d8e-9a40-5a2b6f1c9d00"),
        ("--5", "text", "--5"),
        ("日本", "varchar(20)", "日本"),
    ],
)
def test_an_id_is_the_value_that_it_names(text: str, type_: str, value: object) -> None:
    """Digits are whole numbers, exact to the last digit; other ids stay text."""
    assert key(text, type_) == value


@pytest.mark.parametrize("text", ["--5", "²", "٣", " 5", "+5", "5.0", "1_0", "1e3", "", "5" * 5000])
def test_no_integer_key_has_such_an_id(text: str) -> None:
    """What Python alone reads as a number, or does not read, is the id of no record."""
    assert key(text, "integer") is None


def test_sqlite_takes_64_signed_bits() -> None:
    """A number that its driver cannot send is the id of no record there."""
    assert key(str(2**63), "integer", "sqlite") is None
    assert key(str(2**63), "integer", "mysql") == 2**63
    assert key(str(-(2**63) - 1), "integer") is None


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("nan", "decimal"),
        ("9" * 50, "decimal"),
        ("2026-13-45", "date"),
        ("yesterday", "datetime"),
        ("maybe", "boolean"),
        ("25:00", "time"),
        ("not-a-uuid", "uuid"),
        ("a\0b", "text"),
    ],
)
def test_no_record_has_such_an_id(text: str, type_: str) -> None:
    """A text that is no value of the column is the id of no record."""
    assert key(text, type_) is None


@settings(max_examples=200, derandomize=True)
@given(st.text(max_size=60), st.sampled_from(TYPES), st.sampled_from(DIALECTS))
def test_any_text_is_read(text: str, type_: str, dialect: Dialect) -> None:
    """Whatever the text, it is a value of the column or the id of no record."""
    value = key(text, type_, dialect)
    assert value is None or isinstance(value, (int, str))
