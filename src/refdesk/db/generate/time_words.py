"""The times that stand by themselves, in English and Chinese: how each is said, and what it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from refdesk.db.generate.moments import (
    Span,
    Unit,
    ago,
    calendar,
    day_of,
    on,
    one_day,
    rolling,
    shifted,
    stepped,
    unit_start,
)
from refdesk.db.generate.numerals import SMALL, read_number

MONTHS: Final = {
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
_MONTH: Final = rf"(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
_WEEKDAY: Final = "(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_UNIT: Final = r"(?:hour|day|week|month|quarter|year)s?\b"
_HAN_COUNT: Final = r"(?:\d{1,4}|[一二两三四五六七八九十百]{1,8}|半)"
_YEAR: Final = r"(?:1[5-9]|20|21)\d\d"
Reader = Callable[[re.Match[str], datetime], Span | None]


def _count(text: str) -> int:
    value = read_number(text)
    return int(value) if value is not None else 0


def _unit(text: str) -> Unit:
    return _HAN_UNIT.get(text) or text.removesuffix("s")  # type: ignore[return-value]


def _whole_units(m: re.Match[str], now: datetime) -> Span | None:
    """Whole units of the calendar: up to the current one, or through today."""
    unit, count = _unit(m["unit"]), _count(m["count"])
    if not (m["calendar"] or m["whole"]) or unit in {"hour", "day"}:
        return rolling(unit, count, now)
    if count < 1:
        return None
    first = unit_start(unit, now)
    end = first if m["whole"] else day_of(now) + timedelta(days=1)
    return Span(stepped(first, unit, -count), end)


def _month_day(m: re.Match[str], now: datetime) -> Span:
    month, day = MONTHS[m["month"].rstrip(".")], int(m["day"])
    if m["year"]:
        return one_day(on(int(m["year"]), month, day, now))
    year = now.year if (month, day) <= (now.month, now.day) else now.year - 1
    return one_day(on(year, month, day, now), year_said=False)


def _month(m: re.Match[str], now: datetime) -> Span:
    month = MONTHS[m["month"].rstrip(".")]
    year = int(m["year"]) if m["year"] else now.year - (month > now.month)
    start = on(year, month, 1, now)
    return Span(start, shifted(start, 1), bool(m["year"]))


def _quarter(m: re.Match[str], now: datetime) -> Span:
    number = _ORDINALS[m["number"]]
    year = _year_of(m["year"], now)
    start = on(year, 3 * number - 2, 1, now)
    if not m["year"] and start > now:
        start = start.replace(year=year - 1)
    return Span(start, shifted(start, 3), bool(m["year"]))


def _half(m: re.Match[str], now: datetime) -> Span:
    first = m["number"] in {"1", "first", "1st", "上"}
    start = on(_year_of(m["year"], now), 1 if first else 7, 1, now)
    return Span(start, shifted(start, 6), bool(m["year"]))


def _year_of(text: str | None, now: datetime) -> int:
    if not text:
        return now.year
    named = text.strip("年 ")
    return now.year + _HAN_YEARS[text] if text in _HAN_YEARS else int(named)


def _han_date(m: re.Match[str], now: datetime) -> Span:
    year = _year_of(m["year"], now)
    month = _count(m["month"])
    if m["day"]:
        return one_day(on(year, month, _count(m["day"]), now), year_said=bool(m["year"]))
    start = on(year, month, 1, now)
    if not m["year"] and start > now:
        start = start.replace(year=year - 1)
    return Span(start, shifted(start, 1), bool(m["year"]))


def _year(m: re.Match[str], now: datetime) -> Span:
    start = on(int(m["year"]), 1, 1, now)
    return Span(start, shifted(start, 12))


def _decade(m: re.Match[str], now: datetime) -> Span:
    start = on(int(m["year"]), 1, 1, now)
    return Span(start, shifted(start, 120))


def _weekday(m: re.Match[str], now: datetime) -> Span:
    """The last such day: "on Monday" may be today, "last Monday" lies before it."""
    back = (now.weekday() - _WEEKDAYS[m["weekday"]]) % 7
    if m["last"] and back == 0:
        back = 7
    return one_day(day_of(now) - timedelta(days=back), year_said=bool(m["last"]))


def _han_weekday(m: re.Match[str], now: datetime) -> Span:
    monday = unit_start("week", now) - timedelta(days=7 if m["last"] else 0)
    return one_day(monday + timedelta(days=_WEEKDAYS[m["weekday"]]))


def _which(m: re.Match[str], now: datetime) -> Span:
    offset = {"this": 0, "current": 0, "next": 1, "本": 0, "这": 0, "这个": 0, "下": 1, "下个": 1}
    return calendar(_unit(m["unit"]), offset.get(m["which"], -1), now)


ATOMS: Final[tuple[tuple[str, Reader], ...]] = (
    (
        r"(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})(?!\d)",
        lambda m, now: one_day(on(int(m["year"]), int(m["month"]), int(m["day"]), now)),
    ),
    (
        r"(?P<year>\d{4})-(?P<month>\d{2})(?![\d-])",
        lambda m, now: Span(
            on(int(m["year"]), int(m["month"]), 1, now),
            shifted(on(int(m["year"]), int(m["month"]), 1, now), 1),
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
        lambda m, now: one_day(day_of(now) - timedelta(days=2)),
    ),
    (r"\byesterday\b", lambda m, now: one_day(day_of(now) - timedelta(days=1))),
    (r"\btoday\b", lambda m, now: one_day(day_of(now))),
    (r"\btomorrow\b", lambda m, now: one_day(day_of(now) + timedelta(days=1))),
    (
        r"\b(?:year\s+to\s+date|ytd|so\s+far\s+this\s+year|this\s+year\s+so\s+far)\b",
        lambda m, now: Span(unit_start("year", now), day_of(now) + timedelta(days=1)),
    ),
    (
        rf"\b(?P<count>{SMALL})\s+(?P<unit>{_UNIT})\s+ago\b",
        lambda m, now: ago(_unit(m["unit"]), _count(m["count"]), now),
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
        lambda m, now: rolling(_unit(m["unit"]), _count(m["count"]), now),
    ),
    (
        r"\b(?:the\s+)?past\s+(?P<unit>hour|day|week|month|quarter|year)\b",
        lambda m, now: rolling(_unit(m["unit"]), 1, now),
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
        lambda m, now: ago(_unit(m["unit"]), _count(m["count"]), now),
    ),
    (
        (
            rf"(?:在?过去的?|最近的?|近|前)(?P<count>{_HAN_COUNT})个?"
            r"(?P<unit>小时|天|日|周|星期|礼拜|月|季度|年)(?:以?内|里|中)?"
        ),
        lambda m, now: rolling(_unit(m["unit"]), _count(m["count"]), now),
    ),
    (
        r"(?P<which>本|这个?|上个?|下个?)(?P<unit>周|星期|礼拜|月|季度|季)(?![一二三四五六日天份])",
        _which,
    ),
    (r"(?P<which>本|这个?|上个?|下个?)(?P<unit>月)份", _which),
    (r"(?P<last>上个?)?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])", _han_weekday),
    (
        f"(?P<days>{'|'.join(_HAN_DAYS)})",
        lambda m, now: one_day(day_of(now) + timedelta(days=_HAN_DAYS[m["days"]])),
    ),
    (
        f"(?P<years>{'|'.join(_HAN_YEARS)})",
        lambda m, now: calendar("year", _HAN_YEARS[m["years"]], now),
    ),
)
_COMPILED: Final = tuple((re.compile(pattern), reader) for pattern, reader in ATOMS)


def span_of(text: str, now: datetime) -> Span | None:
    """Return the time that a text names, if it is one and no more."""
    text = text.strip()
    for pattern, reader in _COMPILED:
        if match := pattern.fullmatch(text):
            span = reader(match, now)
            return span if span is not None and span.start < span.end else None
    return None
