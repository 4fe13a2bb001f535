"""Does what an exchange asks for: recalls, searches, calls the upstream."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from refdesk.errors import SearchError, WireError
from refdesk.gateway import exchange as x
from refdesk.gateway import history
from refdesk.gateway.log import Entry
from refdesk.ids import new_search_id
from refdesk.search.query import QueryResolver
from refdesk.types import ANONYMOUS, Caller, ResultItem, WebAnswer, WebQuery
from refdesk.wires.base import GatewaySearch, History, Source

RECALL_S: Final = 2.0
"""How long the store may take over earlier searches: without them the request goes on as well."""
_REMEMBERED: Final = 2048
"""Searches kept in memory: a client's next turn often comes before the store has them."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk")


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundSearch:
    """A search as it is kept for later turns and for click-through."""

    id: str
    request_id: str
    key_id: str | None
    query: str
    conversation: str
    answer: WebAnswer
    duration_s: float = 0.0
    error: str = ""
    """Why it gave nothing; it then stands for no conversation."""


class Searches(Protocol):
    """Where searches are kept beyond this process."""

    def keep(self, found: FoundSearch) -> None:
        """Keep one; never blocks."""

    async def by_id(self, ids: Sequence[str]) -> list[FoundSearch]:
        """Return those that are known."""

    async def by_conversation(self, conversation: str, key_id: str | None) -> FoundSearch | None:
        """Return the newest search of a conversation, of the same client key."""


class WebSearcher(Protocol):
    """One web search within bounds; SearchError, and no other, where it gives nothing."""

    async def search(
        self,
        query: WebQuery,
        *,
        engine: str | None = None,
        pages: int | None = None,
        caller: Caller = ANONYMOUS,
    ) -> WebAnswer: ...


class Reserved(Protocol):
    """A search that was counted before it began."""

    def give_back(self) -> None:
        """Uncount it: it failed."""


class Driver:
    """
    The searching half of the gateway; one for all requests.

    Args:
        web: Searches.
        searches: Where searches are kept.
        sealer: Seals and opens our marks.
        reserve: Counts a search of a client key before it begins; WireError beyond its limit.
        resolver: Returns who completes follow-ups that no rule can.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        *,
        web: WebSearcher,
        searches: Searches,
        sealer: history.Sealer,
        reserve: Callable[[str | None], Reserved],
        resolver: Callable[[], QueryResolver] = QueryResolver,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._web = web
        self._searches = searches
        self._sealer = sealer
        self._reserve = reserve
        self._resolver = resolver
        self._clock = clock
        self._by_id: OrderedDict[str, FoundSearch] = OrderedDict()
        self._by_conversation: OrderedDict[tuple[str, str | None], FoundSearch] = OrderedDict()

    def sealer_for(self, key_id: str | None) -> history.KeySealer:
        """Return what seals and opens marks for a client key."""
        return history.KeySealer(self._sealer, key_id)

    async def complete(self, command: x.Complete) -> x.Completed:
        """Have a follow-up completed; where that fails it stays as it was said, with a notice."""
        query = await self._resolver().query_from(command.turns, max_chars=command.max_chars)
        return x.Completed(query)

    async def search(
        self, command: x.Search, entry: Entry, caller: Caller
    ) -> x.SearchDone | x.SearchFailed:
        """Search on behalf of a caller, and keep what was found."""
        id_ = new_search_id()
        try:
            reserved = self._reserve(entry.key_id)
        except WireError as exc:
            return x.SearchFailed("engine_quota", str(exc))
        started = self._clock()
        try:
            answer = await self._web.search(
                command.query, engine=command.engine, pages=command.pages, caller=caller
            )
        except SearchError as exc:
            reserved.give_back()
            entry.queue_s = exc.queue_s
            self._keep(
                FoundSearch(
                    id=id_,
                    request_id=entry.request_id,
                    key_id=entry.key_id,
                    query=command.query.text,
                    conversation="",
                    answer=WebAnswer(engine=exc.attempts[-1].engine if exc.attempts else ""),
                    duration_s=self._clock() - started,
                    error=str(exc),
                ),
                entry,
            )
            return x.SearchFailed(
                exc.reason, str(exc), id=id_, notices=exc.notices, attempts=exc.attempts
            )
        except Exception as exc:
            # No engine and no peer can lead here; and if a fault of ours does, it blocks nothing.
            _log.exception("a search failed", request_id=entry.request_id)
            return x.SearchFailed(
                "engine_bad_response",
                f"{type(exc).__name__} in a search: a fault of Refdesk, please report it",
                id=id_,
            )
        finally:
            entry.search_s = self._clock() - started
        entry.queue_s = answer.queue_s
        found = FoundSearch(
            id=id_,
            request_id=entry.request_id,
            key_id=entry.key_id,
            query=command.query.text,
            conversation=conversation_hash(command.conversation),
            answer=answer,
            duration_s=entry.search_s,
        )
        self._remember(found)
        self._keep(found, entry)
        return x.SearchDone(id_, answer)

    async def recall(self, command: x.Recall, entry: Entry) -> x.Recalled:
        """Open what is sealed, and look up what is not: in memory, then in the store."""
        rows = history.open_rows(command.marks.tokens, self.sealer_for(entry.key_id))
        known = {id_: self._by_id[id_] for id_ in command.marks.ids if id_ in self._by_id}
        missing = [id_ for id_ in command.marks.ids if id_ not in known]
        hashed = conversation_hash(command.conversation) if command.conversation else ""
        found = self._by_conversation.get((hashed, entry.key_id)) if hashed else None
        try:
            async with asyncio.timeout(RECALL_S):
                if missing:
                    known |= {each.id: each for each in await self._searches.by_id(missing)}
                if hashed and found is None:
                    found = await self._searches.by_conversation(hashed, entry.key_id)
        except Exception:
            # What cannot be looked up is treated as what is not known.
            _log.exception("earlier searches were not found", request_id=entry.request_id)
        earlier = (found.id, found.answer) if found else None
        searches = {
            id_: GatewaySearch(id=id_, query=found.query, sources=_sources(found.answer.items))
            for id_, found in known.items()
            # An id opens for the key that made it; to others it is unknown.
            if found.key_id == entry.key_id
        }
        return x.Recalled(History(rows=rows, searches=searches), earlier)

    def _keep(self, found: FoundSearch, entry: Entry) -> None:
        if entry.incognito:
            return
        try:
            self._searches.keep(found)
        except Exception:
            _log.exception("a search was not kept", request_id=entry.request_id)

    def _remember(self, found: FoundSearch) -> None:
        self._by_id[found.id] = found
        self._by_conversation[found.conversation, found.key_id] = found
        for table in (self._by_id, self._by_conversation):
            while len(table) > _REMEMBERED:
                table.popitem(last=False)


def conversation_hash(prefix: bytes) -> str:
    """Return what stands for a conversation in memory and in the store."""
    return hashlib.blake2b(prefix, digest_size=16).hexdigest()


def _sources(items: Sequence[ResultItem]) -> tuple[Source, ...]:
    return tuple(
        Source(
            url=item.url,
            title=item.title,
            snippet=item.content[: history.MAX_SEALED_SNIPPET],
            published=item.published,
        )
        for item in items
    )
