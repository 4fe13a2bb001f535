"""
Ratios and shares as figures, once the conditions are known.

The conditions that were said of one side are that side's own, and the rest hold for both.
"""

from __future__ import annotations

from refdesk.db.dsl import (
    Binary,
    Call,
    Case,
    Condition,
    Constant,
    Expression,
    Field,
    Group,
    Query,
    Selected,
    Source,
    Star,
    SubQuery,
    When,
)
from refdesk.db.generate.plan import Kept, Plan, sources_of
from refdesk.db.generate.ratio_sides import Ratio, Side
from refdesk.db.schema import Model


def finish_ratio(plan: Plan, ratio: Ratio) -> str | None:
    """Make the figure, now that the conditions are known; return why it cannot be made."""
    _share_out(plan, ratio)
    above, below = ratio.above, ratio.below
    if ratio.whole and not above.wheres and above.place == below.place:
        return _of_total(plan, ratio)
    rows = above.place is not None and below.place is not None
    if rows and not (above.function or below.function or above.wheres or below.wheres):
        return _row_by_row(plan, ratio)
    if above.model.id != below.model.id and not rows:
        return _of_two(plan, ratio)
    shared = above.model
    for side in (above, below):
        if any(_beyond(plan, shared, each) for each in side.wheres):
            return "one side's condition is in another table, which the other side would lose"
    top, bottom = _figure(plan, above), _figure(plan, below)
    if top is None or bottom is None:
        return f"rows of {shared.id!r} would count more than once"
    if ratio.whole and above is not below and not below.wheres and not above.wheres:
        return "both sides are the same"
    _add(plan, ratio, top, bottom)
    return None


def _share_out(plan: Plan, ratio: Ratio) -> None:
    """Give each side the conditions that were said of it alone."""
    above, below = ratio.above, ratio.below
    row = plan.items.row
    said = [(condition, item, row.index(item)) for condition, item in plan.wheres]
    mine = [_left(each) for each, _, at in said if above.has(at)]
    if ratio.whole and not mine and above.first == below.stop:
        # "Percentage of female employees": what is said before the noun makes the part.
        above.first, below.stop = below.first, below.first
        mine = [_left(each) for each, _, at in said if above.has(at)]
    dates = [_left(each) for each, item, at in said if above.has(at) and item.date is not None]
    common = []
    for condition, item, at in said:
        left = _left(condition)
        if above.has(at):
            link = plan.items.before(item, skip=False)
            where = len(set(mine)) > 1 and link is not None and link.text.lower() == "in"
            if ratio.whole and (item.date is not None or where) and set(mine) - set(dates):
                common.append((condition, item))
                plan.notices.append(
                    f"{item.text.strip()!r} was taken to hold for the whole as well"
                )
            else:
                above.wheres.append(condition)
        elif below.has(at) and not ratio.whole and left in mine:
            below.wheres.append(condition)
        elif below.has(at) and not ratio.whole and not mine and above.place is None:
            if above.model.id == below.model.id:
                below.wheres.append(condition)
            else:
                common.append((condition, item))
        else:
            if below.has(at) and not ratio.whole:
                plan.notices.append(f"{item.text.strip()!r} was taken to hold for both sides")
            common.append((condition, item))
    plan.wheres[:] = common


def _left(condition: Condition) -> Expression | None:
    if isinstance(condition, Group):
        return _left(condition.wheres[0])
    return condition.left


def _beyond(plan: Plan, model: Model, condition: Condition) -> bool:
    return bool(sources_of(condition) - {f"${model.id}"})


def _figure(plan: Plan, side: Side) -> Expression | None:
    """Return one side as a figure over rows; None where rows would count twice."""
    repeated = plan.joins.repeats(side.model)
    if side.place is not None:
        if repeated and side.function not in {"MAX", "MIN"}:
            return None
        value: Expression = plan.field(*side.place)
        if side.wheres:
            value = Case(whens=(When(wheres=tuple(side.wheres), then=value),))
        return Call(name=side.function or "SUM", args=(value,))
    key = plan.ways.key(side.model)
    one: Expression = Constant(value=1)
    if repeated:
        if key is None:
            return None
        one = plan.field(side.model, key)
    if side.wheres:
        counted = Case(whens=(When(wheres=tuple(side.wheres), then=one),))
        return Call(name="COUNT", args=(counted,), distinct=repeated)
    return Call(name="COUNT", args=(one if repeated else Star(),), distinct=repeated)


def _add(plan: Plan, ratio: Ratio, top: Expression, bottom: Expression) -> None:
    percent = "percent" in ratio.item.text.lower() or ratio.item.text == "百分比"
    if percent:
        top = Binary(op="*", left=Constant(value=100), right=top)
    value = Binary(op="/", left=top, right=bottom)
    plan.add(value, ratio.above.model, "percentage" if percent else "ratio")


def _row_by_row(plan: Plan, ratio: Ratio) -> str | None:
    """Two columns of one row, or their sums where rows are grouped."""
    above, below = ratio.above, ratio.below
    if above.place is None or below.place is None:
        return "a side is missing"
    top, bottom = plan.field(*above.place), plan.field(*below.place)
    value = Binary(op="/", left=top, right=bottom)
    entities = {each.id for each in plan.entities}
    if ratio.average is not None:
        if plan.joins.repeats(above.model):
            return f"rows of {above.model.id!r} would count more than once"
        plan.add(Call(name="AVG", args=(value,)), above.model, "avg_ratio")
    elif plan.keys and entities != {above.model.id}:
        if plan.joins.repeats(above.model):
            return f"rows of {above.model.id!r} would count more than once"
        plan.notices.append("the ratio was taken of the sums of each group")
        sums = (Call(name="SUM", args=(top,)), Call(name="SUM", args=(bottom,)))
        plan.add(Binary(op="/", left=sums[0], right=sums[1]), above.model, "ratio")
    else:
        plan.keys.clear()
        finest = below.model if plan.joins.repeats(above.model) is False else above.model
        owner = above.model if not plan.joins.repeats(above.model) else finest
        if plan.joins.repeats(owner):
            return f"rows of {owner.id!r} would count more than once"
        places = [(owner, column) for column in plan.naming(owner)]
        plan.shown[:0] = [each for each in places if each not in plan.shown]
        plan.figures.append((value, "ratio"))
    return None


def _of_total(plan: Plan, ratio: Ratio) -> str | None:
    """The share of each group in the whole."""
    if any(item.date is None for _, item in plan.wheres):
        return "nothing says which part is meant"
    if not plan.keys or plan.joins.steps:
        return "nothing says which part is meant" if not plan.keys else "the whole is in two tables"
    top = _figure(plan, ratio.above)
    if top is None:
        return f"rows of {ratio.above.model.id!r} would count more than once"
    whole = Query(
        source=Source(name=f"${plan.subject.id}"),
        select=(Selected(value=top, alias="whole"),),
        wheres=tuple(condition for condition, _ in plan.wheres),
    )
    _add(plan, ratio, top, SubQuery(query=whole))
    return None


def _of_two(plan: Plan, ratio: Ratio) -> str | None:
    """Rows of one model by rows of another: two counts that have nothing to do with each other."""
    above, below = ratio.above, ratio.below
    if above.place or below.place or (plan.keys and (above.wheres or below.wheres)):
        return "the two sides are in two tables"
    if plan.keys:
        return _of_two_in_groups(plan, ratio)
    if plan.wheres:
        return "the two sides are in two tables, and a condition is said of both"
    for side in (above, below):
        if any(_beyond(plan, side.model, each) for each in side.wheres):
            return "one side's condition is in another table"
    plan.joins.steps.clear()
    plan.subject = plan.joins.subject = above.model
    plan.joins.mentions = ()
    whole = Query(
        source=Source(name=f"${below.model.id}"),
        select=(Selected(value=Call(name="COUNT", args=(Star(),)), alias="whole"),),
        wheres=tuple(below.wheres),
    )
    plan.wheres[:] = [(each, ratio.item) for each in above.wheres]
    _add(plan, ratio, Call(name="COUNT", args=(Star(),)), SubQuery(query=whole))
    return None


def _of_two_in_groups(plan: Plan, ratio: Ratio) -> str | None:
    """Rows of two models for each group; every group is kept, with rows of both or not."""
    above, below = ratio.above.model, ratio.below.model
    top, bottom = plan.ways.key(above), plan.ways.key(below)
    sources = {key.source for key, _ in plan.keys if isinstance(key, Field)}
    owner = next((each for each in plan.models if {f"${each.id}"} == sources), None)
    if owner is None or top is None or bottom is None:
        return "the two sides are in two tables, and nothing tells their rows apart"
    plan.joins.steps.clear()
    plan.subject = plan.joins.subject = owner
    plan.joins.mentions = ()
    ways = (plan.joins.way(above), plan.joins.way(below))
    if ways[0] is None or ways[1] is None:
        return f"no one way leads from {owner.id!r} to both sides"
    plan.joins.steps = {step.target.id: step for way in ways if way for step in way}
    counts = [
        Call(name="COUNT", args=(plan.field(model, key),), distinct=True)
        for model, key in ((above, top), (below, bottom))
    ]
    plan.kept = Kept(owner)
    _add(plan, ratio, *counts)
    return None
