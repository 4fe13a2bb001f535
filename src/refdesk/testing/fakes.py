"""
Stand-ins at the seams: an engine, a fetcher, a clock, a handler of searches and a delegate that
do as they are told.

An answer is a value to return, an exception to raise, `HANG` to stay silent until cancelled, or an
`asyncio.Event` to wait for before the next answer in the queue is given.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, Generic, TypeVar

from refdesk.http import HttpRequest, HttpResponse
from refdesk.search.handler import SearchContext
from refdesk.types import (
    ResultItem,
    SearchRequest,
    SearchResult,
    SearchType,
    WebPage,
    WebQuery,
)
from refdesk.uses import Uses
from refdesk.web.engines import BaseEngine, LocalEngine

V = TypeVar("V")


class Hang:
    """The answer of a peer that never answers; see `HANG`."""


HANG: Final = Hang()


class FakeClock:
    """A monotonic clock that stands still until told; its ``sleep`` moves it on at once."""

    def __init__(self, start: float = 1000.0) -> None:
        self.now = start
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Move the clock on."""
        self.now += seconds

    async def sleep(self, seconds: float) -> None:
        """Move the clock on, letting others run, in place of waiting."""
        self.sleeps.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


class Script(Generic[V]):
    """
    A queue of answers, given out one by one.

    Args:
        answers: What to give; when it is used up, ``last`` is given again and again.
        last: By default the last of the answers.
    """

    def __init__(
        self,
        answers: Iterable[V | Exception | Hang | asyncio.Event],
        last: V | Exception | Hang | None = None,
    ) -> None:
        self.answers = deque(answers)
        self._last = last
        self.started = asyncio.Event()
        """Set whenever somebody has asked."""
        self.running = 0
        self.peak = 0
        """The most that were waiting for an answer at once."""
        self.cancelled = 0

    async def next(self) -> V:
        """Give the next answer."""
        self.running += 1
        self.peak = max(self.peak, self.running)
        self.started.set()
        try:
            await asyncio.sleep(0)  # as with any real peer, others get to run
            return await self._give()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1

    async def _give(self) -> V:
        while True:
            answer = self._take()
            if isinstance(answer, asyncio.Event):
                await answer.wait()
                continue
            if isinstance(answer, Hang):
                await asyncio.Event().wait()
            if isinstance(answer, Exception):
                raise answer
            return answer  # type: ignore[return-value]  # Hang has not come back

    def _take(self) -> V | Exception | Hang | asyncio.Event:
        if self.answers:
            answer = self.answers.popleft()
            if not self.answers and self._last is None and not isinstance(answer, asyncio.Event):
                self._last = answer
            return answer
        if self._last is None:
            raise AssertionError("a fake was asked more often than it has answers")
        return self._last


class FakeEngine(LocalEngine):
    """
    An engine with a queue of answers and a history of queries.

    Args:
        name: As in the configuration.
        answers: See the module; a list of items stands for a page of them.
        options: Its options, such as ``priority=5``.
    """

    def __init__(
        self,
        name: str = "fake",
        *answers: WebPage | Exception | Hang | asyncio.Event,
        **options: object,
    ) -> None:
        super().__init__(name, BaseEngine.Options.model_validate(options))
        self.script: Script[WebPage] = Script(answers or (WebPage(items=(item(),)),))
        self.queries: list[WebQuery] = []

    async def search(self, query: WebQuery, *, timeout_s: float) -> WebPage:
        """Give the next answer of the queue."""
        self.queries.append(query)
        return await self.script.next()


class FakeFetcher:
    """A fetcher with a queue of answers and a history of requests."""

    def __init__(self, *answers: HttpResponse | Exception | Hang | asyncio.Event) -> None:
        self.script: Script[HttpResponse] = Script(answers)
        self.requests: list[HttpRequest] = []
        self.limits: list[tuple[float, int]] = []
        """The time-out and the most bytes given with each request."""

    async def send(
        self, request: HttpRequest, *, timeout_s: float, max_bytes: int, public_only: bool
    ) -> HttpResponse:
        """Give the next answer of the queue."""
        self.requests.append(request)
        self.limits.append((timeout_s, max_bytes))
        return await self.script.next()


class FakeHandler:
    """
    A handler of one type of search, with a queue of answers and a history of requests.

    Args:
        type: What it searches.
        answers: See the module; a list of items stands for a result that has them.
    """

    def __init__(
        self,
        type: SearchType = "web",  # noqa: A002 - the word of the contract
        *answers: SearchResult | list[ResultItem] | Exception | Hang | asyncio.Event,
    ) -> None:
        self.type: SearchType = type
        found = [item(title=f"Found in {type}")]
        self.script: Script[SearchResult | list[ResultItem]] = Script(answers or (found,))
        self.requests: list[SearchRequest] = []
        self.contexts: list[SearchContext] = []

    async def search(self, request: SearchRequest, *, context: SearchContext) -> SearchResult:
        """Give the next answer of the queue."""
        self.requests.append(request)
        self.contexts.append(context)
        answer = await self.script.next()
        if isinstance(answer, SearchResult):
            return answer
        items = tuple(replace(each, type=self.type) for each in answer)
        return SearchResult(type=self.type, query=request.query, items=items)


class FakeDelegate:
    """An assistant or MCP tool with a queue of answers and a history of calls."""

    def __init__(self, *answers: Any) -> None:
        self.script: Script[Any] = Script(answers)
        self.calls: list[tuple[Uses, Mapping[str, Any]]] = []
        self.timeouts: list[float] = []

    async def call(self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float) -> Any:
        """Give the next answer of the queue."""
        self.calls.append((target, payload))
        self.timeouts.append(timeout_s)
        return await self.script.next()


def item(
    url: str = "https://example.com/", title: str = "Example", content: str = ""
) -> ResultItem:
    """Return a result item."""
    return ResultItem(title=title, url=url, content=content)


def page(*urls: str, more: bool = True, answer: str | None = None) -> WebPage:
    """Return a result page with these URLs."""
    return WebPage(items=tuple(item(url, url) for url in urls), more=more, answer=answer)
