"""Groups that have no rows to count: they stay where the groups are rows of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from refdesk.db.dsl import (
    Call,
    Case,
    Comparison,
    Condition,
    Expression,
    Field,
    Group,
    Star,
    When,
)
from refdesk.db.generate.plan import Kept, Plan, sources_of
from refdesk.db.schema import Model

_FIGURES: Final = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX"})
_OF_NOTHING: Final = frozenset({"AVG", "MIN", "MAX"})
"""Figures that there are none of where there are no rows."""
_ASKING: Final = frozenset({"which", "who", "哪些", "哪个", "哪位", "谁"})


def keep_groups(plan: Plan, wheres: Sequence[Condition]) -> tuple[Condition, ...]:
    """
    Have the groups read first, and what is counted joined to them; return the other conditions.

    What limits the counted rows goes into the join or into the figure, since it would take away
    groups as a condition of the whole.
    """
    root = _root(plan)
    if root is None:
        return tuple(wheres)
    names = {getattr(value, "name", "") for value, _ in plan.aggregates}
    if not plan.entities and names <= _OF_NOTHING:
        said = ", ".join(dict.fromkeys(repr(each.id) for each in plan.counted))
        plan.notices.append(f"groups without any row of {said} are left out")
        return tuple(wheres)
    kept = plan.kept = Kept(root=root)
    of_groups: list[Condition] = []
    inside: dict[int, list[Condition]] = {}
    branches = [_branch(plan, root, each.id) for each in plan.counted]
    for condition in wheres:
        models = {each[1:] for each in sources_of(condition)}
        limited = {_branch(plan, root, each) for each in models} - {None}
        counted = [at for at, branch in enumerate(branches) if {branch} == limited]
        if not counted:
            of_groups.append(condition)
            continue
        if any(branch is not None and {branch} != limited for branch in branches):
            plan.notices.append(_held(condition, [plan.counted[at] for at in counted]))
        passed = [
            {each.target.id for each in plan.joins.leading(root, plan.counted[at].id)}
            for at in counted
        ]
        if len(models) == 1 and all(models <= each for each in passed):
            kept.on.setdefault(models.pop(), []).append(condition)
        else:
            for at in counted:
                inside.setdefault(at, []).append(condition)
    for at, (value, alias) in enumerate(plan.aggregates):
        plan.aggregates[at] = (_within(plan, root, at, value, inside.get(at, [])), alias)
    return tuple(of_groups)


def _root(plan: Plan) -> Model | None:
    """Return the model whose rows make the groups, where it is another than what is counted."""
    if not all(isinstance(v, Call) and v.name in _FIGURES for v, _ in plan.aggregates):
        return None
    ranked = plan.limit is not None and bool(plan.orders)
    if (ranked or _asks_which(plan)) and not _few(plan):
        return None  # "which departments have projects, and how many": those that have any
    sources = {source for key, _ in plan.keys for source in sources_of(key)}
    named = [model for model in plan.models if f"${model.id}" in sources]
    for root in named:
        if all(_many(plan, root, each.id) is None for each in named):
            return root if any(each.id != root.id for each in plan.counted) else None
    return None


def _asks_which(plan: Plan) -> bool:
    first = next(iter(plan.items), None)
    return first is not None and first.text.lower() in _ASKING


def _few(plan: Plan) -> bool:
    """Whether groups with few rows are wanted, of which those without any have the fewest."""
    aliases = [Field(name=alias) for _, alias in plan.aggregates]
    rising = any(value in aliases and not down for value, down in plan.orders)
    return rising or any(getattr(each, "op", "") in {"<", "<=", "="} for each in plan.havings)


def _many(plan: Plan, root: Model, goal: str) -> str | None:
    """Return the first model on the way of whose rows one group meets several, if any."""
    way = plan.joins.leading(root, goal)
    return next((each.target.id for each in way if each.many), None)


def _branch(plan: Plan, root: Model, goal: str) -> str | None:
    """Return where a model parts from the groups; None where it says which groups are meant."""
    if (many := _many(plan, root, goal)) is not None:
        return many
    ways = [plan.joins.leading(root, each.id) for each in plan.counted]
    top = [each.target.id for each in plan.joins.leading(root, goal)[:1]]
    counted = any(way and [way[0].target.id] == top for way in ways)
    return top[0] if top and counted else None


def _within(
    plan: Plan, root: Model, at: int, value: Expression, limits: Sequence[Condition]
) -> Expression:
    """Return a figure that takes in only the rows meant, and no row where a group has none."""
    model = plan.counted[at]
    assert isinstance(value, Call)
    counted = value.args[0]
    if isinstance(counted, Star) and (way := plan.joins.leading(root, model.id)):
        key = plan.ways.key(model)
        name = way[-1].relation.foreign if key is None else key.name
        counted = Field(name=name, source=f"${model.id}")
    if limits:
        counted = Case(whens=(When(wheres=tuple(limits), then=counted),))
    return replace(value, args=(counted,))


def _held(condition: Condition, models: Sequence[Model]) -> str:
    first = condition.wheres[0] if isinstance(condition, Group) else condition
    left = first.left if isinstance(first, Comparison) else None
    said = repr(left.name) if isinstance(left, Field) else "one column"
    names = ", ".join(dict.fromkeys(repr(each.id) for each in models))
    return f"the condition on {said} was taken to hold for {names} only"
