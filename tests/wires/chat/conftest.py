"""The official SDK as the judge, and the search that the tests attach."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import openai
import pytest

from refdesk.wires.base import GatewaySearch, Source
from refdesk.wires.chat import rewriter
from refdesk.wires.document import Document

MESSAGES: Any = [{"role": "user", "content": "?"}]


@pytest.fixture
def search() -> GatewaySearch:
    """A search with three sources."""
    return GatewaySearch(
        id="ab" * 20,
        query="where is pydantic ai",
        sources=(
            Source(url="https://github.com/pydantic/pydantic-ai", title="pydantic/pydantic-ai"),
            Source(url="https://httpbin.org/base64/dGVzdA==", title="httpbin"),
            Source(url="https://北.example/路?q=1", title="北 «路»"),
        ),
    )


@pytest.fixture
def asked() -> Document:
    """What the client asked: nothing that matters to the answer."""
    return Document.read(b'{"model":"m","stream":true,"messages":[]}')


def cut(data: bytes, size: int) -> list[bytes]:
    """Return the data in pieces of this size."""
    return [data[at : at + size] for at in range(0, len(data), size)]


class Judge:
    """Reads answers with the official SDK, from memory."""

    def _client(self, body: bytes, kind: str) -> openai.OpenAI:
        def answer(request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200, headers={"content-type": kind}, content=self._pieces(body))

        return openai.OpenAI(
            api_key="sk-test",
            base_url="http://upstream.test/v1",
            max_retries=0,
            http_client=httpx2.Client(transport=httpx2.MockTransport(answer)),
        )

    @staticmethod
    def _pieces(body: bytes) -> Iterator[bytes]:
        yield from cut(body, 997)

    def whole(self, body: bytes) -> dict[str, Any]:
        """Read a whole answer."""
        with self._client(body, "application/json") as client:
            return client.chat.completions.create(model="m", messages=MESSAGES).to_dict()

    def stream(self, body: bytes) -> dict[str, Any]:
        """Read a stream with the SDK's accumulator; raises what the SDK raises."""
        with (
            self._client(body, "text/event-stream") as client,
            client.chat.completions.stream(model="m", messages=MESSAGES) as stream,
        ):
            return stream.get_final_completion().to_dict()

    def chunks(self, body: bytes, seen: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
        """Read a stream chunk by chunk into a list; raises what the SDK raises."""
        seen = [] if seen is None else seen
        with self._client(body, "text/event-stream") as client:
            stream = client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
            for chunk in stream:
                seen.append(chunk.to_dict())
        return seen


@pytest.fixture
def judge() -> Judge:
    """The official SDK."""
    return Judge()


@pytest.fixture
def rewrite(search: GatewaySearch, asked: Document) -> Callable[..., bytes]:
    """Rewrite a whole stream, fed in pieces of one size (by default in one piece)."""

    def run(body: bytes, size: int | None = None, request: Document = asked) -> bytes:
        rewriting = rewriter(search, request)
        pieces = cut(body, size or len(body) or 1)
        return b"".join(map(rewriting.feed, pieces)) + rewriting.finish()

    return run


def told(body: bytes) -> dict[str, Any]:
    """Return what a stream of one choice says, added up without the SDK: text and annotations."""
    text, annotations, reason = "", [], None
    for line in body.splitlines():
        if line.startswith(b"data: {"):
            for choice in json.loads(line.removeprefix(b"data: "))["choices"]:
                text += choice["delta"].get("content") or ""
                annotations += choice["delta"].get("annotations") or []
                reason = choice["finish_reason"] or reason
    return {"content": text, "annotations": annotations, "finish_reason": reason}


@pytest.fixture(name="told")
def told_fixture() -> Callable[[bytes], dict[str, Any]]:
    """Add a stream up without the SDK, which cannot read every upstream."""
    return told
