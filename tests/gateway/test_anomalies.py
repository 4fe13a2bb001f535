"""
Every step of an exchange, made to fail in turn.

Whatever fails: the client gets its own wire, with a message; the request is in the log; and no
task, connection or place in the limiter is left behind.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

from desk import (
    PATHS,
    QUESTION,
    WIRES,
    Close,
    Desk,
    OpenDesk,
    answers,
    asks,
    events,
    sse,
    stream,
    whole,
)
from refdesk.errors import EngineError
from refdesk.gateway import driver, material
from refdesk.gateway.client import Client
from refdesk.wires import chat, messages, responses

STEPS = [
    "recall",
    "recall hangs",
    "search",
    "search: a fault of the engine's code",
    "render",
    "inject",
    "keep",
    "call",
    "first byte",
    "attach",
    "mid-stream",
    "first write",
    "later write",
    "log",
]


def _break(step: str, patch: pytest.MonkeyPatch, desk: Desk, wire: str, streamed: bool) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken on purpose")

    async def fail_later(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken on purpose")

    async def hang(*_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()

    good: list[Any] = sse(b"".join(stream(wire))) if streamed else [whole(answers(wire))]
    desk.upstream.will(good)
    application = desk.application
    package = {"messages": messages, "chat": chat, "responses": responses}[wire]
    match step:
        case "recall":
            patch.setattr(application._records.__class__, "by_id", fail_later)
            patch.setattr(application._records.__class__, "by_conversation", fail_later)
        case "recall hangs":
            patch.setattr(driver, "RECALL_S", 0.02)
            patch.setattr(application._records.__class__, "by_id", hang)
            patch.setattr(application._records.__class__, "by_conversation", hang)
        case "search":
            desk.engine.script.answers.clear()
            desk.engine.script._last = EngineError("it is down", outcome="upstream_down")
        case "search: a fault of the engine's code":
            patch.setattr(application.web.__class__, "search", fail_later)
        case "render":
            patch.setattr(material, "render", fail)
        case "inject":
            patch.setattr(package, "inject", fail)
        case "keep":
            patch.setattr(application._records.__class__, "keep", fail)
        case "call":
            patch.setattr(application.upstream.__class__, "_connect", fail_later)
        case "first byte":
            desk.upstream.will([Close()])
        case "attach":
            patch.setattr(package, "attach_search", fail)
            patch.setattr(package, "rewriter", fail)
        case "mid-stream":
            desk.upstream.will([*good[:1], Close()] if streamed else [good[0][:-9], Close()])
        case "first write":
            patch.setattr(Client, "start" if streamed else "answer", fail_later)
        case "later write":
            patch.setattr(Client, "write", fail_later)
        case "log":
            patch.setattr(application.log, "_sinks", (fail, *application.log._sinks))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("step", STEPS)
async def test_each_step_fails(
    opened: OpenDesk, step: str, wire: str, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one step broken there is still an answer, an entry in the log, and nothing left over."""
    before = asyncio.all_tasks()
    expects_complaint = step in ("first write", "later write")
    async with opened() as desk:
        await desk.client.get("/livez")
        body = _asked(wire) | {"stream": streamed}
        with monkeypatch.context() as patch:
            _break(step, patch, desk, wire, streamed)
            response = await _post(desk, wire, body)
            entry = await desk.last()

        if response is not None:
            _check(step, wire, streamed, response)
        assert entry.request_id
        assert entry.total_s > 0
        assert len(desk.upstream.seen) <= 1
        limiter = desk.application.web.limiter.counts
        assert (limiter.running, limiter.waiting) == (0, 0)
        assert desk.application.upstream.open_connections == (
            desk.application.upstream.idle_connections
        )
        # And the next one is served as if nothing had been.
        desk.upstream.will(whole(answers("chat")))
        assert (await desk.ask("chat", search=False)).status_code == 200
        if expects_complaint:
            desk.complaints.clear()
    assert asyncio.all_tasks() <= before


def _asked(wire: str) -> dict[str, Any]:
    """A request that is recalled for, searched for, and called for."""
    if wire == "responses":
        own = {"type": "web_search_call", "id": "ws_rd" + "0" * 40, "status": "completed"}
        return asks(wire, input=[own, {"role": "user", "content": QUESTION}])
    if wire == "messages":
        result = {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_rd" + "0" * 24,
            "content": [],
        }
        call = {
            "type": "server_tool_use",
            "id": "srvtoolu_rd" + "0" * 24,
            "name": "web_search",
            "input": {"query": "x"},
        }
        history = [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [call, result, {"type": "text", "text": "y"}]},
            {"role": "user", "content": QUESTION},
        ]
        return asks(wire, messages=history)
    return asks(wire)


async def _post(desk: Desk, wire: str, body: dict[str, Any]) -> Any:
    try:
        return await desk.post("/v1" + PATHS[wire], body)
    except httpx2.TransportError:
        return None


def _check(step: str, wire: str, streamed: bool, response: Any) -> None:
    """The answer is the wire's, and says as much as can be said."""
    search = response.headers.get("x-refdesk-search", "")
    match step:
        case "recall" | "recall hangs" | "keep" | "log":
            assert response.status_code == 200
            assert search.startswith("gateway; engine=")
        case "search":
            assert response.status_code == 200
            assert search == "degraded; reason=engine_http_error"
        case "search: a fault of the engine's code":
            assert response.status_code == 200
            assert search.startswith("degraded; reason=")
        case "render" | "inject":
            assert response.status_code == 200
            assert search == "degraded; reason=injection_failed"
        case "attach":
            assert response.status_code == 200
            assert b"October" in response.content
        case "call" | "first byte":
            assert response.status_code in (500, 502)
            assert response.json()["error"]["message"]
        case "mid-stream":
            if streamed:
                assert response.status_code == 200
                assert "error" in json.dumps(events(response.content)[-1])
            else:
                assert response.status_code == 502
