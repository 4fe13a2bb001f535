"""A figure of figures: "the average number of orders per customer"."""

from __future__ import annotations

from refdesk.db.dsl import Binary, Call, Star
from refdesk.db.generate.plan import Plan


def read_mean_count(plan: Plan) -> None:
    """ "The average number of orders per customer": so many of one by so many of the other."""
    for item in plan.items:
        count = plan.items.after(item)
        if item.used or item.concept != "avg" or count is None or count.concept != "count":
            continue
        counted = plan.items.after(count)
        model = plan.model(counted)
        each = next(
            (x for x in plan.items if x.concept == "group" and plan.items.precedes(count, x)), None
        )
        owner_item = plan.items.after(each) if each is not None else None
        owner = plan.model(owner_item)
        if counted is None or each is None or owner is None or owner_item is None or model is None:
            continue
        key = plan.ways.key(owner)
        if owner.id == model.id or key is None or plan.place(owner_item) is not None:
            continue
        plan.joins.subject = plan.subject = model
        way = plan.joins.way(owner)
        links = [step for step in way or () if plan.ways.is_link(step.target)]
        if way is None or sum(step.many for step in way) > len(links):
            continue
        for used in (item, count, counted, each, owner_item):
            used.used = True
        owners = Call(name="COUNT", args=(plan.field(owner, key),), distinct=True)
        plan.notices.append(f"only rows of {owner.id!r} that have any are in the average")
        plan.add(
            Binary(op="/", left=Call(name="COUNT", args=(Star(),)), right=owners), model, "average"
        )
