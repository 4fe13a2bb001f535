"""Format codes of numbers, taken apart (ECMA-376 part 1, 18.8.30 and 18.8.31)."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

BUILTIN = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%",
    11: "0.00E+00", 12: "# ?/?", 13: "# ??/??", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm",
    17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "hh:mm", 21: "hh:mm:ss",
    22: "yyyy-mm-dd hh:mm", 37: "#,##0;-#,##0", 38: "#,##0;-#,##0", 39: "#,##0.00;-#,##0.00",
    40: "#,##0.00;-#,##0.00", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@",
    **dict.fromkeys((27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58), "yyyy-mm-dd"),
}  # fmt: skip
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<room>.)|\*(?P<fill>.)|\[(?P<bracket>[^\[\]]*+)\]'
    r"|(?P<general>General)|(?P<half>AM/PM|A/P|上午/下午)|(?P<clock>y+|m+|d+|h+|s+|e+(?![+-]))"
    r"|(?P<power>E[+-])|(?P<digit>[0#?])|(?P<sign>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?[\d.]+)$")
_COMPARE = {
    "<": Decimal.__lt__, ">": Decimal.__gt__, "=": Decimal.__eq__,
    "<=": Decimal.__le__, ">=": Decimal.__ge__, "<>": Decimal.__ne__,
}  # fmt: skip

Token = tuple[str, str]


@lru_cache(maxsize=1000)
def sections(code: str) -> list[list[Token]]:
    """Return the sections of a code, each as tokens of a kind and what it says."""
    found: list[list[Token]] = [[]]
    for each in _TOKEN.finditer(code):
        kind = each.lastgroup or "sign"
        if kind == "sign" and each[kind] == ";":
            found.append([])
        else:
            found[-1].append((kind, each[kind]))
    return found


def section(number: Decimal, code: str) -> tuple[list[Token], Decimal]:
    """Return the section of a code that a number is shown by, and the number to show there."""
    found, conditions = _conditional(code)
    if any(conditions):
        for tokens, condition in zip(found, conditions, strict=True):
            if condition is None or _COMPARE[condition[0]](number, condition[1]):
                return tokens, number
        return found[-1], number
    if number < 0 and len(found) > 1:
        return found[1], -number  # it has a sign of its own
    if number == 0 and len(found) > 2:
        return found[2], number
    return found[0], number


@lru_cache(maxsize=1000)
def _conditional(code: str) -> tuple[list[list[Token]], list[tuple[str, Decimal] | None]]:
    found = sections(code)[:3]
    return found, [_condition(tokens) for tokens in found]


def _condition(tokens: list[Token]) -> tuple[str, Decimal] | None:
    for kind, said in tokens:
        if kind == "bracket" and (found := _CONDITION.match(said)):
            return found[1], Decimal(found[2])
    return None


def plain(token: Token) -> str:
    """Return what a token says by itself: its letters, a space, or the sign of a currency."""
    kind, said = token
    if kind == "bracket":
        return said[1:].partition("-")[0] if said.startswith("$") else ""
    return {"room": " ", "fill": ""}.get(kind, said)


def elapsed(token: Token) -> bool:
    return token[0] == "bracket" and token[1].lower().strip("hms") == "" and token[1] != ""
