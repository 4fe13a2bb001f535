"""Which column a word of a question means, of the models that the question is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from refdesk.db.generate.items import Item, Items
from refdesk.db.generate.joins import Joins
from refdesk.db.generate.schema_words import best
from refdesk.db.generate.subject import money_column, name_columns, says_more
from refdesk.db.schema import Column, Model

_OWNERS: Final = frozenset({"of", "of the", "的"})


def place_of(
    item: Item, items: Items, joins: Joins, entities: Sequence[Model]
) -> tuple[Model, Column] | None:
    """
    Return the column that an item names, or None where it names none, or several alike.

    The owner said beside it decides, "name of the customer"; else how exactly the word fits, and
    whether its model is the subject, is spoken of, or has to be brought in.
    """
    if not item.columns:
        return None
    said = _compound_owner(item, items)
    owned = owners_of(item, items)
    for owner in [*(said or ()), *owned]:
        if (found := best(item.meanings, owner)) and joins.distance(owner) is not None:
            return owner, found.column
    owners = owned if item.text.lower() in {"name", "names"} else []
    if owners and len(name_columns(owners[0])) > 1:
        return None
    if said:
        return _money(item, said, joins)
    spoken = {each.id for each in (*joins.mentions, *entities)}
    scored = []
    for model in {each.model.id: each.model for each in item.columns}.values():
        fitting = [each for each in item.columns if each.model.id == model.id]
        own = model.id == joins.subject.id
        distance = joins.distance(model)
        if distance is None or any(joins.kin(owner, model) for owner in owned):
            continue  # "amount of payments", where orders have one: no payment has
        weight: float = max(each.weight for each in fitting)
        weight += 1.5 * any(
            says_more(items.before(item, skip=False), each.column) for each in fitting
        )
        score = weight + (3.0 if own else 2.5 if model.id in spoken else 0.0) - 0.4 * distance
        if any(each.id == model.id for each in entities):
            score += 1
        scored.append((score, model))
    scored.sort(key=lambda pair: -pair[0])
    if not scored or (len(scored) > 1 and scored[0][0] == scored[1][0]):
        return None
    found = best(item.meanings, scored[0][1])
    return None if found is None else (scored[0][1], found.column)


def _compound_owner(item: Item, items: Items) -> list[Model]:
    """Return the model whose name stands right before: "sales amount"."""
    before = items.before(item, skip=False)
    if before is None or not _is_model(before) or before.values:
        return []
    direct = items.joined(before, item) and not item.models
    return [each.model for each in before.models] if direct else []


def _money(item: Item, owners: Sequence[Model], joins: Joins) -> tuple[Model, Column] | None:
    """Return what a model's rows are worth, where "sales amount" or "order value" is said."""
    if item.text.lower() not in {"amount", "value", "revenue", "total", "worth"}:
        return None
    for owner in owners:
        column = money_column(owner)
        if column is not None and joins.distance(owner) is not None:
            return owner, column
    return None


def _is_model(item: Item) -> bool:
    """Whether a word names a model more exactly than any column."""
    as_column = max((each.weight for each in item.columns), default=0)
    return max((each.weight for each in item.models), default=0) > as_column


def owners_of(item: Item, items: Items) -> list[Model]:
    """Return the models that are said to have it: "user name", "name of each user", "its name"."""
    found: list[Model] = []
    before = items.before(item, skip=False)
    while before is not None and before.text.lower() in {"a", "an", "the"}:
        before = items.before(before, skip=False)
    if before is not None and before.concept == "with":
        who = items.before(before, skip=False)
        if who is not None and who.models and not who.values:
            found += [each.model for each in who.models]
    if before is not None and before.text.lower() == "its":
        named = [each for each in items if each.models and items.precedes(each, item)]
        found += [each.model for each in named[-1].models] if named else []
    after = items.after(item, skip=False)
    while after is not None and (
        after.text.strip().lower() in _OWNERS or after.concept in {"stop", "group"}
    ):
        after = items.after(after, skip=False)
        if after is not None and _is_model(after):
            between = items.between(item, after)
            if any(each.text.strip().lower() in _OWNERS for each in between):
                found += [each.model for each in after.models]
    return found
