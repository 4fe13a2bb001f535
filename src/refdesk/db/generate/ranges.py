"""
Dates in questions, as half-open ranges, in English and Chinese.

The clock is handed in, and its zone is the one the question is meant in.  Weeks start on Monday.
"Last month" is the previous whole calendar month; "past 3 months" rolls: from the same day three
months ago, cut to the month's end, through today.  What is no possible date is no range.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from refdesk.db.generate.moments import Span, shifted
from refdesk.db.generate.time_words import ATOMS, span_of


@dataclass(frozen=True, kw_only=True, slots=True)
class DateRange:
    """
    A span of time that a question names.

    ``start`` belongs to it and ``end`` does not; None is without end on that side.  They are
    midnights in the question's zone, except where hours are counted.  ``text[begin:stop]`` is
    where the question says it.
    """

    start: datetime | None
    end: datetime | None
    begin: int
    stop: int
    year_said: bool = True
    """Whether the words tell the day by themselves: "in May" does not."""
    bare: bool = False
    """Whether only four-digit numbers were said, which may be years or may be amounts."""


def find_dates(text: str, now: datetime) -> tuple[DateRange, ...]:
    """Return the times that a text names, in its order, without overlap."""
    lowered = text.lower() if len(text.lower()) == len(text) else text
    found: list[DateRange] = []
    at = 0
    while match := _SENTENCE.search(lowered, at):
        try:
            resolved = _related(match, now)
        except (ValueError, OverflowError):
            # The 30th of February is no date, and its rest must not become one.
            at = match.end()
            continue
        if resolved is None:
            at = match.start() + 1
            continue
        bare = all(re.fullmatch(r"\d{4}", side.strip()) for side in _sides(match))
        spans = [span_of(side, now) for side in _sides(match)]
        said = any(each is not None and each.year_said for each in spans)
        found.append(
            replace(resolved, begin=match.start(), stop=match.end(), bare=bare, year_said=said)
        )
        at = match.end()
    return tuple(found)


def _sides(match: re.Match[str]) -> list[str]:
    return [match[name] for name in ("first", "second") if match[name]]


def _related(match: re.Match[str], now: datetime) -> DateRange | None:
    """Turn one match of the sentence pattern into its range."""
    first = span_of(match["first"], now)
    second = span_of(match["second"], now) if match["second"] else None
    if first is None or (match["second"] and second is None):
        return None
    if second is not None:
        if not first.year_said and second.year_said:
            first = _moved(first, second.start.year)
        start, end = first.start, second.end
        return _range(start, end) if start < end else _range(second.start, first.end)
    if not _may_stand(match):
        return None
    before, after = (match["before"] or "").strip(), (match["after"] or "").strip()
    if before in _SINCE or after in {"以来", "至今", "开始", "起", "onwards", "onward"}:
        return _range(first.start, None)
    if before in {"after", "later than", "newer than"} or after in {"之后", "以后", "后"}:
        return _range(first.end, None)
    if before in _BEFORE or after in {"之前", "以前", "前"}:
        return _range(None, first.start)
    if before in {"until", "till", "through", "up to", "up until", "截至", "截止", "by"}:
        return _range(None, first.end)
    return _range(first.start, first.end)


def _range(start: datetime | None, end: datetime | None) -> DateRange | None:
    if start is not None and end is not None and not start < end:
        return None
    return DateRange(start=start, end=end, begin=0, stop=0)


def _may_stand(match: re.Match[str]) -> bool:
    """Whether a bare year or month is meant as a time, and not as a number or a verb."""
    said = match["first"].strip()
    before = (match["before"] or "").strip()
    if re.fullmatch(r"\d{4}", said):
        return bool(match["after"]) or before in _YEAR_WORDS
    if re.fullmatch(r"may|march|mar|dec|jan|jun", said):
        return bool(before or match["after"])
    if _LONG_AGO.search(said):
        return before not in {"", "in", "on", "during", "within"} or bool(match["after"])
    return True


def _moved(span: Span, year: int) -> Span:
    shift = year - span.start.year
    return Span(shifted(span.start, 12 * shift), shifted(span.end, 12 * shift))


_LONG_AGO: Final = re.compile(r"(?:month|quarter|year)s?\s+ago$|[月度年][之以]?前$")
"""What names no one day: two years ago is a day, a year, or any time before."""
_SINCE: Final = {"since", "starting", "starting from", "as of", "自", "从", "自从"}
_YEAR_WORDS: Final = {
    *("in", "since", "from", "after", "before", "during", "until", "till", "through", "by", "of"),
    *("for", "between", "within", "starting", "starting from", "as of", "prior to"),
    *("later than", "earlier than", "newer than", "older than", "从", "自", "自从", "在", "截至"),
}
_BEFORE: Final = {"before", "prior to", "earlier than", "older than"}
_ANY: Final = "|".join(re.sub(r"\(\?P<\w+>", "(?:", pattern) for pattern, _ in ATOMS)
_LINK: Final = r"(?:\s*(?:到|至|~)\s*|\s+(?:and|to|through|until|till|-|–)\s+|\s*–\s*|和|与)"
_SENTENCE: Final = re.compile(
    r"(?P<before>\b(?:between|from|since|starting\s+from|starting|as\s+of|after|later\s+than"
    r"|newer\s+than|before|prior\s+to|earlier\s+than|older\s+than|until|till|through|up\s+to"
    r"|up\s+until|by|in|on|during|within|over|of|for|at)\s+|自从?|从|在|截至|截止)?(?:the\s+)?"
    rf"(?P<first>{_ANY})"
    rf"(?:{_LINK}(?P<second>{_ANY})(?:之?间|期间)?)?"
    r"(?P<after>\s*(?:以来|至今|开始|起|之后|以后|后|之前|以前|前(?!\d)|onwards?\b))?"
)
