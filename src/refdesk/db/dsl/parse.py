"""
Reading a query document: JSON-like data in, a `Query` out, or all that is wrong with it.

Conditions come in the long form, ``{"field": "score", "op": ">", "value": 20}``, and the short one,
``{"field": "score", ">": 20}`` or ``{":score": "comment", ">": 20}``.  A value is a literal; what
stands in braces is an expression (``"{other_field}"``), and so is an object
(`refdesk.db.dsl.objects`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from refdesk.db.dsl._reading import Reading, shown
from refdesk.db.dsl.conditions import read_conditions
from refdesk.db.dsl.expressions import (
    ExpressionError,
    is_alias,
    read_ordered,
    read_selected,
    split_list,
)
from refdesk.db.dsl.objects import read_value_object
from refdesk.db.dsl.types import (
    Condition,
    Expression,
    GroupBy,
    Join,
    Order,
    Parameter,
    Query,
    QueryError,
    Selected,
    Source,
)

MAX_LIST: Final = 200
"""How many columns, orders, joins or unions one query may have."""
MAX_LIST_CHARS: Final = 100_000
"""Characters of a list written as text; a longer one is a finding."""

_KEYS: Final = frozenset(
    (
        "select",
        "from",
        "wheres",
        "orders",
        "groups",
        "havings",
        "joins",
        "unions",
        "query",
        "name",
        "first",
        "limit",
        "offset",
        "page",
        "pagesize",
        "data-only",
        "comment",
        "debug",
        "distinct",
    )
)
_JOIN_KEYS: Final = frozenset(
    ("from", "query", "name", "key", "foreign", "on", "left", "right", "select", "comment")
)
_FROM: Final = re.compile(
    r"\s*(\$?[^\W\d][\w.\-]*|`[^`]+`)(?:\s+(?:as\s+)?(\w+|`\w+`))?\s*", re.IGNORECASE
)


def parse(document: Mapping[str, Any]) -> Query:
    """Read a document, or raise QueryError, which holds every finding."""
    reading = Reading(read_value_object)
    query = read_query(reading, document, "")
    reading.raise_if_wrong()
    assert query is not None
    return query


def parse_conditions(wheres: Any, *, claims: bool = False) -> tuple[Condition, ...]:
    """
    Read conditions alone, as a request or a row rule has them.

    Args:
        wheres: A list of conditions.
        claims: Whether ``{user.…}`` is a claim of the asker's identity, not a column.
    """
    reading = Reading(read_value_object, claims=claims)
    found = read_conditions(reading, wheres, "wheres", "E120", read_query)
    reading.raise_if_wrong()
    return found


def parse_orders(orders: Any) -> tuple[Order, ...]:
    """Read orders alone, as a request has them."""
    reading = Reading(read_value_object)
    found = _orders(reading, orders, "orders")
    reading.raise_if_wrong()
    return found


def parse_select(select: Any) -> tuple[Selected, ...]:
    """Read a select list alone, as a request has it."""
    reading = Reading(read_value_object)
    found = _select(reading, select, "select")
    reading.raise_if_wrong()
    return found


def read_query(reading: Reading, document: Any, path: str) -> Query | None:
    """Read a query, whole or within another; what is wrong goes to the reading."""
    if not isinstance(document, Mapping):
        reading.fail(
            "E190" if path else "E001", path, f"a query is an object, not {shown(document)}"
        )
        return None
    with reading.deeper(path) as allowed:
        if not allowed:
            return None
        return _query(reading, document, path)


def _query(reading: Reading, document: Mapping[Any, Any], path: str) -> Query | None:
    if "sql" in document:
        reading.fail(
            "E180",
            reading.at(path, "sql"),
            "raw SQL is not run, from nobody; say it with select, from and wheres",
        )
    reading.known(document, _KEYS | {"sql"}, path)

    def at(key: str) -> str:
        return reading.at(path, key)

    if "select" not in document and "sql" not in document:
        reading.fail("E100", path, "select is missing; an empty list means all columns")
    source = _source(reading, document, path, "E110", "E111")
    found = Query(
        source=source or Source(name="?"),
        select=_select(reading, document.get("select", []), at("select")),
        wheres=read_conditions(reading, document.get("wheres"), at("wheres"), "E120", read_query),
        orders=_orders(reading, document.get("orders"), at("orders")),
        groups=_groups(reading, document.get("groups"), at("groups")),
        havings=read_conditions(
            reading, document.get("havings"), at("havings"), "E151", read_query
        ),
        joins=_joins(reading, document.get("joins"), at("joins")),
        unions=_unions(reading, document.get("unions"), at("unions")),
        distinct=_flag(reading, document, "distinct", path),
        first=_flag(reading, document, "first", path),
        limit=_count(reading, document, "limit", path, least=0),
        offset=_count(reading, document, "offset", path, least=0),
        page=_count(reading, document, "page", path, least=1),
        pagesize=_count(reading, document, "pagesize", path, least=1),
        data_only=_flag(reading, document, "data-only", path),
        comment=reading.text(document, "comment", path),
        debug=_flag(reading, document, "debug", path),
    )
    if found.havings and not found.groups:
        reading.fail("E150", at("havings"), "havings need groups; without them use wheres")
    return found


def _source(
    reading: Reading, document: Mapping[Any, Any], path: str, missing: str, invalid: str
) -> Source | None:
    written, derived = document.get("from"), document.get("query")
    alias = document.get("name")
    if isinstance(written, Mapping):
        # A derived table may stand in the place of its name, too.
        reading.known(written, {"query", "name"}, reading.at(path, "from"))
        path, written = reading.at(path, "from"), None
        derived, alias = document["from"].get("query"), document["from"].get("name")
    if alias is not None and (derived is None or not isinstance(alias, str) or not is_alias(alias)):
        reading.fail(
            invalid,
            reading.at(path, "name"),
            f"name is the alias of a derived table (query), one word; found {shown(alias)}",
        )
        return None
    if derived is not None:
        if written is not None:
            reading.fail(
                invalid, reading.at(path, "from"), "either from or query is given, not both"
            )
        query = read_query(reading, derived, reading.at(path, "query"))
        return Source(query=query, alias=alias) if query else None
    if written is None or written == "":
        if "sql" not in document:
            reading.fail(missing, path, "from is missing; name the table or $model to read")
        return None
    match = _FROM.fullmatch(written) if isinstance(written, str) else None
    alias = match[2].strip("`") if match and match[2] else None
    if match is None or (alias and not is_alias(alias)):
        reading.fail(
            invalid,
            reading.at(path, "from"),
            f"from is a table or $model and at most one alias (user as u), not {shown(written)}",
        )
        return None
    return Source(name=match[1].strip("`"), alias=alias)


def _select(reading: Reading, written: Any, path: str) -> tuple[Selected, ...]:
    found = []
    for where, each in _items(reading, written, path, "E101"):
        value: Expression | None = None
        alias: Any = None
        if isinstance(each, str):
            try:
                value, alias = read_selected(each)
            except ExpressionError as exc:
                reading.fail("E002", where, str(exc), each)
        elif isinstance(each, Mapping):
            alias = each.get("as")
            if alias is not None and not (isinstance(alias, str) and is_alias(alias)):
                reading.fail("E101", where, f"an alias is one word; found {shown(alias)}")
                continue
            value = read_value_object(
                reading, {k: v for k, v in each.items() if k != "as"}, where, "E101", read_query
            )
        else:
            value = reading.scalar(each, where, "E101")
        if value is not None:
            found.append(Selected(value=value, alias=alias))
    return tuple(found)


def _orders(reading: Reading, written: Any, path: str) -> tuple[Order, ...]:
    found = []
    for where, each in _items(reading, written, path, "E130"):
        if isinstance(each, str):
            try:
                value, descending, nulls = read_ordered(each)
            except ExpressionError as exc:
                reading.fail("E130", where, str(exc), each)
                continue
            found.append(Order(value=value, descending=descending, nulls=nulls))
            continue
        if not isinstance(each, Mapping) or "field" not in each:
            reading.fail(
                "E130", where, f'an order is "name desc", or has a field; found {shown(each)}'
            )
            continue
        reading.known(each, {"field", "sort", "order", "nulls", "comment"}, where)
        sort = each.get("sort", each.get("order", "asc"))
        after = each.get("nulls")
        field = reading.expression(each["field"], reading.at(where, "field"), "E130", read_query)
        if not isinstance(sort, str) or sort.lower() not in ("asc", "desc"):
            reading.fail(
                "E130", reading.at(where, "sort"), f"sort is asc or desc, not {shown(sort)}"
            )
        elif after not in (None, "first", "last"):
            reading.fail(
                "E130", reading.at(where, "nulls"), f"nulls is first or last, not {shown(after)}"
            )
        elif field is not None:
            found.append(Order(value=field, descending=sort.lower() == "desc", nulls=after))
    return tuple(found)


def _groups(reading: Reading, written: Any, path: str) -> tuple[GroupBy, ...]:
    found = []
    for where, each in _items(reading, written, path, "E140"):
        if isinstance(each, Mapping):
            reading.known(each, {"field", "rollup", "comment"}, where)
        rolled = (isinstance(each, Mapping) and each.get("rollup")) or (
            isinstance(each, str) and re.search(r"[\w`]\s+rollup\b", each, re.IGNORECASE)
        )
        if rolled:
            reading.fail(
                "E140",
                where,
                "rollup is left out, as not every database has it; ask for the totals in a union",
            )
            continue
        field = each.get("field") if isinstance(each, Mapping) else each
        value = reading.expression(field, where, "E140", read_query)
        if value is not None:
            found.append(GroupBy(value=value))
    return tuple(found)


def _joins(reading: Reading, written: Any, path: str) -> tuple[Join, ...]:
    found = []
    for where, each in _items(reading, written, path, "E172"):
        if not isinstance(each, Mapping):
            reading.fail(
                "E172", where, f"a join is an object with from, key, foreign; found {shown(each)}"
            )
            continue
        reading.known(each, _JOIN_KEYS, where)
        source = _source(reading, each, where, "E172", "E172")
        left, right = _flag(reading, each, "left", where), _flag(reading, each, "right", where)
        if left and right:
            reading.fail("E172", where, "a join is left or right, not both")
        on = read_conditions(reading, each.get("on"), reading.at(where, "on"), "E170", read_query)
        sides: list[Expression | None] = []
        for name, code in (("key", "E170"), ("foreign", "E171")):
            if each.get(name) is not None:
                at = reading.at(where, name)
                sides.append(reading.expression(each[name], at, code, read_query))
            elif on and each.get("key") is None and each.get("foreign") is None:
                sides.append(None)
            else:
                reading.fail(code, where, f"{name} is missing; a join is where key equals foreign")
        if source is not None and len(sides) == 2:
            kind = "left" if left else "right" if right else "inner"
            found.append(
                Join(source=source, key=sides[0], foreign=sides[1], on=on, kind=cast("Any", kind))
            )
    return tuple(found)


def _unions(reading: Reading, written: Any, path: str) -> tuple[Query, ...]:
    if written is None:
        return ()
    if not isinstance(written, list | tuple):
        reading.fail("E160", path, f"unions is a list of queries, not {shown(written)}")
        return ()
    found = []
    for where, each in _items(reading, written, path, "E160"):
        if not isinstance(each, Mapping):
            reading.fail("E160", where, f"a union is a query; found {shown(each)}")
        elif (query := read_query(reading, each, where)) is not None:
            found.append(query)
    return tuple(found)


def _items(reading: Reading, written: Any, path: str, code: str) -> list[tuple[str, Any]]:
    """Return the entries with their paths; a text is a list parted at commas."""
    if written is None:
        return []
    if isinstance(written, str):
        if len(written) > MAX_LIST_CHARS:
            reading.fail(code, path, f"has {len(written)} characters; at most {MAX_LIST_CHARS}")
            return []
        written = split_list(written) if written.strip() else []
    elif isinstance(written, Mapping) and code in ("E130", "E140"):
        written = [written]
    if not isinstance(written, list | tuple):
        reading.fail(code, path, f"should be a list, not {shown(written)}")
        return []
    if len(written) > MAX_LIST:
        reading.fail(code, path, f"has {len(written)} entries; at most {MAX_LIST} are read")
        return []
    return [(f"{path}[{index}]", each) for index, each in enumerate(written)]


def _flag(reading: Reading, document: Mapping[Any, Any], key: str, path: str) -> bool:
    value = document.get(key)
    if value in (None, True, False, 0, 1) or (
        isinstance(value, str) and value.lower() in ("true", "false")
    ):
        return value in (True, 1) or (isinstance(value, str) and value.lower() == "true")
    reading.fail("E003", reading.at(path, key), f"{key} is true or false, not {shown(value)}")
    return False


def _count(
    reading: Reading, document: Mapping[Any, Any], key: str, path: str, *, least: int
) -> int | Parameter | None:
    value = document.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        if re.fullmatch(r"\?:[\w.]+", value):
            return Parameter(name=value[2:])
        if re.fullmatch(r"[0-9]{1,10}", value):
            value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or not least <= value < 2**31:
        reading.fail(
            "E003",
            reading.at(path, key),
            f"{key} is a whole number, {least} or more, not {shown(value)}",
        )
        return None
    return value


__all__ = [
    "QueryError",
    "parse",
    "parse_conditions",
    "parse_orders",
    "parse_select",
    "read_query",
]
