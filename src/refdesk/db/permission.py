"""
Who may see what: row rules and hidden columns, per model.

A rule is written as QueryDSL conditions; ``{user.…}`` in it is a claim of the asker's identity.
A rule that names a claim which the identity lacks, or which cannot stand where it is named, yields
no rows.  The compiler applies rules to every occurrence of a model, so that no query can leave
them out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Final

from refdesk.db.dsl.expressions import BIGGEST, encodes
from refdesk.db.dsl.parse import parse_conditions
from refdesk.db.dsl.types import (
    Claim,
    Comparison,
    Condition,
    Constant,
    Field,
    Identity,
    QueryError,
    SubQuery,
)
from refdesk.db.schema import ModelSet
from refdesk.errors import ConfigError, UnknownName

_KEPT: Final = 64
"""Choices of models whose visible form is kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRule:
    """The rules of one model."""

    rows: tuple[Condition, ...] = ()
    """Each holds of every row that may be seen."""
    hidden: frozenset[str] = frozenset()
    """Lower-case names of columns that never leave, not even in conditions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Permission:
    """The rules of a database, by model id.  A model without a rule is readable by everyone."""

    rules: Mapping[str, ModelRule] = field(default_factory=dict)
    models: ModelSet = field(default_factory=ModelSet)
    """All models, which a rule's own sub-queries may read whole, whatever the asker's ceiling."""
    _visible: dict[tuple[str, ...], tuple[ModelSet, ModelSet]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def hidden(self, model_id: str) -> frozenset[str]:
        """Return the hidden columns of a model, in lower case."""
        rule = self.rules.get(model_id)
        return rule.hidden if rule else frozenset()

    def asks_who(self, model_id: str) -> bool:
        """Tell whether what is seen of a model depends on who asks."""
        rule = self.rules.get(model_id)
        return rule is not None and bool(rule.rows)

    def rows(self, model_id: str, identity: Identity | None) -> tuple[Condition, ...] | None:
        """Return what holds of every visible row, with the claims filled in; None: no row is."""
        rule = self.rules.get(model_id)
        if rule is None:
            return ()
        try:
            return tuple(_filled(each, identity or {}) for each in rule.rows)
        except _Lacking:
            return None

    def visible(self, models: ModelSet) -> ModelSet:
        """
        Return the models as the asker may know them: without their hidden columns.

        For the same models it is the same object, so that what is worked out of it can be kept.
        """
        kept = self._visible.get(models.ids)
        if kept is None or kept[0] != models:
            if len(self._visible) >= _KEPT:
                self._visible.clear()
            kept = self._visible[models.ids] = (models, self._shown(models))
        return kept[1]

    def _shown(self, models: ModelSet) -> ModelSet:
        shown = [model.without(self.hidden(model.id)) for model in models]
        return ModelSet(
            tuple(
                replace(
                    model,
                    rows=(),
                    hidden=(),
                    relations=tuple(
                        each
                        for each in model.relations
                        if each.foreign.lower() not in self.hidden(each.model)
                    ),
                )
                for model in shown
            )
        )


def read_permission(configured: Mapping[str, Any], models: ModelSet) -> Permission:
    """
    Read the rules of a database.

    Args:
        configured: ``{model: {rows, hidden}}``, mappings or objects; by a model's id, or by a
            table's name for all models of it.
        models: All models of the database, which may have rules of their own; both hold.

    Raises:
        ConfigError: A rule names a model or column that is not there, or is no condition.
    """
    rules: dict[str, ModelRule] = {}
    for model in models:
        if model.rows or model.hidden:
            rules[model.id] = _rule(model.id, model.rows, model.hidden, models)
    for name, section in configured.items():
        rows, hidden = _member(section, "rows"), _member(section, "hidden")
        for model_id in _named(name, models):
            rule = _rule(model_id, rows, hidden, models)
            before = rules.get(model_id, ModelRule())
            rules[model_id] = ModelRule(
                rows=before.rows + rule.rows, hidden=before.hidden | rule.hidden
            )
    return Permission(rules=rules, models=models)


def _named(name: str, models: ModelSet) -> list[str]:
    """Return the ids of the models that a rule is for: one by its id, or all of a table."""
    if models.get(name) is not None:
        return [name]
    known = models.find(name)
    if known is None:
        raise UnknownName("model", name, models.ids)
    table = (known.schema, known.table)
    return [each.id for each in models if (each.schema, each.table) == table]


def _member(section: Any, name: str) -> tuple[Any, ...]:
    value = section.get(name) if isinstance(section, Mapping) else getattr(section, name, None)
    return tuple(value or ())


def _rule(
    model_id: str, rows: tuple[Any, ...], hidden: tuple[Any, ...], models: ModelSet
) -> ModelRule:
    model = models.get(model_id)
    assert model is not None
    for name in hidden:
        if not isinstance(name, str) or model.column(name) is None:
            raise UnknownName(
                f"column of {model_id}", str(name), (each.name for each in model.columns)
            )
    try:
        conditions = parse_conditions(list(rows), claims=True)
    except QueryError as exc:
        raise ConfigError(f"the row rule of model {model_id!r} cannot be read: {exc}") from None
    for field_ in _fields(conditions):
        if model.column(field_.name) is None:
            raise UnknownName(
                f"column of {model_id}", field_.name, (each.name for each in model.columns)
            )
    if any(each.either for each in conditions):
        raise ConfigError(
            f"the row rules of model {model_id!r} are joined by AND, and one has 'or'; put the "
            "alternatives into one group: {wheres: [...]}"
        )
    return ModelRule(rows=conditions, hidden=frozenset(name.lower() for name in hidden))


def _fields(part: Any) -> list[Field]:
    """Return the columns that a rule names, but for those in its sub-queries."""
    if isinstance(part, Field):
        return [part]
    if isinstance(part, tuple):
        return [each for one in part for each in _fields(one)]
    if is_dataclass(part) and not isinstance(part, SubQuery | type):
        return [each for one in fields(part) for each in _fields(getattr(part, one.name))]
    return []


class _Lacking(Exception):
    """The identity lacks a claim that a rule names."""


def _filled(part: Any, identity: Identity) -> Any:
    """Return a part of a rule with the claims filled in, in its sub-queries too."""
    if isinstance(part, Claim):
        return _constant(_claimed(part, identity))
    if isinstance(part, Comparison) and isinstance(part.right, Claim) and "in" in part.op.split():
        part = _among(part, part.right, identity)
    if isinstance(part, tuple):
        return tuple(_filled(each, identity) for each in part)
    if is_dataclass(part) and not isinstance(part, type):
        return replace(
            part,
            **{each.name: _filled(getattr(part, each.name), identity) for each in fields(part)},
        )
    return part


def _among(condition: Comparison, claim: Claim, identity: Identity) -> Comparison:
    value = _claimed(claim, identity)
    values = value if isinstance(value, list | tuple | set | frozenset) else (value,)
    return replace(condition, right=tuple(_constant(each) for each in values))


def _constant(value: Any) -> Constant:
    """Return a claim as a value that a database can hold, or raise _Lacking."""
    match value:
        case str() if "\0" not in value and encodes(value):
            return Constant(value=value, claimed=True)
        case int() if abs(value) <= BIGGEST:
            return Constant(value=value, claimed=True)
        case float() if math.isfinite(value):
            return Constant(value=value, claimed=True)
    raise _Lacking


def _claimed(claim: Claim, identity: Identity) -> Any:
    value: Any = identity
    for step in claim.path:
        if not isinstance(value, Mapping) or value.get(step) is None:
            raise _Lacking
        value = value[step]
    return value
