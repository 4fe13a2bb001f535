"""Figures over joined rows: each row counts once, however often the joins repeat it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from refdesk.db.dsl import Call, Field, Star
from refdesk.db.generate.plan import Plan

REMEDY: Final = "ask for one table's figures at a time"


def count_once(plan: Plan) -> str | None:
    """Count repeated rows by their key; return the model whose figure would come out too high."""
    for at, (value, alias) in enumerate(plan.aggregates):
        model = plan.counted[at]
        if not isinstance(value, Call) or value.name in {"MIN", "MAX"} or value.distinct:
            continue
        if value.name == "AVG" and model.id != plan.subject.id and not plan.keys:
            plan.notices.append(f"the average was taken over all rows of {model.id!r} that fit")
        apart = plan.entities if value.name != "COUNT" else ()
        if not plan.joins.repeats(model, apart):
            continue
        key = plan.ways.key(model)
        if value.name != "COUNT" or key is None:
            return model.id
        argument = value.args[0]
        if isinstance(argument, Star):
            argument = Field(name=key.name, source=f"${model.id}")
        plan.aggregates[at] = (replace(value, args=(argument,), distinct=True), alias)
    return None
