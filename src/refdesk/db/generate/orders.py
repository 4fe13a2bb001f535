"""Rules for the order of the rows."""

from __future__ import annotations

from typing import Final

from refdesk.db.dsl import Field
from refdesk.db.dsl.types import Expression
from refdesk.db.generate.groups import entity_before, group_along, group_entity, group_on
from refdesk.db.generate.items import Item
from refdesk.db.generate.measures import FUNCTIONS, measure, totalled
from refdesk.db.generate.plan import Plan, figure_of
from refdesk.db.generate.subject import is_amount, name_column
from refdesk.db.generate.superlatives import top_of

_ALPHABETICAL: Final = ("alphabetical", "in alphabetical")


def read_by(plan: Plan, item: Item) -> None:
    """ "By country": what is grouped by, or ordered by, as the rest of the question says."""
    if item.concept != "by":
        return
    target = plan.items.after(item)
    if target is None or target.used or (target.values and not target.columns):
        return
    later = any(
        each.concept in {"order", "desc", "asc"}
        and not each.used
        and plan.items.precedes(item, each)
        for each in plan.items
    )
    before = plan.items.before(item)
    if before is not None and before.models and target.models and not _has_aggregate(plan):
        # "Orders by customers" says who made them; "customers by orders" would be a number.
        item.used = not any(step.many for step in plan.joins.way(target.models[0].model) or ())
        return
    top = top_of(plan)
    if top is not None and plan.items.precedes(top, item):
        _top_by(plan, item, top, target)
        return
    if plan.aggregates or _has_aggregate(plan):
        before = plan.items.before(item)
        verb = plan.items.before(item, skip=False)
        # "Made by customers" says who made them; "by customer" says what to group by.
        clause = plan.items.after(target, skip=False)
        agent = bool(target.models) and (
            (verb is not None and (verb.unknown or verb.concept == "stop"))
            or (clause is not None and clause.text.lower() in {"who", "that", "whose"})
        )
        if not agent and (not later or target.concept is None) and group_on(plan, target):
            item.used = True
            group_along(plan, target)
            return
        if agent:
            item.used = True
            return
    if later or (plan.orders and plan.limit) or not (plan.aggregates or _has_aggregate(plan)):
        value = order_value(plan, target)
        if value is not None:
            item.used = True
            place = plan.place(target)
            if not later and not plan.limit and place and place[1].kind in {"text", "boolean"}:
                plan.notices.append(f"'by {target.text}' was taken for the order of the rows")
            plan.orders.append((value, _descending(plan, item)))


def _has_aggregate(plan: Plan) -> bool:
    return bool(plan.parts) or any(item.concept in {*FUNCTIONS, "count"} for item in plan.items)


def _top_by(plan: Plan, item: Item, top: Item, target: Item) -> None:
    """ "Top 5 products by price", and "top 5 countries by number of customers", grouped."""
    known = len(plan.aggregates)
    value = order_value(plan, target)
    if value is None:
        return
    entity = plan.items.after(top)
    while entity is not None and entity.values and not (entity.models or entity.columns):
        entity = plan.items.after(entity)
    value = _added_up(plan, entity, value, target)
    grouped = len(plan.aggregates) > known or (isinstance(value, Field) and value.source is None)
    if grouped and not plan.keys and not (entity and group_entity(plan, entity)):
        return
    item.used = True
    plan.limit, top.used = top.top, True
    link, second = plan.items.after(target, skip=False), None
    for each in plan.items:
        if each.begin > target.begin and each.used and not each.small:
            link = plan.items.after(each, skip=False) or link
        elif each.begin > target.begin and not each.used:
            break
    if grouped and link is not None and link.concept == "and":
        second = plan.items.after(link)
    lowest = top.text.lower().startswith(("bottom", "lowest", "least", "fewest"))
    plan.orders.insert(0, (value, not lowest))
    if second is not None and second.concept in {*FUNCTIONS, "count"} and not second.used:
        alias = measure(plan, second)
        if alias:
            plan.orders.append((Field(name=alias), not lowest))


def _added_up(plan: Plan, entity: Item | None, value: Expression, target: Item) -> Expression:
    """ "Top customers by revenue": what many rows of another table hold is added up."""
    model = plan.model(entity)
    if model is None or not isinstance(value, Field) or value.source in {None, f"${model.id}"}:
        return value
    owner = next((each for each in plan.models if f"${each.id}" == value.source), None)
    column = owner.column(value.name) if owner is not None else None
    if owner is None or column is None or not is_amount(column):
        return value
    plan.join(model)
    if not plan.joins.repeats(model):
        return value
    plan.notices.append(f"{target.text.strip()!r} was added up")
    return Field(name=plan.aggregate("SUM", owner, value))


def order_value(plan: Plan, target: Item) -> Expression | None:
    """Return what a word means that rows are ordered by, a figure or a column, and use it up."""
    # "by the highest average rating": the direction is said with it.
    if target.concept in {"most", "least"} and not target.columns:
        following = plan.items.after(target)
        value = order_value(plan, following) if following is not None else None
        if value is not None:
            target.used = True
        return value
    following = plan.items.after(target, skip=False)
    leads = following is not None and bool(following.columns or following.models)
    if target.concept == "count" or (target.concept in FUNCTIONS and (leads or not target.columns)):
        alias = measure(plan, target)
        return Field(name=alias) if alias else None
    if known := figure_of(plan, target):
        target.used = True
        return Field(name=known)
    place = plan.place(target)
    if place is None and plan.model(target) is not None:
        model = plan.model(target)
        column = name_column(model) if model is not None else None
        if model is not None and column is not None:
            place = (model, column)
    if place is None:
        return None
    value = plan.field(*place)
    if plan.aggregates and value not in [key for key, _ in plan.keys]:
        return None
    target.used = True
    if top_of(plan) is not None and (alias := totalled(plan, target, place)) is not None:
        return Field(name=alias)
    return value


def _descending(plan: Plan, item: Item) -> bool:
    """Return the direction that is said next, ascending if none is; and use it up."""
    descending = False
    for each in plan.items:
        if each.used or not plan.items.precedes(item, each):
            continue
        if each.concept == "then":
            break  # what follows is the direction of the next
        if each.concept in {"desc", "asc"}:
            descending, each.used = each.concept == "desc", True
            break
    for each in plan.items:
        if each.concept == "order" and each is not item and not each.text.isascii():
            each.used = True
    return descending


def read_order(plan: Plan, item: Item) -> None:
    """ "Sorted by price in descending order", "alphabetically"."""
    if item.concept == "order":
        target = plan.items.after(item)
        if target is None or (target.used and target.concept in {"asc", "desc"}):
            return
        highest = target.concept == "most" and not target.columns
        value = order_value(plan, target) if not target.used or target.concept is None else None
        if isinstance(value, Field) and value.source is None and not plan.keys:
            entity = entity_before(plan, item)
            if entity is None or not group_entity(plan, entity):
                return  # "ordered by number of bookings": of what, nothing says
        if value is not None:
            item.used = True
            down = _descending(plan, item)
            plan.orders.append((value, down or highest))
            for each in plan.items:
                if highest and each.text.lower() == "first" and plan.items.precedes(item, each):
                    each.used = True
            _then_by(plan, item)
    elif item.concept == "asc" and item.text.lower().startswith(_ALPHABETICAL):
        column = name_column(plan.subject)
        if column is not None and not plan.orders:
            item.used = True
            before = plan.items.before(item)
            if before is not None and before.concept == "order":
                before.used = True
            plan.orders.append((plan.field(plan.subject, column), False))


def _then_by(plan: Plan, item: Item) -> None:
    """ "Ordered by country and then by name", "by country and name"."""
    last = None
    for each in plan.items:
        if plan.items.precedes(item, each) and each.used and not each.small:
            last = each
        elif plan.items.precedes(item, each) and not each.small:
            break
    link = plan.items.after(last, skip=False) if last is not None else None
    more = (
        plan.items.after(link, skip=False) if link is not None and link.concept == "and" else None
    )
    if more is not None and more.columns and not more.values and not more.models:
        value = order_value(plan, more)
        if value is not None:
            plan.orders.append((value, plan.orders[-1][1] and _descending(plan, more)))
    for link in plan.items:
        if link.used or not plan.items.precedes(item, link) or link.concept != "then":
            continue
        target = plan.items.after(link)
        if target is not None and target.concept == "by":
            target.used, target = True, plan.items.after(target)
        value = order_value(plan, target) if target is not None else None
        if value is not None:
            link.used = True
            plan.orders.append((value, _descending(plan, link)))


def read_rank(plan: Plan, item: Item) -> None:
    """ "Ordered from highest to lowest", with or without what is high or low."""
    if item.concept == "order":
        target = plan.items.after(item)
        if target is not None and target.concept in {"asc", "desc"} and not target.used:
            item.used = _ordered_by_rank(plan, target)
    elif item.concept in {"asc", "desc"} and _ordered_by_rank(plan, item):
        item.used = True


def _ordered_by_rank(plan: Plan, direction: Item) -> bool:
    """ "From highest to lowest": by what follows, else the last figure, else as ordered anyway."""
    following = plan.items.after(direction)
    value: Expression | None = None
    if following is not None and not following.used:
        value = order_value(plan, following)
    if value is None and plan.aggregates:
        value = Field(name=plan.aggregates[-1][1])
    if value is None and plan.orders and plan.limit is None:
        direction.used = True
        plan.orders[0] = (plan.orders[0][0], direction.concept == "desc")
        return True
    if value is None:
        return False
    direction.used = True
    plan.orders.append((value, direction.concept == "desc"))
    return True
