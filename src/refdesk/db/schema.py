"""
Models: what may be asked about, and what its tables and columns mean.

A model comes from a file (`refdesk.db.model_files`) or from the database itself
(`refdesk.db.reflection`).  Names in SQL come from here and from nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final, Literal

Kind = Literal[
    "text", "integer", "number", "boolean", "date", "datetime", "time", "json", "uuid", "other"
]
"""What a column's values are like, whatever the database calls the type."""

_TEXT: Final = (
    "string char varchar nvarchar nchar bpchar text tinytext mediumtext longtext clob enum set "
    "character citext varchar2 name"
)
_INTEGER: Final = (
    "id integer int int2 int4 int8 tinyint smallint mediumint bigint hugeint serial bigserial "
    "smallserial tinyinteger smallinteger mediuminteger biginteger unsignedinteger "
    "unsignedbiginteger uinteger ubigint usmallint utinyint year"
)
_NUMBER: Final = (
    "decimal numeric float float4 float8 double real number money unsigneddecimal unsignedfloat "
    "unsigneddouble"
)
_DATETIME: Final = "datetime timestamp timestamptz datetimetz timestamp_s timestamp_ms timestamp_ns"
_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys(_TEXT.split(), "text"),
    **dict.fromkeys(_INTEGER.split(), "integer"),
    **dict.fromkeys(_NUMBER.split(), "number"),
    **dict.fromkeys(_DATETIME.split(), "datetime"),
    "boolean": "boolean",
    "bool": "boolean",
    "date": "date",
    "time": "time",
    "timetz": "time",
    "json": "json",
    "jsonb": "json",
    "uuid": "uuid",
}


@lru_cache(maxsize=1024)
def kind_of(type_name: str) -> Kind:
    """Return what values a type holds, by its name: ``varchar(20)`` is text."""
    words = type_name.strip().lower().partition("(")[0].split()
    if not words:
        return "other"
    if len(words) > 1 and words[0] == "unsigned":
        words = words[1:]
    return _KINDS.get(words[0], "other")


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column of a model."""

    name: str
    type: str = "string"
    """As the model file or the database calls it."""
    label: str | None = None
    description: str | None = None
    synonyms: tuple[str, ...] = ()
    """Other words for it."""
    enum: tuple[str | int | float | bool, ...] = ()
    """The values it can have, where they are few."""
    nullable: bool = True
    primary: bool = False
    private: bool = False
    """Its values are never sampled, and never shown to whoever makes queries."""

    @property
    def kind(self) -> Kind:
        """What its values are like."""
        return kind_of(self.type)


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """A way from one model to another: ``column`` here equals ``foreign`` there."""

    name: str
    model: str
    """The other model's id."""
    column: str
    foreign: str
    kind: Literal["one", "many"] = "one"
    """How many rows there belong to one here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """A table that may be asked about."""

    id: str
    """``product``, or ``agents.<assistant>.order`` for an assistant's own."""
    table: str
    columns: tuple[Column, ...]
    schema: str | None = None
    label: str | None = None
    description: str | None = None
    synonyms: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    rows: tuple[Mapping[str, Any], ...] = ()
    """Row rules of its own, as `databases.NAME.permission` has them."""
    hidden: tuple[str, ...] = ()
    """Columns of its own that never leave, not even in conditions."""

    def column(self, name: str) -> Column | None:
        """Return the column of that name; its case counts only where two differ by nothing else."""
        alike = [each for each in self.columns if each.name.lower() == name.lower()]
        exact = [each for each in alike if each.name == name]
        found = exact or (alike if len(alike) == 1 else [])
        return found[0] if found else None

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The names of the primary key's columns."""
        return tuple(each.name for each in self.columns if each.primary)

    def without(self, columns: Iterable[str]) -> Model:
        """Return the model without these columns, and without the relations that use them."""
        gone = {name.lower() for name in columns}
        return replace(
            self,
            columns=tuple(each for each in self.columns if each.name.lower() not in gone),
            relations=tuple(each for each in self.relations if each.column.lower() not in gone),
        )


@dataclass(frozen=True, slots=True)
class ModelSet:
    """The models that a search may use.  No two have the same id."""

    models: tuple[Model, ...] = ()
    _by_name: dict[str, Model] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names: dict[str, Model] = {}
        for model in self.models:
            if f"${model.id}" in names:
                raise ValueError(f"two models have the id {model.id!r}; rename one")
            names[f"${model.id}"] = model
        for model in self.models:
            for name in (model.table, f"{model.schema}.{model.table}", model.id):
                names.setdefault(name, model)
        for name, model in list(names.items()):
            names.setdefault(name.lower(), model)
        object.__setattr__(self, "_by_name", names)

    def __iter__(self) -> Iterator[Model]:
        return iter(self.models)

    def __len__(self) -> int:
        return len(self.models)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, in the order given."""
        return tuple(model.id for model in self.models)

    def get(self, model_id: str) -> Model | None:
        """Return the model with that id, or None."""
        return self._by_name.get(f"${model_id}")

    def find(self, name: str) -> Model | None:
        """Return the model that a ``from`` means: ``$id``, a table, ``schema.table``, or an id."""
        return self._by_name.get(name) or self._by_name.get(name.lower())

    def nearest(self, name: str, n: int = 3) -> tuple[str, ...]:
        """Return the ids most like a name that is not one, the likest first."""
        known = {each.lower(): each for each in self.ids}
        return tuple(known[low] for low in get_close_matches(name.lstrip("$").lower(), known, n=n))

    def only(self, ids: Iterable[str]) -> ModelSet:
        """Return those with these ids (or tables); names that none has are passed over."""
        wanted = {model.id for name in ids if (model := self.get(name) or self.find(name))}
        return ModelSet(tuple(model for model in self.models if model.id in wanted))
