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
from refdesk.db.generate.plan import Plan, sources_of
from refdesk.db.schema import Model


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
    root = plan.subject if plan.kept is None else plan.kept.root
    query = Query(
        source=Source(name=f"${root.id}"),
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
        joins=_joins(plan, root, wheres),
        distinct=plan.distinct
        or (plan.joins.repeats(plan.subject) and not plan.keys and not plan.aggregates),
        limit=plan.limit or (None if plan.aggregates and not plan.keys else limit),
    )
    if plan.apart:
        read = tuple(Selected(value=value, alias=alias) for value, alias in plan.apart)
        rows = Query(
            source=query.source, select=read, wheres=wheres, joins=query.joins, distinct=True
        )
        return replace(query, source=Source(query=rows), wheres=(), joins=())
    whole: Query = query if plan.joins.steps else _unprefixed(query)
    return whole


def _joins(plan: Plan, root: Model, wheres: tuple[Condition, ...]) -> tuple[Join, ...]:
    """Return the joins; where a row is meant with or without another, it stays without."""
    steps = plan.joins.rooted(root)
    needed = set() if plan.kept is not None else _needed(plan, wheres)
    for step in reversed(steps):
        if step.target.id in needed:
            needed.add(step.source.id)
    return tuple(
        Join(
            source=Source(name=f"${step.target.id}"),
            key=Field(name=step.relation.foreign, source=f"${step.target.id}"),
            foreign=Field(name=step.relation.column, source=f"${step.source.id}"),
            on=tuple(plan.kept.on.get(step.target.id, ())) if plan.kept is not None else (),
            kind="inner" if step.target.id in needed else "left",
        )
        for step in steps
    )


def _needed(plan: Plan, wheres: tuple[Condition, ...]) -> set[str]:
    """Return the models that conditions, groups and figures are on; no row is meant without."""
    found = {each[1:] for each in sources_of((tuple(v for v, _ in plan.keys),))}
    found |= {each[1:] for value, _ in plan.aggregates for each in sources_of(value)}
    found |= plan.needed | {each.id for each in plan.counted}
    for condition in wheres:
        for each in sources_of(condition):
            many = any(step.many for step in plan.joins.leading(plan.subject, each[1:]))
            if many or not isinstance(condition, Group):
                found.add(each[1:])
    return found


def _may_be_empty(plan: Plan, value: Expression) -> bool:
    """Whether a row may lack what it is ranked by: it has no rank then."""
    if isinstance(value, Field) and value.source is None:
        value = next((each for each, alias in plan.aggregates if alias == value.name), value)
    if isinstance(value, Call) and value.args:
        if value.name in {"COUNT", "COALESCE"}:
            return False
        if plan.kept is not None or plan.apart:
            return True
        value = value.args[0]
    model = plan.models.get((value.source or "")[1:]) if isinstance(value, Field) else None
    column = model.column(value.name) if model is not None and isinstance(value, Field) else None
    return model is not None and (model.id != plan.subject.id or column is None or column.nullable)


def _unprefixed(node: Any) -> Any:
    """Return a part of a query with its fields' sources left out, as one model needs none."""
    if isinstance(node, tuple):
        return tuple(_unprefixed(each) for each in node)
    if isinstance(node, Field):
        return replace(node, source=None)
    if isinstance(node, Query) and node.joins:
        return node  # within a sub-query names may be those of several models
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
