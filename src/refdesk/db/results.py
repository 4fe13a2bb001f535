"""Rows as things to cite: a title, a text that can be read, the record itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from refdesk.db.schema import Model
from refdesk.types import JsonScalar, ResultItem

RECORD: Final = "refdesk_record"
"""The name under which a query gives the record's id besides what was asked for."""
MAX_CONTENT_CHARS: Final = 1_000
"""Characters of a row as text; the rest is cut off."""
_VALUE_CHARS: Final = 300
_TITLE_CHARS: Final = 200
_TITLES: Final = ("title", "name", "subject", "label")


def items_of(rows: Sequence[Mapping[str, Any]], model: Model, *, first: int) -> list[ResultItem]:
    """
    Return rows as items, in their order.

    Args:
        rows: What the query gave; ``RECORD`` among the columns is the record's id.
        model: What the rows are of.
        first: The number of the first row, from 1.
    """
    return [
        _item(row, model, number=first + place, score=1 - place / max(1, len(rows)))
        for place, row in enumerate(rows)
    ]


def _item(row: Mapping[str, Any], model: Model, *, number: int, score: float) -> ResultItem:
    record = row.get(RECORD)
    data = {name: value for name, value in row.items() if name != RECORD}
    known = isinstance(record, (str, int, float)) and not isinstance(record, bool)
    return ResultItem(
        type="db",
        title=_title(data, model, record if known else None, number),
        content=readable(data, model),
        score=round(score, 4),
        model=model.id,
        record_id=record if known else None,
        data=data,
        metadata={"row": number},
    )


def _title(data: Mapping[str, Any], model: Model, record: JsonScalar, number: int) -> str:
    by_name = {name.lower(): value for name, value in data.items()}
    for name in _TITLES:
        value = by_name.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()[:_TITLE_CHARS]
    name = model.label or model.id
    return f"{name} {record}" if record is not None else f"{name}, row {number}"


def readable(data: Mapping[str, Any], model: Model | None = None) -> str:
    """Return a row as text: ``name: value`` for each of its columns that has a value."""
    parts: list[str] = []
    length = 0
    for name, value in data.items():
        if value is None:
            continue
        column = model.column(name) if model else None
        part = f"{column.label if column and column.label else name}: {_shown(value)}"
        length += len(part) + 2
        if length > MAX_CONTENT_CHARS:
            parts.append("…")
            break
        parts.append(part)
    return "; ".join(parts)


def _shown(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 1] + "…"
