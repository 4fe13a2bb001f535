"""
Ratios and shares: "the ratio of A to B", "what percentage of A are …", A占B的比例.

A ratio is read in two steps.  Before the other rules, what is divided is found and taken out of
the question; after the conditions are read, those that were said of one side become that side's
own, and the rest hold for both.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Final, Literal

from refdesk.db.dsl import Call, Case, Condition, Constant, Expression, Query, Selected, Source
from refdesk.db.dsl.types import Binary, Comparison, Field, Star, SubQuery, When
from refdesk.db.generate.items import Item
from refdesk.db.generate.measures import FUNCTIONS
from refdesk.db.generate.plan import Aggregate, Place, Plan
from refdesk.db.generate.subject import is_amount
from refdesk.db.schema import Model

_TO: Final = frozenset(
    {"to", "versus", "vs", "over", "against", "out of", "与", "和", "跟", "比", "占"}
)
_VERBS: Final = frozenset(
    {"that", "who", "which", "are", "is", "were", "was", "have", "has", "had", "whose", "do"}
    | {"having", "been", "get", "got", "made", "serve", "offer", "own", "use", "take", "live"}
)
_LINKS: Final = frozenset({"with", "in", "from", "on", "at", "for"})
"""What parts the rows counted from those they are taken of, where there is no verb."""
_ENDS: Final = frozenset(
    {"group", "by", "order", "asc", "desc", "yearly", "monthly", "quarterly", "weekly", "daily"}
)


@dataclass(slots=True)
class Side:
    """One of the two numbers: rows of a model, or a column of it, added up or not."""

    first: int
    stop: int
    model: Model
    place: Place | None = None
    function: Aggregate | None = None
    wheres: list[Condition] = field(default_factory=list)

    def has(self, at: int) -> bool:
        """Whether the item at a place belongs to it."""
        return self.first <= at < self.stop


@dataclass(slots=True)
class Ratio:
    """What is divided by what."""

    item: Item
    kind: Literal["ratio", "share"]
    above: Side
    below: Side
    average: Item | None = None
    whole: bool = False
    """Whether the part above is taken of all that is below: the rows are the same."""


def read_ratio(plan: Plan) -> Ratio | None:
    """Find a ratio, and take out of the question what is divided."""
    at = next((n for n, each in enumerate(plan.items) if each.concept in {"ratio", "share"}), None)
    if at is None:
        return None
    row = plan.items.row
    item = row[at]
    if not item.text.isascii():
        return _han_ratio(plan, at)
    stop = _stop(plan, at + 1)
    if item.concept == "share":
        later = [n for n in range(stop, len(row)) if row[n].text.lower() in _VERBS]
        if later and row[stop].concept == "group":
            stop = _stop(plan, later[0])  # "of orders of each kind were paid"
    lead = [each.text.lower() for each in row[max(0, at - 2) : at]]
    if lead == ["as", "a"] and stop > at + 1:
        return _as_share(plan, at, stop)
    cut = _cut(plan, at + 1, stop, item)
    if cut is not None:
        above = _side(plan, at + 1, cut, None)
        below = _side(plan, cut + 1, stop, above)
        if above is None and below is not None:
            above = _side(plan, at + 1, cut, below)
        if above is None or below is None:
            return None
        row[cut].used = True
        kind: Literal["ratio", "share"] = "ratio" if item.concept == "ratio" else "share"
        found = Ratio(item=item, kind=kind, above=above, below=below)
        found.whole = row[cut].text.lower() == "out of" or kind == "share"
    elif item.concept == "share" and (side := _side(plan, at + 1, stop, None)) is not None:
        head = next(
            (n for n in range(at + 1, stop) if row[n].models and plan.model(row[n]) == side.model),
            at + 1,
        )
        said = [(n, row[n].text.lower().split()[-1]) for n in range(head + 1, stop)]
        verb = next((n for n, word in said if word in _VERBS), None)
        verb = verb or next((n for n, word in said if word in _LINKS), None)
        below = Side(first=at + 1, stop=verb or at + 1, model=side.model)
        above = Side(first=verb or at + 1, stop=stop, model=side.model)
        below.place, below.function = side.place, side.function
        above.place, above.function = side.place, side.function
        found = Ratio(item=item, kind="share", above=above, below=below, whole=True)
    else:
        return None
    before = plan.items.before(item)
    if before is not None and before.concept == "avg":
        found.average = before
    _take(plan, found)
    return found


def _as_share(plan: Plan, at: int, stop: int) -> Ratio | None:
    """ "Cancelled orders as a percentage of all orders"."""
    above, below = _side(plan, 0, at - 2, None), _side(plan, at + 1, stop, None)
    if above is None or below is None:
        return None
    found = Ratio(item=plan.items.row[at], kind="share", above=above, below=below, whole=True)
    _take(plan, found)
    return found


def read_mean_count(plan: Plan) -> None:
    """ "The average number of orders per customer": so many of one by so many of the other."""
    for item in plan.items:
        count = plan.items.after(item)
        if item.used or item.concept != "avg" or count is None or count.concept != "count":
            continue
        counted = plan.items.after(count)
        model = plan.model(counted)
        each = next(
            (x for x in plan.items if x.concept == "group" and plan.items.precedes(count, x)), None
        )
        owner_item = plan.items.after(each) if each is not None else None
        owner = plan.model(owner_item)
        if counted is None or each is None or owner is None or owner_item is None or model is None:
            continue
        key = plan.ways.key(owner)
        if owner.id == model.id or key is None or plan.place(owner_item) is not None:
            continue
        plan.joins.subject = plan.subject = model
        way = plan.joins.way(owner)
        links = [step for step in way or () if plan.ways.is_link(step.target)]
        if way is None or sum(step.many for step in way) > len(links):
            continue
        for used in (item, count, counted, each, owner_item):
            used.used = True
        owners = Call(name="COUNT", args=(plan.field(owner, key),), distinct=True)
        plan.notices.append(f"only rows of {owner.id!r} that have any are in the average")
        plan.add(
            Binary(op="/", left=Call(name="COUNT", args=(Star(),)), right=owners), model, "average"
        )


def _han_ratio(plan: Plan, at: int) -> Ratio | None:
    """A占B的比例, A与B的比例."""
    row = plan.items.row
    cut = next((n for n in range(at) if row[n].text in _TO), None)
    if cut is None:
        return None
    first = next((n for n in range(cut) if row[n].concept == "group"), -1)
    begin = first + 2 if first >= 0 else 0
    below = _side(plan, cut + 1, at, None)
    above = _side(plan, begin, cut, below)
    if below is None and above is not None:
        below = _side(plan, cut + 1, at, above)
    if above is None or below is None:
        return None
    row[cut].used = True
    part = row[cut].text == "占"
    found = Ratio(item=row[at], kind="ratio", above=above, below=below, whole=part)
    if row[at].text == "百分比":
        found.kind = "share"
    _take(plan, found)
    return found


def _take(plan: Plan, found: Ratio) -> None:
    """Mark the heads of both sides as used."""
    plan.parts += [range(side.first, side.stop) for side in (found.above, found.below)]
    found.item.used = True
    if found.average is not None:
        found.average.used = True
    for side in (found.above, found.below):
        for item in plan.items.row[side.first : side.stop]:
            named = item.models and plan.model(item) == side.model and not item.values
            held = side.place is not None and plan.place(item) == side.place
            if named or held or item.concept in {"count", *FUNCTIONS}:
                item.used = True


def _stop(plan: Plan, begin: int) -> int:
    """Return where what is divided ends: at a group, an order, or the end of the sentence."""
    row = plan.items.row
    for at in range(begin, len(row)):
        following = plan.items.after(row[at])
        agent = following is not None and following.values and not following.columns
        if row[at].concept in _ENDS and not (row[at].concept == "by" and agent):
            return at
        said = plan.items.text[row[at - 1].stop : row[at].begin]
        if "?" in said or ". " in said:
            return at
    return len(row)


def _cut(plan: Plan, begin: int, stop: int, item: Item) -> int | None:
    """Return where the second side is begun: the first "to" with something to count behind it."""
    row = plan.items.row
    words = _TO | ({"and"} if "between" in item.text.lower() else set())
    for at in range(begin + 1, stop - 1):
        if row[at].text.lower() not in words:
            continue
        if item.concept == "share" and row[at].text.lower() != "out of":
            continue
        rest = row[at + 1 : stop]
        if any(each.models or each.columns or each.values for each in rest):
            return at
    return None


def _side(plan: Plan, first: int, stop: int, other: Side | None) -> Side | None:
    """Read one side; what has no head of its own has that of the other: "male to female staff"."""
    row = plan.items.row[first:stop]
    function = next(
        (each for each in row if each.concept in FUNCTIONS or each.concept == "count"), None
    )
    head = next((each for each in row if plan.model(each) is not None and not each.values), None)
    model = plan.model(head)
    columns = [
        (each, place)
        for n, each in enumerate(row)
        if (place := plan.place(each)) is not None
        and is_amount(place[1])
        and not place[1].primary
        and not _limited(row, n)
        and not (model is not None and _had(row, n))
    ]
    counts = function is not None and function.concept == "count"
    if (
        columns
        and not (counts and model is not None)
        and not (head is not None and head is columns[0][0] and not _rather_number(head))
    ):
        place = columns[0][1]
        name = FUNCTIONS.get(function.concept or "") if function is not None else None
        return Side(first=first, stop=stop, model=place[0], place=place, function=name)
    if model is not None:
        after = plan.items.after(head, skip=False) if head is not None else None
        if after is not None and after.models and after in row:
            return None  # "journal publications": which of them would have to be known
        return Side(first=first, stop=stop, model=model)
    if other is not None and any(each.values or each.columns for each in row):
        return Side(
            first=first, stop=stop, model=other.model, place=other.place, function=other.function
        )
    return None


def _had(row: list[Item], at: int) -> bool:
    """Whether rows are said to have it, or not: "flights without stops"."""
    before = row[at - 1] if at else None
    return before is not None and (
        before.concept == "not" or before.text.lower() in {"with", "have", "has", "having"}
    )


def _limited(row: list[Item], at: int) -> bool:
    """Whether an amount beside a column makes a condition of it: "rating above 4"."""
    return any(row[n].amount is not None for n in (at - 1, at + 1, at + 2) if 0 <= n < len(row))


def _rather_number(item: Item) -> bool:
    return max((each.weight for each in item.columns), default=0) > max(
        (each.weight for each in item.models), default=0
    )


def finish_ratio(plan: Plan, ratio: Ratio) -> str | None:
    """Make the figure, now that the conditions are known; return why it cannot be made."""
    _share_out(plan, ratio)
    above, below = ratio.above, ratio.below
    if ratio.whole and not above.wheres and above.place == below.place:
        return _of_total(plan, ratio)
    rows = above.place is not None and below.place is not None
    if rows and not (above.function or below.function or above.wheres or below.wheres):
        return _row_by_row(plan, ratio)
    if above.model.id != below.model.id and not rows:
        return _of_two(plan, ratio)
    shared = above.model
    for side in (above, below):
        if any(_beyond(plan, shared, each) for each in side.wheres):
            return "one side's condition is in another table, which the other side would lose"
    top, bottom = _figure(plan, above), _figure(plan, below)
    if top is None or bottom is None:
        return f"rows of {shared.id!r} would count more than once"
    if ratio.whole and above is not below and not below.wheres and not above.wheres:
        return "both sides are the same"
    _add(plan, ratio, top, bottom)
    return None


def _share_out(plan: Plan, ratio: Ratio) -> None:
    """Give each side the conditions that were said of it alone."""
    above, below = ratio.above, ratio.below
    row = plan.items.row
    said = [(condition, item, row.index(item)) for condition, item in plan.wheres]
    mine = [_left(each) for each, _, at in said if above.has(at)]
    if ratio.whole and not mine and above.first == below.stop:
        # "Percentage of female employees": what is said before the noun makes the part.
        above.first, below.stop = below.first, below.first
        mine = [_left(each) for each, _, at in said if above.has(at)]
    dates = [_left(each) for each, item, at in said if above.has(at) and item.date is not None]
    common = []
    for condition, item, at in said:
        left = _left(condition)
        if above.has(at):
            link = plan.items.before(item, skip=False)
            where = len(set(mine)) > 1 and link is not None and link.text.lower() == "in"
            if ratio.whole and (item.date is not None or where) and set(mine) - set(dates):
                common.append((condition, item))
                plan.notices.append(
                    f"{item.text.strip()!r} was taken to hold for the whole as well"
                )
            else:
                above.wheres.append(condition)
        elif below.has(at) and not ratio.whole and left in mine:
            below.wheres.append(condition)
        elif below.has(at) and not ratio.whole and not mine and above.place is None:
            if above.model.id == below.model.id:
                below.wheres.append(condition)
            else:
                common.append((condition, item))
        else:
            if below.has(at) and not ratio.whole:
                plan.notices.append(f"{item.text.strip()!r} was taken to hold for both sides")
            common.append((condition, item))
    plan.wheres[:] = common


def _left(condition: Condition) -> Expression | None:
    return condition.left if isinstance(condition, Comparison) else None


def _beyond(plan: Plan, model: Model, condition: Condition) -> bool:
    return bool(_sources(condition) - {f"${model.id}"})


def _sources(node: object) -> set[str]:
    """Return the models that a part of a query speaks of; a sub-query speaks for itself."""
    if isinstance(node, Field):
        return {node.source or ""}
    if isinstance(node, tuple):
        return {source for each in node for source in _sources(each)}
    if is_dataclass(node) and not isinstance(node, type | SubQuery):
        return {source for each in fields(node) for source in _sources(getattr(node, each.name))}
    return set()


def _figure(plan: Plan, side: Side) -> Expression | None:
    """Return one side as a figure over rows; None where rows would count twice."""
    repeated = plan.joins.repeats(side.model)
    if side.place is not None:
        if repeated and side.function not in {"MAX", "MIN"}:
            return None
        value: Expression = plan.field(*side.place)
        if side.wheres:
            value = Case(whens=(When(wheres=tuple(side.wheres), then=value),))
        return Call(name=side.function or "SUM", args=(value,))
    key = plan.ways.key(side.model)
    one: Expression = Constant(value=1)
    if repeated:
        if key is None:
            return None
        one = plan.field(side.model, key)
    if side.wheres:
        counted = Case(whens=(When(wheres=tuple(side.wheres), then=one),))
        return Call(name="COUNT", args=(counted,), distinct=repeated)
    return Call(name="COUNT", args=(one if repeated else Star(),), distinct=repeated)


def _add(plan: Plan, ratio: Ratio, top: Expression, bottom: Expression) -> None:
    percent = "percent" in ratio.item.text.lower() or ratio.item.text == "百分比"
    if percent:
        top = Binary(op="*", left=Constant(value=100), right=top)
    value = Binary(op="/", left=top, right=bottom)
    plan.add(value, ratio.above.model, "percentage" if percent else "ratio")


def _row_by_row(plan: Plan, ratio: Ratio) -> str | None:
    """Two columns of one row, or their sums where rows are grouped."""
    above, below = ratio.above, ratio.below
    if above.place is None or below.place is None:
        return "a side is missing"
    top, bottom = plan.field(*above.place), plan.field(*below.place)
    value = Binary(op="/", left=top, right=bottom)
    entities = {each.id for each in plan.entities}
    if ratio.average is not None:
        if plan.joins.repeats(above.model):
            return f"rows of {above.model.id!r} would count more than once"
        plan.add(Call(name="AVG", args=(value,)), above.model, "avg_ratio")
    elif plan.keys and entities != {above.model.id}:
        if plan.joins.repeats(above.model):
            return f"rows of {above.model.id!r} would count more than once"
        plan.notices.append("the ratio was taken of the sums of each group")
        sums = (Call(name="SUM", args=(top,)), Call(name="SUM", args=(bottom,)))
        plan.add(Binary(op="/", left=sums[0], right=sums[1]), above.model, "ratio")
    else:
        plan.keys.clear()
        finest = below.model if plan.joins.repeats(above.model) is False else above.model
        owner = above.model if not plan.joins.repeats(above.model) else finest
        if plan.joins.repeats(owner):
            return f"rows of {owner.id!r} would count more than once"
        places = [(owner, column) for column in plan.naming(owner)]
        plan.shown[:0] = [each for each in places if each not in plan.shown]
        plan.figures.append((value, "ratio"))
    return None


def _of_total(plan: Plan, ratio: Ratio) -> str | None:
    """The share of each group in the whole."""
    if any(item.date is None for _, item in plan.wheres):
        return "nothing says which part is meant"
    if not plan.keys or plan.joins.steps:
        return "nothing says which part is meant" if not plan.keys else "the whole is in two tables"
    top = _figure(plan, ratio.above)
    if top is None:
        return f"rows of {ratio.above.model.id!r} would count more than once"
    whole = Query(
        source=Source(name=f"${plan.subject.id}"),
        select=(Selected(value=top, alias="whole"),),
        wheres=tuple(condition for condition, _ in plan.wheres),
    )
    _add(plan, ratio, top, SubQuery(query=whole))
    return None


def _of_two(plan: Plan, ratio: Ratio) -> str | None:
    """Rows of one model by rows of another: two counts that have nothing to do with each other."""
    above, below = ratio.above, ratio.below
    if above.place or below.place or (plan.keys and (above.wheres or below.wheres)):
        return "the two sides are in two tables"
    if plan.keys:
        return _of_two_in_groups(plan, ratio)
    if plan.wheres:
        return "the two sides are in two tables, and a condition is said of both"
    for side in (above, below):
        if any(_beyond(plan, side.model, each) for each in side.wheres):
            return "one side's condition is in another table"
    plan.joins.steps.clear()
    plan.subject = plan.joins.subject = above.model
    plan.joins.mentions = ()
    whole = Query(
        source=Source(name=f"${below.model.id}"),
        select=(Selected(value=Call(name="COUNT", args=(Star(),)), alias="whole"),),
        wheres=tuple(below.wheres),
    )
    plan.wheres[:] = [(each, ratio.item) for each in above.wheres]
    _add(plan, ratio, Call(name="COUNT", args=(Star(),)), SubQuery(query=whole))
    return None


def _of_two_in_groups(plan: Plan, ratio: Ratio) -> str | None:
    """Rows of two models for each group; every group is kept, with rows of both or not."""
    above, below = ratio.above.model, ratio.below.model
    top, bottom = plan.ways.key(above), plan.ways.key(below)
    sources = {key.source for key, _ in plan.keys if isinstance(key, Field)}
    owner = next((each for each in plan.models if {f"${each.id}"} == sources), None)
    if owner is None or top is None or bottom is None:
        return "the two sides are in two tables, and nothing tells their rows apart"
    plan.joins.steps.clear()
    plan.subject = plan.joins.subject = owner
    plan.joins.mentions = ()
    ways = (plan.joins.way(above), plan.joins.way(below))
    if ways[0] is None or ways[1] is None:
        return f"no one way leads from {owner.id!r} to both sides"
    plan.joins.steps = {step.target.id: step for way in ways if way for step in way}
    counts = [
        Call(name="COUNT", args=(plan.field(model, key),), distinct=True)
        for model, key in ((above, top), (below, bottom))
    ]
    plan.outer = True
    _add(plan, ratio, *counts)
    return None
