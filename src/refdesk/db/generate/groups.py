"""Rules for what is grouped by: things, columns, and periods of time."""

from __future__ import annotations

from typing import Final

from refdesk.db.dsl import Call, Comparison, Constant, Field
from refdesk.db.generate.items import Item
from refdesk.db.generate.plan import Place, Plan
from refdesk.db.generate.subject import date_column
from refdesk.db.generate.tokens import identifier_words
from refdesk.db.schema import Model

NUMBERS: Final = frozenset({"integer", "number"})
DATES: Final = frozenset({"date", "datetime"})
_PERIODS: Final[dict[str, tuple[str, ...]]] = {
    "yearly": ("YEAR",),
    "quarterly": ("YEAR", "QUARTER"),
    "monthly": ("YEAR", "MONTH"),
    "weekly": ("WEEK",),
    "daily": ("DATE",),
    "dayofweek": ("DAYOFWEEK",),
    "hourly": ("HOUR",),
}
_FIGURES: Final = frozenset({"count", "sum", "avg", "max", "min"})
_OWNING: Final = frozenset({"their", "its", "其"})
_ASKING: Final = frozenset({"which", "who", "list", "show", "return", "give", "find"})


_IRREGULAR: Final = frozenset({"sold", "bought", "paid", "sent", "taken", "given", "held", "won"})
_PLAIN_DATES: Final = frozenset(
    {"date", "datetime", "time", "timestamp", "at", "on", "day", "ts", "dt", "created", "crtd"}
)
"""What names of dates say of themselves, and not of what was done then."""


def read_period(plan: Plan, item: Item) -> None:
    """ "Per month", "monthly": by the parts of a date; of one year, the months alone tell apart."""
    functions = _PERIODS.get(item.concept or "")
    if functions is None:
        return
    stored = _stored_parts(plan, functions)
    if stored is not None:
        for part in stored:
            plan.group_by(*part)
        item.used = True
        return
    place = time_place(plan)
    if place is None or place[1].kind not in DATES:
        return
    if functions == ("HOUR",) and place[1].kind != "datetime":
        return
    value = plan.field(*place)
    for function in functions:
        call = Call(name=function, args=(value,))
        if function == "WEEK":  # a week belongs to one year only, which its first day tells
            call = Call(name="DATE_TRUNC", args=(Constant(value="week"), value))
        if (call, function.lower()) in plan.keys:
            continue
        plan.keys.append((call, function.lower()))
        plan.orders.append((Field(name=function.lower()), False))
    if "MONTH" in functions:
        first = Call(name="DATE_TRUNC", args=(Constant(value="month"), value))
        plan.keys.append((first, "month_start"))
    item.used = True
    group_along(plan, item)


def time_place(plan: Plan) -> Place | None:
    """Return the date that is meant, and use up its name: one said, the subject's, a near one."""
    for item in plan.items:
        found = plan.place(item)
        if found is not None and found[1].kind in DATES:
            item.used = True
            return found
    for model in (plan.subject, *plan.joins.mentions):
        column = date_column(model) if plan.near(model) else None
        if column is not None and column.kind in DATES and not unexplained(plan, model):
            return model, column
    return None


def unexplained(plan: Plan, model: Model) -> bool:
    """Whether a word says what was done, on a day that no column of a model is known to hold."""
    return any(_deed(model, each) for each in plan.items)


def _deed(model: Model, item: Item) -> bool:
    dates = [each for each in model.columns if each.kind in DATES]
    said = item.text.lower()
    if not item.unknown or not (said.endswith("ed") or said in _IRREGULAR) or not dates:
        return False
    if len(dates) == 1:
        told = set(identifier_words(dates[0].name)) - _PLAIN_DATES
        return bool(told) and not any(word[:4] == item.text.lower()[:4] for word in told)
    return item.text.lower() not in {"created", "added", "placed", "signed", "registered"}


def _stored_parts(plan: Plan, functions: tuple[str, ...]) -> list[Place] | None:
    """Return the columns that hold a year, a month or a day by themselves, if all are there."""
    names = {"YEAR": "year", "MONTH": "month", "QUARTER": "quarter", "WEEK": "week"}
    names["DAYOFWEEK"] = "day"
    found: list[Place] = []
    for function in functions:
        column = next(
            (c for c in plan.subject.columns if c.name.lower() == names.get(function)), None
        )
        if column is None:
            return None
        found.append((plan.subject, column))
    return found


def read_group(plan: Plan, item: Item) -> None:
    """ "Per country", "for each department and year"."""
    if item.concept != "group":
        return
    target = plan.items.after(item)
    while target is not None and target.concept in {"distinct", "group"}:
        target.used, target = True, plan.items.after(target)
    while target is not None and target.values and not (target.models or target.columns):
        following = plan.items.after(target, skip=False)
        if following is None or not (following.models or following.values or following.columns):
            item.used = item.text.lower() in {"every", "each"}  # "every engineer": all of them
            return
        target = following
    target = _head(plan, target)
    if target is None or target.used or not group_on(plan, target):
        return
    item.used = True
    group_along(plan, target)


def group_along(plan: Plan, target: Item) -> None:
    """Group by what else is named with "and"."""
    while (linked := plan.items.after(target, skip=False)) is not None:
        following = plan.items.after(target)
        if linked.concept != "and" or following is None or following.used:
            return
        period = {"month": "monthly", "year": "yearly", "quarter": "quarterly"}
        if following.unknown and (said := period.get(following.text.lower())) is not None:
            following.meanings = (said,)
            read_period(plan, following)
            return
        if following.concept == "group":
            return
        place = plan.place(following)
        if plan.model(following) is None and (place is None or place[1].kind == "number"):
            return
        if plan.every or plan.model(following) == plan.subject:
            plan.group_by(plan.subject, None)  # "each gender and department"
        if not group_on(plan, following):
            return
        target = following


def _head(plan: Plan, target: Item | None) -> Item | None:
    """Return the last of several nouns: a "business category" is a category."""
    while target is not None and target.models and not target.values:
        following = plan.items.after(target, skip=False)
        if following is None or following.used or not (following.models or following.columns):
            return target
        if following.concept is not None or (
            plan.place(following) is None and plan.model(following) is None
        ):
            return target
        target = following
    return target


def group_on(plan: Plan, target: Item) -> bool:
    """Group by what a word names; return whether that can be."""
    model, place = plan.model(target), plan.place(target)
    if model is not None and model.id != plan.subject.id:
        if not plan.group_by(model, None):
            return False
    elif model is not None and model.id == plan.subject.id and not better_column(target):
        plan.every = True  # "the price of each product": every row is one already
    elif place is not None:
        plan.group_by(*place)
    else:
        return False
    target.used = True
    return True


def better_column(target: Item) -> bool:
    """Whether a word names a column at least as exactly as a model."""
    as_column = max((each.weight for each in target.columns), default=0)
    return as_column >= max((each.weight for each in target.models), default=0)


def entity_before(plan: Plan, item: Item) -> Item | None:
    """Return what stands before a superlative as that which has it: "which category has the…"."""
    for other in plan.items:
        if other is item:
            return None
        place = plan.place(other)
        if other.used and not other.models:
            continue
        if other.models and plan.model(other) is not None:
            return other
        if place is not None and place[1].kind != "boolean" and not other.values:
            return other
    return None


def group_entity(plan: Plan, entity: Item) -> bool:
    """Group by what has the most or the least of something; return whether that can be."""
    place, model = plan.place(entity), plan.model(entity)
    if model is not None:
        grouped = plan.group_by(model, None)
    elif place is not None:
        grouped = plan.group_by(*place)
        if place[1].nullable:  # no city is not the city with the most customers
            there = Comparison(left=plan.field(*place), op="is", right=Constant(value="not null"))
            plan.wheres.append((there, entity))
    else:
        return False
    entity.used = entity.used or grouped
    return grouped


def read_asked(plan: Plan) -> None:
    """ "Which users … and how many reviews have they": a figure for each of what is asked for."""
    if plan.keys or not plan.aggregates:
        return
    per = next((each for each in plan.items if each.concept == "group"), None)
    averages = all(getattr(value, "name", "") == "AVG" for value, _ in plan.aggregates)
    if plan.every and averages and per is not None and per.text.lower() == "per":
        return  # "the average price per product" is one figure
    if plan.every:
        plan.group_by(plan.subject, None)
        return
    first = next((each for each in plan.items if not each.small and each.concept != "stop"), None)
    asked = next(iter(plan.items), None)
    if first is None or asked is None or first.concept or first.values:
        return
    named, place = plan.model(first), plan.place(first)
    if named is None and place is not None and place[1] in plan.naming(place[0]):
        named = place[0]  # "customer names with …"
    if named is not None and _has_figure(plan, first):
        first.used = plan.group_by(named, None)
    elif asked.text.lower() in _ASKING and first.models and named is not None:
        group_entity(plan, first)


def _limits(item: Item) -> bool:
    """Whether an item was made a condition of: a value, a time, an amount."""
    return item.used and bool(item.values or item.date or item.amount)


def _has_figure(plan: Plan, first: Item) -> bool:
    """Whether a figure is tied to what is named first: "customers with their number of orders"."""
    link = plan.items.after(first, skip=False)
    tied = link is not None and bool(set(plan.items.text[first.stop : link.begin]) & set(",，、"))
    while link is not None and (link.small or link.concept == "not" or _limits(link)):
        tied = tied or link.concept in {"and", "with"} or link.text.lower() in _OWNING
        link = plan.items.after(link, skip=False)
    figure = link
    if link is not None and (link.models or link.columns) and link.concept is None:
        figure = plan.items.after(link)  # 付款数量
    return tied and figure is not None and figure.concept in _FIGURES
