"""Expressions as text, written: the inverse of `refdesk.db.dsl.expressions`."""

from __future__ import annotations

import re
from typing import Final

from refdesk.db.dsl.types import (
    Binary,
    Call,
    Cast,
    Claim,
    Constant,
    Expression,
    Field,
    Interval,
    Parameter,
    Star,
)

_PLAIN: Final = re.compile(r"[^\W\d]\w*")
_PLAIN_SOURCE: Final = re.compile(r"\$?[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_RESERVED: Final = frozenset(("true", "false", "null", "as", "distinct"))


def write_expression(value: Expression) -> str | None:
    """Write an expression as text, or return None if it holds a case or a sub-query."""
    try:
        return _write(value)
    except _NotText:
        return None


class _NotText(Exception):
    pass


def _write(value: Expression, around: int = 0) -> str:
    """Write it; ``around`` is how closely the operator outside binds."""
    match value:
        case Field():
            return _source(value.source) + _name(value.name, value.source) + _steps(value.path)
        case Star():
            return _source(value.source) + "*"
        case Constant():
            return _constant(value.value)
        case Parameter():
            return f"?:{value.name}"
        case Claim():
            raise _NotText
        case Call():
            distinct = "distinct " if value.distinct else ""
            return f":{value.name}({distinct}{', '.join(_write(each) for each in value.args)})"
        case Interval():
            return f":INTERVAL({_write(value.amount)}, {value.unit})"
        case Cast():
            size = " " + ",".join(map(str, value.size)) if value.size else ""
            return f":CAST({_write(value.value)} as {value.type}{size})"
        case Binary():
            binds = 1 if value.op in "+-" else 2
            # To the right of the same operator a chain needs its parentheses.
            text = f"{_write(value.left, binds)} {value.op} {_write(value.right, binds + 1)}"
            return f"({text})" if binds < around else text
        case _:
            raise _NotText


def _source(source: str | None) -> str:
    if source is None:
        return ""
    return f"{source}." if _PLAIN_SOURCE.fullmatch(source) else f"`{source}`."


def _name(name: str, source: str | None) -> str:
    plain = _PLAIN.fullmatch(name) and (source is not None or name.lower() not in _RESERVED)
    return name if plain else f"`{name}`"


def _steps(path: tuple[str | int, ...]) -> str:
    if not path:
        return ""
    steps = "".join(
        f"[{step}]" if isinstance(step, int) else f".{_name(step, '')}" for step in path
    )
    return f"${steps}"


def _constant(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
