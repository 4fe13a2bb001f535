"""
Where each type of search is done: a handler per type, found in a table of its searcher.

A handler may raise what it likes: whoever calls it makes an error field of it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from refdesk.errors import SearchError, UnknownName
from refdesk.search.delegate import Delegate
from refdesk.search.trace import Trace, TraceNode
from refdesk.types import (
    ANONYMOUS,
    Caller,
    Location,
    SearchRequest,
    SearchResult,
    SearchType,
    WebAnswer,
    WebQuery,
)

Message = Mapping[str, Any]
"""A progress message: ``{"type": "loading", "props": {"message": …, "done": …}}``."""

ProgressSender = Callable[[Message], Awaitable[object] | object]
"""Whoever is told how a search goes: a function, or a coroutine function."""

ROWS_PER_PAGE: Final = 10
MAX_WEB_LIMIT: Final = 100
"""Results of one web search; where more were wanted, a notice says so."""


def _no_node() -> TraceNode:
    return Trace().node("search_item")


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchContext:
    """What a handler may know and use besides the request."""

    request_id: str = ""
    locale: str = "en"
    identity: Mapping[str, Any] | None = None
    """Who asks: the claims that permissions are checked against."""
    owner: str | None = None
    """The id of the client key on whose account engines are asked; None without one."""
    progress: ProgressSender | None = None
    trace: TraceNode = field(default_factory=_no_node)
    """This search's node: handlers may log to it and give it children."""
    delegates: Delegate | None = None
    clock: Callable[[], float] = time.monotonic
    """A monotonic clock, in seconds."""


class Handler(Protocol):
    """
    Does searches of one type.

    The request it gets is complete: what the configuration decides is filled in.  It gives items
    with what they are; their worth and number are added by the searcher.
    """

    @property
    def type(self) -> SearchType:
        """The type of search that this handler does."""
        ...

    async def search(self, request: SearchRequest, *, context: SearchContext) -> SearchResult:
        """Do one search."""
        ...


class HandlerTable:
    """The handlers of one searcher, by type.  Registering a type again replaces its handler."""

    def __init__(self, handlers: Iterable[Handler] = ()) -> None:
        self._handlers: dict[str, Handler] = {}
        for handler in handlers:
            self.register(handler)

    def register(self, handler: Handler) -> None:
        """Let this handler do the searches of its type."""
        self._handlers[handler.type] = handler

    def get(self, type: str) -> Handler:  # noqa: A002 - the word of the contract
        """Return the handler of a type, or raise UnknownName, which lists the known types."""
        try:
            return self._handlers[type]
        except KeyError:
            raise UnknownName("search type", type, self._handlers) from None

    def types(self) -> list[str]:
        """Return the types that can be searched, sorted."""
        return sorted(self._handlers)


class WebSearching(Protocol):
    """A web search with engines behind it, such as `refdesk.web.handler.WebSearch`."""

    async def search(
        self,
        query: WebQuery,
        *,
        engine: str | None = None,
        pages: int | None = None,
        caller: Caller = ANONYMOUS,
    ) -> WebAnswer:
        """Search the web, or raise SearchError."""
        ...


class WebHandler:
    """
    Web search for the searcher.

    Args:
        web: Searches the web, or what the engine's name stands for.
    """

    type: SearchType = "web"

    def __init__(self, web: WebSearching) -> None:
        self._web = web

    async def search(self, request: SearchRequest, *, context: SearchContext) -> SearchResult:
        """Ask the engines; what they could not do is told in the result."""
        limit = request.limit or ROWS_PER_PAGE
        notices: tuple[str, ...] = ()
        if limit > MAX_WEB_LIMIT:
            notices = (f"a web search gives at most {MAX_WEB_LIMIT} results; {limit} were wanted",)
        try:
            answer = await self._web.search(
                _query_of(request),
                engine=request.engine,
                pages=_pages(limit),
                caller=Caller(key_id=context.owner, claims=context.identity or {}),
            )
        except SearchError as error:
            return _failed(request, error, notices)
        return SearchResult(
            type="web",
            query=request.query,
            source=request.source,
            items=answer.items[:limit],
            answer=answer.answer,
            engine=answer.engine or None,
            attempts=answer.attempts,
            notices=(*notices, *answer.notices),
        )


def _query_of(request: SearchRequest) -> WebQuery:
    country = request.country
    return WebQuery(
        text=request.query,
        sites=request.sites,
        blocked_sites=request.blocked_sites,
        time_range=request.time_range,
        language=request.language,
        location=Location(country=country) if country else None,
        safe=request.safe,
    )


def _pages(limit: int) -> int:
    return math.ceil(min(limit, MAX_WEB_LIMIT) / ROWS_PER_PAGE)


def _failed(request: SearchRequest, error: SearchError, notices: tuple[str, ...]) -> SearchResult:
    # An engine that was asked and found nothing did not fail.
    found_nothing = error.reason == "no_results" and bool(error.attempts)
    return SearchResult(
        type="web",
        query=request.query,
        source=request.source,
        error=None if found_nothing else str(error),
        reason=None if found_nothing else error.reason,
        engine=error.attempts[-1].engine if found_nothing else None,
        attempts=error.attempts,
        notices=(*notices, *error.notices, *((str(error),) if found_nothing else ())),
    )
