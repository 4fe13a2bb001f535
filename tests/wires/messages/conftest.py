"""The official SDK as the judge of answers, without a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2
import pytest

from refdesk.wires.base import GatewaySearch, Source

Judge = Callable[[bytes], dict[str, Any]]


class Endpoint:
    """A model endpoint in memory: whatever is asked, it answers these bytes."""

    def __init__(self) -> None:
        self.type = ""
        self.body = b""
        self.client = anthropic.Anthropic(
            api_key="k",
            max_retries=0,
            base_url="http://127.0.0.1:1",
            http_client=httpx2.Client(transport=httpx2.MockTransport(self._answer)),
        )

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": self.type}, content=self.body)

    def whole(self, body: bytes) -> dict[str, Any]:
        self.type, self.body = "application/json", body
        return self._dumped(self.client.messages.create(**ASKED))

    def streamed(self, body: bytes) -> dict[str, Any]:
        self.type, self.body = "text/event-stream", body
        with self.client.messages.stream(**ASKED) as stream:
            return self._dumped(stream.get_final_message())

    @staticmethod
    def _dumped(message: Any) -> dict[str, Any]:
        return message.model_dump(mode="json", exclude_none=True, warnings="none")


ASKED: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hello?"}],
}


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Endpoint]:
    """The official client on an endpoint in memory."""
    endpoint = Endpoint()
    yield endpoint
    endpoint.client.close()


@pytest.fixture(scope="session")
def read_whole(endpoint: Endpoint) -> Judge:
    """What the official SDK makes of a whole answer."""
    return endpoint.whole


@pytest.fixture(scope="session")
def read_stream(endpoint: Endpoint) -> Judge:
    """What the official SDK has put together at the end of a streamed answer."""
    return endpoint.streamed


@pytest.fixture(scope="session")
def search() -> GatewaySearch:
    """A search with two sources, one of them dated and the other without a title."""
    return GatewaySearch(
        id="0123456789abcdef0123456789abcdef01234567",
        query='newest "k8s" release',
        sources=(
            Source(
                url="https://kubernetes.io/releases",
                title="Releases",
                snippet="Kubernetes 1.36 is the newest. " * 8,
                published="2026-11-02",
                sealed="rd1.AAAA",
            ),
            Source(url="https://example.org/a", title="", snippet="Short.", sealed="rd1.BBBB"),
        ),
    )
