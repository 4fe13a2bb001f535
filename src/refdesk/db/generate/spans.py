"""Lengths of time: "the average session duration", "how many days since the last order"."""

from __future__ import annotations

from typing import Final

from refdesk.db.dsl import Call, Comparison, Constant, Expression, Field
from refdesk.db.generate.groups import DATES
from refdesk.db.generate.items import Item
from refdesk.db.generate.measures import FUNCTIONS
from refdesk.db.generate.plan import Place, Plan
from refdesk.db.generate.subject import date_column
from refdesk.db.generate.tokens import identifier_words
from refdesk.db.schema import Column, Model

_PAIRS: Final = (
    ("start", "end"), ("started", "ended"), ("begin", "end"), ("start", "finish"),
    ("open", "close"), ("opened", "closed"), ("departure", "arrival"), ("departed", "arrived"),
    ("created", "completed"), ("created", "closed"), ("created", "resolved"),
    ("loaned", "returned"), ("borrowed", "returned"), ("hire", "termination"),
    ("hired", "terminated"), ("ordered", "delivered"), ("order", "delivery"),
    ("ordered", "shipped"), ("checkin", "checkout"), ("in", "out"), ("admission", "discharge"),
    ("admitted", "discharged"), ("pickup", "dropoff"), ("from", "to"), ("issued", "paid"),
)  # fmt: skip
"""How the two ends of one span are called."""
_LASTING: Final = frozenset({"lasted", "last", "lasts", "took", "take", "lasting", "taking"})
_UNITS: Final = {
    "second": "second", "minute": "minute", "hour": "hour", "day": "day", "week": "week",
    "month": "month", "quarter": "quarter", "year": "year",
    "秒": "second", "分钟": "minute", "小时": "hour", "天": "day", "周": "week", "月": "month",
    "年": "year",
}  # fmt: skip


def read_span(plan: Plan) -> None:
    """Make a length of time: between two dates of a row, or since the last of one date."""
    lead = next((each for each in plan.items if each.concept in {"span", "units"}), None)
    if lead is None:
        return
    unit_item = next((each for each in plan.items if each.concept == "units"), None)
    said = [lead] if unit_item is None or unit_item is lead else [lead, unit_item]
    since = next((each for each in plan.items if each.text.lower() in {"since", "ago"}), None)
    if since is not None and plan.items.precedes(lead, since):
        _since(plan, said, since)
        return
    ends = _named_ends(plan, lead) or _own_ends(plan, lead)
    if ends is None:
        return
    start, end, items = ends
    unit = _unit(unit_item)
    if unit_item is None:
        plan.notices.append(f"{lead.text.strip()!r} was taken in days")
    value = Call(
        name="DATE_DIFF",
        args=(Constant(value=unit), plan.field(*start), plan.field(*end)),
    )
    for each in (*said, *items):
        each.used = True
    _shown(plan, lead, start[0], value, f"{unit}s")


def read_lasting(plan: Plan) -> None:
    """ "Treatments that lasted more than 30 days"."""
    for item in plan.items:
        unit, verb = plan.items.after(item, skip=False), plan.items.before(item)
        if item.used or item.amount is None or item.amount.op is None or unit is None:
            continue
        said = verb is not None and verb.text.lower() in _LASTING
        word = unit.text.lower().removesuffix("s")
        ends = _own_ends(plan, item) if word in _UNITS and said else None
        if ends is None or item.amount.op == "between" or verb is None:
            continue
        length = Call(
            name="DATE_DIFF",
            args=(Constant(value=_UNITS[word]), plan.field(*ends[0]), plan.field(*ends[1])),
        )
        amount = Constant(value=item.amount.low)
        plan.wheres.append((Comparison(left=length, op=item.amount.op, right=amount), item))
        item.used = unit.used = verb.used = True


def _unit(item: Item | None) -> str:
    if item is None:
        return "day"
    words = item.text.lower().removesuffix(" between").split()
    for word in reversed([*words, item.text]):
        for name, unit in _UNITS.items():
            if word in {name, f"{name}s"} or (not name.isascii() and name in word):
                return unit
    return "day"


def _shown(plan: Plan, lead: Item, model: Model, value: Expression, alias: str) -> None:
    """Take the length over all rows where a figure is asked for, else show it row by row."""
    before = plan.items.before(lead)
    while before is not None and (before.models or before.columns) and not before.concept:
        before = plan.items.before(before)
    concept = before.concept if before is not None else None
    if before is not None and concept in {"most", "least"}:
        before.used = True
        plan.shown += [(model, column) for column in plan.naming(model)]
        plan.figures.append((value, alias))
        plan.orders.append((Field(name=alias), concept == "most"))
        top = next((each for each in plan.items if each.top and not each.used), None)
        plan.limit = 1 if top is None else top.top
        if top is not None:
            top.used = True
        return
    if concept not in FUNCTIONS:
        before = next((each for each in plan.items if each.concept == "avg"), None)
        concept = before.concept if before is not None else None
    name = FUNCTIONS.get(concept or "")
    if before is not None and name is not None:
        before.used = True
        plan.add(Call(name=name, args=(value,)), model, f"{name.lower()}_{alias}")
        return
    plan.shown += [(model, column) for column in plan.naming(model)]
    plan.figures.append((value, alias))


def _named_ends(plan: Plan, lead: Item) -> tuple[Place, Place, list[Item]] | None:
    """Return two dates that stand after "between" or "from", in their order."""
    link = next(
        (
            each
            for each in plan.items
            if not each.used and each.text.lower().split()[-1:] == ["between"]
        ),
        None,
    )
    found: list[tuple[Place, Item]] = []
    for item in plan.items:
        place = plan.place(item)
        if place is None or place[1].kind not in DATES or item.used:
            continue
        if link is None or plan.items.precedes(link, item):
            found.append((place, item))
    if link is None or len(found) != 2:
        return None
    return found[0][0], found[1][0], [link, found[0][1], found[1][1]]


def _own_ends(plan: Plan, lead: Item) -> tuple[Place, Place, list[Item]] | None:
    """Return the one pair of dates of a model that begins and ends something."""
    models = [plan.subject, *(each for each in plan.joins.mentions if plan.near(each))]
    for model in models:
        dates = [each for each in model.columns if each.kind in DATES]
        pairs = [(a, b) for a in dates for b in dates if a is not b and _ends(a, b)]
        if len(pairs) == 1:
            said = [each for each in plan.items if each.text.lower() in {"last", "take", "took"}]
            return (model, pairs[0][0]), (model, pairs[0][1]), said
        if pairs:
            return None
    return None


def _ends(start: Column, end: Column) -> bool:
    a, b = identifier_words(start.name), identifier_words(end.name)
    return len(a) == len(b) and any(
        tuple(second if word == first else word for word in a) == b and first in a
        for first, second in _PAIRS
    )


def _since(plan: Plan, said: list[Item], since: Item) -> None:
    """ "How many days since the last order": from the newest date to today."""
    after = [each for each in plan.items if plan.items.precedes(since, each)]
    newest = next(
        (each for each in after if each.concept == "newest" or each.text.lower() == "last"), None
    )
    item, place = None, None
    for each in after:
        found = plan.place(each)
        if found is not None and found[1].kind in DATES and not each.used:
            item, place = each, found
            break
    if place is None:
        column = date_column(plan.subject)
        place = (plan.subject, column) if column is not None and column.kind in DATES else None
    if place is None or newest is None:
        return
    for each in (*said, since, newest, *([item] if item is not None else [])):
        each.used = True
    unit = _unit(said[-1] if said[-1].concept == "units" else None)
    last = Call(name="MAX", args=(plan.field(*place),))
    value = Call(name="DATE_DIFF", args=(Constant(value=unit), last, Call(name="TODAY")))
    plan.add(value, place[0], f"{unit}s_since")
