"""Reading conditions: long, short, and grouped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from refdesk.db.dsl._reading import QueryReader, Reading, shown
from refdesk.db.dsl.expressions import ExpressionError, read_expression
from refdesk.db.dsl.types import (
    OPS,
    Claim,
    Comparison,
    Condition,
    Constant,
    Expression,
    Group,
    Op,
    Parameter,
    SubQuery,
)

MAX_VALUES: Final = 1000
"""How many values may stand after ``in``."""

_ALIASES: Final[dict[str, Op]] = {"!=": "<>", "==": "=", "ilike": "like", "eq": "="}
_PLAIN: Final = frozenset(("field", "op", "value", "query", "or", "comment", "wheres"))
_CLAIM: Final = re.compile(r"\{\s*user((?:\.\w+)+)\s*\}")
_PARAMETER: Final = re.compile(r"\?:[\w.]+")


def read_conditions(
    reading: Reading, written: Any, path: str, code: str, read_query: QueryReader
) -> tuple[Condition, ...]:
    """Read a list of conditions; what is wrong goes to the reading."""
    if written is None:
        return ()
    if isinstance(written, Mapping):
        written = [written]
    if not isinstance(written, list | tuple):
        reading.fail(code, path, f"conditions are a list, not {shown(written)}")
        return ()
    found = []
    for index, each in enumerate(written):
        where = f"{path}[{index}]"
        if not reading.count(where):
            break
        condition = _condition(reading, each, where, code, read_query)
        if condition is not None:
            found.append(condition)
    return tuple(found)


def _condition(
    reading: Reading, written: Any, path: str, code: str, read_query: QueryReader
) -> Condition | None:
    if not isinstance(written, Mapping):
        reading.fail(code, path, f'a condition is {{"field", "op", "value"}}, not {shown(written)}')
        return None
    either = written.get("or")
    if either not in (None, True, False):
        reading.fail(code, reading.at(path, "or"), f"or is true or false, not {shown(either)}")
    comment = reading.text(written, "comment", path)
    if "wheres" in written:
        return _group(reading, written, path, code, read_query, either is True, comment)
    field, either, comment = _field(written, either is True, comment)
    if field is None or field == "":
        reading.fail(code, path, "field is missing; name the column that is compared")
        return None
    op, value = _operator(reading, written, path, code)
    if op is None:
        return None
    left = reading.expression(field, reading.at(path, "field"), code, read_query)
    right = _right(reading, op, written, value, path, code, read_query)
    if left is None or right is None:
        return None
    return Comparison(left=left, op=op, right=right, either=either, comment=comment)


def _group(
    reading: Reading,
    written: Mapping[Any, Any],
    path: str,
    code: str,
    read_query: QueryReader,
    either: bool,
    comment: str | None,
) -> Condition | None:
    reading.known(written, {"wheres", "or", "comment"}, path)
    inner = reading.at(path, "wheres")
    with reading.deeper(path) as allowed:
        if not allowed:
            return None
        wheres = read_conditions(reading, written["wheres"], inner, code, read_query)
    if not written["wheres"]:
        reading.fail(code, inner, "the group has no condition")
    if not wheres:
        return None
    return Group(wheres=wheres, either=either, comment=comment)


def _field(
    written: Mapping[Any, Any], either: bool, comment: str | None
) -> tuple[Any, bool, str | None]:
    """Return what is compared: the field, or the key that stands for it in the short form."""
    if "field" in written:
        return written["field"], either, comment
    for key, value in written.items():
        match = re.fullmatch(r"(or\s+)?:(:?.+)", key, re.DOTALL) if isinstance(key, str) else None
        if match:
            name = match[2]
            if not name.startswith(":") and re.match(r"[^\W\d]\w*\(", name):
                name = f":{name}"
            if isinstance(value, str) and value and comment is None:
                comment = value
            return name, either or bool(match[1]), comment
    return None, either, comment


def _operator(
    reading: Reading, written: Mapping[Any, Any], path: str, code: str
) -> tuple[Op | None, Any]:
    """Return the operator and the value after it, from the long or the short form."""
    short = [(key, _op(key)) for key in written if key not in _PLAIN and _op(key)]
    for key in written:
        is_field = isinstance(key, str) and re.match(r"(or\s+)?:", key) and "field" not in written
        if key not in _PLAIN and not _op(key) and not is_field:
            name = key if isinstance(key, str) else repr(key)
            reading.fail(
                code,
                reading.at(path, name[:60]),
                f"there is no operator or member {name[:60]!r}; operators: {', '.join(OPS)}",
            )
            return None, None
    if len(short) + ("op" in written) > 1:
        reading.fail(code, path, "a condition has one operator; write two conditions")
        return None, None
    if short:
        return short[0][1], written[short[0][0]]
    if "op" not in written:
        reading.fail(code, path, f"op is missing; known: {', '.join(OPS)}")
        return None, None
    op = _op(written["op"])
    if op is None:
        reading.fail(
            code,
            reading.at(path, "op"),
            f"there is no operator {shown(written['op'])}; known: {', '.join(OPS)}",
        )
    return op, written.get("value")


def _op(key: Any) -> Op | None:
    if not isinstance(key, str):
        return None
    key = " ".join(key.lower().split())
    return cast("Op", key) if key in OPS else _ALIASES.get(key)


def _right(
    reading: Reading,
    op: Op,
    written: Mapping[Any, Any],
    value: Any,
    path: str,
    code: str,
    read_query: QueryReader,
) -> Expression | tuple[Expression, ...] | None:
    if op == "is":
        word = "null" if value is None else value
        if not isinstance(word, str) or " ".join(word.lower().split()) not in ("null", "not null"):
            reading.fail(code, path, f"after is comes null or not null, not {shown(value)}")
            return None
        return Constant(value=" ".join(word.lower().split()))
    if written.get("query") is not None:
        if value is not None or op == "between":
            reading.fail(code, path, f"{op} is followed by a value or a query, not by both")
            return None
        query = read_query(reading, written["query"], reading.at(path, "query"))
        return SubQuery(query=query) if query else None
    where = reading.at(path, "value" if "value" in written else op)
    if value is None:
        reading.fail(
            code, path, f"{op} has no value and no query; whether there is a value is asked with is"
        )
        return None
    if op in ("in", "not in", "between"):
        return _several(reading, op, value, where, code, read_query)
    return read_value(reading, value, where, code, read_query)


def _several(
    reading: Reading, op: Op, value: Any, path: str, code: str, read_query: QueryReader
) -> Expression | tuple[Expression, ...] | None:
    if isinstance(value, str):
        one = read_value(reading, value, path, code, read_query)
        if isinstance(one, Parameter | Claim) and op != "between":
            return one
    elif isinstance(value, Mapping) and "query" in value and op != "between":
        return read_value(reading, value, path, code, read_query)
    if not isinstance(value, list | tuple):
        reading.fail(code, path, f"{op} is followed by a list, not {shown(value)}")
        return None
    if len(value) > MAX_VALUES or (op == "between" and len(value) != 2):
        most = "two values" if op == "between" else f"at most {MAX_VALUES} values"
        reading.fail(code, path, f"{op} takes {most}; found {len(value)}")
        return None
    found = [
        read_value(reading, each, f"{path}[{index}]", code, read_query)
        for index, each in enumerate(value)
    ]
    return None if any(each is None for each in found) else tuple(e for e in found if e is not None)


def read_value(
    reading: Reading, value: Any, path: str, code: str, read_query: QueryReader
) -> Expression | None:
    """Read what stands after an operator: a literal, an expression in braces, or an object."""
    if not reading.count(path):
        return None
    if isinstance(value, Mapping):
        return reading.expression(value, path, code, read_query)
    if isinstance(value, str):
        if _PARAMETER.fullmatch(value):
            return Parameter(name=value[2:])
        if reading.claims and (claim := _CLAIM.fullmatch(value)):
            return Claim(path=tuple(claim[1][1:].split(".")))
        if reading.claims and "{user" in value:
            reading.fail(
                code, path, f"a claim stands alone, as in {{user.id}}; found {shown(value)}"
            )
            return None
        if is_braced(value):
            try:
                return read_expression(value[1:-1])
            except ExpressionError as exc:
                reading.fail(
                    code, path, f'{exc}; a literal in braces is written {{"value": …}}', value
                )
                return None
    return reading.scalar(value, path, code)


def is_braced(value: str) -> bool:
    """Tell whether a text after an operator is an expression, not a literal."""
    return len(value) > 2 and value[0] == "{" and value[-1] == "}"


def is_literal(value: str) -> bool:
    """Tell whether a text after an operator means itself."""
    return not is_braced(value) and not _PARAMETER.fullmatch(value)
