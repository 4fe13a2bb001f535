"""
Gold SQL written as QueryDSL, to see how much of it the language can say.  Only the bench does this.

Common table expressions become derived tables.  What the language has no word for, such as window
functions, is Unsaid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sqlglot import exp, parse_one

from refdesk.db.dsl import (
    Binary,
    Call,
    Case,
    Cast,
    Comparison,
    Condition,
    Constant,
    Expression,
    Field,
    Group,
    GroupBy,
    Interval,
    Join,
    Order,
    Query,
    Selected,
    Source,
    Star,
    SubQuery,
    When,
)
from refdesk.db.dsl.types import UNITS

TYPES = {
    "DOUBLE": "float",
    "FLOAT": "float",
    "DECIMAL": "decimal",
    "INT": "integer",
    "BIGINT": "integer",
    "DATE": "date",
    "TIMESTAMP": "datetime",
    "TEXT": "text",
    "VARCHAR": "string",
    "TIME": "time",
    "BOOLEAN": "boolean",
}
COMPARISONS = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.Like: "like",
    exp.ILike: "like",
}
ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
AGGREGATES = {exp.Sum: "SUM", exp.Avg: "AVG", exp.Min: "MIN", exp.Max: "MAX"}
FUNCTIONS = {
    exp.Lower: "LOWER",
    exp.Upper: "UPPER",
    exp.Length: "LENGTH",
    exp.Abs: "ABS",
    exp.Trim: "TRIM",
    exp.Ceil: "CEIL",
    exp.Floor: "FLOOR",
    exp.Date: "DATE",
}


class Unsaid(Exception):
    """What the language cannot say."""


def query_of(sql: str) -> Query:
    """Return a PostgreSQL query as a query, or raise Unsaid."""
    return _query(parse_one(sql, read="postgres"), {})


def _query(tree: Any, known: dict[str, Query]) -> Query:
    tables = dict(known)
    clause = tree.args.get("with_") or tree.args.get("with")
    for cte in clause.expressions if clause else ():
        tables[cte.alias] = _query(cte.this, tables)
    if isinstance(tree, exp.Subquery):
        return _query(tree.this, tables)
    if isinstance(tree, exp.Union):
        if tree.args.get("distinct"):
            raise Unsaid("union without all")
        left, right = _query(tree.left, tables), _query(tree.right, tables)
        return replace(left, unions=(*left.unions, right))
    if not isinstance(tree, exp.Select):
        raise Unsaid(tree.key)
    return _select(tree, tables)


def _select(tree: exp.Select, tables: dict[str, Query]) -> Query:
    for word in ("windows", "qualify", "laterals", "sample"):
        if tree.args.get(word):
            raise Unsaid(word)
    distinct = tree.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise Unsaid("distinct on")
    origin = tree.args.get("from_") or tree.args.get("from")
    if origin is None:
        raise Unsaid("no from")
    select = tuple(_selected(each, tables) for each in tree.expressions)
    group, having = tree.args.get("group"), tree.args.get("having")
    order = tree.args.get("order")
    where = tree.args.get("where")
    return Query(
        source=_source(origin.this, tables),
        select=select,
        wheres=_conditions(where.this, tables) if where else (),
        joins=tuple(_join(each, tables) for each in tree.args.get("joins") or ()),
        groups=tuple(GroupBy(value=_placed(each, select, tables)) for each in group.expressions)
        if group
        else (),
        havings=_conditions(having.this, tables) if having else (),
        orders=tuple(_order(each, select, tables) for each in order.expressions) if order else (),
        distinct=distinct is not None,
        limit=_number(tree.args.get("limit")),
        offset=_number(tree.args.get("offset")),
    )


def _number(node: Any) -> int | None:
    if node is None:
        return None
    if not isinstance(node.expression, exp.Literal):
        raise Unsaid("a limit that is computed")
    return int(node.expression.name)


def _source(node: Any, tables: dict[str, Query]) -> Source:
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        if not node.db and node.name in tables:
            return Source(query=tables[node.name], alias=node.alias or node.name)
        name = f"{node.db}.{node.name}" if node.db else node.name
        return Source(name=name, alias=node.alias or None)
    if isinstance(node, exp.Subquery):
        return Source(query=_query(node.this, tables), alias=node.alias or None)
    raise Unsaid(f"from {node.key}")


def _join(node: exp.Join, tables: dict[str, Query]) -> Join:
    side = (node.side or "").lower()
    if side not in ("", "left", "right") or node.args.get("using"):
        raise Unsaid(f"{side or 'using'} join")
    on = node.args.get("on")
    always = (Comparison(left=Constant(value=1), op="=", right=Constant(value=1)),)
    return Join(
        source=_source(node.this, tables),
        on=_conditions(on, tables) if on is not None else always,
        kind=side or "inner",  # type: ignore[arg-type]
    )


def _selected(node: Any, tables: dict[str, Query]) -> Selected:
    if isinstance(node, exp.Alias):
        return Selected(value=_value(node.this, tables), alias=node.alias)
    return Selected(value=_value(node, tables))


def _placed(node: Any, select: tuple[Selected, ...], tables: dict[str, Query]) -> Expression:
    """Return an expression, a number standing for what is selected at that place."""
    if isinstance(node, exp.Literal) and not node.is_string:
        chosen = select[int(node.name) - 1]
        return Field(name=chosen.alias) if chosen.alias else chosen.value
    return _value(node, tables)


def _order(node: Any, select: tuple[Selected, ...], tables: dict[str, Query]) -> Order:
    descending = bool(node.args.get("desc"))
    first = bool(node.args.get("nulls_first"))
    value = _placed(node.this, select, tables)
    if first == descending:
        return Order(value=value, descending=descending)  # as PostgreSQL has it anyway
    return Order(value=value, descending=descending, nulls="first" if first else "last")


# --- conditions


def _conditions(node: Any, tables: dict[str, Query]) -> tuple[Condition, ...]:
    if isinstance(node, exp.And):
        return (*_conditions(node.left, tables), *_conditions(node.right, tables))
    return (_condition(node, tables),)


def _either(node: Any, tables: dict[str, Query]) -> Iterator[Condition]:
    for side in (node.left, node.right):
        if isinstance(side, exp.Or):
            yield from _either(side, tables)
        else:
            yield Group(wheres=_conditions(side, tables))


def _condition(node: Any, tables: dict[str, Query]) -> Condition:
    if node.args.get("negate"):
        plain = node.copy()
        plain.set("negate", None)
        return _negated(plain, tables)
    if isinstance(node, exp.Paren):
        return Group(wheres=_conditions(node.this, tables))
    if isinstance(node, exp.Or):
        parts = list(_either(node, tables))
        return Group(wheres=(parts[0], *(replace(each, either=True) for each in parts[1:])))
    if isinstance(node, exp.Not):
        return _negated(node.this, tables)
    if type(node) in COMPARISONS:
        return Comparison(
            left=_value(node.this, tables),
            op=COMPARISONS[type(node)],  # type: ignore[arg-type]
            right=_value(node.expression, tables),
        )
    if isinstance(node, exp.Is):
        if not isinstance(node.expression, exp.Null):
            return Comparison(
                left=_value(node.this, tables), op="=", right=_value(node.expression, tables)
            )
        return Comparison(left=_value(node.this, tables), op="is", right=Constant(value="null"))
    if isinstance(node, exp.In):
        return Comparison(left=_value(node.this, tables), op="in", right=_members(node, tables))
    if isinstance(node, exp.Between):
        low, high = _value(node.args["low"], tables), _value(node.args["high"], tables)
        return Comparison(left=_value(node.this, tables), op="between", right=(low, high))
    if isinstance(node, exp.Column):
        return Comparison(left=_value(node, tables), op="=", right=Constant(value=True))
    raise Unsaid(f"condition {node.key}")


def _members(node: exp.In, tables: dict[str, Query]) -> Any:
    if (query := node.args.get("query")) is not None:
        return SubQuery(query=_query(query, tables))
    return tuple(_value(each, tables) for each in node.expressions)


def _negated(node: Any, tables: dict[str, Query]) -> Condition:
    inner = _condition(node.this if isinstance(node, exp.Paren) else node, tables)
    if isinstance(inner, Comparison):
        if inner.op == "is":
            return replace(inner, right=Constant(value="not null"))
        opposite = {"in": "not in", "like": "not like", "=": "<>", "<>": "=", "<": ">="}
        opposite |= {">": "<=", "<=": ">", ">=": "<"}
        if inner.op in opposite:
            return replace(inner, op=opposite[inner.op])  # type: ignore[arg-type]
    raise Unsaid("not")


# --- expressions


def _value(node: Any, tables: dict[str, Query]) -> Expression:
    kind = type(node)
    if kind is exp.Column:
        if isinstance(node.this, exp.Star):
            return Star(source=node.table or None)
        return Field(name=node.name, source=node.table or None)
    if kind is exp.Star:
        return Star()
    if kind is exp.Literal:
        if node.is_string:
            return Constant(value=node.name)
        return Constant(value=float(node.name) if "." in node.name else int(node.name))
    if kind is exp.Null:
        return Constant(value=None)
    if kind is exp.Boolean:
        return Constant(value=bool(node.this))
    if kind is exp.Paren:
        return _value(node.this, tables)
    if kind is exp.Neg:
        return Binary(op="-", left=Constant(value=0), right=_value(node.this, tables))
    if kind in ARITHMETIC:
        return Binary(
            op=ARITHMETIC[kind],  # type: ignore[arg-type]
            left=_value(node.this, tables),
            right=_value(node.expression, tables),
        )
    if kind is exp.Subquery:
        return SubQuery(query=_query(node.this, tables))
    return _call(node, tables)


def _call(node: Any, tables: dict[str, Query]) -> Expression:
    kind = type(node)
    if kind is exp.Count:
        return _count(node, tables)
    if kind in AGGREGATES:
        inner = node.this
        distinct = isinstance(inner, exp.Distinct)
        value = _value(inner.expressions[0] if distinct else inner, tables)
        return Call(name=AGGREGATES[kind], args=(value,), distinct=distinct)
    if kind in FUNCTIONS:
        return Call(name=FUNCTIONS[kind], args=(_value(node.this, tables),))
    if kind is exp.Filter:
        return _filtered(node, tables)
    if kind is exp.Cast:
        return _cast(node, tables)
    if kind is exp.Case:
        return _case(node, tables)
    if kind is exp.Interval:
        return _interval(node)
    if kind is exp.CurrentDate:
        return Call(name="TODAY")
    if kind is exp.CurrentTimestamp:
        return Call(name="NOW")
    if kind is exp.TimestampTrunc:
        unit = Constant(value=node.args["unit"].name.lower())
        return Call(name="DATE_TRUNC", args=(unit, _value(node.this, tables)))
    if kind is exp.Extract:
        part = Constant(value=node.this.name.lower())
        if (length := node.expression.unnest()) and isinstance(length, exp.Sub):
            if part.value != "epoch":
                raise Unsaid("a part of an interval")
            ends = (_value(length.expression, tables), _value(length.this, tables))
            return Call(name="DATE_DIFF", args=(Constant(value="second"), *ends))
        return Call(name="EXTRACT", args=(part, _value(node.expression, tables)))
    if kind is exp.Coalesce:
        parts = (node.this, *node.expressions)
        return Call(name="COALESCE", args=tuple(_value(each, tables) for each in parts))
    if kind is exp.Nullif:
        pair = (_value(node.this, tables), _value(node.expression, tables))
        return Call(name="NULLIF", args=pair)
    if kind is exp.Round:
        digits = node.args.get("decimals")
        args = (_value(node.this, tables), *((_value(digits, tables),) if digits else ()))
        return Call(name="ROUND", args=args)
    if kind is exp.DPipe:
        return Call(
            name="CONCAT", args=(_value(node.this, tables), _value(node.expression, tables))
        )
    raise Unsaid(node.key if kind is not exp.Anonymous else node.name.lower())


def _count(node: exp.Count, tables: dict[str, Query]) -> Expression:
    inner = node.this
    if isinstance(inner, exp.Star) or (isinstance(inner, exp.Literal) and not inner.is_string):
        return Call(name="COUNT")
    if isinstance(inner, exp.Distinct):
        if len(inner.expressions) != 1:
            raise Unsaid("count of several columns")
        args = (_value(inner.expressions[0], tables),)
        return Call(name="COUNT", args=args, distinct=True)
    return Call(name="COUNT", args=(_value(inner, tables),))


def _filtered(node: exp.Filter, tables: dict[str, Query]) -> Expression:
    inner = _value(node.this, tables)
    if not isinstance(inner, Call):
        raise Unsaid("filter")
    then = inner.args[0] if inner.args else Constant(value=1)
    arm = When(wheres=_conditions(node.expression.this, tables), then=then)
    return replace(inner, args=(Case(whens=(arm,)),))


def _cast(node: exp.Cast, tables: dict[str, Query]) -> Expression:
    name = node.to.this.name
    if name == "INTERVAL" and isinstance(node.this, exp.Literal):
        return _interval(exp.Interval(this=node.this))
    if name not in TYPES:
        raise Unsaid(f"cast to {name.lower()}")
    sizes = tuple(int(each.name) for each in node.to.expressions)
    return Cast(value=_value(node.this, tables), type=TYPES[name], size=sizes)  # type: ignore[arg-type]


def _case(node: exp.Case, tables: dict[str, Query]) -> Expression:
    subject = node.this
    whens = []
    for arm in node.args["ifs"]:
        if subject is not None:
            wheres: tuple[Condition, ...] = (
                Comparison(left=_value(subject, tables), op="=", right=_value(arm.this, tables)),
            )
        else:
            wheres = _conditions(arm.this, tables)
        whens.append(When(wheres=wheres, then=_value(arm.args["true"], tables)))
    default = node.args.get("default")
    return Case(whens=tuple(whens), default=_value(default, tables) if default else None)


def _interval(node: Any) -> Expression:
    words = [*str(node.this.name if node.this is not None else "").lower().split()]
    if (unit := node.args.get("unit")) is not None:
        words.append(unit.name.lower())
    if len(words) != 2 or not words[0].lstrip("-").isdigit():
        raise Unsaid("interval")
    name = words[1].removesuffix("s")
    if name not in UNITS:
        raise Unsaid(f"interval of {name}")
    return Interval(amount=Constant(value=int(words[0])), unit=name)  # type: ignore[arg-type]
