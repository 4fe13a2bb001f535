"""Rules for conditions: each kind is read on its own, in this order."""

from __future__ import annotations

from refdesk.db.dsl import Comparison, Constant, Group
from refdesk.db.generate.amounts import read_amounts
from refdesk.db.generate.compared import read_weekdays
from refdesk.db.generate.contained import read_contained
from refdesk.db.generate.dated import read_times
from refdesk.db.generate.groups import better_column
from refdesk.db.generate.items import Item
from refdesk.db.generate.plan import Place, Plan
from refdesk.db.generate.spans import read_lasting
from refdesk.db.generate.subject import is_amount, is_flag, is_number_of
from refdesk.db.generate.values import read_quoted, read_values
from refdesk.db.generate.without import meets_many, read_without, said_before


def read_filters(plan: Plan) -> None:
    """Make conditions of what limits the rows."""
    read_contained(plan)
    read_weekdays(plan)
    read_without(plan)
    read_values(plan)
    read_quoted(plan)
    read_times(plan)
    read_lasting(plan)
    read_amounts(plan)
    _truths(plan)
    _missing(plan)
    _there(plan)


def _truths(plan: Plan) -> None:
    for item in plan.items:
        place = plan.place(item)
        if item.used or place is None or not is_flag(place[1]):
            continue
        negation = plan.negated(item)
        if negation is not None:
            if meets_many(plan, place[0]) and not said_before(plan, item, place[0]):
                continue  # "customers with no active coupons": with some that are not, or none
            negation.used = True
        opposite = any(each.opposite for each in item.columns if each.column == place[1])
        _told(plan, item, place, (negation is None) != opposite)


def _told(plan: Plan, item: Item, place: Place, holds: bool) -> None:
    """Add the condition that a flag holds or not; what is not said to be so is not so."""
    value = holds if place[1].kind == "boolean" else int(holds)
    if holds:
        plan.compare(item, place, "=", value)
        return
    condition = Comparison(left=plan.field(*place), op="=", right=Constant(value=value))
    plan.wheres.append((plan.or_none(condition, place), item))
    item.used = True


def _missing(plan: Plan) -> None:
    for item in plan.items:
        if item.used or item.concept not in {"not", "empty", "filled"}:
            continue
        said = plan.items.after(item) if item.concept == "not" else plan.items.before(item)
        if item.concept == "empty" and (said is None or said.used or not said.columns):
            said = plan.items.after(item)
        place = plan.place(said)
        if said is None or said.used or place is None or plan.unspoken(place):
            continue  # "members with no fine": in any of their loans, or in none
        if item.concept == "not" and is_number_of(place[1]):
            plan.compare(said, place, "=", 0)
        elif item.concept == "not" and is_amount(place[1]):
            value = plan.field(*place)  # "without a fine": there is none, or it is nought
            nothing = (
                Comparison(left=value, op="is", right=Constant(value="null")),
                Comparison(left=value, op="=", right=Constant(value=0), either=True),
            )
            plan.wheres.append((Group(wheres=nothing), said))
            said.used = True
        else:
            plan.compare(said, place, "is", "not null" if item.concept == "filled" else "null")
        item.used = True


def _there(plan: Plan) -> None:
    """ "Which flights have a meal": what is asked for has a value there."""
    first = next(iter(plan.items), None)
    asked = first is not None and first.text.lower() in {"which", "who", "how many"}
    for item in plan.items:
        place = plan.place(item)
        if item.used or place is None or item.values or place[1].kind == "boolean":
            continue
        if plan.unspoken(place):
            continue
        if item.models and not better_column(item):
            continue
        link = plan.items.before(item, skip=False)
        one = link is not None and link.text.lower() in {"a", "an", "any"}
        if link is not None and one:
            link = plan.items.before(link, skip=False)
        said = link.text.lower().split()[-1] if link is not None else ""
        done = place[1].kind in {"date", "datetime"} and item.text.lower().endswith("ed")
        if done and said in {"been", "were", "was", "are", "is", "who", "that"}:
            plan.compare(item, place, "is", "not null")  # "have been terminated", "who died"
            continue
        if said not in {"with", "have", "has", "having", "有"}:
            continue
        if not (asked or plan.parts or one or place[1].nullable):
            continue
        if not one and (more := plan.items.after(item, skip=False)) and more.concept == "and":
            continue  # "with rating and salary": what is to be shown
        if is_number_of(place[1]):
            plan.compare(item, place, ">", 0)
            continue
        plan.compare(item, place, "is", "not null")
        plan.notices.append(f"{item.text!r} was taken to mean that {place[1].name!r} is not empty")
