"""
The ways from one model to another: declared relations, and those that names of columns show.

A column is taken to refer to another model only where one of the two declares no relation at all,
and where its name says so: it is called like the other's key (``orders.customer_id`` and
``customers.customer_id``), or like the other model and "id", or like the other model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from refdesk.db.generate.identifiers import Names
from refdesk.db.generate.lexicon import ABBREVIATIONS
from refdesk.db.schema import Column, Model, ModelSet, Relation

Words = tuple[str, ...]

_KEY_WORDS: Final = ("id", "code", "key", "no", "number")
_ROLES: Final = frozenset(
    [
        "from",
        "to",
        "main",
        "start",
        "end",
        "origin",
        "destination",
        "source",
        "target",
        "parent",
        "home",
        "away",
        "stop",
        "arrival",
        "departure",
        "billing",
        "shipping",
    ]
)
"""What stands before a model's name in a column that refers to it: ``from_airport``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One join: from a model, along a relation, to another."""

    source: Model
    relation: Relation
    target: Model
    many: bool
    """Whether one row may meet several."""
    implied: bool = False
    """Whether only names say that the two belong together."""


class Ways:
    """Every step that leads from one model of a schema to another."""

    def __init__(self, models: ModelSet, names: Names) -> None:
        own = {model.id: _spelled(names.table(model.table)) for model in models}
        self._keys = {
            model.id: _key(
                model, names, frozenset(words for each, words in own.items() if each != model.id)
            )
            for model in models
        }
        self._settle_rivals(models, names)
        steps: dict[str, list[Step]] = {model.id: [] for model in models}
        for step in (*_declared(models), *self._implied(models, names)):
            steps[step.source.id].append(step)
        self._steps = steps

    def of(self, model: Model) -> list[Step]:
        """Return the steps that begin at a model."""
        return self._steps[model.id]

    def key(self, model: Model) -> Column | None:
        """Return the column that tells a model's rows apart: declared, or an id by its name."""
        key = self._keys[model.id]
        named = key is not None and not model.primary_key and key.name.lower().endswith("name")
        return None if named else key

    def is_link(self, model: Model) -> bool:
        """Whether a model does no more than tie others together."""
        return sum(not step.many for step in self.of(model)) > 1 and self.key(model) is None

    def _settle_rivals(self, models: ModelSet, names: Names) -> None:
        """Let no two models have a key of the same telling name, unless one is named like it."""
        claims: dict[str, list[Model]] = {}
        for model in models:
            key = self._keys[model.id]
            if key is not None and not model.primary_key and key.name.lower() != "id":
                claims.setdefault(key.name.lower(), []).append(model)
        for rivals in claims.values():
            if len(rivals) > 1:
                own = [
                    each
                    for each in rivals
                    if (key := self._keys[each.id]) and _names_itself(each, key, names)
                ]
                for model in rivals:
                    if [model] != own:
                        self._keys[model.id] = None

    def _implied(self, models: ModelSet, names: Names) -> list[Step]:
        """Return what names show, both ways round, where one of two models declares nothing."""
        found: dict[tuple[str, str, str, str], Step] = {}
        related = {each.id for each in models if each.relations}
        related |= {relation.model for each in models for relation in each.relations}
        for model in models:
            for other in models:
                key = self._keys[other.id]
                if key is None or other.id == model.id or {model.id, other.id} <= related:
                    continue
                own = self._keys[model.id]
                for column in _referring(model, other, key, names, own):
                    many = column != own
                    for source, here, target, there, fans in (
                        (model, column, other, key, False),
                        (other, key, model, column, many),
                    ):
                        relation = Relation(
                            name=target.id,
                            model=target.id,
                            column=here.name,
                            foreign=there.name,
                            kind="many" if fans else "one",
                        )
                        step = Step(
                            source=source, relation=relation, target=target, many=fans, implied=True
                        )
                        found.setdefault(_ends(step), step)
        return list(found.values())


def _declared(models: ModelSet) -> list[Step]:
    """Return the declared relations, each both ways round."""
    found: dict[tuple[str, str, str, str], Step] = {}
    for model in models:
        for relation in model.relations:
            target = models.get(relation.model)
            if target is None:
                continue
            there = Step(
                source=model, relation=relation, target=target, many=relation.kind == "many"
            )
            back = Relation(
                name=relation.name,
                model=model.id,
                column=relation.foreign,
                foreign=relation.column,
                kind="many" if relation.kind == "one" else "one",
            )
            found[_ends(there)] = there
            if target.id != model.id:
                step = Step(source=target, relation=back, target=model, many=back.kind == "many")
                found.setdefault(_ends(step), step)
    return list(found.values())


def _ends(step: Step) -> tuple[str, str, str, str]:
    return (step.source.id, step.relation.column, step.target.id, step.relation.foreign)


def _key(model: Model, names: Names, others: frozenset[Words]) -> Column | None:
    """Return what others refer to a model by; a name is that only where it stands first."""
    if model.primary_key:
        return model.column(model.primary_key[0]) if len(model.primary_key) == 1 else None
    own = _spelled(names.table(model.table))
    columns = [(each, _spelled(names.column(model.id, each.name))) for each in model.columns]
    for word in _KEY_WORDS:
        for column, words in columns:
            if words[-1:] == (word,) and words[:-1] and own[-len(words) + 1 :] == words[:-1]:
                return column
    if bare := next((each for each, _ in columns if each.name.lower() in {"id", "uid"}), None):
        return bare
    ids = [(each, words) for each, words in columns if each.name.lower().endswith("id")]
    for column, words in ids:
        if words == ("id",) or column.name.lower() == f"{own[0][:1]}id":
            return column if len(ids) < len(columns) or len(ids) == 1 else None
    if not columns:
        return None
    first, words = columns[0]
    if any(words[at:-1] in others for at in range(len(words) - 1)) or (
        len(columns) > 1 and columns[1][0].name.lower().endswith("id")
    ):
        return None
    named = len(words) > 1 and words[-1] in {"name", "code"} and first.kind == "text"
    return first if named or first.name.lower().endswith("id") else None


def _names_itself(model: Model, key: Column, names: Names) -> bool:
    own = _spelled(names.table(model.table))
    words = _spelled(names.column(model.id, key.name))
    return words[: len(own)] == own or (len(own) == 1 and key.name.lower() == f"{own[0][:1]}id")


def _referring(
    model: Model, other: Model, key: Column, names: Names, own_key: Column | None
) -> list[Column]:
    """Return the columns that refer to another model's key: those named exactly, else by role."""
    target = _spelled(names.table(other.table))
    bare = key.name.lower() in {"id", "uid", "key", "code"}
    key_words = _spelled(names.column(other.id, key.name))
    exact, roles = [], []
    for column in model.columns:
        if column.kind != key.kind:
            continue
        words = _spelled(names.column(model.id, column.name))
        if not bare and column.name.lower() == key.name.lower():
            exact.append(column)
        elif column == own_key:
            continue
        elif words in {(*target, "id"), target, (*target, key_words[-1])}:
            exact.append(column)
        elif _is_role(words, key_words if len(key_words) > 1 else (*target, "id"), target):
            roles.append(column)
    return exact or roles


def _is_role(words: Words, key: Words, target: Words) -> bool:
    """Whether a column is the other's key in some role: ``citing_paper_id``, ``from_airport``."""
    for tail in (key, (*target, "id")):
        if len(words) > len(tail) and words[-len(tail) :] == tail:
            return True
    return len(words) == len(target) + 1 and words[0] in _ROLES and words[1:] == target


def _spelled(words: Words) -> Words:
    return tuple(ABBREVIATIONS.get(word, word) for word in words)
