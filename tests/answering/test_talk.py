"""What a model says on each wire, however the stream was cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desk import event, stream
from refdesk.answering.talk import AnswerReader, body_of, error_in

WIRES = ["messages", "chat", "responses"]
TEXT = "On 7 October 2025 [ref_001]. 十月七日 🎉"


def read(wire: str, data: bytes, size: int) -> tuple[str, AnswerReader]:
    """Read a stream in pieces of that size."""
    reader = AnswerReader(wire)
    said = [text for at in range(0, len(data), size) for text in reader.feed(data[at : at + size])]
    return "".join([*said, *reader.finish()]), reader


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
def test_cuts(wire: str, size: int) -> None:
    """The text is the same, and complete, wherever the bytes were cut."""
    said, reader = read(wire, b"".join(stream(wire, TEXT)), size)
    assert said == TEXT
    assert reader.complete
    assert (reader.error, reader.cut_short) == ("", False)


@pytest.mark.parametrize("wire", WIRES)
def test_broken_off(wire: str) -> None:
    """A stream without its end is not complete."""
    events = stream(wire, TEXT)
    kept = {"messages": 3, "chat": 2, "responses": 4}[wire]
    said, reader = read(wire, b"".join(events[:kept]), 50)
    assert said == TEXT
    assert not reader.complete


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        ("messages", {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
        ("chat", {"error": {"message": "busy"}}),
        ("chat", {"error": "busy"}),
        ("responses", {"type": "error", "message": "busy"}),
        ("responses", {"type": "response.failed", "response": {"error": {"message": "busy"}}}),
    ],
)
def test_error(wire: str, said: dict[str, Any]) -> None:
    """An error within a stream is read in the wire's form."""
    _, reader = read(wire, event(said), 10)
    assert reader.error == "busy"


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        ("messages", {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}),
        ("chat", {"choices": [{"delta": {}, "finish_reason": "length"}]}),
        (
            "responses",
            {
                "type": "response.incomplete",
                "response": {"incomplete_details": {"reason": "max_output_tokens"}},
            },
        ),
    ],
)
def test_cut_short(wire: str, said: dict[str, Any]) -> None:
    """A model that wrote as much as it may is known to have been cut short."""
    _, reader = read(wire, event(said), 10)
    assert reader.cut_short


@given(
    wire=st.sampled_from(WIRES),
    data=st.lists(
        st.binary(max_size=30)
        | st.sampled_from([b"data: {", b'data: {"choices": [7]}\n\n', b"data: [DONE]\n\n"])
        | st.builds(
            lambda type_, value: event({"type": type_, "delta": value, "response": value}),
            st.sampled_from(["content_block_delta", "response.output_text.delta", "error"]),
            st.none() | st.integers() | st.lists(st.text(), max_size=2) | st.just({"text": 7}),
        ),
        max_size=6,
    ),
)
def test_anything(wire: str, data: list[bytes]) -> None:
    """Whatever comes, only text is yielded, and nothing is raised."""
    reader = AnswerReader(wire)
    said = [text for piece in data for text in reader.feed(piece)]
    assert all(isinstance(text, str) for text in [*said, *reader.finish()])


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("system", ["Cite.", ""])
def test_body(wire: str, system: str) -> None:
    """A request has the question, how to cite where that is said, and no tool."""
    body = json.loads(body_of(wire, model="m", system=system, text="Who?", max_tokens=100))
    assert (body["model"], body["stream"]) == ("m", True)
    assert "tools" not in body
    said = json.dumps(body)
    assert "Who?" in said
    assert ("Cite." in said) == bool(system)
    if not system:
        assert "system" not in body
        assert "instructions" not in body


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"message": "no"}}', "no"),
        (b'{"error": "no"}', "no"),
        (b"<html>no</html>", "<html>no</html>"),
        (b'{"detail": 1}', '{"detail": 1}'),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_error_in(body: bytes, said: str) -> None:
    """An error's message is found; anything else is shown as it is."""
    assert error_in(body) == said
