"""Which columns of a query stand for a group of rows, and which for one row only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from refdesk.db.dsl.functions import AGGREGATES
from refdesk.db.dsl.results import Out, place_of
from refdesk.db.dsl.scope import Scope
from refdesk.db.dsl.translate import has_aggregate
from refdesk.db.dsl.types import Call, Constant, Expression, Field, Parameter, Query, SubQuery
from refdesk.db.dsl.values import Element, Wrong


class Grouping:
    """
    The groups of one query.

    Args:
        query: The query.
        outs: What it selects.
        scope: What its names mean.
    """

    def __init__(self, query: Query, outs: tuple[Out, ...], scope: Scope) -> None:
        self._query = query
        self._outs = outs
        self._scope = scope
        self.counted = bool(query.groups) or any(has_aggregate(each.expression) for each in outs)
        """Whether each row of the result stands for several."""

    def place(self, group: Expression) -> int | None:
        """Return the place of what is selected that a group means, or raise Wrong."""
        if isinstance(group, Constant | Parameter):
            raise Wrong("a group is by a column; a value is the same for every row")
        at = place_of(group, self._outs)
        if at is not None and has_aggregate(self._outs[at].expression):
            raise Wrong(f"{self._outs[at].name!r} counts rows together; group by a column")
        return at

    def further(self) -> list[Element]:
        """
        Return columns that the groups decide without naming them: those beside a primary key.

        Raises:
            Wrong: A column is neither grouped by, nor decided by that, nor counted together.
        """
        groups = [each.value for each in self._query.groups]
        places = {place_of(each, self._outs) for each in groups}
        groups += [each.expression for at, each in enumerate(self._outs) if at in places]
        grouped, keyed = set[tuple[str, str]](), set[str]()
        for each in groups:
            if not isinstance(each, Field) or each.path or not (found := self._scope.owner(each)):
                continue
            entry, seen = found
            grouped.add((entry.alias, seen.name))
            if entry.model is not None and entry.model.primary_key == (seen.name,):
                keyed.add(entry.alias)
        more: dict[tuple[str, str], Element] = {}
        for what, part in self._parts(groups):
            for field in _loose(part):
                found = self._scope.owner(field)
                if found is None or (key := (found[0].alias, found[1].name)) in grouped:
                    continue
                if key[0] not in keyed:
                    raise Wrong(
                        f"{what!r} stands beside groups or counts and is neither; add "
                        f"{field.name!r} to groups"
                    )
                more[key] = found[1].element
        return list(more.values())

    def _parts(self, groups: list[Expression]) -> Iterator[tuple[str, Any]]:
        """Yield what may hold a column of one row only, and what it is called."""
        aliases = {each.name.lower() for each in self._outs if each.aliased}
        for out in self._outs:
            if out.expression not in groups:
                yield out.name, out.expression
        parts = [each.value for each in self._query.orders] + [self._query.havings]
        for part in parts:
            if part in groups or (not isinstance(part, tuple) and place_of(part, self._outs)):
                continue
            for field in _loose(part):
                if field.source is not None or field.name.lower() not in aliases:
                    yield field.name, field


def _loose(part: Any) -> list[Field]:
    """Return the columns of an expression that no function of many rows holds."""
    if isinstance(part, Field):
        return [part]
    if isinstance(part, SubQuery) or (isinstance(part, Call) and part.name in AGGREGATES):
        return []
    if isinstance(part, tuple):
        return [each for one in part for each in _loose(one)]
    if is_dataclass(part) and not isinstance(part, type):
        return [each for one in fields(part) for each in _loose(getattr(part, one.name))]
    return []
