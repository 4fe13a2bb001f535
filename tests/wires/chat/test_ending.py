"""Streams that passed unread: did they end, and how else are they ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest

from recorded import recording
from refdesk.wires.chat import broken_stream, is_complete

MINI = "openai-chat/stream-search-preview-mini/response.sse"
USAGE = "openai-chat/plain-stream-usage/response.sse"
ANNOTATED = "openai-chat/openrouter-stream-annotations/response.sse"
DONE = b"data: [DONE]\n\n"
HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 7, "model": "m"}


def chunk(delta: Any, reason: str | None = None, index: int = 0) -> bytes:
    """Write one chunk of one choice."""
    choice = {"index": index, "delta": delta, "finish_reason": reason}
    return b"data: " + json.dumps({**HEAD, "choices": [choice]}).encode() + b"\n\n"


def error(message: str) -> bytes:
    """Write the ending of a stream that broke off."""
    inner = {"message": message, "type": "server_error", "param": None, "code": None}
    return b"data: " + json.dumps({"error": inner}, separators=(",", ":")).encode() + b"\n\n"


@pytest.mark.parametrize(
    "tail",
    [
        lambda: recording(MINI),
        lambda: recording(MINI)[-700:],
        lambda: recording(MINI).rstrip(),
        lambda: recording(MINI).removesuffix(DONE),
        lambda: recording(MINI).removesuffix(DONE).rstrip(),
        lambda: recording(USAGE).removesuffix(DONE),
        lambda: recording(ANNOTATED)[-3000:],
        lambda: recording(MINI).replace(b"\n", b"\r\n"),
        lambda: recording(MINI) + b": bye\n\n",
        lambda: b"data:[DONE]",
    ],
)
def test_complete(tail: Callable[[], bytes]) -> None:
    """With [DONE], or without it after the last finish_reason."""
    assert is_complete(tail())
    assert broken_stream(b"", tail(), "no") == b""


@pytest.mark.parametrize(
    "tail",
    [
        lambda: b"",
        lambda: b": OPENROUTER PROCESSING\n\n",
        lambda: recording(MINI)[:700],
        lambda: recording(MINI)[-1500:-300],
        lambda: recording(USAGE).removesuffix(DONE)[:-9],
        lambda: chunk({}, "stop") + chunk({"content": "x"}, index=1),
        lambda: b'data: {"choices":[{"delta":{"content":"data: [DONE]',
    ],
)
def test_broken(tail: Callable[[], bytes]) -> None:
    """A stream without an end is not taken for one, and is told to be broken."""
    assert not is_complete(tail())
    assert broken_stream(b"", tail(), "it broke").endswith(error("it broke"))


def test_the_error_is_an_event_of_its_own(judge: Any) -> None:
    """After whole events it follows at once; a cut event is closed first."""
    whole = chunk({"content": "x"})

    assert broken_stream(whole, whole, "it broke") == error("it broke")
    assert broken_stream(whole, whole + b": PROC", "it broke") == b"\n\n" + error("it broke")
    with pytest.raises(openai.APIError, match="it broke"):
        judge.chunks(whole + b": PROC" + broken_stream(whole, whole + b": PROC", "it broke"))


@pytest.mark.parametrize("cut", range(1, 150, 4))
def test_half_a_chunk_says_nothing(cut: int, judge: Any) -> None:
    """A chunk cut anywhere is closed so that the SDK reads the error, and no made-up word."""
    whole = chunk({"content": "x"})
    text = json.dumps({**HEAD, "choices": [{"finish_reason": "stop", "delta": {"x": "北\n"}}]})
    half = (b"data: " + text.replace("\\u5317", "北").encode())[:-cut]
    seen: list[Any] = []

    with pytest.raises(openai.APIError, match="it broke"):
        judge.chunks(whole + half + broken_stream(whole, whole + half, "it broke"), seen)

    assert [c["choices"] for c in seen[1:]] in ([], [[]])
