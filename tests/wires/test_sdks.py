"""
The official SDKs read every answer that a search was put into: whole, streamed, cut at any byte.

What they make of both forms must be the same, and what the model itself said must still be there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from answered import MADE, recorded_streams, search_of, streamed, wholes
from judges import ASKED, WIRES, Judge, bare, cut, told
from refdesk.wires.base import GatewaySearch
from refdesk.wires.sse import Decoder

# The SDK serialises what it read, and some of what vendors send is not in its types.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")

COUNTS: Final = (0, 1, 10)
CASES: Final = [
    pytest.param(wire, body, count, id=f"{wire}-{name}-{count}")
    for wire in WIRES
    for name, body, count in wholes(wire)
]
STREAMS: Final = [
    pytest.param(wire, body, id=f"{wire}-{name}")
    for wire in WIRES
    for name, body in recorded_streams(wire)
]


def _cases(wire: str) -> list[Any]:
    return [pytest.param(*case.values[1:], id=case.id) for case in CASES if case.values[0] == wire]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """The official clients."""
    judge = Judge()
    yield judge
    judge.anthropic.close()
    judge.openai.close()


def rewritten(wire: str, body: bytes, search: GatewaySearch, size: int = 4096) -> bytes:
    """Put the search into a stream that comes in pieces."""
    rewriter = WIRES[wire].rewriter(search, ASKED[wire])
    return b"".join(map(rewriter.feed, cut(body, size))) + rewriter.finish()


def attached(wire: str, body: bytes, search: GatewaySearch) -> bytes:
    """Put the search into a whole answer."""
    return WIRES[wire].attach_search(body, search, ASKED[wire])


@pytest.mark.parametrize(("wire", "body", "count"), CASES)
def test_both_forms_agree(judge: Judge, wire: str, body: bytes, count: int) -> None:
    """A whole answer and the same answer streamed are the same to the SDK, with any sources."""
    search = search_of(count)

    whole = judge.whole(wire, attached(wire, body, search))
    stream = judge.accumulated(wire, cut(rewritten(wire, streamed(wire, body), search), 997))

    assert told(wire, stream) == told(wire, whole)


@pytest.mark.parametrize(("wire", "body"), STREAMS)
def test_recorded_streams_agree(judge: Judge, wire: str, body: bytes) -> None:
    """A recorded stream, and the whole answer that the SDK makes of it, get the same search."""
    search = search_of(10)
    whole = judge.accumulated(wire, cut(body, 4096)).to_json().encode()

    stream = judge.accumulated(wire, cut(rewritten(wire, body, search), 997))

    assert told(wire, stream) == told(wire, judge.whole(wire, attached(wire, whole, search)))


@pytest.mark.parametrize("size", [1, 3, 64])
@pytest.mark.parametrize("wire", WIRES)
def test_cut_into_pieces_of_one_size(judge: Judge, wire: str, size: int) -> None:
    """Cut before the gateway and cut after it, an answer is read as if it had come in one piece."""
    search = search_of(10)
    for body in _cuttable(wire):
        at_once = rewritten(wire, body, search)
        in_pieces = rewritten(wire, body, search, size)

        assert in_pieces == at_once
        read = judge.accumulated(wire, cut(in_pieces, size))
        assert told(wire, read) == told(wire, judge.accumulated(wire, [at_once]))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.parametrize("wire", WIRES)
def test_cut_at_any_byte(judge: Judge, wire: str, data: st.DataObject) -> None:
    """Wherever an answer is cut, before the gateway or after it, the SDK reads the same."""
    search = search_of(data.draw(st.sampled_from(COUNTS)))
    body = data.draw(st.sampled_from(list(_cuttable(wire))))
    at_once = rewritten(wire, body, search)

    rewriter = WIRES[wire].rewriter(search, ASKED[wire])
    out = b"".join(map(rewriter.feed, _cut_anywhere(data, body))) + rewriter.finish()

    assert out == at_once
    read = judge.accumulated(wire, _cut_anywhere(data, out))
    assert told(wire, read) == told(wire, judge.accumulated(wire, [at_once]))


def _cuttable(wire: str) -> Iterator[bytes]:
    for name in ("plain", "thinking", "reasoning", "text and tool", "tool", "text and function"):
        if name in MADE[wire]:
            yield streamed(wire, json.dumps(MADE[wire][name]).encode())
    # Not escaped: characters of several bytes are cut as well.
    yield from (body for _, body in recorded_streams(wire) if len(body) < 20_000)


def _cut_anywhere(data: st.DataObject, body: bytes) -> list[bytes]:
    places = data.draw(st.sets(st.integers(0, len(body)), max_size=12))
    return [body[a:b] for a, b in pairwise(sorted({0, len(body), *places}))]


@pytest.mark.parametrize(("wire", "body", "count"), CASES)
def test_the_model_keeps_its_words(judge: Judge, wire: str, body: bytes, count: int) -> None:
    """Without our item, count and citations, an answer is what the model had answered."""
    after = judge.whole(wire, attached(wire, body, search_of(count)))
    before = judge.whole(wire, body)

    assert _without_ours(wire, told(wire, after)) == _without_ours(wire, told(wire, before))


def _without_ours(wire: str, answer: Any) -> Any:
    match wire:
        case "messages":
            return {
                **answer,
                "content": [_uncited(block) for block in answer.get("content", [])
                            if "srvtoolu_rd" not in json.dumps(block)],
                "usage": {key: each for key, each in answer["usage"].items()
                          if key != "server_tool_use"},
            }  # fmt: skip
        case "chat":
            choices = [
                {**choice, "message": _unannotated(choice["message"])}
                for choice in answer["choices"]
            ]
            return {**answer, "choices": choices}
    output = [
        {**item, "content": [_unannotated(part) for part in item["content"]]}
        if item["type"] == "message"
        else item
        for item in answer.get("output", [])
        if not item.get("id", "").startswith("ws_rd")
    ]
    return {**answer, "output": output, "tools": [], "tool_choice": "", "tool_usage": {}}


def _uncited(block: Any) -> Any:
    kept = [
        each
        for each in block.get("citations", [])
        if not each["encrypted_index"].startswith("rd1.")
    ]
    return bare({**block, "citations": kept})


def _unannotated(part: Any) -> Any:
    """Without the annotations that name one of our sources."""
    kept = [
        each for each in part.get("annotations", []) if not _url_of(each).startswith("https://site")
    ]
    return bare({**part, "annotations": kept})


def _url_of(annotation: Any) -> str:
    return str(annotation.get("url_citation", annotation)["url"])


class TestMessages:
    """What a Messages client relies on."""

    @pytest.mark.parametrize(("body", "count"), _cases("messages"))
    def test_one_pair(self, judge: Judge, body: bytes, count: int) -> None:
        """One call and its result, by one id of ours, after thinking and before all else."""
        search = search_of(count)
        before = judge.whole("messages", body)
        read = judge.whole("messages", attached("messages", body, search))

        calls = [at for at, block in enumerate(read.content) if block.type == "server_tool_use"
                 and block.id.startswith("srvtoolu_rd")]  # fmt: skip
        (at,) = calls
        call, result = read.content[at : at + 2]
        assert result.type == "web_search_tool_result"
        assert result.tool_use_id == call.id
        assert call.name == "web_search"
        assert call.input == {"query": search.query}
        assert [each.url for each in result.content] == search.urls
        assert all(each.title and each.encrypted_content for each in result.content)
        assert {block.type for block in read.content[:at]} <= {"thinking", "redacted_thinking"}
        ids = [block.id for block in read.content if hasattr(block, "id")]
        assert len(set(ids)) == len(ids)
        searches = read.usage.server_tool_use.web_search_requests
        earlier = before.usage.server_tool_use
        assert searches == 1 + (earlier.web_search_requests if earlier else 0)
        assert read.usage.output_tokens == before.usage.output_tokens
        assert read.stop_reason == before.stop_reason

    def test_citations(self, judge: Judge) -> None:
        """Each marker that names a source is a citation, in order; nothing else is."""
        body = json.dumps(MADE["messages"]["plain"]).encode()
        read = judge.whole("messages", attached("messages", body, search_of(10)))

        cited = [each.url for each in read.content[-1].citations]
        urls = search_of(10).urls
        assert cited == [urls[0], urls[0], urls[1], urls[1], urls[2]]
        assert all(len(each.cited_text) <= 150 for each in read.content[-1].citations)

    def test_strict_types(self) -> None:
        """What we wrote fits the SDK's types even where the SDK does not look."""
        strict = TypeAdapter[Any](RawMessageStreamEvent)
        for name in ("plain", "thinking", "tool"):
            body = json.dumps(MADE["messages"][name]).encode()
            for count in COUNTS:
                Message.model_validate_json(attached("messages", body, search_of(count)))
                for event in _datas(
                    rewritten("messages", streamed("messages", body), search_of(count))
                ):
                    if event["type"] != "ping":
                        strict.validate_python(event)


class TestChat:
    """What a Chat client relies on."""

    @pytest.mark.parametrize("name", MADE["chat"])
    def test_one_chunk_of_annotations(self, judge: Judge, name: str) -> None:
        """All annotations of a choice come in one chunk, the one that ends it, on the true text."""
        body = json.dumps(MADE["chat"][name]).encode()
        chunks = judge.events("chat", [rewritten("chat", streamed("chat", body), search_of(10))])

        texts: dict[int, str] = {}
        seen: dict[int, list[Any]] = {}
        for chunk in chunks:
            for choice in chunk.choices:
                texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
                found = (choice.delta.model_extra or {}).get("annotations")
                if found:
                    assert choice.index not in seen
                    assert choice.finish_reason
                    seen[choice.index] = found
        expected = {0: 5, 1: 1} if name == "two choices" else {"plain": {0: 5}}.get(name)
        if expected:
            assert {index: len(each) for index, each in seen.items()} == expected
        for index, found in seen.items():
            for each in found:
                _check_span(texts[index], each["url_citation"])

    def test_strict_types(self) -> None:
        """What we wrote fits the SDK's types even where the SDK does not look."""
        for name in ("plain", "text and tool", "two choices"):
            body = json.dumps(MADE["chat"][name]).encode()
            ChatCompletion.model_validate_json(attached("chat", body, search_of(10)))
            for chunk in _datas(rewritten("chat", streamed("chat", body), search_of(10))):
                ChatCompletionChunk.model_validate(chunk)


class TestResponses:
    """What a Responses client relies on."""

    @pytest.mark.parametrize(("body", "count"), _cases("responses"))
    def test_one_call(self, judge: Judge, body: bytes, count: int) -> None:
        """One call of ours, with its query and the sources asked for; spans are true."""
        search = search_of(count)
        read = judge.accumulated(
            "responses", [rewritten("responses", streamed("responses", body), search)]
        )

        (at,) = [at for at, item in enumerate(read.output) if (item.id or "").startswith("ws_rd")]
        call = read.output[at]
        assert (call.type, call.status, call.action.type) == (
            "web_search_call",
            "completed",
            "search",
        )
        assert call.action.query == search.query
        assert [each.url for each in call.action.sources] == search.urls
        assert {item.type for item in read.output[:at]} <= {"reasoning"}
        ids = [item.id for item in read.output]
        assert len(set(ids)) == len(ids)
        assert max(map(len, ids)) <= 64
        for item in read.output:
            for part in item.content or [] if item.type == "message" else []:
                for each in getattr(part, "annotations", []):
                    if each.url in search.urls:
                        _check_span(part.text, each.to_dict())

    def test_citations(self, judge: Judge) -> None:
        """Each marker that names a source is an annotation, in order; nothing else is."""
        body = json.dumps(MADE["responses"]["plain"]).encode()
        read = judge.whole("responses", attached("responses", body, search_of(10)))

        urls = search_of(10).urls
        cited = [each.url for each in read.output[1].content[0].annotations]
        assert cited == [urls[0], urls[0], urls[1], urls[1], urls[2]]

    def test_strict_types(self) -> None:
        """What we wrote fits the SDK's types even where the SDK does not look."""
        strict = TypeAdapter[Any](ResponseStreamEvent)
        for name in ("plain", "reasoning", "function"):
            body = json.dumps(MADE["responses"][name]).encode()
            for count in COUNTS:
                Response.model_validate_json(attached("responses", body, search_of(count)))
                stream = rewritten("responses", streamed("responses", body), search_of(count))
                for event in _datas(stream):
                    if event.get("item", {}).get("status") == "in_progress":
                        # The type wants an action; OpenAI sends none with a call that begins.
                        event["item"].setdefault("action", {"type": "search"})
                    strict.validate_python(event)


def _check_span(text: str, citation: Any) -> None:
    """The span is a marker that stands in the text: a number, a link or the URL itself."""
    marker = text[citation["start_index"] : citation["end_index"]]
    assert marker in ("[1]", "[2]", "[3]") or citation["url"] in marker
    assert citation["title"]


def _datas(stream: bytes) -> list[Any]:
    events = [event.data for event in Decoder().feed(stream) if event.data]
    return [json.loads(data) for data in events if data != b"[DONE]"]
