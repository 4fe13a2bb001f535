"""Hostile text in the shape that a reader takes: as its text, in its body, in its stream."""

from __future__ import annotations

from collections.abc import Callable, Generator
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Raw

from db.generate.shop import SHOP
from refdesk.db.generate.vocabulary import vocabulary
from refdesk.gateway import exchange as x
from refdesk.gateway.route import Decision, Route
from refdesk.testing.fakes import item
from refdesk.types import Reference, WebAnswer
from refdesk.wires import messages
from refdesk.wires.base import GatewaySearch, History, Source
from refdesk.wires.document import Document

Made = Callable[[str], Any]

SOURCES = tuple(
    Source(url=f"https://a.b/{n}", title=f"T{n}", sealed=f"rd1.{n}") for n in range(1, 4)
)
SEARCH = GatewaySearch(id="a" * 40, query="q", sources=SOURCES)
ASKED = Document.read(b'{"model":"m","messages":[],"input":[],"tools":[]}')
REFERENCES = [
    Reference(
        id=f"ref_{index:03}",
        index=index,
        type="web",
        source="auto",
        weight=1.0,
        score=None,
        title="T",
        content="",
        url=f"https://a.b/{index}",
    )
    for index in (1, 2, 3)
]


def body(text: str) -> bytes:
    """Return a request and an answer in one, of all wires, that say this text everywhere."""
    said = [{"type": kind, "text": text} for kind in ("text", "input_text", "output_text")]
    call = {"type": "server_tool_use", "id": "srvtoolu_rd1", "input": {"query": text}}
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_rd1",
        "content": [{"type": "web_search_result", "title": text, "encrypted_content": "rd1.1"}],
    }
    turns = [
        {"role": "assistant", "type": "message", "content": [call, found]},
        {"type": "web_search_call", "id": "ws_rd" + "a" * 40, "action": {"query": text}},
        {"role": "user", "type": "message", "content": said},
    ]
    tree = {
        "model": "m",
        "type": "message",
        "messages": [turns[0], turns[2]],
        "input": turns,
        "tools": [{"type": "web_search_20250305"}, {"type": "web_search"}],
        "content": said[:1],
        "choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}],
        "output": [{"type": "message", "content": said[2:]}],
        "query": text,
        text[:100]: text,
    }
    return msgspec.json.encode(tree)


def many(text: str) -> bytes:
    """Return a request with a message for every few characters of the text."""
    message = {"role": "user", "type": "message", "content": text[:8]}
    asks = {"type": "server_tool_use", "id": "srvtoolu_x", "input": {"query": "q"}}
    mine = {
        "role": "assistant",
        "type": "message",
        "content": [{"type": "text", "text": "a"}, asks],
    }
    turns = [message, mine] * (len(text) // 32 + 1)
    tools = [{"type": "web_search_20250305"}, *({"name": str(n)} for n in range(len(turns)))]
    tree = {"model": "m", "messages": turns, "input": turns, "tools": tools}
    return msgspec.json.encode(tree)


def stream(text: str) -> bytes:
    """Return a stream that says this text in small pieces, in the events of all wires."""
    out = [b'event: message_start\ndata: {"type":"message_start","message":{}}\n\n']
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}
    out.append(_event(block))
    item = {"type": "message", "content": []}
    out.append(_event({"type": "response.output_item.added", "output_index": 0, "item": item}))
    for at in range(0, len(text), 8):
        piece = text[at : at + 8]
        delta = {"type": "text_delta", "text": piece}
        out += [
            _event({"type": "content_block_delta", "index": 0, "delta": delta}),
            _event({"choices": [{"index": 0, "delta": {"content": piece}}]}),
            _event({"type": "response.output_text.delta", "output_index": 0, "delta": piece}),
        ]
    done = {"type": "response.output_text.done", "output_index": 0, "content_index": 0}
    out += [
        _event({**done, "text": text}),
        _event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        _event({"type": "content_block_stop", "index": 0}),
    ]
    return b"".join(out)


def _event(tree: Any) -> bytes:
    return b"data: " + msgspec.json.encode(tree) + b"\n\n"


class _Sealer:
    def seal(self, plaintext: bytes, **_: Any) -> str:
        return "rd1.x"

    def open(self, token: str, **_: Any) -> bytes | None:
        return None

    def mac(self, data: bytes) -> bytes:
        return data[:16]


GIVEN: dict[str, Any] = {
    "int": 50,
    "float": 1.0,
    "bool": False,
    "Any": 1,
    "datetime": datetime(2026, 3, 15, 12, tzinfo=UTC),
    "Document": ASKED,
    "GatewaySearch": SEARCH,
    "History": History(rows={each.sealed: each for each in SOURCES}, searches={}),
    "Sealer": _Sealer(),
    "history.Sealer": _Sealer(),
    "ModelSet": SHOP,
    "SchemaWords": vocabulary(SHOP, {}).words,
    "Wire": messages,
    "Terms": x.Terms(decision=Decision(route=Route.GATEWAY, layer="model", why="w")),
    "Iterable[Reference]": REFERENCES,
    "Mapping[str, Any]": {"query": "x"},
    "Sequence[str]": ["https://a.b/1"],
    "Iterable[str]": ["x"],
    "Sequence[bytes]": [b"{}"],
    "tuple[Value, ...]": (),
    "tuple[Expression, ...]": (),
    "list[Item]": [],
    "Sequence[Piece]": [],
    "list[str]": ["known"],
    "type[T]": dict,
    "Dialect": "sqlite",
    "Shape": "markdown",
    "SourceKind": "url",
    "WireName": "chat",
    "Callable[[], float]": lambda: 0.0,
    "Callable[[str], str]": lambda text: text,
}
"""Arguments beside the text, by their annotation."""


def carried(course: Generator[Any, Any, Any]) -> None:
    """Carry an exchange through: a search that finds something, and an answer that cites it."""
    reply: Any = None
    while True:
        match course.send(reply):
            case x.Recall():
                reply = x.Recalled(GIVEN["History"])
            case x.Search(query=asked):
                found = (item("https://a.b/1", "T", asked.text),)
                reply = x.SearchDone("a" * 40, WebAnswer(items=found, engine="main"))
            case x.CallUpstream(document=document):
                reply = x.UpstreamAnswered(200, bytes(document))


def shapes(annotation: str) -> list[Made]:
    """Return how a text may be given where this is asked for; none where it cannot be."""
    found: list[Made] = []
    for part in annotation.split(" | "):
        match part:
            case "str":
                found.append(lambda text: text)
            case "bytes":
                found += [lambda text: text.encode("utf-8", "replace"), body]
            case "Raw":
                found.append(lambda text: Raw(msgspec.json.encode(text)))
            case "Document":
                found += [lambda text: Document.read(body(text)), lambda t: Document.read(many(t))]
            case "dict[str, Raw]":
                found.append(_members)
            case _ if part.endswith(("[str]", "[str, ...]")):
                found += [lambda text: [text], lambda text: [text[:8]] * (len(text) // 8)]
            case _ if part.endswith("[bytes]"):
                found.append(lambda text: [text.encode("utf-8", "replace")])
    return found


def _members(text: str) -> dict[str, Raw]:
    said = Raw(msgspec.json.encode(text))
    blocks = Raw(msgspec.json.encode([{"type": "text", "text": text}]))
    return {"type": Raw(b'"text"'), "text": said, "content": blocks, "id": said}
