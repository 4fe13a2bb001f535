"""Rules for comparisons without a plain value: with a column, an average, or nothing at all."""

from __future__ import annotations

from typing import Final

from refdesk.db.dsl import (
    Call,
    Comparison,
    Constant,
    Field,
    Query,
    Selected,
    Source,
    SubQuery,
)
from refdesk.db.dsl.types import Op
from refdesk.db.generate.groups import DATES, time_place
from refdesk.db.generate.items import Item
from refdesk.db.generate.plan import Place, Plan
from refdesk.db.generate.subject import is_amount, is_number_of
from refdesk.db.schema import Model

_OPS: Final[dict[str, Op]] = {"above": ">", "below": "<"}
_DAYS: Final = {
    name: number
    for number, name in enumerate(
        ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
    )
}


def read_compared(plan: Plan) -> None:
    """ "Returned after the due date", "priced above average"."""
    for item in plan.items:
        if item.used or item.concept not in _OPS:
            continue
        before, after = _column_before(plan, item), plan.items.after(item)
        while after is not None and after.concept == "stop" and not after.columns:
            after = plan.items.after(after)
        left = plan.place(before)
        if before is None or after is None or left is None:
            continue
        if after.concept == "avg":
            _with_average(plan, item, before, after, left)
            continue
        right = plan.place(after)
        if right is None or after.used or not _alike(left, right) or left == right:
            continue
        if left[0].id != right[0].id and plan.place(before) is not None:
            plan.join(left[0])
            way = plan.joins.way(right[0]) or ()
            if any(step.many for step in way):
                continue  # "higher than their orders": than which of them
        plan.wheres.append(
            (
                Comparison(left=plan.field(*left), op=_OPS[item.concept], right=plan.field(*right)),
                item,
            )
        )
        item.used = before.used = after.used = True


def _column_before(plan: Plan, item: Item) -> Item | None:
    before = plan.items.before(item)
    while before is not None and before.concept == "stop" and not before.columns:
        before = plan.items.before(before)
    place = plan.place(before)
    return before if place is not None and (is_amount(place[1]) or place[1].kind in DATES) else None


def _alike(left: Place, right: Place) -> bool:
    dates = left[1].kind in DATES and right[1].kind in DATES
    return dates or (is_amount(left[1]) and is_amount(right[1]))


def _with_average(plan: Plan, item: Item, before: Item, after: Item, left: Place) -> None:
    """Compare with the average of all rows."""
    said = plan.items.after(after)
    if not is_amount(left[1]):
        return
    if said is not None and plan.place(said) is not None:
        if plan.place(said) != left:
            return
        said.used = True
    average = Query(
        source=Source(name=f"${left[0].id}"),
        select=(
            Selected(value=Call(name="AVG", args=(Field(name=left[1].name),)), alias="average"),
        ),
    )
    condition = Comparison(
        left=plan.field(*left), op=_OPS[item.concept or ""], right=SubQuery(query=average)
    )
    plan.wheres.append((condition, item))
    item.used = before.used = after.used = True


def read_weekdays(plan: Plan) -> None:
    """ "On weekends", "on Mondays": by the day of the week of the date that is meant."""
    for item in plan.items:
        if item.used or item.concept not in {"weekend", "workday", "dow"}:
            continue
        place = time_place(plan)
        if place is None:
            continue
        days = [6, 0] if item.concept in {"weekend", "workday"} else [_DAYS[_name(item)]]
        day = Call(name="DAYOFWEEK", args=(plan.field(*place),))
        plan.wheres.append(
            (
                Comparison(
                    left=day,
                    op="not in" if item.concept == "workday" else "in",
                    right=tuple(Constant(value=each) for each in days),
                ),
                item,
            )
        )
        item.used = True
        for other in plan.items:
            if plan.place(other) == place:
                other.used = True


def _name(item: Item) -> str:
    return item.text.lower().strip().removesuffix("s")


def read_without(plan: Plan) -> None:
    """ "Customers without orders", "authors who are not part of any organization"."""
    for item in plan.items:
        if item.used or item.concept != "not":
            continue
        target = plan.items.after(item)
        passed = []
        while target is not None and not (target.models or target.columns or target.values):
            if not (target.unknown or target.concept == "stop") or target.text[:1].isupper():
                return
            passed.append(target)
            target = plan.items.after(target)
        kinds = []
        while target is not None and target.values and not target.models:
            kinds.append(target)
            target = plan.items.after(target)
        model = plan.model(target)
        place = plan.place(target)
        done = place is not None and place[0].id != plan.subject.id and place[1].kind in DATES
        if model is None and place is not None and done:
            model = place[0]  # "never been ordered": there is no order
        if target is None or model is None or model.id == plan.subject.id or target.values:
            continue
        if place is not None and place[0].id == plan.subject.id and is_number_of(place[1]):
            continue  # "flights without stops": the flight says how many
        found = _kind_conditions(model, kinds)
        if found is None:
            continue
        following = plan.items.after(target)
        if following is not None and (following.values or following.date or following.amount):
            continue  # "without orders from Germany" is about some of them
        if model in plan.joins or not _excluded(plan, item, model, found):
            continue
        item.used = target.used = True
        plan.joins.barred.add(model.id)
        plan.joins.mentions = tuple(each for each in plan.joins.mentions if each.id != model.id)


def _kind_conditions(model: Model, kinds: list[Item]) -> tuple[Comparison, ...] | None:
    """Return the conditions of "no active coupons", where each word is a value of that model."""
    found = []
    for item in kinds:
        value = next((each for each in item.values if each.model.id == model.id), None)
        if value is None:
            return None
        item.used = True
        found.append(
            Comparison(
                left=Field(name=value.column.name), op="=", right=Constant(value=value.value)
            )
        )
    return tuple(found)


def _excluded(plan: Plan, item: Item, model: Model, kinds: tuple[Comparison, ...]) -> bool:
    way = plan.joins.way(model)
    if not way or way[0].source.id != plan.subject.id:
        return False
    step = way[0]
    column = plan.subject.column(step.relation.column)
    if column is None or any(each.many for each in way[1:]):
        return False
    mine = Field(name=column.name, source=f"${plan.subject.id}")
    if kinds and (not step.many or len(way) > 1):
        return False
    if not step.many:
        condition = Comparison(left=mine, op="is", right=Constant(value="null"))
    else:
        theirs = Field(name=step.relation.foreign)
        others = Query(
            source=Source(name=f"${step.target.id}"),
            select=(Selected(value=theirs),),
            wheres=(Comparison(left=theirs, op="is", right=Constant(value="not null")), *kinds),
        )
        condition = Comparison(left=mine, op="not in", right=SubQuery(query=others))
    plan.wheres.append((condition, item))
    return True
