"""
Values that columns have, so that a question which names one is understood.

Only what the asker may see is looked at, a bounded part of each table, and never a column that is
private or hidden.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from refdesk.db.connector import POOLED
from refdesk.db.dsl import Field, Query, Selected, Source
from refdesk.db.dsl.compile import compile as compile_query
from refdesk.db.dsl.types import Identity
from refdesk.db.execute import ExecutionFailed, Runner
from refdesk.db.gate import Refused, write
from refdesk.db.permission import Permission
from refdesk.db.schema import Column, Model, ModelSet

MAX_ROWS: Final = 500
"""Rows of a table that are looked at."""
MAX_VALUES: Final = 100
"""Values of a column that are kept."""
MAX_CHARS: Final = 80
"""Longer values are texts, not names of something."""
KEPT_S: Final = 300.0
_KEPT: Final = 256

Sampled = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Values by model id and column name."""


class Samples:
    """
    Samples of one database.

    Args:
        runner: Reads it.
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, runner: Runner, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._runner = runner
        self._clock = clock
        self._kept: OrderedDict[tuple[str, str], tuple[float, Mapping[str, tuple[str, ...]]]]
        self._kept = OrderedDict()
        self._turns = asyncio.Semaphore(POOLED)

    async def of(
        self, models: ModelSet, permission: Permission, identity: Identity | None
    ) -> Sampled:
        """Return values of the models' text columns; a table that gives none is left out."""
        asker = json.dumps(identity, sort_keys=True, default=str)

        async def look(model: Model) -> Mapping[str, tuple[str, ...]]:
            # Where nothing depends on who asks, all see the same.
            key = (model.id, asker if permission.asks_who(model.id) else "")
            kept = self._kept.get(key)
            if kept is None or self._clock() - kept[0] > KEPT_S:
                async with self._turns:
                    found = await self._read(model, models, permission, identity)
                kept = (self._clock(), found)
                self._kept[key] = kept
                if len(self._kept) > max(_KEPT, len(models)):
                    self._kept.popitem(last=False)
            return kept[1]

        found = await asyncio.gather(*(look(model) for model in models))
        return {model.id: each for model, each in zip(models, found, strict=True) if each}

    async def _read(
        self, model: Model, models: ModelSet, permission: Permission, identity: Identity | None
    ) -> Mapping[str, tuple[str, ...]]:
        hidden = permission.hidden(model.id)
        columns = [each for each in model.columns if _sampled(each, hidden)]
        if not columns:
            return {}
        query = Query(
            source=Source(name=f"${model.id}"),
            select=tuple(
                Selected(value=Field(name=column.name), alias=f"c{place}")
                for place, column in enumerate(columns)
            ),
            limit=MAX_ROWS,
        )
        try:
            statement = compile_query(
                query,
                models,
                self._runner.dialect,
                permission=permission,
                identity=identity,
                limit_cap=MAX_ROWS,
            )
            rows = (await self._runner.run(write(statement, self._runner.dialect))).rows
        except (ExecutionFailed, Refused):
            return {}  # a question is understood without them, only less often
        return {
            column.name: values
            for place, column in enumerate(columns)
            if (values := _values(row.get(f"c{place}") for row in rows))
        }


def _sampled(column: Column, hidden: frozenset[str]) -> bool:
    return (
        column.kind == "text"
        and not column.private
        and not column.enum
        and column.name.lower() not in hidden
    )


def _values(cells: Any) -> tuple[str, ...]:
    seen: dict[str, None] = {}
    for cell in cells:
        if isinstance(cell, str) and 0 < len(cell.strip()) <= MAX_CHARS:
            seen[cell] = None
        if len(seen) == MAX_VALUES:
            break
    return tuple(seen)
