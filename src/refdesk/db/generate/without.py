"""Rows without others: "customers without orders", "customers who have not ordered books"."""

from __future__ import annotations

from typing import Final

from refdesk.db.dsl import (
    Comparison,
    Constant,
    Field,
    Join,
    Query,
    Selected,
    Source,
    SubQuery,
)
from refdesk.db.dsl.types import Scalar
from refdesk.db.generate.groups import DATES
from refdesk.db.generate.items import Item
from refdesk.db.generate.plan import Plan
from refdesk.db.generate.subject import is_flag, is_number_of
from refdesk.db.schema import Column, Model

_ARTICLES: Final = frozenset({"a", "an", "the", "any", "all", "be", "been", "being", "those"})


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
        while target is not None and not target.models and _is_kind(plan, target):
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
        if kinds and not deeds_between(plan, item, kinds[0]) and not _denies(item):
            continue  # "customers with not paid orders": with some that are not, or with none paid
        found = _kind_conditions(model, kinds)
        if found is None:
            continue
        following = plan.items.after(target)
        if following is not None and (following.values or following.date or following.amount):
            continue  # "without orders from Germany" is about some of them
        if model not in plan.joins and exclude(plan, item, model, found):
            item.used = target.used = True


def _denies(item: Item) -> bool:
    """Whether a negation denies that there is something at all: "no", "without", "do not have"."""
    said = item.text.lower().split()[-1]
    return said in {"no", "without", "have", "never", "没有", "没", "未"}


def _kind_conditions(model: Model, kinds: list[Item]) -> tuple[Comparison, ...] | None:
    """Return the conditions of "no active coupons", each word a value or a flag of that model."""
    found = []
    for item in kinds:
        held: list[tuple[Column, Scalar]] = [
            (each.column, each.value) for each in item.values if each.model.id == model.id
        ]
        held += [
            (each.column, True if each.column.kind == "boolean" else 1)
            for each in item.columns
            if each.model.id == model.id and is_flag(each.column) and not each.opposite
        ]
        if not held:
            return None
        column, value = held[0]
        left = Field(name=column.name, source=f"${model.id}")
        found.append(Comparison(left=left, op="=", right=Constant(value=value)))
    for item in kinds:
        item.used = True
    return tuple(found)


def _is_kind(plan: Plan, item: Item) -> bool:
    place = plan.place(item)
    return bool(item.values) or (place is not None and is_flag(place[1]))


def deeds_between(plan: Plan, negation: Item, item: Item) -> list[Item]:
    """Return the words that may be verbs between a negation and what it is of."""
    between = plan.items.between(negation, item)
    return [each for each in between if is_deed(each) and each.text.lower() not in _ARTICLES]


def is_deed(item: Item) -> bool:
    """Whether a word may be a verb: unknown, "had", "made", or a column such as "ordered"."""
    said = item.unknown or item.concept in {"stop", "with"}
    return said or (bool(item.columns) and not (item.models or item.values))


def meets_many(plan: Plan, model: Model) -> bool:
    """Whether a row of the subject meets several rows of a model."""
    way = plan.joins.way(model) or plan.joins.leading(plan.subject, model.id)
    return any(step.many for step in way)


def said_before(plan: Plan, item: Item, model: Model) -> bool:
    """Whether a model is named before: "orders that are not paid" are some of its rows."""
    return any(
        plan.items.precedes(each, item) and any(name.model.id == model.id for name in each.models)
        for each in plan.items
    )


def exclude(plan: Plan, item: Item, model: Model, kinds: tuple[Comparison, ...]) -> bool:
    """Add the condition that no row of a model, of these kinds, belongs to a row of the subject."""
    way = plan.joins.way(model)
    if not way or way[0].source.id != plan.subject.id:
        return False
    first = way[0]
    column = plan.subject.column(first.relation.column)
    if column is None:
        return False
    mine = Field(name=column.name, source=f"${plan.subject.id}")
    if len(way) == 1 and not first.many:
        if kinds:
            return False
        plan.wheres.append((Comparison(left=mine, op="is", right=Constant(value="null")), item))
    else:
        theirs = Field(name=first.relation.foreign, source=f"${first.target.id}")
        others = Query(
            source=Source(name=f"${first.target.id}"),
            select=(Selected(value=theirs),),
            wheres=(Comparison(left=theirs, op="is", right=Constant(value="not null")), *kinds),
            joins=tuple(
                Join(
                    source=Source(name=f"${step.target.id}"),
                    key=Field(name=step.relation.foreign, source=f"${step.target.id}"),
                    foreign=Field(name=step.relation.column, source=f"${step.source.id}"),
                )
                for step in way[1:]
            ),
        )
        among = Comparison(left=mine, op="not in", right=SubQuery(query=others))
        plan.wheres.append((plan.or_none(among, (plan.subject, column)), item))
    plan.joins.barred.add(model.id)
    plan.joins.mentions = tuple(each for each in plan.joins.mentions if each.id != model.id)
    return True
