"""
One searcher for the web, knowledge and databases.

No search raises: what went wrong is the ``error`` of its result, and its slot stays where it was.
Whatever is found is weighed by who asked, numbered once per request, and can be cited.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Unpack

from refdesk.clock import now
from refdesk.search._call import (
    CALL_OPTIONS,
    Call,
    CallOptions,
    Slot,
    failed,
    is_good,
    note_cancel,
    note_end,
    note_finish,
    read_call,
    read_slot,
)
from refdesk.search.context import write_context
from refdesk.search.delegate import Delegate
from refdesk.search.handler import Handler, HandlerTable, SearchContext
from refdesk.search.options import RequestLike
from refdesk.search.parallel import run_all, run_any, run_race
from refdesk.search.progress import read_locale
from refdesk.search.records import CallRecord, Mode, Recorder
from refdesk.search.references import (
    CitationIds,
    Merge,
    key_of,
    merged,
    numbered,
    reference_of,
)
from refdesk.search.source import SourceSearch, place_of
from refdesk.search.trace import STARTED, TraceNode
from refdesk.telemetry import spans
from refdesk.types import ReferenceContext, ResultItem, SearchResult
from refdesk.uses import SearchUses

if TYPE_CHECKING:
    from refdesk.config.library import LibrarySection

_NOT_KEPT: Final = "the search failed; what it said is not kept (privacy.store_queries)"
_REQUESTS_REMEMBERED: Final = 4096
"""How many requests' numberings are kept: far more than are ever under way at once."""

_log = logging.getLogger(__name__)


class Searcher:
    """
    Searches, alone or several at once, and makes references of what was found.

    Args:
        config: The section ``search``.
        handlers: Who does each type of search; more may be registered later.
        uses: Who does each step.
        delegates: Calls assistants and MCP tools.
        recorder: Keeps every call.
        merge: How items of several sources are put in one order.
        keep_queries: Whether traces and records may hold what was searched for.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        config: LibrarySection | None = None,
        *,
        handlers: HandlerTable | Iterable[Handler] = (),
        uses: SearchUses | None = None,
        delegates: Delegate | None = None,
        recorder: Recorder | None = None,
        merge: Merge = "rrf",
        keep_queries: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.handlers = handlers if isinstance(handlers, HandlerTable) else HandlerTable(handlers)
        self._recorder = recorder
        self._merge: Merge = merge
        self._keep_queries = keep_queries
        self._clock = clock
        self._delegates = delegates
        self._ids: OrderedDict[str, CitationIds] = OrderedDict()
        self._ids_lock = threading.Lock()
        self.configure(config or _default_config(), uses or SearchUses())

    @property
    def config(self) -> LibrarySection:
        """The configuration that holds now."""
        return self._config

    def configure(
        self, config: LibrarySection, uses: SearchUses, *, keep_queries: bool | None = None
    ) -> None:
        """
        Take in a new configuration; searches under way end under the old one.

        Args:
            config: The section ``search``.
            uses: What does each step.
            keep_queries: Whether traces and records may hold what was searched for; None: as
                before.
        """
        self._config = config
        if keep_queries is not None:
            self._keep_queries = keep_queries
        self._uses = uses
        self._source = SourceSearch(
            config,
            handlers=self.handlers,
            uses=uses,
            merge=self._merge,
        )

    async def web(self, query: str, **options: Any) -> SearchResult:
        """
        Search the web.

        Args:
            query: What to look for.
            options: Fields of `SearchRequest` for the web, and `CallOptions`.
        """
        return await self._of_type("web", query, options)

    async def kb(self, query: str, **options: Any) -> SearchResult:
        """Search in collections; see `web`."""
        return await self._of_type("kb", query, options)

    async def db(self, query: str, **options: Any) -> SearchResult:
        """Search in a database; see `web`."""
        return await self._of_type("db", query, options)

    async def search(self, request: RequestLike, **call: Unpack[CallOptions]) -> SearchResult:
        """Do one search."""
        results = await self._run("single", [request], call)
        assert results[0] is not None
        return results[0]

    async def all(
        self, requests: Iterable[RequestLike], **call: Unpack[CallOptions]
    ) -> list[SearchResult]:
        """Do all searches at once, and wait for all.  Results stand in the requests' order."""
        results = await self._run("all", list(requests), call)
        return [result for result in results if result is not None]

    async def any(
        self, requests: Iterable[RequestLike], **call: Unpack[CallOptions]
    ) -> list[SearchResult | None]:
        """
        Do all searches at once, and return at the first that found something without an error.

        What failed or found nothing before it stays in its slot; what was cancelled is None.
        """
        return await self._run("any", list(requests), call)

    async def race(
        self, requests: Iterable[RequestLike], **call: Unpack[CallOptions]
    ) -> list[SearchResult | None]:
        """Do all searches at once, and return at the first that ends, however it ends."""
        return await self._run("race", list(requests), call)

    def references(
        self,
        results: SearchResult | Iterable[SearchResult | None],
        *,
        request_id: str | None = None,
    ) -> ReferenceContext:
        """
        Make references of results: each source once, best first, numbered.

        Results of one request keep the numbers that they have.  Results of several requests are
        numbered anew, from 1, unless ``request_id`` says in whose numbering they are to be.
        """
        given = [results] if isinstance(results, SearchResult) else list(results)
        found = [result for result in given if result is not None]
        known = {result.request_id for result in found}
        if request_id is None and len(known) == 1:
            request_id = known.pop()
        return self._context(found, request_id)

    async def _of_type(self, kind: str, query: str, options: dict[str, Any]) -> SearchResult:
        call = {name: options.pop(name) for name in list(options) if name in CALL_OPTIONS}
        said = options.get("type", kind)
        error = "" if said == kind else f"this is a {kind} search, but its type is {said!r}"
        request = {**options, "query": query, "type": kind}
        results = await self._run("single", [request], call, error)
        assert results[0] is not None
        return results[0]

    async def _run(
        self,
        mode: Mode,
        requests: Sequence[RequestLike],
        options: Mapping[str, Any],
        error: str = "",
    ) -> list[SearchResult | None]:
        call = read_call(mode, options, self._clock)
        top_n = self._config.rerank.top_n
        slots = [
            read_slot(request, call, default_top_n=top_n, error=error or call.error)
            for request in requests
        ]
        if not slots:
            return []
        started, started_at = self._clock(), now()
        node = call.trace.node()
        with spans.span(
            spans.SEARCH, {spans.MODE: mode, spans.REQUEST_ID: call.request_id}
        ) as span:
            self._begin(node, slots)
            try:
                await call.progress.started()
                results = await self._results(slots, node, call)
            except BaseException:
                note_cancel(node)
                raise
            results = self._number(results, call.request_id)
            ended = [result for result in results if result is not None]
            count = len({item.index for result in ended for item in result.items})
            duration_ms = (self._clock() - started) * 1000
            note_finish(node, list(map(self._kept, ended)), count)
            span.set_attribute(spans.RESULTS, count)
        if self._recorder is not None and not call.incognito:
            record = CallRecord(
                request_id=call.request_id,
                mode=mode,
                results=tuple(map(self._kept, ended)),
                context=self._context(ended, call.request_id),
                config=self._source.settings(),
                owner=call.owner,
                started=started_at,
                duration_ms=duration_ms,
            )
            await _record(self._recorder, record, node)
        await call.progress.ended(results, count)
        return results

    async def _results(
        self, slots: Sequence[Slot], node: TraceNode, call: Call
    ) -> list[SearchResult | None]:
        source = self._source
        nodes = [node.child(slot.type) for slot in slots]

        def job(place: int) -> Coroutine[Any, Any, SearchResult]:
            return self._one(slots[place], source, nodes[place], call)

        def lost(place: int) -> SearchResult:
            return failed(slots[place], "the search was cancelled from within; try it again")

        jobs = [partial(job, place) for place in range(len(slots))]
        if call.mode == "any":
            return await run_any(jobs, is_good, lost=lost)
        if call.mode == "race":
            return await run_race(jobs, lost=lost)
        return [*await run_all(jobs, lost=lost)]

    async def _one(
        self, slot: Slot, source: SourceSearch, node: TraceNode, call: Call
    ) -> SearchResult:
        """Do one search of a call; it is always a result, unless cancelled."""
        node.start(type=slot.type, **self._told(slot.query))
        started = self._clock()
        attributes = {spans.TYPE: slot.type, spans.REQUEST_ID: call.request_id}
        with spans.span(spans.SEARCH_SOURCE, attributes) as span:
            try:
                result = await self._result(slot, source, node, call)
            except asyncio.CancelledError:
                node.cancel()
                raise
            duration_ms = (self._clock() - started) * 1000
            result = replace(
                result,
                duration_ms=duration_ms,
                total=len(result.items),
                request_id=call.request_id,
                notices=(*slot.notices, *result.notices),
            )
            span.set_attribute(spans.RESULTS, result.total)
            span.set_attribute(spans.FAILED, result.error is not None)
        note_end(node, self._kept(result))
        return result

    async def _result(
        self, slot: Slot, source: SourceSearch, node: TraceNode, call: Call
    ) -> SearchResult:
        if slot.request is None:
            return failed(slot, slot.error)
        context = SearchContext(
            request_id=call.request_id,
            locale=read_locale(call.locale),
            identity=slot.request.identity,
            owner=call.owner,
            progress=call.sender,
            trace=node,
            delegates=call.delegates or self._delegates,
            clock=self._clock,
        )
        return await source.search(slot.request, context)

    def _number(
        self, results: Sequence[SearchResult | None], request_id: str
    ) -> list[SearchResult | None]:
        """Number all items, the best of all results first; what is the same has one number."""
        ids = self._numbering(request_id)
        lists = [result.items for result in results if result is not None and result.items]
        for item in lists[0] if len(lists) == 1 else merged(lists, method=self._merge):
            ids.number(key_of(item))
        return [
            replace(result, items=tuple(numbered(item, ids) for item in result.items))
            if result is not None
            else None
            for result in results
        ]

    def _numbering(self, request_id: str) -> CitationIds:
        with self._ids_lock:
            ids = self._ids.setdefault(request_id, CitationIds())
            self._ids.move_to_end(request_id)
            if len(self._ids) > _REQUESTS_REMEMBERED:
                self._ids.popitem(last=False)
            return ids

    def _context(self, results: Sequence[SearchResult], request_id: str | None) -> ReferenceContext:
        ids = self._numbering(request_id) if request_id else CitationIds()
        lists = [tuple(map(self._weighed, result.items)) for result in results if result.items]
        items = [numbered(item, ids) for item in merged(lists, method=self._merge)]
        return write_context([reference_of(item) for item in items], self._config.citation)

    def _weighed(self, item: ResultItem) -> ResultItem:
        # What was made by hand, or by a search elsewhere, may have no weight yet.
        if item.weight > 0:
            return item
        return replace(item, weight=getattr(self._config.weights, item.source))

    def _begin(self, node: TraceNode, slots: Sequence[Slot]) -> None:
        types = list(dict.fromkeys(slot.type for slot in slots))
        told = self._told(slots[0].query)
        node.start(**told, types=types)
        node.log("info", STARTED, **told, types=types)

    def _told(self, query: str) -> dict[str, str]:
        return {"query": query} if self._keep_queries else {}

    def _kept(self, result: SearchResult) -> SearchResult:
        """Return a result as it may be kept: without the question, if that may not be."""
        if self._keep_queries:
            return result
        result = replace(result, query="", keywords=(), dsl=None)
        if result.type == "web":
            return result
        # What was not understood of a question stands in them, word for word.
        return replace(result, notices=(), error=result.error and _NOT_KEPT)


def _default_config() -> LibrarySection:
    # Imported where it is needed: whoever has a configuration has imported it already.
    from refdesk.config.library import LibrarySection

    return LibrarySection()


async def _record(recorder: Recorder, record: CallRecord, node: TraceNode) -> None:
    try:
        await recorder.record(record)
    except Exception as error:
        node.log("warn", "The search could not be recorded", error=type(error).__name__)
        _log.error("a search could not be recorded: %s", place_of(error))
