"""Rules for amounts that limit the rows, or the groups."""

from __future__ import annotations

from typing import Final

from refdesk.db.dsl.types import Binary, Call, Comparison, Constant, Field, Interval, Op
from refdesk.db.generate.items import Item
from refdesk.db.generate.measures import FUNCTIONS, ahead
from refdesk.db.generate.plan import Place, Plan, figure_of
from refdesk.db.generate.quantities import Quantity
from refdesk.db.generate.subject import is_amount, money_column
from refdesk.db.schema import Column, Model

_AGES: Final[dict[str, tuple[Op, int]]] = {
    ">": ("<=", 1),
    ">=": ("<=", 0),
    "<": (">", 0),
    "<=": (">", 1),
}
"""How the day of birth compares with today so many years ago, one more where it says so."""
_NUMBERS: Final = frozenset({"integer", "number"})
_OPPOSITES: Final[dict[Op, Op]] = {
    "=": "<>",
    "<>": "=",
    ">": "<=",
    ">=": "<",
    "<": ">=",
    "<=": ">",
}


def read_amounts(plan: Plan) -> None:
    for item in plan.items:
        if item.used or item.amount is None:
            continue
        before, after = plan.items.before(item), plan.items.after(item)
        if before is not None and before.used and item.amount.op not in {None, "between"}:
            if alias := figure_of(plan, before):
                plan.havings.append(
                    Comparison(
                        left=Field(name=alias),
                        op=item.amount.op,
                        right=Constant(value=item.amount.low),
                    )
                )
                item.used = True
                continue
            place = plan.place(before)
            if place is not None and is_amount(place[1]) and not before.models:
                continue
        for beside in (before, after):
            place = plan.place(beside)
            if beside is None or beside.used or place is None or place[1].kind not in _NUMBERS:
                continue
            if plan.unspoken(place) or _weakly(plan, beside):
                continue
            if item.amount.op is None and beside is before and _verbless(plan, beside, item):
                continue
            _compare_amount(plan, item, place, item.amount)
            beside.used = True
            break
        else:
            if item.amount.op is None:
                continue
            noun = ahead(plan, item)
            if noun is not None and noun.models and item.amount.hint is None:
                continue  # "more than 4 orders", "more than 1 remote employee": of groups
            if after is not None and after is plan.items.after(item, skip=False) and after.unknown:
                continue  # "more than 30 days", "over 20 pounds of rice"
            # "Customers with orders over 100": the orders are, and not the customers.
            model = plan.model(before) if before is not None and before.models else None
            model = model or plan.subject
            if item.amount.hint == "age" and (born := _birthday(model)) is not None:
                _aged(plan, item, (model, born))
                continue
            column = _hinted(model, item.amount)
            if column is not None:
                _compare_amount(plan, item, (model, column), item.amount)


def _weakly(plan: Plan, item: Item) -> bool:
    """Whether a word is a figure sooner than a column: "whose orders total more than 60"."""
    named = plan.items.before(item, skip=False)
    exact = max((each.weight for each in item.columns), default=0) > 2
    return item.concept in FUNCTIONS and not exact and named is not None and bool(named.models)


def _verbless(plan: Plan, beside: Item, item: Item) -> bool:
    """Whether a column and a bare number merely stand in one sentence, with "and" between."""
    return any(each.concept == "and" for each in plan.items.between(beside, item))


def _birthday(model: Model) -> Column | None:
    if any(each.name.lower() == "age" for each in model.columns):
        return None
    dates = [each for each in model.columns if each.kind in {"date", "datetime"}]
    return next((c for c in dates if any(w in c.name.lower() for w in ("birth", "dob"))), None)


def _aged(plan: Plan, item: Item, born: Place) -> None:
    """Compare an age in whole years by the day of birth."""
    amount = item.amount
    if amount is None or amount.op not in _AGES or not isinstance(amount.low, int):
        return
    op, more = _AGES[amount.op]
    years = Interval(amount=Constant(value=amount.low + more), unit="year")
    day = Binary(op="-", left=Call(name="TODAY"), right=years)
    plan.wheres.append((Comparison(left=plan.field(*born), op=op, right=day), item))
    item.used = True


def _hinted(model: Model, amount: Quantity) -> Column | None:
    if amount.hint == "age":
        return next((each for each in model.columns if each.name.lower() == "age"), None)
    if amount.hint == "percent":
        return None
    numbers = [
        each
        for each in model.columns
        if each.kind in _NUMBERS and not each.primary and not each.name.lower().endswith("id")
    ]
    found = money_column(model) if amount.hint == "money" or len(numbers) > 1 else None
    if found is None or (amount.hint is None and "salary" in found.name.lower()):
        return numbers[0] if len(numbers) == 1 else None  # "doctors over 50" are that old
    return found


def _compare_amount(plan: Plan, item: Item, place: Place, amount: Quantity) -> None:
    negation = plan.items.before(item, skip=False)
    if amount.op == "between":
        plan.compare(item, place, ">=", amount.low)
        plan.compare(item, place, "<=", amount.high)
        return
    op: Op = amount.op or "="
    if negation is not None and negation.concept == "not" and not negation.used:
        op = _OPPOSITES[op]
        negation.used = True
    denied = negation is not None and negation.concept == "not"
    denied = denied or item.text.lower().startswith(("not ", "不"))
    if denied and place[1].nullable and op not in {"=", "<>"}:
        plan.notices.append(f"rows without a value in {place[1].name!r} are left out")
    plan.compare(item, place, op, amount.low)
