"""A question as a row of items: times, amounts, what is quoted, names, and words unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from refdesk.db.generate.quantities import Quantity, find_quantities, find_tops
from refdesk.db.generate.ranges import DateRange, find_dates
from refdesk.db.generate.schema_words import ColumnName, Meaning, ModelName, SchemaWords, Value
from refdesk.db.generate.tokens import Token, tokens_of

_ANY_WEEK: Final = re.compile(
    r"\b(?:an?|every|each|any) (?:mon|tues|wednes|thurs|fri|satur|sun)day$"
)
"""A day of the week in any week, which is no date."""
_HOW_MUCH: Final = frozenset({"多少", "多少钱"})
_ALTOGETHER: Final = frozenset({"一共", "总共", "共"})
"""What may stand before a count as well: 一共有多少."""
_FIGURES: Final = frozenset({"sum", "avg", "max", "min", "most", "least", "count"})
_NUMBER_OF: Final = re.compile(r"(?i)\b(?:number|count|sum|average|percentage|share) of $")
"""What an "of" before a time belongs to: "number of 2025 orders"."""
_STOPS: Final = frozenset(",;:.?!，。；：？！、(")
_SMALL: Final = frozenset({"stop", "of", "with", "and"})
"""What may stand between two words that belong together."""
_MOST_SKIPPED: Final = 20
"""Words that say nothing between two that do; beyond it the two do not belong together."""


@dataclass(slots=True, eq=False)
class Item:
    """One thing that a question says, and whether some rule has used it."""

    text: str
    begin: int
    stop: int
    meanings: tuple[Meaning, ...] = ()
    date: DateRange | None = None
    amount: Quantity | None = None
    top: int | None = None
    quoted: str | None = None
    used: bool = False

    @property
    def models(self) -> tuple[ModelName, ...]:
        return tuple(each for each in self.meanings if isinstance(each, ModelName))

    @property
    def columns(self) -> tuple[ColumnName, ...]:
        return tuple(each for each in self.meanings if isinstance(each, ColumnName))

    @property
    def values(self) -> tuple[Value, ...]:
        return tuple(each for each in self.meanings if isinstance(each, Value))

    @property
    def concept(self) -> str | None:
        return next((each for each in self.meanings if isinstance(each, str)), None)

    @property
    def small(self) -> bool:
        """Whether it says nothing by itself."""
        return self.concept in _SMALL and not (self.models or self.columns or self.values)

    @property
    def unknown(self) -> bool:
        """Whether it is a word that nothing here knows."""
        return not (self.meanings or self.date or self.amount or self.top or self.quoted)


@dataclass(slots=True)
class Items:
    """The items of a question, in its order."""

    text: str
    row: list[Item] = field(default_factory=list)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.row)

    def after(self, item: Item, *, skip: bool = True) -> Item | None:
        """Return the next item, past those that say nothing."""
        at = self.row.index(item) + 1
        stop = min(len(self.row), at + _MOST_SKIPPED)
        while skip and at < stop and self.row[at].small:
            at += 1
        return self.row[at] if at < len(self.row) else None

    def before(self, item: Item, *, skip: bool = True) -> Item | None:
        """Return the item before, past those that say nothing."""
        at = self.row.index(item) - 1
        stop = max(-1, at - _MOST_SKIPPED)
        while skip and at > stop and self.row[at].small:
            at -= 1
        return self.row[at] if at >= 0 else None

    def joined(self, first: Item, second: Item) -> bool:
        """Whether nothing stands between two items, so that they are one name: "order amount"."""
        between = self.text[first.stop : second.begin]
        return between == " " or (not between and not first.text.isascii())

    def between(self, first: Item, second: Item) -> list[Item]:
        """Return what stands between two items."""
        a, b = sorted((self.row.index(first), self.row.index(second)))
        return self.row[a + 1 : b]

    def precedes(self, first: Item, second: Item) -> bool:
        """Whether one stands before the other."""
        return self.row.index(first) < self.row.index(second)


def items_of(text: str, words: SchemaWords, now: datetime) -> Items:
    """Read a question into items."""
    items = Items(text)
    tokens = tokens_of(text)
    spans = _spans(text, now, words, tokens)
    at = 0
    while at < len(tokens):
        token = tokens[at]
        span = next((each for each in spans if each.begin <= token.begin < each.stop), None)
        if span is not None:
            items.row.append(span)
            while at < len(tokens) and tokens[at].begin < span.stop:
                at += 1
            continue
        end, meanings = _longest(text, tokens, at, words, spans)
        parts = [each for each in tokens[at:] if each.begin == token.begin]
        if end < at + len(parts) and not any(_of_schema(words, each) for each in parts):
            end, meanings = at + len(parts), ()  # one name, though A_1 begins with a word
        last = tokens[end - 1]
        items.row.append(
            Item(
                text=text[token.begin : last.stop],
                begin=token.begin,
                stop=last.stop,
                meanings=meanings,
                quoted=token.raw if token.kind == "quoted" else None,
            )
        )
        at = end
    _drop_ending(items)
    return items


def _drop_ending(items: Items) -> None:
    """Take off …是多少, which asks for the figure or the column before it and counts nothing."""
    while items.row and items.row[-1].text in {"呢", "吗", "啊", "了"}:
        items.row.pop()
    asked = items.row[-1] if items.row and items.row[-1].text in _HOW_MUCH else None
    said = items.before(asked) if asked is not None else None
    link = items.before(asked, skip=False) if asked is not None else None
    if said is None or link is None:
        return
    column = bool(said.columns) and not said.models
    figure = said.concept in _FIGURES
    if said.text in _ALTOGETHER:
        before = items.before(said)  # 金额一共是多少, but 订单一共有多少 is a count
        figure = before is not None and bool(before.columns) and not before.models
    elif link.text not in {"是", "为", "等于"}:
        column = column and any(each.concept in _FIGURES for each in items.row[:-1])
    if figure or column:
        del items.row[items.row.index(said) + 1 :]


def _of_schema(words: SchemaWords, part: Token) -> bool:
    return any(not isinstance(each, str) for each in words[(part.text,)])


def _longest(
    text: str, tokens: tuple[Token, ...], at: int, words: SchemaWords, spans: list[Item]
) -> tuple[int, tuple[Meaning, ...]]:
    spanned = [n for n, token in enumerate(tokens) if n > at and _in(token, spans)]
    limit = min([len(tokens), at + words.longest, *spanned[:1]])
    for n in range(at + 1, limit):
        if set(text[tokens[n - 1].stop : tokens[n].begin]) & _STOPS:
            limit = n  # no phrase goes on behind a comma
            break
    if tokens[at].kind == "quoted":
        inside = tuple(token.text for token in tokens_of(tokens[at].raw))
        return at + 1, tuple(each for each in words[inside] if isinstance(each, Value))
    for end in range(limit, at, -1):
        found = words[tuple(token.text for token in tokens[at:end])]
        if end - at == 1 and tokens[at].raw == "US":
            found = words[("usa",)]  # not "us", who are to be told
            return end, tuple(each for each in found if isinstance(each, Value))
        if end - at > 1 and tokens[at].raw.lower() == "orders" and "order" in found:
            continue  # "orders by customers" sorts nothing
        if found == ("units",) and end - at > 1:
            unit = words[(tokens[end - 1].text,)]
            if any(isinstance(each, ColumnName) for each in unit):
                continue  # hours that a column holds are no length of time
        if end - at == 1 and tokens[at].raw.islower() and any(isinstance(x, str) for x in found):
            # "it" and "us" are words, and no countries.
            found = tuple(x for x in found if not (isinstance(x, Value) and x.value.isupper()))
        if found:
            return end, found
    return at + 1, ()


def _in(token: Token, spans: list[Item]) -> bool:
    return any(span.begin <= token.begin < span.stop for span in spans)


def _spans(text: str, now: datetime, words: SchemaWords, tokens: tuple[Token, ...]) -> list[Item]:
    """Times, amounts and top-n; where they overlap, the one that says more holds."""
    quoted = [(token.begin, token.stop) for token in tokens if token.kind == "quoted"]
    dates = [
        Item(text=text[begin : d.stop], begin=begin, stop=d.stop, date=d)
        for d in find_dates(text, now)
        for begin in [d.begin + len("of ") * bool(_NUMBER_OF.search(text[: d.begin + 3]))]
        if not (
            d.bare and _after_number_column(text[d.begin : d.stop].lower(), d.begin, words, tokens)
        )
        and not _ANY_WEEK.search(text[: d.stop].lower())
    ]
    tops = [
        Item(text=text[t.begin : t.stop], begin=t.begin, stop=t.stop, top=t.n)
        for t in find_tops(text)
    ]
    amounts = [
        Item(text=text[q.begin : q.stop], begin=q.begin, stop=q.stop, amount=q)
        for q in find_quantities(text)
        if not (q.op is None and re.fullmatch(r"(?i)one", text[q.begin : q.stop].strip()))
    ]
    taken: list[Item] = []
    for item in (*tops, *dates, *amounts):
        begin = item.begin + len(item.text) - len(item.text.lstrip())
        item.begin = begin
        if not any(begin < b and a < item.stop for a, b in quoted) and not any(
            begin < other.stop and other.begin < item.stop for other in taken
        ):
            taken.append(item)
    return sorted(taken, key=lambda item: item.begin)


def _after_number_column(
    said: str, begin: int, words: SchemaWords, tokens: tuple[Token, ...]
) -> bool:
    """Whether ``between 2000 and 3000`` stands after a column of numbers that is no year."""
    before = [token.text for token in tokens if token.stop <= begin][-3:]
    if said.split()[0] in {"in", "for", "during", "since"} and len(said.split()) == 2:
        return False
    return any(
        isinstance(each, ColumnName)
        and each.column.kind in {"integer", "number"}
        and "year" not in each.column.name.lower()
        for a in range(len(before))
        for b in range(a + 1, len(before) + 1)
        for each in words[tuple(before[a:b])]
    )
