"""
Expressions as objects, for what text cannot say and for those who would rather not write text.

    {"value": "literal"}                                {"expr": "a + b"}
    {"func": "SUM", "args": ["price"], "distinct": true}
    {"op": "/", "left": "a", "right": "b"}
    {"cast": "price", "type": "decimal 11,2"}
    {"interval": 7, "unit": "day"}
    {"case": [{"when": [conditions], "then": "price"}], "else": 0}
    {"query": {…}}                                      a sub-query with one column
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from refdesk.db.dsl._reading import QueryReader, Reading, shown
from refdesk.db.dsl.conditions import read_conditions
from refdesk.db.dsl.expressions import (
    ExpressionError,
    fold_part,
    read_type,
    unit_of,
)
from refdesk.db.dsl.types import (
    Binary,
    Call,
    Case,
    Cast,
    Expression,
    Interval,
    SubQuery,
    When,
)

_KINDS = {
    "value": {"value"},
    "expr": {"expr"},
    "func": {"func", "args", "distinct"},
    "op": {"op", "left", "right"},
    "cast": {"cast", "type"},
    "interval": {"interval", "unit"},
    "case": {"case", "else"},
    "query": {"query"},
}


def read_value_object(
    reading: Reading, written: Mapping[Any, Any], path: str, code: str, read_query: QueryReader
) -> Expression | None:
    """Read an expression object; what is wrong goes to the reading."""
    kind = next((each for each in _KINDS if each in written), None)
    if kind is None:
        reading.fail(code, path, f"an expression object has one of: {', '.join(_KINDS)}")
        return None
    with reading.deeper(path) as allowed:
        if not allowed or not reading.count(path):
            return None
        reading.known(written, _KINDS[kind], path)
        return _read(reading, kind, written, path, code, read_query)


def _read(
    reading: Reading,
    kind: str,
    written: Mapping[Any, Any],
    path: str,
    code: str,
    read_query: QueryReader,
) -> Expression | None:
    def part(key: str) -> Expression | None:
        if key not in written:
            reading.fail(code, path, f"{key} is missing")
            return None
        return reading.expression(written[key], reading.at(path, key), code, read_query)

    match kind:
        case "value":
            return reading.scalar(written["value"], reading.at(path, "value"), code)
        case "expr":
            return part("expr")
        case "query":
            query = read_query(reading, written["query"], reading.at(path, "query"))
            return SubQuery(query=query) if query else None
        case "func":
            return _call(reading, written, path, code, read_query)
        case "op":
            left, right = part("left"), part("right")
            if written["op"] not in ("+", "-", "*", "/"):
                reading.fail(
                    code, reading.at(path, "op"), f"op is + - * or /, not {shown(written['op'])}"
                )
            elif left is not None and right is not None:
                return Binary(op=cast("Any", written["op"]), left=left, right=right)
            return None
        case "cast":
            value = part("cast")
            try:
                type_, size = read_type(str(written.get("type", ""))[:60])
            except ExpressionError as exc:
                reading.fail(code, reading.at(path, "type"), str(exc))
                return None
            return None if value is None else Cast(value=value, type=type_, size=size)
        case "interval":
            amount = part("interval")
            try:
                unit = unit_of(str(written.get("unit", ""))[:60])
            except ExpressionError as exc:
                reading.fail(code, reading.at(path, "unit"), str(exc))
                return None
            return None if amount is None else Interval(amount=amount, unit=unit)
    return _case(reading, written, path, code, read_query)


def _call(
    reading: Reading, written: Mapping[Any, Any], path: str, code: str, read_query: QueryReader
) -> Expression | None:
    name, args = written["func"], written.get("args", [])
    if not isinstance(name, str) or not re.fullmatch(r":?[^\W\d]\w{0,60}", name):
        reading.fail(
            code, reading.at(path, "func"), f"func is the name of a function, not {shown(name)}"
        )
        return None
    if not isinstance(args, list | tuple) or len(args) > 50:
        reading.fail(code, reading.at(path, "args"), f"args is a list, not {shown(args)}")
        return None
    values = [
        reading.expression(each, f"{reading.at(path, 'args')}[{index}]", code, read_query)
        for index, each in enumerate(args)
    ]
    if any(each is None for each in values):
        return None
    name = name.removeprefix(":").upper()
    known = tuple(each for each in values if each is not None)
    return Call(name=name, args=fold_part(name, known), distinct=written.get("distinct") is True)


def _case(
    reading: Reading, written: Mapping[Any, Any], path: str, code: str, read_query: QueryReader
) -> Expression | None:
    arms = written["case"]
    if not isinstance(arms, list | tuple) or not 0 < len(arms) <= 50:
        reading.fail(
            code, reading.at(path, "case"), "case is a list of {when, then}, with 50 at most"
        )
        return None
    whens = []
    for index, arm in enumerate(arms):
        where = f"{reading.at(path, 'case')}[{index}]"
        if not isinstance(arm, Mapping) or not arm.get("when") or "then" not in arm:
            reading.fail(code, where, "an arm has when, a list of conditions, and then")
            continue
        reading.known(arm, {"when", "then"}, where)
        wheres = read_conditions(reading, arm["when"], reading.at(where, "when"), code, read_query)
        then = reading.expression(arm["then"], reading.at(where, "then"), code, read_query)
        if then is not None and wheres:
            whens.append(When(wheres=wheres, then=then))
    default = None
    if written.get("else") is not None:
        default = reading.expression(written["else"], reading.at(path, "else"), code, read_query)
    return Case(whens=tuple(whens), default=default) if whens else None
