"""The official SDK as the judge, with no socket in between, and one search to attach."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from openai import OpenAI
from openai.types.responses import Response

from refdesk.wires import responses
from refdesk.wires.base import GatewaySearch, Source
from refdesk.wires.document import Document
from refdesk.wires.sse import Decoder

ID = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def search() -> GatewaySearch:
    """A search whose first source is the one that the recorded answers cite."""
    return GatewaySearch(
        id=ID,
        query="tallest mountain in Alberta",
        sources=(
            Source(
                url="https://www.britannica.com/place/Mount-Columbia",
                title="Mount Columbia | Britannica",
                snippet="Mount Columbia, 3,747 m, is Alberta's highest point.",
                published="2025-11-02",
            ),
            Source(url="https://x.ai/company", title="Company | xAI"),
            Source(url="https://example.org/a_(b)", title='Brackets and "quotes"'),
        ),
    )


@pytest.fixture
def asked() -> Document:
    """What the client sent."""
    return Document.read(
        json.dumps(
            {
                "model": "small",
                "input": "What is the tallest mountain in Alberta?",
                "tools": [{"type": "web_search", "search_context_size": "low"}],
                "tool_choice": {"type": "web_search_preview"},
                "include": ["web_search_call.action.sources"],
            }
        ).encode()
    )


def _client(body: bytes, content_type: str) -> OpenAI:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": content_type}, content=body)

    transport = httpx2.MockTransport(answer)
    return OpenAI(
        api_key="none",
        base_url="http://upstream.test/v1",
        max_retries=0,
        http_client=httpx2.Client(transport=transport),
    )


@pytest.fixture
def read_whole() -> Callable[[bytes], Response]:
    """Read a whole answer as the SDK does."""

    def read(body: bytes) -> Response:
        with _client(body, "application/json") as client:
            return client.responses.create(model="small", input="?")

    return read


@pytest.fixture
def read_stream() -> Callable[[bytes], tuple[list[Any], Response | None]]:
    """Read a stream with the SDK's accumulator: its events, and the response at its end."""

    def read(body: bytes) -> tuple[list[Any], Response | None]:
        with (
            _client(body, "text/event-stream") as client,
            client.responses.stream(model="small", input="?") as stream,
        ):
            events = list(stream)
            done = any(event.type == "response.completed" for event in events)
            return events, stream.get_final_response() if done else None

    return read


@pytest.fixture
def read_raw() -> Callable[[bytes], list[Any]]:
    """Read a stream as ``create(stream=True)`` does: without the accumulator."""

    def read(body: bytes) -> list[Any]:
        with _client(body, "text/event-stream") as client:
            return list(client.responses.create(model="small", input="?", stream=True))

    return read


@pytest.fixture
def rewrite(search: GatewaySearch, asked: Document) -> Callable[..., bytes]:
    """Rewrite a stream that comes in pieces of a size, or cut at given places."""

    def run(
        body: bytes, size: int = 1 << 20, *, cuts: Iterable[int] = (), asked: Document = asked
    ) -> bytes:
        rewriter = responses.rewriter(search, asked)
        places = sorted({0, len(body), *(cuts or range(0, len(body), size))})
        out = [rewriter.feed(body[a:b]) for a, b in pairwise(places)]
        return b"".join(out) + rewriter.finish()

    return run


def events_of(body: bytes) -> list[dict[str, Any]]:
    """The data of all events, each of which must be JSON."""
    decoder = Decoder()
    events = list(decoder.feed(body))
    assert decoder.finish() is None
    return [json.loads(event.data) for event in events if event.data and event.data != b"[DONE]"]


@pytest.fixture
def parsed() -> Callable[[bytes], list[dict[str, Any]]]:
    """Read a stream without the SDK."""
    return events_of
