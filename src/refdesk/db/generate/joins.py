"""How the models that a question speaks of are joined, one after the other, to its subject."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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

    def repeats(self, model: Model, apart: Sequence[Model] = ()) -> bool:
        """
        Whether a row of a model may come several times in what is joined.

        Rows of the models in ``apart`` are told apart, as groups are: that a row meets several of
        them repeats nothing.
        """
        edges: dict[str, list[tuple[str, bool]]] = {}
        for step in self.steps.values():
            edges.setdefault(step.source.id, []).append((step.target.id, step.many))
            edges.setdefault(step.target.id, []).append((step.source.id, _back_is_many(step)))
        seen, queue = {model.id}, deque([model.id])
        while queue:
            for target, many in edges.get(queue.popleft(), ()):
                if target in seen:
                    continue
                seen.add(target)
                if many and not self._leads(edges, target, seen, {each.id for each in apart}):
                    return True
                queue.append(target)
        return False

    def _leads(
        self,
        edges: Mapping[str, list[tuple[str, bool]]],
        start: str,
        seen: set[str],
        goals: set[str],
    ) -> bool:
        """Whether something to be told apart lies behind a join."""
        queue, passed = [start], set(seen)
        while queue:
            at = queue.pop()
            if at in goals:
                return True
            following = [target for target, _ in edges.get(at, ()) if target not in passed]
            passed.update(following)
            queue += following
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
            # Two that belong to a third, as staff and projects to a department, may have nothing
            # else to do with each other.
            best = [way for way in best if not _through_owner(way)] or best
        if len(best) != 1 or self._guessed(best[0], named):
            return None
        return best[0]

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


def _back_is_many(step: Step) -> bool:
    """Whether the way back meets several rows: unless it came from the one side of one to many."""
    return not step.many and step.relation.column != _own_key(step)


def _own_key(step: Step) -> str | None:
    keys = step.source.primary_key
    return keys[0] if len(keys) == 1 else None
