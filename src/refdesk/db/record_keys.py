"""Ids of records as callers write them, read as values of the key's column."""

from __future__ import annotations

import re
from typing import Final

from refdesk.db.dsl.types import Scalar
from refdesk.db.dsl.values import Dialect, Wrong, adapted, constant
from refdesk.db.schema import Column

_INTEGER: Final = re.compile(r"-?[0-9]{1,20}")
_NUMBER: Final = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?")
_SIGNED: Final = 2**63
_UNSIGNED: Final = 2**64
_NOT_IN_TEXT: Final = "\0"
"""PostgreSQL takes no NUL in a text."""


def record_key(text: str, column: Column, dialect: Dialect) -> Scalar:
    """
    Return the value of a key column that an id names; None if no record can have that id.

    An integer is ASCII digits, with a minus at most, and within 64 bits: unsigned ones too, except
    in SQLite, whose driver takes none.

    Args:
        text: The id, as it stands in a URL.
        column: The only column of the primary key.
        dialect: For which database.
    """
    if _NOT_IN_TEXT in text:
        return None
    if column.kind == "integer":
        value = int(text) if _INTEGER.fullmatch(text) else None
        most = _SIGNED if dialect == "sqlite" else _UNSIGNED
        return value if value is not None and -_SIGNED <= value < most else None
    if column.kind == "number" and not _NUMBER.fullmatch(text):
        return None
    try:
        adapted(constant(text, dialect), column.kind, dialect)
    except Wrong:
        return None
    return text
