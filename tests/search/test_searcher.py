"""One searcher for the web, knowledge and databases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from refdesk.config.library import LibrarySection
from refdesk.errors import DelegateError, SearchError
from refdesk.search import CallRecord, Searcher, Trace, WebHandler
from refdesk.search.delegate import Delegates
from refdesk.testing.fakes import HANG, FakeClock, FakeDelegate, FakeEngine, FakeHandler, item, page
from refdesk.types import Attempt, SearchRequest, SearchResult
from refdesk.uses import SearchUses
from refdesk.web.cache import Cache
from refdesk.web.handler import Fetcher, SearchSettings, WebSearch, found_bytes
from refdesk.web.health import Health
from refdesk.web.limiter import Limiter


def config(**sections: Any) -> LibrarySection:
    return LibrarySection.model_validate(sections)


class Kept:
    """A recorder that keeps what it is given, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.records: list[CallRecord] = []
        self.error = error

    async def record(self, record: CallRecord) -> None:
        if self.error:
            raise self.error
        self.records.append(record)


def urls(result: SearchResult | None) -> list[str]:
    assert result is not None
    return [each.url for each in result.items]


def pages(*names: str) -> list[Any]:
    return [item(f"https://{name}.com/", name) for name in names]


async def until(true: Callable[[], bool]) -> None:
    """Let others run until something is so."""
    for _ in range(5000):
        if true():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not come to be so")


# One search


async def test_web() -> None:
    """A web search gives items that are weighed, numbered and say where they come from."""
    handler = FakeHandler("web", pages("a", "b"))
    result = await Searcher(handlers=[handler]).web("  who?  ", limit=5, timeRange="week")

    assert result.error is None
    assert (result.type, result.query, result.source, result.total) == ("web", "who?", "hook", 2)
    assert [(each.citation_id, each.index) for each in result.items] == [
        ("ref_001", 1),
        ("ref_002", 2),
    ]
    assert {(each.weight, each.source, each.type) for each in result.items} == {
        (0.8, "hook", "web")
    }
    (request,) = handler.requests
    assert (request.query, request.limit, request.time_range) == ("who?", 5, "week")


@pytest.mark.parametrize(("source", "weight"), [("user", 1.0), ("hook", 0.7), ("auto", 0.6)])
async def test_weights(source: str, weight: float) -> None:
    """Every item weighs what the configuration says of who asked."""
    searcher = Searcher(config(weights={"hook": 0.7}), handlers=[FakeHandler()])

    result = await searcher.web("q", source=source)

    assert [each.weight for each in result.items] == [weight]
    assert result.source == source


async def test_defaults() -> None:
    """What a request leaves unset is filled in from the configuration, per type."""
    web, kb, db = FakeHandler("web"), FakeHandler("kb"), FakeHandler("db")
    searcher = Searcher(
        config(
            web={"engine": "main", "max_results": 4},
            kb={"collections": ["docs"], "threshold": 0.5, "graph": True},
            db={"models": ["orders"], "max_results": 7},
        ),
        handlers=[web, kb, db],
    )

    await searcher.all([{"query": "q", "type": kind} for kind in ("web", "kb", "db")])
    await searcher.kb("q", collections=["faq"], threshold=0, graph=False, limit=1)

    assert web.requests == [SearchRequest(query="q", engine="main", limit=4)]
    assert kb.requests == [
        SearchRequest(
            query="q", type="kb", collections=("docs",), threshold=0.5, graph=True, limit=10
        ),
        SearchRequest(
            query="q", type="kb", collections=("faq",), threshold=0.0, graph=False, limit=1
        ),
    ]
    assert db.requests == [SearchRequest(query="q", type="db", models=("orders",), limit=7)]
    assert kb.requests[0].defaults == {"limit", "collections", "threshold", "graph"}
    assert kb.requests[1].defaults == set()


async def test_each_thing_once_and_no_more_than_asked_for() -> None:
    """The same page twice is one item, and the limit counts what is left."""
    found = [*pages("a"), item("https://A.com/#x"), *pages("b", "c")]
    result = await Searcher(handlers=[FakeHandler("web", found)]).web("q", limit=2)

    assert urls(result) == ["https://a.com/", "https://b.com/"]
    assert result.total == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"query": ""}, "the query is empty; say what to look for"),
        ({"query": None}, "the query is empty"),
        ({"query": "q", "limit": 0}, "limit is 0; give a whole number of at least 1"),
        ({"query": "q", "limt": 3}, "no search option 'limt'; known: query, "),
        ({"query": "q", "timeRange": "eon"}, "time_range is 'eon'; give one of hour, day"),
        ({"query": "q", "threshold": 2}, "threshold is 2; give a number from 0 to 1"),
        ({"query": "q", "type": "wiki"}, "no search type is called 'wiki'; known: web"),
        ({"query": "q", "type": "kb"}, "no search type is called 'kb'; known: web"),
        (7, "a search is a SearchRequest or a mapping with a query; this is a int"),
    ],
)
async def test_bad_request(options: Any, words: str) -> None:
    """What cannot be searched is an error of the result, in a sentence, and never raised."""
    handler = FakeHandler()
    result = await Searcher(handlers=[handler]).search(options)

    assert result.error is not None
    assert words in result.error
    assert (result.items, result.total) == ((), 0)
    assert handler.requests == []


async def test_bad_options_of_a_method() -> None:
    """The methods per type refuse what does not fit them, also as an error of the result."""
    searcher = Searcher(handlers=[FakeHandler()])
    call: dict[str, Any] = {"progress": 3}

    assert "its type is 'kb'" in str((await searcher.web("q", type="kb")).error)
    assert (await searcher.web("q", type="web")).error is None
    assert "no search option 'nope'" in str((await searcher.web("q", nope=1)).error)
    assert "progress is a int; give a function" in str((await searcher.web("q", **call)).error)
    assert "identity is a list" in str((await searcher.web("q", identity=[])).error)
    assert "no option 'nope'" in str((await searcher.search({"query": "q"}, nope=1)).error)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (SearchError("engine 'x' is down", reason="engine_timeout"), "engine 'x' is down"),
        (RuntimeError("sk-secret-key"), "the kb search failed with RuntimeError"),
    ],
)
async def test_handler_raises(raised: Any, error: str) -> None:
    """Whatever a handler raises is an error of the result; a foreign message is not repeated."""
    result = await Searcher(handlers=[FakeHandler("kb", raised)]).kb("q")

    assert result.error == error
    assert (result.type, result.query) == ("kb", "q")


async def test_handler_is_cancelled_from_within() -> None:
    """A handler whose own work was cancelled does not cancel its caller."""

    class GivesUp(FakeHandler):
        async def search(self, request: SearchRequest, *, context: Any) -> SearchResult:
            raise asyncio.CancelledError

    result = await Searcher(handlers=[GivesUp()]).web("q")

    assert result.error == "the search was cancelled from within; try it again"


async def test_error_has_no_items() -> None:
    """A handler that reports an error gives no hits, whatever it puts beside it."""
    answer = SearchResult(type="web", query="", items=tuple(pages("a")), error="it is broken")

    result = await Searcher(handlers=[FakeHandler("web", answer)]).web("q")

    assert (result.error, result.items, result.query) == ("it is broken", (), "q")


async def test_registering_again() -> None:
    """Handlers can be registered later, and again: the last one is asked."""
    searcher = Searcher(handlers=[FakeHandler("web", pages("old"))])
    searcher.handlers.register(FakeHandler("web", pages("new")))
    searcher.handlers.register(FakeHandler("db"))

    assert urls(await searcher.web("q")) == ["https://new.com/"]
    assert searcher.handlers.types() == ["db", "web"]


async def test_identity() -> None:
    """Who asks comes with the call or the request; the request's own counts."""
    handler = FakeHandler("db")
    searcher = Searcher(handlers=[handler])

    await searcher.db("q", identity={"id": 7})
    await searcher.search({"query": "q", "type": "db", "identity": {"id": 8}}, identity={"id": 7})

    assert [request.identity for request in handler.requests] == [{"id": 7}, {"id": 8}]
    assert [context.identity for context in handler.contexts] == [{"id": 7}, {"id": 8}]


# Keywords, rerank, delegates


async def test_keywords() -> None:
    """Keywords are asked with, heaviest first, and told; the result keeps the question."""
    handler = FakeHandler()
    result = await Searcher(handlers=[handler]).web(
        "What is the latest version of httpx2?", keywords=True
    )

    assert handler.requests[0].query.split()[0] == result.keywords[0].text
    assert "httpx2" in {keyword.text for keyword in result.keywords}
    assert result.query == "What is the latest version of httpx2?"


async def test_no_keywords_in_it() -> None:
    """Where there are no keywords the text itself is asked."""
    handler = FakeHandler()
    result = await Searcher(handlers=[handler]).web("is it the?", keywords=True)

    assert handler.requests[0].query == "is it the?"
    assert result.keywords == ()


async def test_rerank() -> None:
    """A rerank orders by score and keeps what the request says, else what is configured."""
    found = [item(f"https://{name}.com/", name) for name in "abc"]
    scored = [
        SearchResult(
            type="web",
            query="q",
            items=tuple(
                type(each)(title=each.title, url=each.url, score=score)
                for each, score in zip(found, (0.1, 0.9, 0.5), strict=True)
            ),
        )
    ]
    searcher = Searcher(config(rerank={"top_n": 1}), handlers=[FakeHandler("web", *scored)])

    plain = await searcher.web("q")
    two = await searcher.web("q", rerank={"topN": 2})
    default = await searcher.web("q", rerank={})

    assert [each.title for each in plain.items] == ["a", "b", "c"]
    assert [each.title for each in two.items] == ["b", "c"]
    assert [each.citation_id for each in two.items] == ["ref_001", "ref_002"]
    assert [each.title for each in default.items] == ["b"]
    assert two.items[0].scores["source"] == 0.9
    assert default.total == 1


async def test_reranker_knows_the_items_by_id() -> None:
    """An assistant that reranks gets ids to name, before the items have their final numbers."""
    delegate = FakeDelegate({"order": ["ref_002", "ref_001"]})
    searcher = Searcher(
        handlers=[FakeHandler("web", pages("a", "b"))],
        uses=SearchUses.read({"rerank": "workers.rerank"}),
        delegates=delegate,
    )
    await searcher.web("first", request_id="r1", rerank=True)
    result = await searcher.web("again", request_id="r1", rerank=True)

    sent = delegate.calls[0][1]["items"]
    assert [each["citation_id"] for each in sent] == ["ref_001", "ref_002"]
    assert urls(result) == ["https://b.com/", "https://a.com/"]


async def test_reranker_fails() -> None:
    """When the reranker fails, the hits stay, in their old order."""
    searcher = Searcher(
        handlers=[FakeHandler("web", pages("a", "b"))],
        uses=SearchUses.read({"rerank": "mcp:rank.order"}),
        delegates=FakeDelegate(DelegateError("away")),
    )
    result = await searcher.web("q", rerank=True)

    assert urls(result) == ["https://a.com/", "https://b.com/"]
    assert result.error is None
    assert "not reranked" in result.notices[0]


@pytest.mark.parametrize("name", ["workers.web", "mcp:net.search"])
async def test_web_by_delegate(name: str) -> None:
    """With uses.web an assistant or a tool searches the web; other types stay ours."""
    web, db = FakeHandler("web"), FakeHandler("db")
    delegate = FakeDelegate({"items": [{"title": "T", "content": "C", "url": "https://t.com/"}]})
    searcher = Searcher(handlers=[web, db], uses=SearchUses.read({"web": name}), delegates=delegate)

    found, rows = await searcher.all(
        [
            {"query": "q", "sites": ["a.com"], "timeRange": "day", "limit": 3},
            {"query": "q", "type": "db"},
        ]
    )

    assert urls(found) == ["https://t.com/"]
    assert found.engine == name
    assert web.requests == []
    assert rows.error is None
    ((target, payload),) = delegate.calls
    assert str(target) == name
    expected = {"query": "q", "limit": 3, "sites": ["a.com"], "time_range": "day"}
    told = {"type": "web", "source": "hook"} if name == "workers.web" else {}
    assert payload == {**expected, **told}


async def test_delegate_fails() -> None:
    """A delegate that fails is the result's error; no other source takes its place."""
    web = FakeHandler("web")
    searcher = Searcher(
        handlers=[web], uses=SearchUses.read({"web": "mcp:net.search"}), delegates=FakeDelegate(7)
    )
    result = await searcher.web("q")

    assert "'mcp:net.search' gave no results to read" in str(result.error)
    assert web.requests == []


async def test_whole_search_by_delegate() -> None:
    """With uses.search an assistant does searches of every type."""
    kb = FakeHandler("kb")
    delegate = FakeDelegate({"items": [{"title": "T", "content": "C", "collection": "docs"}]})
    searcher = Searcher(
        handlers=[kb], uses=SearchUses.read({"search": "workers.search"}), delegates=delegate
    )
    result = await searcher.kb("q", source="auto", collections=["docs"])

    assert [(each.type, each.collection, each.weight) for each in result.items] == [
        ("kb", "docs", 0.6)
    ]
    assert delegate.calls[0][1]["collections"] == ["docs"]
    assert kb.requests == []


async def test_delegate_that_searches() -> None:
    """An assistant that searches while it is asked gets the sources, not itself."""
    web = FakeHandler("web", pages("a"))

    class Searching:
        """An agent runtime whose assistant searches."""

        calls = 0

        async def call(
            self, target: Any, payload: Any, *, timeout_s: float, within: Delegates
        ) -> Any:
            self.calls += 1
            found = await searcher.web(payload["query"], delegates=within)
            return {"items": [{"title": each.title, "url": each.url} for each in found.items]}

    assistants = Searching()
    searcher = Searcher(
        handlers=[web],
        uses=SearchUses.read({"search": "workers.search"}),
        delegates=Delegates(assistant=assistants),
    )
    result = await searcher.web("q")

    assert urls(result) == ["https://a.com/"]
    assert (assistants.calls, len(web.requests)) == (1, 1)


async def test_disabled() -> None:
    """uses.search: disabled switches automatic search off, and nothing that code asks for."""
    web = FakeHandler("web")
    searcher = Searcher(handlers=[web], uses=SearchUses.read({"search": "disabled"}))

    auto = await searcher.web("q", source="auto")
    hook = await searcher.web("q")

    assert (auto.items, auto.error) == ((), None)
    assert auto.notices == ("automatic search is switched off (uses.search: disabled)",)
    assert len(hook.items) == 1
    assert len(web.requests) == 1


# Several at once


async def test_all() -> None:
    """All results stand in the requests' order, those that failed too."""
    searcher = Searcher(
        handlers=[
            FakeHandler("web", pages("a", "b")),
            FakeHandler("kb", RuntimeError("x")),
            FakeHandler("db"),
        ]
    )
    results = await searcher.all(
        [
            {"query": "q", "type": "kb"},
            {"query": "q"},
            {"limit": 3},
            SearchRequest(query="q", type="db"),
            "not a request",  # type: ignore[list-item]
        ]
    )

    assert [result.type for result in results] == ["kb", "web", "web", "db", "web"]
    assert [result.error is None for result in results] == [False, True, False, True, False]


@pytest.mark.parametrize("mode", ["all", "any", "race"])
async def test_empty(mode: str) -> None:
    """Without requests there are no results, and nothing is said or kept."""
    kept, told = Kept(), list[Any]()
    searcher = Searcher(handlers=[FakeHandler()], recorder=kept)

    assert await getattr(searcher, mode)([], progress=told.append) == []
    assert (kept.records, told) == ([], [])


async def test_any() -> None:
    """The first that found something wins; the rest is cancelled and says so in the trace."""
    slow, empty = FakeHandler("db", HANG), FakeHandler("kb", [])
    gate = asyncio.Event()
    searcher = Searcher(handlers=[FakeHandler("web", gate, pages("a")), slow, empty])
    trace = Trace()
    running = asyncio.create_task(
        searcher.any([{"query": "q", "type": kind} for kind in ("db", "web", "kb")], trace=trace)
    )
    await slow.script.started.wait()
    await until(lambda: trace.nodes[0].children[2].ended)
    gate.set()
    results = await running

    assert results[0] is None
    assert urls(results[1]) == ["https://a.com/"]
    assert results[2] is not None
    assert results[2].total == 0
    assert [child.status for child in trace.nodes[0].children] == [
        "cancelled",
        "completed",
        "completed",
    ]
    assert slow.script.cancelled == 1
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_any_without_success() -> None:
    """If none finds anything, every slot says why."""
    searcher = Searcher(handlers=[FakeHandler("web", []), FakeHandler("kb", RuntimeError())])

    results = await searcher.any([{"query": "q"}, {"query": "q", "type": "kb"}])

    assert [result.error if result else "missing" for result in results] == [
        None,
        "the kb search failed with RuntimeError",
    ]


async def test_race() -> None:
    """The first that ends is the result, whatever it is."""
    hanging = FakeHandler("web", HANG)
    searcher = Searcher(handlers=[hanging, FakeHandler("kb", [])])
    trace = Trace()

    results = await searcher.race(
        [{"query": "q"}, {"query": "q", "type": "kb"}, {"query": "q"}], trace=trace
    )

    assert [result is None for result in results] == [True, False, True]
    assert [child.status for child in trace.nodes[0].children] == [
        "cancelled",
        "completed",
        "cancelled",
    ]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_cancelled_call() -> None:
    """A call that is cancelled leaves no task, and its trace says what it was."""
    handler = FakeHandler("web", HANG)
    trace = Trace()
    running = asyncio.create_task(
        Searcher(handlers=[handler]).all([{"query": "q"}] * 3, trace=trace)
    )
    await handler.script.started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert trace.nodes[0].status == "cancelled"
    assert {child.status for child in trace.nodes[0].children} == {"cancelled"}
    assert handler.script.running == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}


# Numbers and references


async def test_one_numbering_per_request() -> None:
    """Calls with one request id share their numbers, and what is found again keeps its own."""
    web, kb = FakeHandler("web", pages("a", "b"), pages("b", "c")), FakeHandler("kb")
    searcher = Searcher(handlers=[web, kb])

    first = await searcher.web("one", request_id="r1")
    second = await searcher.web("two", request_id="r1")
    third = await searcher.kb("three", request_id="r1")
    other = await searcher.kb("four", request_id="r2")

    assert [each.index for each in first.items] == [1, 2]
    assert [each.index for each in second.items] == [2, 3]
    assert [each.index for each in third.items] == [4]
    assert [each.index for each in other.items] == [1]
    assert {result.request_id for result in (first, second, third)} == {"r1"}
    context = searcher.references([first, second, third])
    assert sorted(each.index for each in context.items) == [1, 2, 3, 4]
    by_url = {each.url: each.index for each in context.items if each.type == "web"}
    assert by_url == {"https://a.com/": 1, "https://b.com/": 2, "https://c.com/": 3}


async def test_all_has_one_numbering() -> None:
    """Within a call numbers go by worth over all results; a page found twice has one number."""
    web = FakeHandler("web", pages("a", "b"), pages("b", "c"))
    searcher = Searcher(handlers=[web, FakeHandler("db")])

    results = await searcher.all(
        [
            {"query": "one"},
            {"query": "two"},
            {"query": "rows", "type": "db", "source": "user"},
        ]
    )
    context = searcher.references(results)

    assert [each.id for each in context.items] == ["ref_001", "ref_002", "ref_003", "ref_004"]
    assert [each.type for each in context.items] == ["db", "web", "web", "web"]
    assert context.items[1].url == "https://b.com/"
    assert [[each.index for each in result.items] for result in results] == [[3, 2], [2, 4], [1]]
    assert searcher.references(results) == context


async def test_references_of_separate_calls() -> None:
    """Results of calls that share no request are numbered together, from 1, without clashes."""
    searcher = Searcher(handlers=[FakeHandler("web", pages("a", "b"), pages("c", "a"))])
    one, two = await searcher.web("one"), await searcher.web("two", source="user")

    context = searcher.references([one, None, two])

    assert [(each.id, each.url, each.weight) for each in context.items] == [
        ("ref_001", "https://c.com/", 1.0),
        ("ref_002", "https://a.com/", 1.0),
        ("ref_003", "https://b.com/", 0.8),
    ]
    assert context.xml.count("<ref ") == 3
    assert 'weight="1.00" source="user"' in context.xml
    assert "data-ref-id" in context.prompt


async def test_references_of_results_made_by_hand() -> None:
    """Results from elsewhere need neither weights nor numbers."""
    made = SearchResult(type="web", query="q", items=tuple(pages("a")))

    context = Searcher().references(made)

    assert [(each.id, each.weight) for each in context.items] == [("ref_001", 0.6)]
    assert Searcher().references([]).xml == ""


# Progress, trace, records


async def test_progress() -> None:
    """A search says that it runs, what it found, and that this is all."""
    told: list[Any] = []
    await Searcher(handlers=[FakeHandler()]).web("q", progress=told.append)

    assert told == [
        {"type": "loading", "props": {"message": "Searching...", "done": False}},
        {"type": "loading", "props": {"message": "Found 1 reference", "done": False}},
        {"type": "loading", "props": {"message": "Found 1 reference", "done": True}},
    ]


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (["web"], "找到 2 条参考资料"),
        (["web", "web"], "找到 2 条参考资料"),
        (["web", "kb"], "找到 2 条参考资料（部分来源失败）"),
        (["db", "kb"], "找到 1 条参考资料（部分来源失败）"),
        (["kb", "kb"], "搜索失败"),
        (["none"], "搜索失败"),
    ],
)
async def test_progress_in_chinese(kinds: list[str], message: str) -> None:
    """What is said comes from what really happened, each reference counted once."""
    told: list[Any] = []

    async def tell(said: Any) -> None:
        told.append(said)

    searcher = Searcher(
        handlers=[
            FakeHandler("web", pages("a", "b")),
            FakeHandler("kb", RuntimeError()),
            FakeHandler("db"),
        ]
    )
    await searcher.all(
        [{"query": "q", "type": kind} for kind in kinds], progress=tell, locale="zh-CN"
    )

    assert [(said["props"]["message"], said["props"]["done"]) for said in told] == [
        ("正在搜索...", False),
        (message, False),
        (message, True),
    ]


async def test_progress_fails() -> None:
    """A receiver that fails is told no more, and the search goes on."""
    told: list[Any] = []

    def tell(said: Any) -> None:
        told.append(said)
        raise RuntimeError("closed")

    result = await Searcher(handlers=[FakeHandler()]).web("q", progress=tell)

    assert len(result.items) == 1
    assert len(told) == 1


async def test_trace() -> None:
    """The trace has a node for the call and a child per source, with logs and counts."""
    attempts = (Attempt(engine="main", outcome="ok", calls=1, duration_s=0.25, detail="2 rows"),)
    answer = SearchResult(
        type="web", query="q", items=tuple(pages("a")), attempts=attempts, notices=("a note",)
    )
    trace = Trace(clock=FakeClock())
    searcher = Searcher(handlers=[FakeHandler("web", answer), FakeHandler("kb", RuntimeError())])
    await searcher.all([{"query": "q"}, {"query": "q", "type": "kb"}], trace=trace)

    (node,) = trace.to_json()
    assert (node["status"], node["input"]) == ("completed", {"query": "q", "types": ["web", "kb"]})
    assert node["output"] == {"result_count": 1}
    web, kb = node["children"]
    assert (web["type"], web["label"], web["status"]) == ("search_item", "Web Search", "completed")
    assert [line["message"] for line in web["logs"]] == [
        "Engine main",
        "a note",
        "Search completed",
    ]
    assert web["logs"][0]["data"]["detail"] == "2 rows"
    assert (kb["status"], kb["error"]) == ("failed", "the kb search failed with RuntimeError")
    assert kb["logs"][0]["level"] == "warn"


async def test_record() -> None:
    """Every call is recorded with its results, references and configuration, and its owner."""
    kept = Kept()
    searcher = Searcher(
        handlers=[FakeHandler("web", pages("a")), FakeHandler("kb", RuntimeError())], recorder=kept
    )
    results = await searcher.all(
        [{"query": "q", "source": "auto"}, {"query": "q", "type": "kb"}],
        request_id="r1",
        owner="key-1",
    )

    (record,) = kept.records
    assert (record.request_id, record.mode, record.owner) == ("r1", "all", "key-1")
    assert list(record.results) == results
    assert [each.id for each in record.context.items] == ["ref_001"]
    assert record.source == "auto"
    assert record.config["uses"]["web"] == "builtin"
    assert record.config["weights"] == {"user": 1.0, "hook": 0.8, "auto": 0.6}
    assert record.started.tzinfo is not None


async def test_incognito() -> None:
    """An incognito call is not recorded."""
    kept = Kept()
    searcher = Searcher(handlers=[FakeHandler()], recorder=kept)

    await searcher.web("q", incognito=True)

    assert kept.records == []


async def test_queries_are_not_kept() -> None:
    """Where queries are not to be kept, neither the record nor the trace has one."""
    kept, trace = Kept(), Trace()
    searcher = Searcher(handlers=[FakeHandler()], recorder=kept, keep_queries=False)

    result = await searcher.web("secret question", keywords=True, trace=trace)

    assert result.query == "secret question"
    assert len(kept.records[0].context.items) == 1
    assert "secret" not in repr(kept.records)
    assert "secret" not in repr(trace.to_json())


async def test_errors_that_repeat_the_question() -> None:
    """Where queries are not to be kept, what a database search says of one is not either."""
    answer = SearchResult(
        type="db", query="q", error="'secret' was not understood", notices=("secret",)
    )
    kept, trace = Kept(), Trace()
    searcher = Searcher(handlers=[FakeHandler("db", answer)], recorder=kept, keep_queries=False)

    result = await searcher.db("secret", trace=trace)

    assert result.error == "'secret' was not understood"
    assert "secret" not in repr(kept.records)
    assert "secret" not in repr(trace.to_json())
    assert "privacy.store_queries" in str(kept.records[0].results[0].error)


async def test_recorder_fails() -> None:
    """A search whose record cannot be kept is still a search, and the trace says so."""
    trace = Trace()
    searcher = Searcher(handlers=[FakeHandler()], recorder=Kept(OSError("disk full")))

    result = await searcher.web("q", trace=trace)

    assert len(result.items) == 1
    assert trace.nodes[0].logs[-1].message == "The search could not be recorded"


async def test_new_configuration() -> None:
    """A new configuration holds for the next search."""
    searcher = Searcher(handlers=[FakeHandler()])
    searcher.configure(config(weights={"hook": 0.5}), SearchUses())

    assert (await searcher.web("q")).items[0].weight == 0.5


# With real engines behind it


def web_search(engines: list[FakeEngine], *, size: int = 64) -> WebSearch:
    class Nowhere:
        async def send(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("no engine here goes out")

    fetcher: Fetcher = Nowhere()
    return WebSearch(
        {engine.name: engine for engine in engines},
        fetcher=fetcher,
        limiter=Limiter(size, queue_timeout_s=30),
        cache=Cache(ttl_s=0, size_of=found_bytes),
        health=Health(),
        settings=SearchSettings(concurrency=size, cache_ttl_s=0),
    )


async def test_two_hundred_with_a_slow_engine() -> None:
    """
    Two hundred searches at once are held up by the slow engine's own only, and when they are
    cancelled no task and no place in the limiter is left.
    """
    quick = FakeEngine("quick", page("https://a.com/"))
    slow = FakeEngine("slow", HANG)
    web = web_search([quick, slow], size=256)
    searcher = Searcher(handlers=[WebHandler(web)])
    requests = [
        {"query": f"question {number}", "engine": "slow" if number == 70 else "quick", "limit": 5}
        for number in range(200)
    ]
    trace = Trace()
    running = asyncio.create_task(searcher.all(requests, trace=trace))
    await slow.script.started.wait()
    await until(lambda: sum(child.ended for child in trace.nodes[0].children) == 199)

    assert not running.done()
    assert web.limiter.counts.running == 1
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert web.limiter.counts.running == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert slow.script.cancelled == 1


async def test_any_frees_the_limiter() -> None:
    """After the first success the other searches hold no place in the limiter any more."""
    slow = FakeEngine("slow", HANG)
    web = web_search([FakeEngine("quick", page("https://a.com/")), slow])
    searcher = Searcher(handlers=[WebHandler(web)])

    results = await searcher.any(
        [{"query": "a", "engine": "slow"}, {"query": "b", "engine": "quick"}]
    )

    assert results[0] is None
    assert urls(results[1]) == ["https://a.com/"]
    assert (web.limiter.counts.running, web.limiter.counts.waiting) == (0, 0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
