"""
What a query reads: models under their rules, queries, and how they are joined.

A rule holds wherever its model is read.  Databases choose themselves which condition they look at
first, and one that can fail, such as a cast, would tell by failing what is in a row that the rule
keeps back.  Where a query has such a condition, its models are fenced: what may be seen is read
first, behind a limit that no database moves a condition across.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final, Protocol

import sqlalchemy as sa

from refdesk.db.dsl.results import Column
from refdesk.db.dsl.scope import Columns, Entry, Scope, derived_entry, model_entry
from refdesk.db.dsl.translate import Findings, Noted, Translator
from refdesk.db.dsl.types import (
    Call,
    Condition,
    Expression,
    Field,
    Identity,
    Join,
    Query,
    Source,
    Star,
)
from refdesk.db.dsl.values import Element, Value, Wrong
from refdesk.db.schema import Model, ModelSet

MOST_ROWS: Final = 2**31 - 1
"""The largest number that every database takes after LIMIT."""
MAX_SOURCES: Final = 24
"""How many tables a whole query may read: joins multiply rows."""

Within = Callable[[Query, str, tuple[Condition, ...]], tuple[sa.Select[Any], tuple[Column, ...]]]
"""Compiles a query that is read like a table."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """What a query names anywhere in it."""

    columns: frozenset[str]
    """Names of columns, in lower case."""
    every: bool
    """Whether all columns of something are asked for."""


class Rules(Protocol):
    """The rules of a database; `refdesk.db.permission.Permission` has them."""

    @property
    def models(self) -> ModelSet:
        """All models, hidden columns included."""
        ...

    def hidden(self, model_id: str) -> frozenset[str]:
        """Return the hidden columns of a model, in lower case."""
        ...

    def rows(self, model_id: str, identity: Identity | None) -> tuple[Condition, ...] | None:
        """Return what holds of every visible row; None: no row is visible."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class NoRules:
    """Everything may be read: for looking at a query that will not be run."""

    models: ModelSet

    def hidden(self, _: str) -> frozenset[str]:
        """Return no columns."""
        return frozenset()

    def rows(self, _: str, __: Identity | None) -> tuple[Condition, ...] | None:
        """Return no conditions."""
        return ()


class Sources:
    """
    The sources of one whole query, with all that is in it.

    Args:
        models: The models it may use.
        permission: The rules.
        identity: The asker's claims.
        findings: What is wrong is noted here.
        within: Compiles a query that is read like a table.
        translator: Makes a translator for a scope.
        fenced: What the query names, where its models are to be fenced; None: they are not.
    """

    def __init__(
        self,
        *,
        models: ModelSet,
        permission: Rules,
        identity: Identity | None,
        findings: Findings,
        within: Within,
        translator: Callable[[Scope], Translator],
        fenced: Named | None,
    ) -> None:
        self._models = models
        self._permission = permission
        self._identity = identity
        self._findings = findings
        self._within = within
        self._translator = translator
        self._fenced = fenced
        self._count = 0
        self._trusted = False
        self.ruled = False
        """Whether any model that was read has a rule."""

    def anonymous(self) -> str:
        """Return an alias that no other source has."""
        self._count += 1
        return f"_sub_{self._count}"

    def read(
        self, source: Source, path: str, *, apart: bool, preset: tuple[Condition, ...] = ()
    ) -> Entry:
        """
        Return a source, or raise Wrong or Noted.

        Args:
            source: The model, or the query.
            path: Where the query stands that reads it.
            apart: Whether a rule must hold before anything is joined.
            preset: Conditions of the request, for the query that is read.
        """
        self._count += 1
        if self._count > MAX_SOURCES:
            raise Wrong(f"the query reads more than {MAX_SOURCES} tables")
        if source.query is not None:
            inside = f"{path}.query" if path else "query"
            statement, columns = self._within(source.query, inside, preset)
            alias = source.alias or self.anonymous()
            kinds = [(each.name, each.kind) for each in columns]
            return derived_entry(statement.subquery(alias), alias, kinds)
        model = self._model(source.name or "")
        if self._trusted:
            return model_entry(model, source.alias, frozenset())
        # A rule may stand on a column that whoever asks was not even told of.
        known = self._permission.models.get(model.id) or model
        hidden = self._permission.hidden(model.id)
        if known is not model:
            hidden |= {each.name.lower() for each in known.columns} - {
                each.name.lower() for each in model.columns
            }
        entry = model_entry(known, source.alias, hidden)
        if not entry.columns:
            raise Wrong(f"of {source.name!r} no column may be read")
        rule = self._rule(entry)
        if rule is None:
            return entry
        self.ruled = True
        if self._fenced is None and not apart:
            return replace(entry, rule=rule)
        return self._seen_first(entry, rule)

    def join(
        self, join: Join, path: str, scope: Scope, joined: sa.FromClause, *, apart: bool
    ) -> tuple[Scope, sa.FromClause]:
        """Return the scope with one more source, and the whole of what is joined."""
        entry = self.read(join.source, path, apart=apart)
        wider = scope.add(entry)
        translator = replace(self._translator(wider), aggregates=False)
        held: list[Element] = []
        if join.key is not None and join.foreign is not None:
            with self._findings.part("E170", f"{path}.key"):
                key = replace(translator, prefer=entry).value(join.key, path)
                with self._findings.part("E171", f"{path}.foreign"):
                    foreign = self._foreign(join.foreign, scope, translator, path)
                    translator.compared(key, foreign)
                    held.append(key.element == foreign.element)
        on = translator.conditions(join.on, f"{path}.on", "E170")
        held += [each.self_group() for each in (on, entry.rule) if each is not None]
        if not held:
            raise Noted
        condition = sa.and_(*held)
        if join.kind == "right":
            return wider, entry.element.outerjoin(joined, condition)
        return wider, joined.join(entry.element, condition, isouter=join.kind == "left")

    def _model(self, name: str) -> Model:
        models = self._permission.models if self._trusted else self._models
        model = models.find(name)
        if model is None:
            close = models.nearest(name)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise Wrong(f"there is no table or model {name[:60]!r}{hint}")
        return model

    def _seen_first(self, entry: Entry, rule: Element) -> Entry:
        """Return what may be seen of a model as a query of its own."""
        names = list(entry.columns)
        if self._fenced is not None and not self._fenced.every:
            names = [each for each in names if each.lower() in self._fenced.columns] or names[:1]
        inner = sa.select(*(entry.columns[each].element for each in names)).where(rule)
        if self._fenced is not None:
            inner = inner.limit(MOST_ROWS)
        kinds = [(each, entry.columns[each].kind) for each in names]
        derived = derived_entry(inner.subquery(entry.alias), entry.alias, kinds)
        return replace(derived, model=entry.model, names=entry.names)

    def _rule(self, entry: Entry) -> Element | None:
        """Return what holds of every row of a source that the asker may see."""
        known = entry.model
        assert known is not None
        rows = self._permission.rows(known.id, self._identity)
        if rows is None:
            return sa.false()
        if not rows:
            return None
        # The rule sees all columns, under the name that the source has here.
        columns = Columns(known, entry.element, frozenset())
        names = {entry.alias, f"${known.id}", known.table, known.id}
        if known.schema:
            names.add(f"{known.schema}.{known.table}")
        scope = Scope(
            (replace(entry, columns=columns, names=frozenset(each.lower() for each in names)),)
        )
        before, raising = len(self._findings.found), self._findings.raising
        self._trusted = True
        try:
            return self._translator(scope).conditions(rows, "permission", "E120")
        except Noted:
            # A claim of the wrong type, or a column that the database lost: nothing is seen, and
            # whoever asks need not know why.
            del self._findings.found[before:]
            return sa.false()
        finally:
            self._trusted = False
            self._findings.raising = raising

    def _foreign(
        self, foreign: Expression, scope: Scope, translator: Translator, path: str
    ) -> Value:
        """Return the side of a join that was there before; its names mean what was there."""
        try:
            return replace(translator, scope=scope).value(foreign, path)
        except Wrong:
            return translator.value(foreign, path)


def named(part: Any) -> Named:
    """Return what a query, or conditions, name."""
    found = list(_parts(part))
    return Named(
        columns=frozenset(each.name.lower() for each in found if isinstance(each, Field)),
        every=any(isinstance(each, Star) for each in found),
    )


def _parts(part: Any) -> Iterator[Field | Star]:
    """Yield each column that is named, and a star where all of something are asked for."""
    if isinstance(part, Field | Star):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from _parts(each)
    elif is_dataclass(part) and not isinstance(part, type):
        if isinstance(part, Call) and part.args == (Star(),):
            return  # it counts rows
        if isinstance(part, Query) and not part.select:
            yield Star()
        for one in fields(part):
            yield from _parts(getattr(part, one.name))
