"""What one search may read, and queries compiled, linted and described for just that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from refdesk.db.databases import Database
from refdesk.db.dsl import Condition, Diagnostic, Query, Statement
from refdesk.db.dsl.compile import compile as compile_query
from refdesk.db.dsl.lint import lint
from refdesk.db.dsl.types import Identity
from refdesk.db.permission import Permission
from refdesk.db.schema import ModelSet


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """What one search may read: models of one database, by whom, under which rules."""

    database: Database
    models: ModelSet
    """As they are; hidden columns and row rules are the permission's."""
    permission: Permission
    identity: Identity | None = None
    now: datetime | None = None
    """What counts as now, where a query says it."""

    @property
    def visible(self) -> ModelSet:
        """The models as the asker may know them."""
        return self.permission.visible(self.models)

    @property
    def tables(self) -> set[str]:
        """The tables that a statement for it may name, with their schemas."""
        # Rules may look into tables that the search itself may not.
        every = (*self.models, *self.permission.models)
        return {f"{each.schema}.{each.table}" if each.schema else each.table for each in every}


def compile_for(
    query: Query, scope: Scope, *, preset: Sequence[Condition] = (), limit_cap: int | None = None
) -> Statement:
    """Compile a query for what a search may read, its permission included."""
    database = scope.database
    return compile_query(
        query,
        scope.models,
        database.dialect,
        permission=scope.permission,
        identity=scope.identity,
        preset=tuple(preset),
        limit_cap=limit_cap or database.runner.bounds.rows,
        now=scope.now,
    )


def lint_for(document: Mapping[str, Any] | str, scope: Scope) -> list[Diagnostic]:
    """Return what is wrong with a query for what a search may read."""
    return lint(
        document,
        scope.models,
        permission=scope.permission,
        identity=scope.identity,
        dialect=scope.database.dialect,
        now=scope.now,
    )


def describe(models: ModelSet) -> list[Mapping[str, Any]]:
    """Return models as plain values: what may be asked about."""
    return [
        {
            "id": model.id,
            "table": f"{model.schema}.{model.table}" if model.schema else model.table,
            "label": model.label,
            "description": model.description,
            "columns": [
                {
                    "name": column.name,
                    "type": column.type,
                    "label": column.label,
                    "description": column.description,
                    "enum": list(column.enum),
                    "nullable": column.nullable,
                    "primary": column.primary,
                    "private": column.private,
                }
                for column in model.columns
            ],
            "relations": [
                {
                    "name": relation.name,
                    "model": relation.model,
                    "column": relation.column,
                    "foreign": relation.foreign,
                    "kind": relation.kind,
                }
                for relation in model.relations
            ],
        }
        for model in models
    ]
