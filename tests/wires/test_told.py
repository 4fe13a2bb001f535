"""Errors inside of answers with a good status: found by their type, and in errors only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from answered import recorded_streams, wholes
from desk import stream
from refdesk.wires.told import error_in_body, error_in_stream

WIRES = ("messages", "chat", "responses")
ERRORS: list[tuple[str, Any, str]] = [
    ("messages", {"type": "error", "error": {"type": "overloaded_error"}}, "overloaded_error"),
    ("messages", {"type": "error", "error": {"message": "?"}}, "error"),
    ("responses", {"type": "error", "code": "rate_limit", "message": "?"}, "rate_limit"),
    ("responses", {"type": "error", "error": {"type": "server_error"}}, "server_error"),
    (
        "responses",
        {"type": "response.failed", "response": {"error": {"code": "server_error"}}},
        "server_error",
    ),
    ("responses", {"type": "response.failed", "response": {"error": None}}, "response.failed"),
    ("chat", {"error": {"type": "BadRequestError", "code": 400}}, "BadRequestError"),
    ("chat", {"error": {"code": 502, "message": "no provider"}}, "502"),
    ("chat", {"error": "the model crashed"}, "error"),
    ("chat", {"object": "error", "type": "NotFound", "code": 404}, "NotFound"),
    ("chat", {"choices": [{"finish_reason": "error", "delta": {}}]}, "error"),
    ("chat", {"error": {"type": 'a "very"\r\nodd é one'}}, "a_very_odd_one"),
    ("chat", {"error": {"type": "x" * 900}}, "x" * 64),
]
NAMES = {"messages": "error", "responses": "error"}


def event(body: Any, name: str = "", *, spaced: bool = False, ends: str = "\n") -> bytes:
    """Return an event, with JSON as one or another vendor writes it."""
    data = json.dumps(body) if spaced else json.dumps(body, separators=(",", ":"))
    lines = ([f"event: {name}"] if name else []) + [f"data: {data}"]
    return (ends.join(lines) + ends * 2).encode()


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize(("wire", "body", "expected"), ERRORS)
def test_in_a_stream(wire: str, body: Any, expected: str, spaced: bool, ends: str) -> None:
    """An error is found after what the model said, as the last event or before others."""
    before = b"".join(stream(wire)[:2])
    told = event(body, NAMES.get(wire, ""), spaced=spaced, ends=ends)

    for tail in (
        before + told,
        before + told + b"data: [DONE]\n\n",
        before[40:] + told + b": bye\n\n",
        before + told.rstrip(),
        before * 50 + told + before[-900:],
    ):
        assert error_in_stream(b"", tail) == expected
    assert error_in_stream(before + told, before * 50) == expected


@pytest.mark.parametrize(("wire", "body", "expected"), ERRORS)
def test_in_a_whole_answer(wire: str, body: Any, expected: str) -> None:
    """A whole answer that is an error is told from one of the model."""
    assert error_in_body(json.dumps(body, indent=1).encode()) == expected


@pytest.mark.parametrize("data", ["upstream timed out", "{", ""])
def test_an_event_of_that_name(data: str) -> None:
    """An event named error is one, whatever its data is; without data it is none."""
    told = f"event: error\ndata: {data}\n\n".encode()
    assert error_in_stream(b"", told) == ("error" if data else "")


@pytest.mark.parametrize("wire", WIRES)
def test_recorded_answers_tell_none(wire: str) -> None:
    """No recorded answer of a model is taken for an error."""
    seen = 0
    for name, body in recorded_streams(wire):
        if "error" not in name and "fail" not in name:
            assert error_in_stream(body[:65_536], body[-65_536:]) == "", name
            seen += 1
    for name, body, _ in wholes(wire):
        assert error_in_body(body) == "", name
        seen += 1
    assert seen > 3


@pytest.mark.parametrize(
    "text",
    [
        'event: error\ndata: {"error": {"type": "x"}}',
        'data: {"type":"error"}\n\n',
        "response.failed",
        '{"object":"error","code":1}',
    ],
)
@pytest.mark.parametrize("wire", WIRES)
def test_what_a_model_says_of_errors_is_none(wire: str, text: str) -> None:
    """A model that writes about errors, or hands them to a function, tells none."""
    body = b"".join(stream(wire, text))
    assert error_in_stream(body, body[50:]) == ""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"error":null}',
        b'{"error":{}',
        b'{"id":"x","error":null,"status":"completed"}',
    ],
)
def test_answers_without_one(body: bytes) -> None:
    """Null is no error, and what cannot be read is none."""
    assert error_in_body(body) == ""
