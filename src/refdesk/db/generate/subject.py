"""Which model a question is about, which columns stand for it, and the ways to the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from refdesk.db.generate.items import Item, Items
from refdesk.db.generate.schema_words import best
from refdesk.db.schema import Column, Model, ModelSet, Relation

_HEADS: Final = frozenset(
    {"count", "top", "most", "least", "dearest", "cheapest", "newest", "oldest"}
)
_NAMES: Final = ("name", "title", "label", "subject", "fullname", "full_name")
_MONEY: Final = ("price", "total", "amount", "cost", "revenue", "salary", "value", "fee", "balance")
_DATES: Final = (
    "ordered",
    "order",
    "created",
    "date",
    "placed",
    "time",
    "start",
    "published",
    "signed",
)
_FARTHEST: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One join: from a model, along a relation, to another."""

    source: Model
    relation: Relation
    target: Model
    many: bool
    """Whether one row may meet several."""


def subject_of(items: Items, models: ModelSet) -> Model | None:
    """Return the model that the question asks for; None where nothing tells."""
    scores: dict[str, float] = {model.id: 0.0 for model in models}
    named = 0
    # What an English question is about comes first, what a Chinese one is about comes last.
    mentions = sum(bool(item.models) for item in items)
    for item in items:
        before = items.before(item)
        later = named if item.text.isascii() else mentions - 1 - named
        for name in item.models:
            role = 0.2
            if before is not None and before.concept in {"group", "by", "not"}:
                role = -2.0
            elif before is not None and before.concept in _HEADS:
                role = 3.0
            scores[name.model.id] += 1.0 + name.weight / 4 + role - 0.6 * later
        named += bool(item.models)
        if item.columns and not item.models:
            heaviest = max(each.weight for each in item.columns)
            owners = {each.model.id for each in item.columns if each.weight == heaviest}
            aggregated = before is not None and before.concept in {"sum", "avg", "max", "min"}
            for owner in owners:
                scores[owner] += (1.5 if aggregated else 0.6) / (1 + 0.2 * (len(owners) - 1))
        for owner in {each.model.id for each in item.values}:
            scores[owner] += 0.4
    top = max(scores.values(), default=0.0)
    first = [model for model in models if scores[model.id] == top]
    return first[0] if top > 0.3 and (len(first) == 1 or named) else None


def path(models: ModelSet, start: Model, goal: Model) -> tuple[Step, ...] | None:
    """Return the shortest way along declared relations, either way round; None where none is."""
    queue: deque[tuple[Model, tuple[Step, ...]]] = deque([(start, ())])
    seen = {start.id}
    while queue:
        model, steps = queue.popleft()
        if model.id == goal.id:
            return steps
        if len(steps) == _FARTHEST:
            continue
        for step in _steps(models, model):
            if step.target.id not in seen:
                seen.add(step.target.id)
                queue.append((step.target, (*steps, step)))
    return None


def _steps(models: ModelSet, model: Model) -> list[Step]:
    found = []
    for relation in model.relations:
        target = models.get(relation.model)
        if target is not None:
            many = relation.kind == "many"
            found.append(Step(source=model, relation=relation, target=target, many=many))
    found += [
        Step(source=model, relation=each, target=models.models[at], many=each.kind == "many")
        for at, each in _implied(models, model)
    ]
    for other in models:
        for relation in other.relations:
            target = models.get(relation.model)
            if target is None or target.id != model.id or other.id == model.id:
                continue
            back = Relation(
                name=relation.name,
                model=other.id,
                column=relation.foreign,
                foreign=relation.column,
                kind="many" if relation.kind == "one" else "one",
            )
            many = back.kind == "many"
            found.append(Step(source=model, relation=back, target=other, many=many))
    return found


def _implied(models: ModelSet, model: Model) -> list[tuple[int, Relation]]:
    """
    Return the ways that equal names of key columns show, where no relation is declared at all.

    A column called like the other model's key refers to it: ``orders.customer_id`` to
    ``customers.customer_id``, or to ``customers.id``.
    """
    if any(each.relations for each in models):
        return []
    found = []
    for at, other in enumerate(models):
        if other.id == model.id:
            continue
        if (there := _key(other, models)) and (here := _refers(model, other, there)):
            found.append((at, _relation(other, here, there, "one")))
        elif (own := _key(model, models)) and (back := _refers(other, model, own)):
            found.append((at, _relation(other, own, back, "many")))
    return found


def _key(model: Model, models: ModelSet) -> str | None:
    """Return the key that others refer to; of several alike, that of the model named so."""
    key = _first_key(model)
    if key is None or key.lower() == "id":
        return key
    rivals = [each for each in models if (_first_key(each) or "").lower() == key.lower()]
    stem = key.lower().removesuffix("id").rstrip("_")
    own = [each for each in rivals if stem in {each.table.lower(), each.table.lower().rstrip("s")}]
    return key if rivals == [model] or own == [model] else None


def key_column(model: Model) -> Column | None:
    """Return the column that tells rows apart: the declared key, or an id that stands first."""
    name = _first_key(model)
    return None if name is None else model.column(name)


def _first_key(model: Model) -> str | None:
    """Return the one column that is the key: declared, or the first one if it is an id."""
    if len(model.primary_key) == 1:
        return model.primary_key[0]
    first = model.columns[0].name if model.columns else ""
    second = model.columns[1].name if len(model.columns) > 1 else ""
    is_link = second.lower().endswith("id")
    return first if first.lower().endswith("id") and not model.primary_key and not is_link else None


def _refers(model: Model, other: Model, key: str) -> str | None:
    names = {key.lower()} if key.lower() != "id" else set()
    if key.lower() == "id":
        names = {f"{word}_id" for word in (other.id.lower(), other.id.lower().removesuffix("s"))}
    return next((each.name for each in model.columns if each.name.lower() in names), None)


def _relation(other: Model, column: str, foreign: str, kind: Literal["one", "many"]) -> Relation:
    return Relation(name=other.id, model=other.id, column=column, foreign=foreign, kind=kind)


def name_column(model: Model) -> Column | None:
    """Return the column that names a row."""
    texts = [each for each in model.columns if each.kind == "text" and not each.private]
    for name in _NAMES:
        if found := next((each for each in texts if each.name.lower() == name), None):
            return found
    return next((each for each in texts if "name" in each.name.lower()), None) or next(
        (each for each in texts if "title" in each.name.lower()), None
    )


def money_column(model: Model) -> Column | None:
    """Return the column that holds an amount of money."""
    numbers = [each for each in model.columns if each.kind in {"number", "integer"}]
    return _first(numbers, _MONEY)


def date_column(model: Model) -> Column | None:
    """Return the column that a time is about, where no other is named."""
    dates = [each for each in model.columns if each.kind in {"date", "datetime"}]
    if len(dates) > 1:
        return _first(dates, _DATES) or dates[0]
    years = [each for each in model.columns if each.name.lower() in {"year", "release_year"}]
    return next(iter(dates or years), None)


def reachable(
    item: Item, subject: Model, near: Callable[[Model], bool]
) -> tuple[Model, Column] | None:
    """Return the column that an item names: of the subject, else of the one model near it."""
    if own := best(item.meanings, subject):
        return subject, own.column
    if any(each.model.id == subject.id for each in item.columns):
        return None
    others = {each.model.id: each.model for each in item.columns if near(each.model)}
    found = [(model, name) for model in others.values() if (name := best(item.meanings, model))]
    found.sort(key=lambda pair: -pair[1].weight)
    if not found or (len(found) > 1 and found[0][1].weight == found[1][1].weight):
        return None
    return found[0][0], found[0][1].column


def _first(columns: list[Column], words: tuple[str, ...]) -> Column | None:
    return next((each for word in words for each in columns if word in each.name.lower()), None)
