"""An application asked without a socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from refdesk.answering.inside import post


async def test_streams() -> None:
    """The head is there before the body ends; pieces come as they are sent."""
    go = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked = await receive()
        assert (scope["path"], asked["body"]) == ("/x", b"body")
        headers = [(b"X-One", b"1")]
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        await go.wait()
        await send({"type": "http.response.body", "body": b"b"})

    async with post(app, "/x", b"body") as answer:
        assert (answer.status, answer.headers) == (201, {"x-one": "1"})
        pieces = aiter(answer)
        assert await anext(pieces) == b"a"
        go.set()
        assert [piece async for piece in pieces] == [b"b"]


async def test_leaving() -> None:
    """Whoever leaves early is a client that hung up, and nothing is left running."""
    ended = asyncio.Event()

    async def app(_: Any, receive: Any, send: Any) -> None:
        try:
            await receive()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while True:
                await send({"type": "http.response.body", "body": b"x" * 10, "more_body": True})
        finally:
            ended.set()

    before = asyncio.all_tasks()
    async with post(app, "/x", b"") as answer:
        assert answer.status == 200
    assert ended.is_set()
    assert asyncio.all_tasks() == before


async def test_failure_before_the_head() -> None:
    """What an application raises before it answers is raised; an empty ending is told."""

    async def broken(_: Any, __: Any, ___: Any) -> None:
        raise KeyError("x")

    async def silent(_: Any, __: Any, ___: Any) -> None:
        return

    with pytest.raises(KeyError):
        async with post(broken, "/x", b""):
            pass
    with pytest.raises(RuntimeError, match="without an answer"):
        async with post(silent, "/x", b""):
            pass


async def test_failure_after_the_head() -> None:
    """An application that fails half-way ends the answer, and nobody waits for ever."""

    async def app(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        raise KeyError("x")

    async with post(app, "/x", b"") as answer:
        assert await answer.read() == b"a"


async def test_failure_while_nobody_reads() -> None:
    """Also a reader that is far behind comes to the end of what was sent before the failure."""

    async def app(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(16):
            await send({"type": "http.response.body", "body": b"a", "more_body": True})
        raise KeyError("x")

    async with post(app, "/x", b"") as answer:
        assert await answer.read() == b"a" * 16
