"""How an answer is made up: the rules for it, in the order in which they are asked."""

from __future__ import annotations

from typing import Final

from refdesk.db.generate import groups, measures, orders, superlatives
from refdesk.db.generate.plan import Plan

_RULES: Final = (
    groups.read_period,
    groups.read_group,
    superlatives.read_superlative,
    superlatives.read_commonest,
    orders.read_by,
    orders.read_order,
    measures.read_count,
    measures.read_aggregate,
    orders.read_rank,
)


def read_shape(plan: Plan) -> None:
    """Take out of a question what says how the answer is made up."""
    for rule in _RULES:
        for item in plan.items:
            if not item.used:
                rule(plan, item)
