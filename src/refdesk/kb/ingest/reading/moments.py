"""Dates and times as their format codes show them.  Names of months and days are English."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal

from refdesk.kb.ingest.reading.formats import Token, elapsed, plain

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def moment_shown(number: Decimal, tokens: list[Token], since_1904: bool) -> str:
    """Return a number of days as date and time."""
    finest = _finest(tokens)
    seconds = (number * 86400).quantize(Decimal(1).scaleb(-finest), rounding=ROUND_HALF_UP)
    if not any(kind == "clock" and said[0].lower() == "s" for kind, said in tokens) and not any(
        elapsed(one) and "s" in one[1].lower() for one in tokens
    ):
        seconds = (number * 86400).quantize(Decimal(1), rounding=ROUND_HALF_UP)
    base = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30)
    if not since_1904 and 0 <= number < 60:
        base += timedelta(days=1)  # 1900 is taken for a leap year, from 1 March
    moment = base + timedelta(seconds=int(seconds))
    half = any(kind == "half" for kind, _ in tokens)
    said: list[str] = []
    for at, (kind, text) in enumerate(tokens):
        low = text.lower()
        if kind == "clock":
            if low[0] == "m" and _is_minute(tokens, at):
                said.append(f"{moment.minute:0{min(2, len(low))}}")
            else:
                said.append(_clock(moment, low, half))
        elif kind == "half":
            said.append("AM" if moment.hour < 12 else "PM")
        elif elapsed((kind, text)):
            worth = {"h": 3600, "m": 60, "s": 1}[low[0]]
            said.append(f"{int(seconds) // worth:0{len(low)}}")
        elif kind == "digit":
            said.append("" if tokens[at - 1][0] == "digit" else f"{seconds % 1:f}"[2 : 2 + finest])
        else:
            said.append(plain((kind, text)))
    return "".join(said)


def _finest(tokens: list[Token]) -> int:
    """Return to how many decimals seconds are shown."""
    return sum(kind == "digit" for kind, _ in tokens)


def _clock(moment: datetime, low: str, half: bool) -> str:
    size = len(low)
    match low[0]:
        case "y" | "e":
            return f"{moment.year:04}" if size > 2 or low[0] == "e" else f"{moment.year % 100:02}"
        case "m":
            name = _MONTHS[moment.month - 1]
            long = {3: name[:3], 4: name, 5: name[0]}
            return long.get(size, f"{moment.month:0{min(size, 2)}}")
        case "d":
            name = _DAYS[moment.weekday()]
            return {3: name[:3], 4: name}.get(size, f"{moment.day:0{min(size, 2)}}")
        case "h":
            hour = (moment.hour - 1) % 12 + 1 if half else moment.hour
            return f"{hour:0{min(size, 2)}}"
        case _:
            return f"{moment.second:0{min(size, 2)}}"


def _is_minute(tokens: list[Token], at: int) -> bool:
    """Whether an ``m`` is minutes: after hours, or before seconds."""

    def clock(one: Token) -> str:
        return one[1][0].lower() if one[0] == "clock" or elapsed(one) else ""

    before = next((clock(one) for one in reversed(tokens[:at]) if clock(one)), "")
    behind = next((clock(one) for one in tokens[at + 1 :] if clock(one)), "")
    return len(tokens[at][1]) < 3 and (before == "h" or behind == "s")
