"""One web search within bounds: choice, fallback, pages, cache, cancellation, ceilings."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from recorded import recording
from refdesk.errors import (
    EngineError,
    EngineTimeout,
    Outcome,
    SearchError,
    SearchShed,
    UnknownName,
)
from refdesk.http import HttpRequest, HttpResponse
from refdesk.testing.fakes import HANG, FakeClock, FakeEngine, FakeFetcher, Hang, item, page
from refdesk.types import Attempt, Location, WebPage, WebQuery
from refdesk.web.cache import Cache
from refdesk.web.engines import ENGINES, BaseEngine, Engine, Option
from refdesk.web.handler import Found, SearchSettings, WebSearch, found_bytes
from refdesk.web.health import Health
from refdesk.web.limiter import Limiter
from refdesk.web.spacing import Spacing

A, B, C = "https://a.com/", "https://b.com/", "https://c.com/"


def fault(outcome: Outcome, retry_after_s: float | None = None) -> EngineError:
    return EngineError(f"it was {outcome}", outcome=outcome, retry_after_s=retry_after_s)


class Desk:
    """A WebSearch with its parts in reach."""

    def __init__(
        self,
        *engines: BaseEngine,
        size: int = 64,
        queue_timeout_s: float = 60,
        memory_limit_mb: int | None = None,
        fetcher: FakeFetcher | None = None,
        clock: Callable[[], float] = time.monotonic,
        spacing: Spacing | None = None,
        used_today: Callable[[str], int] | None = None,
        **settings: Any,
    ) -> None:
        self.calls: list[Attempt] = []
        self.limiter = Limiter(
            size,
            queue_timeout_s=queue_timeout_s,
            memory_limit_mb=memory_limit_mb,
            resident=lambda: 2**40,
        )
        self.settings = SearchSettings(**{"pages_per_query": 1, **settings})
        self.cache: Cache[Found] = Cache(ttl_s=self.settings.cache_ttl_s, size_of=found_bytes)
        self.health = Health(
            used_today=used_today, now=lambda: datetime(2026, 3, 15, 12, tzinfo=UTC)
        )
        self.web = WebSearch(
            {engine.name: engine for engine in engines},
            fetcher=fetcher or FakeFetcher(),
            limiter=self.limiter,
            cache=self.cache,
            health=self.health,
            settings=self.settings,
            spacing=spacing,
            clock=clock,
            on_call=lambda attempt, _: self.calls.append(attempt),
        )

    async def failure(self, query: WebQuery | str = "q", **how: Any) -> SearchError:
        """Search, and return the error it must end in."""
        with pytest.raises(SearchError) as caught:
            await self.search(query, **how)
        return caught.value

    async def search(self, query: WebQuery | str = "q", **how: Any) -> Any:
        asked = WebQuery(text=query) if isinstance(query, str) else query
        return await self.web.search(asked, **how)

    def whole(self) -> bool:
        """Whether nothing is left of any search."""
        return (
            self.limiter.counts.running == self.limiter.counts.waiting == 0
            and self.cache.counts.flights == 0
            and asyncio.all_tasks() == {asyncio.current_task()}
        )


@pytest.fixture(autouse=True)
async def _nothing_left() -> AsyncIterator[None]:
    """No test leaves a task behind, whatever happened in it."""
    yield
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


def outcomes(attempts: tuple[Attempt, ...] | list[Attempt]) -> list[tuple[str, str, int]]:
    return [(attempt.engine, attempt.outcome, attempt.calls) for attempt in attempts]


# An answer


async def test_an_answer() -> None:
    """The results in the engine's order, who gave them, what it took, the vendor's words."""
    engine = FakeEngine("main", page(A, B, answer=" 42 "))
    desk = Desk(engine)
    answer = await desk.search("  what \n is it ")
    assert [row.url for row in answer.items] == [A, B]
    assert (answer.engine, answer.engine_type, answer.answer) == ("main", "fakeengine", "42")
    assert outcomes(answer.attempts) == [("main", "ok", 1)]
    assert (answer.cached, answer.notices, answer.queue_s) == (False, (), 0)
    assert engine.queries[0].text == "what is it"
    assert desk.calls == list(answer.attempts)
    assert desk.whole()


@pytest.mark.parametrize("text", ["", " \n", "\x00\ufeff"])
async def test_no_query(text: str) -> None:
    """An empty query asks nobody."""
    engine = FakeEngine("main")
    assert (await Desk(engine).failure(text)).reason == "no_query"
    assert engine.queries == []


async def test_no_engine() -> None:
    """Without an engine the reason says so."""
    assert (await Desk().failure()).reason == "no_engine"


async def test_nothing_found_is_no_reason_to_fall_back() -> None:
    """Zero hits end the search, even with a vendor's answer: the next engine is not asked."""
    first = FakeEngine("main", WebPage(answer="words"), priority=2)
    second = FakeEngine("own")
    desk = Desk(first, second)
    error = await desk.failure()
    assert error.reason == "no_results"
    assert outcomes(error.attempts) == [("main", "empty", 1)]
    assert second.queries == []
    assert desk.health.ready("main")


async def test_a_message_never_holds_the_query() -> None:
    """Queries may be private: what goes to logs does not repeat them."""
    error = await Desk(FakeEngine("main", WebPage())).failure("my secret illness")
    assert "illness" not in str(error) + repr(error.attempts)


# Options that bind


async def test_domains_bind_whatever_the_engine_does() -> None:
    """Allowed and blocked domains hold for results of an engine that knows no such option."""
    rows = page("https://nih.gov/1", "https://sub.nih.gov/2", "https://webmd.com/3")
    desk = Desk(FakeEngine("main", rows))
    answer = await desk.search(WebQuery(text="q", sites=("nih.gov",)))
    assert [row.url for row in answer.items] == ["https://nih.gov/1", "https://sub.nih.gov/2"]
    answer = await desk.search(WebQuery(text="q", blocked_sites=("sub.nih.gov", "webmd.com")))
    assert [row.url for row in answer.items] == ["https://nih.gov/1"]
    assert answer.notices == ()


async def test_engines_get_domains_they_understand() -> None:
    """The engine is told plain domains; a blocked pattern is not, since a part would block more."""
    engine = FakeEngine("main", page("https://a.com/x/1"))
    answer = await Desk(engine).search(
        WebQuery(
            text="q", sites=("HTTPS://A.com/*/y", "a.com"), blocked_sites=("b.com/*/x", "c.com")
        )
    )
    assert engine.queries[0].sites == ("a.com",)
    assert engine.queries[0].blocked_sites == ("c.com",)
    assert "was read as" in answer.notices[0]


async def test_nothing_left_by_the_filters() -> None:
    """Rows that are all on other domains are no results, and the error says why."""
    error = await Desk(FakeEngine("main", page(A, B))).failure(WebQuery(text="q", sites=("c.com",)))
    assert error.reason == "no_results"
    assert "2 rows, none of them a web page on the allowed domains" in str(error)
    assert outcomes(error.attempts) == [("main", "ok", 1)]


async def test_a_limit_that_cannot_be_read_is_not_lifted() -> None:
    """If no allowed domain makes sense, nothing may be shown, and nobody is asked."""
    engine = FakeEngine("main")
    error = await Desk(engine).failure(WebQuery(text="q", sites=("*",)))
    assert error.reason == "no_results"
    assert "is no domain" in error.notices[0]
    assert engine.queries == []


async def test_what_an_engine_cannot_honour_is_told() -> None:
    """An option that neither the engine nor a filter honours is a notice, from the cache too."""
    desk = Desk(FakeEngine("main"))
    query = WebQuery(text="q", time_range="week", location=Location(country="DE"))
    for _ in range(2):
        assert (await desk.search(query)).notices == (
            "engine 'main' (fakeengine) cannot limit by time range",
            "engine 'main' (fakeengine) cannot take the user's country into account",
        )


@pytest.mark.parametrize(
    ("place", "honours", "told"),
    [
        (Location(country="DE", city="Ulm"), {"country"}, "country into account, and not the city"),
        (Location(country="DE", city="Ulm"), set(), "cannot take the user's country into"),
        (Location(region="BW"), {"country"}, "cannot take the user's city or region into"),
    ],
)
async def test_a_place_finer_than_a_country_is_told(
    place: Location, honours: set[Option], told: str
) -> None:
    """Engines take a country at most: that the city or region did not count is one notice."""
    engine = FakeEngine("main")
    engine.honours = frozenset(honours)
    (notice,) = (await Desk(engine).search(WebQuery(text="q", location=place))).notices
    assert told in notice


async def test_refused_options_are_left_away_once() -> None:
    """An engine that refuses an option is asked once more without any; domains stay."""
    engine = FakeEngine("main", fault("unsupported_param"), page(A))
    engine.honours = frozenset({"language"})
    answer = await Desk(engine).search(WebQuery(text="q", language="zh", sites=("a.com",)))
    assert [(query.language, query.sites) for query in engine.queries] == [
        ("zh", ("a.com",)),
        (None, ("a.com",)),
    ]
    assert outcomes(answer.attempts) == [("main", "ok", 2)]
    assert answer.notices == ("engine 'main' (fakeengine) cannot choose a language",)


async def test_a_refusal_without_options_is_final() -> None:
    """With nothing to leave away there is no second try."""
    engine = FakeEngine("main", fault("unsupported_param"))
    assert (await Desk(engine).failure()).reason == "engine_http_error"
    assert len(engine.queries) == 1


# Pages


async def test_pages_are_merged() -> None:
    """Both pages are asked at once, merged in order, each URL once, and cut to what was asked."""
    many = page(*(f"https://a.com/{n}" for n in range(30)))
    engine = FakeEngine("main", page(A, B), page(B, C))
    answer = await Desk(engine, pages_per_query=2).search()
    assert [row.url for row in answer.items] == [A, B, C]
    assert [query.page for query in engine.queries] == [1, 2]
    assert engine.script.peak == 2
    assert outcomes(answer.attempts) == [("main", "ok", 2)]
    assert len((await Desk(FakeEngine("main", many, many)).search(pages=2)).items) == 20


@pytest.mark.parametrize("second", [fault("upstream_down"), fault("parse_error"), ValueError("x")])
async def test_page_one_is_good_without_page_two(second: Exception) -> None:
    """When the second page fails the first is used, with one notice, and kept only briefly."""
    desk = Desk(FakeEngine("main", page(A), second), pages_per_query=2)
    answer = await desk.search()
    assert [row.url for row in answer.items] == [A]
    assert len(answer.notices) == 1
    assert "page 2 of engine 'main' failed" in answer.notices[0]
    assert desk.health.ready("main")


async def test_page_two_repeats_page_one() -> None:
    """A vendor that gives the same page again is told once, and nothing is shown twice."""
    answer = await Desk(FakeEngine("main", page(A, B), page(B, A)), pages_per_query=2).search()
    assert [row.url for row in answer.items] == [A, B]
    assert answer.notices == ("page 2 of engine 'main' only repeated earlier rows",)


async def test_page_two_hangs() -> None:
    """At the engine's time limit, what has come is used."""
    engine = FakeEngine("main", page(A), HANG, timeout_ms=30)
    desk = Desk(engine, pages_per_query=2)
    answer = await desk.search()
    assert [row.url for row in answer.items] == [A]
    assert "page 2 of engine 'main' failed (engine_timeout)" in answer.notices[0]
    assert engine.script.cancelled == 1
    assert desk.whole()


async def test_no_more_pages() -> None:
    """After a page that is the last, or empty, nothing more is waited for."""
    engine = FakeEngine("main", page(A, more=False), HANG)
    answer = await Desk(engine, pages_per_query=2).search()
    assert ([row.url for row in answer.items], answer.notices) == ([A], ())
    assert (await Desk(FakeEngine("main", WebPage(), HANG)).failure(pages=2)).reason == "no_results"


async def test_page_one_fails() -> None:
    """A failed first page is a failed engine; the second is not waited for."""
    engine = FakeEngine("main", fault("upstream_down"), HANG)
    error = await Desk(engine, pages_per_query=2).failure()
    assert error.reason == "engine_http_error"
    assert engine.script.cancelled == 1


async def test_a_limit_told_on_page_two_is_heard() -> None:
    """A rate limit met by the second page rests the engine, though the first was good."""
    desk = Desk(FakeEngine("main", page(A), fault("rate_limited", 7.0)), pages_per_query=2)
    await desk.search()
    assert desk.health.condition("main").reason == "rate_limited"


async def test_small_pages_stay_below_the_ceiling() -> None:
    """An engine of small pages needs more calls, but never more at once than pages are allowed."""
    engine = FakeEngine("main", *(page(f"https://a.com/{n}") for n in range(10)))
    engine.rows_per_call = 4
    answer = await Desk(engine, pages_per_query=2).search()
    assert len(engine.queries) == len(answer.items) == 5
    assert engine.script.peak == 2


async def test_spaced_engines_are_asked_in_turn() -> None:
    """Calls to an engine with an interval are apart, across pages and across searches."""
    clock = FakeClock()
    engine = FakeEngine("main", page(A), page(B), page(C), page("https://d.com/"))
    engine.min_interval_s = 1.1
    desk = Desk(
        engine,
        clock=clock,
        spacing=Spacing(clock=clock, sleep=clock.sleep),
        pages_per_query=2,
        cache_ttl_s=0,
    )
    await asyncio.gather(desk.search("one"), desk.search("two"))
    assert engine.script.peak == 1
    assert len(engine.queries) == 4
    assert round(clock.now - 1000, 3) == 3.3


async def test_a_crowded_engine_is_not_an_ill_one() -> None:
    """When the turn would come too late the next engine is asked, and no one rests."""
    clock = FakeClock()
    crowded = FakeEngine("main", page(A), priority=1)
    crowded.min_interval_s = 60
    desk = Desk(crowded, FakeEngine("own", page(B)), clock=clock, spacing=Spacing(clock=clock))
    await desk.search("one")
    answer = await desk.search("two")
    assert outcomes(answer.attempts) == [("main", "rate_limited", 0), ("own", "ok", 1)]
    assert desk.health.ready("main")


# Fallback and budget


@pytest.mark.parametrize(
    ("answer", "outcome", "reason"),
    [
        (fault("bad_key"), "bad_key", "engine_bad_key"),
        (fault("no_credit"), "no_credit", "engine_quota"),
        (fault("rate_limited"), "rate_limited", "engine_rate_limited"),
        (fault("bad_request"), "bad_request", "engine_http_error"),
        (fault("upstream_down"), "upstream_down", "engine_http_error"),
        (fault("unreachable"), "unreachable", "engine_unreachable"),
        (fault("too_large"), "too_large", "engine_too_large"),
        (fault("parse_error"), "parse_error", "engine_bad_response"),
        (fault("blocked"), "blocked", "target_blocked"),
        (EngineTimeout("slow"), "timeout", "engine_timeout"),
        (TimeoutError(), "timeout", "engine_timeout"),
        (KeyError("organic"), "parse_error", "engine_bad_response"),
        (RecursionError(), "parse_error", "engine_bad_response"),
    ],
)
async def test_fallback(answer: Exception, outcome: str, reason: str) -> None:
    """Any failure leads to the next engine by priority; alone, it is the reason."""
    desk = Desk(
        FakeEngine("main", answer, priority=3),
        FakeEngine("third", page(C), priority=1),
        FakeEngine("second", page(B), priority=2),
    )
    got = await desk.search()
    assert (got.engine, got.items[0].url) == ("second", B)
    assert outcomes(got.attempts) == [("main", outcome, 1), ("second", "ok", 1)]
    assert got.notices == (f"engine 'main' gave no answer ({outcome}); 'second' was asked instead",)
    assert desk.calls == list(got.attempts)

    error = await Desk(FakeEngine("main", answer)).failure()
    assert error.reason == reason
    assert outcomes(error.attempts) == [("main", outcome, 1)]


async def test_all_fail() -> None:
    """When every engine fails, the last failure is the reason, and all attempts are told."""
    desk = Desk(
        FakeEngine("main", fault("no_credit"), priority=1), FakeEngine("own", fault("too_large"))
    )
    error = await desk.failure()
    assert error.reason == "engine_too_large"
    assert outcomes(error.attempts) == [("main", "no_credit", 1), ("own", "too_large", 1)]
    assert desk.whole()


async def test_a_resting_engine_is_passed_by() -> None:
    """After a rate limit the next search goes straight to the next engine, and says so."""
    main = FakeEngine("main", fault("rate_limited", 5.0), priority=1)
    desk = Desk(main, FakeEngine("own", page(B)), cache_ttl_s=0)
    await desk.search()
    answer = await desk.search(engine="main")
    assert len(main.queries) == 1
    assert outcomes(answer.attempts) == [("main", "resting", 0), ("own", "ok", 1)]
    assert "rests for 5 s (rate_limited)" in answer.attempts[0].detail
    assert "'main', which the model or upstream names, rests" in answer.notices[0]


async def test_all_rest() -> None:
    """When every engine rests, nobody is asked, and the error says who is back when."""
    main = FakeEngine("main", fault("rate_limited", 50.0))
    desk = Desk(main)
    await desk.failure()
    error = await desk.failure()
    assert error.reason == "engine_resting"
    assert outcomes(error.attempts) == [("main", "resting", 0)]
    assert len(main.queries) == 1


async def test_daily_limit() -> None:
    """An engine beyond its daily limit rests."""
    desk = Desk(FakeEngine("main", daily_limit=3), used_today=lambda _: 3)
    assert (await desk.failure()).reason == "engine_resting"


async def test_a_hanging_engine_takes_its_own_time_only() -> None:
    """At its limit the next engine is asked."""
    hanging = FakeEngine("main", HANG, priority=1, timeout_ms=30)
    desk = Desk(hanging, FakeEngine("own", page(B)))
    answer = await desk.search()
    assert outcomes(answer.attempts) == [("main", "timeout", 1), ("own", "ok", 1)]
    assert hanging.script.cancelled == 1
    assert desk.health.condition("main").faults_in_a_row == 1


@pytest.mark.parametrize("pages", [1, 2])
async def test_engine_timeout(pages: int) -> None:
    """One engine that took its own limit, and no other left, is an engine's time-out."""
    desk = Desk(
        FakeEngine("main", HANG), engine_timeout_ms=40, budget_ms=400, pages_per_query=pages
    )
    began = time.monotonic()
    assert (await desk.failure()).reason == "engine_timeout"
    assert time.monotonic() - began < 0.4 + 0.25
    assert desk.whole()


@pytest.mark.parametrize("pages", [1, 2])
async def test_budget_exceeded(pages: int) -> None:
    """The budget bounds the whole chain, and an engine cut short by it is not blamed."""
    desk = Desk(
        FakeEngine("main", HANG, priority=1, timeout_ms=300),
        FakeEngine("own", HANG, timeout_ms=300),
        budget_ms=450,
        pages_per_query=pages,
    )
    began = time.monotonic()
    error = await desk.failure()
    assert time.monotonic() - began < 0.45 + 0.25
    assert error.reason == "budget_exceeded"
    assert outcomes(error.attempts) == [("main", "timeout", pages), ("own", "timeout", pages)]
    assert desk.health.condition("main").faults_in_a_row == 1
    assert desk.health.condition("own").faults_in_a_row == 0
    assert desk.whole()


async def test_no_budget_for_the_next_one() -> None:
    """With the budget used up the next engine is not even asked."""
    clock = FakeClock()

    class Slow(FakeEngine):
        async def search(self, query: WebQuery, *, timeout_s: float) -> WebPage:
            clock.advance(15)
            raise EngineTimeout("slow")

    second = FakeEngine("own")
    error = await Desk(Slow("main", priority=1), second, clock=clock).failure()
    assert error.reason == "budget_exceeded"
    assert second.queries == []


@pytest.mark.parametrize("interval_s", [0.0, 0.001])
async def test_an_engine_that_will_not_be_cancelled(interval_s: float) -> None:
    """A call that clings to life does not hold up the answer beyond the budget."""
    freed = asyncio.Event()

    class Stubborn(FakeEngine):
        async def search(self, query: WebQuery, *, timeout_s: float) -> WebPage:
            while not freed.is_set():
                try:
                    await freed.wait()
                except asyncio.CancelledError:
                    continue
            return page(A)

    engine = Stubborn("main")
    engine.min_interval_s = interval_s
    try:
        error = await Desk(engine, engine_timeout_ms=20, budget_ms=500).failure()
        assert error.reason == "engine_timeout"
        assert not freed.is_set()
    finally:
        freed.set()  # else the loop itself could not end
        await settle()


# Cache and single flight


async def test_cached() -> None:
    """The same question again comes from the cache, whatever its case and spaces."""
    engine = FakeEngine("main", page(A))
    desk = Desk(engine)
    first = await desk.search("Hello  World")
    again = await desk.search("hello world ")
    assert again.cached
    assert not first.cached
    assert again.items == first.items
    assert again.attempts == ()
    assert len(engine.queries) == len(desk.calls) == 1


@pytest.mark.parametrize(
    ("query", "how"),
    [
        (WebQuery(text="p"), {}),
        (WebQuery(text="q", time_range="day"), {}),
        (WebQuery(text="q", sites=("a.com",)), {}),
        (WebQuery(text="q", blocked_sites=("b.com/*/x",)), {}),
        (WebQuery(text="q"), {"pages": 2}),
        (WebQuery(text="q"), {"engine": "own"}),
    ],
)
async def test_another_question(query: WebQuery, how: dict[str, Any]) -> None:
    """Another text, filter, number of pages or engine is another question."""
    desk = Desk(FakeEngine("main", page(A), priority=1), FakeEngine("own", page(A)))
    await desk.search("q")
    assert not (await desk.search(query, **how)).cached


async def test_the_order_of_domains_does_not_matter() -> None:
    """The same set of domains is the same question."""
    desk = Desk(FakeEngine("main", page(A)))
    await desk.search(WebQuery(text="q", sites=("a.com", "B.com")))
    assert (await desk.search(WebQuery(text="q", sites=("b.com", "a.com")))).cached


async def test_failures_are_not_cached_and_nothing_found_is() -> None:
    """A failed search is tried again; one that found nothing is remembered for a while."""
    failing = FakeEngine("main", fault("too_large"))
    desk = Desk(failing)
    await desk.failure()
    await desk.failure()
    assert len(failing.queries) == 2
    empty = FakeEngine("main", WebPage())
    desk = Desk(empty)
    assert {(await desk.failure()).reason for _ in range(2)} == {"no_results"}
    assert len(empty.queries) == 1


async def test_fallback_from_the_cache() -> None:
    """What the next engine gave lately is not asked for again."""
    own = FakeEngine("own", page(B))
    desk = Desk(FakeEngine("main", fault("too_large"), priority=1), own)
    await desk.search()
    answer = await desk.search()
    assert answer.cached
    assert len(own.queries) == 1
    assert outcomes(answer.attempts) == [("main", "too_large", 1), ("own", "ok", 0)]


async def test_single_flight() -> None:
    """A hundred equal searches at once are one call, one place, and one entry in the ledger."""
    gate = asyncio.Event()
    engine = FakeEngine("main", gate, page(A))
    desk = Desk(engine, size=1, queue_timeout_s=0, cache_ttl_s=0)
    tasks = [asyncio.create_task(desk.search()) for _ in range(100)]
    await settle()
    gate.set()
    answers = await asyncio.gather(*tasks)
    assert len(engine.queries) == len(desk.calls) == 1
    assert sum(attempt.calls for answer in answers for attempt in answer.attempts) == 1
    assert [answer.cached for answer in answers] == [False] + [True] * 99


async def test_a_shared_failure_is_each_ones_own() -> None:
    """All who wait get the reason, each with notices of its own."""
    gate = asyncio.Event()
    desk = Desk(FakeEngine("main", gate, fault("too_large")))
    tasks = [
        asyncio.create_task(desk.failure(engine=name)) for name in ("main", "nobody", "someone")
    ]
    await settle()
    gate.set()
    errors = await asyncio.gather(*tasks)
    assert {error.reason for error in errors} == {"engine_too_large"}
    assert all(isinstance(error, EngineError) for error in errors)
    assert [len(error.notices) for error in errors] == [0, 1, 1]
    assert "'someone'" in errors[2].notices[0]
    assert len(desk.calls) == 1


# Limiter


async def test_shed_in_the_queue() -> None:
    """With the limiter full for too long a search is shed, with the time it waited for nothing."""
    engine = FakeEngine("main", HANG)
    desk = Desk(engine, size=1, queue_timeout_s=0.01)
    running = asyncio.create_task(desk.search("one"))
    await settle()
    error = await desk.failure("two")
    assert isinstance(error, SearchShed)
    assert (error.reason, error.attempts) == ("queue_timeout", ())
    assert error.queue_s >= 0.01
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert desk.whole()


async def test_shed_for_memory() -> None:
    """When memory is short a new search is shed; what is cached is still given."""
    desk = Desk(FakeEngine("main", page(A)))
    await desk.search("kept")
    desk.limiter.configure(64, queue_timeout_s=1, memory_limit_mb=10)
    assert (await desk.failure("new")).reason == "memory_pressure"
    assert (await desk.search("kept")).cached


async def test_two_hundred_searches() -> None:
    """200 searches at once on a limiter of 64: never more than 64 × 2 calls, and all answered."""
    gate = asyncio.Event()
    engine = FakeEngine("main", *[gate] * 128, page(A))
    desk = Desk(engine, pages_per_query=2)
    tasks = [asyncio.create_task(desk.search(f"question {n}")) for n in range(200)]
    await settle()
    assert desk.limiter.counts.running == 64
    assert engine.script.running == 128
    gate.set()
    answers = await asyncio.gather(*tasks)
    assert all(answer.items for answer in answers)
    assert engine.script.peak == 128
    assert desk.whole()


class Vendor(Engine):
    """An engine that is an HTTP exchange."""

    def build_request(self, query: WebQuery) -> HttpRequest:
        return HttpRequest(method="GET", url=f"https://vendor.example/?page={query.page}")

    def parse_response(self, response: HttpResponse) -> WebPage:
        if response.status != 200:
            raise fault("upstream_down")
        return WebPage(items=tuple(item(url) for url in response.body.decode().split()))


def vendor(**options: Any) -> Vendor:
    return Vendor("vendor", Vendor.Options(**options))


async def test_the_memory_ceiling() -> None:
    """At most concurrency × pages bodies are fetched at once, each within the cap for a body."""
    gate = asyncio.Event()
    fetcher = FakeFetcher(*[gate] * 8, HttpResponse(status=200, body=A.encode()))
    desk = Desk(vendor(), size=4, pages_per_query=2, fetcher=fetcher, max_response_bytes=1000)
    tasks = [asyncio.create_task(desk.search(f"q{n}", pages=5)) for n in range(20)]
    await settle()
    assert fetcher.script.running == 8
    gate.set()
    await asyncio.gather(*tasks)
    assert fetcher.script.peak == 8
    assert {max_bytes for _, max_bytes in fetcher.limits} == {1000}
    assert len(fetcher.requests) == 100


async def test_the_fetcher_is_given_what_time_is_left() -> None:
    """The time-out of an exchange is the engine's own, or what the budget leaves."""
    fetcher = FakeFetcher(HttpResponse(status=200, body=A.encode()))
    clock = FakeClock()
    await Desk(vendor(), fetcher=fetcher, clock=clock).search()
    await Desk(vendor(timeout_ms=700), fetcher=fetcher, clock=clock).search()
    await Desk(vendor(timeout_ms=70_000), fetcher=fetcher, clock=clock).search()
    assert [round(timeout_s, 3) for timeout_s, _ in fetcher.limits] == [10.0, 0.7, 15.0]


@pytest.mark.parametrize(("outcome", "calls"), [("unreachable", 0), ("too_large", 1)])
async def test_only_what_reached_the_vendor_is_counted(outcome: Outcome, calls: int) -> None:
    """A vendor that was not reached bills nothing."""
    error = await Desk(vendor(), fetcher=FakeFetcher(fault(outcome))).failure()
    assert outcomes(error.attempts) == [("vendor", outcome, calls)]


async def test_a_real_engine() -> None:
    """A vendor's recorded answer comes through, with the name of the engine's type."""
    serper = ENGINES.get("serper").configure("main", {"api_key": "CANARY"})
    body = recording("engines/serper/search.json")
    answer = await Desk(serper, fetcher=FakeFetcher(HttpResponse(status=200, body=body))).search()
    assert (answer.engine, answer.engine_type) == ("main", "serper")
    assert answer.items[0].url.startswith("https://")
    assert "CANARY" not in repr(answer)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("serper", {"api_key": "CANARY"}),
        ("tavily", {"api_key": "CANARY"}),
        ("http", {"url": "https://own.example/s", "query_param": "q", "results": "/hits"}),
    ],
)
@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (b'{"error": "quota exceeded"}', "no_credit"),
        (b'{"hits": [], "errors": [{"message": "Too many requests"}]}', "rate_limited"),
        (b'{"status": "error", "message": "API key revoked"}', "bad_key"),
    ],
)
async def test_a_failure_told_with_http_200_goes_on_to_the_next_engine(
    kind: str, settings: dict[str, Any], body: bytes, outcome: str
) -> None:
    """The engine rests for its reason, and the next one is asked."""
    first = ENGINES.get(kind).configure("main", settings)
    desk = Desk(
        first, FakeEngine("next", page(A)), fetcher=FakeFetcher(HttpResponse(status=200, body=body))
    )
    answer = await desk.search()
    assert [row.url for row in answer.items] == [A]
    assert [attempt.outcome for attempt in answer.attempts] == [outcome, "ok"]
    assert desk.health.condition("main").reason == outcome


async def test_a_key_in_an_exception_stays_there() -> None:
    """The text of a foreign exception, which may hold a URL with the key, is not passed on."""
    desk = Desk(vendor(), fetcher=FakeFetcher(RuntimeError("GET https://v/?api_key=CANARY")))
    error = await desk.failure()
    assert error.reason == "engine_bad_response"
    assert "RuntimeError" in str(error)
    assert "CANARY" not in f"{error!r} {error.attempts} {error.notices}"


# Cancellation


@pytest.mark.parametrize("pages", [1, 2])
@pytest.mark.parametrize("answers", [(HANG,), (page(A), HANG)])
async def test_cancelled_while_an_engine_is_asked(
    pages: int, answers: tuple[WebPage | Hang, ...]
) -> None:
    """A caller who goes takes every call with them; what was billed is still counted."""
    engine = FakeEngine("main", *answers, HANG)
    desk = Desk(engine, FakeEngine("own"), pages_per_query=pages)
    if pages == 1 and len(answers) == 2:
        await desk.search("before")
    task = asyncio.create_task(desk.search())
    await engine.script.started.wait()
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert desk.whole()
    assert engine.script.running == 0
    assert outcomes(desk.calls[-1:]) == [("main", "cancelled", pages)]
    assert desk.health.condition("main").faults_in_a_row == 0


async def test_cancelled_while_waiting_for_a_place() -> None:
    """A search cancelled in the queue leaves the queue."""
    engine = FakeEngine("main", HANG)
    desk = Desk(engine, size=1)
    tasks = [asyncio.create_task(desk.search(f"q{n}")) for n in range(3)]
    await settle()
    assert desk.limiter.counts.waiting == 2
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert desk.whole()
    assert len(engine.queries) == 1


async def test_one_of_two_is_cancelled() -> None:
    """Who waits for the same answer gets it, also when the one who began has left."""
    gate = asyncio.Event()
    desk = Desk(FakeEngine("main", gate, page(A)))
    first, second = (asyncio.create_task(desk.search()) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    assert desk.limiter.counts.running == 1
    gate.set()
    assert (await second).items
    assert first.cancelled()
    assert desk.whole()


@pytest.mark.parametrize("step", range(12))
async def test_cancelled_at_any_step(step: int) -> None:
    """Wherever in its course a search is cancelled, the limiter is whole and no task is left."""
    desk = Desk(
        FakeEngine("main", fault("upstream_down"), priority=1),
        FakeEngine("own", page(A), page(B)),
        pages_per_query=2,
    )
    task = asyncio.create_task(desk.search())
    for _ in range(step):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert desk.whole()


# Reload and test


async def test_reload() -> None:
    """A new configuration holds at once; a bad key is forgiven, other rests and the cache stay."""
    main, own = FakeEngine("main", fault("bad_key"), priority=1), FakeEngine("own", page(B))
    spent = FakeEngine("spent", fault("no_credit"), priority=2)
    desk = Desk(main, own, spent)
    await desk.search("one")
    assert not desk.health.ready("main")
    engines = {engine.name: engine for engine in (main, own, spent)}
    desk.web.reload(
        engines, replace(desk.settings, concurrency=3, cache_ttl_s=7, default_engine="own")
    )
    assert desk.health.ready("main")
    assert not desk.health.ready("spent")
    assert desk.limiter.counts.size == 3
    assert desk.cache.ttl_s == 7
    assert desk.web.settings.default_engine == "own"
    assert (await desk.search("one")).cached
    assert list(desk.web.engines) == ["main", "own", "spent"]


async def test_reload_with_a_changed_engine() -> None:
    """What an engine gave under its old settings is not given under the new ones; its rest ends."""
    desk = Desk(FakeEngine("main", page(A)))
    await desk.search()
    desk.health.record("main", "no_credit")
    desk.web.reload({"main": FakeEngine("main", page(B), priority=4)}, desk.settings)
    answer = await desk.search()
    assert (answer.cached, answer.items[0].url) == (False, B)


async def test_reload_during_a_search() -> None:
    """A search under way ends under the configuration it began with."""
    gate = asyncio.Event()
    desk = Desk(FakeEngine("main", gate, page(A)))
    task = asyncio.create_task(desk.search())
    await settle()
    desk.web.reload({}, desk.settings)
    gate.set()
    assert (await task).items
    assert (await desk.failure()).reason == "no_engine"


async def test_connectivity() -> None:
    """The test asks for real, past cache and rests, and one that goes well ends a rest."""
    engine = FakeEngine("main", page(A), fault("bad_key"), enabled=False)
    desk = Desk(engine)
    desk.health.record("main", "bad_key")
    good = await desk.web.test("main")
    assert (good.outcome, good.calls, good.detail) == ("ok", 1, "1 of 1 rows used")
    assert desk.health.ready("main")
    bad = await desk.web.test("main")
    assert (bad.outcome, bad.detail) == ("bad_key", "it was bad_key")
    assert not desk.health.ready("main")
    assert len(desk.calls) == 2
    assert desk.whole()


async def test_connectivity_of_nothing() -> None:
    """An unknown name is an error that lists the known ones."""
    with pytest.raises(UnknownName, match="known: main"):
        await Desk(FakeEngine("main")).web.test("mian")


def test_found_bytes() -> None:
    """The estimate is above the text it holds, and grows with it."""
    small = Found(engine="e", engine_type="t", items=(item(A, "t", "x" * 1000),))
    large = Found(engine="e", engine_type="t", items=(item(A, "t", "x" * 9000),), answer="y" * 100)
    assert 1000 < found_bytes(small) < found_bytes(large)
    assert found_bytes(large) > 9100
