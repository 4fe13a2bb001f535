"""Writing a query down: the inverse of reading, for the linter's feedback, the log and the user."""

from __future__ import annotations

from typing import Any

from refdesk.db.dsl.conditions import is_literal
from refdesk.db.dsl.spelled import write_expression
from refdesk.db.dsl.types import (
    Binary,
    Call,
    Case,
    Cast,
    Claim,
    Comparison,
    Condition,
    Constant,
    Expression,
    Interval,
    Join,
    Parameter,
    Query,
    Selected,
    Source,
    SubQuery,
)


def to_document(query: Query) -> dict[str, Any]:
    """Return the document of a query.  Reading it gives an equal query."""
    document: dict[str, Any] = {"select": [_selected(each) for each in query.select]}
    document.update(_source(query.source))
    if query.joins:
        document["joins"] = [_join(each) for each in query.joins]
    if query.wheres:
        document["wheres"] = conditions_to_document(query.wheres)
    if query.groups:
        document["groups"] = [
            text if (text := write_expression(each.value)) else {"field": _expression(each.value)}
            for each in query.groups
        ]
    if query.havings:
        document["havings"] = conditions_to_document(query.havings)
    if query.orders:
        document["orders"] = [
            {
                "field": _expression(each.value),
                "sort": "desc" if each.descending else "asc",
                **({"nulls": each.nulls} if each.nulls else {}),
            }
            for each in query.orders
        ]
    if query.unions:
        document["unions"] = [to_document(each) for each in query.unions]
    for name in ("distinct", "first", "data_only", "debug"):
        if getattr(query, name):
            document[name.replace("_", "-")] = True
    for name in ("limit", "offset", "page", "pagesize", "comment"):
        value = getattr(query, name)
        if value is not None:
            document[name] = f"?:{value.name}" if isinstance(value, Parameter) else value
    return document


def conditions_to_document(wheres: tuple[Condition, ...]) -> list[dict[str, Any]]:
    """Return the document of conditions alone."""
    return [_condition(each) for each in wheres]


def _source(source: Source) -> dict[str, Any]:
    if source.query is not None:
        named = {"name": source.alias} if source.alias else {}
        return {"query": to_document(source.query), **named}
    name = source.name or ""
    plain = name.removeprefix("$").replace(".", "").replace("-", "").replace("_", "")
    written = name if plain.isalnum() and not name.removeprefix("$")[0].isdigit() else f"`{name}`"
    return {"from": f"{written} as {source.alias}" if source.alias else written}


def _selected(selected: Selected) -> Any:
    text = write_expression(selected.value)
    if text is not None:
        return f"{text} as {selected.alias}" if selected.alias else text
    written = _expression(selected.value)
    return {**written, "as": selected.alias} if selected.alias else written


def _join(join: Join) -> dict[str, Any]:
    document = _source(join.source)
    if join.key is not None:
        document["key"] = _expression(join.key)
    if join.foreign is not None:
        document["foreign"] = _expression(join.foreign)
    if join.on:
        document["on"] = conditions_to_document(join.on)
    if join.kind != "inner":
        document[join.kind] = True
    return document


def _condition(condition: Condition) -> dict[str, Any]:
    if isinstance(condition, Comparison):
        document = _comparison(condition)
    else:
        document = {"wheres": conditions_to_document(condition.wheres)}
    if condition.either:
        document["or"] = True
    if condition.comment is not None:
        document["comment"] = condition.comment
    return document


def _comparison(condition: Comparison) -> dict[str, Any]:
    document: dict[str, Any] = {"field": _expression(condition.left), "op": condition.op}
    match condition.right:
        case tuple() as values:
            document["value"] = [_value(each) for each in values]
        case SubQuery(query=query) if condition.op != "between":
            document["query"] = to_document(query)
        case value:
            document["value"] = _value(value)
    return document


def _value(value: Expression) -> Any:
    match value:
        case Constant(value=str(text)):
            return text if is_literal(text) else {"value": text}
        case Constant(value=None):
            return {"value": None}
        case Constant():
            return value.value
        case Parameter():
            return f"?:{value.name}"
        case Claim():
            return "{user." + ".".join(value.path) + "}"
    written = write_expression(value)
    return _expression(value) if written is None else "{" + written + "}"


def _expression(value: Expression) -> Any:
    """Return it as text where text can say it, else as an object."""
    text = write_expression(value)
    if text is not None:
        return text
    match value:
        case Call():
            return {
                "func": value.name,
                "args": [_expression(each) for each in value.args],
                **({"distinct": True} if value.distinct else {}),
            }
        case Binary():
            return {
                "op": value.op,
                "left": _expression(value.left),
                "right": _expression(value.right),
            }
        case Interval():
            return {"interval": _expression(value.amount), "unit": value.unit}
        case Cast():
            size = " " + ",".join(map(str, value.size)) if value.size else ""
            return {"cast": _expression(value.value), "type": f"{value.type}{size}"}
        case Case():
            document: dict[str, Any] = {
                "case": [
                    {
                        "when": conditions_to_document(each.wheres),
                        "then": _expression(each.then),
                    }
                    for each in value.whens
                ]
            }
            if value.default is not None:
                document["else"] = _expression(value.default)
            return document
        case SubQuery():
            return {"query": to_document(value.query)}
    raise TypeError(f"{type(value).__name__} cannot be written")
