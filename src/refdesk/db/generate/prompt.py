"""What an assistant or a tool is told, so that it can write a query: schema, grammar, rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from refdesk.db.dsl import Diagnostic
from refdesk.db.schema import Column, Model, ModelSet

_MAX_VALUES: Final = 20
"""Sampled values of a column that a delegate is shown."""
_MAX_DIAGNOSTICS: Final = 12
"""Findings that a delegate is shown of its last attempt."""

INSTRUCTIONS: Final = """\
Write one query in QueryDSL that answers the question. Answer with one JSON object and nothing else.
- "from" is the name of a model in the schema; "select" lists its columns. An empty select is all.
- A condition is {"field": "price", "op": ">", "value": 100}. Operators: = <> > >= < <= like,
  not like, match, in, not in, between, is (null or not null). Use = for ids, states and
  enumerations, like with % for text.
- Conditions are joined by AND; "or": true joins one to the one before it. {"wheres": [...]} is a
  group in parentheses.
- Functions: ":COUNT(id) as count", ":SUM(total) as sum", AVG, MIN, MAX, YEAR, MONTH, DATE. What is
  not aggregated stands in "groups" too. "havings" are conditions on groups.
- "orders": [{"field": "price", "sort": "desc"}]. "limit" is a number; 20 unless more is asked for.
- "joins": [{"from": "orders", "key": "orders.customer_id", "foreign": "customers.id"}]; "left":
  true keeps rows without a match. With joins, every field is written table.column.
- Dates are ISO 8601 text; a span of time is half-open: >= its first day, < the day after its last.
- Use only models and columns of the schema. There is no way to write SQL, or to change anything.
- If the schema cannot answer the question, answer
  {"error": "missing_field", "message": "what is missing"} instead of guessing.
"""

_CONDITIONS: Final = {"type": "array", "items": {"type": "object"}}
ANSWER_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "select": {"type": "array", "items": {"type": ["string", "object"]}},
        "from": {"type": "string"},
        "wheres": _CONDITIONS,
        "orders": {"type": "array", "items": {"type": ["string", "object"]}},
        "groups": {"type": "array", "items": {"type": ["string", "object"]}},
        "havings": _CONDITIONS,
        "joins": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "from": {"type": "string"},
                    "key": {"type": "string"},
                    "foreign": {"type": "string"},
                    "left": {"type": "boolean"},
                },
                "required": ["from", "key", "foreign"],
            },
        },
        "distinct": {"type": "boolean"},
        "limit": {"type": "integer", "minimum": 1},
        "offset": {"type": "integer", "minimum": 0},
        "error": {"type": "string"},
        "message": {"type": "string"},
    },
    "additionalProperties": False,
}
"""A JSON schema for answers, for models that can be held to one."""


def schema_for(models: ModelSet, samples: Mapping[str, Mapping[str, Sequence[object]]]) -> Any:
    """
    Return what may be known of the models: one object for one model, a list for several.

    Private columns are left out, and so is what the asker may not see, which the models handed in
    do not have.
    """
    described = [_model(model, models, samples.get(model.id, {})) for model in models]
    return described[0] if len(described) == 1 else described


def _model(
    model: Model, models: ModelSet, samples: Mapping[str, Sequence[object]]
) -> dict[str, Any]:
    relations = [
        {"name": each.name, "to": other.table, "key": each.column, "foreign": each.foreign}
        for each in model.relations
        if (other := models.get(each.model)) is not None
    ]
    shown = [each for each in model.columns if not each.private]
    return _without_none(
        {
            "name": model.table,
            "label": model.label,
            "description": model.description,
            "columns": [_column(each, samples.get(each.name, ())) for each in shown],
            "relations": relations or None,
        }
    )


def _column(column: Column, sampled: Sequence[object]) -> dict[str, Any]:
    return _without_none(
        {
            "name": column.name,
            "type": column.type,
            "label": column.label,
            "description": column.description,
            "enum": list(column.enum) or None,
            "values": None if column.enum else list(sampled[:_MAX_VALUES]) or None,
            "nullable": False if not column.nullable else None,
        }
    )


def retry_for(attempt: int, wrong: Sequence[Diagnostic | str]) -> dict[str, Any]:
    """Return what is said about an answer that cannot be used."""
    return {
        "attempt": attempt,
        "lint_errors": "\n".join(str(each) for each in wrong[:_MAX_DIAGNOSTICS]),
        "instructions": "Correct these errors, and answer with the whole query again.",
    }


def moment_for(now: datetime) -> str:
    """Return today as it is told: with its weekday and zone."""
    return now.strftime("%A, %Y-%m-%d %H:%M %z")


def _without_none(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value is not None}
