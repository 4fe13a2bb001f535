"""A whole answer gets annotations where its text names a source."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recorded import recorded_json, recording
from refdesk.errors import UpstreamError
from refdesk.wires.base import GatewaySearch, Source
from refdesk.wires.chat import attach_search
from refdesk.wires.document import Document

REAL = "openai-chat/nonstream-search-preview-annotations/response.json"


def completion(*messages: dict[str, Any], **more: Any) -> bytes:
    """Write an answer with these messages."""
    choices = [
        {"index": index, "message": message, "finish_reason": "stop"}
        for index, message in enumerate(messages)
    ]
    return json.dumps({"id": "c", "object": "chat.completion", "choices": choices, **more}).encode()


def citation(start: int, end: int, title: str, url: str) -> dict[str, Any]:
    """Write one annotation."""
    inner = {"start_index": start, "end_index": end, "title": title, "url": url}
    return {"type": "url_citation", "url_citation": inner}


def sources_of(annotations: list[dict[str, Any]]) -> tuple[Source, ...]:
    """Return the sources that annotations name, each once."""
    found = {a["url_citation"]["url"]: a["url_citation"]["title"] for a in annotations}
    return tuple(Source(url=url, title=title) for url, title in found.items())


def test_the_vendors_own_annotations_are_reproduced(asked: Document) -> None:
    """From OpenAI's text and its sources alone come OpenAI's annotations, offset for offset."""
    real = recorded_json(REAL)
    message = real["choices"][0]["message"]
    annotations = message.pop("annotations")
    search = GatewaySearch(id="ab" * 20, query="q", sources=sources_of(annotations))

    answer = json.loads(attach_search(json.dumps(real).encode(), search, asked))

    assert answer["choices"][0]["message"].pop("annotations") == annotations
    assert answer == real


def test_annotations_that_are_there_already_are_not_made_twice(asked: Document) -> None:
    """An answer whose citations the upstream annotated itself stays the bytes that came."""
    body = recording(REAL)
    annotations = json.loads(body)["choices"][0]["message"]["annotations"]
    search = GatewaySearch(id="ab" * 20, query="q", sources=sources_of(annotations))

    assert attach_search(body, search, asked) == body


def test_upstream_annotations_stay_in_front(search: GatewaySearch, asked: Document) -> None:
    """OpenRouter's own annotations (with content, without offsets) are kept; ours follow."""
    before = recorded_json("openai-chat/openrouter-nonstream-annotations/response.json")
    body = recording("openai-chat/openrouter-nonstream-annotations/response.json")

    answer = json.loads(attach_search(body, search, asked))

    own = before["choices"][0]["message"]["annotations"]
    text = before["choices"][0]["message"]["content"]
    start = text.index("https://github.com/pydantic/pydantic-ai")
    end = start + len("https://github.com/pydantic/pydantic-ai")
    added = answer["choices"][0]["message"]["annotations"]
    assert added[: len(own)] == own
    assert added[len(own) :] == [
        citation(start, end, "pydantic/pydantic-ai", "https://github.com/pydantic/pydantic-ai")
    ]


@pytest.mark.parametrize(
    "name",
    [
        "openai-chat/plain-tools/response.json",
        "openai-chat/plain-reasoning/response.json",
        "openai-chat/nonstream-search-preview-location/response.json",
    ],
)
def test_an_answer_without_citations_stays_as_it_came(
    name: str, search: GatewaySearch, asked: Document
) -> None:
    """No marker, no annotation and no field: the very bytes of the upstream."""
    body = recording(name)

    assert attach_search(body, search, asked) == body


def test_offsets_count_code_points(search: GatewaySearch, asked: Document) -> None:
    """Emoji, foreign scripts and lone surrogates count as one each."""
    body = completion({"role": "assistant", "content": "🙂 北 \ud800 [3]."})

    answer = json.loads(attach_search(body, search, asked))

    assert answer["choices"][0]["message"] == {
        "role": "assistant",
        "content": "🙂 北 \ud800 [3].",
        "annotations": [citation(6, 9, "北 «路»", "https://北.example/路?q=1")],
    }


def test_every_choice_has_its_own(search: GatewaySearch, asked: Document) -> None:
    """With n > 1 each text has its own offsets; a choice without text has none."""
    body = completion(
        {"role": "assistant", "content": "see [1]"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": [{"type": "text", "text": "[1]"}]},
        {"role": "assistant", "content": "[2] and [9]", "annotations": None},
    )

    choices = json.loads(attach_search(body, search, asked))["choices"]

    first = citation(4, 7, "pydantic/pydantic-ai", "https://github.com/pydantic/pydantic-ai")
    last = citation(0, 3, "httpbin", "https://httpbin.org/base64/dGVzdA==")
    assert [choice["message"].get("annotations") for choice in choices] == [
        [first],
        None,
        None,
        [last],
    ]


def test_everything_else_survives(search: GatewaySearch, asked: Document) -> None:
    """Unknown fields, odd numbers and escapes around the annotations come through as written."""
    body = (
        b'{"id":"c","x":1.10,"choices":[{"message":{"content":"[1]","reasoning_content":"\\ud800",'
        b'"n":18446744073709551617},"index":0,"logprobs":{"v":-0.0}}],"usage":null}'
    )

    answer = attach_search(body, search, asked)

    added = (
        b',"annotations":[{"type":"url_citation","url_citation":{"start_index":0,"end_index":3,'
        b'"title":"pydantic/pydantic-ai","url":"https://github.com/pydantic/pydantic-ai"}}]'
    )
    assert answer.replace(added, b"") == body


@pytest.mark.parametrize(
    "request_body",
    [b'{"response_format":{"type":"json_object"}}', b'{"response_format":{"type":"json_schema"}}'],
)
def test_structured_output_is_cited_only_in_its_strings(
    request_body: bytes, search: GatewaySearch
) -> None:
    """A list of numbers in JSON cites nothing; a marker in one of its strings does."""
    text = '{"ids": [1], "more": [2, 3], "said": "so \\"it\\" is [1]"}'
    body = completion({"role": "assistant", "content": text})

    answer = json.loads(attach_search(body, search, Document.read(request_body)))

    start = text.rindex("[1]")
    message = answer["choices"][0]["message"]
    assert message["content"] == text
    assert [a["url_citation"]["start_index"] for a in message["annotations"]] == [start]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"<html>",
        b'{"choices":{}}',
        b'{"choices":null}',
        b'{"error":{"message":"no"}}',
        b'{"choices":[]',
        b'\xff{"choices":[]}',
    ],
)
def test_what_is_no_answer_is_refused(body: bytes, search: GatewaySearch, asked: Document) -> None:
    """A body of another shape is our UpstreamError, so that the caller passes it on."""
    with pytest.raises(UpstreamError) as caught:
        attach_search(body, search, asked)

    assert caught.value.fault == "bad_response"


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices":[]}',
        b'{"choices":[null,1,"x",[]]}',
        b'{"choices":[{},{"message":null},{"message":[]}]}',
        b'{"choices":[{"message":{"content":"[1]","annotations":"odd"}}]}',
        b'{"choices":[{"message":{"content":""}}]}',
    ],
)
def test_odd_choices_stay(body: bytes, search: GatewaySearch, asked: Document) -> None:
    """Choices that we cannot read are left alone."""
    assert attach_search(body, search, asked) == body
