"""Search over HTTP, against a real server: what is answered, what is kept, and for whom."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

from desk import Desk, OpenDesk, answers, asks, whole
from recorded import recorded_json, recording
from refdesk.errors import EngineError, EngineTimeout
from refdesk.testing.fakes import FakeEngine
from refdesk.types import ResultItem, WebPage, WebQuery

CODEX = "openai-responses/client-codex-0.171.0-alpha-search"


def page(*titles: str, **changes: Any) -> WebPage:
    """A page with a result for each title."""
    return WebPage(
        items=tuple(
            ResultItem(
                title=title,
                url=f"https://example.com/{title.lower()}",
                content=f"About {title}.",
                published="2026-01-02",
                **changes,
            )
            for title in titles
        )
    )


async def search(desk: Desk, path: str = "/v1/search", **body: Any) -> httpx2.Response:
    """Search for something."""
    headers = body.pop("headers", {})
    return await desk.post(path, {"query": "who"} | body, **headers)


async def references(desk: Desk, answer: httpx2.Response, **headers: str) -> httpx2.Response:
    """Open the references of an answer."""
    return await desk.client.get(
        f"/v1/references/{answer.headers['x-request-id']}",
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


async def test_answer(opened: OpenDesk) -> None:
    """The answer has the shape that Perplexity's and LiteLLM's clients read."""
    async with opened(FakeEngine("main", page("A", "B"))) as desk:
        answer = await search(desk, max_results=5)
        assert answer.status_code == 200
        assert answer.headers["x-refdesk-search"] == "gateway; engine=main; results=2"
        body = answer.json()
        assert body["id"] == answer.headers["x-request-id"]
        assert body["object"] == "search"
        assert body["results"][0] == {
            "title": "A",
            "url": "https://example.com/a",
            "snippet": "About A.",
            "date": "2026-01-02",
            "last_updated": None,
        }
        assert "notices" not in body


async def test_options(opened: OpenDesk) -> None:
    """What clients ask for reaches the engine; a domain with a minus is one to leave out."""
    engine = FakeEngine("main", page("A"))
    async with opened(engine) as desk:
        answer = await search(
            desk,
            search_domain_filter=["example.com", "-bad.example.com"],
            search_recency_filter="month",
            search_language_filter=["de", "en"],
            country="de",
            max_tokens_per_page=256,
        )
        (query,) = engine.queries
    assert query.text == "who"
    assert (query.sites, query.blocked_sites) == (("example.com",), ("bad.example.com",))
    assert (query.time_range, query.language, query.country) == ("month", "de", "DE")
    assert "max_tokens_per_page is not used here" in answer.json()["notices"]


async def test_several_queries(opened: OpenDesk) -> None:
    """A list of queries gives one list of results, the best of each first, each page once."""
    engine = FakeEngine("main", page("A", "B"), page("C", "A"))
    async with opened(engine) as desk:
        answer = await search(desk, query=["one", "two", "one"])
        titles = [each["title"] for each in answer.json()["results"]]
        assert sorted(titles) == ["A", "B", "C"]
        assert titles[0] == "A"
        assert [query.text for query in engine.queries] == ["one", "two"]
        opened_again = (await references(desk, answer)).json()
        assert [each["title"] for each in opened_again["references"]] == titles
        assert [each["index"] for each in opened_again["references"]] == [1, 2, 3]


async def test_references(opened: OpenDesk) -> None:
    """The request's id opens what was shown, in its order, all or one by its number."""
    async with opened(FakeEngine("main", page("A", "B"))) as desk:
        answer = await search(desk)
        ident = answer.headers["x-request-id"]
        shown = (await references(desk, answer)).json()
        assert (shown["request_id"], shown["total"]) == (ident, 2)
        assert [each["title"] for each in shown["references"]] == ["A", "B"]
        one = await desk.client.get(f"/v1/references/{ident}/2")
        assert one.json() == shown["references"][1]
        assert one.json() == {
            "id": "ref_002",
            "index": 2,
            "type": "web",
            "source": "user",
            "weight": 1.0,
            "score": None,
            "title": "B",
            "content": "About B.",
            "url": "https://example.com/b",
            "snippet": "About B.",
            "metadata": {"published": "2026-01-02"},
        }
        head = await desk.client.head(f"/v1/references/{ident}")
        assert (head.status_code, head.content) == (200, b"")


async def test_references_of_the_gateway(opened: OpenDesk) -> None:
    """What the gateway found for a model is opened by that answer's id, numbered as shown."""
    async with opened(FakeEngine("main", page("A", "B"))) as desk:
        desk.upstream.will(whole(answers("chat")))
        answer = await desk.ask("chat")
        shown = (await references(desk, answer)).json()
    assert [(each["index"], each["title"]) for each in shown["references"]] == [(1, "A"), (2, "B")]
    assert shown["references"][0]["metadata"]["engine"] == "main"


async def test_failed_search_of_the_gateway(opened: OpenDesk) -> None:
    """A search that failed for a model is kept with its error, and has no references."""
    async with opened(FakeEngine("main", EngineTimeout("too slow"))) as desk:
        desk.upstream.will(whole(answers("chat")))
        answer = await desk.ask("chat")
        assert answer.status_code == 200
        assert (await references(desk, answer)).json()["total"] == 0
        (record,) = await desk.store.run(
            desk.store.searches.by_request, answer.headers["x-request-id"]
        )
    assert record.error == "too slow"
    assert (record.source, record.engine, record.conversation) == ("gateway", "main", None)
    assert record.duration_ms is not None


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("req_unknown", 404, "no search of a request 'req_unknown' is kept"),
        ("", 404, "no search of a request '' is kept"),
        ("{id}/0", 400, "'0' is no number of a reference"),
        ("{id}/-1", 400, "'-1' is no number"),
        ("{id}/x", 400, "'x' is no number"),
        ("{id}/1/2", 400, "'1/2' is no number"),
        ("{id}/99999999999999999999", 400, "is no number"),
        ("{id}/2", 404, "no reference with the number 2; it has 1"),
    ],
)
async def test_no_such_reference(opened: OpenDesk, path: str, status: int, told: str) -> None:
    """What cannot be opened is told with what is wrong, in OpenAI's error shape."""
    async with opened(FakeEngine("main", page("A"))) as desk:
        ident = (await search(desk)).headers["x-request-id"]
        answer = await desk.client.get(f"/v1/references/{path.format(id=ident)}")
    assert answer.status_code == status
    assert answer.json()["error"].keys() == {"message", "type", "param", "code"}
    assert told in answer.json()["error"]["message"]


async def test_whose_they_are(opened: OpenDesk) -> None:
    """References are opened with the key that searched, with no other and with none."""
    async with opened(FakeEngine("main", page("A")), auth={"required": True}) as desk:
        keys = desk.store.keys
        tokens = [(await asyncio.to_thread(keys.create, name))[0] for name in ("ann", "bob")]
        await asyncio.to_thread(desk.application.keys.reload)
        assert (await search(desk)).status_code == 401
        answer = await search(desk, headers={"authorization": f"Bearer {tokens[0]}"})
        assert answer.status_code == 200
        assert (await references(desk, answer, x_api_key=tokens[0])).json()["total"] == 1
        foreign = await references(desk, answer, x_api_key=tokens[1])
        assert foreign.status_code == 403
        assert foreign.json()["error"]["type"] == "permission_error"
        assert (await references(desk, answer)).status_code == 401


async def test_without_keys(opened: OpenDesk) -> None:
    """Where no keys are needed, what was searched without one is everybody's, the rest is not."""
    async with opened(FakeEngine("main", page("A"), page("B"))) as desk:
        token = (await asyncio.to_thread(desk.store.keys.create, "ann"))[0]
        await asyncio.to_thread(desk.application.keys.reload)
        anybodys = await search(desk)
        anns = await search(desk, query="x", headers={"x_api_key": token})
        assert (await references(desk, anybodys, x_api_key=token)).status_code == 200
        assert (await references(desk, anns, x_api_key=token)).status_code == 200
        assert (await references(desk, anns)).status_code == 403


async def test_incognito(opened: OpenDesk) -> None:
    """A search that is not to be stored is answered, counted, and kept nowhere."""
    async with opened(FakeEngine("main", page("A"), page("B"), page("C"))) as desk:
        desk.upstream.will(whole(answers("chat")))
        given = [
            await search(desk, store=False),
            await search(desk, query="x", headers={"x_refdesk_incognito": "1"}),
            await desk.post("/v1/chat/completions", asks("chat"), x_refdesk_incognito="true"),
        ]
        for answer in given:
            assert answer.status_code == 200
            assert answer.headers["x-refdesk-search"].startswith("gateway; ")
            assert (await references(desk, answer)).status_code == 404
        entry = await desk.last()
        assert entry.incognito
        assert await desk.store.run(desk.store.requests.list) == []
        assert b"x-refdesk-incognito" not in desk.upstream.seen[-1].raw.lower()


async def test_queries_are_not_kept(opened: OpenDesk) -> None:
    """With `store_queries: false` results can be opened, and no record has the question."""
    async with opened(
        FakeEngine("main", page("A"), page("B")), privacy={"store_queries": False}
    ) as desk:
        answer = await search(desk, query="a private question")
        assert (await references(desk, answer)).json()["total"] == 1
        desk.upstream.will(whole(answers("chat")))
        asked = await desk.ask("chat", text="another private question")
        await desk.last()
        for one in (answer, asked):
            (record,) = await desk.store.run(
                desk.store.searches.by_request, one.headers["x-request-id"]
            )
            assert record.query is None
            assert "private" not in repr(
                (record.config, record.keywords, record.xml, record.error, record.dsl)
            )
        assert {row.record.query for row in await desk.store.run(desk.store.requests.list)} == {
            None
        }


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        (EngineTimeout("too slow"), 504, "engine_timeout"),
        (EngineError("refused", outcome="bad_key"), 502, "engine_bad_key"),
        (EngineError("refused", outcome="unreachable"), 502, "engine_unreachable"),
    ],
)
async def test_failure(opened: OpenDesk, failure: Exception, status: int, code: str) -> None:
    """A search that failed is an error with its reason as the code; it is kept as failed."""
    async with opened(FakeEngine("main", failure)) as desk:
        answer = await search(desk)
        assert answer.status_code == status
        assert answer.headers["x-refdesk-search"] == f"degraded; reason={code}"
        error = answer.json()["error"]
        assert error["code"] == code
        assert str(failure) in error["message"]
        shown = (await references(desk, answer)).json()
        assert (shown["references"], shown["total"]) == ([], 0)
        entry = await desk.last()
        assert (entry.wire, entry.status, entry.outcome.reason) == ("search", status, code)


async def test_one_of_several_fails(opened: OpenDesk) -> None:
    """Where some searches found something, what failed is a notice."""
    engine = FakeEngine("main", page("A"), EngineError("refused", outcome="bad_request"))
    async with opened(engine) as desk:
        answer = await search(desk, query=["one", "two"])
    assert answer.status_code == 200
    assert [each["title"] for each in answer.json()["results"]] == ["A"]
    assert "the search failed: refused" in answer.json()["notices"]


async def test_nothing_found(opened: OpenDesk) -> None:
    """Nothing found is an empty list."""
    async with opened(FakeEngine("main", WebPage())) as desk:
        answer = await search(desk)
        assert (answer.status_code, answer.json()["results"]) == (200, [])


async def test_named_engine(opened: OpenDesk) -> None:
    """The path may name the engine; a wrong name is told with the known ones."""
    first, second = FakeEngine("first", page("A"), priority=9), FakeEngine("second", page("B"))
    off = FakeEngine("off", enabled=False)
    async with opened(first, second, off) as desk:
        answer = await search(desk, "/v1/search/second")
        assert [each["title"] for each in answer.json()["results"]] == ["B"]
        for name, told in (
            ("secnd", "did you mean 'second'?"),
            ("off", "is disabled"),
            ("kb:handbook", "no collection is called 'handbook'; known: none"),
            ("db:shop", "no database is connected here; the operator adds one"),
        ):
            refused = await search(desk, f"/v1/search/{name}")
            assert refused.status_code == 404
            assert told in refused.json()["error"]["message"]
        assert first.queries == []


async def test_spent_key(opened: OpenDesk) -> None:
    """A key that has done its searches of the day is told so; searches count on its account."""
    async with opened(FakeEngine("main", page("A"), page("B"))) as desk:
        token, key = await asyncio.to_thread(desk.store.keys.create, "ann", daily_limit=1)
        await asyncio.to_thread(desk.application.keys.reload)
        assert (await search(desk, headers={"x_api_key": token})).status_code == 200
        assert desk.store.ledger.today(key_id=key.id).searches == 1
        refused = await search(desk, query="x", headers={"x_api_key": token})
        assert refused.status_code == 429
        assert "may do 1 searches a day" in refused.json()["error"]["message"]
        assert 0 < int(refused.headers["retry-after"]) <= 86_400


class Waiting(FakeEngine):
    """An engine that says when it is asked, and never answers."""

    def __init__(self) -> None:
        super().__init__("main")
        self.asked = asyncio.Event()

    async def search(self, query: WebQuery, *, timeout_s: float) -> WebPage:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError("it was to wait until cancelled")


async def test_client_leaves(opened: OpenDesk) -> None:
    """When the client hangs up the search is cancelled, and nothing of it is left."""
    engine = Waiting()
    async with opened(engine) as desk:
        _, writer = await asyncio.open_connection(desk.host, desk.port)
        writer.write(desk.http("POST", "/v1/search", b'{"query": "who"}'))
        await engine.asked.wait()
        writer.close()
        await writer.wait_closed()
        entry = await desk.last()
        assert entry.end == "client_disconnected"
        counts = desk.application.web.limiter.counts
        assert (counts.running, counts.waiting) == (0, 0)


async def test_codex(opened: OpenDesk) -> None:
    """The real Codex's request is answered in the shape it reads; what is not done is told."""
    engine = FakeEngine("main", page("A", "<b>B</b>"), page("C"))
    async with opened(engine) as desk:
        answer = await desk.post("/v1/alpha/search", recording(f"{CODEX}/request.json"))
        body = answer.json()
        assert answer.status_code == 200
        assert body.keys() == recorded_json(f"{CODEX}/response.json").keys()
        assert "[1] " in body["output"]
        assert "URL: https://example.com/c" in body["output"]
        assert "<b>" not in body["output"]
        assert "open is not done here" in body["output"]
        assert body["results"][0].keys() == {"type", "title", "url", "snippet"}
        first = engine.queries[0]
        assert first.text == "Python 3.14 release date"
        assert (first.sites, first.time_range, first.country) == (("example.com",), "month", "US")
        assert (await references(desk, answer)).json()["total"] == len(body["results"])


async def test_codex_is_told_of_a_failure(opened: OpenDesk) -> None:
    """A failed search is told to the model, since an HTTP error would end its turn."""
    async with opened(FakeEngine("main", EngineTimeout("too slow"))) as desk:
        body = json.dumps({"commands": {"search_query": [{"q": "x"}]}}).encode()
        answer = await desk.post("/v1/alpha/search", body)
    assert answer.status_code == 200
    assert "the search failed: too slow" in answer.json()["output"]
    assert answer.json()["results"] == []


async def test_simple_alpha(opened: OpenDesk) -> None:
    """A plain query is understood there too."""
    async with opened(FakeEngine("main", page("A"))) as desk:
        answer = await desk.post("/alpha/search", {"query": "who"})
    assert answer.json()["results"][0]["title"] == "A"


async def test_wrong_method(opened: OpenDesk) -> None:
    """A path asked with another method says which it takes; the list of routes has them all."""
    async with opened() as desk:
        answer = await desk.client.get("/v1/search")
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        answer = await desk.client.post("/v1/references/x", json={})
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
        unknown = (await desk.client.get("/v1/nothing")).json()["error"]["message"]
        assert "POST /v1/search/{engine}" in unknown
        assert "GET /v1/references/{request_id}[/{index}]" in unknown


@pytest.mark.parametrize("path", ["/v1/search", "/v1/search/main", "/v1/alpha/search"])
@pytest.mark.parametrize(
    "text",
    [
        "kubectl apply -f <file> --dry-run=server meaning",
        "<system-reminder>x</system-reminder> what is it",
        "Generate a title for this conversation",
        "are you sure?",
    ],
)
async def test_the_text_is_asked_as_it_is_given(opened: OpenDesk, path: str, text: str) -> None:
    """Where a caller asks for a search itself, its text is not read as a message."""
    engine = FakeEngine("main", page("A"))
    async with opened(engine) as desk:
        await desk.post(path, {"query": text})
    assert [query.text for query in engine.queries] == [text]
