"""Figures over joined rows: each row counts once, however often the joins repeat it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from refdesk.db.dsl import Call, Constant, Expression, Field, Star
from refdesk.db.generate.plan import Plan
from refdesk.db.schema import Model

REMEDY: Final = "ask for one table's figures at a time"
_ONCE: Final = frozenset({"MIN", "MAX"})
"""What comes out the same however often a row comes."""


def count_once(plan: Plan) -> str | None:
    """Have each row count once; return the model whose figure would come out wrong, if any."""
    entities = [each for each in plan.entities if plan.ways.key(each) is not None]
    figures = [
        (value, plan.counted[at]) for at, (value, _) in enumerate(plan.aggregates)
        if isinstance(value, Call) and value.name not in _ONCE and not value.distinct
    ]  # fmt: skip
    for figure, model in figures:
        if figure.name == "AVG" and model.id != plan.subject.id and not plan.keys:
            plan.notices.append(f"the average was taken over all rows of {model.id!r} that fit")
        if figure.name == "COUNT" or not plan.joins.repeats(model, entities):
            continue
        # An average over rows that come several times may be meant with them or without.
        if figure.name == "AVG" or not (plan.apart or _set_apart(plan)):
            return model.id
    for at, (value, alias) in enumerate(plan.aggregates):
        if not isinstance(value, Call):
            continue
        if value.name == "COUNT" and not plan.apart:
            counted = _counted_once(plan, value, plan.counted[at])
            if counted is None:
                return plan.counted[at].id
            plan.aggregates[at] = (counted, alias)
        elif value.name == "SUM" and plan.kept is not None:
            total = Call(name="COALESCE", args=(value, Constant(value=0)))
            plan.aggregates[at] = (total, alias)
    return None


def shared_key(plan: Plan) -> str | None:
    """Return a column that is grouped by and that two of the counted models have, each its own."""
    rows = {f"${each.id}" for each in plan.entities}
    for key, _ in plan.keys:
        if isinstance(key, Field) and key.source not in rows:
            having = {each.id for each in plan.counted if each.column(key.name) is not None}
            if len(having) > 1:
                return key.name
    return None


def _counted_once(plan: Plan, value: Call, model: Model) -> Call | None:
    """Return a count by the rows' key where joins repeat them; None where there is no key."""
    if value.distinct or not plan.joins.repeats(model):
        return value
    key = plan.ways.key(model)
    if key is None:
        return None
    row = Field(name=key.name, source=f"${model.id}")
    return replace(value, args=(row if value.args == (Star(),) else value.args[0],), distinct=True)


def _set_apart(plan: Plan) -> bool:
    """Have each row read once for each group, before figures are taken of what was read."""
    model = plan.subject
    key = plan.ways.key(model)
    # "The price of orders" is no total of products: only rows that are asked about are added up.
    if key is None or any(each.id != plan.subject.id for each in plan.counted):
        return False
    if not all(isinstance(value, Call) for value, _ in plan.aggregates):
        return False
    if plan.keys:
        plan.notices.append(f"each row of {model.id!r} counts once in each group")
    row = Field(name=key.name, source=f"${model.id}")
    renamed: dict[Expression, Expression] = {}
    for value, alias in plan.keys:
        name = alias or (value.name if isinstance(value, Field) else "key")
        taken = {each for _, each in plan.apart}
        name = name if name not in taken else f"{name}_{len(taken)}"
        plan.apart.append((value, name))
        renamed[value] = Field(name=name)
    plan.keys = [(renamed[value], None) for value, _ in plan.keys]
    plan.orders = [(renamed.get(value, value), down) for value, down in plan.orders]
    plan.apart.append((row, "counted_row"))
    for at, (value, alias) in enumerate(plan.aggregates):
        assert isinstance(value, Call)
        read = row if isinstance(value.args[0], Star) else value.args[0]
        plan.apart.append((read, f"value_{at + 1}"))
        plan.aggregates[at] = (replace(value, args=(Field(name=f"value_{at + 1}"),)), alias)
    return True
