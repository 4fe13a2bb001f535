"""Rules, after the conditions, for the columns shown and for groups that are to have so many."""

from __future__ import annotations

from typing import Final

from refdesk.db.dsl import Comparison, Constant, Field
from refdesk.db.generate.groups import entity_before, group_entity
from refdesk.db.generate.items import Item
from refdesk.db.generate.measures import totalled
from refdesk.db.generate.places import owners_of
from refdesk.db.generate.plan import Place, Plan
from refdesk.db.generate.subject import is_amount, is_flag, name_column, name_columns

_ASKING: Final = frozenset({"which", "what", "who", "return", "show", "give", "list", "display"})
_ASKING_HAN: Final = frozenset({"哪个", "哪些", "哪位"})


def read_having(plan: Plan, item: Item) -> None:
    """ "Categories with more than 4 products": groups by their count."""
    amount = item.amount
    if amount is None or item.used or amount.op in {None, "between"}:
        return
    target = plan.items.after(item)
    while target is not None and not target.models:
        place = plan.place(target)
        if not target.values and not (place is not None and is_flag(place[1])):
            break
        target = plan.items.after(target)
    model, entity = plan.model(target), entity_before(plan, item)
    before = plan.items.before(item)
    counted = plan.items.before(before) if before is not None else None
    if before is not None and before.concept == "count" and plan.model(counted) is not None:
        # 借阅次数超过2次的书: what is counted stands before, and what has it behind.
        before.used = True
        target, entity, model = counted, target, plan.model(counted)
    if target is None or model is None or entity is None or entity is target:
        return
    if plan.aggregates and not plan.keys:
        return  # "how many customers have more than 3 orders" would be a count of counts
    if not plan.keys and not group_entity(plan, entity):
        return
    alias = plan.count(model)
    owner = plan.entities[-1] if plan.entities else None
    if owner is not None and owner.id != model.id and not plan.joins.repeats(owner):
        return  # one row has one of them at most
    plan.havings.append(
        Comparison(
            left=Field(name=alias),
            op=amount.op,
            right=Constant(value=amount.low),
        )
    )
    item.used = target.used = True


def _names_of(plan: Plan, item: Item) -> bool:
    """Show a first and a last name, where "the names of the students" are asked for."""
    if item.text.lower() not in {"name", "names", "full name", "full names"}:
        return False
    for owner in owners_of(item, plan.items):
        columns = name_columns(owner)
        if len(columns) > 1 and plan.near(owner):
            plan.shown += [(owner, each) for each in columns if (owner, each) not in plan.shown]
            return True
    return False


def _told_apart(plan: Plan, item: Item) -> bool:
    """Whether a column says which rows are asked for: "which state has the highest point"."""
    first = next(iter(plan.items), None)
    link = plan.items.before(item, skip=False)
    while link is not None and link.text.lower() in {"the", "a", "an"}:
        link = plan.items.before(link, skip=False)
    asked = first is not None and first.text.lower() in {"which", "who"}
    return asked and link is not None and link.text.lower() in {"has", "have", "had"}


def _also_shown(plan: Plan) -> None:
    """ "Employees and their departments": the names of both."""
    for item in plan.items:
        model, link = plan.model(item), plan.items.before(item, skip=False)
        if item.used or model is None or link is None or plan.aggregates or plan.keys:
            continue
        if link.text.lower() not in {"their", "its"} or model.id == plan.subject.id:
            continue
        names = [(model, each) for each in plan.naming(model)]
        if not names or plan.place(item) in plan.shown:
            continue
        item.used = True
        own = [(plan.subject, each) for each in plan.naming(plan.subject)]
        plan.shown += [each for each in (*own, *names) if each not in plan.shown]


def read_columns(plan: Plan) -> None:
    """Read which columns are shown, and how many rows."""
    _also_shown(plan)
    for item in plan.items:
        if not item.used and not (plan.aggregates or plan.keys) and _names_of(plan, item):
            item.used = True
            continue
        place = plan.place(item)
        link = plan.items.before(item, skip=False)
        if item.concept == "sum" and link is not None and link.text.lower() == "in":
            continue  # "in total" is no column
        if item.used or place is None or item.models:
            continue
        if _told_apart(plan, item) or plan.unspoken(place):
            continue
        if plan.aggregates or plan.keys:
            item.used = _grouped_too(plan, item, place)
        else:
            item.used = True
            if place not in plan.shown:
                plan.shown.append(place)
    for item in plan.items:
        following = plan.items.after(item)
        if item.text.lower() == "both" and following is not None and not following.values:
            item.used = plan.place(following) is not None
    if plan.keys and not (plan.aggregates or plan.shown or plan.figures or plan.havings):
        plan.count(plan.subject)  # "visits per month" are counted
    _name_rows(plan)
    for item in plan.items:
        if item.used or item.concept != "distinct" or plan.aggregates or not plan.shown:
            continue
        item.used = plan.distinct = True
    amounts = any(is_amount(column) for _, column in plan.shown)
    if plan.shown and not plan.orders and not amounts and not any(x.models for x in plan.items):
        plan.distinct = True
    for item in plan.items:
        if item.used or not item.top or plan.limit is not None or plan.aggregates:
            continue
        said = item.text.strip()
        if plan.orders or "first" in said.lower() or "limit" in said.lower():
            item.used, plan.limit = True, item.top
            if not plan.orders:
                plan.notices.append(f"{said!r} names no order; any such rows are shown")


def _grouped_too(plan: Plan, item: Item, place: Place) -> bool:
    """Group by one more column, where that leaves the groups as they are, or they have no other."""
    value = Field(name=place[1].name, source=f"${place[0].id}")
    keys = [key for key, _ in plan.keys]
    if value in keys or any(value in getattr(each, "args", ()) for each, _ in plan.aggregates):
        return True
    periods = bool(plan.keys) and all(alias for _, alias in plan.keys)
    if periods and not plan.aggregates and is_amount(place[1]):
        plan.notices.append(f"{item.text.strip()!r} was added up")
        plan.aggregate("SUM", place[0], plan.field(*place))
        return True
    if (alias := totalled(plan, item, place)) is not None:
        return bool(alias)
    key = plan.ways.key(place[0])
    row = key and Field(name=key.name, source=f"${place[0].id}")
    if row is not None and row in keys:
        plan.group_by(*place)
        return True
    before = plan.items.before(item, skip=False)
    asking = before is not None and before.text.lower() in _ASKING | _ASKING_HAN
    if not keys and asking:
        plan.group_by(*place)
        return True
    return False


def _name_rows(plan: Plan) -> None:
    """Show the name with what is asked of rows that were named first: "cities and their area"."""
    column = name_column(plan.subject)
    if not plan.shown or column is None or (plan.subject, column) in plan.shown:
        return
    owns = next((each for each in plan.items if each.text.lower() in {"their", "its"}), None)
    named = next((item for item in plan.items if plan.named(item)), None)
    if named is not None and owns is not None and plan.items.precedes(named, owns):
        plan.shown.insert(0, (plan.subject, column))
