"""What names mean within one query: sources by their names, columns by theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import quoted_name

from refdesk.db.dsl.types import Field
from refdesk.db.dsl.values import Element, Value, Wrong
from refdesk.db.schema import Kind, Model


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """A column that may be used."""

    name: str
    element: Element
    kind: Kind


class Columns(Mapping[str, Seen]):
    """
    Columns of a model, each made when it is first looked up.

    A query reads few of them, and a table may have a hundred.
    """

    def __init__(self, model: Model, element: sa.FromClause, hidden: frozenset[str]) -> None:
        self._element = element
        self._kinds = {
            each.name: each.kind for each in model.columns if each.name.lower() not in hidden
        }
        self._made: dict[str, Seen] = {}

    def __getitem__(self, name: str) -> Seen:
        seen = self._made.get(name)
        if seen is None:
            kind = self._kinds[name]
            column: Any = sa.column(_quoted(name))
            column.table = self._element
            seen = self._made[name] = Seen(name=name, element=column, kind=kind)
        return seen

    def __contains__(self, name: object) -> bool:
        return name in self._kinds

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A source in the scope of a query."""

    alias: str
    """The name it has in the SQL; no two in a scope have the same."""
    element: sa.FromClause
    columns: Mapping[str, Seen]
    """What may be seen of it, by name."""
    model: Model | None = None
    names: frozenset[str] = frozenset()
    """Lower-case names it answers to."""
    rule: Element | None = None
    """What holds of every row that may be seen."""

    def column(self, name: str) -> Seen | None:
        """Return the column of that name; its case counts only where two differ by nothing else."""
        if name in self.columns:
            return self.columns[name]
        alike = [each for each in self.columns if each.lower() == name.lower()]
        return self.columns[alike[0]] if len(alike) == 1 else None


def model_entry(model: Model, alias: str | None, hidden: frozenset[str]) -> Entry:
    """Return a model as a source, without the columns that are hidden."""
    name = alias or model.table
    table = sa.table(_quoted(model.table), schema=_quoted(model.schema) if model.schema else None)
    element = table.alias(_quoted(name))
    names = {f"${model.id}"} if alias else {f"${model.id}", model.table, model.id}
    if not alias and model.schema:
        names.add(f"{model.schema}.{model.table}")
    return Entry(
        alias=name,
        element=element,
        columns=Columns(model, element, hidden),
        model=model,
        names=frozenset(each.lower() for each in (name, *names)),
    )


def derived_entry(element: sa.FromClause, alias: str, kinds: Iterable[tuple[str, Kind]]) -> Entry:
    """Return a query as a source."""
    columns = {name: Seen(name=name, element=element.c[name], kind=kind) for name, kind in kinds}
    return Entry(alias=alias, element=element, columns=columns, names=frozenset((alias.lower(),)))


class Scope:
    """The sources of one query.  A query within another has its own and sees none of these."""

    def __init__(self, entries: tuple[Entry, ...] = ()) -> None:
        self.entries = entries

    def add(self, entry: Entry) -> Scope:
        """Return the scope with one more source, or raise Wrong if its name is taken."""
        if any(each.alias.lower() == entry.alias.lower() for each in self.entries):
            raise Wrong(
                f"two sources are called {entry.alias!r}; give one an alias, as in "
                f'"{entry.alias} as other"'
            )
        return Scope((*self.entries, entry))

    def source(self, name: str) -> Entry:
        """Return the source that a name means, or raise Wrong."""
        low = name.lower()
        found = [each for each in self.entries if each.alias.lower() == low]
        found = found or [each for each in self.entries if low in each.names]
        found = found or [
            each
            for each in self.entries
            if each.model is not None and low in (each.model.table.lower(), each.model.id.lower())
        ]
        if len(found) == 1:
            return found[0]
        known = ", ".join(each.alias for each in self.entries)
        if found:
            raise Wrong(f"{name!r} is here more than once; say which by its alias: {known}")
        raise Wrong(f"{name!r} is not read here; sources: {known}")

    def owner(self, field: Field) -> tuple[Entry, Seen] | None:
        """Return the source and the column that a field means; None if that is not clear."""
        try:
            entries = self.entries if field.source is None else (self.source(field.source),)
        except Wrong:
            return None
        found = [(each, seen) for each in entries if (seen := each.column(field.name))]
        return found[0] if len(found) == 1 else None

    def field(self, field: Field, *, prefer: Entry | None = None) -> Value:
        """
        Return the column that a field means.

        Args:
            field: The field; steps into JSON are not taken here.
            prefer: The source whose column is meant if its name alone would be unclear.

        Raises:
            Wrong: There is none, or more than one.  A hidden column is none.
        """
        if field.source is not None:
            entry = self.source(field.source)
            seen = entry.column(field.name)
            if seen is None:
                raise Wrong(_missing(field.name, (entry,)))
            return Value(element=seen.element, kind=seen.kind)
        if prefer is not None and (seen := prefer.column(field.name)) is not None:
            return Value(element=seen.element, kind=seen.kind)
        found = [(each, seen) for each in self.entries if (seen := each.column(field.name))]
        if len(found) == 1:
            return Value(element=found[0][1].element, kind=found[0][1].kind)
        if found:
            names = " or ".join(f"{each.alias}.{seen.name}" for each, seen in found)
            raise Wrong(f"{field.name!r} is in more than one source; write {names}")
        raise Wrong(_missing(field.name, self.entries))


def _missing(name: str, entries: tuple[Entry, ...]) -> str:
    where = " or ".join(repr(each.alias) for each in entries) or "any source"
    known = {column.lower(): column for each in entries for column in each.columns}
    close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(known[each] for each in close)}?" if close else ""
    return f"there is no column {name[:60]!r} in {where}{hint}"


def _quoted(name: str) -> Any:
    # Always quoted: a column may be called "order", and a name's case counts in PostgreSQL.
    return quoted_name(name, quote=True)
