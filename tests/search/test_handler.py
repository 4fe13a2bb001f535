"""Where each type of search is done."""

from __future__ import annotations

from typing import Any

import pytest

from refdesk.errors import SearchError, UnknownName
from refdesk.search.handler import HandlerTable, SearchContext, WebHandler
from refdesk.testing.fakes import FakeHandler, item
from refdesk.types import ANONYMOUS, Attempt, Caller, Location, SearchRequest, WebAnswer, WebQuery

ATTEMPT = Attempt(engine="main", outcome="empty", calls=1)


class Web:
    """A web search with one answer and a history."""

    def __init__(self, answer: WebAnswer | SearchError) -> None:
        self.answer = answer
        self.asked: list[tuple[WebQuery, str | None, int | None]] = []
        self.callers: list[Caller] = []

    async def search(
        self,
        query: WebQuery,
        *,
        engine: str | None = None,
        pages: int | None = None,
        caller: Caller = ANONYMOUS,
    ) -> WebAnswer:
        self.callers.append(caller)
        self.asked.append((query, engine, pages))
        if isinstance(self.answer, SearchError):
            raise self.answer
        return self.answer


def failure(message: str, reason: Any, *attempts: Attempt) -> SearchError:
    error = SearchError(message, reason=reason)
    error.attempts, error.notices = attempts, ("a notice",)
    return error


def test_table() -> None:
    """Handlers are found by their type; an unknown type names those there are."""
    web, kb = FakeHandler("web"), FakeHandler("kb")
    table = HandlerTable([web])
    table.register(kb)

    assert table.get("kb") is kb
    assert table.types() == ["kb", "web"]
    with pytest.raises(UnknownName, match="no search type is called 'wep'; known: kb, web; did"):
        table.get("wep")
    table.register(again := FakeHandler("web"))
    assert table.get("web") is again


async def test_web() -> None:
    """A web search has the engines' items, answer, name, attempts and notices."""
    web = Web(
        WebAnswer(
            items=(item("https://a.com/"), item("https://b.com/")),
            answer="42",
            engine="main",
            attempts=(ATTEMPT,),
            notices=("slow",),
        )
    )
    request = SearchRequest(
        query="q",
        source="auto",
        engine="main",
        limit=1,
        sites=("a.com",),
        blocked_sites=("b.com",),
        time_range="week",
        language="de",
        country="DE",
        safe=True,
    )
    result = await WebHandler(web).search(request, context=SearchContext())

    assert [each.url for each in result.items] == ["https://a.com/"]
    assert (result.answer, result.engine, result.source) == ("42", "main", "auto")
    assert (result.attempts, result.notices) == ((ATTEMPT,), ("slow",))
    assert web.asked == [
        (
            WebQuery(
                text="q",
                sites=("a.com",),
                blocked_sites=("b.com",),
                time_range="week",
                language="de",
                location=Location(country="DE"),
                safe=True,
            ),
            "main",
            1,
        )
    ]


@pytest.mark.parametrize(("limit", "pages"), [(None, 1), (10, 1), (11, 2), (95, 10), (100, 10)])
async def test_pages(limit: int | None, pages: int) -> None:
    """As many pages are asked for as the limit needs."""
    web = Web(WebAnswer())
    await WebHandler(web).search(SearchRequest(query="q", limit=limit), context=SearchContext())

    assert web.asked[0][2] == pages


async def test_too_many() -> None:
    """More than engines give is said, not silently cut."""
    web = Web(WebAnswer())
    request = SearchRequest(query="q", limit=500)
    result = await WebHandler(web).search(request, context=SearchContext())

    assert web.asked[0][2] == 10
    assert result.notices == ("a web search gives at most 100 results; 500 were wanted",)


async def test_failure() -> None:
    """A failed search is an error with what was tried; it has no items."""
    web = Web(failure("engine 'main' timed out", "engine_timeout", ATTEMPT))
    result = await WebHandler(web).search(SearchRequest(query="q"), context=SearchContext())

    assert (result.error, result.items) == ("engine 'main' timed out", ())
    assert (result.attempts, result.notices) == ((ATTEMPT,), ("a notice",))


async def test_nothing_found() -> None:
    """An engine that found nothing has not failed."""
    web = Web(failure("engine 'main' (serper) found nothing", "no_results", ATTEMPT))
    result = await WebHandler(web).search(SearchRequest(query="q"), context=SearchContext())

    assert (result.error, result.items, result.engine) == (None, (), "main")
    assert result.notices == ("a notice", "engine 'main' (serper) found nothing")


async def test_nobody_asked() -> None:
    """Where no engine was asked, since no domain could be read, that is an error."""
    web = Web(failure("none of the allowed domains can be read", "no_results"))
    result = await WebHandler(web).search(SearchRequest(query="q"), context=SearchContext())

    assert result.error == "none of the allowed domains can be read"


async def test_the_caller_is_handed_on() -> None:
    """Engines are asked on the account, and private sources as the identity, of the context."""
    web = Web(WebAnswer(items=(item(),), engine="main"))
    context = SearchContext(owner="k1", identity={"team": "law"})
    await WebHandler(web).search(SearchRequest(query="q"), context=context)
    assert web.callers == [Caller(key_id="k1", claims={"team": "law"})]
