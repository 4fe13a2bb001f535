"""The official SDKs on a desk, and a desk with two upstreams."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import httpx2
import openai

from desk import CLIENT_KEY, Desk, OpenDesk, Upstream


def client_of(desk: Desk, key: str = CLIENT_KEY) -> openai.AsyncOpenAI:
    """The official OpenAI client on a desk."""
    return openai.AsyncOpenAI(
        base_url=f"http://{desk.host}:{desk.port}/v1",
        api_key=key,
        max_retries=0,
        http_client=httpx2.AsyncClient(trust_env=False),
    )


def claude_of(desk: Desk, key: str = CLIENT_KEY) -> anthropic.AsyncAnthropic:
    """The official Anthropic client on a desk."""
    return anthropic.AsyncAnthropic(
        base_url=f"http://{desk.host}:{desk.port}",
        api_key=key,
        max_retries=0,
        http_client=httpx2.AsyncClient(trust_env=False),
    )


@contextlib.asynccontextmanager
async def two_upstreams(opened: OpenDesk, **changes: Any) -> AsyncIterator[tuple[Desk, Upstream]]:
    """A desk whose models ``m`` and ``n`` are served by two upstreams."""
    other = Upstream()
    await other.start()
    upstreams = {"two": {"wire": ["messages", "chat", "responses"], "base_url": other.url}}
    models = {"n": {"upstream": "two"}}
    try:
        async with opened(upstreams=upstreams, models=models, **changes) as desk:
            yield desk, other
    finally:
        await other.stop()
