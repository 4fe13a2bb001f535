"""Which model a question is about, and which of its columns stand for it."""

from __future__ import annotations

from typing import Final

from refdesk.db.generate.items import Item, Items
from refdesk.db.generate.tokens import identifier_words
from refdesk.db.schema import Column, Model, ModelSet

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


def subject_of(items: Items, models: ModelSet) -> Model | None:
    """Return the model that the question asks for; None where nothing tells."""
    scores: dict[str, float] = {model.id: 0.0 for model in models}
    named = 0
    # What an English question is about comes first, what a Chinese one is about comes last.
    mentions = sum(bool(item.models) for item in items)
    for item in items:
        before = items.before(item)
        later = named if item.text.isascii() else mentions - 1 - named
        best = {each.model.id: each for each in sorted(item.models, key=lambda x: x.weight)}
        for name in best.values():
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
            after = None if item.text.isascii() else items.after(item)  # 罚款总额
            aggregated = any(
                each is not None and each.concept in {"sum", "avg", "max", "min"}
                for each in (before, after)
            )
            more = {each.model.id for each in item.columns if says_more(before, each.column)}
            for owner in more:
                scores[owner] += 1.2
            for owner in owners:
                scores[owner] += (1.5 if aggregated else 0.6) / (1 + 0.2 * (len(owners) - 1))
        for owner in {each.model.id for each in item.values}:
            scores[owner] += 0.4
    top = max(scores.values(), default=0.0)
    first = [model for model in models if scores[model.id] == top]
    return first[0] if top > 0.3 and (len(first) == 1 or named) else None


def says_more(before: Item | None, column: Column) -> bool:
    """Whether "total" stands before a column that is called a total."""
    if before is None or before.concept not in {"count", "sum", "avg"}:
        return False
    said = set(before.text.lower().split()) - {"of", "the", "number"}
    return bool(said & set(identifier_words(column.name)))


def name_column(model: Model) -> Column | None:
    """Return the column that names a row."""
    texts = [each for each in model.columns if each.kind == "text" and not each.private]
    for name in _NAMES:
        if found := next((each for each in texts if each.name.lower() == name), None):
            return found
    own = {model.table.lower(), model.table.lower().rstrip("s")}
    if found := next((each for each in texts if each.name.lower() in own), None):
        return found
    return next((each for each in texts if "name" in each.name.lower()), None) or next(
        (each for each in texts if "title" in each.name.lower()), None
    )


def name_columns(model: Model) -> list[Column]:
    """Return the columns that name a row: a first and a last name, or one name."""
    names = {each.name.lower().replace("_", ""): each for each in model.columns}
    if "firstname" in names and "lastname" in names:
        return [names["firstname"], names["lastname"]]
    name = name_column(model)
    return [name] if name is not None else []


def money_column(model: Model) -> Column | None:
    """Return the column that holds an amount of money."""
    return _first([each for each in model.columns if is_amount(each)], _MONEY)


def date_column(model: Model) -> Column | None:
    """Return the column that a time is about, where no other is named."""
    dates = [
        each
        for each in model.columns
        if each.kind in {"date", "datetime"}
        and not any(word in each.name.lower() for word in ("birth", "dob"))
    ]
    if len(dates) > 1:
        return _first(dates, _DATES) or dates[0]
    years = [each for each in model.columns if each.name.lower() in {"year", "release_year"}]
    return next(iter(dates or years), None)


def is_flag(column: Column) -> bool:
    """Whether a column says yes or no, also where it does so by 1 and 0."""
    return column.kind == "boolean" or (
        column.kind == "integer" and column.name.lower().startswith(("is_", "has_"))
    )


def is_amount(column: Column) -> bool:
    """Whether a column holds numbers that can be added up or compared."""
    return column.kind in {"integer", "number"} and not is_flag(column) and not is_id(column)


def is_id(column: Column) -> bool:
    """Whether a column tells rows apart, and its numbers count nothing."""
    return column.name.lower() == "id" or identifier_words(column.name)[-1:] == ("id",)


def is_number_of(column: Column) -> bool:
    """Whether a column says how many of something there are: ``stops``, ``review_count``."""
    words = column.name.lower().split("_")
    if column.kind != "integer" or column.primary or words[-1] == "id":
        return False
    return bool({words[0], words[-1]} & {"num", "count"}) or (
        words[-1].endswith("s") and not words[-1].endswith("ss")
    )


def _first(columns: list[Column], words: tuple[str, ...]) -> Column | None:
    return next((each for word in words for each in columns if word in each.name.lower()), None)
