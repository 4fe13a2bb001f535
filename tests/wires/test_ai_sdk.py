"""
The AI SDK (npm ``ai``), whose parsers refuse what they do not know, reads every answer.

It runs in Node beside the tests: `tests/ai_sdk/judge.mjs`.  Where Node or the packages are not
installed these tests are skipped; ``npm ci --prefix tests/ai_sdk`` installs them, and in CI their
absence fails.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from answered import MADE, recorded_streams, search_of, streamed, wholes
from desk import answers, open_desk, sse, stream, whole
from refdesk.testing.fakes import FakeEngine, item
from refdesk.types import WebPage
from refdesk.wires import chat, messages, responses
from refdesk.wires.base import Wire
from refdesk.wires.document import Document

pytestmark = pytest.mark.node

HERE: Final = Path(__file__).parents[1] / "ai_sdk"
WIRES: Final[dict[str, Wire]] = {"messages": messages, "chat": chat, "responses": responses}
COUNTS: Final = (0, 1, 10)
ASKED: Final = Document.read(
    b'{"model":"m","tools":[{"type":"web_search"}],"include":["web_search_call.action.sources"]}'
)
CASES: Final = [
    pytest.param(wire, body, count, id=f"{wire}-{name}-{count}")
    for wire in WIRES
    for name, body, count in wholes(wire)
    if name != "two choices"  # the SDK's streams know one choice only
]
STREAMS: Final = [
    pytest.param(wire, body, id=f"{wire}-{name}")
    for wire in WIRES
    for name, body in recorded_streams(wire)
]
OURS: Final = {"messages": "srvtoolu_rd0123456789abcdef01234567"}
OURS["responses"] = "ws_rd0123456789abcdef0123456789abcdef01234567"
MARKS: Final = (b"rd1.", b"srvtoolu_rd", b"ws_rd", b"encrypted_")

Judge = Callable[..., Any]


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    """The AI SDK: a job in, a verdict out."""
    missing = None
    if shutil.which("node") is None:
        missing = "node is not installed"
    elif not (HERE / "node_modules" / "ai").is_dir():
        missing = "the AI SDK is not installed; run npm ci --prefix tests/ai_sdk"
    if missing is not None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    process = subprocess.Popen(
        ["node", HERE / "judge.mjs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:

        def ask(**job: Any) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
            verdict = json.loads(process.stdout.readline())
            assert "failed" not in verdict, verdict["failed"]
            for turn in verdict["turns"]:
                assert turn["errors"] == []
                assert "error" not in turn["parts"]
            return verdict

        try:
            yield ask
        finally:
            process.kill()


def read(judge: Judge, wire: str, body: bytes, *, cut: int | None = None) -> Any:
    """What the SDK makes of an answer; with ``cut`` of a streamed one, in pieces of that size."""
    given = base64.b64encode(body).decode()
    verdict = judge(wire=wire, stream=cut is not None, cut=cut, answers=[given])
    return verdict["turns"][0]


def attached(wire: str, body: bytes, count: int) -> bytes:
    """Put a search into a whole answer."""
    return WIRES[wire].attach_search(body, search_of(count), ASKED)


def rewritten(wire: str, body: bytes, count: int) -> bytes:
    """Put a search into a streamed answer."""
    rewriter = WIRES[wire].rewriter(search_of(count), ASKED)
    return rewriter.feed(body) + rewriter.finish()


def told(turn: Any) -> Any:
    """What an answer tells, kind by kind: the order between kinds is the SDK's own."""
    kinds: dict[str, list[Any]] = {}
    for part in turn["content"]:
        kinds.setdefault(part["type"], []).append(part)
    for kind in ("text", "reasoning"):
        # Two parts of one message are one text when they are streamed.
        kinds[kind] = ["".join(part["text"] for part in kinds.get(kind, []))]
    return kinds, turn["finish"], turn["usage"]


@pytest.mark.parametrize(("wire", "body", "count"), CASES)
def test_both_forms_agree(judge: Judge, wire: str, body: bytes, count: int) -> None:
    """A whole answer and the same answer streamed are read, and are the same to the SDK."""
    once = read(judge, wire, attached(wire, body, count))
    flow = read(judge, wire, rewritten(wire, streamed(wire, body), count), cut=997)

    assert told(flow) == told(once)


@pytest.mark.parametrize("size", [1, 3, 64])
@pytest.mark.parametrize("wire", WIRES)
def test_cuts_do_not_matter(judge: Judge, wire: str, size: int) -> None:
    """A stream cut into small pieces, also inside a character, is read as if it came at once."""
    body = rewritten(wire, streamed(wire, json.dumps(MADE[wire]["plain"]).encode()), 10)
    raw = body.decode().encode().replace(b"\\u00e9", "é".encode())

    assert told(read(judge, wire, raw, cut=size)) == told(read(judge, wire, body, cut=len(body)))


@pytest.mark.parametrize(("wire", "body"), STREAMS)
def test_recorded_streams(judge: Judge, wire: str, body: bytes) -> None:
    """A recorded stream is read; without our search it says what it had said before."""
    before = told(read(judge, wire, body, cut=997))[0]
    after = told(read(judge, wire, rewritten(wire, body, 10), cut=997))[0]

    assert after["text"] == before["text"]
    assert after["reasoning"] == before["reasoning"]
    calls = [each["id"] for each in after.get("tool-call", []) if each["id"] != OURS.get(wire)]
    assert calls == [each["id"] for each in before.get("tool-call", [])]


@pytest.mark.parametrize("cut", [None, 64])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("wire", OURS)
def test_the_search_is_seen(judge: Judge, wire: str, count: int, cut: int | None) -> None:
    """One hosted call of ours, valid, with its query; one result, with all sources."""
    search = search_of(count)
    body = json.dumps(MADE[wire]["plain"]).encode()
    out = (
        attached(wire, body, count) if cut is None else rewritten(wire, streamed(wire, body), count)
    )

    parts = read(judge, wire, out, cut=cut)["content"]

    (call,) = [part for part in parts if part["type"] == "tool-call"]
    (result,) = [part for part in parts if part["type"] == "tool-result"]
    assert call["id"] == result["id"] == OURS[wire]
    assert (call["name"], call["hosted"], call["invalid"]) == ("web_search", True, False)
    output = result["output"]
    if wire == "messages":
        assert call["input"] == {"query": search.query}
        assert [each["url"] for each in output] == search.urls
    else:
        assert output["action"]["query"] == search.query
        assert [each["url"] for each in output["sources"]] == search.urls


@pytest.mark.parametrize("cut", [None, 64])
@pytest.mark.parametrize(("count", "places"), [(0, []), (1, [0, 0]), (10, [0, 0, 1, 1, 2])])
@pytest.mark.parametrize("wire", WIRES)
def test_citations_are_sources(
    judge: Judge, wire: str, count: int, places: list[int], cut: int | None
) -> None:
    """
    Each marker that names a source is a source of the answer, in order; nothing else is.

    On Messages the SDK counts every result of the search as a source first.
    """
    search = search_of(count)
    body = json.dumps(MADE[wire]["plain"]).encode()
    out = (
        attached(wire, body, count) if cut is None else rewritten(wire, streamed(wire, body), count)
    )

    sources = read(judge, wire, out, cut=cut)["sources"]

    found = search.urls if wire == "messages" else []
    cited = [search.urls[place] for place in places]
    assert [each["url"] for each in sources] == found + cited
    assert all(each["title"] for each in sources)


@pytest.mark.parametrize("stream", [False, True])
def test_the_judge_is_strict(judge: Judge, stream: bool) -> None:
    """An annotation without a title fails: so these parsers notice what they should."""
    answer = json.loads(attached("responses", json.dumps(MADE["responses"]["plain"]).encode(), 1))
    del answer["output"][1]["content"][0]["annotations"][0]["title"]
    body = json.dumps(answer).encode()

    with pytest.raises(AssertionError):
        read(
            judge,
            "responses",
            streamed("responses", body) if stream else body,
            cut=64 if stream else None,
        )


TURNS: Final = ("When was Python 3.14 released?", "And Python 3.13?", "Thanks; who decides that?")


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("wire", "options"),
    [
        pytest.param("messages", {}, id="messages"),
        pytest.param("responses", {}, id="responses-references"),
        pytest.param("responses", {"openai": {"store": False}}, id="responses-inline"),
        pytest.param("chat", {}, id="chat"),
    ],
)
async def test_the_next_turn(
    judge: Judge, tmp_path: Path, wire: str, options: Any, streams: bool
) -> None:
    """What the SDK replays reaches the upstream as text: nothing sealed, and no id of ours."""
    # (The upstream's own items may be referred to: it made them.)
    pages = [
        WebPage(items=(item(f"https://turn{turn}.example/", f"Turn {turn}", f"It is {turn}."),))
        for turn in range(3)
    ]
    async with open_desk(tmp_path, FakeEngine("fake", *pages)) as desk:
        answer = sse(b"".join(stream(wire)), cut=9) if streams else [whole(answers(wire))]
        desk.upstream.will(answer)
        verdict = await asyncio.to_thread(
            judge, wire=wire, stream=streams, url=f"http://{desk.host}:{desk.port}", turns=TURNS,
            options=options, extra={"web_search_options": {}} if wire == "chat" else {},
        )  # fmt: skip

        assert [query.text for query in desk.engine.queries] == list(TURNS)
        seen = desk.upstream.seen
        assert len(seen) == len(TURNS)
        for place, request in enumerate(seen):
            assert not [mark for mark in MARKS if mark in request.body]
            assert b"https://turn%d.example/" % place in request.body
            if wire != "chat":
                assert request.body.count(b'Web search for \\"') == place
        for place, turn in enumerate(verdict["turns"]):
            assert turn["text"] == "On 7 October 2025 [1]."
            assert {each["url"] for each in turn["sources"]} == {f"https://turn{place}.example/"}

    replayed = json.dumps(verdict["sent"][-1])
    if wire == "messages":
        assert replayed.count('"rd1.') >= 2
    elif wire == "responses" and not options:
        assert replayed.count('"type": "item_reference", "id": "ws_rd') == 2
