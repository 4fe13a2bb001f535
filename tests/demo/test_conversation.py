"""The question on each wire, through a real gateway, and what is heard."""

from __future__ import annotations

import pytest

from desk import WIRES, Close, Desk, sse, stream, whole
from refdesk.demo.choose import Wire
from refdesk.demo.conversation import Heard, Question, ask
from refdesk.errors import RefdeskError

TEXT = "On 7 October 2025 [1]."
URL = "https://a.example/3.14"
BLOCKS = {
    "messages": ["server_tool_use", "web_search_tool_result (2)", "text"],
    "responses": ["web_search_call", "message"],
    "chat": ["message", "annotations (1)"],
}


class Notes:
    """Writes down what is shown."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.pieces: list[str] = []

    def head(self, heard: Heard) -> None:
        self.heads.append(heard.search)

    def text(self, piece: str) -> None:
        self.pieces.append(piece)


def question(wire: str, **more: object) -> Question:
    return Question(text="When was Python 3.14 released?", model="m", wire=wire, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("wire", WIRES)
async def test_every_wire(desk: Desk, wire: Wire) -> None:
    """On each wire the answer is heard with its head, its text, its blocks and what it cites."""
    desk.upstream.will(sse(b"".join(stream(wire, TEXT)), cut=40))
    notes = Notes()
    heard = await ask(question(wire), f"http://{desk.host}:{desk.port}", notes)
    assert notes.heads == ["gateway; engine=fake; results=2"]
    assert "".join(notes.pieces) == heard.text == TEXT
    assert heard.blocks == BLOCKS[wire]
    assert heard.cited == [URL]
    entry = await desk.last()
    assert heard.request_id == entry.request_id
    assert entry.outcome.query == "When was Python 3.14 released?"
    assert heard.first_text_s is not None
    assert heard.head_s <= heard.first_text_s <= heard.total_s


async def test_forced(desk: Desk) -> None:
    """The official client declares the tool and forces it, and the model sees neither."""
    desk.upstream.will(sse(b"".join(stream("messages", TEXT))))
    heard = await ask(question("messages", small=True), f"http://{desk.host}:{desk.port}", Notes())
    assert (await desk.last()).outcome.rule == "the tool choice forces it"
    sent = desk.upstream.seen[0].json
    assert "tools" not in sent
    assert sent["temperature"] == 0
    assert heard.given == [URL, "https://b.example/"]


@pytest.mark.parametrize("wire", WIRES)
async def test_refused(desk: Desk, wire: Wire) -> None:
    """An error of the model is told with its own words."""
    desk.upstream.will(whole({"error": {"type": "x", "message": "no such luck"}}, status=429))
    with pytest.raises(RefdeskError, match="429: no such luck"):
        await ask(question(wire), f"http://{desk.host}:{desk.port}", Notes())


@pytest.mark.parametrize("wire", WIRES)
async def test_cut(desk: Desk, wire: Wire) -> None:
    """An answer that breaks off is an error, not a short answer."""
    events = stream(wire, TEXT)
    desk.upstream.will([*sse(b"".join(events[:-2]))[:-1], Close()])
    with pytest.raises(RefdeskError, match="answer"):
        await ask(question(wire), f"http://{desk.host}:{desk.port}", Notes())


async def test_nobody(unused_tcp_port: int) -> None:
    """A gateway that is not there is an error that says so."""
    for wire in WIRES:
        with pytest.raises(RefdeskError, match="broke off"):
            await ask(question(wire), f"http://127.0.0.1:{unused_tcp_port}", Notes())
