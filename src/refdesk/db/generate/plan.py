"""What is understood of a question so far: the parts that a query is put together from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from refdesk.db.dsl import Call, Comparison, Condition, Constant, Expression, Field, Star
from refdesk.db.dsl.types import Op, Scalar
from refdesk.db.generate.items import Item, Items
from refdesk.db.generate.subject import Step, key_column, name_column, path, reachable
from refdesk.db.schema import Column, Model, ModelSet

Aggregate = Literal["SUM", "AVG", "MAX", "MIN", "COUNT"]
Place = tuple[Model, Column]


@dataclass(slots=True)
class Plan:
    """A question being understood; rules add to it, one after the other."""

    items: Items
    models: ModelSet
    subject: Model
    wheres: list[tuple[Comparison, Item]] = field(default_factory=list)
    keys: list[tuple[Expression, str | None]] = field(default_factory=list)
    """What is grouped by, and the alias of what has no name."""
    aggregates: list[tuple[Call, str]] = field(default_factory=list)
    shown: list[Place] = field(default_factory=list)
    havings: list[Condition] = field(default_factory=list)
    orders: list[tuple[Expression, bool]] = field(default_factory=list)
    limit: int | None = None
    distinct: bool = False
    joins: dict[str, Step] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    def near(self, model: Model) -> bool:
        """Whether a model can be reached from the subject."""
        return path(self.models, self.subject, model) is not None

    def place(self, item: Item | None) -> Place | None:
        """Return the column that an item names, if it does."""
        return None if item is None else reachable(item, self.subject, self.near)

    def field(self, model: Model, column: Column) -> Field:
        """Return a column as an expression, and have its model joined."""
        for step in path(self.models, self.subject, model) or ():
            if step.target.id in self.joins:
                continue
            self.joins[step.target.id] = step
            if not any(each.relations for each in self.models):
                self.notices.append(
                    f"{step.source.id} and {step.target.id} were joined where "
                    f"{step.relation.column!r} is equal; declare the relation to be sure"
                )
        return Field(name=column.name, source=f"${model.id}")

    @property
    def fans_out(self) -> bool:
        """Whether a row of the subject may come several times."""
        return any(step.many for step in self.joins.values())

    def group_by(self, model: Model, column: Column | None) -> None:
        """Group by a column, or by the rows of a model."""
        columns = (
            [column]
            if column
            else [
                *(filter(None, [key_column(model)])),
                *(filter(None, [name_column(model)])),
            ]
        )
        for each in columns:
            expression = self.field(model, each)
            if expression not in [key for key, _ in self.keys]:
                self.keys.append((expression, None))

    def aggregate(self, function: Aggregate, value: Expression, *, distinct: bool = False) -> str:
        """Add an aggregate, and return its alias."""
        name = value.name if isinstance(value, Field) else ""
        alias = f"{function.lower()}_{name}" if name else "count"
        if not alias.isidentifier() or not alias.isascii():
            alias = f"{function.lower()}_{len(self.aggregates) + 1}"
        call = Call(name=function, args=(value,), distinct=distinct)
        if (call, alias) not in self.aggregates:
            self.aggregates.append((call, alias))
        return alias

    def count(self, model: Model) -> str:
        """Count the rows of a model."""
        key = key_column(model)
        if model.id != self.subject.id and key is not None:
            return self.aggregate("COUNT", self.field(model, key), distinct=True)
        return self.aggregate("COUNT", Star())

    def compare(self, item: Item, place: Place, op: Op, right: Scalar) -> None:
        """Add a condition, and mark its item as used."""
        condition = Comparison(left=self.field(*place), op=op, right=Constant(value=right))
        self.wheres.append((condition, item))
        item.used = True

    def one_of(self, item: Item, place: Place, values: list[str], *, negative: bool) -> None:
        """Add a condition that a column has one of these values, or none of them."""
        right = tuple(Constant(value=value) for value in values)
        op: Literal["in", "not in"] = "not in" if negative else "in"
        self.wheres.append((Comparison(left=self.field(*place), op=op, right=right), item))

    def negated(self, item: Item) -> Item | None:
        """Return the "not" that stands before an item and has not been used."""
        before = self.items.before(item)
        if before is not None and before.columns and before.used is False:
            before = self.items.before(before)
        return (
            before if before is not None and before.concept == "not" and not before.used else None
        )

    def named(self, item: Item) -> bool:
        """Whether an item names the subject."""
        return any(each.model.id == self.subject.id for each in item.models)
