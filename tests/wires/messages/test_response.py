"""Whole answers with a search in them, and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from recorded import recorded_json, recording
from refdesk.errors import UpstreamError
from refdesk.wires import messages
from refdesk.wires.base import GatewaySearch
from refdesk.wires.document import Document

ASKED = Document.read(b'{"tools":[{"type":"web_search_20250305","name":"web_search"}]}')
ASKED_LATER = Document.read(b'{"tools":[{"type":"web_search_20260209","name":"web_search"}]}')
ID = "srvtoolu_rd0123456789abcdef01234567"
CALL = {
    "type": "server_tool_use",
    "id": ID,
    "name": "web_search",
    "input": {"query": 'newest "k8s" release'},
}
RESULT = {
    "type": "web_search_tool_result",
    "tool_use_id": ID,
    "content": [
        {
            "type": "web_search_result",
            "title": "Releases",
            "url": "https://kubernetes.io/releases",
            "encrypted_content": "rd1.AAAA",
            "page_age": "2026-11-02",
        },
        {
            "type": "web_search_result",
            "title": "example.org",
            "url": "https://example.org/a",
            "encrypted_content": "rd1.BBBB",
            "page_age": None,
        },
    ],
}
FIRST = {
    "type": "web_search_result_location",
    "cited_text": ("Kubernetes 1.36 is the newest. " * 8)[:150],
    "url": "https://kubernetes.io/releases",
    "title": "Releases",
    "encrypted_index": "rd1.AAAA",
}
SECOND = {
    "type": "web_search_result_location",
    "cited_text": "Short.",
    "url": "https://example.org/a",
    "title": "example.org",
    "encrypted_index": "rd1.BBBB",
}
THINKING = {"type": "thinking", "thinking": "Hm. [1]", "signature": "Et0E"}
REDACTED = {"type": "redacted_thinking", "data": "x"}
TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"text": "[1]"}}
COUNTED = {"web_search_requests": 1, "web_fetch_requests": 0}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def answer(*blocks: Any, **members: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(blocks),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 5},
        **members,
    }


def attach(body: Any, search: GatewaySearch, asked: Document = ASKED) -> Any:
    return json.loads(messages.attach_search(json.dumps(body).encode(), search, asked))


def test_whole_answer(search: GatewaySearch) -> None:
    """The blocks stand before the text, the text is cited, and the search is counted."""
    attached = attach(answer(text("It is 1.36 [1], see https://example.org/a.")), search)

    assert attached == answer(
        CALL,
        RESULT,
        text("It is 1.36 [1], see https://example.org/a.", citations=[FIRST, SECOND]),
        usage={"input_tokens": 7, "output_tokens": 5, "server_tool_use": COUNTED},
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], [CALL, RESULT]),
        ([THINKING], [THINKING, CALL, RESULT]),
        ([THINKING, REDACTED, text("A")], [THINKING, REDACTED, CALL, RESULT, text("A")]),
        ([TOOL_USE], [CALL, RESULT, TOOL_USE]),
        ([THINKING, text("A"), THINKING], [THINKING, CALL, RESULT, text("A"), THINKING]),
        ([{"type": "new"}, text("A")], [CALL, RESULT, {"type": "new"}, text("A")]),
        ([None, 5, "x"], [CALL, RESULT, None, 5, "x"]),
    ],
)
def test_place(before: list[Any], after: list[Any], search: GatewaySearch) -> None:
    """The blocks stand after leading thinking and before everything else; no other is touched."""
    assert attach(answer(*before), search)["content"] == after


def test_caller(search: GatewaySearch) -> None:
    """From 20260209 on the blocks say that the model called the tool directly."""
    call, result = attach(answer(), search, ASKED_LATER)["content"]

    assert call == {**CALL, "caller": {"type": "direct"}}
    assert result == {**RESULT, "caller": {"type": "direct"}}


def test_no_sources(search: GatewaySearch) -> None:
    """A search that found nothing is an empty list, and no text is cited."""
    attached = attach(answer(text("Nothing [1].")), replace(search, sources=()))

    assert attached["content"] == [CALL, {**RESULT, "content": []}, text("Nothing [1].")]


@pytest.mark.parametrize(
    "words", ["No marker.", "Unknown [9] and https://other.example/.", "Code: `[1]`.", ""]
)
def test_no_citation_is_invented(words: str, search: GatewaySearch) -> None:
    """A text that names no source is passed on without a list of citations."""
    assert attach(answer(text(words)), search)["content"][2] == text(words)


def test_citations_of_the_upstream_stay(search: GatewaySearch) -> None:
    """What the upstream cited stays, and ours come after it."""
    own = {"type": "char_location", "document_index": 0}
    block = text("As said [2].", citations=[own])

    assert attach(answer(block), search)["content"][2]["citations"] == [own, SECOND]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, {"server_tool_use": COUNTED}),
        ({"output_tokens": "5"}, {"output_tokens": "5", "server_tool_use": COUNTED}),
        ({"server_tool_use": None}, {"server_tool_use": COUNTED}),
        (
            {"server_tool_use": {"web_search_requests": 2, "new": 1.5}},
            {"server_tool_use": {"web_search_requests": 3, "new": 1.5}},
        ),
        (
            {"server_tool_use": {"web_search_requests": None}},
            {"server_tool_use": {"web_search_requests": 1}},
        ),
        (
            {"server_tool_use": {"web_fetch_requests": 4}},
            {"server_tool_use": {"web_fetch_requests": 4, "web_search_requests": 1}},
        ),
        (
            {"server_tool_use": {"web_search_requests": "2"}},
            {"server_tool_use": {"web_search_requests": "2"}},
        ),
        ({"server_tool_use": "2"}, {"server_tool_use": "2"}),
        ("much", "much"),
    ],
)
def test_usage(usage: Any, expected: Any, search: GatewaySearch) -> None:
    """The search is counted beside what the upstream had; no token count is made or lost."""
    assert attach(answer(usage=usage), search)["usage"] == expected


def test_absent_usage(search: GatewaySearch) -> None:
    """An answer without usage gets the count of the search alone."""
    body = answer()
    del body["usage"]

    assert attach(body, search)["usage"] == {"server_tool_use": COUNTED}


def test_other_bytes_stay(search: GatewaySearch) -> None:
    """Members and blocks that are none of ours are copied as they were written."""
    body = rb'{ "content":[{"type":"new", "n":1.10,"s":"\ud800"}], "big": 18446744073709551617 }'

    attached = messages.attach_search(b"\xef\xbb\xbf" + body, search, ASKED)

    assert rb'{"type":"new", "n":1.10,"s":"\ud800"}]' in attached
    assert attached.startswith(b'{ "content":[{"type":"server_tool_use"')
    assert b'"big": 18446744073709551617' in attached


@pytest.mark.parametrize(
    "name",
    [
        "nonstream-search-then-replay/1-response.json",
        "pause-turn-nonstream/1-response.json",
        "pause-turn-nonstream/2-response.json",
        "dynamic-filtering-20260209/response.json",
        "mixed-server-and-client-tools/response.json",
        "plain-client-tools/1-response.json",
    ],
)
def test_recorded_answers(
    name: str, search: GatewaySearch, read_whole: Callable[[bytes], dict[str, Any]]
) -> None:
    """A recorded answer keeps all its blocks, its own searches included, and the SDK reads it."""
    before = recorded_json(f"anthropic-messages/{name}")

    attached = messages.attach_search(recording(f"anthropic-messages/{name}"), search, ASKED)

    after = json.loads(attached)
    place = after["content"].index(CALL)
    assert after["content"][place : place + 2] == [CALL, RESULT]
    assert after["content"][:place] + after["content"][place + 2 :] == before["content"]
    seen = read_whole(attached)
    assert [block["type"] for block in seen["content"]] == [b["type"] for b in after["content"]]
    had = before["usage"].get("server_tool_use", {}).get("web_search_requests", 0)
    assert seen["usage"]["server_tool_use"]["web_search_requests"] == had + 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"null",
        b"[]",
        b"{}",
        b'{"content":"x"}',
        b'{"content":{}}',
        b'{"type":"error","error":{"type":"api_error","message":"x"},"content":[]}',
        b'{"content":[',
        b'{"content":[],"x":"\xff"}',
        b"[" * 100_000,
    ],
)
def test_no_message(body: bytes, search: GatewaySearch) -> None:
    """What is no message of this wire is refused, so that it can be passed on as it came."""
    with pytest.raises(UpstreamError, match="the upstream's answer is no message") as caught:
        messages.attach_search(body, search, ASKED)

    assert caught.value.fault == "bad_response"


def test_recorded_error_is_no_message(search: GatewaySearch) -> None:
    """No search is put on a recorded error."""
    with pytest.raises(UpstreamError):
        messages.attach_search(
            recording("anthropic-messages/http-400-error/response.json"), search, ASKED
        )


@pytest.mark.parametrize(
    ("status", "type_"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (502, "api_error"),
        (504, "timeout_error"),
        (529, "overloaded_error"),
    ],
)
def test_error_body(status: int, type_: str) -> None:
    """An error is told in this wire's JSON, its type by its status."""
    body = messages.error_body("No such model.", status=status, param="model", request_id="req_1")

    assert json.loads(body) == {
        "type": "error",
        "error": {"type": type_, "message": "No such model."},
        "request_id": "req_1",
    }


def test_line_separators_are_escaped(search: GatewaySearch) -> None:
    """What some readers take for the end of a line stands escaped in what we write."""
    attached = messages.attach_search(
        json.dumps(answer()).encode(), replace(search, query="a\u2028b\u2029c"), ASKED
    )

    assert rb"a\u2028b\u2029c" in attached
