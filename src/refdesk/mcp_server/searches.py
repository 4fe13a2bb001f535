"""What the tools do: searches and references, for whoever calls, taken down as all are."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from refdesk.gateway.host import Host
from refdesk.gateway.log import Entry, RequestLog
from refdesk.records import ReferenceBook
from refdesk.types import Caller, Reference, SearchResult, SearchType, WebAnswer

_CUT: Final = 499
"""How the log calls a request whose client has left."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """The HTTP request that carries a tool call."""

    request_id: str
    caller: Caller
    incognito: bool = False
    """Whether the client asked that nothing of it be kept (``x-refdesk-incognito``)."""


class Searches:
    """
    Searches for the tools.

    Args:
        host: The application.
        book: Opens references of earlier searches.
        log: Told of every search.
    """

    def __init__(self, host: Host, book: ReferenceBook, log: RequestLog) -> None:
        self._host = host
        self._book = book
        self._log = log

    def can(self, kind: SearchType) -> bool:
        """Whether there is anything to search of this type."""
        return kind in self._host.searcher.handlers.types()

    @property
    def chosen(self) -> tuple[str, ...]:
        """The collections that are searched where a call names none."""
        return self._host.searcher.config.kb.collections

    async def search(self, request: Mapping[str, Any], call: ToolCall) -> SearchResult:
        """
        Search.

        Raises:
            WireError: The key may do no more searches today (429).
        """
        request_id, key_id = call.request_id, call.caller.key_id
        reserved = self._host.reserve(key_id)
        entry = Entry(request_id=request_id, started=time.time(), wire="mcp", key_id=key_id)
        entry.incognito = call.incognito
        started = time.perf_counter()
        try:
            result = await self._host.searcher.search(
                request,
                request_id=request_id,
                owner=key_id,
                identity=call.caller.claims,
                incognito=call.incognito,
            )
            if result.error is not None:
                reserved.give_back()
            entry.status = 200
            _note(entry, result)
        except BaseException:
            # Only the client's leaving ends a search that way.
            entry.end, entry.status = "client_disconnected", _CUT
            raise
        finally:
            entry.search_s = entry.total_s = time.perf_counter() - started
            self._log.add(entry)
        return result

    async def reference(self, request_id: str, index: int, key_id: str | None) -> Reference:
        """
        Open a result of an earlier search.

        Raises:
            RefdeskError: There is none, it is somebody else's, or the store does not answer.
        """
        shared = not self._host.keys_required
        return await self._book.one(request_id, index, owner=key_id, shared=shared)


def _note(entry: Entry, result: SearchResult) -> None:
    outcome = entry.outcome
    outcome.query = result.query
    outcome.attempts = result.attempts
    outcome.notices = list(result.notices)
    if result.error is None:
        outcome.kind = "gateway"
        outcome.answer = WebAnswer(items=result.items, engine=result.engine or "")
    else:
        outcome.kind = "degraded"
        outcome.reason = result.reason or "engine_bad_response"  # type: ignore[assignment]
        outcome.detail = result.error
