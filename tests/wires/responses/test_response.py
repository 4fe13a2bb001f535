"""A search in a whole answer, and the other small things of this wire."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from recorded import recorded_json, recording
from refdesk.errors import UpstreamError
from refdesk.wires import responses
from refdesk.wires.base import GatewaySearch, Source, Wire
from refdesk.wires.document import Document

OURS = "ws_rd0123456789abcdef0123456789abcdef01234567"
WHOLE = [
    "nonstream-search-then-replay/1-response.json",
    "nonstream-url-citations/1-response.json",
    "nonstream-allowed-domains/response.json",
    "nonstream-cache-only-gpt56/response.json",
    "reasoning-high-many-searches/response.json",
    "stream-and-nonstream-sources-openpage-find/response.json",
    "azure-web-search-preview/response.json",
    "xai-web-search/response.json",
    "deepseek-function-tool-replay/1-response.json",
    "deepseek-function-tool-replay/2-response.json",
]
# The SDK serialises what it read, and some of what vendors send is not in its types.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")


def text(value: str, *annotations: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": value, "annotations": list(annotations)}
    return {"id": "msg_1", "type": "message", "role": "assistant", "content": [part]}


def test_the_wire() -> None:
    """The package is a wire, under its name and path, with a comment as its ping."""
    wire: Wire = responses
    assert (wire.NAME, wire.PATH, wire.PING) == ("responses", "/responses", b": searching\n\n")


def test_errors() -> None:
    """An error has OpenAI's four fields."""
    body = responses.error_body("No.", status=400, param="input", request_id="r1")
    error = json.loads(body)["error"]
    assert error == {
        "message": "No.",
        "type": "invalid_request_error",
        "param": "input",
        "code": None,
    }


def test_whole_answer(search: GatewaySearch, asked: Document) -> None:
    """The call stands after leading reasoning, the citations in the text, the echoes as asked."""
    answer = {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "output": [{"type": "reasoning", "id": "rs_1"}, text("See [1], [9].")],
        "parallel_tool_calls": False,
        "tool_choice": "none",
        "tools": [],
        "usage": {"input_tokens": "7"},
    }
    out = json.loads(responses.attach_search(json.dumps(answer).encode(), search, asked))
    assert out == {
        **answer,
        "tool_choice": {"type": "web_search_preview"},
        "tools": [{"type": "web_search", "search_context_size": "low"}],
        "output": [
            {"type": "reasoning", "id": "rs_1"},
            {
                "id": OURS,
                "type": "web_search_call",
                "status": "completed",
                "action": {
                    "type": "search",
                    "query": "tallest mountain in Alberta",
                    "queries": ["tallest mountain in Alberta"],
                    "sources": [
                        {"type": "url", "url": "https://www.britannica.com/place/Mount-Columbia"},
                        {"type": "url", "url": "https://x.ai/company"},
                        {"type": "url", "url": "https://example.org/a_(b)"},
                    ],
                },
            },
            text(
                "See [1], [9].",
                {
                    "type": "url_citation",
                    "start_index": 4,
                    "end_index": 7,
                    "url": "https://www.britannica.com/place/Mount-Columbia",
                    "title": "Mount Columbia | Britannica",
                },
            ),
        ],
    }


@pytest.mark.parametrize("name", WHOLE)
def test_recorded_answers(
    name: str, search: GatewaySearch, asked: Document, read_whole: Callable[..., Any]
) -> None:
    """The SDK reads every dressed answer: our call once, all that was there, citations that fit."""
    body = recording(f"openai-responses/{name}")
    before = recorded_json(f"openai-responses/{name}")["output"]
    answer = read_whole(responses.attach_search(body, search, asked))
    ids = [item.id for item in answer.output]
    at = ids.index(OURS)
    assert ids[:at] + ids[at + 1 :] == [item["id"] for item in before]
    assert all(item.type == "reasoning" for item in answer.output[:at])
    assert answer.output[at + 1].type != "reasoning"
    for item, old in zip(answer.output[at + 1 :], before[at:], strict=True):
        if item.type == "message":
            told = [a.to_dict() for a in item.content[0].annotations]
            was = old["content"][0]["annotations"]
            assert told[: len(was)] == was
            for citation in told[len(was) :]:
                marker = item.content[0].text[citation["start_index"] : citation["end_index"]]
                assert citation["url"].split("//")[1] in marker or marker.startswith("[")


def test_sources_of_a_real_answer_are_cited(
    search: GatewaySearch, asked: Document, read_whole: Callable[..., Any]
) -> None:
    """A URL with the vendor's tracking mark names the source that lacks it, over its marker."""
    events = recording("openai-responses/stream-url-citations/1-response.sse").split(b"data: ")
    answer = json.dumps(json.loads(events[-1])["response"]).encode()
    part = read_whole(responses.attach_search(answer, search, asked)).output[-1].content[0]
    theirs, ours = part.annotations
    assert (ours.start_index, ours.end_index) == (theirs.start_index, theirs.end_index) == (77, 162)
    assert ours.url == "https://www.britannica.com/place/Mount-Columbia"


def test_a_source_without_a_title_is_cited_by_its_url(asked: Document) -> None:
    """Clients show the title of a citation: it is never empty."""
    bare = GatewaySearch(
        id="0" * 40, query="q", sources=(Source(url="https://e.example/", title=""),)
    )
    answer = json.dumps({"output": [text("It was [1].")]}).encode()
    message = json.loads(responses.attach_search(answer, bare, asked))["output"][1]
    assert [each["title"] for each in message["content"][0]["annotations"]] == [bare.urls[0]]


def test_a_text_without_markers_gets_none(search: GatewaySearch, asked: Document) -> None:
    """Nothing is invented: an uncited source is no annotation, and the item keeps its bytes."""
    item = b'{"type":"message","content":[{"type":"output_text","text":"\\u00e9 1.","x":1.10}]}'
    answer = b'{"id":"resp_1","output":[%b],"n":18446744073709551617}' % item
    out = responses.attach_search(answer, search, asked)
    assert item in out
    assert b'"n":18446744073709551617' in out


@pytest.mark.parametrize(
    ("status", "output", "ids"),
    [
        ("completed", [], [OURS]),
        ("incomplete", [{"type": "reasoning", "id": "rs_1"}], ["rs_1", OURS]),
        ("failed", [], []),
        ("failed", [{"type": "reasoning", "id": "rs_1"}], ["rs_1"]),
        ("failed", [{"type": "function_call", "id": "fc_1"}], [OURS, "fc_1"]),
    ],
)
def test_which_endings_show_the_search(
    status: str, output: Any, ids: list[str], search: GatewaySearch, asked: Document
) -> None:
    """Every answer shows it, but one that failed before it said anything."""
    answer = json.dumps({"status": status, "output": output}).encode()
    out = json.loads(responses.attach_search(answer, search, asked))
    assert [item["id"] for item in out["output"]] == ids


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"web_search": {"num_requests": 0}, "x": 1}, {"web_search": {"num_requests": 1}, "x": 1}),
        ({"web_search": {"num_requests": "2"}}, {"web_search": {"num_requests": "2"}}),
        ({"x": 1}, {"x": 1}),
        (None, None),
    ],
)
def test_hosted_searches_are_counted_where_they_are_told(
    usage: Any, expected: Any, search: GatewaySearch, asked: Document
) -> None:
    """An upstream that tells how often it searched tells one search more; others tell nothing."""
    answer = json.dumps({"output": [], "tool_usage": usage}).encode()
    out = json.loads(responses.attach_search(answer, search, asked))
    assert out["tool_usage"] == expected


def test_a_byte_order_mark_is_no_fault(search: GatewaySearch, asked: Document) -> None:
    """Upstreams that put one before their JSON are read."""
    out = responses.attach_search(b'\xef\xbb\xbf{"output":[]}', search, asked)
    assert json.loads(out)["output"][0]["id"] == OURS


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>",
        b"[]",
        b'{"output":[]',
        b'{"error":{"message":"no"}}',
        b'{"output":{}}',
        b'{"choices":[]}',
        b'{"output":"\xff"}',
    ],
)
def test_what_is_no_answer_of_this_wire(
    answer: bytes, search: GatewaySearch, asked: Document
) -> None:
    """It is said, so that the caller can pass the answer on as it came."""
    with pytest.raises(UpstreamError) as caught:
        responses.attach_search(answer, search, asked)
    assert caught.value.fault == "bad_response"


@pytest.mark.parametrize(
    "output",
    [
        [5, None, "x"],
        [{"type": "message"}, {"type": "message", "content": 5}],
        [{"type": "message", "content": [5, {"type": "output_text"}, {"type": 5}]}],
        [{"type": "message", "content": [{"type": "output_text", "text": 5, "annotations": 5}]}],
        [{"type": "message", "content": [{"type": "refusal", "refusal": "[1]"}]}],
    ],
)
def test_odd_items_stay(output: Any, search: GatewaySearch, asked: Document) -> None:
    """What an item should not be is passed on as it is."""
    answer = json.dumps({"output": output}).encode()
    out = json.loads(responses.attach_search(answer, search, asked))
    assert out["output"][1:] == output
