"""
Amounts in questions: "under $50", "at least 4", "between 1.5k and 2k", "top 5", 超过1万, 前三.

"Between A and B" includes both ends.  A percentage keeps its number, and says that it is one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from refdesk.db.generate.numerals import HAN, NUMBER, SMALL, Number, read_number

Comparison = Literal["=", "<>", ">", ">=", "<", "<="]
Hint = Literal["money", "age", "percent"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantity:
    """
    An amount that a question compares with, where it says so in ``text[begin:stop]``.

    ``op`` is None for a number that stands alone; the one before ``high`` is ``low``.
    """

    op: Comparison | Literal["between"] | None
    low: Number
    high: Number | None = None
    hint: Hint | None = None
    begin: int
    stop: int


def find_quantities(text: str) -> tuple[Quantity, ...]:
    """Return the amounts of a text, in its order, without overlap."""
    lowered = text.lower() if len(text.lower()) == len(text) else text
    found = []
    at = 0
    while match := _QUANTITY.search(lowered, at):
        quantity = _quantity(match)
        if quantity is not None:
            found.append(quantity)
        at = match.end()
    return tuple(found)


_BEFORE: Final[tuple[tuple[Comparison, str], ...]] = (
    (
        ">=",
        (
            r"at\s+least|no\s+less\s+than|not\s+less\s+than|no\s+fewer\s+than|no\s+lower\s+than"
            r"|greater\s+than\s+or\s+equal\s+to|(?:a\s*+)?minimum\s+of|>=|≥|不低于|不少于|不小于|至少|最少"
            r"|大于等于|大于或等于"
        ),
    ),
    (
        "<=",
        (
            r"at\s+most|no\s+more\s+than|not\s+more\s+than|no\s+higher\s+than|not\s+over|up\s+to"
            r"|less\s+than\s+or\s+equal\s+to|(?:a\s*+)?maximum\s+of|<=|≤|不超过|不高于|不大于|不多于|至多"
            r"|最多|小于等于|小于或等于"
        ),
    ),
    ("<>", r"not\s+equal\s+to|other\s+than|!=|<>|≠|不等于"),
    (
        ">",
        (
            r"(?:more|greater|larger|bigger|higher|better|longer|taller|heavier|older|above|pricier"
            r"|more\s+expensive|costlier)\s+than|over|above|exceed(?:s|ed|ing)?|beyond|>|超过|大于|高于"
            r"|多于|贵于|高过|超出"
        ),
    ),
    (
        "<",
        (
            r"(?:less|fewer|lower|smaller|cheaper|shorter|younger|lighter|less\s+expensive)\s+than"
            r"|under|below|<|低于|小于|少于|便宜于|不到|不足|不满"
        ),
    ),
    ("=", r"exactly|equal\s+to|equals|equal|==?|等于|正好|恰好"),
)
_AFTER: Final[tuple[tuple[Comparison, str], ...]] = (
    (
        ">=",
        r"or\s+(?:more|above|higher|over|greater|better|older)|and\s+(?:above|over|up)|\+|或?以上|及以上",
    ),
    (
        "<=",
        r"or\s+(?:less|fewer|below|under|lower|younger)|and\s+(?:below|under)|或?以下|以内|及以下",
    ),
)
_MONEY: Final = r"(?:[$€£¥￥]|\b(?:usd|eur|gbp|rmb|cny)\b)"
_UNIT: Final = (
    r"(?:\s?(?:%|percent\b|dollars?\b|usd\b|euros?\b|eur\b|pounds?\b|yuan\b|rmb\b|€|块|元|美元|岁"
    r"|years?\s+old\b|个|件|台|名|次|条))"
)


def _amount(name: str) -> str:
    return (
        rf"(?P<{name}_money>{_MONEY}\s?)?(?P<{name}_sign>(?<!\w)-)?"
        rf"(?P<{name}>{NUMBER})(?P<{name}_unit>{_UNIT})?"
    )


_QUANTITY: Final = re.compile(
    rf"(?:(?P<before>\b(?:between|from)\s++|介于|在|{'|'.join(_p for _, _p in _BEFORE)})\s*+)?"
    rf"(?<![A-Za-z0-9_.]){_amount('low')}(?![A-Za-z0-9_])"
    rf"(?:(?P<link>\s++(?:and|to)\s++|\s*+[-–~]\s*+|\s*+[到至和与]\s*+){_amount('high')}(?:之间)?)?"
    rf"(?P<after>\s*+(?:{'|'.join(_p for _, _p in _AFTER)}))?"
)


def _quantity(match: re.Match[str]) -> Quantity | None:
    low = _value(match, "low")
    high = _value(match, "high") if match["high"] else None
    before = (match["before"] or "").strip()
    if low is None or (match["high"] and high is None):
        return None
    # A single Chinese numeral without comparison is a word as often as a number: 一些, 万一.
    if match["before"] is None and not match["after"] and re.fullmatch(HAN, match["low"]):
        return None
    hint = _hint(match)
    span = {"begin": match.start(), "stop": match.end()}
    if high is not None:
        ends = re.fullmatch("between|from|介于|在", before)
        if not ends and (before or match["link"].strip() in {"and", "和", "与"}):
            return None
        return Quantity(op="between", low=min(low, high), high=max(low, high), hint=hint, **span)
    return Quantity(op=_op(before, (match["after"] or "").strip()), low=low, hint=hint, **span)


def _op(before: str, after: str) -> Comparison | None:
    for said, table in ((before, _BEFORE), (after, _AFTER)):
        for op, pattern in table:
            if said and re.fullmatch(pattern, said):
                return op
    return None


def _value(match: re.Match[str], name: str) -> Number | None:
    value = read_number(match[name])
    return -value if value is not None and match[f"{name}_sign"] else value


def _hint(match: re.Match[str]) -> Hint | None:
    said = (match["before"] or "").strip()
    units = {(match[f"{name}_unit"] or "").strip() for name in ("low", "high")}
    if units & {"%", "percent"}:
        return "percent"
    money = {"dollar", "dollars", "usd", "euro", "euros", "eur", "yuan", "rmb", "€", "元", "美元"}
    cheap = re.search("cheaper|expensive|pricier|costlier|便宜|贵", said)
    if match["low_money"] or match["high_money"] or units & money or cheap:
        return "money"
    return "age" if units & {"岁", "years old", "year old"} or "older" in said else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Top:
    """How many a question wants of the first, best or last."""

    n: int
    begin: int
    stop: int


_SUPERLATIVE: Final = (
    r"(?:most|least|best|worst|top|highest|lowest|largest|biggest|smallest|greatest|fewest|newest"
    r"|latest|oldest|earliest|cheapest|priciest|longest|shortest)"
)
_TOPS: Final = (
    re.compile(
        rf"\b(?:the\s+)?(?:top|first)\s+({SMALL})(?![\w%.,]*\d|%|\s*(?:percent|quarter|half))"
    ),
    re.compile(rf"\b(?:the\s+)?({SMALL})\s+(?={_SUPERLATIVE}\b)"),
    re.compile(rf"(?<=\bnewest\s|\blatest\s|\boldest\s|\brecent\s){SMALL}(?=\s+[a-z])"),
    re.compile(rf"(?<=\bcheapest\s){SMALL}(?=\s+[a-z])"),
    re.compile(r"\b(?:limit(?:ed)?\s+(?:to|the\s+results?\s+to))\s+(\d{1,4})\b"),
    re.compile(rf"前({SMALL})(?=[个名位件款家种大条])[个名位件款家种条]?"),
    re.compile(rf"(?<=的)({SMALL})(?=[个名位件款家种条])[个名位件款家种条]"),
)


def find_tops(text: str) -> tuple[Top, ...]:
    """Return where a text wants the first so many: "top 5", "the 3 cheapest", 最贵的三个."""
    lowered = text.lower() if len(text.lower()) == len(text) else text
    found: list[Top] = []
    for pattern in _TOPS:
        for match in pattern.finditer(lowered):
            value = read_number(match[1] if match.re.groups else match[0])
            if isinstance(value, int) and value > 0:
                found.append(Top(n=value, begin=match.start(), stop=match.end()))
    return tuple(sorted(found, key=lambda top: top.begin))
