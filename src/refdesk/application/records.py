"""Between the gateway and the store: searches kept and found, finished requests written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import structlog

from refdesk.config import Config
from refdesk.errors import StoreError
from refdesk.gateway.driver import FoundSearch
from refdesk.gateway.log import Entry
from refdesk.records import MAX_KEPT_CHARS
from refdesk.search.references import reference_of
from refdesk.store import LedgerEntry, RequestRecord, SearchItem, SearchRecord, Store, Usage
from refdesk.types import ResultItem, WebAnswer

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk")


class GatewayRecords:
    """Between the gateway and the store: searches kept and found, finished requests written."""

    def __init__(self, store: Store, config: Config) -> None:
        self._store = store
        self.config = config

    def keep(self, found: FoundSearch) -> None:
        answer = found.answer
        if answer.cached:
            self._store.writer.offer(
                LedgerEntry(engine=answer.engine, usage=Usage(cache_hits=1), key_id=found.key_id)
            )
        self._store.writer.offer(
            SearchRecord(
                id=found.id,
                request_id=found.request_id,
                time=datetime.now(UTC),
                key_id=found.key_id,
                query=found.query if self.config.privacy.store_queries else None,
                engine=answer.engine,
                items=tuple(
                    SearchItem(
                        title=item.title,
                        url=item.url,
                        snippet=item.content,
                        published=item.published,
                        meta=reference_of(item).meta if item.type == "kb" else None,
                    )
                    for item in answer.items
                ),
                answer=answer.answer,
                conversation=found.conversation or None,
                duration_ms=_ms(found.duration_s),
                error=found.error or None,
            )
        )

    async def by_id(self, ids: Sequence[str]) -> list[FoundSearch]:
        try:
            records = await self._store.run(self._store.searches.get, ids)
        except StoreError as exc:
            _log.warning("earlier searches could not be looked up", error=str(exc))
            return []
        return [_found(record) for record in records.values()]

    async def by_conversation(self, conversation: str, key_id: str | None) -> FoundSearch | None:
        try:
            record = await self._store.run(
                self._store.searches.by_conversation, conversation, key_id
            )
        except StoreError as exc:
            _log.warning("an earlier search could not be looked up", error=str(exc))
            return None
        return _found(record) if record else None

    def take(self, entries: Sequence[Entry]) -> None:
        keep = self.config.privacy.store_queries
        records = [_request_record(entry, keep) for entry in entries if not entry.incognito]
        self._store.writer.offer_all(records)


def _found(record: SearchRecord) -> FoundSearch:
    items = tuple(
        ResultItem(
            title=item.title,
            url=item.url,
            content=item.snippet,
            published=item.published,
            type="web" if item.meta is None else "kb",
        )
        for item in record.items
    )
    return FoundSearch(
        id=record.id,
        request_id=record.request_id,
        key_id=record.key_id,
        query=record.query or "",
        conversation=record.conversation or "",
        answer=WebAnswer(items=items, answer=record.answer, engine=record.engine or ""),
    )


def _request_record(entry: Entry, store_queries: bool) -> RequestRecord:
    outcome = entry.outcome
    answer = outcome.answer
    return RequestRecord(
        id=entry.request_id,
        time=entry.time,
        wire=entry.wire,
        stream=entry.stream,
        client_request_id=entry.client_request_id,
        key_id=entry.key_id,
        model=entry.model[:200],
        upstream=entry.upstream,
        status=entry.status,
        route=entry.route,
        route_reason=outcome.rule or entry.route_why,
        route_source=entry.route_layer,
        search_header=outcome.header(),
        reason=outcome.reason,
        query=outcome.query if store_queries else None,
        engine=answer.engine if answer else None,
        results=len(answer.items) if answer else 0,
        cached=answer.cached if answer else False,
        notices=tuple(outcome.notices) + ((outcome.detail,) if outcome.detail else ()),
        attempts=outcome.attempts,
        queue_ms=_ms(entry.queue_s),
        search_ms=_ms(entry.search_s),
        first_byte_ms=_ms(entry.upstream_s),
        total_ms=_ms(entry.total_s),
        injected_chars=outcome.injected_chars,
        client_disconnected=entry.end == "client_disconnected",
        upstream_cut=entry.end == "upstream_cut",
        error=entry.error[:MAX_KEPT_CHARS] or None,
    )


def _ms(seconds: float) -> float | None:
    return round(seconds * 1000, 2) if seconds else None


def log_requests(entries: Sequence[Entry]) -> None:
    # What went well stands in the store; a line for each would cost more than passing it on.
    for entry in entries:
        outcome = entry.outcome
        if not (entry.error or entry.end or entry.status >= 400 or outcome.kind == "degraded"):
            continue
        _log.info(
            "request",
            request_id=entry.request_id,
            wire=entry.wire,
            model=entry.model[:100],
            upstream=entry.upstream,
            status=entry.status,
            search=outcome.header(),
            end=entry.end or None,
            error=entry.error[:300] or None,
            ms=_ms(entry.total_s),
            search_ms=_ms(entry.search_s),
            notices=len(outcome.notices),
        )
