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
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from refdesk.db.dsl.functions import AGGREGATES
from refdesk.db.dsl.scope import Entry, Scope, derived_entry, model_entry
from refdesk.db.dsl.translate import Findings, Noted, Translator, has_aggregate
from refdesk.db.dsl.types import (
    Call,
    Condition,
    Expression,
    Field,
    Join,
    Order,
    Parameter,
    Query,
    QueryError,
    Selected,
    Source,
    Star,
    SubQuery,
)
from refdesk.db.dsl.values import DIALECTS, Dialect, Element, Value, Wrong, own
from refdesk.db.schema import Kind, ModelSet

if TYPE_CHECKING:
    from refdesk.db.permission import Identity, Permission

Statement = sa.Select[Any] | sa.CompoundSelect[Any]

PAGE_SIZE: Final = 20
"""How many rows a page has that does not say it."""
MOST_ROWS: Final = 2**31 - 1
"""The largest number that every database takes after LIMIT."""
MAX_SOURCES: Final = 24
"""How many tables a whole query may read: joins multiply rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column of a result."""

    name: str
    kind: Kind


@dataclass(frozen=True, kw_only=True, slots=True)
class Out:
    """A column on its way into the result."""

    name: str
    value: Value
    expression: Expression
    aliased: bool


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
    permission: Permission,
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
    permission: Permission,
    identity: Identity | None = None,
    preset: tuple[Condition, ...] = (),
    limit_cap: int = 1000,
    parameters: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> Compiled:
    """Do as `compile`, and say what the result's columns and its bounds are."""
    if dialect not in DIALECTS:
        raise ValueError(f"there is no dialect {dialect!r}; known: {', '.join(DIALECTS)}")
    compiler = _Compiler(
        models=models,
        dialect=dialect,
        permission=permission,
        identity=identity,
        parameters=parameters,
        now=now,
        limit_cap=limit_cap,
    )
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
        permission: Permission,
        identity: Identity | None,
        parameters: Mapping[str, Any] | None,
        now: datetime | None,
        limit_cap: int,
    ) -> None:
        self.models = models
        self.dialect = dialect
        self.permission = permission
        self.identity = identity
        self.parameters = parameters
        self.now = now
        self.limit_cap = limit_cap
        self.findings = Findings()
        self._mysql = dialect in ("mysql", "mariadb")
        self._sources = 0
        self._trusted = False

    # --- whole queries ---------------------------------------------------------------------------

    def whole(self, query: Query, preset: tuple[Condition, ...]) -> Compiled | None:
        """Compile the outermost query, under the cap; None if it cannot be."""
        try:
            limit, offset = self._bounds(query, "")
            statement, columns = self._query(query, "", preset, bounds=(limit, offset))
        except Noted:
            return None
        return Compiled(statement=statement, columns=columns, limit=limit, offset=offset)

    def _bounds(self, query: Query, path: str) -> tuple[int, int]:
        """Return limit and offset of the outermost query."""
        cap = self.limit_cap
        if query.first:
            return min(1, cap), self._number(query.offset, path, "offset") or 0
        if query.paged:
            size = min(self._number(query.pagesize, path, "pagesize") or PAGE_SIZE, cap)
            page = self._number(query.page, path, "page") or 1
            return size, min((page - 1) * size, MOST_ROWS)
        limit = self._number(query.limit, path, "limit")
        offset = self._number(query.offset, path, "offset") or 0
        return (cap if limit is None else min(limit, cap)), offset

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
        *,
        bounds: tuple[int | None, int | None],
    ) -> tuple[Statement, tuple[Column, ...]]:
        limit, offset = bounds
        if not query.unions:
            statement, outs = self._select(query, path, preset)
            statement = statement.limit(limit) if limit is not None else statement
            return (statement.offset(offset) if offset else statement), _columns(outs)
        return self._union(query, path, preset, limit, offset)

    def _union(
        self,
        query: Query,
        path: str,
        preset: tuple[Condition, ...],
        limit: int | None,
        offset: int | None,
    ) -> tuple[Statement, tuple[Column, ...]]:
        first, outs = self._select(replace(query, orders=()), path, preset)
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
        united = sa.union_all(*branches)
        for index, order in enumerate(query.orders):
            with self.findings.part("E130", f"{_at(path, 'orders')}[{index}]"):
                at = _position(order.value, outs)
                if at is None:
                    raise Wrong("a union is ordered by what it selects, by name or alias")
                if order.nulls and self._mysql:
                    raise Wrong("where nulls stand in a union cannot be said to this database")
                united = united.order_by(*self._ordered(own(str(at + 1)), order))
        united = united.limit(limit) if limit is not None else united
        return (united.offset(offset) if offset else united), _columns(outs)

    def _within(
        self, query: Query, path: str, preset: tuple[Condition, ...] = ()
    ) -> tuple[sa.Select[Any], tuple[Column, ...]]:
        """Compile a query that stands within another, its own bounds kept."""
        limit: int | None = 1 if query.first else self._number(query.limit, path, "limit")
        offset = self._number(query.offset, path, "offset")
        if query.paged:
            limit = self._number(query.pagesize, path, "pagesize") or PAGE_SIZE
            page = self._number(query.page, path, "page") or 1
            offset = min((page - 1) * limit, MOST_ROWS)
        if offset and limit is None:
            limit = MOST_ROWS  # MySQL and SQLite take an offset after a limit only
        statement, columns = self._query(query, path, preset, bounds=(limit, offset))
        bounded = query.unions or query.orders or limit is not None
        if isinstance(statement, sa.Select) and not (bounded and "unions" in path):
            return statement, columns
        # A branch with an order or a limit of its own needs a query around it in SQLite.
        inner = statement.subquery(self._anonymous())
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
        self, query: Query, path: str, preset: tuple[Condition, ...]
    ) -> tuple[sa.Select[Any], tuple[Out, ...]]:
        before = len(self.findings.found)
        filtered = any(each.kind == "right" for each in query.joins)
        inner_preset = preset if query.source.query is not None else ()
        first: Entry | None = None
        with self.findings.part("E111", _at(path, "from")):
            first = self._source(query.source, path, filtered, inner_preset)
        if first is None:
            raise Noted  # without it every name is unknown, and to say so would not help
        scope, joined = Scope((first,)), first.element
        for index, join in enumerate(query.joins):
            where = f"{_at(path, 'joins')}[{index}]"
            with self.findings.part("E172", where):
                scope, joined = self._join(join, where, scope, joined, filtered)
        translator = self._translator(scope)
        outs: list[Out] = []
        for index, each in enumerate(query.select or (Selected(value=Star()),)):
            with self.findings.part("E101", f"{_at(path, 'select')}[{index}]"):
                self._out(each, outs, translator, f"{_at(path, 'select')}[{index}]")
        aliases = {each.name.lower(): each.value for each in outs if each.aliased}
        columns: list[Any] = [each.value.element.label(each.name) for each in outs]
        statement: sa.Select[Any] = sa.select(*columns).select_from(joined)
        wheres = self._wheres(query, path, first, translator, () if inner_preset else preset)
        if wheres:
            statement = statement.where(*wheres)
        statement = self._grouped(query, path, statement, tuple(outs), translator, aliases)
        counted = bool(query.groups) or any(has_aggregate(each.expression) for each in outs)
        later = replace(translator, aliases=aliases, aggregates=counted)
        for index, order in enumerate(query.orders):
            where = f"{_at(path, 'orders')}[{index}]"
            with self.findings.part("E130", where):
                at = _position(order.value, tuple(outs))
                if at is not None and (order.nulls is None or not self._mysql):
                    element = own(str(at + 1))
                elif at is not None:
                    element = outs[at].value.element
                else:
                    element = later.value(order.value, where).element
                statement = statement.order_by(*self._ordered(element, order))
        if query.distinct:
            statement = statement.distinct()
        if len(self.findings.found) > before:
            raise Noted
        return statement, tuple(outs)

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
        outs: tuple[Out, ...],
        translator: Translator,
        aliases: Mapping[str, Value],
    ) -> sa.Select[Any]:
        plain = replace(translator, aggregates=False)
        for index, each in enumerate(query.groups):
            where = f"{_at(path, 'groups')}[{index}]"
            with self.findings.part("E140", where):
                at = _position(each.value, outs)
                if at is None:
                    statement = statement.group_by(plain.value(each.value, where).element)
                elif has_aggregate(outs[at].expression):
                    raise Wrong(f"{outs[at].name!r} counts rows together; group by a column")
                else:
                    # By its place: the same expression twice would be two, its values bound twice.
                    statement = statement.group_by(own(str(at + 1)))
        if query.groups or any(has_aggregate(each.expression) for each in outs):
            self._check_grouped(query, path, outs)
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

    def _check_grouped(self, query: Query, path: str, outs: tuple[Out, ...]) -> None:
        """Note each column that is neither grouped by nor counted together."""
        grouped = [each.value for each in query.groups]
        places = {_position(each, outs) for each in grouped}
        names = {each.name.lower() for each in grouped if isinstance(each, Field)}
        keyed = any(self._is_key(each) for each in grouped)
        for index, out in enumerate(outs):
            if index in places or keyed or out.expression in grouped:
                continue
            loose = [each for each in _loose(out.expression) if each.name.lower() not in names]
            if loose:
                with self.findings.part("E140", _at(path, "groups")):
                    raise Wrong(
                        f"{out.name!r} stands beside groups or counts and is neither; add "
                        f"{loose[0].name!r} to groups"
                    )

    def _is_key(self, expression: Expression) -> bool:
        """Tell whether one row of some model is behind each value: its other columns are fixed."""
        if not isinstance(expression, Field):
            return False
        return any(
            [name.lower() for name in model.primary_key] == [expression.name.lower()]
            for model in self.models
        )

    # --- parts -----------------------------------------------------------------------------------

    def _source(
        self, source: Source, path: str, filtered: bool, preset: tuple[Condition, ...] = ()
    ) -> Entry:
        self._sources += 1
        if self._sources > MAX_SOURCES:
            raise Wrong(f"the query reads more than {MAX_SOURCES} tables")
        if source.query is not None:
            statement, columns = self._within(source.query, _at(path, "query"), preset)
            alias = source.alias or self._anonymous()
            kinds = [(each.name, each.kind) for each in columns]
            return derived_entry(statement.subquery(alias), alias, kinds)
        name = source.name or ""
        models = self.permission.models if self._trusted else self.models
        model = models.find(name)
        if model is None:
            close = models.nearest(name)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise Wrong(f"there is no table or model {name[:60]!r}{hint}")
        if self._trusted:
            return model_entry(model, source.alias, frozenset())
        # A rule may stand on a column that whoever asks was not even told of.
        known = self.permission.models.get(model.id) or model
        untold = {each.name.lower() for each in known.columns if model.column(each.name) is None}
        hidden = self.permission.hidden(model.id) | untold
        entry = model_entry(known, source.alias, hidden)
        if not entry.columns:
            raise Wrong(f"of {name!r} no column may be read")
        rule = self._rule(entry)
        if rule is None or not filtered:
            return replace(entry, rule=rule)
        # Under a right join a row may be missing without a condition noticing: read what may be
        # seen first, and join that.
        seen = [each.element for each in entry.columns.values()]
        inner = sa.select(*seen).where(rule).subquery(entry.alias)
        kinds = [(each.name, each.kind) for each in entry.columns.values()]
        return replace(derived_entry(inner, entry.alias, kinds), model=model, names=entry.names)

    def _rule(self, entry: Entry) -> Element | None:
        """Return what holds of every row of a source that the asker may see."""
        assert entry.model is not None
        rows = self.permission.rows(entry.model.id, self.identity)
        if rows is None:
            return sa.false()
        if not rows:
            return None
        known = entry.model
        # The rule sees all columns, under the name that the source has here.
        whole = model_entry(known, entry.alias, frozenset())
        columns = {
            name: replace(seen, element=entry.element.c[name])
            for name, seen in whole.columns.items()
            if name in entry.element.c
        }
        names = whole.names | {known.table.lower(), known.id.lower()}
        scope = Scope((replace(entry, columns=columns, names=names),))
        before = len(self.findings.found)
        self._trusted = True
        try:
            return self._translator(scope).conditions(rows, "permission", "E120")
        except Noted:
            # A claim of the wrong type, or a column that the database lost: nothing is seen, and
            # whoever asks need not know why.
            del self.findings.found[before:]
            return sa.false()
        finally:
            self._trusted = False

    def _join(
        self, join: Join, path: str, scope: Scope, joined: sa.FromClause, filtered: bool
    ) -> tuple[Scope, sa.FromClause]:
        entry = self._source(join.source, path, filtered)
        wider = scope.add(entry)
        translator = replace(self._translator(wider), aggregates=False)
        held: list[Element] = []
        if join.key is not None and join.foreign is not None:
            with self.findings.part("E170", _at(path, "key")):
                key = replace(translator, prefer=entry).value(join.key, path)
                with self.findings.part("E171", _at(path, "foreign")):
                    foreign = self._foreign(join.foreign, scope, translator, path)
                    held.append(key.element == foreign.element)
        on = translator.conditions(join.on, _at(path, "on"), "E170")
        held += [each.self_group() for each in (on, entry.rule) if each is not None]
        if not held:
            raise Noted
        condition = sa.and_(*held)
        if join.kind == "right":
            return wider, entry.element.outerjoin(joined, condition)
        return wider, joined.join(entry.element, condition, isouter=join.kind == "left")

    def _foreign(
        self, foreign: Expression, scope: Scope, translator: Translator, path: str
    ) -> Value:
        """Return the side of a join that was there before; its names mean what was there."""
        try:
            return replace(translator, scope=scope).value(foreign, path)
        except Wrong:
            return translator.value(foreign, path)

    def _out(self, each: Selected, outs: list[Out], translator: Translator, path: str) -> None:
        if isinstance(each.value, Star):
            if each.alias:
                raise Wrong("* has no alias")
            scope = translator.scope
            entries = (
                scope.entries if each.value.source is None else (scope.source(each.value.source),)
            )
            for entry in entries:
                for seen in entry.columns.values():
                    expression = Field(name=seen.name, source=entry.alias)
                    value = Value(element=seen.element, kind=seen.kind)
                    name = _free(seen.name, entry.alias, outs)
                    outs.append(Out(name=name, value=value, expression=expression, aliased=False))
            return
        value = translator.value(each.value, path)
        if each.alias and any(out.name.lower() == each.alias.lower() for out in outs):
            raise Wrong(f"two columns are called {each.alias!r}; give one another alias")
        name = each.alias or _free(*_name(each.value), outs)
        outs.append(
            Out(name=name, value=value, expression=each.value, aliased=each.alias is not None)
        )

    def _ordered(self, element: Element, order: Order) -> list[Element]:
        step: Element = element.desc() if order.descending else element.asc()
        if order.nulls is None:
            return [step]
        if not self._mysql:
            return [step.nulls_first() if order.nulls == "first" else step.nulls_last()]
        absent = sa.case((element.is_(None), own("1")), else_=own("0"))
        return [absent.desc() if order.nulls == "first" else absent.asc(), step]

    def _anonymous(self) -> str:
        self._sources += 1
        return f"_sub_{self._sources}"


def _columns(outs: tuple[Out, ...]) -> tuple[Column, ...]:
    return tuple(Column(name=each.name, kind=each.value.kind) for each in outs)


def _position(value: Expression, outs: tuple[Out, ...]) -> int | None:
    """Return the place of what is selected that an order or group means: by alias, or as it is."""
    if isinstance(value, Field) and value.source is None and not value.path:
        for index, out in enumerate(outs):
            if out.aliased and out.name.lower() == value.name.lower():
                return index
    for index, out in enumerate(outs):
        if out.expression == value:
            return index
    return None


def _loose(part: Any) -> list[Field]:
    """Return the columns of an expression that no function of many rows holds."""
    if isinstance(part, Field):
        return [part]
    if isinstance(part, SubQuery) or (isinstance(part, Call) and part.name in AGGREGATES):
        return []
    if isinstance(part, tuple):
        return [each for one in part for each in _loose(one)]
    if is_dataclass(part):
        return [each for one in fields(part) for each in _loose(getattr(part, one.name))]
    return []


def _name(expression: Expression) -> tuple[str, str]:
    """Return the name of a column that was given none, and what tells it from another."""
    match expression:
        case Field():
            last = next((each for each in reversed(expression.path) if isinstance(each, str)), None)
            name = last or expression.name
            return name, (expression.source or "").rpartition(".")[2].lstrip("$")
        case Call():
            return expression.name.lower(), ""
    return "value", ""


def _free(name: str, source: str, outs: list[Out]) -> str:
    taken = {each.name.lower() for each in outs}
    if name.lower() not in taken:
        return name
    if source and f"{source}_{name}".lower() not in taken:
        return f"{source}_{name}"
    number = 2
    while f"{name}_{number}".lower() in taken:
        number += 1
    return f"{name}_{number}"


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
