"""Rules for the shape of the answer: groups, counts, sums, superlatives, orders, columns shown."""

from __future__ import annotations

from typing import Final

from refdesk.db.dsl import Call, Comparison, Constant, Expression, Field
from refdesk.db.generate.items import Item
from refdesk.db.generate.plan import Aggregate, Place, Plan
from refdesk.db.generate.subject import date_column, money_column, name_column
from refdesk.db.generate.tokens import plain
from refdesk.db.schema import Model

_NUMBERS: Final = frozenset({"integer", "number"})
_DATES: Final = frozenset({"date", "datetime"})
_FUNCTIONS: Final[dict[str, Aggregate]] = {"sum": "SUM", "avg": "AVG", "max": "MAX", "min": "MIN"}
_PERIODS: Final[dict[str, tuple[str, ...]]] = {
    "yearly": ("YEAR",),
    "quarterly": ("YEAR", "QUARTER"),
    "monthly": ("YEAR", "MONTH"),
    "weekly": ("YEAR", "WEEK"),
    "daily": ("DATE",),
}
_SUPERLATIVES: Final = {
    **dict.fromkeys(("most", "dearest", "newest"), True),
    **dict.fromkeys(("least", "cheapest", "oldest"), False),
}


def read_shape(plan: Plan) -> None:
    """Take out what says how the answer is made up."""
    for rule in (_periods, _groups, _superlatives, _by, _orders, _counts, _aggregates, _ranks):
        for item in plan.items:
            if not item.used:
                rule(plan, item)


def read_columns(plan: Plan) -> None:
    """Read, after the conditions, which groups must have how many, and which columns are shown."""
    for item in plan.items:
        if not item.used and item.amount is not None and item.amount.op not in {None, "between"}:
            _having(plan, item)
    for item in plan.items:
        place = plan.place(item)
        if item.used or place is None or item.models:
            continue
        if plan.aggregates or plan.keys:
            item.used = _grouped_too(plan, item, place)
        else:
            item.used = True
            if place not in plan.shown:
                plan.shown.append(place)
    _name_rows(plan)
    for item in plan.items:
        if item.used or item.concept != "distinct" or plan.aggregates or not plan.shown:
            continue
        item.used = plan.distinct = True
    if plan.shown and not plan.orders and not any(item.models for item in plan.items):
        plan.distinct = True
    for item in plan.items:
        if item.used or not item.top or plan.limit is not None or plan.aggregates:
            continue
        said = item.text.strip()
        if plan.orders or "first" in said.lower() or "limit" in said.lower():
            item.used, plan.limit = True, item.top
            if not plan.orders:
                plan.notices.append(f"{said!r} names no order; any such rows are shown")


def _grouped_too(plan: Plan, item: Item, place: Place) -> bool:
    """Group by one more column, where that leaves the groups as they are, or they have no other."""
    value = Field(name=place[1].name, source=f"${place[0].id}")
    keys = [key for key, _ in plan.keys]
    if value in keys or any(value in call.args for call, _ in plan.aggregates):
        return True
    rows = [Field(name=name, source=f"${place[0].id}") for name in place[0].primary_key]
    if rows and all(row in keys for row in rows):
        plan.group_by(*place)
        return True
    before = plan.items.before(item, skip=False)
    if not keys and before is not None and before.text.lower() in {"which", "what", "哪个", "哪些"}:
        plan.group_by(*place)
        return True
    return False


def _name_rows(plan: Plan) -> None:
    """Show the name with what is asked of rows that were named first: "cities and their area"."""
    column = name_column(plan.subject)
    if not plan.shown or column is None or (plan.subject, column) in plan.shown:
        return
    owns = next((each for each in plan.items if each.text.lower() in {"their", "its"}), None)
    named = next((item for item in plan.items if plan.named(item)), None)
    if named is not None and owns is not None and plan.items.precedes(named, owns):
        plan.shown.insert(0, (plan.subject, column))


def _periods(plan: Plan, item: Item) -> None:
    functions = _PERIODS.get(item.concept or "")
    if functions is None:
        return
    year = next((each for each in plan.subject.columns if each.name.lower() == "year"), None)
    if item.concept == "yearly" and year is not None:
        plan.group_by(plan.subject, year)
        item.used = True
        return
    column = date_column(plan.subject)
    if column is None or column.kind not in _DATES:
        return
    value = plan.field(plan.subject, column)
    for function in functions:
        call = Call(name=function, args=(value,))
        if (call, function.lower()) in plan.keys:
            continue
        plan.keys.append((call, function.lower()))
        plan.orders.append((Field(name=function.lower()), False))
    item.used = True


def _groups(plan: Plan, item: Item) -> None:
    if item.concept != "group":
        return
    target = plan.items.after(item)
    if target is None or target.used:
        return
    if _group_on(plan, target):
        item.used = True
        following = plan.items.after(target)
        linked = plan.items.after(target, skip=False)
        if (
            following is not None
            and linked is not None
            and linked.concept == "and"
            and not following.used
        ):
            _group_on(plan, following)


def _group_on(plan: Plan, target: Item) -> bool:
    model = next((each.model for each in target.models if plan.near(each.model)), None)
    place = plan.place(target)
    if model is not None and model.id != plan.subject.id:
        plan.group_by(model, None)
    elif model is not None and place is None:
        pass  # "the price of each product": every row is one already
    elif place is not None:
        plan.group_by(*place)
    else:
        return False
    target.used = True
    return True


def _ahead(plan: Plan, item: Item) -> Item | None:
    """Return the thing that a word such as "how many" is about, past its adjectives."""
    following = plan.items.after(item)
    while following is not None:
        place = plan.place(following)
        if following.models or (place is not None and place[1].kind != "boolean"):
            return following
        if not (following.values or following.concept in {"distinct", "not"} or place):
            return None
        following = plan.items.after(following)
    return None


def _near_model(plan: Plan, item: Item | None) -> Model | None:
    if item is None:
        return None
    return next((each.model for each in item.models if plan.near(each.model)), None)


def _counts(plan: Plan, item: Item) -> None:
    if item.concept != "count":
        return
    if _count_of(plan, item) is not None:
        item.used = True


def _count_of(plan: Plan, item: Item) -> str | None:
    """Add the count that a word asks for; return its alias."""
    target = _ahead(plan, item)
    distinct = plan.items.after(item)
    if distinct is not None and distinct.concept == "distinct":
        place = plan.place(target)
        if target is not None and place is not None and not target.models:
            distinct.used = target.used = True
            return plan.aggregate("COUNT", plan.field(*place), distinct=True)
    model = _near_model(plan, target)
    if target is not None and model is not None:
        target.used = True
        if distinct is not None and distinct.concept == "distinct":
            distinct.used = True
        return plan.count(model)
    before = plan.items.before(item)
    if (model := _near_model(plan, before)) is not None and before is not None:
        if item.columns and plan.place(item) and before.used:
            return None
        before.used = True
        return plan.count(model)
    place = plan.place(target)
    if target is None or place is None or item.columns:
        return None
    target.used = True
    if place[1].kind in _NUMBERS:
        plan.shown.append(place)
        return ""
    return plan.aggregate("COUNT", plan.field(*place), distinct=True)


def _superlatives(plan: Plan, item: Item) -> None:
    if item.concept not in _SUPERLATIVES or item.used:
        return
    descending = _SUPERLATIVES[item.concept]
    if item.concept in {"dearest", "cheapest"}:
        column = money_column(plan.subject)
        if column is not None:
            _ordered(plan, item, plan.field(plan.subject, column), descending)
        return
    if item.concept in {"newest", "oldest"}:
        _by_age(plan, item, descending=descending)
        return
    following, before = plan.items.after(item), plan.items.before(item)
    if following is not None and (following.concept in _FUNCTIONS or following.concept == "count"):
        _best_group(plan, item, following, descending=descending)
        return
    model = _near_model(plan, following)
    if following is not None and model is not None and not _measure(plan, before):
        entity = _entity(plan, item)
        if entity is not None and entity is not following and _group_entity(plan, entity):
            following.used = True
            _ordered(plan, item, Field(name=plan.count(model)), descending)
        return
    for target in (following, before):
        place = plan.place(target)
        if target is None or target.used or place is None:
            continue
        if place[1].kind not in _NUMBERS | _DATES:
            continue
        target.used = True
        _extreme(plan, item, target, place, descending=descending)
        return


def _measure(plan: Plan, item: Item | None) -> bool:
    """Whether an item names a column that has a most and a least."""
    place = plan.place(item)
    return place is not None and place[1].kind in _NUMBERS | _DATES


def _extreme(plan: Plan, item: Item, target: Item, place: Place, *, descending: bool) -> None:
    """The row with the highest value, or the highest value, whichever is asked for."""
    after = plan.items.after(item if plan.items.precedes(target, item) else target, skip=False)
    if after is not None and after.concept == "of" and not after.text.isascii():
        after = plan.items.after(after)
    entity = _entity(plan, item)
    named = after is not None and (plan.named(after) or bool(after.models))
    if plan.keys or not (named or entity is not None or _top(plan, item)):
        plan.aggregate("MAX" if descending else "MIN", plan.field(*place))
        item.used = True
        return
    _ordered(plan, item, plan.field(*place), descending)


def _entity(plan: Plan, item: Item) -> Item | None:
    """Return what stands before a superlative as that which has it: "which category has the…"."""
    for other in plan.items:
        if other is item:
            return None
        place = plan.place(other)
        if other.used and not other.models:
            continue
        if other.models or (place is not None and place[1].kind != "boolean"):
            return other
    return None


def _group_entity(plan: Plan, entity: Item) -> bool:
    """Group by what has the most or the least of something; return whether that can be."""
    place = plan.place(entity)
    model = _near_model(plan, entity)
    if model is not None:
        plan.group_by(model, None)
    elif place is not None and not entity.models:
        plan.group_by(*place)
    else:
        return False
    entity.used = True
    return True


def _best_group(plan: Plan, item: Item, following: Item, *, descending: bool) -> None:
    """ "Which category has the highest average price", "the most number of orders"."""
    entity = _entity(plan, item)
    if entity is None and not plan.keys:
        return
    alias = _value_of(plan, following)
    if not alias:
        return
    if entity is not None and not plan.keys and not _group_entity(plan, entity):
        return
    _ordered(plan, item, Field(name=alias), descending)


def _value_of(plan: Plan, item: Item) -> str | None:
    """Add the count, sum or average that an item begins; return its alias."""
    if item.concept == "count":
        alias = _count_of(plan, item)
    else:
        target = _ahead(plan, item)
        place = plan.place(target)
        if target is None or place is None or place[1].kind not in _NUMBERS:
            return None
        target.used = True
        alias = plan.aggregate(_FUNCTIONS[item.concept or ""], plan.field(*place))
    item.used = item.used or alias is not None
    return alias


def _by_age(plan: Plan, item: Item, *, descending: bool) -> None:
    after = plan.items.after(item)
    model = _near_model(plan, after)
    place = plan.place(after)
    if place is not None and place[1].kind in _DATES and after is not None and not after.models:
        after.used = True
        _extreme(plan, item, after, place, descending=descending)
        return
    owner = model or plan.subject
    age = next((each for each in owner.columns if each.name.lower() == "age"), None)
    if age is not None and item.text.lower() == "oldest":
        _ordered(plan, item, plan.field(owner, age), True)
        return
    column = date_column(owner)
    if column is not None:
        _ordered(plan, item, plan.field(owner, column), descending)


def _top(plan: Plan, item: Item) -> Item | None:
    return next((each for each in plan.items if each.top and not each.used), None)


def _ordered(plan: Plan, item: Item, value: Expression, descending: bool) -> None:
    """Order by a value, and keep as many as are wanted: one, where nothing is said."""
    plan.orders.insert(0, (value, descending))
    item.used = True
    if (top := _top(plan, item)) is not None:
        plan.limit, top.used = top.top, True
    elif any(each.concept == "order" for each in plan.items):
        return  # "which have the most, ordered by …" wants them all
    elif not (item.concept in {"newest", "oldest"} and _plural(plan)):
        plan.limit = plan.limit or 1


def _plural(plan: Plan) -> bool:
    return any(
        plan.named(item) and item.text.isascii() and plain(item.text) != item.text.lower()
        for item in plan.items
    )


def _aggregates(plan: Plan, item: Item) -> None:
    concept = item.concept
    if concept not in _FUNCTIONS or item.used:
        return
    following = plan.items.after(item)
    if item.columns and following is not None and following.amount is not None:
        return  # "with a total over 100" is a condition
    target = _ahead(plan, item)
    if following is not None and following.concept in _FUNCTIONS and not target:
        target = _ahead(plan, following)  # "minimum and maximum price"
    place = plan.place(target)
    summed = target is not None and place is not None and _sums(place, concept)
    if target and place and summed and not plan.named(target):
        target.used = item.used = True
        plan.aggregate(_FUNCTIONS[concept], plan.field(*place))
        return
    own = plan.place(item)
    if own is not None and _sums(own, concept):
        item.used = True
        plan.aggregate(_FUNCTIONS[concept], plan.field(*own))
        return
    before = plan.items.before(item)
    place = plan.place(before)
    if before is not None and place is not None and not before.used and _sums(place, concept):
        before.used = item.used = True
        plan.aggregate(_FUNCTIONS[concept], plan.field(*place))
    elif concept == "sum" and (target is None or plan.named(target)):
        money = money_column(plan.subject)
        if item.text in {"总额", "合计", "总和"} and money is not None:
            item.used = True
            plan.aggregate("SUM", plan.field(plan.subject, money))
        elif target is not None and not plan.aggregates:
            item.used = target.used = True
            plan.count(plan.subject)
        elif target is None and plan.aggregates:
            item.used = True  # "how many orders in total"


def _sums(place: Place, concept: str) -> bool:
    kinds = _NUMBERS if concept in {"sum", "avg"} else _NUMBERS | _DATES
    return place[1].kind in kinds and not place[1].primary


def _by(plan: Plan, item: Item) -> None:
    if item.concept != "by":
        return
    target = plan.items.after(item)
    if target is None or target.used or (target.values and not target.columns):
        return
    later = any(
        each.concept in {"order", "desc", "asc"}
        and not each.used
        and plan.items.precedes(item, each)
        for each in plan.items
    )
    top = _top(plan, item)
    if later or top is not None or (plan.orders and plan.limit):
        value = _order_value(plan, target)
        if value is None:
            return
        item.used = True
        if top is not None:
            _top_by(plan, item, top, value)
        else:
            plan.orders.append((value, _descending(plan, item)))
        return
    if plan.aggregates or _has_aggregate(plan):
        before = plan.items.before(item)
        agent = before is not None and before.unknown and bool(target.models)
        if not agent and _group_on(plan, target):
            item.used = True
        return
    value = _order_value(plan, target)
    if value is not None:
        item.used = True
        plan.orders.append((value, _descending(plan, item)))


def _has_aggregate(plan: Plan) -> bool:
    return any(item.concept in {*_FUNCTIONS, "count"} for item in plan.items)


def _top_by(plan: Plan, item: Item, top: Item, value: Expression) -> None:
    """ "Top 5 products by price", and "top 5 countries by number of customers", grouped."""
    entity = plan.items.after(top)
    if plan.aggregates and not plan.keys and not (entity and _group_entity(plan, entity)):
        return
    plan.limit, top.used = top.top, True
    plan.orders.insert(0, (value, True))


def _order_value(plan: Plan, target: Item) -> Expression | None:
    if target.concept == "count" or (target.concept in _FUNCTIONS and not target.columns):
        alias = _value_of(plan, target)
        return Field(name=alias) if alias else None
    place = plan.place(target)
    if place is None and plan.named(target) and (column := name_column(plan.subject)):
        place = (plan.subject, column)
    if place is None:
        return None
    target.used = True
    following = plan.items.after(target)
    value = plan.field(*place)
    if following is not None and following.concept in {"desc", "asc"}:
        return value
    return value


def _descending(plan: Plan, item: Item) -> bool:
    """Return the direction that is said next, ascending if none is; and use it up."""
    descending = False
    for each in plan.items:
        if each.used or not plan.items.precedes(item, each):
            continue
        if each.concept in {"desc", "asc"}:
            descending, each.used = each.concept == "desc", True
            break
    for each in plan.items:
        if each.concept == "order" and each is not item and plan.orders is not None:
            each.used = each.used or not each.text.isascii()
    return descending


def _orders(plan: Plan, item: Item) -> None:
    if item.concept == "order":
        target = plan.items.after(item)
        value = _order_value(plan, target) if target is not None and not target.used else None
        if value is not None:
            item.used = True
            plan.orders.append((value, _descending(plan, item)))
    elif item.concept == "asc" and item.text.lower() in {"alphabetically", "in alphabetical order"}:
        column = name_column(plan.subject)
        if column is not None and not plan.orders:
            item.used = True
            before = plan.items.before(item)
            if before is not None and before.concept == "order":
                before.used = True
            plan.orders.append((plan.field(plan.subject, column), False))


def _ranks(plan: Plan, item: Item) -> None:
    if item.concept == "order":
        target = plan.items.after(item)
        if target is not None and target.concept in {"asc", "desc"} and not target.used:
            item.used = _ordered_by_rank(plan, target)


def _ordered_by_rank(plan: Plan, direction: Item) -> bool:
    """ "Ordered from highest to lowest" is by the last figure, "alphabetically" by the name."""
    value: Expression | None = None
    if plan.aggregates:
        value = Field(name=plan.aggregates[-1][1])
    elif direction.text.lower().startswith(("alphabetical", "in alphabetical")):
        column = name_column(plan.subject)
        value = plan.field(plan.subject, column) if column is not None else None
    if value is None:
        return False
    direction.used = True
    plan.orders.append((value, direction.concept == "desc"))
    return True


def _having(plan: Plan, item: Item) -> None:
    """ "Categories with more than 4 products": groups by their count."""
    target, amount = plan.items.after(item), item.amount
    model = _near_model(plan, target)
    entity = _entity(plan, item)
    if target is None or amount is None or model is None or entity is None or entity is target:
        return
    if plan.aggregates:
        return  # "how many customers have more than 3 orders" would be a count of counts
    if not _group_entity(plan, entity):
        return
    alias = plan.count(model)
    plan.havings.append(
        Comparison(
            left=Field(name=alias),
            op=amount.op,  # type: ignore[arg-type]
            right=Constant(value=amount.low),
        )
    )
    item.used = target.used = True
