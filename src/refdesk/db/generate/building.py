"""A query from what was understood of a question."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from refdesk.db.dsl import (
    Call,
    Condition,
    Expression,
    Field,
    Group,
    GroupBy,
    Join,
    Order,
    Query,
    Selected,
    Source,
)
from refdesk.db.generate.items import Item
from refdesk.db.generate.plan import Plan


def build_query(plan: Plan, wheres: tuple[Condition, ...], limit: int) -> Query:
    select = [
        *(Selected(value=value, alias=alias) for value, alias in plan.keys),
        *(Selected(value=value, alias=alias) for value, alias in plan.aggregates),
        *(Selected(value=plan.field(*place)) for place in plan.shown),
        *(Selected(value=value, alias=alias) for value, alias in plan.figures),
    ]
    if not select and plan.joins.steps:
        select = [
            Selected(value=plan.field(plan.subject, column)) for column in plan.subject.columns
        ]
    query = Query(
        source=Source(name=f"${plan.subject.id}"),
        select=tuple(select),
        wheres=wheres,
        groups=tuple(GroupBy(value=Field(name=a) if a else v) for v, a in plan.keys),
        havings=tuple(plan.havings),
        orders=tuple(
            Order(
                value=value,
                descending=down,
                nulls="last" if plan.limit and _may_be_empty(plan, value) else None,
            )
            for value, down in dict.fromkeys(plan.orders)
        ),
        joins=tuple(
            Join(
                source=Source(name=f"${step.target.id}"),
                key=Field(name=step.relation.foreign, source=f"${step.target.id}"),
                foreign=Field(name=step.relation.column, source=f"${step.source.id}"),
                kind="left" if plan.outer else "inner",
            )
            for step in plan.joins.steps.values()
        ),
        distinct=plan.distinct
        or (plan.joins.repeats(plan.subject) and not plan.keys and not plan.aggregates),
        limit=plan.limit or (None if plan.aggregates and not plan.keys else limit),
    )
    whole: Query = query if plan.joins.steps else _unprefixed(query)
    return whole


def _may_be_empty(plan: Plan, value: Expression) -> bool:
    """Whether a row may lack what it is ranked by: it has no rank then."""
    if isinstance(value, Field) and value.source is None:
        value = next((each for each, alias in plan.aggregates if alias == value.name), value)
    if isinstance(value, Call) and value.name != "COUNT" and value.args:
        value = value.args[0]
    model = plan.models.get((value.source or "")[1:]) if isinstance(value, Field) else None
    column = model.column(value.name) if model is not None and isinstance(value, Field) else None
    return column is not None and column.nullable


def _unprefixed(node: Any) -> Any:
    """Return a part of a query with its fields' sources left out, as one model needs none."""
    if isinstance(node, tuple):
        return tuple(_unprefixed(each) for each in node)
    if isinstance(node, Field):
        return replace(node, source=None)
    if is_dataclass(node) and not isinstance(node, type | Source):
        return replace(
            node, **{each.name: _unprefixed(getattr(node, each.name)) for each in fields(node)}
        )
    return node


def conditions_of(plan: Plan) -> tuple[Condition, ...]:
    """Return the conditions, those with "or" between them in one group of their own."""
    found: list[list[Condition]] = []
    previous: Item | None = None
    for condition, item in sorted(plan.wheres, key=lambda pair: pair[1].begin):
        between = plan.items.between(previous, item) if previous and previous is not item else []
        either = [each for each in between if each.concept == "or" and not each.used]
        if either and found:
            either[0].used = True
            found[-1].append(replace(condition, either=True))
        else:
            found.append([condition])
        previous = item
    return tuple(each[0] if len(each) == 1 else Group(wheres=tuple(each)) for each in found)
