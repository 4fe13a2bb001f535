"""One search of one source: who does it, with what, and what its items are worth."""

from __future__ import annotations

import logging
import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from refdesk.cleaning import visible, visible_lines
from refdesk.errors import RefdeskError
from refdesk.search.delegate import Delegate, is_at_work
from refdesk.search.delegated import search_by_delegate
from refdesk.search.handler import HandlerTable, SearchContext
from refdesk.search.references import Merge, citation_id, unique
from refdesk.search.rerank import Reranker
from refdesk.telemetry import spans
from refdesk.types import ResultItem, SearchRequest, SearchResult, private_kind
from refdesk.uses import SearchUses, Uses

if TYPE_CHECKING:
    from refdesk.config.library import LibrarySection
    from refdesk.search.keywords import Extracted

_KB_LIMIT: Final = 10

_log = logging.getLogger(__name__)


class SourceSearch:
    """
    Does single searches under one configuration.

    Args:
        config: The section ``search``.
        handlers: Who does each type of search.
        uses: Who does each step.
        merge: How the builtin rerank orders.
    """

    def __init__(
        self,
        config: LibrarySection,
        *,
        handlers: HandlerTable,
        uses: SearchUses,
        merge: Merge,
    ) -> None:
        self._config = config
        self._handlers = handlers
        self._uses = uses
        self._merge: Merge = merge

    async def search(self, request: SearchRequest, context: SearchContext) -> SearchResult:
        """
        Search, and return the items weighed, each once, and reranked where that was asked for.

        Whatever goes wrong is the result's error.
        """
        request = self._complete(request)
        try:
            result = await self._find(request, context)
        except RefdeskError as error:
            return self._failed(request, str(error))
        except Exception as error:
            # Its message may hold anything, also what was searched for: only its kind is told.
            kind = type(error).__name__
            _log.error("a %s search failed: %s", request.type, place_of(error))
            return self._failed(request, f"the {request.type} search failed with {kind}")
        if result.error is not None:
            return replace(
                result, type=request.type, query=request.query, source=request.source, items=()
            )
        return await self._weighed(request, result, context)

    def settings(self) -> dict[str, Any]:
        """Return what of the configuration has a say, without keys."""
        kept = self._config.model_dump(
            mode="json", include={"web", "kb", "db", "rerank", "weights"}, exclude_none=True
        )
        steps = ("search", "web", "keyword", "querydsl", "rerank")
        return {"uses": {step: str(getattr(self._uses, step)) for step in steps}, **kept}

    async def _find(self, request: SearchRequest, context: SearchContext) -> SearchResult:
        uses = self._uses
        if uses.search.kind == "disabled" and request.source == "auto":
            return SearchResult(
                type=request.type,
                query=request.query,
                notices=("automatic search is switched off (uses.search: disabled)",),
            )
        # A delegate that searches is served by the sources, or it would be asked by itself.
        # A source that was named answers itself: its question is for nobody else.
        named = request.engine is not None and private_kind(request.engine) is not None
        delegates = context.delegates
        if uses.search.delegated and not named and not is_at_work(delegates, uses.search):
            return await self._delegate(uses.search, request, delegates)
        extracted, asked = None, request
        if request.keywords and request.type == "web":
            extracted = await self._extract(request.query, delegates)
            asked = replace(request, query=extracted.query or request.query)
            context.trace.log("debug", "Keywords extracted", count=len(extracted.keywords))
        by_tool = request.type == "web" and uses.web.delegated and not named
        if by_tool and not is_at_work(delegates, uses.web):
            found = await self._delegate(uses.web, asked, delegates)
        else:
            found = await self._handlers.get(request.type).search(asked, context=context)
        if extracted is None:
            return found
        return replace(
            found,
            keywords=extracted.keywords,
            notices=(*extracted.notices, *found.notices),
        )

    async def _extract(self, text: str, delegates: Delegate | None) -> Extracted:
        # Imported where it is used: its tables are large, and most searches need none of it.
        from refdesk.search.keywords import KeywordExtractor

        keywords = KeywordExtractor(self._uses.keyword, delegates, self._config.keyword)
        return await keywords.extract(text)

    async def _delegate(
        self, target: Uses, request: SearchRequest, delegates: Delegate | None
    ) -> SearchResult:
        with spans.span(spans.SEARCH_DELEGATE, {spans.TARGET: str(target)}):
            return await search_by_delegate(target, request, delegates)

    async def _weighed(
        self, request: SearchRequest, result: SearchResult, context: SearchContext
    ) -> SearchResult:
        weight = getattr(self._config.weights, request.source)
        items = [
            replace(
                item,
                title=visible(item.title),
                # Passages and rows stay as they are: their offsets count in them.
                content=visible_lines(item.content) if request.type == "web" else item.content,
                type=request.type,
                source=request.source,
                weight=weight,
                scores=item.scores or _scores(item),
            )
            for item in result.items
        ]
        items = unique(items)[: request.limit]
        notices = result.notices
        if request.rerank_top_n is not None and items:
            with spans.span(spans.SEARCH_RERANK, {spans.TARGET: str(self._uses.rerank)}):
                reranker = Reranker(self._uses.rerank, context.delegates, method=self._merge)
                reranked = await reranker.rerank(
                    # By their place, for as long as they have no number of their own.
                    request.query,
                    [
                        replace(item, citation_id=citation_id(place))
                        for place, item in enumerate(items, start=1)
                    ],
                    top_n=request.rerank_top_n,
                )
            items = list(reranked.items)
            notices += reranked.notices
            context.trace.log("debug", "Reranked", count=len(items))
        return replace(
            result,
            type=request.type,
            query=request.query,
            source=request.source,
            items=tuple(items),
            total=len(items),
            notices=notices,
        )

    def _complete(self, request: SearchRequest) -> SearchRequest:
        """Fill in what the configuration decides where the request does not."""
        config = self._config
        limits = {"web": config.web.max_results, "kb": _KB_LIMIT, "db": config.db.max_results}
        unset: dict[str, Any] = {"limit": limits.get(request.type)}
        if request.type == "web":
            unset["engine"] = config.web.engine
        elif request.type == "kb":
            unset["collections"] = config.kb.collections
            unset["threshold"] = config.kb.threshold
            unset["graph"] = config.kb.graph
        elif request.type == "db":
            unset["models"] = config.db.models or None
        changes = {name: value for name, value in unset.items() if getattr(request, name) is None}
        return replace(request, defaults=frozenset(changes), **changes)

    def _failed(self, request: SearchRequest, error: str) -> SearchResult:
        return SearchResult(
            type=request.type, query=request.query, source=request.source, error=error
        )


def place_of(error: BaseException) -> str:
    """Return where and with what kind of exception something failed, fit for a log."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return type(error).__name__ + where


def _scores(item: ResultItem) -> dict[str, float]:
    return {} if item.score is None else {"source": item.score}
