"""
What is divided by what: "the ratio of A to B", "what percentage of A are …", A占B的比例.

A ratio is read in two steps.  Before the other rules, its two sides are found here and taken out of
the question; after the conditions are read, `refdesk.db.generate.ratios` makes the figure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from refdesk.db.dsl import Condition
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
        and not (head is not None and head is columns[0][0])
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
