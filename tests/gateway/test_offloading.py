"""Large bodies are worked on away from the event loop, small ones on it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from desk import Desk, answers, asks, stream, whole
from desk import sse as streamed
from refdesk.errors import WireError
from refdesk.gateway.app import WIRES
from refdesk.gateway.offloading import LARGE_READ, LARGE_WORK, off_loop
from refdesk.types import ANONYMOUS

Body = dict[str, Any]


async def test_large_work_leaves_the_loop() -> None:
    """The loop goes on meanwhile: it is the loop that lets the work end."""
    goes_on = threading.Event()
    asyncio.get_running_loop().call_soon(goes_on.set)

    assert await off_loop(LARGE_WORK + 1, goes_on.wait, 30.0)


async def test_small_work_stays_on_the_loop() -> None:
    """It costs no thread, and ends before anything else runs."""
    here = threading.get_ident()

    assert await off_loop(LARGE_WORK, threading.get_ident) == here
    assert await off_loop(LARGE_READ, threading.get_ident, above=LARGE_READ) == here
    assert await off_loop(LARGE_WORK + 1, threading.get_ident) != here


@pytest.mark.parametrize("size", [0, LARGE_WORK + 1])
async def test_what_work_raises_reaches_the_caller(size: int) -> None:
    """An error is the same, wherever it happened."""

    def fail() -> None:
        raise WireError("no")

    with pytest.raises(WireError, match="no"):
        await off_loop(size, fail)


async def threads_of(desk: Desk, name: str, body: Body) -> dict[str, set[str]]:
    """Have a request answered; return the threads that each part of its wire was asked in."""
    threads: dict[str, set[str]] = {}

    def watched(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            threads.setdefault(part, set()).add(threading.current_thread().name[:13])
            return function(*args, **kwargs)

        return call

    real = WIRES[name]
    wire: Any = SimpleNamespace(
        **{
            part: watched(part, value) if callable(value) else value
            for part, value in vars(real).items()
            if not part.startswith("__")
        }
    )
    data = json.dumps(body).encode()
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": data}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: Any = {"type": "http", "headers": [], "query_string": b"", "path": "/"}
    await desk.application.gateway.handle(wire, scope, receive, send, ANONYMOUS)
    assert sent[0]["status"] == 200, sent
    return threads


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("search", [True, False])
async def test_where_a_request_is_worked_on(desk: Desk, name: str, search: bool) -> None:
    """A large request, with a search or without, is read and edited in the other thread."""
    desk.upstream.will(whole(answers(name)))
    small = await threads_of(desk, name, asks(name, search=search))
    large = await threads_of(desk, name, asks(name, search=search, user="u" * 2 * LARGE_READ))

    looked = {"read_head", *(("conversation", "inject", "attach_search") if search else ())}
    assert looked <= small.keys()
    assert set().union(*small.values()) == {"MainThread"}
    assert all(large[part] == {"refdesk-large"} for part in looked)


@pytest.mark.parametrize("name", WIRES)
async def test_where_an_answer_is_worked_on(desk: Desk, name: str) -> None:
    """A large answer to a small request is given its citations in the other thread."""
    desk.upstream.will(whole(answers(name, "word " * LARGE_WORK)))
    threads = await threads_of(desk, name, asks(name))

    assert threads["conversation"] == {"MainThread"}
    assert threads["attach_search"] == {"refdesk-large"}


@pytest.mark.parametrize("name", WIRES)
async def test_a_large_event_of_a_stream_is_cited(desk: Desk, name: str) -> None:
    """An event that comes in many pieces, and is rewritten in the other thread, keeps its order."""
    text = "word " * (LARGE_WORK // 2) + "[1]."
    desk.upstream.will(streamed(b"".join(stream(name, text)), cut=50_000))
    answer = await desk.ask(name, stream=True)

    assert answer.status_code == 200
    cited = "citations_delta" if name == "messages" else "url_citation"
    assert cited in answer.text
    assert answer.text.index("word word") < answer.text.index(cited)
