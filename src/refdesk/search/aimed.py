"""
A web search that names a collection: answered from the house's own documents.

So any client's "web search" can be one: a model's engine is then ``kb:<collection>``.  Such a
search never goes on to the web, and a search of the web never comes here by itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from refdesk.errors import EngineTimeout, RefdeskError, SearchError
from refdesk.search.handler import ROWS_PER_PAGE, Handler, SearchContext, WebSearching
from refdesk.search.source import place_of
from refdesk.types import Attempt, ResultItem, SearchRequest, WebAnswer, WebQuery

PREFIX: Final = "kb:"
ENGINE_TYPE: Final = "kb"
_PATH: Final = "/api/v1/collections"


class AimedSearch:
    """
    Web search, or search in a collection where the engine's name says so.

    Args:
        web: Searches the web.
        kb: Searches collections.
        default: Returns the engine that is asked where none is named.
        identity: Returns the claims of whoever asks now.
        base_url: Returns where this server is reached: passages without a page of their own are
            opened there.
        within_s: Returns how long a search may take.
        pages: Returns how many pages of ten are looked at by default.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        web: WebSearching,
        kb: Handler,
        *,
        default: Callable[[], str | None],
        identity: Callable[[], Mapping[str, Any] | None] = lambda: None,
        base_url: Callable[[], str] = lambda: "",
        within_s: Callable[[], float] = lambda: 15.0,
        pages: Callable[[], int] = lambda: 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._web = web
        self._kb = kb
        self._default = default
        self._identity = identity
        self._base_url = base_url
        self._within_s = within_s
        self._pages = pages
        self._clock = clock

    async def search(
        self, query: WebQuery, *, engine: str | None = None, pages: int | None = None
    ) -> WebAnswer:
        """Search where the engine's name says; see `refdesk.web.handler.WebSearch.search`."""
        chosen = engine or self._default() or ""
        if not chosen.startswith(PREFIX):
            return await self._web.search(query, engine=engine, pages=pages)
        return await self._collection(query, chosen, pages)

    async def _collection(self, query: WebQuery, engine: str, pages: int | None) -> WebAnswer:
        started = self._clock()
        request = SearchRequest(
            query=query.text,
            type="kb",
            source="user",
            collections=(engine.removeprefix(PREFIX),),
            limit=(self._pages() if pages is None else pages) * ROWS_PER_PAGE,
            identity=self._identity(),
        )
        context = SearchContext(identity=request.identity)
        error: SearchError | None = None
        try:
            async with asyncio.timeout(self._within_s()):
                result = await self._kb.search(request, context=context)
        except TimeoutError:
            error = EngineTimeout(
                f"{engine!r} took longer than {self._within_s():g} s; raise"
                " gateway.search.budget_ms"
            )
        except SearchError as exc:
            error = exc
        except RefdeskError as exc:
            error = SearchError(str(exc), reason="engine_bad_response")
        except Exception as exc:
            # Its message may hold what was searched for; where it happened is enough.
            error = SearchError(
                f"the search in {engine!r} failed: {place_of(exc)}", reason="engine_bad_response"
            )
        else:
            if result.error is not None:
                error = SearchError(result.error, reason="engine_bad_response")
            elif not result.items:
                error = SearchError(f"{engine!r} has nothing on it", reason="no_results")
        seconds = self._clock() - started
        if error is not None:
            outcome = "empty" if error.reason == "no_results" else "upstream_down"
            error.attempts = (Attempt(engine=engine, outcome=outcome, duration_s=seconds),)
            raise error
        notices = list(result.notices)
        if query.sites or query.blocked_sites:
            notices.append(f"{engine!r} holds documents, not sites: domains were not looked at")
        return WebAnswer(
            items=tuple(self._opened(item) for item in result.items),
            engine=engine,
            engine_type=ENGINE_TYPE,
            attempts=(Attempt(engine=engine, outcome="ok", duration_s=seconds),),
            notices=tuple(notices),
            duration_s=seconds,
        )

    def _opened(self, item: ResultItem) -> ResultItem:
        """Return an item with an address that opens it, since a search block needs one."""
        if item.url:
            return item
        base, chunk = self._base_url(), item.metadata.get("chunk_id")
        if not base or not isinstance(chunk, str) or item.collection is None:
            return item
        where = f"{quote(item.collection, safe='')}/passages/{quote(chunk, safe='')}"
        return replace(item, url=f"{base}{_PATH}/{where}")
