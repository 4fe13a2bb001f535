"""
The library for code that does not await: the same desk, on an event loop in a thread of its own.

Calls may come from any thread.  A progress receiver is called in the loop's thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, Unpack

from refdesk.errors import RefdeskError

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.search import CallOptions, Searcher
    from refdesk.search.options import RequestLike
    from refdesk.types import Reference, ReferenceContext, SearchResult

T = TypeVar("T")

_NOT_OPEN: Final = "the desk is not open; use it inside `with Refdesk.open_sync(…) as desk:`"


class Desk(Protocol):
    """The desk behind a synchronous one: `refdesk.Refdesk`."""

    config: Config

    @property
    def search(self) -> Searcher: ...
    def references(
        self, request_id: str, *, owner: str | None = None
    ) -> Coroutine[Any, Any, list[Reference]]: ...
    def reference(
        self, request_id: str, index: int, *, owner: str | None = None
    ) -> Coroutine[Any, Any, Reference]: ...
    def __aenter__(self) -> Coroutine[Any, Any, Any]: ...
    def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> Coroutine[Any, Any, None]: ...


class SyncRefdesk:
    """
    A desk whose calls wait for their result; see `refdesk.Refdesk`.

        with Refdesk.open_sync("refdesk.yaml") as desk:
            result = desk.search.web("who maintains httpx2", limit=5)
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.search = SyncSearcher(self)
        """The searches: ``web``, ``kb``, ``db``, ``all``, ``any``, ``race``, ``references``."""

    @property
    def config(self) -> Config:
        """The configuration."""
        return self._desk.config

    def references(self, request_id: str, *, owner: str | None = None) -> list[Reference]:
        """Return the references of an earlier request; see `refdesk.Refdesk.references`."""
        return self.wait(self._desk.references(request_id, owner=owner))

    def reference(self, request_id: str, index: int, *, owner: str | None = None) -> Reference:
        """Return one reference of an earlier request; see `refdesk.Refdesk.references`."""
        return self.wait(self._desk.reference(request_id, index, owner=owner))

    def __enter__(self) -> SyncRefdesk:
        if self._loop is not None:
            raise RefdeskError("the desk is open already; open another one")
        loop = asyncio.new_event_loop()
        self._loop = loop
        self._thread = threading.Thread(target=loop.run_forever, name="refdesk-desk", daemon=True)
        self._thread.start()
        try:
            self.wait(self._desk.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._loop is None:
            return
        try:
            self.wait(self._desk.__aexit__(None, None, None))
        finally:
            self._stop()

    def wait(self, call: Coroutine[Any, Any, T]) -> T:
        """Run a call on the desk's loop and return what it gives; interrupted, it is cancelled."""
        if self._loop is None:
            call.close()
            raise RefdeskError(_NOT_OPEN)
        if threading.current_thread() is self._thread:
            call.close()
            raise RefdeskError(
                "a call that waits was made in the desk's own thread, such as in a progress "
                "receiver, and would wait for ever; make it in another thread"
            )
        future = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    @property
    def desk(self) -> Desk:
        """The desk behind it, which belongs to the loop; RefdeskError while it is not open."""
        if self._loop is None:
            raise RefdeskError(_NOT_OPEN)
        return self._desk

    def _stop(self) -> None:
        loop, thread, self._loop = self._loop, self._thread, None
        if loop is None or thread is None:
            return
        try:
            asyncio.run_coroutine_threadsafe(_settle(loop), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


class SyncSearcher:
    """The searches of a desk, each of which waits; see `refdesk.search.Searcher`."""

    def __init__(self, owner: SyncRefdesk) -> None:
        self._owner = owner

    def web(self, query: str, **options: Any) -> SearchResult:
        """Search the web."""
        return self._owner.wait(self._owner.desk.search.web(query, **options))

    def kb(self, query: str, **options: Any) -> SearchResult:
        """Search in collections."""
        return self._owner.wait(self._owner.desk.search.kb(query, **options))

    def db(self, query: str, **options: Any) -> SearchResult:
        """Search in a database."""
        return self._owner.wait(self._owner.desk.search.db(query, **options))

    def search(self, request: RequestLike, **call: Unpack[CallOptions]) -> SearchResult:
        """Do one search."""
        return self._owner.wait(self._owner.desk.search.search(request, **call))

    def all(
        self, requests: Iterable[RequestLike], **call: Unpack[CallOptions]
    ) -> list[SearchResult]:
        """Do all searches at once, and wait for all."""
        return self._owner.wait(self._owner.desk.search.all(requests, **call))

    def any(
        self, requests: Iterable[RequestLike], **call: Unpack[CallOptions]
    ) -> list[SearchResult | None]:
        """Do all searches at once, and return at the first that found something."""
        return self._owner.wait(self._owner.desk.search.any(requests, **call))

    def race(
        self, requests: Iterable[RequestLike], **call: Unpack[CallOptions]
    ) -> list[SearchResult | None]:
        """Do all searches at once, and return at the first that ends."""
        return self._owner.wait(self._owner.desk.search.race(requests, **call))

    def references(
        self,
        results: SearchResult | Iterable[SearchResult | None],
        *,
        request_id: str | None = None,
    ) -> ReferenceContext:
        """Make references of results."""
        return self._owner.desk.search.references(results, request_id=request_id)


async def _settle(loop: asyncio.AbstractEventLoop) -> None:
    """Let what is left on a loop end."""
    tasks = [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
