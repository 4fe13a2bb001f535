"""
What an engine's name stands for: a web engine, a collection (``kb:NAME``) or a database
(``db:NAME``); and the search of it.

Every face resolves names here.  A private source answers, or the search is refused: its question
never goes to a web engine instead.  A name that is not known is refused, too, since it may be a
misspelt private one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final, Literal
from urllib.parse import quote

from refdesk.errors import EngineTimeout, RefdeskError, SearchError
from refdesk.search.delegate import Delegate
from refdesk.search.handler import (
    ROWS_PER_PAGE,
    HandlerTable,
    SearchContext,
    WebSearching,
)
from refdesk.search.source import place_of
from refdesk.types import (
    ANONYMOUS,
    Attempt,
    Caller,
    ResultItem,
    SearchRequest,
    SearchResult,
    WebAnswer,
    WebQuery,
    private_kind,
)

_API: Final = "/api/v1"
_SHOWN: Final = 80
_WHAT: Final = {"kb": "collection", "db": "database"}
_MISSING: Final = {
    "kb": "there are no collections here: no store is open and none is configured",
    "db": "no database is connected here; the operator adds one under databases",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What a name stands for."""

    kind: Literal["web", "kb", "db"]
    name: str | None
    """Of the engine, collection or database; None: the web engine of the configuration's choice."""


class UnknownSource(SearchError):
    """No engine, collection or database that can be asked here has the name."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="no_engine")


def resolve(name: str | None, engines: Collection[str], kinds: Collection[str]) -> Source:
    """
    Return what a name stands for.

    Args:
        name: An engine's name, ``kb:NAME`` or ``db:NAME``; None or empty: no choice was made.
        engines: The names of the web engines.
        kinds: The types of search that can be done here (``web``, ``kb``, ``db``).

    Raises:
        UnknownSource: No web engine has the name, or private sources of its kind cannot be asked.
    """
    if not name:
        return Source(kind="web", name=None)
    if name in engines:
        return Source(kind="web", name=name)
    kind = private_kind(name)
    if kind is None:
        known = ", ".join(engines) or "none"
        close = get_close_matches(name[:_SHOWN], list(engines), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UnknownSource(
            f"no engine is called {name[:_SHOWN]!r}; known: {known}{hint}.  A collection is named "
            "as kb:NAME, a database as db:NAME"
        )
    place = name.partition(":")[2].strip()
    if kind not in kinds:
        raise UnknownSource(f"{name[:_SHOWN]!r} cannot be asked: {_MISSING[kind]}")
    if not place:
        raise UnknownSource(f"{name[:_SHOWN]!r} names no {_WHAT[kind]}; write {kind}:NAME")
    return Source(kind=kind, name=place)


class SourceRouter:
    """
    Search the web, a collection or a database, as the engine's name says.

    Args:
        web: Searches the web.
        handlers: Searches collections and databases, where they can be searched.
        engines: Returns the names of the web engines.
        default: Returns the engine that is asked where none is named.
        base_url: Returns where this server is reached: rows and passages without a page of their
            own are opened there.  Empty: they are not opened.
        within_s: Returns how long a search may take, in seconds.
        pages: Returns how many pages of ten rows are looked at by default.
        delegates: Calls assistants and MCP tools.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        web: WebSearching,
        handlers: HandlerTable,
        *,
        engines: Callable[[], Collection[str]],
        default: Callable[[], str | None] = lambda: None,
        base_url: Callable[[], str] = lambda: "",
        within_s: Callable[[], float] = lambda: 15.0,
        pages: Callable[[], int] = lambda: 1,
        delegates: Delegate | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._web = web
        self._handlers = handlers
        self._engines = engines
        self._default = default
        self._base_url = base_url
        self._within_s = within_s
        self._pages = pages
        self._delegates = delegates
        self._clock = clock

    async def search(
        self,
        query: WebQuery,
        *,
        engine: str | None = None,
        pages: int | None = None,
        caller: Caller = ANONYMOUS,
    ) -> WebAnswer:
        """
        Search where the engine's name says.

        Args:
            query: What is looked for.
            engine: The name; None: the default's.
            pages: How many pages of ten rows.
            caller: Who asks: rows and passages are those that this caller may see.

        Raises:
            SearchError: Nothing was found, with the reason; `UnknownSource` where the name stands
                for nothing that can be asked here.
        """
        chosen = engine or self._default()
        source = resolve(chosen, self._engines(), self._handlers.types())
        if source.kind == "web":
            return await self._web.search(query, engine=source.name, pages=pages, caller=caller)
        assert source.name is not None
        if not query.text.strip():
            raise SearchError("the query is empty: there is nothing to ask for", reason="no_query")
        return await self._private(query, source.kind, source.name, pages, caller)

    async def _private(
        self,
        query: WebQuery,
        kind: Literal["kb", "db"],
        name: str,
        pages: int | None,
        caller: Caller,
    ) -> WebAnswer:
        engine = f"{kind}:{name}"
        started = self._clock()
        where: dict[str, Any] = {"collections": (name,)} if kind == "kb" else {"database": name}
        request = SearchRequest(
            query=query.text,
            type=kind,
            source="user" if kind == "kb" else "auto",
            limit=max(1, self._pages() if pages is None else pages) * ROWS_PER_PAGE,
            **where,
        )
        context = SearchContext(
            identity=caller.claims, owner=caller.key_id, delegates=self._delegates
        )
        error: SearchError | None = None
        result: SearchResult | None = None
        try:
            async with asyncio.timeout(self._within_s()):
                result = await self._handlers.get(kind).search(request, context=context)
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
        seconds = self._clock() - started
        notices: tuple[str, ...] = ()
        if result is not None:
            notices = result.notices
            if result.error is not None:
                error = SearchError(result.error, reason="engine_bad_response")
            elif not result.items:
                error = SearchError(f"{engine!r} has nothing on it", reason="no_results")
        if error is not None or result is None:
            assert error is not None
            error.attempts = (
                Attempt(engine=engine, outcome=_outcome(error, kind), duration_s=seconds),
            )
            error.notices = (*error.notices, *notices)
            raise error
        if query.sites or query.blocked_sites:
            what = "documents" if kind == "kb" else "rows"
            notices += (f"{engine!r} holds {what}, not sites: domains were not looked at",)
        return WebAnswer(
            items=tuple(self._opened(item, kind, name) for item in result.items),
            engine=engine,
            engine_type=kind,
            attempts=(Attempt(engine=engine, outcome="ok", duration_s=seconds),),
            notices=notices,
            duration_s=seconds,
        )

    def _opened(self, item: ResultItem, kind: str, name: str) -> ResultItem:
        """Return an item with an address that opens it, since a search block needs one."""
        base = self._base_url()
        if item.url or not base:
            return item
        if kind == "kb":
            chunk = item.metadata.get("chunk_id")
            if not isinstance(chunk, str) or item.collection is None:
                return item
            path = f"collections/{_quoted(item.collection)}/passages/{_quoted(chunk)}"
        elif item.record_id is not None and item.model:
            path = f"databases/{_quoted(name)}/records/{_quoted(item.model)}/" + _quoted(
                str(item.record_id)
            )
        else:
            path = f"databases/{_quoted(name)}?row={item.metadata.get('row', 1)}"
        return replace(item, url=f"{base}{_API}/{path}")


def _outcome(error: SearchError, kind: str) -> str:
    if isinstance(error, EngineTimeout):
        return "timeout"
    if error.reason == "no_results":
        return "empty"
    # A question that a database cannot answer is no fault of the database.
    return "parse_error" if kind == "db" else "upstream_down"


def _quoted(text: str) -> str:
    return quote(text, safe="")
