"""Rules for figures over many rows: counts, sums, averages, extremes."""

from __future__ import annotations

from typing import Final

from refdesk.db.generate.groups import DATES, NUMBERS
from refdesk.db.generate.items import Item
from refdesk.db.generate.places import owners_of
from refdesk.db.generate.plan import Aggregate, Place, Plan
from refdesk.db.generate.subject import is_amount, is_id, money_column
from refdesk.db.schema import Column

FUNCTIONS: Final[dict[str, Aggregate]] = {"sum": "SUM", "avg": "AVG", "max": "MAX", "min": "MIN"}


def read_count(plan: Plan, item: Item) -> None:
    """ "How many orders", "number of distinct customers"."""
    if item.concept == "count" and count_of(plan, item) is not None:
        item.used = True


def ahead(plan: Plan, item: Item) -> Item | None:
    """Return the thing that a word such as "how many" is about, past its adjectives."""
    following = plan.items.after(item)
    while following is not None:
        place = plan.place(following)
        if _describes(plan, following) or following.date is not None:
            following = plan.items.after(following)
            continue
        if following.models or (place is not None and place[1].kind != "boolean"):
            return head_noun(plan, following)
        if not (following.values or following.concept in {"distinct", "not"} or place):
            return None
        following = plan.items.after(following)
    return None


def _describes(plan: Plan, item: Item) -> bool:
    """Whether a word is a value of what is named right after it, if a column as well: "paid"."""
    noun = plan.items.after(item, skip=False)
    named = {each.model.id for each in noun.models} if noun is not None else set()
    return any(each.model.id in named for each in item.values)


def head_noun(plan: Plan, item: Item) -> Item:
    """Return the last of several nouns that make one: "population density", "sales amount"."""
    following = plan.items.after(item, skip=False)
    if following is None or following.used or following.models or following.concept:
        return item
    if item.concept in FUNCTIONS:
        return item  # "the highest total amount" is a figure
    if not plan.items.joined(item, following):
        return item
    place, own = plan.place(following), plan.place(item)
    if place is None or not is_amount(place[1]):
        return item
    if (own is not None and own[0].id == place[0].id) or plan.model(item) == place[0]:
        item.used = True
        return following
    return item


def count_of(plan: Plan, item: Item) -> str | None:
    """Add the count that a word asks for; return its alias, empty where a column holds it."""
    target = None if _counts_before(plan, item) else ahead(plan, item)
    distinct = plan.items.after(item)
    if distinct is not None and distinct.amount is not None and not item.text.isascii():
        return None  # 借阅次数超过2次 is a condition
    if distinct is not None and distinct.concept != "distinct":
        distinct = None
    place, model = plan.place(target), plan.model(target)
    if target is not None and model is not None:
        target.used = True
        if distinct is not None:
            distinct.used = True
        return plan.count(model)
    if distinct is not None and target is not None and place is not None:
        distinct.used = target.used = True
        return plan.aggregate("COUNT", place[0], plan.field(*place), distinct=True)
    before = plan.items.before(item)
    if before is not None and before.concept == "sum" and not before.columns:
        before = plan.items.before(before)  # 订单一共有多少
    if before is not None and (model := plan.model(before)) is not None and target is None:
        if item.columns and plan.place(item) and before.used:
            return None
        before.used = True
        grouped = model.id in {each.id for each in plan.entities}
        return plan.count(plan.subject if grouped else model)
    said = item.text.lower() in {"count", "counts"}
    if (
        said
        and target is None
        and any(getattr(each, "name", "") == "COUNT" for each, _ in plan.aggregates)
    ):
        return ""  # "… and their counts"
    kind = plan.items.after(item)
    if target is None and kind and not plan.aggregates and _of_subject(plan, kind):
        return plan.count(plan.subject)  # 一共有多少本小说
    if target is None or place is None or item.columns:
        return None
    if place[1].kind in DATES:
        return plan.count(place[0])  # "how many engineers were hired": rows, not dates
    if _adds(place[1]):
        if "total" not in item.text.lower() and not plan.keys:
            return None  # "how many beds": of each row, or of all
        target.used = True
        return plan.aggregate("SUM", place[0], plan.field(*place))
    target.used = True
    return plan.aggregate("COUNT", place[0], plan.field(*place), distinct=True)


def _counts_before(plan: Plan, item: Item) -> bool:
    """Whether a count is of what stands right before it: 会员数, and not 多少会员."""
    before = plan.items.before(item, skip=False)
    asks = item.text.isascii() or item.text.startswith(("多少", "几"))
    return (
        not asks
        and before is not None
        and plan.model(before) is not None
        and plan.items.joined(before, item)
    )


def _of_subject(plan: Plan, item: Item) -> bool:
    """Whether an item is a value of the subject's own rows, and of no others."""
    models = {each.model.id for each in item.values}
    return models == {plan.subject.id} and not item.columns


def measure(plan: Plan, item: Item) -> str | None:
    """Add the count, sum or average that an item begins; return its alias."""
    if item.concept == "count":
        alias = count_of(plan, item)
    else:
        target = ahead(plan, item)
        place = plan.place(target)
        if target is None or place is None or not _adds(place[1]):
            own = plan.place(item)
            if own is None or not _adds(own[1]):
                return None
            target, place = item, own
        target.used = True
        alias = plan.aggregate(FUNCTIONS[item.concept or ""], place[0], plan.field(*place))
    item.used = item.used or alias is not None
    return alias


def read_aggregate(plan: Plan, item: Item) -> None:
    """ "Average price", "minimum and maximum price", "the total" of what has an amount."""
    concept = item.concept
    if concept not in FUNCTIONS or item.used:
        return
    following = plan.items.after(item)
    if item.columns and following is not None and following.amount is not None:
        return  # "with a total over 100" is a condition
    if following is not None and following.concept == "count":
        item.used = concept == "sum" and following.used and not item.columns  # 一共有多少
        return  # "the average number of orders" is a figure of figures
    link = plan.items.before(item, skip=False)
    if concept == "sum" and link is not None and link.text.lower() == "in":
        item.used = bool(plan.aggregates)  # "in total"
        return
    target = ahead(plan, item)
    if following is not None and following.concept in FUNCTIONS and not target:
        target = ahead(plan, following)  # "minimum and maximum price"
    place = plan.place(target)
    summed = target is not None and place is not None and _sums(place, concept)
    if target and place and summed and not plan.named(target):
        target.used = item.used = True
        _tell_owner(plan, target, place)
        plan.aggregate(FUNCTIONS[concept], place[0], plan.field(*place))
        _another(plan, target, concept)
        return
    own = plan.place(item)
    if own is not None and target is not None and target.models and own[0] != plan.subject:
        own = None  # "total sales": whatever they are worth, it is no other table's total
    if own is not None and _sums(own, concept):
        item.used = True
        plan.aggregate(FUNCTIONS[concept], own[0], plan.field(*own))
        return
    before = plan.items.before(item)
    place = plan.place(before)
    if before is not None and place is not None and not before.used and _sums(place, concept):
        before.used = item.used = True
        plan.aggregate(FUNCTIONS[concept], place[0], plan.field(*place))
    elif concept == "sum" and (target is None or plan.named(target)):
        money = money_column(plan.subject)
        if item.text in {"总额", "合计", "总和"} and money is not None:
            item.used = True
            plan.aggregate("SUM", plan.subject, plan.field(plan.subject, money))
        elif target is not None and target.text.lower() in {"sales", "revenue"}:
            if money is not None:
                item.used = target.used = True
                plan.aggregate("SUM", plan.subject, plan.field(plan.subject, money))
                plan.notices.append(f"{target.text!r} was taken for the sum of {money.name!r}")
        elif target is not None and not plan.aggregates:
            _total_of_rows(plan, item, target)
        elif target is None and plan.aggregates:
            item.used = True  # "how many orders in total"


def _total_of_rows(plan: Plan, item: Item, target: Item) -> None:
    """ "Total orders" are how many there are; "sum of payments" is their one amount."""
    amounts = [each for each in plan.subject.columns if is_amount(each)]
    said = f"{item.text.strip()} {target.text.strip()}"
    if item.text.lower().startswith("total") or not item.text.isascii():
        plan.count(plan.subject)
        if amounts:
            plan.notices.append(f"{said!r} was taken for how many there are")
    elif len(amounts) == 1:
        plan.aggregate("SUM", plan.subject, plan.field(plan.subject, amounts[0]))
        plan.notices.append(f"{said!r} was taken for the sum of {amounts[0].name!r}")
    else:
        return
    item.used = target.used = True


def _tell_owner(plan: Plan, target: Item, place: Place) -> None:
    """Tell whose column was taken where another table is said to have it: "hours of employees"."""
    owners = [each.id for each in owners_of(target, plan.items)]
    if owners and place[0].id not in owners:
        plan.notices.append(
            f"{target.text!r} was taken for {place[1].name!r} of {place[0].id!r}, "
            f"as {owners[0]!r} has no such column"
        )


def _another(plan: Plan, target: Item, concept: str) -> None:
    """ "Average price and weight": the function is of both."""
    link, following = plan.items.after(target, skip=False), plan.items.after(target)
    place = plan.place(following)
    if link is None or following is None or place is None or link.concept != "and":
        return
    direct = following is plan.items.after(link, skip=False) and not following.used
    plain = not following.models and following.concept is None
    if direct and plain and _sums(place, concept):
        following.used = True
        plan.aggregate(FUNCTIONS[concept], place[0], plan.field(*place))
        _another(plan, following, concept)


def _sums(place: Place, concept: str) -> bool:
    dated = concept in {"max", "min"} and place[1].kind in DATES
    return _adds(place[1]) or dated


def _adds(column: Column) -> bool:
    """Whether a column holds numbers that say how much."""
    return column.kind in NUMBERS and not column.primary and not is_id(column)


def totalled(plan: Plan, item: Item, place: Place) -> str | None:
    """Add up a column that is called a total or an average, in groups: "total drug amount"."""
    first = item.text.lower().split()[0]
    name = {"total": "SUM", "overall": "SUM", "average": "AVG", "avg": "AVG"}.get(first)
    if name is None or not is_amount(place[1]):
        return None
    return plan.aggregate(
        FUNCTIONS["sum" if name == "SUM" else "avg"], place[0], plan.field(*place)
    )
