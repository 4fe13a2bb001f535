"""How the models that a question speaks of are joined, one after the other, to its subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from refdesk.db.generate.relations import Step, Ways
from refdesk.db.schema import Model
from refdesk.errors import RefdeskError

_FARTHEST: Final = 3


class NoWay(RefdeskError):
    """A model cannot be joined: nothing leads to it, or two ways do alike."""


@dataclass(slots=True)
class Joins:
    """
    The models joined so far.

    ``mentions`` are the models that the question names, in its order; of two ways that are equally
    short, the one along them is meant.
    """

    subject: Model
    ways: Ways
    mentions: tuple[Model, ...] = ()
    steps: dict[str, Step] = field(default_factory=dict)
    barred: set[str] = field(default_factory=set)
    """Models that must not be joined, as the rows meant are those without them."""

    def __contains__(self, model: Model) -> bool:
        return model.id == self.subject.id or model.id in self.steps

    def distance(self, model: Model) -> int | None:
        """Return how many joins lead to a model; None where no way does, or two alike do."""
        way = self.way(model)
        return None if way is None else len(way)

    def connect(self, model: Model) -> tuple[Step, ...]:
        """
        Join a model, after those that the question names before it; return what this adds.

        Raises:
            NoWay: There is no one way to it.
        """
        added: list[Step] = []
        if model in self:
            return ()
        ids = [each.id for each in self.mentions]
        earlier = self.mentions[: ids.index(model.id)] if model.id in ids else ()
        for each in (*earlier, model):
            way = self.way(each)
            if way is None:
                if each is model:
                    raise NoWay(f"no one way leads to {model.id!r}")
                continue
            for step in way:
                self.steps[step.target.id] = step
            added += way
        return tuple(added)

    def rooted(self, root: Model) -> list[Step]:
        """Return the steps turned to lead away from a model, those nearest to it first."""
        found: list[Step] = []
        reached, left = {root.id}, list(self.steps.values())
        while left:
            near = [each for each in left if {each.source.id, each.target.id} & reached]
            if not near:
                break
            found += [each if each.source.id in reached else _turned(each) for each in near]
            reached |= {each.target.id for each in found}
            left = [each for each in left if each not in near]
        return found

    def leading(self, root: Model, goal: str) -> list[Step]:
        """Return the steps that lead from a model to another by its id, of those joined."""
        steps = {each.target.id: each for each in self.rooted(root)}
        found: list[Step] = []
        while (step := steps.get(goal)) is not None:
            found.insert(0, step)
            goal = step.source.id
        return found

    def repeats(self, model: Model, apart: Sequence[Model] = ()) -> bool:
        """
        Whether a row of a model may come several times in what is joined.

        Rows of the models in ``apart`` are told apart, as groups are: that a row meets several of
        them repeats nothing.  A table between the two must not name a pair twice, as its primary
        key tells.
        """
        goals = {each.id for each in apart}
        steps = self.rooted(model)
        for step in steps:
            if not step.many or step.target.id in goals:
                continue
            ties = [each for each in steps if each.source.id == step.target.id]
            if not any(
                each.target.id in goals
                and set(step.target.primary_key) == {step.relation.foreign, each.relation.column}
                for each in ties
            ):
                return True
        return False

    def way(self, model: Model) -> tuple[Step, ...] | None:
        """Return the joins that lead to a model from what is joined; None for no one way."""
        if model in self:
            return ()
        if model.id in self.barred:
            return None
        named = {each.id for each in self.mentions}
        # What was joined last is nearest in the sentence.
        starts = [step.target for step in reversed(self.steps.values())] + [self.subject]
        best: list[tuple[Step, ...]] = []
        for start in starts:
            found = self._shortest(start, model)
            if found and (not best or len(found[0]) < len(best[0])):
                best = found
        if len(best) > 1:
            along = [way for way in best if any(step.target.id in named for step in way[:-1])]
            best = along or best
        # Two that belong to a third, as staff and projects to a department, have nothing else to
        # do with each other; the third has to be spoken of.
        best = [
            way
            for way in best
            if not _through_owner(way) or any(step.target.id in named for step in way[:-1])
        ]
        if len(best) != 1 or self._guessed(best[0], named):
            return None
        return best[0]

    def kin(self, owner: Model, model: Model) -> bool:
        """Whether all that leads from one model to another is that both belong to a third."""
        ways = self._shortest(owner, model)
        return bool(ways) and all(_through_owner(way) for way in ways)

    def _guessed(self, way: tuple[Step, ...], named: set[str]) -> bool:
        """Whether names alone lead through something that the question does not speak of."""
        if all(not step.implied for step in way):
            return False
        return any(
            step.target.id not in named and not self.ways.is_link(step.target) for step in way[:-1]
        )

    def _shortest(self, start: Model, goal: Model) -> list[tuple[Step, ...]]:
        """Return all the shortest ways, that do not go through what is joined."""
        rim: list[tuple[Model, tuple[Step, ...]]] = [(start, ())]
        seen = {start.id, self.subject.id, *self.steps}
        for _ in range(_FARTHEST):
            reached = [
                (step.target, (*way, step))
                for model, way in rim
                for step in self.ways.of(model)
                if step.target.id not in seen
            ]
            if found := [way for model, way in reached if model.id == goal.id]:
                return found
            seen.update(model.id for model, _ in reached)
            rim = reached
        return []


def _through_owner(way: tuple[Step, ...]) -> bool:
    return any(not a.many and b.many for a, b in pairwise(way))


def _turned(step: Step) -> Step:
    """Return a step the other way round; one row meets several, unless it came from its own key."""
    here, there = step.relation.foreign, step.relation.column
    many = not step.many and there != _own_key(step)
    relation = replace(step.relation, model=step.source.id, column=here, foreign=there)
    return replace(step, source=step.target, relation=relation, target=step.source, many=many)


def _own_key(step: Step) -> str | None:
    keys = step.source.primary_key
    return keys[0] if len(keys) == 1 else None
