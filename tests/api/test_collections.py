"""Collections over HTTP, against a real server: made, filled, searched, kept from others."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2
import lancedb  # noqa: F401 - loaded here, where no client waits for it
import onnxruntime  # noqa: F401
import pytest

from desk import PATHS, Desk, OpenDesk, Stall, Upstream, answers, asks, sse, stream, whole
from refdesk.errors import StoreError

BASE = "/api/v1/collections"
HANDBOOK = (
    b"# Expenses\n\nEmployees claim expenses within 30 days.\n\n## Travel\n\nTrains go first.\n"
)
PROBLEM = "application/problem+json"


@pytest.fixture
def started(opened: OpenDesk) -> OpenDesk:
    """Starts a desk whose client waits for as long as loading a model takes on a busy machine."""

    @asynccontextmanager
    async def start(**changes: Any) -> AsyncIterator[Desk]:
        async with opened(**changes) as desk:
            desk.client.timeout = 50
            yield desk

    return start  # type: ignore[return-value]


async def made(desk: Desk, name: str = "handbook", **fields: Any) -> httpx2.Response:
    """Make a collection."""
    return await desk.client.post(BASE, json={"name": name, **fields})


async def filled(desk: Desk, name: str = "handbook", **fields: Any) -> dict[str, Any]:
    """Make a collection with a document in it, and return the document."""
    assert (await made(desk, name, **fields)).status_code == 201
    answer = await desk.client.post(
        f"{BASE}/{name}/documents", files={"file": ("handbook.md", HANDBOOK)}
    )
    assert answer.status_code == 201, answer.text
    document: dict[str, Any] = answer.json()["added"][0]["document"]
    return document


async def test_whole_way(started: OpenDesk) -> None:
    """A file is uploaded, found, opened again by its reference with what is around it, removed."""
    async with started() as desk:
        document = await filled(desk)
        assert (document["status"], document["report"]["coverage"]) == ("ready", 1.0)
        listed = (await desk.client.get(BASE)).json()
        assert (listed["total"], listed["collections"][0]["ready"]) == (1, 1)

        found = await desk.client.post(
            f"{BASE}/handbook/search", json={"query": "when are expenses claimed", "limit": 1}
        )
        (item,) = found.json()["items"]
        assert "within 30 days" in item["content"]
        assert item["metadata"]["heading"] == ["Expenses"]

        reference = (
            await desk.client.get(f"/v1/references/{found.headers['x-request-id']}/1")
        ).json()
        opening = reference["opened"]
        assert opening["document"]["id"] == document["id"]
        assert opening["heading"] == ["Expenses"]
        text = HANDBOOK.decode()
        assert opening["passage"] == text[opening["start"] : opening["end"]]
        assert opening["after"] == text[opening["end"] :]
        assert opening["before"] == text[: opening["start"]]

        by_chunk = await desk.client.get(f"{BASE}/handbook/passages/{opening['chunk_id']}")
        assert by_chunk.json() == opening

        path = f"{BASE}/handbook/documents/{document['id']}"
        part = (await desk.client.get(f"{path}?start=2&end=10")).json()["text"]
        assert part == {"start": 2, "end": 10, "text": "Expenses"}
        assert (await desk.client.delete(path)).json()["removed"] is True
        assert (await desk.client.get(path)).status_code == 404
        gone = (await desk.client.get(f"/v1/references/{found.headers['x-request-id']}/1")).json()
        assert gone["opened"] is None
        assert "removed" in gone["notices"][0]
        assert gone["content"] == item["content"]


async def test_merged_passage(started: OpenDesk) -> None:
    """The reference of a passage that neighbours were made into opens all of it."""
    text = "\n\n".join(f"Rule {n}: employees claim travel expenses here." for n in range(8))
    async with started() as desk:
        await made(desk, chunk_chars=100)
        await desk.client.post(f"{BASE}/handbook/documents?name=r.txt", content=text.encode())
        found = await desk.client.post(
            f"{BASE}/handbook/search", json={"query": "which rules on travel expenses", "limit": 1}
        )
        (item,) = found.json()["items"]
        place = item["metadata"]
        assert len(place["chunk_ids"]) > 1
        path = f"/v1/references/{found.headers['x-request-id']}/1"
        opening = (await desk.client.get(path)).json()["opened"]
        assert opening["passage"] == item["content"] == text[place["start"] : place["end"]]
        assert (opening["start"], opening["end"]) == (place["start"], place["end"])
        assert (opening["before"] + opening["passage"] + opening["after"]) == text


async def test_store_down(started: OpenDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that does not answer is a 503, and no fault of the request's or of the code's."""

    def down() -> list[Any]:
        raise StoreError("the store does not answer")

    async with started() as desk:
        await filled(desk)
        monkeypatch.setattr(desk.store.knowledge, "collections", down)
        body = {"query": "expenses"}
        by_engine = await desk.post("/v1/search/kb:handbook", body)
        assert by_engine.status_code == 503
        assert "the store does not answer" in by_engine.json()["error"]["message"]
        by_route = await desk.client.post(f"{BASE}/handbook/search", json=body)
        assert by_route.status_code == 503


async def test_search_by_engine_path(started: OpenDesk) -> None:
    """`/v1/search/kb:<collection>` answers in the shape of every search there."""
    async with started() as desk:
        await filled(desk)
        answer = await desk.post("/v1/search/kb:handbook", {"query": "expenses"})
        assert answer.status_code == 200
        assert "30 days" in answer.json()["results"][0]["snippet"]
        assert desk.engine.queries == []


@pytest.mark.parametrize("wire", ["messages", "chat", "responses"])
async def test_engine_of_a_model(started: OpenDesk, wire: str) -> None:
    """A model whose engine is a collection is given passages, and the web is not asked."""
    async with started(
        collections={"handbook": {}},
        models={"m": {"upstream": "up", "search": {"enabled": "on", "engine": "kb:handbook"}}},
    ) as desk:
        upload = await desk.client.post(
            f"{BASE}/handbook/documents", files={"file": ("handbook.md", HANDBOOK)}
        )
        assert upload.status_code == 201
        desk.upstream.will(whole(answers(wire)))
        paths = {"messages": "/messages", "chat": "/chat/completions", "responses": "/responses"}
        answer = await desk.post(
            f"/v1{paths[wire]}", asks(wire, "When do employees claim expenses?")
        )
        assert answer.status_code == 200
        assert answer.headers["x-refdesk-search"].startswith("gateway; engine=kb:handbook; results")
        sent = desk.upstream.seen[0].body.decode()
        assert "within 30 days" in sent
        assert f"{BASE}/handbook/passages/" in sent
        assert desk.engine.queries == []
        reference = await desk.client.get(f"/v1/references/{answer.headers['x-request-id']}/1")
        assert reference.json()["type"] == "kb"
        assert "30 days" in reference.json()["opened"]["passage"]


@pytest.mark.parametrize("wire", ["messages", "chat", "responses"])
async def test_streamed_engine_of_a_model(started: OpenDesk, wire: str) -> None:
    """A streamed answer cites passages by an address that opens them, too."""
    models = {"m": {"upstream": "up", "search": {"enabled": "on", "engine": "kb:handbook"}}}
    async with started(models=models) as desk:
        await filled(desk)
        said = "They claim within 30 days [1]; nobody knows more [9]."
        desk.upstream.will(sse(b"".join(stream(wire, said)), cut=7))
        question = asks(wire, "When do employees claim expenses?", stream=True)
        answer = await desk.post(PATHS[wire], question)
        assert answer.status_code == 200
        (sent,) = desk.upstream.seen
        assert "within 30 days" in sent.body.decode()
        cited = set(re.findall(r"http[^\s\"\\)]+/passages/[^\s\"\\)]+", answer.text))
        reference = await desk.client.get(f"/v1/references/{answer.headers['x-request-id']}/1")
        chunk_id = reference.json()["opened"]["chunk_id"]
        assert f"{BASE}/handbook/passages/{chunk_id}" in {urlsplit(url).path for url in cited}
        assert desk.engine.queries == []


async def test_engine_made_later(started: OpenDesk) -> None:
    """A model's engine may be a collection that is made by request; until then it degrades."""
    models = {"m": {"upstream": "up", "search": {"enabled": "on", "engine": "kb:handbook"}}}
    async with started(models=models) as desk:
        question = asks("messages", "When do employees claim expenses?")
        desk.upstream.will(whole(answers("messages")), whole(answers("messages")))
        before = await desk.post("/v1/messages", question)
        assert before.status_code == 200
        assert before.headers["x-refdesk-search"].startswith("degraded")
        assert desk.engine.queries == []
        await filled(desk)
        after = await desk.post("/v1/messages", question)
        assert after.headers["x-refdesk-search"].startswith("gateway; engine=kb:handbook; results")
        assert "within 30 days" in desk.upstream.seen[1].body.decode()


async def test_engine_finds_nothing(started: OpenDesk) -> None:
    """A collection that has nothing, or is not there, degrades; the web is no way out."""
    models = {"m": {"upstream": "up", "search": {"enabled": "on", "engine": "kb:empty"}}}
    async with started(collections={"empty": {}}, models=models) as desk:
        desk.upstream.will(whole(answers("messages")))
        answer = await desk.post("/v1/messages", asks("messages"))
        assert answer.status_code == 200
        assert answer.headers["x-refdesk-search"] == "degraded; reason=no_results"
        assert desk.engine.queries == []


async def test_upload_outcomes(started: OpenDesk) -> None:
    """The same bytes are no work, other bytes replace; what has no text is told, and is 422."""
    async with started() as desk:
        first = await filled(desk)
        where = f"{BASE}/handbook/documents"
        again = await desk.client.post(f"{where}?name=handbook.md", content=HANDBOOK)
        assert again.json()["added"][0]["outcome"] == "unchanged"
        other = await desk.client.post(f"{where}?name=handbook.md", content=HANDBOOK + b"\nNew.\n")
        assert other.json()["added"][0]["outcome"] == "updated"
        assert other.json()["added"][0]["document"]["id"] == first["id"]
        bad = await desk.client.post(f"{where}?name=broken.pdf", content=b"%PDF-1.7 broken")
        assert (bad.status_code, bad.headers["content-type"]) == (422, PROBLEM)
        assert "broken.pdf" in bad.json()["detail"]
        assert bad.json()["added"][0]["outcome"] in ("failed", "empty")
        mixed = await desk.client.post(
            where, files=[("f", ("broken.pdf", b"%PDF-1.7 x")), ("f", ("ok.txt", b"All well."))]
        )
        assert mixed.status_code == 200
        names = {
            one["key"]: one["status"] for one in (await desk.client.get(where)).json()["documents"]
        }
        assert names["ok.txt"] == "ready"
        assert names.get("broken.pdf", "failed") != "ready"


async def test_the_same_file_twice_at_once(started: OpenDesk) -> None:
    """Of two uploads of one file at the same time, one is work, and one finds it there."""
    async with started() as desk:
        await made(desk)
        where = f"{BASE}/handbook/documents?name=handbook.md"
        answers = await asyncio.gather(
            *(desk.client.post(where, content=HANDBOOK) for _ in range(2))
        )
        outcomes = [answer.json()["added"][0]["outcome"] for answer in answers]
        assert sorted(outcomes) == ["added", "unchanged"]


async def test_removed_and_added_again(started: OpenDesk) -> None:
    """What was removed is not found any more, and can be added anew under the same name."""
    async with started() as desk:
        document = await filled(desk)
        path = f"{BASE}/handbook/documents/{document['id']}"
        assert (await desk.client.delete(path)).status_code == 200
        search = {"query": "when are expenses claimed"}
        found = await desk.client.post(f"{BASE}/handbook/search", json=search)
        assert found.json()["total"] == 0
        again = await desk.client.post(
            f"{BASE}/handbook/documents?name=handbook.md", content=HANDBOOK
        )
        assert again.json()["added"][0]["outcome"] == "added"
        found = await desk.client.post(f"{BASE}/handbook/search", json=search)
        assert found.json()["total"] > 0


async def test_a_client_that_leaves(started: OpenDesk) -> None:
    """When the client of an upload leaves, the embeddings endpoint is asked no more."""
    upstream = Upstream()
    await upstream.start()
    upstream.will([Stall()])
    embedder = {"type": "openai", "model": "m", "base_url": upstream.url, "dimensions": 2}
    async with started(upstream=upstream, collections={"far": {"embedder": embedder}}) as desk:
        where = f"{BASE}/far/documents?name=a.txt"
        upload = asyncio.create_task(desk.client.post(where, content=b"Words."))
        await upstream.until(lambda: len(upstream.seen) == 1)
        upload.cancel()
        await upstream.until(lambda: upstream.open == 0)
        await desk.idle()
        assert len(upstream.seen) == 1
        (job,) = desk.store.jobs.open("far")
        assert (job.owner, job.key) == (None, "a.txt")
        vectors = b'{"data": [{"embedding": [0.6, 0.8], "index": 0}]}'
        upstream.will(whole(vectors))
        again = await desk.client.post(where, content=b"Newer words.")
        assert (again.status_code, len(upstream.seen)) == (201, 2)
        assert desk.store.jobs.open("far") == []
    await upstream.stop()


HOSTILE = {
    "../../etc/cron.d/x": "x",
    "C:\\windows\\evil.txt": "evil.txt",
    "a\0b.txt": "ab.txt",
    "..": "unnamed",
    "é" * 300 + ".txt": "é" * 255,
    "CON": "CON",
}


async def test_names_lead_nowhere(started: OpenDesk) -> None:
    """The name of an upload is text: nothing is written under it, whatever it says."""
    async with started() as desk:
        await made(desk)
        for name, key in HOSTILE.items():
            where = f"{BASE}/handbook/documents?name={quote(name, safe='')}"
            answer = await desk.client.post(where, content=b"All is well.")
            assert answer.status_code in (200, 201), answer.text
            assert answer.json()["added"][0]["key"] == key


async def test_the_embedder_of_a_configured_collection(started: OpenDesk) -> None:
    """A new collection may have the embedder of a configured one by name, its key included."""
    upstream = Upstream()
    await upstream.start()
    upstream.will(whole(b'{"data": [{"embedding": [0.6, 0.8], "index": 0}]}'))
    far = {"type": "openai", "model": "m", "base_url": upstream.url, "api_key": "canary-5e1"}
    async with started(upstream=upstream, collections={"far": {"embedder": far}}) as desk:
        answer = await made(desk, "notes", embedder="far")
        assert answer.status_code == 201, answer.text
        assert answer.json()["embedder"] == {"type": "collection", "name": "far"}
        again = await made(desk, "more", embedder=answer.json()["embedder"] | {"type": "far"})
        assert again.status_code == 400
        where = f"{BASE}/notes"
        added = await desk.client.post(f"{where}/documents?name=a.txt", content=b"All is well.")
        assert added.status_code == 201, added.text
        found = await desk.client.post(f"{where}/search", json={"query": "is it well"})
        assert found.json()["total"] == 1
        assert {each.header("authorization") for each in upstream.seen} == {"Bearer canary-5e1"}
        shown = await desk.client.get(where)
        assert shown.json()["embedder_id"] == "openai (m)"
        assert "canary" not in answer.text + added.text + found.text + shown.text
        for embedder, identity in (("minilm", "minilm"), ({"type": "far"}, "openai (m)")):
            anew = await desk.client.post(f"{where}/reindex", json={"embedder": embedder})
            assert anew.status_code == 200, anew.text
            assert anew.json()["embedder_id"].startswith(identity)
        own = await desk.client.post(f"{BASE}/far/reindex", json={"embedder": "far"})
        assert own.status_code == 200, own.text
        other = await desk.client.post(f"{BASE}/far/reindex", json={"embedder": "minilm"})
        assert (other.status_code, "set collections.far.embedder" in other.text) == (409, True)
    await upstream.stop()


OWN_EMBEDDERS: list[Any] = [
    {"type": "openai", "model": "m", "base_url": "URL"},
    {"type": "openai", "model": "m", "base_url": "URL", "api_key_env": "EMBEDDINGS_API_KEY"},
    {"type": "openai", "model": "m", "base_url": "URL", "api_key_env": "AWS_SECRET_ACCESS_KEY"},
    {"type": "openai", "model": "m", "base_url": "URL", "api_key": "canary-5e2"},
    {"type": "openai", "model": "m"},
    {"type": "openai"},
    {"type": "minilm", "base_url": "URL"},
    {"type": "far", "base_url": "URL"},
    {"type": "collection", "name": "far"},
    {"type": "collection", "name": "private"},
    "openai",
    "openay",
    "private",
    "made",
    "",
]
"""Embedders that a client may not have: each would send text, or a key, where the client says."""


async def test_no_embedder_of_the_clients_own(
    started: OpenDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over HTTP an embedder is only named: no address, variable, key or option is taken."""
    monkeypatch.setenv("EMBEDDINGS_API_KEY", "canary-5e3")
    collections = {"far": {}, "private": {"permission": {"team": "law"}}}
    async with started(collections=collections) as desk:
        await made(desk, "made")
        await made(desk, "book")
        for own in OWN_EMBEDDERS:
            embedder = own
            if isinstance(own, dict):
                embedder = {k: desk.upstream.url if v == "URL" else v for k, v in own.items()}
            for refused in (
                await made(desk, "other", embedder=embedder),
                await desk.client.post(f"{BASE}/book/reindex", json={"embedder": embedder}),
            ):
                param = refused.json().get("param")
                assert (refused.status_code, param) == (400, "embedder"), (own, refused.text)
                assert "canary" not in refused.text
                told = refused.json()["detail"]
                if own:
                    assert "builtin one (e5, minilm)" in told
                    assert "is used (far)" in told
        listed = (await desk.client.get(BASE)).json()["collections"]
        assert [each["name"] for each in listed] == ["book", "far", "made"]
        assert desk.upstream.seen == []


REFUSED: list[tuple[str, str, dict[str, Any], int, str]] = [
    ("POST", "", {"json": {}}, 400, "name is missing"),
    ("POST", "", {"json": {"name": "a/b"}}, 400, "cannot be called 'a/b'"),
    ("POST", "", {"json": {"name": "x", "grpah": True}}, 400, "did you mean 'graph'?"),
    (
        "POST",
        "",
        {"json": {"name": "x", "graph": "yes"}},
        400,
        "should be true or false",
    ),
    ("POST", "", {"json": {"name": "x", "chunk_chars": 0}}, 400, "chunk_chars is 0"),
    ("POST", "", {"json": {"name": "x", "chunk_chars": 49}}, 400, "should be at least 50: a short"),
    (
        "POST",
        "/handbook/reindex",
        {"json": {"chunk_chars": 20_001}},
        400,
        "should be at most 20000",
    ),
    ("POST", "", {"content": b"{"}, 400, "not JSON"),
    ("POST", "", {"json": {"name": "handbook"}}, 409, "already"),
    ("GET", "/handbok", {}, 404, "did you mean 'handbook'?"),
    ("GET", "/handbook/nonsense", {}, 404, "served: GET /api/v1/collections"),
    ("DELETE", "/handbook/documents", {}, 405, "use GET, POST"),
    ("GET", "/handbook/documents/a%00b", {}, 404, "NUL"),
    ("GET", "/handbook/documents/doc_x", {}, 404, "has no document 'doc_x'"),
    ("GET", "/handbook/passages/x", {}, 404, "no passage"),
    ("DELETE", "/other", {}, 404, "no collection is called 'other'"),
    ("POST", "/handbook/search", {"json": {"query": " "}}, 400, "query is empty"),
    ("POST", "/handbook/search", {"json": {"query": "x", "threshold": 7}}, 400, "threshold"),
    (
        "POST",
        "/handbook/search",
        {"json": {"query": "x", "collections": ["y"]}},
        400,
        "collections",
    ),
    ("POST", "/handbook/documents", {"json": {"urls": ["/etc/passwd"]}}, 400, "no web address"),
    ("POST", "/handbook/documents", {"json": {"urls": ["file:///etc/passwd"]}}, 400, "no web addr"),
    (
        "POST",
        "/handbook/documents",
        {"json": {"paths": ["/etc"]}},
        400,
        "paths is an unknown key",
    ),
    ("POST", "/handbook/documents", {"json": {"urls": []}}, 400, "urls is empty"),
    ("POST", "/handbook/documents", {"json": {"urls": ["x"] * 101}}, 400, "at most 100 entries"),
    ("POST", "/handbook/documents", {"content": b"x"}, 400, "no name"),
    (
        "POST",
        "/handbook/documents?name=a&team=x",
        {"content": b"x"},
        400,
        "no field is called 'team'",
    ),
]


async def test_refused(started: OpenDesk) -> None:
    """What cannot be done is a problem that names the value and the remedy."""
    async with started() as desk:
        await made(desk)
        for method, path, options, status, told in REFUSED:
            answer = await desk.client.request(method, BASE + path, **options)
            assert answer.headers["content-type"] == PROBLEM, (method, path, answer.text)
            assert (answer.status_code, told in answer.json()["detail"]) == (status, True), (
                method, path, answer.text,
            )  # fmt: skip


MANY = [f"value {n}" for n in range(40_000)]
"""As a filter these once ended the process."""


async def test_filters_and_metadata_are_bounded(started: OpenDesk) -> None:
    """Values beyond the bounds are a 400 that names the bound, and nothing is searched or added."""
    async with started() as desk:
        await filled(desk)
        where = f"{BASE}/handbook"
        form = {"files": {"file": ("a.txt", b"All is well.")}}
        page = {"urls": ["https://example.org/"]}
        for path, sent, told in (
            ("search", {"json": {"query": "x", "metadata": {"a": MANY}}}, "40000 values; give up"),
            ("search", {"json": {"query": "x", "metadata": {"document_id": MANY}}}, "40000 values"),
            ("search", {"json": {"query": "x", "metadata": {"a": {"b": {}}}}}, "holds a mapping"),
            ("search", {"json": {"query": "x", "metadata": {"a": "b" * 9_999}}}, "9999 bytes"),
            (
                "documents",
                {**form, "data": {"metadata": json.dumps({"a": MANY[:2_000]})}},
                "2000 v",
            ),
            ("documents", {"json": page | {"metadata": {"a": [[[[1]]]]}}}, "4 deep"),
            ("documents", {"json": page | {"metadata": dict.fromkeys(MANY[:65], 1)}}, "65 keys"),
        ):
            answer = await desk.client.post(f"{where}/{path}", **sent)
            assert answer.status_code == 400, (path, told, answer.text)
            assert (answer.json()["param"], told in answer.json()["detail"]) == ("metadata", True)
        assert (await desk.client.get(where)).json()["documents"] == 1
        most = {"query": "expenses", "metadata": {"filename": ["handbook.md", *MANY[:999]]}}
        assert (await desk.client.post(f"{where}/search", json=most)).json()["total"] > 0


async def test_a_new_collections_values_are_bounded(started: OpenDesk) -> None:
    """A collection is made with a language and a permission of a stated size, or not at all."""
    async with started() as desk:
        for fields, told in (
            ({"permission": {"id": MANY}}, "collection has 40000 values"),
            ({"permission": {"team": "x" * 3_000}}, "permission.team has a value of 3000"),
            ({"language": "x" * 36}, "should have at most 35 characters"),
        ):
            answer = await made(desk, **fields)
            assert (answer.status_code, told in answer.json()["detail"]) == (400, True), answer.text
        assert (await desk.client.get(BASE)).json()["total"] == 0


async def test_private_address(started: OpenDesk) -> None:
    """A URL on this machine or its network is no page of the web."""
    async with started() as desk:
        await made(desk)
        url = f"http://{desk.host}:{desk.port}/metrics"
        answer = await desk.client.post(f"{BASE}/handbook/documents", json={"urls": [url]})
        assert answer.status_code == 422
        assert answer.json()["added"][0]["outcome"] == "failed"


async def test_document_by_key(started: OpenDesk) -> None:
    """A document may be named by what it was added from, encoded once."""
    async with started() as desk:
        await filled(desk)
        name = quote("handbook.md", safe="")
        assert (await desk.client.get(f"{BASE}/handbook/documents/{name}")).status_code == 200


async def test_other_sites_pages(started: OpenDesk) -> None:
    """Without a key, no web page of another site and no other name leads here."""
    async with started() as desk:
        await made(desk)
        for headers in (
            {"origin": "https://evil.example"},
            {"sec-fetch-site": "cross-site"},
            {"host": "evil.example"},
        ):
            answer = await desk.client.post(
                f"{BASE}/handbook/documents?name=a.txt", content=b"x", headers=headers
            )
            assert answer.status_code == 403, headers
            assert answer.headers["content-type"] == PROBLEM
        assert (await desk.client.get(f"{BASE}/handbook")).json()["documents"] == 0


async def test_permission(started: OpenDesk) -> None:
    """A collection that a key may not read is not there for it, on any route."""
    async with started(auth={"required": True}) as desk:
        keys = desk.store.keys
        claims = {"team": "sales", "admin": True}
        sales, _ = await asyncio.to_thread(keys.create, "sales", claims=claims)
        law, _ = await asyncio.to_thread(keys.create, "law", claims={"team": "law"})
        await asyncio.to_thread(desk.application.keys.reload)
        assert (await desk.client.get(BASE)).status_code == 401
        mine, theirs = {"x-api-key": sales}, {"x-api-key": law}
        created = await desk.client.post(
            BASE, json={"name": "prices", "permission": {"team": "sales"}}, headers=mine
        )
        assert created.status_code == 201
        await desk.client.post(
            f"{BASE}/prices/documents?name=p.txt", content=b"The price is 7.", headers=mine
        )
        assert (await desk.client.get(BASE, headers=theirs)).json()["total"] == 0
        for method, path in (
            ("GET", "/prices"), ("DELETE", "/prices"), ("GET", "/prices/documents"),
            ("POST", "/prices/reindex"),
        ):  # fmt: skip
            refused = await desk.client.request(method, BASE + path, headers=theirs)
            assert refused.status_code == 404, path
            assert "prices" not in refused.json()["detail"].partition("known:")[2]
        body = {"query": "price"}
        found = await desk.client.post(f"{BASE}/prices/search", json=body, headers=mine)
        assert found.json()["total"] == 1
        hidden = await desk.client.post("/v1/search/kb:prices", json=body, headers=theirs)
        assert hidden.status_code == 404
