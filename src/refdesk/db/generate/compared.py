"""Rules for comparisons without a plain value: with a column, an average, a day of the week."""

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
from refdesk.db.generate.subject import is_amount

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
