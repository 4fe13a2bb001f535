"""The columns of a result: what they are called, and which of them an order or a group means."""

from __future__ import annotations

from dataclasses import dataclass

from refdesk.db.dsl.scope import Scope
from refdesk.db.dsl.translate import Translator
from refdesk.db.dsl.types import Call, Expression, Field, Selected, Star
from refdesk.db.dsl.values import Value, Wrong
from refdesk.db.schema import Kind


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column of a result."""

    name: str
    kind: Kind


@dataclass(frozen=True, kw_only=True, slots=True)
class Out:
    """A column on its way into the result."""

    name: str
    value: Value
    expression: Expression
    aliased: bool


def selected(each: Selected, outs: list[Out], translator: Translator, path: str) -> None:
    """Add what a part of a select list stands for, or raise Wrong or Noted."""
    if isinstance(each.value, Star):
        if each.alias:
            raise Wrong("* has no alias")
        _all_columns(each.value, outs, translator.scope)
        return
    value = translator.value(each.value, path)
    if each.alias and any(out.name.lower() == each.alias.lower() for out in outs):
        raise Wrong(f"two columns are called {each.alias!r}; give one another alias")
    name = each.alias or _free(*_name(each.value), outs)
    outs.append(Out(name=name, value=value, expression=each.value, aliased=each.alias is not None))


def columns_of(outs: tuple[Out, ...]) -> tuple[Column, ...]:
    """Return the columns of a result."""
    return tuple(Column(name=each.name, kind=each.value.kind) for each in outs)


def place_of(value: Expression, outs: tuple[Out, ...]) -> int | None:
    """Return the place of what is selected that an order or group means: by alias, or as it is."""
    if isinstance(value, Field) and value.source is None and not value.path:
        for index, out in enumerate(outs):
            if out.aliased and out.name.lower() == value.name.lower():
                return index
    for index, out in enumerate(outs):
        if out.expression == value:
            return index
    return None


def place_of_element(value: Value, outs: tuple[Out, ...]) -> int | None:
    """Return the place of what is selected and is the same in SQL, however it was written."""
    for index, out in enumerate(outs):
        if out.value.element is value.element or out.value.element.compare(value.element):
            return index
    return None


def _all_columns(star: Star, outs: list[Out], scope: Scope) -> None:
    entries = scope.entries if star.source is None else (scope.source(star.source),)
    for entry in entries:
        for seen in entry.columns.values():
            expression = Field(name=seen.name, source=entry.alias)
            value = Value(element=seen.element, kind=seen.kind)
            name = _free(seen.name, entry.alias, outs)
            outs.append(Out(name=name, value=value, expression=expression, aliased=False))


def _name(expression: Expression) -> tuple[str, str]:
    """Return the name of a column that was given none, and what tells it from another."""
    match expression:
        case Field():
            last = next((each for each in reversed(expression.path) if isinstance(each, str)), None)
            name = last or expression.name
            return name, (expression.source or "").rpartition(".")[2].lstrip("$")
        case Call():
            return expression.name.lower(), ""
    return "value", ""


def _free(name: str, source: str, outs: list[Out]) -> str:
    taken = {each.name.lower() for each in outs}
    if name.lower() not in taken:
        return name
    if source and f"{source}_{name}".lower() not in taken:
        return f"{source}_{name}"
    number = 2
    while f"{name}_{number}".lower() in taken:
        number += 1
    return f"{name}_{number}"
