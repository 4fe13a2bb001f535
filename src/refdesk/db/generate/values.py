"""Rules for values that a question names: "Nike products", "the city of Paris"."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from refdesk.db.dsl import Comparison, Constant, Field
from refdesk.db.generate.items import Item
from refdesk.db.generate.plan import Place, Plan
from refdesk.db.generate.schema_words import Value
from refdesk.db.generate.subject import name_column
from refdesk.db.generate.tokens import identifier_words
from refdesk.db.generate.without import (
    deeds_between,
    exclude,
    is_deed,
    meets_many,
    said_before,
)


def read_values(plan: Plan) -> None:
    found: dict[tuple[str, str, int, bool], list[tuple[Item, Value]]] = {}
    for item in plan.items:
        if item.used or not item.values or plan.named(item):
            continue
        if (item.columns or item.models) and not item.values:
            continue
        value = _chosen(plan, item)
        if value is None or _is_verb(plan, item, value):
            continue
        negation = plan.negated(item) or _not_done(plan, item, value)
        for each in (negation, *_said_column(plan, item, value)):
            if each is not None:
                each.used = True
                if negation is not None and _of_some(plan, each, negation):
                    plan.needed.add(value.model.id)
        where = (value.model.id, value.column.name, plan.part(item))
        key = (*where, negation is not None)
        if negation is None and key not in found and (*where, True) in found:
            key = (*where, True)  # "not A or B": the "not" is for both
        found.setdefault(key, []).append((item, value))
        item.used = True
    for (*_, negative), pairs in found.items():
        place = (pairs[0][1].model, pairs[0][1].column)
        values = list(dict.fromkeys(value.value for _, value in pairs))
        either = any(
            each.text.lower() == "both"
            for first, second in pairwise(pairs)
            for each in plan.items
            if not each.used and plan.items.precedes(each, second[0])
        )
        if either and not negative:
            continue  # in both at once: no one row is
        if negative and meets_many(plan, place[0]) and not said_before(plan, pairs[0][0], place[0]):
            _none_of(plan, [item for item, _ in pairs], place, values)
        elif len(values) == 1:
            plan.compare(pairs[0][0], place, "<>" if negative else "=", values[0])
        else:
            plan.one_of(pairs[0][0], place, values, negative=negative)
            for first, second in pairwise(pairs):
                for between in plan.items.between(first[0], second[0]):
                    between.used = between.used or between.concept in {"or", "and"}


def _of_some(plan: Plan, item: Item, negation: Item) -> bool:
    """Whether "of customers not in Berlin" wants some; "whose teacher is not" may have none."""
    link = plan.items.before(item, skip=False)
    whose = link is not None and link.text.lower() == "whose"
    return bool(item.models) and not whose and plan.items.precedes(item, negation)


def _not_done(plan: Plan, item: Item, value: Value) -> Item | None:
    """Return the "not" before a verb and a value: "customers who have not bought Nike products"."""
    if not meets_many(plan, value.model):
        return None
    before = plan.items.before(item)
    while before is not None and not before.used and is_deed(before):
        before = plan.items.before(before)
    found = before is not None and before.concept == "not" and not before.used
    return before if found else None


def _none_of(plan: Plan, items: list[Item], place: Place, values: list[str]) -> None:
    """Exclude the rows of the subject that have such rows; without a verb, leave the "not" over."""
    negation = next(
        each for each in reversed(plan.items.row)
        if each.concept == "not" and plan.items.precedes(each, items[0])
    )  # fmt: skip
    deeds = deeds_between(plan, negation, items[0])
    kinds = Comparison(
        left=Field(name=place[1].name, source=f"${place[0].id}"),
        op="in",
        right=tuple(Constant(value=each) for each in values),
    )
    done = bool(deeds) and exclude(plan, items[0], place[0], (kinds,))
    for each in (negation, *items, *(each for each in deeds if not each.unknown)):
        each.used = done
    for first, second in pairwise(items):
        for each in plan.items.between(first, second):
            each.used = each.used or (done and each.concept in {"or", "and"})


_WAYS: Final = frozenset({"from", "to", "origin", "destination"})


def _chosen(plan: Plan, item: Item) -> Value | None:
    """Return the value meant: of a column said beside it, else of the subject, else nearby."""
    near = [each for each in item.values if plan.near(each.model)]
    for beside in (plan.items.before(item), plan.items.after(item)):
        if beside is not None and beside.columns:
            for each in near:
                if any(
                    (name.model.id, name.column.name) == (each.model.id, each.column.name)
                    for name in beside.columns
                ):
                    return each
    noun = plan.items.after(item)
    while noun is not None and noun.values and not noun.models:
        noun = plan.items.after(noun)
    described = {each.model.id for each in noun.models} if noun is not None else set()
    if adjective := [each for each in near if each.model.id in described]:
        near = adjective
    own = [each for each in near if each.model.id == plan.subject.id]
    chosen = own or near
    link = plan.items.before(item, skip=False)
    said_way = link.text.lower() if link is not None else ""
    ways = [each for each in chosen if identifier_words(each.column.name)[0] in _WAYS]
    if ways:
        chosen = [each for each in ways if identifier_words(each.column.name)[0] == said_way]
        if not chosen:
            return None  # from or to it: nothing says which
    if len({(each.model.id, each.column.name) for each in chosen}) > 1:
        named = {n.model.id for other in plan.items for n in other.models}
        chosen = [each for each in chosen if each.model.id in named] or chosen
        if others := {f"{each.model.id}.{each.column.name}": None for each in chosen[1:]}:
            plan.notices.append(
                f"{item.text!r} was taken for a value of {chosen[0].column.name!r}; "
                f"it is one of {', '.join(others)} too"
            )
    if not chosen:
        return None
    beside = plan.items.before(item, skip=False)
    said = plan.place(beside)
    if beside is not None and said is not None and not beside.used and said[1].kind == "text":
        return None  # "states that border Texas": the value is of a column that lacks it here
    return chosen[0]


def _is_verb(plan: Plan, item: Item, value: Value) -> bool:
    """Whether "paid by paypal" says how, and not which status."""
    by = plan.items.after(item, skip=False)
    how = plan.items.after(item)
    if by is None or by.text.lower() not in {"by", "with", "via", "using", "through"}:
        return False
    if by.concept == "by":
        how = plan.items.after(by)
    if how is None or not how.values:
        return False
    verb = item.text.lower()[:2]
    if any(
        each.column.name != value.column.name and each.column.name.lower().startswith(verb)
        for each in how.values
    ):
        item.used = by.used = True
        return True
    return False


def _said_column(plan: Plan, item: Item, value: Value) -> list[Item]:
    """Return the words beside a value that say its column: "the city of Paris"."""
    said = []
    before = plan.items.before(item)
    if before is not None and before.concept == "not":
        before = plan.items.before(before)  # "whose city is not Berlin"
    for beside in (before, plan.items.after(item)):
        if beside is not None and beside.concept == "named" and plan.items.precedes(beside, item):
            said.append(beside)
            beside = plan.items.before(beside)
        if beside is None or beside.used:
            continue
        if (
            any(
                (each.model.id, each.column.name) == (value.model.id, value.column.name)
                for each in beside.columns
            )
            or any(each.model.id == value.model.id for each in beside.models)
            or (beside.concept == "by" and plan.items.precedes(beside, item))
        ):
            said.append(beside)
    return said


def read_quoted(plan: Plan) -> None:
    for item in plan.items:
        if item.quoted is None or item.used:
            continue
        text = item.quoted
        before = plan.items.before(item)
        called = before is not None and before.concept == "named"
        if before is not None and called:
            before.used = True
            before = plan.items.before(before) or before
        place = plan.place(before)
        if before is not None and (place is None or place[1].kind != "text"):
            model = plan.model(before) or plan.subject
            column = name_column(model) if before.models or called else None
            place = (model, column) if column else None
        if before is None or place is None or place[1].kind != "text":
            continue
        plan.compare(item, place, "<>" if (no := plan.negated(item)) else "=", text)
        before.used = True
        if no:
            no.used = True
