"""
One web search, within bounds.

Whoever calls may rely on: an answer or a SearchError within the budget and a quarter of a second;
at most ``concurrency × pages_per_query`` engine answers in memory at once; and, when the caller
is cancelled, no call, task or place in the limiter left behind.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from refdesk.errors import SearchError, UnknownName
from refdesk.types import ANONYMOUS, Attempt, Caller, WebAnswer, WebQuery, private_kind
from refdesk.web.asking import Fetcher
from refdesk.web.cache import Cache
from refdesk.web.chain import Chain, Failed
from refdesk.web.engines import BaseEngine
from refdesk.web.filters import Domains, read_domains
from refdesk.web.found import ROWS_PER_PAGE, Found, Question, found_bytes
from refdesk.web.health import Health
from refdesk.web.limiter import Limiter
from refdesk.web.query import normal_text
from refdesk.web.select import Choice, order
from refdesk.web.settings import SearchSettings
from refdesk.web.spacing import Spacing

__all__ = ["Fetcher", "Found", "SearchSettings", "WebSearch", "found_bytes"]

MAX_PAGES: Final = 10
"""Pages of results that one search asks for."""
_TEST_TIMEOUT_S: Final = 5.0
"""For an engine to answer a test."""
_TEST_QUERY: Final = WebQuery(text="Python programming language")
"""Every engine knows something about it, in every country."""

E = TypeVar("E", bound=SearchError)


class WebSearch:
    """
    Web search with all configured engines, for use within one event loop.

    Args:
        engines: By name, in the order of the configuration.
        fetcher: Does the HTTP exchanges of engines.
        limiter: Bounds concurrent searches.
        cache: Keeps what was found; made with ``size_of=found_bytes``.
        health: Knows which engines rest.
        settings: The bounds.
        spacing: Keeps calls to one engine apart; its own by default.
        clock: A monotonic clock, in seconds.
        on_call: Told once of every engine asked, also when the search failed or was cancelled:
            what a ledger counts.  It must not raise.
    """

    def __init__(
        self,
        engines: Mapping[str, BaseEngine],
        *,
        fetcher: Fetcher,
        limiter: Limiter,
        cache: Cache[Found],
        health: Health,
        settings: SearchSettings,
        spacing: Spacing | None = None,
        clock: Callable[[], float] = time.monotonic,
        on_call: Callable[[Attempt, str | None], None] | None = None,
    ) -> None:
        self.limiter = limiter
        self.cache = cache
        self.health = health
        self._clock = clock
        self._engines = dict(engines)
        self._editions: dict[str, int] = {}
        self._chain = Chain(
            fetcher=fetcher,
            limiter=limiter,
            cache=cache,
            health=health,
            spacing=spacing or Spacing(clock=clock),
            settings=settings,
            clock=clock,
            on_call=on_call,
            edition=lambda name: self._editions.get(name, 0),
        )
        self.health.configure(_daily_limits(engines))

    @property
    def engines(self) -> Mapping[str, BaseEngine]:
        """The engines, by name, in the order of the configuration."""
        return self._engines

    @property
    def settings(self) -> SearchSettings:
        """The bounds that hold now."""
        return self._chain.settings

    def reload(self, engines: Mapping[str, BaseEngine], settings: SearchSettings) -> None:
        """
        Take in a new configuration; searches under way end under the old one.

        The cache stays, less what came from engines whose settings are new.  Rests for a bad key
        end, and all rests of engines whose settings are new.
        """
        names = self._engines.keys() | engines.keys()
        changed = {name for name in names if not _same(self._engines.get(name), engines.get(name))}
        for name in changed:
            self._editions[name] = self._editions.get(name, 0) + 1
        self._engines = dict(engines)
        self._chain = replace(self._chain, settings=settings)
        self.health.configure(_daily_limits(engines), changed)
        self.cache.ttl_s = settings.cache_ttl_s
        self.limiter.configure(
            settings.concurrency,
            queue_timeout_s=settings.queue_timeout_ms / 1000,
            memory_limit_mb=settings.memory_limit_mb,
        )

    async def search(
        self,
        query: WebQuery,
        *,
        engine: str | None = None,
        pages: int | None = None,
        caller: Caller = ANONYMOUS,
    ) -> WebAnswer:
        """
        Search the web.

        Args:
            query: What is looked for; its ``limit`` and ``page`` are set here, by ``pages``.
            engine: The engine that the model or upstream names; asked first.
            pages: How many pages of ten rows, 10 at most; by default as the settings say.
            caller: On whose account the engines are asked.

        Returns:
            At least one item.  Whatever was degraded is told in the notices.

        Raises:
            SearchError: With the reason, and the attempts, notices and queue time until then.
        """
        started = self._clock()
        domains = read_domains(query.sites, query.blocked_sites)
        notices: tuple[str, ...] = domains.notices
        resting: tuple[Attempt, ...] = ()
        try:
            question = self._question(query, domains, pages)
            choice = self._choose(engine)
            notices += choice.notices
            resting = tuple(map(self._chain.resting, choice.resting))
            found = await self._find(question, choice, started, caller.key_id)
            if not found.items:
                raise _nothing(found)
        except SearchError as error:
            if error.reason == "engine_resting" and not error.attempts:
                resting = tuple(
                    self._chain.resting(name)
                    for name, each in self._engines.items()
                    if each.options.enabled
                )
            # A copy, since others may wait for the same search and get the same error.
            mine = _copied(error)
            mine.attempts = (*resting, *error.attempts)
            mine.notices = (*notices, *error.notices)
            raise mine from error.__cause__
        return WebAnswer(
            items=found.items,
            answer=found.answer,
            engine=found.engine,
            engine_type=found.engine_type,
            cached=found.cached,
            attempts=(*resting, *found.attempts),
            notices=(*notices, *found.notices),
            duration_s=self._clock() - started,
            queue_s=found.queue_s,
        )

    async def test(self, name: str) -> Attempt:
        """
        Ask one engine a real question, whether it rests, is disabled, or neither.

        Returns:
            How it went.  An engine found well rests no longer.

        Raises:
            UnknownName: No engine has this name.
            SearchShed: Too much is going on.
        """
        if name not in self._engines:
            raise UnknownName("engine", name, self._engines)
        async with self.limiter.place():
            try:
                _, attempt = await self._chain.ask(
                    self._engines[name], Question(query=_TEST_QUERY), within_s=_TEST_TIMEOUT_S
                )
            except Failed as failed:
                return failed.attempt
        self.health.forget(name)
        return attempt

    def _question(self, query: WebQuery, domains: Domains, pages: int | None) -> Question:
        text = normal_text(query.text)
        if not text:
            raise SearchError(
                "the query is empty: there is nothing to search for", reason="no_query"
            )
        if domains.allowed == ():
            raise SearchError(
                "none of the allowed domains can be read, so no result may be shown: "
                "write them as example.com",
                reason="no_results",
            )
        number = self.settings.pages_per_query if pages is None else pages
        return Question(
            query=replace(
                query,
                text=text,
                limit=ROWS_PER_PAGE,
                page=1,
                sites=tuple(dict.fromkeys(map(str, domains.allowed or ()))),
                # An engine told of part of a pattern would leave out too much.
                blocked_sites=tuple(str(site) for site in domains.blocked if "*" not in site.path),
            ),
            domains=domains,
            pages=min(max(1, number), MAX_PAGES),
        )

    def _choose(self, named: str | None) -> Choice:
        asked = named or self.settings.default_engine
        if asked is not None and asked not in self._engines and private_kind(asked) is not None:
            # Whoever comes here past the router: a private question is for no web engine.
            raise SearchError(
                f"{asked[:80]!r} is a private source, and the web is not asked in its place",
                reason="no_engine",
            )
        return order(
            self._engines,
            named=named,
            default=self.settings.default_engine,
            ready=self.health.ready,
            back_in_s=self.health.back_in_s,
        )

    async def _find(
        self, question: Question, choice: Choice, started: float, account: str | None
    ) -> Found:
        """Return what is kept, or else what the one search for it under way brings."""
        chain = self._chain
        first = choice.engines[0].name
        key = question.key(first, chain.edition(first))
        if (kept := self.cache.look(key)) is not None:
            return replace(kept, cached=True)
        deadline = started + chain.settings.budget_ms / 1000
        found, joined = await self.cache.share(
            key, lambda: chain.run(question, choice.engines, deadline, account)
        )
        if not joined:
            return found
        # The calls are on the account of the search that was joined.
        attempts = tuple(replace(attempt, calls=0) for attempt in found.attempts)
        return replace(found, cached=True, attempts=attempts)


def _nothing(found: Found) -> SearchError:
    who = f"engine {found.engine!r} ({found.engine_type})"
    if found.rows:
        message = f"{who} found {found.rows} rows, none of them a web page on the allowed domains"
    else:
        message = f"{who} found nothing"
    error = SearchError(message, reason="no_results")
    error.attempts, error.notices = found.attempts, found.notices
    error.queue_s = found.queue_s
    return error


def _copied(error: E) -> E:
    copy = type(error).__new__(type(error), *error.args)
    copy.__dict__.update(error.__dict__)
    return copy


def _same(old: BaseEngine | None, new: BaseEngine | None) -> bool:
    return (
        old is not None
        and new is not None
        and type(old) is type(new)
        and old.options == new.options
    )


def _daily_limits(engines: Mapping[str, BaseEngine]) -> dict[str, int | None]:
    return {name: engine.options.daily_limit for name, engine in engines.items()}
