"""
Between searches and the store: every call kept and counted, and its references opened again.

A reference belongs to whoever had the search done, and is opened for nobody else.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from refdesk.errors import NoSuchReference, NotYours
from refdesk.search.records import CallRecord
from refdesk.search.references import reference_of
from refdesk.store import SearchRecord, Store, Usage, numbered
from refdesk.types import Attempt, Reference, SearchResult
from refdesk.web.engines import BaseEngine

_NOT_KEPT: Final = "the search failed; what it said is not kept (privacy.store_queries)"
_MAX_ID_CHARS: Final = 200
"""Characters of a request's id that is looked up; a longer one is unknown (404)."""
MAX_KEPT_CHARS: Final = 4000
"""Characters of a question, or of an error message, in a record; the rest is cut off."""


class StoreRecorder:
    """
    Keeps calls of a searcher in a store.  Never waits for the database.

    Args:
        store: Where.
        keep_queries: Returns whether what was asked for may be kept.
    """

    def __init__(self, store: Store, *, keep_queries: Callable[[], bool] = lambda: True) -> None:
        self._store = store
        self._keep_queries = keep_queries

    async def record(self, record: CallRecord) -> None:
        """Keep a call: a record for each search, with the numbers its items were shown under."""
        for place, result in enumerate(record.results):
            self._store.writer.offer(self._row(record, result, first=place == 0))

    def _row(self, call: CallRecord, result: SearchResult, *, first: bool) -> SearchRecord:
        keep = self._keep_queries()
        # What was not understood stands in the error of a database search, word for word.
        error = result.error if keep or result.type == "web" or not result.error else _NOT_KEPT
        return SearchRecord(
            id=os.urandom(20).hex(),
            request_id=call.request_id,
            time=call.started,
            key_id=call.owner,
            query=result.query[:MAX_KEPT_CHARS] if keep else None,
            engine=result.engine,
            answer=result.answer,
            type=result.type,
            source=result.source,
            config=call.config,
            keywords=result.keywords if keep else (),
            entities=result.entities if keep else (),
            relations=result.relations if keep else (),
            dsl=result.dsl if keep else None,
            references=tuple(map(reference_of, result.items)),
            graph=result.graph_nodes,
            # The text is one for the whole call, so it is kept once.
            xml=call.context.xml if first else None,
            prompt=call.context.prompt if first else None,
            duration_ms=result.duration_ms,
            error=error[:MAX_KEPT_CHARS] if error else None,
        )


class ReferenceBook:
    """Opens references again, by the request that found them and their number."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def of_request(
        self, request_id: str, *, owner: str | None, shared: bool = False
    ) -> list[Reference]:
        """
        Return the references of a request, in the order of their numbers.

        Args:
            request_id: What ``x-request-id`` or a result said.
            owner: Who asks: the id of a client key.
            shared: Whether searches without a key are everybody's.

        Raises:
            NoSuchReference: The request is not known, or its records are gone.
            NotYours: It was done with another key.
            StoreError: The store does not answer.
        """
        records = await self._store.run(self._store.searches.by_request, request_id)
        if not records:
            raise NoSuchReference(
                f"no search of a request {request_id[:_MAX_ID_CHARS]!r} is kept; the id is in the "
                "answer's x-request-id, and records go after privacy.retention_days"
            )
        mine = [
            record
            for record in records
            if (shared if record.key_id is None else record.key_id == owner)
        ]
        if not mine:
            raise NotYours("this search was done with another client key; use that one")
        return numbered(mine)

    async def one(
        self, request_id: str, index: int, *, owner: str | None, shared: bool = False
    ) -> Reference:
        """Return one reference of a request; see `of_request`."""
        found = await self.of_request(request_id, owner=owner, shared=shared)
        for reference in found:
            if reference.index == index:
                return reference
        known = f"it has {len(found)}" if found else "it has none"
        raise NoSuchReference(f"the request has no reference with the number {index}; {known}")


def price_per_1000(engine: BaseEngine) -> float:
    """Return what 1,000 calls to an engine cost, in US dollars: as configured, else as listed."""
    configured = engine.options.price_per_1000
    return engine.list_price if configured is None else configured


def usage_of(attempt: Attempt, engine: BaseEngine | None) -> Usage:
    """Return what the ledger counts of an engine's attempt; one that is gone costs nothing."""
    price = price_per_1000(engine) / 1000 if engine else 0.0
    return Usage(
        searches=int(attempt.outcome in ("ok", "empty")),
        calls=attempt.calls,
        cost_usd=attempt.calls * price,
    )
