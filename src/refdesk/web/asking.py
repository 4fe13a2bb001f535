"""
One engine asked for one search: its pages, side by side or in turn, within a time.

At most ``width`` answers are in flight at once, however many calls the engine needs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from refdesk.clock import now
from refdesk.errors import EngineError, EngineTimeout
from refdesk.http import HttpRequest, HttpResponse
from refdesk.types import WebPage, WebQuery
from refdesk.web.engines import ENGINES, BaseEngine, Engine, LocalEngine
from refdesk.web.query import without_options
from refdesk.web.spacing import Spacing

CLEAN_UP_S: Final = 0.1
"""How long cancelled calls are waited for: a call that will not end must not hold up the answer."""
_NOT_BILLED: Final = frozenset({"unreachable", "blocked"})


class Fetcher(Protocol):
    """Does one HTTP exchange within bounds."""

    async def send(
        self, request: HttpRequest, *, timeout_s: float, max_bytes: int, public_only: bool
    ) -> HttpResponse:
        """Return the whole answer, whatever its status; EngineError, and no other, if none came."""
        ...


def engine_type(engine: BaseEngine) -> str:
    """Return what the configuration calls engines of this kind: ``serper``."""
    return ENGINES.name_of(type(engine)) or type(engine).__name__.lower()


class Asking:
    """
    One engine being asked.

    Args:
        engine: The engine.
        fetcher: For engines that are an HTTP exchange.
        spacing: Keeps calls apart, for engines that need it.
        limit_s: How long all of it may take.
        max_bytes: The largest body of one answer.
        width: The most calls in flight at once.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        engine: BaseEngine,
        *,
        fetcher: Fetcher,
        spacing: Spacing,
        limit_s: float,
        max_bytes: int,
        width: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._fetcher = fetcher
        self._spacing = spacing
        self._limit_s = limit_s
        self._max_bytes = max_bytes
        self._width = width
        self._clock = clock
        self._ends_at = clock() + limit_s
        self._pages: list[WebPage | EngineError | None] = []
        self.calls = 0
        """Calls that reached the vendor: what it bills.  Right at any time, also after an error."""
        self.refused_options = False
        """Whether the vendor refused the query's options, and was asked again without them."""

    async def pages(self, query: WebQuery, number: int) -> list[WebPage | EngineError]:
        """
        Return what each call gave, first page first; it is a page, and never missing.

        A later page may be an error instead: the first one is good without it.

        Raises:
            EngineError: The first page failed, or did not come in time.
        """
        try:
            return await self._attempt(query, number)
        except EngineError as error:
            plainer = without_options(query)
            if error.outcome != "unsupported_param" or plainer == query:
                raise
            # The vendor does not say which option it was; without any it may answer.
            self.refused_options = True
            return await self._attempt(plainer, number)

    async def _attempt(self, query: WebQuery, number: int) -> list[WebPage | EngineError]:
        plan = self._planned(query, number)
        self._pages = [None] * len(plan)
        try:
            async with asyncio.timeout(max(0.0, self.left_s())):
                await self._all(plan)
        except TimeoutError:
            pass  # what has come until now may do
        first, *others = self._pages
        if first is None:
            raise self._late()
        if isinstance(first, EngineError):
            raise first
        return [first, *(self._late() if page is None else page for page in others)]

    async def _all(self, plan: Sequence[WebQuery]) -> None:
        width = asyncio.Semaphore(self._width)

        async def page(number: int) -> None:
            async with width:
                await self._page(plan, number)

        async def in_turn() -> None:
            for number in range(len(plan)):
                await self._page(plan, number)
                if not self._goes_on(number):
                    break

        works = [in_turn()] if self._engine.min_interval_s > 0 else map(page, range(len(plan)))
        tasks = [asyncio.create_task(work) for work in works]
        try:
            await asyncio.wait(tasks[:1])
            if self._goes_on(0):
                await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=CLEAN_UP_S)
        for task in tasks:
            if task.done() and not task.cancelled():
                task.result()  # a fault of ours is not to be lost

    def _goes_on(self, number: int) -> bool:
        """Whether there is reason to want what comes after this page; drops the rest if not."""
        page = self._pages[number]
        if isinstance(page, WebPage) and page.items and page.more:
            return True
        del self._pages[number + 1 :]
        return False

    async def _page(self, plan: Sequence[WebQuery], number: int) -> None:
        pages = self._pages  # the attempt's own, also when it outlives its time
        try:
            outcome: WebPage | EngineError = await self._call(plan[number])
        except EngineError as error:
            outcome = error
        except TimeoutError:
            outcome = self._late()
        except Exception as error:  # a plugin's fault is an answer that did not parse
            outcome = self._failed(error)
        if number < len(pages):
            pages[number] = outcome

    async def _call(self, query: WebQuery) -> WebPage:
        engine = self._engine
        await self._spacing.turn(engine.name, engine.min_interval_s, within_s=self.left_s())
        if isinstance(engine, LocalEngine):
            self.calls += 1
            return await engine.search(query, timeout_s=self.left_s())
        if not isinstance(engine, Engine):
            raise TypeError(f"{type(engine).__name__} is neither an Engine nor a LocalEngine")
        request = engine.build_request(query)
        self.calls += 1
        try:
            response = await self._fetcher.send(
                request,
                timeout_s=self.left_s(),
                max_bytes=self._max_bytes,
                public_only=False,  # the operator wrote this address, and may mean an own network
            )
        except EngineError as error:
            if error.outcome in _NOT_BILLED:
                self.calls -= 1
            raise
        return engine.page(query, response)

    def _planned(self, query: WebQuery, number: int) -> list[WebQuery]:
        try:
            plan = self._engine.plan(query, number, today=now().date())
        except Exception as error:
            raise self._failed(error) from error
        if not plan:
            raise self._failed(ValueError())
        return plan

    def left_s(self) -> float:
        """Return how much of its time is left, in seconds."""
        return max(0.0, self._ends_at - self._clock())

    def _late(self) -> EngineTimeout:
        engine = self._engine
        return EngineTimeout(
            f"engine {engine.name!r} ({engine_type(engine)}) did not answer within "
            f"{self._limit_s:.3g} s"
        )

    def _failed(self, error: Exception) -> EngineError:
        # Only the class is named: an exception's text may hold the URL, and that the key.
        engine = self._engine
        failure = EngineError(
            f"engine {engine.name!r} ({engine_type(engine)}) failed with {type(error).__name__}: "
            "this is a fault of the engine's code, please report it",
            outcome="parse_error",
        )
        failure.__cause__ = error
        return failure
