"""
Engine after engine, inside one budget, until one answers.

The next engine is asked when one errs or takes too long, never because it found nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from refdesk.errors import EngineError, SearchError, SearchShed
from refdesk.types import Attempt
from refdesk.web.asking import Asking, Fetcher, engine_type
from refdesk.web.cache import Cache
from refdesk.web.engines import BaseEngine
from refdesk.web.filters import clean
from refdesk.web.found import Found, Question, merged
from refdesk.web.health import Health
from refdesk.web.limiter import Limiter
from refdesk.web.settings import SearchSettings
from refdesk.web.spacing import Crowded, Spacing

SLACK_S: Final = 0.02
"""An engine whose limit ends this close to the budget's end had its own time."""
_DETAIL_CHARS: Final = 200
_PLAIN_SPOKEN: Final = frozenset({"bad_key", "no_credit", "rate_limited"})
"""What a vendor says in so many words holds, also when only a later page was refused."""


class Failed(Exception):
    """One engine gave no answer; ``short`` if the budget left it less than its own time."""

    def __init__(self, error: EngineError, attempt: Attempt, *, short: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.attempt = attempt
        self.short = short


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    """One search's way through the engines; the parts are shared by all searches."""

    fetcher: Fetcher
    limiter: Limiter
    cache: Cache[Found]
    health: Health
    spacing: Spacing
    settings: SearchSettings
    clock: Callable[[], float]
    on_call: Callable[[Attempt, str | None], None] | None
    edition: Callable[[str], int]
    """How often an engine's settings have changed."""

    async def run(
        self,
        question: Question,
        engines: Sequence[BaseEngine],
        deadline: float,
        account: str | None = None,
    ) -> Found:
        """
        Hold a place in the limiter, and return what the first engine that answers gives.

        Calls are counted on the account of a client key's id.

        Raises:
            SearchError: None did; with the attempts and the queue time.
        """
        attempts: list[Attempt] = []
        queued = 0.0
        began = self.clock()
        try:
            async with self.limiter.place(within_s=deadline - self.clock()) as queued:
                found = await self._first(question, engines, deadline, attempts, account)
        except SearchShed as shed:
            shed.queue_s = self.clock() - began  # for nothing
            raise
        except SearchError as error:
            error.attempts, error.queue_s = tuple(attempts), queued
            raise
        fell_back = tuple(
            f"engine {attempt.engine!r} gave no answer ({attempt.outcome}); "
            f"{found.engine!r} was asked instead"
            for attempt in attempts[:-1]
        )
        return replace(
            found,
            attempts=tuple(attempts),
            notices=(*fell_back, *found.notices),
            queue_s=queued,
        )

    async def ask(
        self,
        engine: BaseEngine,
        question: Question,
        *,
        within_s: float,
        account: str | None = None,
    ) -> tuple[Found, Attempt]:
        """
        Ask one engine, for no longer than this or its own limit, and note its health.

        Raises:
            Failed: In place of every EngineError.
        """
        own = (engine.options.timeout_ms or self.settings.engine_timeout_ms) / 1000
        started = self.clock()
        kind = engine_type(engine)
        asking = Asking(
            engine,
            fetcher=self.fetcher,
            spacing=self.spacing,
            limit_s=min(own, within_s),
            max_bytes=self.settings.max_response_bytes,
            width=self.settings.pages_per_query,
            clock=self.clock,
        )

        def attempt(outcome: str, detail: str = "") -> Attempt:
            done = Attempt(
                engine=engine.name,
                outcome=outcome,
                calls=asking.calls,
                duration_s=self.clock() - started,
                detail=clean(detail)[:_DETAIL_CHARS],
            )
            if self.on_call is not None:
                self.on_call(done, account)
            return done

        try:
            pages = await asking.pages(question.query, question.pages)
        except EngineError as error:
            late = error.outcome == "timeout"
            short = late and own > within_s + SLACK_S and asking.left_s() <= SLACK_S
            # It is not the engine's fault if it had less than its time, or was never asked.
            if not (short or isinstance(error, Crowded) or (late and not asking.calls)):
                self.health.record(engine.name, error.outcome, retry_after_s=error.retry_after_s)
            raise Failed(error, attempt(error.outcome, str(error)), short=short) from error
        except asyncio.CancelledError:
            attempt("cancelled")
            raise
        found = merged(pages, question, engine, kind, refused_options=asking.refused_options)
        outcome = "ok" if found.rows else "empty"
        self.health.record(engine.name, outcome)
        for page in pages:
            if (
                isinstance(page, EngineError)
                and page.outcome in _PLAIN_SPOKEN
                and not isinstance(page, Crowded)
            ):
                self.health.record(engine.name, page.outcome, retry_after_s=page.retry_after_s)
        return found, attempt(outcome, found.detail)

    def resting(self, name: str) -> Attempt:
        """Return the attempt that an engine's rest stands for."""
        condition = self.health.condition(name)
        back = self.health.back_in_s(name)
        when = "until the configuration changes" if back is None else f"for {max(1, round(back))} s"
        return Attempt(engine=name, outcome="resting", detail=f"rests {when} ({condition.reason})")

    async def _first(
        self,
        question: Question,
        engines: Sequence[BaseEngine],
        deadline: float,
        attempts: list[Attempt],
        account: str | None,
    ) -> Found:
        failure: SearchError | None = None
        for engine in engines:
            if not self.health.ready(engine.name):
                attempts.append(self.resting(engine.name))  # it was ready when this search began
                continue
            key = question.key(engine.name, self.edition(engine.name))
            if (kept := self.cache.look(key)) is not None:
                attempts.append(Attempt(engine=engine.name, outcome="ok", detail="from the cache"))
                return replace(kept, cached=True)
            left = deadline - self.clock()
            if left <= SLACK_S:
                raise self._out_of_time()
            try:
                found, attempt = await self.ask(engine, question, within_s=left, account=account)
            except Failed as failed:
                attempts.append(failed.attempt)
                failure = self._out_of_time() if failed.short else failed.error
                continue
            attempts.append(attempt)
            self.cache.keep(key, found, brief=found.partial or not found.items)
            return found
        raise failure or SearchError(
            "every engine went to rest while this search waited: see `refdesk engines list`",
            reason="engine_resting",
        )

    def _out_of_time(self) -> SearchError:
        return SearchError(
            f"the search's budget of {self.settings.budget_ms} ms ran out before an engine "
            "answered: raise gateway.search.budget_ms, or lower engine_timeout_ms",
            reason="budget_exceeded",
        )
