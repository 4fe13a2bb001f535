"""Rules for superlatives: the row, or the group, with the most or the least of something."""

from __future__ import annotations

from typing import Final

from refdesk.db.dsl import Field
from refdesk.db.dsl.types import Expression
from refdesk.db.generate.groups import DATES, NUMBERS, entity_before, group_entity
from refdesk.db.generate.items import Item
from refdesk.db.generate.measures import FUNCTIONS, head_noun, measure
from refdesk.db.generate.plan import Place, Plan
from refdesk.db.generate.subject import date_column, is_amount, money_column, name_column
from refdesk.db.generate.tokens import identifier_words, plain
from refdesk.db.schema import Model

_SUPERLATIVES: Final = {
    **dict.fromkeys(("most", "dearest", "newest"), True),
    **dict.fromkeys(("least", "cheapest", "oldest"), False),
}


_ALL_SHOWN: Final = "all are shown, in that order; ask for the top 1 to have one"
_COUNTING: Final = frozenset({"most", "least", "fewest", "最多", "最少"})
"""What may be said of a number of rows: "the most orders"; "longest" never is."""
_HEIGHT: Final = ("height", "altitude", "elevation")
_QUALITIES: Final = {
    **dict.fromkeys(("longest", "shortest"), ("length", "duration")),
    **dict.fromkeys(("tallest", "highest", "lowest"), _HEIGHT),
    **dict.fromkeys(("largest", "biggest", "smallest"), ("area", "size")),
    **dict.fromkeys(("heaviest", "lightest"), ("weight",)),
    "最长": ("length", "duration"),
    "最短": ("length", "duration"),
    "最大": ("area", "size"),
}


def read_superlative(plan: Plan, item: Item) -> None:
    """ "The most expensive product", "which country has the most customers"."""
    if item.concept not in _SUPERLATIVES or item.used:
        return
    before = plan.items.before(item)
    if before is not None and before.concept == "order":
        return  # "ordered by the highest average rating first"
    link = plan.items.before(item, skip=False)
    if link is not None and link.text.lower() in {"their", "its"}:
        return  # "customers with their latest order": each has one
    descending = _SUPERLATIVES[item.concept]
    if item.concept in {"dearest", "cheapest"}:
        column = money_column(plan.subject)
        if column is not None:
            _ordered(plan, item, plan.field(plan.subject, column), descending)
        return
    if item.concept in {"newest", "oldest"}:
        _by_age(plan, item, descending=descending)
        return
    following, before = plan.items.after(item), plan.items.before(item)
    if following is not None and not following.used:
        following = head_noun(plan, following)
    if following is not None and following.concept in {*FUNCTIONS, "count"}:
        _best_group(plan, item, following, descending=descending)
        return
    if _counted(plan, item, following, before, descending=descending):
        return
    for target in (following, before):
        place = plan.place(target)
        if target is None or target.used or place is None:
            continue
        if place[1].kind not in NUMBERS or plan.refers(target):
            continue  # no day is the longest, and no supplier
        target.used = True
        first = plan.items.after(target, skip=False)
        if first is not None and first.text.lower() == "first":
            first.used = item.used = True  # "highest price first" is an order
            plan.orders.insert(0, (plan.field(*place), descending))
            return
        _extreme(plan, item, target, place, descending=descending)
        return


def read_commonest(plan: Plan, item: Item) -> None:
    """ "The most common payment method", "the 2 most frequently bought products"."""
    if item.concept not in {"commonest", "rarest"} or item.used:
        return
    target = plan.items.after(item)
    while target is not None and (target.values or plan.model(target) is None):
        if not target.values and plan.place(target) is not None:
            break
        target = plan.items.after(target)
    if target is None:
        target = entity_before(plan, item)
    if target is None or not group_entity(plan, target):
        return
    if plan.entities and plan.entities[-1].id == plan.subject.id:
        return
    alias = plan.count(plan.subject)
    _ordered(plan, item, Field(name=alias), item.concept == "commonest")
    last = target.text.lower().split()[-1]
    if plan.limit == 1 and last.isascii() and plain(last) != last:
        plan.limit = None
        plan.notices.append(_ALL_SHOWN)


def _counted(
    plan: Plan, item: Item, following: Item | None, before: Item | None, *, descending: bool
) -> bool:
    """ "Which customer has the most orders": what is counted is another model."""
    if item.text.lower() not in _COUNTING:
        return following is not None and _of_its_kind(plan, item, following, descending)
    if before is not None and before.concept == "count" and not item.text.isascii():
        return _counted_before(plan, item, before, descending=descending)
    target = following
    if target is None or (not item.text.isascii() and plan.model(before) is not None):
        return _counted_before(plan, item, before, descending=descending)
    while target.values and not target.models:
        after = plan.items.after(target)
        if after is None:
            return False
        target = after
    model = plan.model(target)
    if model is None or (not item.text.isascii() and _is_measure(plan, before)):
        return False
    place = plan.place(target)
    if place is not None and place[1].kind in NUMBERS and not plan.named(target):
        best = max(each.weight for each in target.columns if each.column == place[1])
        if best > max(each.weight for each in target.models):
            return False
    entity = entity_before(plan, item)
    if entity is None or entity is target or not group_entity(plan, entity):
        return bool(item.used)
    target.used = True
    _most_of(plan, item, model, descending=descending)
    return True


def _most_of(plan: Plan, item: Item, model: Model, *, descending: bool) -> None:
    """Rank groups by how many rows of a model they have."""
    _ordered(plan, item, Field(name=plan.count(model)), descending)


def _of_its_kind(plan: Plan, item: Item, following: Item, descending: bool) -> bool:
    """ "The longest river": by the column that the word is about, where there is one."""
    model = plan.model(following)
    if model is None or following.columns or model.id != plan.subject.id:
        return False
    names = _QUALITIES.get(item.text.lower(), ())
    found = [
        each
        for each in model.columns
        if is_amount(each) and set(identifier_words(each.name)) & set(names)
    ]
    if len(found) != 1:
        return False
    _ordered(plan, item, plan.field(model, found[0]), descending)
    following.used = True
    return True


def _counted_before(plan: Plan, item: Item, before: Item | None, *, descending: bool) -> bool:
    """借阅次数最多: what is counted stands before."""
    if before is None:
        return False
    counted = plan.items.before(before) if before.concept == "count" else before
    if before.concept != "count" and before.text.isascii():
        return False
    model, entity = plan.model(counted), entity_before(plan, item)
    behind = plan.items.after(item)
    if behind is not None and plan.model(behind) is not None:
        entity = behind  # 借阅次数最多的会员
    if model is None or counted is None or entity is None or entity is counted:
        return False
    if not group_entity(plan, entity):
        return False
    counted.used = before.used = True
    _most_of(plan, item, model, descending=descending)
    return True


def _is_measure(plan: Plan, item: Item | None) -> bool:
    """Whether an item names a column that has a most and a least."""
    place = plan.place(item)
    return (
        item is not None
        and not item.models
        and place is not None
        and (place[1].kind in NUMBERS | DATES)
    )


def _extreme(plan: Plan, item: Item, target: Item, place: Place, *, descending: bool) -> None:
    """The row with the highest value, or the highest value, whichever is asked for."""
    after = plan.items.after(item if plan.items.precedes(target, item) else target, skip=False)
    if after is not None and after.concept == "of" and not after.text.isascii():
        after = plan.items.after(after)
    entity = entity_before(plan, item) or _asked_value(plan, item)
    while after is not None and after.values and not after.models and item.text.isascii():
        after = plan.items.after(after, skip=False)  # "the highest rated English film"
    named = (after is not None and bool(after.models or after.values)) or (
        plan.asks_who and name_column(place[0]) is not None
    )
    if plan.keys and entity is not None and not entity.used:
        target.used = False
        return  # "which course has the highest score in each department": one of each
    if plan.keys or not (named or entity is not None or top_of(plan)):
        plan.aggregate("MAX" if descending else "MIN", place[0], plan.field(*place))
        item.used = True
        return
    held = plan.place(entity) if entity is not None and not entity.models else None
    summed = item.text.lower() in {"most", "least", "fewest"} and place[1].kind in NUMBERS
    if entity is not None and held is not None and summed and held[1] not in plan.naming(held[0]):
        # "Which genre has the most copies": all of a genre's copies.
        if group_entity(plan, entity):
            alias = plan.aggregate("SUM", place[0], plan.field(*place))
            _ordered(plan, item, Field(name=alias), descending)
        return
    _ordered(plan, item, plan.field(*place), descending)


def _asked_value(plan: Plan, item: Item) -> Item | None:
    """Return the kind of row that is asked for: "which manager has the highest salary"."""
    for other in plan.items:
        if other is item:
            return None
        before = plan.items.before(other, skip=False)
        if other.values and before is not None and before.text.lower() in {"which", "who", "what"}:
            return other
    return None


def _best_group(plan: Plan, item: Item, following: Item, *, descending: bool) -> None:
    """ "Which category has the highest average price", "the most number of orders"."""
    entity = entity_before(plan, item)
    if entity is None and not plan.keys:
        return
    alias = measure(plan, following)
    if not alias:
        return
    if entity is not None and not plan.keys and not group_entity(plan, entity):
        return
    _ordered(plan, item, Field(name=alias), descending)


def _by_age(plan: Plan, item: Item, *, descending: bool) -> None:
    after = plan.items.after(item)
    model, place = plan.model(after), plan.place(after)
    if place is not None and place[1].kind in DATES and after is not None and not after.models:
        after.used = True
        said = set(after.text.lower().replace("_", " ").split())
        if after.text.isascii() and not said & {"date", "time", "day", "at", "on", "timestamp"}:
            _ordered(plan, item, plan.field(*place), descending)  # "the latest hire" is a row
            return
        _extreme(plan, item, after, place, descending=descending)
        return
    before = plan.items.before(item)
    done = plan.place(before)
    if before is not None and not before.used and done is not None and done[1].kind in DATES:
        before.used = True  # 入职最早的司机, "hired most recently"
        _ordered(plan, item, plan.field(*done), descending)
        return
    owner = model or plan.subject
    age = next((each for each in owner.columns if each.name.lower() == "age"), None)
    if age is not None and item.text.lower() == "oldest":
        _ordered(plan, item, plan.field(owner, age), True)
        return
    column = date_column(owner)
    if column is not None:
        _ordered(plan, item, plan.field(owner, column), descending)


def top_of(plan: Plan) -> Item | None:
    """Return the "top 5" that is not used yet."""
    return next((each for each in plan.items if each.top and not each.used), None)


def _ordered(plan: Plan, item: Item, value: Expression, descending: bool) -> None:
    """Order by a value, and keep as many as are wanted: one, where nothing is said."""
    plan.orders.insert(0, (value, descending))
    item.used = True
    if (top := top_of(plan)) is not None:
        plan.limit, top.used = top.top, True
    elif any(each.concept in {"order", "desc", "asc"} for each in plan.items):
        return  # "which have the most, ordered by …" wants them all
    elif _several(plan, item) or _plural(plan, item, value):
        plan.notices.append(_ALL_SHOWN)
    else:
        plan.limit = plan.limit or 1


def _several(plan: Plan, item: Item) -> bool:
    """Whether several are asked for: "which shops have the most orders"."""
    entity = entity_before(plan, item)
    asked = plan.items.before(entity, skip=False) if entity is not None else None
    return (
        entity is not None
        and asked is not None
        and asked.text.lower() in {"which", "what"}
        and entity.text.isascii()
        and plain(entity.text.split()[-1]) != entity.text.lower().split()[-1]
    )


def _plural(plan: Plan, item: Item, value: Expression) -> bool:
    """Whether the superlative is of several rows: "the longest films"."""
    return bool(isinstance(value, Field) and value.source) and any(
        plan.named(each)
        and each.text.isascii()
        and plain(each.text) != each.text.lower()
        and plan.items.precedes(item, each)
        for each in plan.items
    )
