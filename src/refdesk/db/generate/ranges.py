"""
Dates in questions, as half-open ranges, in English and Chinese.

The clock is handed in, and its zone is the one the question is meant in.  Weeks start on Monday.
"Last month" is the previous whole calendar month; "past 3 months" rolls: from the same day three
months ago, cut to the month's end, through today.  What is no possible date is no range.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final, Literal

from refdesk.db.generate.numerals import SMALL, read_number

Unit = Literal["hour", "day", "week", "month", "quarter", "year"]


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
    bare: bool = False
    """Whether only four-digit numbers were said, which may be years or may be amounts."""


@dataclass(frozen=True, slots=True)
class _Span:
    """A time that stands by itself: its first moment, and the first one after it."""

    start: datetime
    end: datetime
    year_said: bool = True


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
        found.append(replace(resolved, begin=match.start(), stop=match.end(), bare=bare))
        at = match.end()
    return tuple(found)


def _sides(match: re.Match[str]) -> list[str]:
    return [match[name] for name in ("first", "second") if match[name]]


def _related(match: re.Match[str], now: datetime) -> DateRange | None:
    """Turn one match of the sentence pattern into its range."""
    first = _span(match["first"], now)
    second = _span(match["second"], now) if match["second"] else None
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
    return True


def _moved(span: _Span, year: int) -> _Span:
    shift = year - span.start.year
    return _Span(_shifted(span.start, 12 * shift), _shifted(span.end, 12 * shift))


# One time that stands by itself ---------------------------------------------------------------

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_WEEKDAYS: Final = {
    name: number
    for number, names in enumerate(
        (
            "monday mon 一",
            "tuesday tues tue 二",
            "wednesday wed 三",
            "thursday thurs thu 四",
            "friday fri 五",
            "saturday sat 六",
            "sunday sun 日 天",
        )
    )
    for name in names.split()
}
_ORDINALS: Final = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "last": 4,
    "1st": 1,
    "2nd": 2,
    "3rd": 3,
    "4th": 4,
    "一": 1,
    "二": 2,
    "三": 3,
    "四": 4,
    "1": 1,
    "2": 2,
    "3": 3,
    "4": 4,
}
_HAN_UNIT: Final[dict[str, Unit]] = {
    "小时": "hour",
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "季度": "quarter",
    "季": "quarter",
    "年": "year",
}
_HAN_DAYS: Final = {"今天": 0, "今日": 0, "昨天": -1, "昨日": -1, "前天": -2, "明天": 1}
_HAN_YEARS: Final = {"今年": 0, "去年": -1, "前年": -2, "明年": 1, "本年": 0}

_MONTH: Final = rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_WEEKDAY: Final = "(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_UNIT: Final = r"(?:hour|day|week|month|quarter|year)s?\b"
_HAN_COUNT: Final = r"(?:\d{1,4}|[一二两三四五六七八九十百]+|半)"
_YEAR: Final = r"(?:1[5-9]|20|21)\d\d"

Reader = Callable[[re.Match[str], datetime], _Span | None]


def _day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _on(year: int, month: int, day: int, now: datetime) -> datetime:
    return datetime(year, month, day, tzinfo=now.tzinfo)


def _shifted(moment: datetime, months: int) -> datetime:
    """Move by months; the 31st becomes the month's last day where it has none."""
    number = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(number, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    last = (following - timedelta(days=1)).day
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def _unit_start(unit: Unit, now: datetime) -> datetime:
    today = _day(now)
    if unit == "hour":
        return now.replace(minute=0, second=0, microsecond=0)
    if unit == "week":
        return today - timedelta(days=today.weekday())
    if unit == "month":
        return today.replace(day=1)
    if unit == "quarter":
        return today.replace(month=(today.month - 1) // 3 * 3 + 1, day=1)
    return today.replace(month=1, day=1) if unit == "year" else today


def _stepped(moment: datetime, unit: Unit, count: int) -> datetime:
    if unit == "hour":
        return moment + timedelta(hours=count)
    if unit in {"day", "week"}:
        return moment + timedelta(days=count * (7 if unit == "week" else 1))
    return _shifted(moment, count * {"month": 1, "quarter": 3, "year": 12}[unit])


def _calendar(unit: Unit, offset: int, now: datetime) -> _Span:
    start = _stepped(_unit_start(unit, now), unit, offset)
    return _Span(start, _stepped(start, unit, 1))


def _rolling(unit: Unit, count: int, now: datetime) -> _Span | None:
    if count < 1:
        return None
    if unit == "hour":
        return _Span(now - timedelta(hours=count), now)
    return _Span(_stepped(_day(now), unit, -count), _day(now) + timedelta(days=1))


def _whole_units(m: re.Match[str], now: datetime) -> _Span | None:
    """Whole units of the calendar: up to the current one, or through today."""
    unit, count = _unit(m["unit"]), _count(m["count"])
    if not (m["calendar"] or m["whole"]) or unit in {"hour", "day"}:
        return _rolling(unit, count, now)
    if count < 1:
        return None
    first = _unit_start(unit, now)
    end = first if m["whole"] else _day(now) + timedelta(days=1)
    return _Span(_stepped(first, unit, -count), end)


def _ago(unit: Unit, count: int, now: datetime) -> _Span:
    if unit == "hour":
        start = _stepped(_unit_start("hour", now), "hour", -count)
        return _Span(start, start + timedelta(hours=1))
    start = _stepped(_day(now), unit, -count)
    return _Span(start, start + timedelta(days=1))


def _one_day(moment: datetime, *, year_said: bool = True) -> _Span:
    return _Span(moment, moment + timedelta(days=1), year_said)


def _count(text: str) -> int:
    value = read_number(text)
    return int(value) if value is not None else 0


def _unit(text: str) -> Unit:
    return _HAN_UNIT.get(text) or text.removesuffix("s")  # type: ignore[return-value]


def _month_day(m: re.Match[str], now: datetime) -> _Span:
    month, day = _MONTHS[m["month"].rstrip(".")], int(m["day"])
    if m["year"]:
        return _one_day(_on(int(m["year"]), month, day, now))
    year = now.year if (month, day) <= (now.month, now.day) else now.year - 1
    return _one_day(_on(year, month, day, now), year_said=False)


def _month(m: re.Match[str], now: datetime) -> _Span:
    month = _MONTHS[m["month"].rstrip(".")]
    year = int(m["year"]) if m["year"] else now.year - (month > now.month)
    start = _on(year, month, 1, now)
    return _Span(start, _shifted(start, 1), bool(m["year"]))


def _quarter(m: re.Match[str], now: datetime) -> _Span:
    number = _ORDINALS[m["number"]]
    year = _year_of(m["year"], now)
    start = _on(year, 3 * number - 2, 1, now)
    if not m["year"] and start > now:
        start = start.replace(year=year - 1)
    return _Span(start, _shifted(start, 3), bool(m["year"]))


def _half(m: re.Match[str], now: datetime) -> _Span:
    first = m["number"] in {"1", "first", "1st", "上"}
    start = _on(_year_of(m["year"], now), 1 if first else 7, 1, now)
    return _Span(start, _shifted(start, 6), bool(m["year"]))


def _year_of(text: str | None, now: datetime) -> int:
    if not text:
        return now.year
    named = text.strip("年 ")
    return now.year + _HAN_YEARS[text] if text in _HAN_YEARS else int(named)


def _han_date(m: re.Match[str], now: datetime) -> _Span:
    year = _year_of(m["year"], now)
    month = _count(m["month"])
    if m["day"]:
        return _one_day(_on(year, month, _count(m["day"]), now), year_said=bool(m["year"]))
    start = _on(year, month, 1, now)
    if not m["year"] and start > now:
        start = start.replace(year=year - 1)
    return _Span(start, _shifted(start, 1), bool(m["year"]))


def _year(m: re.Match[str], now: datetime) -> _Span:
    start = _on(int(m["year"]), 1, 1, now)
    return _Span(start, _shifted(start, 12))


def _decade(m: re.Match[str], now: datetime) -> _Span:
    start = _on(int(m["year"]), 1, 1, now)
    return _Span(start, _shifted(start, 120))


def _weekday(m: re.Match[str], now: datetime) -> _Span:
    """The last such day: "on Monday" may be today, "last Monday" lies before it."""
    back = (now.weekday() - _WEEKDAYS[m["weekday"]]) % 7
    if m["last"] and back == 0:
        back = 7
    return _one_day(_day(now) - timedelta(days=back))


def _han_weekday(m: re.Match[str], now: datetime) -> _Span:
    monday = _unit_start("week", now) - timedelta(days=7 if m["last"] else 0)
    return _one_day(monday + timedelta(days=_WEEKDAYS[m["weekday"]]))


def _which(m: re.Match[str], now: datetime) -> _Span:
    offset = {"this": 0, "current": 0, "next": 1, "本": 0, "这": 0, "这个": 0, "下": 1, "下个": 1}
    return _calendar(_unit(m["unit"]), offset.get(m["which"], -1), now)


_ATOMS: Final[tuple[tuple[str, Reader], ...]] = (
    (
        r"(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})(?!\d)",
        lambda m, now: _one_day(_on(int(m["year"]), int(m["month"]), int(m["day"]), now)),
    ),
    (
        r"(?P<year>\d{4})-(?P<month>\d{2})(?![\d-])",
        lambda m, now: _Span(
            _on(int(m["year"]), int(m["month"]), 1, now),
            _shifted(_on(int(m["year"]), int(m["month"]), 1, now), 1),
        ),
    ),
    (
        (
            rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{_MONTH})"
            rf"(?:,?\s+(?P<year>{_YEAR})\b)?"
        ),
        _month_day,
    ),
    (
        (
            rf"\b(?P<month>{_MONTH})\s+(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b"
            rf"(?:,?\s+(?P<year>{_YEAR})\b)?"
        ),
        _month_day,
    ),
    (rf"\b(?P<month>{_MONTH})(?:\s+of)?,?(?:\s+(?P<year>{_YEAR})\b)?", _month),
    (rf"\bq(?P<number>[1-4])\b(?:\s+(?:of\s+|in\s+)?(?P<year>{_YEAR})\b)?", _quarter),
    (rf"\b(?P<year>{_YEAR})[\s-]?q(?P<number>[1-4])\b", _quarter),
    (
        (
            r"\b(?P<number>first|second|third|fourth|last|1st|2nd|3rd|4th)\s+quarter\s+of\s+"
            rf"(?:the\s+year\s+)?(?P<year>{_YEAR})\b"
        ),
        _quarter,
    ),
    (rf"\b(?P<number>first|second)\s+half\s+of\s+(?P<year>{_YEAR})\b", _half),
    (rf"\bh(?P<number>[12])\s+(?P<year>{_YEAR})\b", _half),
    (
        r"\b(?:the\s+)?day\s+before\s+yesterday\b",
        lambda m, now: _one_day(_day(now) - timedelta(days=2)),
    ),
    (r"\byesterday\b", lambda m, now: _one_day(_day(now) - timedelta(days=1))),
    (r"\btoday\b", lambda m, now: _one_day(_day(now))),
    (r"\btomorrow\b", lambda m, now: _one_day(_day(now) + timedelta(days=1))),
    (
        r"\b(?:year\s+to\s+date|ytd|so\s+far\s+this\s+year|this\s+year\s+so\s+far)\b",
        lambda m, now: _Span(_unit_start("year", now), _day(now) + timedelta(days=1)),
    ),
    (
        rf"\b(?P<count>{SMALL})\s+(?P<unit>{_UNIT})\s+ago\b",
        lambda m, now: _ago(_unit(m["unit"]), _count(m["count"]), now),
    ),
    (
        (
            rf"\b(?:the\s+)?(?:past|last|previous)\s+(?P<count>{SMALL})\s+"
            rf"(?P<calendar>calendar\s+)?(?P<unit>{_UNIT})"
            r"(?P<whole>,?\s+\(?(?:not\s+including|excluding|without)\s+"
            r"(?:the\s+)?(?:current|this)\s+\w+\)?)?"
        ),
        _whole_units,
    ),
    (
        (
            rf"\b(?:the\s+)?(?:past|last|previous|prior|trailing)\s+(?P<count>{SMALL})\s+"
            rf"(?P<unit>{_UNIT})"
        ),
        lambda m, now: _rolling(_unit(m["unit"]), _count(m["count"]), now),
    ),
    (
        r"\b(?:the\s+)?past\s+(?P<unit>hour|day|week|month|quarter|year)\b",
        lambda m, now: _rolling(_unit(m["unit"]), 1, now),
    ),
    (
        (
            r"\b(?:the\s+)?(?P<which>this|current|last|previous|next)\s+"
            r"(?:calendar\s+)?(?P<unit>week|month|quarter|year)\b"
        ),
        _which,
    ),
    (rf"\b(?:(?P<last>last|previous)\s+)?(?P<weekday>{_WEEKDAY})\b", _weekday),
    (rf"\b(?P<year>{_YEAR[:-4]}\d0)s\b", _decade),
    (rf"(?:\bthe\s+)?\b(?:year\s+)?(?P<year>{_YEAR})(?![\d.,%年-]|\w)", _year),
    # Chinese
    (
        (
            r"(?P<year>\d{4}年|今年|去年|前年)?(?P<month>\d{1,2}|十[一二]?|[一二三四五六七八九])月份?"
            r"(?:(?P<day>\d{1,2}|[一二三]?十?[一二三四五六七八九]?)[日号])?"
        ),
        _han_date,
    ),
    (
        r"(?P<year>\d{4}年|今年|去年|前年)?第?(?P<number>[一二三四1-4])季度",
        _quarter,
    ),
    (r"(?P<year>\d{4}年|今年|去年|前年)?(?P<number>[上下])半年", _half),
    (r"(?<!\d)(?P<year>\d{4})年", _year),
    (
        rf"(?P<count>{_HAN_COUNT})个?(?P<unit>小时|天|日|周|星期|礼拜|月|季度|年)(?:之|以)?前",
        lambda m, now: _ago(_unit(m["unit"]), _count(m["count"]), now),
    ),
    (
        (
            rf"(?:在?过去的?|最近的?|近|前)(?P<count>{_HAN_COUNT})个?"
            r"(?P<unit>小时|天|日|周|星期|礼拜|月|季度|年)(?:以?内|里|中)?"
        ),
        lambda m, now: _rolling(_unit(m["unit"]), _count(m["count"]), now),
    ),
    (
        r"(?P<which>本|这个?|上个?|下个?)(?P<unit>周|星期|礼拜|月|季度|季)(?![一二三四五六日天份])",
        _which,
    ),
    (r"(?P<which>本|这个?|上个?|下个?)(?P<unit>月)份", _which),
    (r"(?P<last>上个?)?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])", _han_weekday),
    (
        f"(?P<days>{'|'.join(_HAN_DAYS)})",
        lambda m, now: _one_day(_day(now) + timedelta(days=_HAN_DAYS[m["days"]])),
    ),
    (
        f"(?P<years>{'|'.join(_HAN_YEARS)})",
        lambda m, now: _calendar("year", _HAN_YEARS[m["years"]], now),
    ),
)
_COMPILED: Final = tuple((re.compile(pattern), reader) for pattern, reader in _ATOMS)

_SINCE: Final = {"since", "starting", "starting from", "as of", "自", "从", "自从"}
_YEAR_WORDS: Final = {
    *("in", "since", "from", "after", "before", "during", "until", "till", "through", "by", "of"),
    *("for", "between", "within", "starting", "starting from", "as of", "prior to"),
    *("later than", "earlier than", "newer than", "older than", "从", "自", "自从", "在", "截至"),
}
_BEFORE: Final = {"before", "prior to", "earlier than", "older than"}
_ANY: Final = "|".join(re.sub(r"\(\?P<\w+>", "(?:", pattern) for pattern, _ in _ATOMS)
_LINK: Final = r"(?:\s*(?:到|至|~)\s*|\s+(?:and|to|through|until|till|-|–)\s+|\s*–\s*|和|与)"
_SENTENCE: Final = re.compile(
    r"(?P<before>\b(?:between|from|since|starting\s+from|starting|as\s+of|after|later\s+than"
    r"|newer\s+than|before|prior\s+to|earlier\s+than|older\s+than|until|till|through|up\s+to"
    r"|up\s+until|by|in|on|during|within|over|of|for|at)\s+|自从?|从|在|截至|截止)?(?:the\s+)?"
    rf"(?P<first>{_ANY})"
    rf"(?:{_LINK}(?P<second>{_ANY})(?:之?间|期间)?)?"
    r"(?P<after>\s*(?:以来|至今|开始|起|之后|以后|后|之前|以前|前(?!\d)|onwards?\b))?"
)


def _span(text: str, now: datetime) -> _Span | None:
    text = text.strip()
    for pattern, reader in _COMPILED:
        if match := pattern.fullmatch(text):
            span = reader(match, now)
            return span if span is not None and span.start < span.end else None
    return None
