"""
Numbers as a spreadsheet shows them.

Dates and times that a program writes in the manner of its own country (formats 14 and 20 to 22) are
ISO 8601 here.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from fractions import Fraction

from refdesk.kb.ingest.reading.formats import Token, elapsed, plain, section, sections
from refdesk.kb.ingest.reading.moments import moment_shown

_MOST = Decimal("1e308")


def shown(value: str, code: str, *, since_1904: bool = False) -> str:
    """
    Return a number as its format code shows it.

    Args:
        value: The number as the file has it.
        code: The format code.
        since_1904: Whether days are counted from 1904 and not from 1900.

    Returns:
        The value itself where it is no number, or the code cannot be followed.
    """
    if code == "General" and value.isdigit() and len(value) <= 15:
        return value.lstrip("0") or "0"
    try:
        number = Decimal(value)
    except InvalidOperation:
        return value
    if not number.is_finite() or abs(number) > _MOST:
        return value
    # Programs show fifteen digits; what is behind them is the noise of binary fractions.
    number = Decimal(format(float(number), ".15g")) if len(value) > 15 else number
    try:
        tokens, number = section(number, code)
        return _written(number, tokens, since_1904)
    except (ArithmeticError, ValueError, IndexError):
        return general(number)


def labelled(text: str, code: str) -> str:
    """Return a text as its format code shows it: the fourth section, with ``@`` for the text."""
    found = sections(code)
    tokens = found[3] if len(found) > 3 else found[-1]
    if ("sign", "@") not in tokens:
        return text
    return "".join(text if one == ("sign", "@") else plain(one) for one in tokens).strip()


def general(number: Decimal) -> str:
    """Return a number in the format ``General``, whole where it is whole."""
    if number == number.to_integral_value() and abs(number) < Decimal(10) ** 15:
        return str(int(number))
    return format(float(number), ".15g").replace("e", "E")


def _written(number: Decimal, tokens: list[Token], since_1904: bool) -> str:
    kinds = {kind for kind, _ in tokens}
    if "general" in kinds or ("sign", "@") in tokens:
        text = "".join(
            general(number) if one[0] == "general" or one == ("sign", "@") else plain(one)
            for one in tokens
        )
    elif kinds & {"clock", "half"} or any(elapsed(one) for one in tokens):
        text = moment_shown(number, tokens, since_1904)
    elif "digit" in kinds:
        text = _digits(number, tokens)
    else:
        text = "".join(map(plain, tokens))
        text = f"-{text}" if number < 0 and text else text
    return text.strip()


def _digits(number: Decimal, tokens: list[Token]) -> str:
    """Return a number in a pattern of digits, with whatever stands among them."""
    places = [at for at, (kind, _) in enumerate(tokens) if kind == "digit"]
    first, last = places[0], places[-1]
    slash = next((at for at in range(first, last) if tokens[at] == ("sign", "/")), None)
    if slash is None and "".join(said for _, said in tokens[last + 1 : last + 3])[1:].isdigit():
        slash = last + 1 if tokens[last + 1] == ("sign", "/") else None  # `# ?/8`
        while slash and last + 1 < len(tokens) and tokens[last + 1][1] in "/0123456789":
            last += 1
    number *= Decimal(100) ** sum(one == ("sign", "%") for one in tokens)
    after = last + 1
    while after < len(tokens) and tokens[after] == ("sign", ","):
        number /= 1000
        after += 1
    core = tokens[first : last + 1]
    head = "".join(map(plain, tokens[:first]))
    tail = "".join(map(plain, tokens[after:]))
    minus = "-" if number < 0 else ""
    number = abs(number)
    if slash is not None:
        body = _fraction(number, core, slash - first)
    elif any(kind == "power" for kind, _ in core):
        body = _scientific(number, core)
    else:
        body = _fixed(number, core)
    if minus and not any(char in "123456789" for char in body):
        minus = ""
    return minus + head + body + tail


def _fixed(number: Decimal, core: list[Token]) -> str:
    point = next((at for at, one in enumerate(core) if one == ("sign", ".")), len(core))
    whole, part = core[:point], core[point + 1 :]
    digits = [said for kind, said in part if kind == "digit"]
    rounded = number.quantize(Decimal(1).scaleb(-len(digits)), rounding=ROUND_HALF_UP)
    before, _, behind = f"{rounded:f}".partition(".")
    needed = sum(one == ("digit", "0") for one in whole)
    before = before.lstrip("0").rjust(needed, "0")
    if ("sign", ",") in whole:
        before = _grouped(before)
    elif any(kind not in ("digit", "sign") for kind, _ in whole) or ("sign", "-") in whole:
        before = _among(before, whole)
    least = max((at for at, said in enumerate(digits, 1) if said == "0"), default=0)
    while len(behind) > least and behind.endswith("0"):
        behind = behind[:-1]
    others = "".join(plain(one) for one in part if one[0] != "digit")
    return f"{before}.{behind}{others}" if behind else before + others


def _among(digits: str, whole: list[Token]) -> str:
    """Return digits with signs among them, as in numbers of telephones: ``000-0000``."""
    said: list[str] = []
    left = digits
    for one in reversed(whole):
        if one[0] != "digit":
            said.append(plain(one))
        elif left:
            said.append(left[-1])
            left = left[:-1]
    return left + "".join(reversed(said))


def _grouped(digits: str) -> str:
    return f"{int(digits):,}".rjust(len(digits), "0") if digits.strip("0") else digits


def _scientific(number: Decimal, core: list[Token]) -> str:
    power = next(at for at, (kind, _) in enumerate(core) if kind == "power")
    mantissa, exponent = core[:power], core[power + 1 :]
    point = next((at for at, one in enumerate(mantissa) if one == ("sign", ".")), power)
    step = max(1, sum(kind == "digit" for kind, _ in mantissa[:point]))
    digits = sum(kind == "digit" for kind, _ in mantissa[point:])
    size = 0 if number == 0 else number.adjusted() // step * step
    said = _fixed(number.scaleb(-size), mantissa)
    if digits >= 0 and Decimal(said or "0") >= Decimal(10) ** step:
        size += step
        said = _fixed(number.scaleb(-size), mantissa)
    sign = "-" if size < 0 else core[power][1][1].replace("-", "")
    needed = sum(kind == "digit" for kind, _ in exponent)
    return f"{said}E{sign}{abs(size):0{needed}}"


def _fraction(number: Decimal, core: list[Token], slash: int) -> str:
    given = "".join(said for _, said in core[slash + 1 :]).strip()
    below = sum(kind == "digit" for kind, _ in core[slash + 1 :])
    mixed = any(core[at][0] == "digit" and core[at + 1] == ("sign", " ") for at in range(slash - 1))
    whole = int(number) if mixed else 0
    rest = Fraction(number - whole)
    if given.isdigit() and int(given):
        top, bottom = round(rest * int(given)), int(given)
    else:
        near = rest.limit_denominator(10**below - 1)
        top, bottom = near.numerator, near.denominator
    if mixed and bottom and top == bottom:
        whole, top = whole + 1, 0
    parts = [str(whole)] if mixed and (whole or not top) else []
    return " ".join([*parts, f"{top}/{bottom}"] if top or not mixed else parts)
