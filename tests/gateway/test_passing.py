"""What upstreams have beside the model routes: who is asked, and for whom."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
import pytest_asyncio

from clients import client_of, two_upstreams
from desk import (
    Desk,
    OpenDesk,
    answers,
    whole,
)

RESPONSE = answers("responses")
FILE = {
    "id": "file-1",
    "object": "file",
    "bytes": 3,
    "created_at": 1,
    "filename": "a.jsonl",
    "purpose": "batch",
    "status": "processed",
}


@pytest_asyncio.fixture
async def client(desk: Desk) -> AsyncIterator[openai.AsyncOpenAI]:
    """The official OpenAI client."""
    async with client_of(desk) as one:
        yield one


class TestEmbeddings:
    """Embeddings, whose model decides."""

    BODY = json.dumps({"model": "e", "input": ["a", "b"], "dimensions": 1e2}, indent=1).encode()
    ANSWER = {
        "object": "list",
        "data": [{"object": "embedding", "index": 0, "embedding": [0.25]}],
        "model": "e",
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }

    async def test_by_the_sdk(self, opened: OpenDesk) -> None:
        """The official client gets its vectors, under the name that it knows."""
        async with opened(models={"e": {"upstream": "up", "model": "embed-1"}}) as desk:
            desk.upstream.will(whole(self.ANSWER))
            async with client_of(desk) as client:
                got = await client.embeddings.create(model="e", input="a", encoding_format="float")

        assert got.data[0].embedding == [0.25]
        assert desk.upstream.seen[0].line == b"POST /v1/embeddings HTTP/1.1"
        assert desk.upstream.seen[0].json["model"] == "embed-1"
        entry = desk.entries[-1] if desk.entries else await desk.last()
        assert (entry.wire, entry.model, entry.upstream_model) == ("embeddings", "e", "embed-1")

    async def test_byte_for_byte(self, opened: OpenDesk) -> None:
        """A body whose model has the same name upstream is not touched."""
        async with opened(models={"e": {"upstream": "up"}}) as desk:
            desk.upstream.will(whole(self.ANSWER))
            for prefix in ("/v1", ""):
                await desk.post(f"{prefix}/embeddings", self.BODY)
        assert [each.body for each in desk.upstream.seen] == [self.BODY] * 2

    async def test_a_default_model_is_no_embedder(self, desk: Desk) -> None:
        """Where `default_model` stands in, its upstream is asked for the model that was named."""
        desk.upstream.will(whole(self.ANSWER))
        await desk.post("/v1/embeddings", self.BODY)
        assert desk.upstream.seen[0].body == self.BODY

    @pytest.mark.parametrize(
        ("body", "status"),
        [(b"{}", 400), (b"", 400), (b"[", 400), (b'{"model":7}', 400), (b'{"model":"x"}', 404)],
    )
    async def test_without_a_model(self, opened: OpenDesk, body: bytes, status: int) -> None:
        """A body that names no known model is refused."""
        async with opened(default_model=None) as desk:
            got = await desk.post("/v1/embeddings", body)
        assert got.status_code == status
        assert desk.upstream.seen == []

    @pytest.mark.parametrize(
        ("upstream", "said"),
        [
            ({"wire": ["messages"]}, "speaks messages"),
            ({"wire": ["chat"], "provider": "deepseek"}, "no such models"),
        ],
    )
    async def test_upstreams_without_them(
        self, opened: OpenDesk, upstream: dict[str, Any], said: str
    ) -> None:
        """An upstream that cannot have them is not asked."""
        async with opened(upstreams={"up": upstream}) as desk:
            got = await desk.post("/v1/embeddings", self.BODY)
        assert got.status_code == 400
        assert said in got.json()["error"]["message"]
        assert desk.upstream.seen == []


async def test_completions_that_are_kept(desk: Desk, client: openai.AsyncOpenAI) -> None:
    """A completion that the upstream was asked to keep is fetched and deleted."""
    deleted = {"id": "c_1", "object": "chat.completion.deleted", "deleted": True}
    desk.upstream.will(whole(answers("chat")), whole(answers("chat")), whole(deleted))
    made = await client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "?"}], store=True
    )
    kept = await client.chat.completions.retrieve(made.id)
    await client.chat.completions.delete(made.id)

    assert kept.choices[0].message.content == "On 7 October 2025 [1]."
    assert desk.upstream.seen[2].line == b"DELETE /v1/chat/completions/c_1 HTTP/1.1"


async def test_no_upstream_that_has_it(opened: OpenDesk) -> None:
    """Where no upstream can have something, the answer says what to add."""
    async with opened(upstreams={"up": {"wire": ["messages"]}}) as desk:
        got = await desk.client.get("/v1/batches/batch_1")
    assert got.status_code == 400
    assert "no upstream has batches" in got.json()["error"]["message"]
    assert "`upstreams:`" in got.json()["error"]["message"]


@pytest.mark.parametrize("status", [401, 404, 429, 500])
async def test_the_upstreams_errors_are_its_own(desk: Desk, status: int) -> None:
    """An error passes as it came, and its id is not remembered."""
    body = {"error": {"message": "as it is"}, "id": "file-1"}
    desk.upstream.will(whole(body, status))
    for method, path in (("GET", "/v1/files/f"), ("POST", "/v1/files"), ("DELETE", "/v1/files/f")):
        got = await desk.client.request(method, path, content=b"")
        assert (got.status_code, got.json()) == (status, body)
    assert len(desk.application.gateway.stored) == 0


@pytest.mark.parametrize(
    "path",
    [
        "/v1/responses/a%2Fb",
        "/v1/files/..%2f..%2fadmin",
        "/v1/batches/" + "b" * 600,
        "/v1/responses/a%0d%0ax",
        "/v1/files/a/b",
        "/v1/files/",
    ],
)
async def test_paths_that_lead_elsewhere(desk: Desk, path: str) -> None:
    """What is no id goes nowhere."""
    got = await desk.client.get(path)
    assert got.status_code in (400, 404)
    assert desk.upstream.seen == []


@pytest.fixture
def required() -> dict[str, Any]:
    """A configuration that requires keys."""
    return {"auth": {"required": True}}


async def made_keys(desk: Desk) -> list[str]:
    """Make three keys: two of clients, one of an administrator."""
    made = [
        (await asyncio.to_thread(desk.store.keys.create, name, claims=claims))[0]
        for name, claims in (("a", {}), ("b", {}), ("c", {"admin": True}))
    ]
    await asyncio.to_thread(desk.application.keys.reload)
    return made


async def test_a_key_reaches_only_its_own(opened: OpenDesk, required: dict[str, Any]) -> None:
    """What one key had made does not exist for another, in paths and in bodies."""
    async with opened(**required) as desk:
        a, b, _ = await made_keys(desk)
        desk.upstream.will(whole(RESPONSE), whole(FILE), whole(RESPONSE))
        async with client_of(desk, a) as mine, client_of(desk, b) as other:
            await mine.responses.create(model="m", input="?")
            await mine.files.create(file=b"{}", purpose="batch")
            before = len(desk.upstream.seen)
            for refused in (
                other.responses.retrieve("resp_1"),
                other.responses.cancel("resp_1"),
                other.responses.delete("resp_1"),
                other.responses.input_items.list("resp_1"),
                other.responses.create(model="m", input="?", previous_response_id="resp_1"),
                other.responses.input_tokens.count(model="m", previous_response_id="resp_1"),
                other.files.content("file-1"),
                other.files.delete("file-1"),
                other.batches.create(
                    input_file_id="file-1",
                    endpoint="/v1/responses",
                    completion_window="24h",
                ),
            ):
                with pytest.raises(openai.NotFoundError):
                    await refused
            assert len(desk.upstream.seen) == before
            await mine.responses.retrieve("resp_1")
            await mine.files.retrieve("file-1")
    for seen in desk.upstream.seen:
        assert a.encode() not in seen.raw
        assert b.encode() not in seen.raw


@pytest.mark.parametrize("path", ["/v1/files", "/v1/batches", "/v1/messages/batches"])
async def test_lists_tell_of_all_keys(
    opened: OpenDesk, required: dict[str, Any], path: str
) -> None:
    """Where keys are required, a list of what all had made takes a key of an administrator."""
    async with opened(**required) as desk:
        a, _, admin = await made_keys(desk)
        desk.upstream.will(whole({"object": "list", "data": []}))
        refused = await desk.client.get(path, headers={"x-api-key": a})
        listed = await desk.client.get(path, headers={"x-api-key": admin})

    assert (refused.status_code, listed.status_code) == (403, 200)
    assert "admin" in refused.json()["error"]["message"]
    assert len(desk.upstream.seen) == 1


@pytest.mark.parametrize("path", ["/v1/files", "/v1/batches", "/v1/messages/batches"])
async def test_lists_without_keys(desk: Desk, path: str) -> None:
    """Where no key is needed, lists pass."""
    desk.upstream.will(whole({"object": "list", "data": []}))
    assert (await desk.client.get(path)).status_code == 200


async def test_what_is_known_outlives_a_reload(opened: OpenDesk) -> None:
    """A reload forgets nothing; an upstream that is gone is not asked."""
    async with two_upstreams(opened) as (desk, other):
        other.will(whole(RESPONSE))
        await desk.ask("responses", model="n", search=False)
        config = desk.application.config
        await asyncio.to_thread(desk.application.reload, config.model_copy())
        known = await desk.client.get("/v1/responses/resp_1")
        left = {name: each for name, each in config.upstreams.items() if name != "two"}
        models = {name: each for name, each in config.models.items() if name != "n"}
        await asyncio.to_thread(
            desk.application.reload, config.model_copy(update={"upstreams": left, "models": models})
        )
        desk.upstream.will(whole({}, 404))
        gone = await desk.client.get("/v1/responses/resp_1")

    assert (known.status_code, gone.status_code) == (200, 404)
    assert len(desk.upstream.seen) == 1
