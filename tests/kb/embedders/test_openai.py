"""An endpoint asked for vectors: batches, halves, tries, and answers that are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from refdesk.errors import ConfigError, EmbedderError, EngineError, EngineTimeout
from refdesk.http import HttpRequest, HttpResponse
from refdesk.kb.embedders import make_embedder
from refdesk.kb.embedders.openai import OpenAi

Answer = HttpResponse | EngineError
KEY = "sk-very-secret"


def answer(status: int = 200, body: Any = None, **headers: str) -> HttpResponse:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return HttpResponse(status=status, headers=named, body=msgspec.json.encode(body))


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 1.0, 0.0]


def vectors_for(request: HttpRequest) -> HttpResponse:
    texts = msgspec.json.decode(request.body)["input"]
    rows = [{"embedding": vector_of(t), "index": i, "object": "e"} for i, t in enumerate(texts)]
    return answer(body={"data": rows[::-1], "model": "m"})


class Endpoint:
    """An endpoint that answers as told, and then well."""

    def __init__(self, *first: Answer, always: Callable[[HttpRequest], Answer] = vectors_for):
        self.first = list(first)
        self.always = always
        self.requests: list[HttpRequest] = []
        self.pauses: list[float] = []

    async def send(self, request: HttpRequest, **_: Any) -> HttpResponse:
        self.requests.append(request)
        given = self.first.pop(0) if self.first else self.always(request)
        if isinstance(given, EngineError):
            raise given
        return given

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def embedder(self, **options: Any) -> OpenAi:
        entry = {"type": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1/"} | options
        embedder = make_embedder(entry, fetcher=self)
        assert isinstance(embedder, OpenAi)
        embedder.sleep = self.sleep
        return embedder

    @property
    def sizes(self) -> list[int]:
        return [len(msgspec.json.decode(each.body)["input"]) for each in self.requests]


async def test_request() -> None:
    """One request as the protocol has it; vectors come back in order, of unit length."""
    endpoint = Endpoint()
    vectors = await endpoint.embedder(api_key=KEY, dimensions=3).passages(["a", "bbb"])
    (request,) = endpoint.requests
    assert (request.method, request.url) == ("POST", "http://127.0.0.1:9/v1/embeddings")
    assert dict(request.headers)["authorization"] == f"Bearer {KEY}"
    assert msgspec.json.decode(request.body) == {
        "model": "m",
        "input": ["a", "bbb"],
        "encoding_format": "float",
        "dimensions": 3,
    }
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    assert vectors[1] == pytest.approx(np.array([3.0, 1.0, 0.0]) / np.sqrt(10))


async def test_no_key() -> None:
    """Without a key there is no header for one."""
    endpoint = Endpoint()
    await endpoint.embedder().query("x")
    assert "authorization" not in dict(endpoint.requests[0].headers)


async def test_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key may be named by its variable, which is read for each request, and shown by none."""
    endpoint = Endpoint(answer(500, {"error": {"message": f"no {KEY}2"}}))
    embedder = endpoint.embedder(api_key_env="EMBED_KEY", attempts=1)
    with pytest.raises(EmbedderError, match="EMBED_KEY, which is not set; set it where"):
        await embedder.query("x")
    monkeypatch.setenv("EMBED_KEY", f"{KEY}2\n")
    with pytest.raises(EmbedderError) as failed:
        await embedder.query("x")
    assert KEY not in str(failed.value)
    await embedder.query("x")
    sent = [dict(each.headers)["authorization"] for each in endpoint.requests]
    assert sent == [f"Bearer {KEY}2"] * 2


def test_two_keys() -> None:
    """A key and the variable of one say two things."""
    with pytest.raises(ConfigError, match="api_key or api_key_env, not both"):
        Endpoint().embedder(api_key=KEY, api_key_env="EMBED_KEY")


async def test_forms() -> None:
    """Questions and passages get what is put before them, and both are part of the identity."""
    endpoint = Endpoint()
    embedder = endpoint.embedder(query_prefix="query: ", passage_prefix="passage: ")
    await embedder.query("x")
    await embedder.passages(["y", " "])
    sent = [msgspec.json.decode(each.body)["input"] for each in endpoint.requests]
    assert sent == [["query: x"], ["passage: y", "passage:  "]]
    assert embedder.identity != endpoint.embedder().identity


async def test_empty_texts() -> None:
    """An empty text, which endpoints refuse, goes as one that they take."""
    endpoint = Endpoint()
    assert (await endpoint.embedder().passages(["", "x"])).shape == (2, 3)
    assert msgspec.json.decode(endpoint.requests[0].body)["input"] == [".", "x"]


async def test_batches() -> None:
    """Many texts go in batches, and come back in one matrix."""
    endpoint = Endpoint()
    vectors = await endpoint.embedder(batch=4).passages(["x" * n for n in range(1, 11)])
    assert endpoint.sizes == [4, 4, 2]
    assert vectors[:, 0] / vectors[:, 1] == pytest.approx(np.arange(1, 11), rel=1e-4)


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_halves(status: int) -> None:
    """A batch that is too large goes again in halves, until it is not."""

    def small_only(request: HttpRequest) -> HttpResponse:
        count = len(msgspec.json.decode(request.body)["input"])
        return vectors_for(request) if count <= 2 else answer(status, {"error": "too large"})

    endpoint = Endpoint(always=small_only)
    vectors = await endpoint.embedder().passages(["x" * n for n in range(1, 8)])
    assert vectors[:, 0] / vectors[:, 1] == pytest.approx(np.arange(1, 8), rel=1e-4)
    assert max(endpoint.sizes[1:]) < 7


async def test_too_large_alone() -> None:
    """One text that is refused by itself is an error with what was said of it."""
    endpoint = Endpoint(always=lambda _: answer(400, {"error": {"message": "input too long"}}))
    with pytest.raises(EmbedderError, match="answered 400: input too long"):
        await endpoint.embedder().query("x")


async def test_tries_again() -> None:
    """What passes is tried again, waiting as long as the endpoint asks, or longer each time."""
    endpoint = Endpoint(
        answer(503),
        answer(429, retry_after="7"),
        EngineTimeout("127.0.0.1 gave no whole answer within 60 s"),
    )
    assert (await endpoint.embedder().query("x")).shape == (3,)
    assert endpoint.pauses == [0.5, 7.0, 2.0]


async def test_refused_with_200() -> None:
    """An endpoint that says 200 and means too often is asked again, and what it says is told."""
    refusal = answer(body={"base_resp": {"status_code": 1002, "status_msg": "rate limit"}})
    endpoint = Endpoint(refusal, answer(body={"error": {"message": "overloaded"}}))
    assert (await endpoint.embedder().query("x")).shape == (3,)
    assert endpoint.pauses == [0.5, 1.0]
    endpoint = Endpoint(always=lambda _: refusal)
    with pytest.raises(EmbedderError, match="without vectors: rate limit"):
        await endpoint.embedder().query("x")
    assert len(endpoint.requests) == 4


@pytest.mark.parametrize(
    ("given", "said", "calls"),
    [
        (answer(503), "answered 503", 4),
        (
            answer(401, {"error": {"message": f"no such key: {KEY}"}}),
            "answered 401: no such key",
            1,
        ),
        (answer(404), "answered 404", 1),
        (EngineTimeout("127.0.0.1 gave no whole answer"), "no whole answer", 4),
        (EngineError("the address is blocked", outcome="blocked"), "is blocked", 1),
    ],
)
async def test_gives_up(given: Answer, said: str, calls: int) -> None:
    """What does not pass is not tried again; the error says what it was, and holds no key."""
    endpoint = Endpoint(always=lambda _: given)
    with pytest.raises(EmbedderError) as caught:
        await endpoint.embedder(api_key=KEY).query("x")
    assert said in str(caught.value)
    assert "'m' at 127.0.0.1:9" in str(caught.value)
    assert KEY not in str(caught.value)
    assert len(endpoint.requests) == calls


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "model not loaded"}}, "without vectors: model not loaded"),
        ({"data": None}, "without vectors"),
        ({"data": []}, "0 vectors for 1 texts"),
        ({"data": [{"embedding": [1.0]}, {"embedding": [1.0]}]}, "2 vectors for 1 texts"),
        ({"data": [{"embedding": []}]}, "0 dimensions"),
        ({"data": [{"embedding": [1.0] * 65_537}]}, "65537 dimensions, and 65536 are allowed"),
        ({"data": [{"embedding": [0.0, 0.0]}]}, "no direction"),
        ({"data": [{"embedding": [1e39, 0.0]}]}, "no direction"),
        ({"data": [{"embedding": [1.0, 2.0], "index": 5}]}, "wrong numbers"),
        ({"data": [{"embedding": "AACAPw=="}]}, "without vectors"),
        ("not json", "without vectors"),
    ],
)
async def test_answers_that_are_none(body: Any, said: str) -> None:
    """A 200 is taken only with one vector for each text."""
    endpoint = Endpoint(always=lambda _: answer(body=body))
    with pytest.raises(EmbedderError, match=said):
        await endpoint.embedder().query("x")


async def test_dimension() -> None:
    """The dimension is asked for once; vectors of another length are refused later."""
    endpoint = Endpoint()
    embedder = endpoint.embedder()
    assert await embedder.dimension() == 3
    assert await embedder.dimension() == 3
    assert len(endpoint.requests) == 1
    endpoint.always = lambda _: answer(body={"data": [{"embedding": [1.0, 2.0]}]})
    with pytest.raises(EmbedderError, match=r"of 2 dimensions, and 3 were expected.*kb reindex"):
        await embedder.query("x")


def test_key_is_not_shown() -> None:
    """Neither the options nor the identity show the key."""
    embedder = Endpoint().embedder(api_key=KEY)
    assert KEY not in repr(embedder.options)
    assert KEY not in embedder.identity
