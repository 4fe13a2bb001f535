"""What real clients send: their users' questions are searched for, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from desk import WIRES
from recorded import OWN
from refdesk.gateway.exchange import CallUpstream, Recall, Recalled, Search, Terms, exchange
from refdesk.gateway.route import decide
from refdesk.wires import chat, messages, responses
from refdesk.wires.base import History, Wire
from refdesk.wires.document import Document
from sealed import FakeSealer

CLIENTS = sorted((OWN / "clients").glob("*.json"))
WIRE: dict[str, Wire] = {"messages": messages, "chat": chat, "responses": responses}
TEXT_PART = {"messages": "text", "chat": "text"}


def requests() -> list[Any]:
    """Every recorded request, under the client's name."""
    return [
        pytest.param(request, id=f"{path.stem}: {request['what']}")
        for path in CLIENTS
        for request in json.loads(path.read_text())["requests"]
    ]


def written(wire: str, message: dict[str, Any]) -> dict[str, Any]:
    """A recorded message, as it is written on a wire."""
    texts = message["content"]
    if isinstance(texts, str):
        return message
    kind = TEXT_PART.get(wire, "input_text" if message["role"] == "user" else "output_text")
    return message | {"content": [{"type": kind, "text": text} for text in texts]}


def body(wire: str, request: dict[str, Any], *, alone: bool) -> dict[str, Any]:
    """A recorded request on a wire, search declared, as the only tool or beside a function."""
    said = [written(wire, message) for message in request["messages"]]
    schema = {"type": "object", "properties": {}}
    match wire:
        case "messages":
            tools = [{"type": "web_search_20250305", "name": "web_search"}]
            tools += [] if alone else [{"name": "bash", "input_schema": schema}]
            return {"model": "m", "max_tokens": 9, "messages": said, "tools": tools}
        case "chat":
            function = {"type": "function", "function": {"name": "bash", "parameters": schema}}
            more = {} if alone else {"tools": [function]}
            return {"model": "m", "messages": said, "web_search_options": {}, **more}
    tools = [{"type": "web_search"}]
    tools += [] if alone else [{"type": "function", "name": "bash", "parameters": schema}]
    return {"model": "m", "input": said, "tools": tools}


def asked(wire: str, request: dict[str, Any]) -> str | None:
    """What the exchange would have the engine asked; None where it asks nothing."""
    decision = decide(model=None, upstream=None, capability="no")
    course = exchange(
        Document.read(json.dumps(request).encode()),
        wire=WIRE[wire],
        terms=Terms(decision=decision),
        sealer=FakeSealer(),
    )
    command = next(course)
    if isinstance(command, Recall):
        command = course.send(Recalled(History(rows={}, searches={})))
    if isinstance(command, Search):
        return command.query.text
    assert isinstance(command, CallUpstream)
    assert command.outcome.kind in ("pass", "degraded")
    assert command.outcome.notices or command.outcome.detail
    return None


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "beside"])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("request_", requests())
def test_only_the_users_question(request_: dict[str, Any], wire: str, alone: bool) -> None:
    """On every wire the engine is asked the user's words; the log says why it is not asked."""
    assert asked(wire, body(wire, request_, alone=alone)) == request_["asked"]
