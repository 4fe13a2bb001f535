"""What an engine's name stands for, and where its question goes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from refdesk.errors import ConfigError, SearchError
from refdesk.search.handler import HandlerTable, SearchContext
from refdesk.search.sources import SourceRouter, UnknownSource, resolve
from refdesk.types import (
    ANONYMOUS,
    Caller,
    ResultItem,
    SearchRequest,
    SearchResult,
    SearchType,
    WebAnswer,
    WebQuery,
)

QUERY = WebQuery(text="expenses")
ANN = Caller(key_id="k1", claims={"team": "law"})


@dataclass
class Web:
    """A web search that says who was asked."""

    asked: list[str | None] = field(default_factory=list)

    async def search(
        self,
        query: WebQuery,
        *,
        engine: str | None = None,
        pages: int | None = None,
        caller: Caller = ANONYMOUS,
    ) -> WebAnswer:
        self.asked.append(engine)
        return WebAnswer(engine="web")


@dataclass
class Kb:
    """A knowledge search with a fixed result, or an error."""

    answer: Any = ()
    type: SearchType = "kb"
    asked: list[SearchRequest] = field(default_factory=list)
    identities: list[Any] = field(default_factory=list)

    async def search(self, request: SearchRequest, *, context: SearchContext) -> SearchResult:
        self.asked.append(request)
        self.identities.append(context.identity)
        if isinstance(self.answer, Exception):
            raise self.answer
        if isinstance(self.answer, asyncio.Event):
            await self.answer.wait()
        if isinstance(self.answer, str):
            return SearchResult(type=self.type, query=request.query, error=self.answer)
        return SearchResult(
            type=self.type, query=request.query, items=self.answer, notices=("a notice",)
        )


PASSAGE = ResultItem(
    type="kb", title="T", content="c", collection="hand book", metadata={"chunk_id": "rev/1"}
)


ROW = ResultItem(type="db", title="T", content="c", model="orders", record_id="a/7")


def aimed(web: Web, *handlers: Kb, **options: Any) -> SourceRouter:
    """A router in front of the web and of private sources."""
    values: dict[str, Any] = {
        "engines": lambda: ("main", "free"),
        "base_url": lambda: "http://127.0.0.1:8484",
    }
    return SourceRouter(web, HandlerTable(handlers), **values | options)


async def test_by_name() -> None:
    """`kb:` leads to the collection as whoever asks; all other names lead to the web."""
    web, kb = Web(), Kb(answer=(PASSAGE,))
    search = aimed(web, kb)
    answer = await search.search(QUERY, engine="kb:hand book", pages=3, caller=ANN)
    assert (answer.engine, answer.engine_type, answer.notices) == (
        "kb:hand book", "kb", ("a notice",),
    )  # fmt: skip
    (request,) = kb.asked
    assert (request.collections, request.limit) == (("hand book",), 30)
    assert kb.identities == [{"team": "law"}]
    assert answer.items[0].url == (
        "http://127.0.0.1:8484/api/v1/collections/hand%20book/passages/rev%2F1"
    )
    await search.search(QUERY, engine="main")
    await search.search(QUERY)
    assert (web.asked, len(kb.asked)) == (["main", None], 1)


async def test_default() -> None:
    """A collection may be the default; a named engine is asked in its place."""
    web, kb = Web(), Kb(answer=(PASSAGE,))
    search = aimed(web, kb, default=lambda: "kb:docs")
    assert (await search.search(QUERY)).engine == "kb:docs"
    assert (await search.search(QUERY, engine="main")).engine == "web"


async def test_own_page() -> None:
    """A passage of a page of the web is cited by that page."""
    page = ResultItem(type="kb", title="T", url="https://a.example/", metadata={"chunk_id": "x"})
    answer = await aimed(Web(), Kb(answer=(page,))).search(QUERY, engine="kb:c")
    assert answer.items[0].url == "https://a.example/"


async def test_domains() -> None:
    """A document is on no site, which is told where sites were named."""
    query = WebQuery(text="x", sites=("example.com",))
    answer = await aimed(Web(), Kb(answer=(PASSAGE,))).search(query, engine="kb:c")
    assert "domains were not looked at" in answer.notices[-1]


@pytest.mark.parametrize(
    ("given", "reason", "told"),
    [
        ((), "no_results", "'kb:c' has nothing on it"),
        ("no collection is called 'c'", "engine_bad_response", "no collection is called 'c'"),
        (ConfigError("embedded by another"), "engine_bad_response", "embedded by another"),
        (ValueError("what was asked"), "engine_bad_response", "ValueError"),
    ],
)
async def test_failures(given: Any, reason: str, told: str) -> None:
    """What fails is a search error with a reason; the web is never asked instead."""
    web = Web()
    with pytest.raises(SearchError) as raised:
        await aimed(web, Kb(answer=given)).search(QUERY, engine="kb:c")
    assert raised.value.reason == reason
    assert told in str(raised.value)
    assert "what was asked" not in str(raised.value)
    assert [one.engine for one in raised.value.attempts] == ["kb:c"]
    assert web.asked == []


async def test_time() -> None:
    """A search that takes too long ends with a time-out."""
    search = aimed(Web(), Kb(answer=asyncio.Event()), within_s=lambda: 0.01)
    with pytest.raises(SearchError) as raised:
        await search.search(QUERY, engine="kb:c")
    assert raised.value.reason == "engine_timeout"


async def test_databases() -> None:
    """`db:` leads to the database as the caller; a row is opened by its model and id."""
    web, db = Web(), Kb(answer=(ROW,), type="db")
    answer = await aimed(web, db).search(QUERY, engine="db:shop", caller=ANN)
    assert (answer.engine, answer.engine_type) == ("db:shop", "db")
    assert db.asked[0].database == "shop"
    assert db.identities == [{"team": "law"}]
    assert answer.items[0].url == (
        "http://127.0.0.1:8484/api/v1/databases/shop/records/orders/a%2F7"
    )
    assert web.asked == []


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("db:shop", "no database is connected here"),
        ("DB:shop", "no database is connected here"),
        (" db :shop", "no database is connected here"),
        ("kb:docs", "there are no collections here"),
        ("Kb:docs", "there are no collections here"),
        ("kb-docs", "no engine is called 'kb-docs'"),
        ("mian", "did you mean 'main'?"),
        ("main ", "no engine is called"),
        ("x" * 5000, "no engine is called"),
    ],
)
@pytest.mark.parametrize("how", ["named", "default"])
async def test_what_cannot_be_asked_is_refused(name: str, told: str, how: str) -> None:
    """An unknown or unavailable source is an error; the web is not asked in its place."""
    web = Web()
    router = aimed(web, default=lambda: name if how == "default" else None)
    with pytest.raises(UnknownSource) as raised:
        await router.search(QUERY, engine=name if how == "named" else None)
    assert told in str(raised.value)
    assert len(str(raised.value)) < 400
    assert raised.value.reason == "no_engine"
    assert web.asked == []


@pytest.mark.parametrize("name", ["kb:", "db:", "kb: ", "KB:"])
def test_a_kind_without_a_name_is_refused(name: str) -> None:
    """`kb:` alone names no collection."""
    with pytest.raises(UnknownSource, match=r"write (kb|db):NAME"):
        resolve(name, (), ("kb", "db", "web"))


def test_a_web_engine_may_be_called_anything() -> None:
    """A configured engine is found by its exact name first."""
    assert resolve("main", ("main",), ()).kind == "web"
    assert resolve("", ("main",), ()).name is None
    assert resolve(None, (), ()).kind == "web"
