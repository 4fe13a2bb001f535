"""What is understood of a question so far: the parts that a query is put together from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Literal

from refdesk.db.dsl import (
    Call,
    Comparison,
    Condition,
    Constant,
    Expression,
    Field,
    Group,
    Star,
    SubQuery,
)
from refdesk.db.dsl.types import Op, Scalar
from refdesk.db.generate.items import Item, Items
from refdesk.db.generate.joins import Joins
from refdesk.db.generate.places import place_of
from refdesk.db.generate.relations import Ways
from refdesk.db.generate.subject import is_flag, name_columns
from refdesk.db.schema import Column, Model, ModelSet

Aggregate = Literal["SUM", "AVG", "MAX", "MIN", "COUNT"]
Place = tuple[Model, Column]


@dataclass(frozen=True, slots=True)
class Kept:
    """Groups that stay though nothing belongs to them."""

    root: Model
    """The model whose rows make the groups."""
    on: dict[str, list[Condition]] = field(default_factory=dict)
    """Conditions on what is joined to them, by the id of its model."""


@dataclass(slots=True)
class Plan:
    """A question being understood; rules add to it, one after the other."""

    items: Items
    models: ModelSet
    subject: Model
    joins: Joins
    ways: Ways
    wheres: list[tuple[Condition, Item]] = field(default_factory=list)
    keys: list[tuple[Expression, str | None]] = field(default_factory=list)
    """What is grouped by, and the alias of what has no name."""
    entities: list[Model] = field(default_factory=list)
    """The models whose rows are grouped by."""
    aggregates: list[tuple[Expression, str]] = field(default_factory=list)
    counted: list[Model] = field(default_factory=list)
    """The models whose rows each aggregate takes in."""
    shown: list[Place] = field(default_factory=list)
    figures: list[tuple[Expression, str]] = field(default_factory=list)
    """What is shown besides columns: what is reckoned from them, row by row."""
    havings: list[Condition] = field(default_factory=list)
    orders: list[tuple[Expression, bool]] = field(default_factory=list)
    limit: int | None = None
    distinct: bool = False
    needed: set[str] = field(default_factory=set)
    """The models without whose rows a row of the subject is not meant."""
    kept: Kept | None = None
    """Which groups stay though nothing belongs to them."""
    apart: list[tuple[Expression, str]] = field(default_factory=list)
    """What is read of each row once, before figures are taken; empty where no row is repeated."""
    every: bool = False
    """Whether a figure is wanted for each row of the subject."""
    parts: list[range] = field(default_factory=list)
    """Stretches of the items whose conditions are to be kept apart."""
    notices: list[str] = field(default_factory=list)

    def near(self, model: Model) -> bool:
        """Whether a model can be reached from what is joined."""
        return self.joins.distance(model) is not None

    def place(self, item: Item | None) -> Place | None:
        """Return the column that an item names, if it does."""
        return None if item is None else place_of(item, self.items, self.joins, self.entities)

    def refers(self, item: Item | None) -> bool:
        """Whether an item names what a column refers to, and not what the column holds."""
        place = self.place(item)
        return item is not None and any(
            each.refers and (each.model, each.column) == place for each in item.columns
        )

    def model(self, item: Item | None) -> Model | None:
        """Return the model that an item names, if it can be reached."""
        if item is None:
            return None
        named = sorted(item.models, key=lambda each: -each.weight)
        return next((each.model for each in named if self.near(each.model)), None)

    def join(self, model: Model) -> None:
        """Have a model joined; what only names show is told."""
        for step in self.joins.connect(model):
            if step.implied:
                self.notices.append(
                    f"{step.source.id} and {step.target.id} were joined where "
                    f"{step.relation.column!r} is equal; declare the relation to be sure"
                    if step.relation.column == step.relation.foreign
                    else f"{step.source.id} and {step.target.id} were joined where "
                    f"{step.relation.column!r} is equal to {step.relation.foreign!r}; "
                    "declare the relation to be sure"
                )

    def field(self, model: Model, column: Column) -> Field:
        """Return a column as an expression, and have its model joined."""
        self.join(model)
        return Field(name=column.name, source=f"${model.id}")

    def group_by(self, model: Model, column: Column | None) -> bool:
        """Group by a column, or by the rows of a model; return whether that can be."""
        columns = [column] if column else self.naming(model)
        if not columns:
            return False
        if column is None and model.id not in [each.id for each in self.entities]:
            self.entities.append(model)
        for each in columns:
            expression = self.field(model, each)
            if expression not in [key for key, _ in self.keys]:
                self.keys.append((expression, None))
        return True

    def naming(self, model: Model) -> list[Column]:
        """Return the columns that tell a model's rows apart and name them."""
        found = [self.ways.key(model), *name_columns(model)]
        return list(dict.fromkeys(each for each in found if each is not None))

    def aggregate(
        self, function: Aggregate, model: Model, value: Expression, *, distinct: bool = False
    ) -> str:
        """Add an aggregate of a model's rows, and return its alias."""
        name = value.name if isinstance(value, Field) else ""
        alias = f"{function.lower()}_{name}" if name else "count"
        if not alias.isidentifier() or not alias.isascii() or len(alias) > 60:
            alias = f"{function.lower()}_{len(self.aggregates) + 1}"
        return self.add(
            Call(name=function, args=(value,), distinct=distinct), model, alias, fresh=False
        )

    def add(self, value: Expression, model: Model, alias: str, *, fresh: bool = True) -> str:
        """Add any figure over many rows, under an alias that nothing else has."""
        for known, name in self.aggregates:
            if known == value:
                return name
        taken = {name for _, name in self.aggregates} if fresh or alias else set()
        unique = alias
        while unique in taken:
            unique = f"{alias}_{len(self.aggregates) + 1}"
        self.aggregates.append((value, unique))
        self.counted.append(model)
        return unique

    def count(self, model: Model) -> str:
        """Count the rows of a model."""
        key = self.ways.key(model)
        if model.id != self.subject.id and key is not None:
            return self.aggregate("COUNT", model, self.field(model, key), distinct=True)
        if model.id != self.subject.id:
            self.join(model)
        return self.aggregate("COUNT", model, Star())

    def unspoken(self, place: Place) -> bool:
        """Whether a column is of many rows of a table that the question does not speak of."""
        spoken = place[0] in self.joins or place[0].id in {each.id for each in self.joins.mentions}
        return not spoken and any(step.many for step in self.joins.way(place[0]) or ())

    def compare(self, item: Item, place: Place, op: Op, right: Scalar) -> None:
        """Add a condition, and mark its item as used."""
        condition = Comparison(left=self.field(*place), op=op, right=Constant(value=right))
        negative = op in {"<>", "not like"}
        self.wheres.append((self.or_none(condition, place) if negative else condition, item))
        item.used = True

    def one_of(self, item: Item, place: Place, values: Sequence[Scalar], *, negative: bool) -> None:
        """Add a condition that a column has one of these values, or none of them."""
        right = tuple(Constant(value=value) for value in values)
        op: Literal["in", "not in"] = "not in" if negative else "in"
        condition = Comparison(left=self.field(*place), op=op, right=right)
        self.wheres.append((self.or_none(condition, place) if negative else condition, item))

    def or_none(self, negative: Comparison, place: Place) -> Condition:
        """Return a negation that holds where there is no value as well: no tier is not gold."""
        column = place[1]
        if place[0].id == self.subject.id and (column.primary or not column.nullable):
            return negative
        none = Comparison(left=negative.left, op="is", right=Constant(value="null"), either=True)
        return Group(wheres=(negative, none))

    def negated(self, item: Item) -> Item | None:
        """Return the "not" that stands before an item and has not been used."""
        before = self.items.before(item)
        place = self.place(before)
        flag = place is not None and is_flag(place[1])  # "non-smoking suites" are suites
        if before is not None and before.columns and not before.used and not flag:
            before = self.items.before(before)
        return (
            before if before is not None and before.concept == "not" and not before.used else None
        )

    def part(self, item: Item) -> int:
        """Return which of the parts an item belongs to; 0 for none."""
        at = self.items.row.index(item)
        return next((n for n, each in enumerate(self.parts, start=1) if at in each), 0)

    @property
    def asks_who(self) -> bool:
        """Whether somebody is asked for, and no figure."""
        first = next(iter(self.items), None)
        asked = first is not None and first.text.lower() == "who"
        return asked or any(each.text == "谁" for each in self.items)

    def named(self, item: Item) -> bool:
        """Whether an item names the subject."""
        return any(each.model.id == self.subject.id for each in item.models)


def sources_of(node: object) -> set[str]:
    """Return the models that a part of a query speaks of; a sub-query speaks for itself."""
    if isinstance(node, Field):
        return {node.source or ""}
    if isinstance(node, tuple):
        return {source for each in node for source in sources_of(each)}
    if is_dataclass(node) and not isinstance(node, type | SubQuery):
        return {source for each in fields(node) for source in sources_of(getattr(node, each.name))}
    return set()


def figure_of(plan: Plan, item: Item) -> str | None:
    """Return the figure that is already taken of the column an item names, by its alias."""
    place = plan.place(item)
    if place is None:
        return None
    value = Field(name=place[1].name, source=f"${place[0].id}")
    return next(
        (alias for each, alias in plan.aggregates if value in getattr(each, "args", ())), None
    )
