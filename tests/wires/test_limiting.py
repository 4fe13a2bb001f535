"""Results of hosted search outside of the client's domain lists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from judges import ASKED, WIRES, Judge, cut, told
from recorded import recording
from refdesk.wires.limiting import Limit

# The SDK serialises what it read, and some of what vendors send is not in its types.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")

GOOD, BAD = "https://docs.python.org/3/", "https://elsewhere.example/x"
FOUND = {
    "messages": {"type": "web_search_result", "title": "T", "encrypted_content": "EqgfCio"},
    "responses": {"type": "url"},
}
CITED = {
    "messages": {
        "type": "web_search_result_location",
        "title": "T",
        "cited_text": "t",
        "encrypted_index": "Eo8B",
    },
    "responses": {"type": "url_citation", "title": "T"},
}


def answer_of(wire: str, urls: tuple[str, ...], stay: tuple[str, ...]) -> dict[str, Any]:
    """A whole answer that searched and cited these pages, of which some are left."""
    left = [(at, url) for at, url in enumerate(urls) if url in stay]
    notes = [
        {**CITED["responses"], "url": url, "start_index": at, "end_index": at + 1}
        for at, url in left
    ]
    match wire:
        case "messages":
            found = [{**FOUND[wire], "url": url} for _, url in left]
            content: list[Any] = [
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "srvtoolu_1",
                    "content": found,
                },
                {
                    "type": "text",
                    "text": "It is.",
                    "citations": [{**CITED[wire], "url": url} for _, url in left],
                },
            ]
            return {
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                "content": content, "stop_reason": "end_turn", "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }  # fmt: skip
        case "chat":
            nested = [
                {
                    "type": "url_citation",
                    "url_citation": {k: v for k, v in n.items() if k != "type"},
                }
                for n in notes
            ]
            message = {"role": "assistant", "content": "It is.", "annotations": nested}
            return {
                "id": "c_1", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            }  # fmt: skip
    sources = [{**FOUND["responses"], "url": url} for _, url in left]
    action = {"type": "search", "query": "q", "sources": sources}
    part = {"type": "output_text", "text": "It is.", "annotations": notes, "logprobs": []}
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m",
        "output": [
            {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": action},
            {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
             "content": [part]},
        ],
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip


def _limit() -> Limit:
    return Limit(lambda url: "elsewhere" not in url)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """The official clients."""
    judge = Judge()
    yield judge
    judge.anthropic.close()
    judge.openai.close()


def left(wire: str, body: bytes, size: int = 41) -> bytes:
    """Limit a stream that comes in pieces."""
    limiter = WIRES[wire].limiter(_limit(), lambda: None)
    return b"".join(map(limiter.feed, cut(body, size))) + limiter.finish()


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("urls", "stay"), [((GOOD, BAD), (GOOD,)), ((BAD, GOOD, BAD, GOOD), (GOOD,)), ((BAD,), ())]
)
def test_only_what_may_be_shown(
    wire: str, urls: tuple[str, ...], stay: tuple[str, ...], judge: Judge
) -> None:
    """Whole and streamed, an answer is the one that a provider that keeps to the lists gives."""
    body = json.dumps(answer_of(wire, urls, urls)).encode()
    expected = told(wire, judge.whole(wire, json.dumps(answer_of(wire, urls, stay)).encode()))
    limit = _limit()
    whole = WIRES[wire].limited(body, limit)
    stream = left(wire, WIRES[wire].streamed(body, ASKED[wire]))

    assert limit.dropped
    assert b"elsewhere" not in whole + stream
    assert told(wire, judge.whole(wire, whole)) == expected
    assert told(wire, judge.accumulated(wire, [stream])) == expected


@pytest.mark.parametrize("size", [3, 1 << 20])
def test_the_numbers_of_responses_close_up(size: int) -> None:
    """An annotation that is left out leaves no gap in the counts."""
    urls = (BAD, GOOD, BAD, GOOD)
    body = json.dumps(answer_of("responses", urls, urls)).encode()
    out = left("responses", WIRES["responses"].streamed(body, ASKED["responses"]), size)
    events = [json.loads(line[6:]) for line in out.splitlines() if line.startswith(b"data: ")]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    placed = [event["annotation_index"] for event in events if "annotation_index" in event]
    assert placed == [0, 1]


RECORDED = [
    ("messages", "anthropic-messages/stream-search-citations/response.sse"),
    ("responses", "openai-responses/stream-url-citations/1-response.sse"),
    ("chat", "openai-chat/openrouter-stream-annotations/response.sse"),
]


@pytest.mark.parametrize(("wire", "name"), RECORDED)
def test_a_good_stream_passes_byte_for_byte(wire: str, name: str) -> None:
    """Where everything may be shown, a stream is the bytes that the upstream sent."""
    body = recording(name)
    assert left(wire, body) == body


@pytest.mark.parametrize(("wire", "name"), RECORDED)
def test_a_recorded_stream_without_its_results(wire: str, name: str) -> None:
    """Of a recorded stream whose results may not be shown, the text stays and nothing else."""
    limiter = WIRES[wire].limiter(Limit(lambda url: False), lambda: None)
    out = limiter.feed(recording(name)) + limiter.finish()
    assert b'"encrypted_content"' not in out
    assert b'"url_citation"' not in out
    assert WIRES[wire].is_complete(out)


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_that_breaks_off_ends_as_any_other(wire: str) -> None:
    """Cut in the midst, it is ended the wire's way; the end is told once."""
    ends: list[int] = []
    urls = (GOOD, BAD)
    body = WIRES[wire].streamed(json.dumps(answer_of(wire, urls, urls)).encode(), ASKED[wire])
    limiter = WIRES[wire].limiter(_limit(), lambda: ends.append(1))
    out = limiter.feed(body[: len(body) // 2]) + limiter.fail("gone")
    assert b"gone" in out
    assert limiter.finish() == limiter.feed(body) == b""
    assert ends == [1]
