"""Expressions and conditions as SQL: names looked up in a scope, values bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from typing import Any, Final, cast

import sqlalchemy as sa

from refdesk.db.dsl import functions
from refdesk.db.dsl.scope import Entry, Scope
from refdesk.db.dsl.types import (
    MAX_FINDINGS,
    Binary,
    Call,
    Case,
    Cast,
    Comparison,
    Condition,
    Constant,
    Diagnostic,
    Expression,
    Field,
    Group,
    Interval,
    Op,
    Parameter,
    Query,
    Scalar,
    Star,
    SubQuery,
)
from refdesk.db.dsl.values import Dialect, Element, Value, Wrong, adapted, constant, own
from refdesk.db.schema import Kind

_DATES: Final = ("date", "datetime")
_ESCAPE: Final = "!"
_COMPARE: Final[dict[Op, Callable[[Any, Any], Any]]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}


class Noted(Exception):
    """A part cannot be, and what is wrong with it has been noted already."""


class Enough(Exception):
    """So much is wrong that the rest is not looked at."""


class Findings:
    """What is wrong with a query, gathered while it is compiled."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self.raising = False
        """Whether a condition may fail for some rows, which a database may try on any row."""

    @contextmanager
    def part(self, code: str, path: str) -> Iterator[None]:
        """Note what is wrong in a part, and go on after it, or raise Enough."""
        try:
            yield
        except Wrong as exc:
            self.found.append(Diagnostic(code=code, message=str(exc), path=path))
            if len(self.found) >= MAX_FINDINGS:
                raise Enough from None
        except Noted:
            pass


@dataclass(frozen=True, kw_only=True, slots=True)
class Translator:
    """Expressions and conditions of one query."""

    scope: Scope
    dialect: Dialect
    findings: Findings
    subquery: Callable[[Query, str], tuple[sa.Select[Any], Kind]]
    """Compiles a query within this one that has one column; raises Noted."""
    now: datetime | None = None
    parameters: Mapping[str, Any] | None = None
    aliases: Mapping[str, Value] | None = None
    """Select aliases that may be used, in lower case."""
    prefer: Entry | None = None
    aggregates: bool = True
    """Whether functions of many rows may stand here."""
    last: bool = False
    """Whether all conditions are through when this is worked out."""

    def value(self, expression: Expression, path: str) -> Value:
        """Return an expression as SQL, or raise Wrong or Noted."""
        match expression:
            case Field():
                return self._field(expression)
            case Constant():
                value = constant(expression.value, self.dialect)
                return replace(value, claimed=True) if expression.claimed else value
            case Parameter():
                return constant(self._parameter(expression.name), self.dialect)
            case Call():
                return self._call(expression, path)
            case Binary():
                return self._binary(expression, path)
            case Cast():
                value = self.value(expression.value, path)
                if not functions.cast_is_sure(value, expression.type):
                    self._may_fail(expression)
                return functions.cast_to(value, expression.type, expression.size, self.dialect)
            case Case():
                return self._case(expression, path)
            case SubQuery():
                select, kind = self.subquery(expression.query, f"{path}.query")
                return Value(element=select.scalar_subquery().correlate(None), kind=kind)
            case Interval():
                raise Wrong("a length of time can only be added to a date, or taken from it")
            case Star():
                raise Wrong("* stands for columns in select, or in :COUNT(*)")
        raise Wrong("a claim of the asker can stand in a row rule only")

    def compared(self, left: Value, right: Value) -> None:
        """Note that two values are compared: of two kinds, one may not be readable as the other."""
        constant = left.is_constant or right.is_constant
        if not constant and not self.last and (left.kind != right.kind or left.kind == "other"):
            self.findings.raising = True

    def _may_fail(self, part: Expression) -> None:
        # What reads no column fails for all rows alike.
        if not self.last and not self.findings.raising and _reads(part):
            self.findings.raising = True

    def conditions(self, wheres: tuple[Condition, ...], path: str, code: str) -> Element | None:
        """
        Return conditions as SQL; None if there are none.

        Raises:
            Noted: One of them cannot be; each finding has been noted.
        """
        alternatives: list[list[Element]] = []
        complete = True
        for index, each in enumerate(wheres):
            where = f"{path}[{index}]"
            element: Element | None = None
            with self.findings.part(code, where):
                element = self._condition(each, where, code)
            if element is None:
                complete = False
                continue
            if each.either or not alternatives:
                alternatives.append([])
            alternatives[-1].append(element)
        if not complete:
            raise Noted
        if not alternatives:
            return None
        return sa.or_(*(sa.and_(*each) for each in alternatives))

    def _condition(self, condition: Condition, path: str, code: str) -> Element | None:
        if isinstance(condition, Group):
            inner = self.conditions(condition.wheres, f"{path}.wheres", code)
            return None if inner is None else inner.self_group()
        return self._comparison(condition, path)

    def _comparison(self, this: Comparison, path: str) -> Element:
        left = self.value(this.left, path)
        if this.op == "is":
            wants_null = isinstance(this.right, Constant) and this.right.value == "null"
            return left.element.is_(None) if wants_null else left.element.is_not(None)
        if this.op in ("in", "not in"):
            return self._among(left, this, path)
        if isinstance(this.right, tuple):
            low, high = (self.value(each, path) for each in this.right)
            self._not_null(low, high)
            self.compared(left, low)
            self.compared(left, high)
            return left.element.between(
                adapted(low, left.kind, self.dialect),
                adapted(high, left.kind, self.dialect, least=False),
            )
        right = self.value(this.right, path)
        self._not_null(left, right)
        if this.op in ("like", "not like", "match"):
            return self._like(left, this.op, right)
        self.compared(left, right)
        least = this.op in (">=", "<")
        kind = right.kind if left.is_constant else left.kind
        return cast(
            "Element",
            _COMPARE[this.op](
                adapted(left, kind, self.dialect),
                right.element
                if left.is_constant
                else adapted(right, kind, self.dialect, least=least),
            ),
        )

    @staticmethod
    def _not_null(*values: Value) -> None:
        if any(each.is_constant and each.constant is None for each in values):
            raise Wrong('nothing equals null; ask with {"field": …, "is": "null"}')

    def _among(self, left: Value, this: Comparison, path: str) -> Element:
        if isinstance(this.right, SubQuery):
            select, kind = self.subquery(this.right.query, f"{path}.query")
            self.compared(left, Value(element=left.element, kind=kind))
            if self.dialect in ("mysql", "mariadb") and select._limit_clause is not None:
                # MySQL takes no limit in the query after IN, but in one around it.
                select = sa.select(select.subquery())
            found = left.element.in_(select.correlate(None))
        else:
            listed = self._listed(this.right, path)
            self._not_null(*listed)
            for each in listed:
                self.compared(left, each)
            if not listed:
                return cast("Element", sa.true() if this.op == "not in" else sa.false())
            found = left.element.in_([adapted(each, left.kind, self.dialect) for each in listed])
        return sa.not_(found) if this.op == "not in" else found

    def _listed(self, right: Expression | tuple[Expression, ...], path: str) -> list[Value]:
        if isinstance(right, Parameter):
            given = self._given(right.name)
            several = given if isinstance(given, list | tuple) else [given]
            return [constant(_scalar(each, right.name), self.dialect) for each in several]
        if not isinstance(right, tuple):
            return [self.value(right, path)]
        return [self.value(each, path) for each in right]

    def _like(self, left: Value, op: Op, right: Value) -> Element:
        text = sa.func.lower(functions.as_text(left, self.dialect))
        if right.is_constant:
            adapted(right, "text", self.dialect)
            pattern = _pattern(str(right.constant), op, plain=right.claimed)
            wanted: Element = constant(pattern, self.dialect).element
        else:
            self.findings.raising |= not self.last  # a pattern may be too long
            wanted = functions.as_text(right, self.dialect)
            for sign in "!%_" if op == "match" else "!":
                wanted = sa.func.replace(wanted, own(f"'{sign}'"), own(f"'{_ESCAPE}{sign}'"))
            if op == "match":
                around = constant("%", self.dialect).element
                wanted = functions.concat((around, wanted, around), self.dialect)
        found = text.like(sa.func.lower(wanted), escape=_ESCAPE)
        return sa.not_(found) if op == "not like" else found

    def _field(self, field: Field) -> Value:
        if self.aliases and field.source is None and not field.path:
            named = self.aliases.get(field.name.lower())
            if named is not None:
                return named
        value = self.scope.field(field, prefer=self.prefer)
        if not field.path:
            return value
        if value.kind not in ("json", "text", "other"):
            raise Wrong(f"{field.name!r} is {value.kind} and has nothing inside it")
        self._may_fail(field)  # text need not be JSON
        path = field.path
        if any(isinstance(step, str) and set(step) & set('"\\') for step in path):
            raise Wrong("the name of a member inside JSON has no quotes and no backslash here")
        if self.dialect == "duckdb":
            steps = "".join(f"[{step}]" if isinstance(step, int) else f'."{step}"' for step in path)
            inside: Element = sa.func.json_extract_string(value.element, f"${steps}")
        else:
            if self.dialect == "postgresql":
                # The path is an array there, whose members may hold commas and braces.
                path = tuple(f'"{step}"' if isinstance(step, str) else step for step in path)
            inside = sa.type_coerce(value.element, sa.JSON())[path].as_string()
        return Value(element=inside, kind="text")

    def _call(self, call: Call, path: str) -> Value:
        if call.name in functions.AGGREGATES:
            if not self.aggregates:
                raise Wrong(f"{call.name} counts rows together and cannot stand here; use havings")
            if any(has_aggregate(each) for each in call.args):
                raise Wrong(f"{call.name} holds another function of many rows")
            # Within a function of many rows a name is a column, whatever the aliases.
            plain = _without_aliases(self)
            args = [
                Value(element=sa.literal_column("*"), kind="other")
                if isinstance(each, Star)
                else plain.value(each, path)
                for each in call.args
            ]
            if any(isinstance(each, Star) for each in call.args):
                if call.name != "COUNT" or len(args) != 1 or call.distinct:
                    raise Wrong(f"{call.name} takes a column, not *")
                args = []
            return functions.aggregate(
                call.name, tuple(args), distinct=call.distinct, dialect=self.dialect
            )
        if call.distinct:
            raise Wrong(f"{call.name} is no function of many rows; distinct belongs to those")
        args = [self.value(each, path) for each in call.args]
        if not functions.is_sure(call.name, tuple(args)):
            self._may_fail(call)
        return functions.call(call.name, tuple(args), self.dialect, self.now)

    def _binary(self, this: Binary, path: str) -> Value:
        self._may_fail(this)  # what comes out may be larger than its type holds
        if isinstance(this.right, Interval):
            if this.op not in "+-":
                raise Wrong("a length of time can only be added to a date, or taken from it")
            moment = self.value(this.left, path)
            if moment.is_constant:
                kind: Kind = "datetime" if len(str(moment.constant)) > 10 else "date"
                moment = Value(element=adapted(moment, kind, self.dialect), kind=kind)
            amount = self.value(this.right.amount, path)
            sign = -1 if this.op == "-" else 1
            return functions.shifted(moment, amount, this.right.unit, sign, self.dialect)
        left, right = self.value(this.left, path), self.value(this.right, path)
        if this.op == "-" and left.kind in _DATES and right.kind in _DATES:
            return functions.call(
                "DATE_DIFF", (constant("day", self.dialect), right, left), self.dialect, self.now
            )
        for side in (left, right):
            if side.kind in ("text", "date", "datetime", "json", "uuid"):
                raise Wrong(
                    f"{this.op} counts with numbers, and one side is {side.kind}; cast it, or use "
                    ":CONCAT, :DATE_DIFF or :INTERVAL"
                )
        if this.op == "/":
            return functions.divide(left, right, self.dialect)
        both: Kind = "integer" if left.kind == right.kind == "integer" else "number"
        return Value(element=left.element.op(this.op)(right.element), kind=both)

    def _case(self, case: Case, path: str) -> Value:
        arms = []
        for index, when in enumerate(case.whens):
            where = f"{path}.case[{index}]"
            holds = self.conditions(when.wheres, f"{where}.when", "E120")
            if holds is not None:
                arms.append((holds, self.value(when.then, where)))
        default = None if case.default is None else self.value(case.default, path)
        values = [value for _, value in arms] + ([default] if default else [])
        kind = next((each.kind for each in values if not each.is_constant), values[0].kind)
        adapt = [(holds, adapted(value, kind, self.dialect)) for holds, value in arms]
        other = None if default is None else adapted(default, kind, self.dialect)
        return Value(element=sa.case(*adapt, else_=other), kind=kind)

    def _given(self, name: str) -> Any:
        if not self.parameters or name not in self.parameters:
            raise Wrong(f"the parameter ?:{name[:60]} was not given a value")
        return self.parameters[name]

    def _parameter(self, name: str) -> Scalar:
        return _scalar(self._given(name), name)


def _reads(part: Any) -> bool:
    """Tell whether a part reads a column."""
    if isinstance(part, tuple):
        return any(_reads(each) for each in part)
    if is_dataclass(part) and not isinstance(part, type):
        return isinstance(part, Field) or any(_reads(getattr(part, e.name)) for e in fields(part))
    return False


def has_aggregate(part: Any) -> bool:
    """Tell whether a part calls a function of many rows, in its own query."""
    if isinstance(part, Call) and part.name in functions.AGGREGATES:
        return True
    if isinstance(part, tuple):
        return any(has_aggregate(each) for each in part)
    if is_dataclass(part) and not isinstance(part, SubQuery | type):
        return any(has_aggregate(getattr(part, each.name)) for each in fields(part))
    return False


def _without_aliases(translator: Translator) -> Translator:
    return replace(translator, aliases=None) if translator.aliases else translator


def _scalar(value: Any, name: str) -> Scalar:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise Wrong(f"the parameter ?:{name} should be one value, not {type(value).__name__}")


def _pattern(text: str, op: Op, *, plain: bool) -> str:
    """
    Return a pattern that means the same on every database, its signs escaped by ``!``.

    With ``like``, % and _ are signs unless a backslash stands before them, or the text is a plain
    one; with ``match`` the text is looked for as it is, anywhere.
    """
    if op == "match" or plain:
        escaped = "".join(f"{_ESCAPE}{c}" if c in "%_!" else c for c in text)
        return f"%{escaped}%" if op == "match" else escaped
    written, signs = [], iter(text)
    for char in signs:
        if char == "\\":
            after = next(signs, "\\")
            written.append(f"{_ESCAPE}{after}" if after in "%_!" else after)
        else:
            written.append(f"{_ESCAPE}{char}" if char == _ESCAPE else char)
    return "".join(written)
