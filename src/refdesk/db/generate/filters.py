"""Rules for conditions: values, amounts, times, truth, what is missing, text that is contained."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import Final

from refdesk.db.dsl.types import Comparison, Constant, Field, Op
from refdesk.db.generate.compared import read_compared, read_weekdays, read_without
from refdesk.db.generate.items import Item
from refdesk.db.generate.plan import Place, Plan, figure_of
from refdesk.db.generate.quantities import Quantity
from refdesk.db.generate.schema_words import Value
from refdesk.db.generate.subject import date_column, is_amount, is_flag, money_column, name_column
from refdesk.db.schema import Column, Model

_NUMBERS: Final = frozenset({"integer", "number"})
_OPPOSITES: Final[dict[Op, Op]] = {
    "=": "<>",
    "<>": "=",
    ">": "<=",
    ">=": "<",
    "<": ">=",
    "<=": ">",
}
_DATES: Final = frozenset({"date", "datetime"})
_WITH: Final = frozenset({"with", "having", "has", "have", "whose", "where", "includes", "and"})


def read_filters(plan: Plan) -> None:
    """Make conditions of what limits the rows."""
    _contained(plan)
    read_compared(plan)
    read_weekdays(plan)
    read_without(plan)
    _values(plan)
    _quoted(plan)
    _times(plan)
    _amounts(plan)
    _truths(plan)
    _missing(plan)


def _values(plan: Plan) -> None:
    found: dict[tuple[str, str, int, bool], list[tuple[Item, Value]]] = {}
    for item in plan.items:
        if item.used or not item.values or plan.named(item):
            continue
        if (item.columns or item.models) and not item.values:
            continue
        value = _chosen(plan, item)
        if value is None or _is_verb(plan, item, value):
            continue
        negation = plan.negated(item)
        for each in (negation, *_said_column(plan, item, value)):
            if each is not None:
                each.used = True
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
        if len(values) == 1:
            plan.compare(pairs[0][0], place, "<>" if negative else "=", values[0])
        else:
            plan.one_of(pairs[0][0], place, values, negative=negative)
            for first, second in pairwise(pairs):
                for between in plan.items.between(first[0], second[0]):
                    between.used = between.used or between.concept in {"or", "and"}


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
    if len({(each.model.id, each.column.name) for each in chosen}) > 1:
        named = {n.model.id for other in plan.items for n in other.models}
        chosen = [each for each in chosen if each.model.id in named] or chosen
        others = ", ".join(dict.fromkeys(each.column.name for each in chosen[1:]))
        plan.notices.append(
            f"{item.text!r} was taken for a value of {chosen[0].column.name!r}; "
            f"it is one of {others} too"
        )
    return chosen[0] if chosen else None


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
    for beside in (plan.items.before(item), plan.items.after(item)):
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


def _quoted(plan: Plan) -> None:
    for item in plan.items:
        if item.quoted is None or item.used:
            continue
        text = item.quoted
        before = plan.items.before(item)
        if before is not None and before.concept == "named":
            before.used = True
            before = plan.items.before(before) or before
        place = plan.place(before)
        if before is not None and (place is None or place[1].kind != "text"):
            model = plan.model(before) or plan.subject
            column = name_column(model) if before.models or before.used else None
            place = (model, column) if column else None
        if before is None or place is None or place[1].kind != "text":
            continue
        plan.compare(item, place, "<>" if (no := plan.negated(item)) else "=", text)
        before.used = True
        if no:
            no.used = True


def _contained(plan: Plan) -> None:
    for item in plan.items:
        if item.used or item.concept not in {"contains", "starts", "ends"}:
            continue
        words, end = _run(plan, item)
        if not words:
            continue
        before = plan.items.before(item)
        place = plan.place(before)
        negation = plan.items.before(item, skip=False)
        if place is None and negation is not None and negation.concept == "not":
            before = plan.items.before(negation)
            place = plan.place(before)
        if place is None or place[1].kind != "text":
            following = plan.items.after(end)
            place = plan.place(following)
            before = following
        if before is None or place is None or place[1].kind != "text":
            continue
        _match(plan, item, place, " ".join(words))
        before.used = True
    for item in plan.items:  # "with bluetooth in the description"
        place = plan.place(item)
        if item.used or place is None or place[1].kind != "text":
            continue
        link = plan.items.before(item, skip=False)
        if link is not None and link.text.lower() in {"the", "its", "their"}:
            link = plan.items.before(link, skip=False)
        word = plan.items.before(link, skip=False) if link is not None else None
        if link is None or word is None or link.text.lower() != "in":
            continue
        if word.used or not (word.unknown or word.quoted):
            continue
        if any(each.column.name == place[1].name for each in word.values):
            continue
        lead = plan.items.before(word, skip=False)
        if lead is None or lead.text.lower() not in _WITH:
            continue
        word.used = item.used = True
        _match(plan, item, place, word.quoted or word.text)


def _run(plan: Plan, item: Item) -> tuple[list[str], Item]:
    """Return what is contained: what is quoted, else the unknown words that follow."""
    following = plan.items.after(item)
    if following is None:
        return [], item
    if following.quoted is not None:
        following.used = True
        return [following.quoted], following
    words, end = [], item
    while following is not None and not following.used and following.unknown:
        words.append(following.text)
        following.used = True
        end = following
        following = plan.items.after(following, skip=False)
    return words, end


def _match(plan: Plan, item: Item, place: Place, text: str) -> None:
    before = plan.items.before(item, skip=False)
    negative = before is not None and before.concept == "not"
    if negative and before is not None:
        before.used = True
    # The wildcards of LIKE mean themselves in what a person writes.
    pattern = text.replace("%", "").replace("_", " ") if "%" in text else text
    if item.concept == "starts":
        pattern = f"{pattern}%"
    elif item.concept == "ends":
        pattern = f"%{pattern}"
    else:
        pattern = f"%{pattern}%"
    plan.compare(item, place, "not like" if negative else "like", pattern)


def _times(plan: Plan) -> None:
    for item in plan.items:
        if item.used or item.date is None:
            continue
        place, said = _date_place(plan, item)
        if place is None:
            continue
        start, end = item.date.start, item.date.end
        ends: list[tuple[Op, datetime | None]] = [(">=", start), ("<", end)]
        if place[1].kind in _NUMBERS:
            if any(e is not None and (e.month, e.day) != (1, 1) for e in (start, end)):
                continue
            years = [(op, e.year) for op, e in ends if e is not None]
            if len(years) == 2 and years[1][1] == years[0][1] + 1:
                years = [("=", years[0][1])]
            for op, year in years:
                plan.compare(item, place, op, year)
        else:
            for op, moment in ends:
                if moment is not None:
                    plan.compare(item, place, op, _written(moment, place[1]))
        if said is not None:
            said.used = True


def _date_place(plan: Plan, item: Item) -> tuple[Place | None, Item | None]:
    for beside in (plan.items.before(item), plan.items.after(item)):
        place = plan.place(beside)
        if place and (place[1].kind in _DATES or "year" in place[1].name.lower()):
            return place, beside
    for other in plan.items:
        place = plan.place(other)
        if place and place[1].kind in _DATES and not other.used:
            return place, other
    column = date_column(plan.subject)
    if column is not None:
        return (plan.subject, column), None
    for other in plan.items:
        for name in other.models:
            column = date_column(name.model) if plan.near(name.model) else None
            if column is not None:
                return (name.model, column), None
    return None, None


def _written(moment: datetime, column: Column) -> str:
    """A time as the query says it: the day alone where it is midnight."""
    if column.kind == "date" or (moment.hour, moment.minute, moment.second) == (0, 0, 0):
        return moment.date().isoformat()
    return moment.replace(tzinfo=None, microsecond=0).isoformat(sep=" ")


def _amounts(plan: Plan) -> None:
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
            if item.amount.op is None and beside is before and _verbless(plan, beside, item):
                continue
            _compare_amount(plan, item, place, item.amount)
            beside.used = True
            break
        else:
            if item.amount.op is None:
                continue
            if after is not None and after.models and not after.used:
                continue  # "more than 4 orders" is for `shape`
            column = _hinted(plan.subject, item.amount)
            if column is not None:
                _compare_amount(plan, item, (plan.subject, column), item.amount)


def _verbless(plan: Plan, beside: Item, item: Item) -> bool:
    """Whether a column and a bare number merely stand in one sentence, with "and" between."""
    return any(each.concept == "and" for each in plan.items.between(beside, item))


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
    if amount.hint == "money" or len(numbers) > 1:
        return money_column(model)
    return numbers[0] if numbers else None


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
    plan.compare(item, place, op, amount.low)


def _truths(plan: Plan) -> None:
    for item in plan.items:
        place = plan.place(item)
        if item.used or place is None or not is_flag(place[1]):
            continue
        negation = plan.negated(item)
        if negation is not None:
            negation.used = True
        opposite = any(each.opposite for each in item.columns if each.column == place[1])
        holds = (negation is None) != opposite
        plan.compare(item, place, "=", holds if place[1].kind == "boolean" else int(holds))


def _is_stock(column: Column) -> bool:
    return column.kind in _NUMBERS and any(
        word in column.name.lower() for word in ("stock", "inventory", "quantity")
    )


def _missing(plan: Plan) -> None:
    for item in plan.items:
        before, place = plan.items.before(item, skip=False), plan.place(item)
        if item.used or before is None or place is None or not _is_stock(place[1]):
            continue
        if before.text.lower() == "in" and "stock" in item.text.lower():
            plan.compare(item, place, ">", 0)
    for item in plan.items:
        if item.used or item.concept not in {"not", "empty", "filled"}:
            continue
        said = plan.items.after(item) if item.concept == "not" else plan.items.before(item)
        if item.concept == "empty" and (said is None or said.used or not said.columns):
            said = plan.items.after(item)
        place = plan.place(said)
        if said is None or said.used or place is None:
            continue
        if item.concept == "not" and _is_stock(place[1]):
            plan.compare(said, place, "=", 0)
        else:
            plan.compare(said, place, "is", "not null" if item.concept == "filled" else "null")
        item.used = True
