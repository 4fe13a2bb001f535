"""
A query as SQL, for the models and the rights of who asks.

What always holds of the statement: its identifiers come from the models, quoted; its values are
bound; its functions are on the list; each occurrence of a model, in whatever join, branch, union or
sub-query, is under that model's row rules; a hidden column is nowhere in it; and it gives no more
rows than the cap.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final

import sqlalchemy as sa

from refdesk.db.dsl.grouping import Grouping
from refdesk.db.dsl.ordering import Orders
from refdesk.db.dsl.results import (
    Column,
    Out,
    columns_of,
    place_of,
    selected,
)
from refdesk.db.dsl.scope import Entry, Scope
from refdesk.db.dsl.sources import MOST_ROWS, Named, Rules, Sources, named
from refdesk.db.dsl.translate import Enough, Findings, Noted, Translator
from refdesk.db.dsl.types import (
    Condition,
    Identity,
    Parameter,
    Query,
    QueryError,
    Selected,
    Star,
)
from refdesk.db.dsl.values import DIALECTS, Dialect, Element, Statement, Value, Wrong, own
from refdesk.db.schema import Kind, ModelSet

PAGE_SIZE: Final = 20
"""How many rows a page has that does not say it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiled:
    """A statement, and the columns of its result in order."""

    statement: Statement
    columns: tuple[Column, ...]
    limit: int
    offset: int


def compile(  # noqa: A001 - the name this has everywhere in the documents
    query: Query,
    models: ModelSet,
    dialect: Dialect,
    *,
    permission: Rules,
    identity: Identity | None = None,
    preset: tuple[Condition, ...] = (),
    limit_cap: int = 1000,
    parameters: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> Statement:
    """
    Return a query as a statement of SQLAlchemy.

    Args:
        query: The query, from whoever.
        models: The models it may use; an assistant's ceiling is already applied.
        dialect: For which database.
        permission: The rules of the database; its own, whatever ``models`` is.
        identity: The asker's claims.
        preset: Conditions of the request, on the first source of each branch; their own group.
        limit_cap: No result is longer, and one that names no limit is as long.
        parameters: The values of ``?:name``.
        now: The moment that counts as now; None leaves it to the database.

    Raises:
        QueryError: The query cannot be; its diagnostics name all that is wrong.
    """
    return compile_whole(
        query,
        models,
        dialect,
        permission=permission,
        identity=identity,
        preset=preset,
        limit_cap=limit_cap,
        parameters=parameters,
        now=now,
    ).statement


def compile_whole(
    query: Query,
    models: ModelSet,
    dialect: Dialect,
    *,
    permission: Rules,
    identity: Identity | None = None,
    preset: tuple[Condition, ...] = (),
    limit_cap: int = 1000,
    parameters: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> Compiled:
    """Do as `compile`, and say what the result's columns and its bounds are."""
    if dialect not in DIALECTS:
        raise ValueError(f"there is no dialect {dialect!r}; known: {', '.join(DIALECTS)}")
    compiler_for = partial(
        _Compiler,
        models=models,
        dialect=dialect,
        permission=permission,
        identity=identity,
        parameters=parameters,
        now=now,
        limit_cap=limit_cap,
    )
    compiler = compiler_for(fenced=None)
    compiled = compiler.whole(query, preset)
    if compiler.findings.raising and compiler.sources.ruled and not compiler.findings.found:
        compiler = compiler_for(fenced=named((query, preset)))
        compiled = compiler.whole(query, preset)
    if compiler.findings.found or compiled is None:
        raise QueryError(compiler.findings.found)
    return compiled


def count_of(statement: Statement) -> sa.Select[Any]:
    """Return a statement that counts all rows of another, whatever its limit and its page."""
    whole = statement.limit(None).offset(None).order_by(None)
    return sa.select(sa.func.count().label("total")).select_from(whole.subquery("counted"))


class _Compiler:
    def __init__(
        self,
        *,
        models: ModelSet,
        dialect: Dialect,
        permission: Rules,
        identity: Identity | None,
        parameters: Mapping[str, Any] | None,
        now: datetime | None,
        limit_cap: int,
        fenced: Named | None,
    ) -> None:
        self.dialect = dialect
        self.parameters = parameters
        self.now = now
        self.limit_cap = limit_cap
        self.findings = Findings()
        self.sources = Sources(
            models=models,
            permission=permission,
            identity=identity,
            findings=self.findings,
            within=self._within,
            translator=self._translator,
            fenced=fenced,
        )
        self._mysql = dialect in ("mysql", "mariadb")
        self.orders = Orders(
            findings=self.findings, dialect=dialect, anonymous=self.sources.anonymous
        )

    # --- whole queries ---------------------------------------------------------------------------

    def whole(self, query: Query, preset: tuple[Condition, ...]) -> Compiled | None:
        """Compile the outermost query, under the cap; None if it cannot be."""
        try:
            limit, offset = self._bounds(query, "")
            statement, columns = self._query(query, "", preset, limit, offset, outermost=True)
        except (Noted, Enough):
            return None
        return Compiled(statement=statement, columns=columns, limit=limit, offset=offset)

    def _bounds(self, query: Query, path: str) -> tuple[int, int]:
        """Return limit and offset of the outermost query."""
        cap = self.limit_cap
        if query.first:
            return min(1, cap), self._number(query.offset, path, "offset") or 0
        if query.paged:
            page, size = self._page(query, path)
            size = min(size, cap)
            return size, min((page - 1) * size, MOST_ROWS)
        limit = self._number(query.limit, path, "limit")
        offset = self._number(query.offset, path, "offset") or 0
        return (cap if limit is None else min(limit, cap)), offset

    def _page(self, query: Query, path: str) -> tuple[int, int]:
        """Return which page, from 1, and how many rows it has."""
        size = self._number(query.pagesize, path, "pagesize") or PAGE_SIZE
        return self._number(query.page, path, "page") or 1, size

    def _number(self, value: int | Parameter | None, path: str, name: str) -> int | None:
        if not isinstance(value, Parameter):
            return value
        given = (self.parameters or {}).get(value.name)
        if type(given) is not int or not 0 <= given <= MOST_ROWS:
            with self.findings.part("E003", _at(path, name)):
                raise Wrong(f"the parameter ?:{value.name[:60]} should be a whole number")
            raise Noted
        return given

    def _query(
        self,
        query: Query,
        path: str,
        preset: tuple[Condition, ...],
        limit: int | None,
        offset: int | None,
        *,
        outermost: bool = False,
    ) -> tuple[Statement, tuple[Column, ...]]:
        statement: Statement
        if query.unions:
            statement, outs = self._union(query, path, preset, outermost)
        else:
            statement, outs = self._select(query, path, preset, outermost)
        if limit is not None:
            statement = statement.limit(limit)
        return (statement.offset(offset) if offset else statement), columns_of(outs)

    def _union(
        self, query: Query, path: str, preset: tuple[Condition, ...], outermost: bool
    ) -> tuple[Statement, tuple[Out, ...]]:
        first, outs = self._select(replace(query, orders=()), path, preset, outermost)
        branches: list[sa.Select[Any]] = [first]
        for index, each in enumerate(query.unions):
            where = f"{_at(path, 'unions')}[{index}]"
            branch, columns = self._within(each, where, preset)
            if len(columns) != len(outs):
                with self.findings.part("E160", where):
                    raise Wrong(
                        f"this branch has {len(columns)} columns, and the first has {len(outs)}"
                    )
                raise Noted
            branches.append(branch)
        places = [place_of(each.value, outs) for each in query.orders]
        wrong = "a union is ordered by what it selects, by name or alias"
        united = sa.union_all(*branches)
        return self.orders.by_place(united, query.orders, places, path, wrong), outs

    def _within(
        self, query: Query, path: str, preset: tuple[Condition, ...] = ()
    ) -> tuple[sa.Select[Any], tuple[Column, ...]]:
        """Compile a query that stands within another, its own bounds kept."""
        limit: int | None = 1 if query.first else self._number(query.limit, path, "limit")
        offset = self._number(query.offset, path, "offset")
        if query.paged:
            page, limit = self._page(query, path)
            offset = min((page - 1) * limit, MOST_ROWS)
        if offset and limit is None:
            limit = MOST_ROWS  # MySQL and SQLite take an offset after a limit only
        statement, columns = self._query(query, path, preset, limit, offset)
        bounded = query.unions or query.orders or limit is not None
        if isinstance(statement, sa.Select) and not (bounded and "unions" in path):
            return statement, columns
        # A branch with an order or a limit of its own needs a query around it in SQLite.
        inner = statement.subquery(self.sources.anonymous())
        return sa.select(*inner.c), columns

    def _one_column(self, query: Query, path: str) -> tuple[sa.Select[Any], Kind]:
        statement, columns = self._within(query, path)
        if len(columns) != 1:
            with self.findings.part("E190", path):
                raise Wrong(f"a sub-query for a value has one column, not {len(columns)}")
            raise Noted
        return statement, columns[0].kind

    # --- one select ------------------------------------------------------------------------------

    def _select(
        self, query: Query, path: str, preset: tuple[Condition, ...], outermost: bool
    ) -> tuple[sa.Select[Any], tuple[Out, ...]]:
        before = len(self.findings.found)
        inner_preset = preset if query.source.query is not None else ()
        first, scope, joined = self._from(query, path, inner_preset)
        translator = self._translator(scope)
        # What the outermost query gives is worked out of rows that came through its conditions.
        # A condition on groups may be looked at before them, and has what is selected in it.
        last = replace(translator, last=outermost and not query.havings)
        outs: list[Out] = []
        for index, each in enumerate(query.select or (Selected(value=Star()),)):
            with self.findings.part("E101", f"{_at(path, 'select')}[{index}]"):
                selected(each, outs, last, f"{_at(path, 'select')}[{index}]")
        found = tuple(outs)
        aliases = {each.name.lower(): each.value for each in outs if each.aliased}
        columns: list[Any] = [each.value.element.label(each.name) for each in outs]
        statement: sa.Select[Any] = sa.select(*columns).select_from(joined)
        wheres = self._wheres(query, path, first, translator, () if inner_preset else preset)
        if wheres:
            statement = statement.where(*wheres)
        grouping = Grouping(query, found, scope)
        statement = self._grouped(query, path, statement, grouping, translator, aliases)
        later = replace(last, aliases=aliases, aggregates=grouping.counted)
        statement = self.orders.of_select(query, path, statement, found, later)
        if len(self.findings.found) > before:
            raise Noted
        return statement, found

    def _from(
        self, query: Query, path: str, preset: tuple[Condition, ...]
    ) -> tuple[Entry, Scope, sa.FromClause]:
        # Under a right join a row may be missing without a condition noticing.
        apart = any(each.kind == "right" for each in query.joins)
        first: Entry | None = None
        with self.findings.part("E111", _at(path, "from")):
            first = self.sources.read(query.source, path, apart=apart, preset=preset)
        if first is None:
            raise Noted  # without it every name is unknown, and to say so would not help
        scope, joined = Scope((first,)), first.element
        for index, join in enumerate(query.joins):
            where = f"{_at(path, 'joins')}[{index}]"
            with self.findings.part("E172", where):
                scope, joined = self.sources.join(join, where, scope, joined, apart=apart)
        return first, scope, joined

    def _translator(self, scope: Scope) -> Translator:
        return Translator(
            scope=scope,
            dialect=self.dialect,
            findings=self.findings,
            subquery=self._one_column,
            now=self.now,
            parameters=self.parameters,
        )

    def _wheres(
        self,
        query: Query,
        path: str,
        first: Entry,
        translator: Translator,
        preset: tuple[Condition, ...],
    ) -> list[Element]:
        """Return (permission), (preset) and (generated), each its own group."""
        rows = replace(translator, aggregates=False)
        groups: list[Element | None] = [first.rule]
        with suppress(Noted):
            own_first = replace(rows, prefer=first)
            groups.append(own_first.conditions(preset, _at(path, "preset"), "E120"))
        with suppress(Noted):
            groups.append(rows.conditions(query.wheres, _at(path, "wheres"), "E120"))
        return [each.self_group() for each in groups if each is not None]

    def _grouped(
        self,
        query: Query,
        path: str,
        statement: sa.Select[Any],
        grouping: Grouping,
        translator: Translator,
        aliases: Mapping[str, Value],
    ) -> sa.Select[Any]:
        plain = replace(translator, aggregates=False)
        for index, each in enumerate(query.groups):
            where = f"{_at(path, 'groups')}[{index}]"
            with self.findings.part("E140", where):
                place = grouping.place(each.value)
                if place is None:
                    statement = statement.group_by(plain.value(each.value, where).element)
                else:
                    # By its place: the same expression twice would be two, its values bound twice.
                    statement = statement.group_by(own(str(place + 1)))
        if grouping.counted:
            with self.findings.part("E140", _at(path, "groups")):
                statement = statement.group_by(*grouping.further())
        if self._mysql:
            # It takes a grouped expression in HAVING by its alias only.
            aliases = {
                name: replace(value, element=sa.column(name)) for name, value in aliases.items()
            }
        try:
            having = replace(translator, aliases=aliases).conditions(
                query.havings, _at(path, "havings"), "E151"
            )
        except Noted:
            return statement
        return statement if having is None else statement.having(having)


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
