"""What is read from a tool's result."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import CallToolResult

from mcp_peers import text
from refdesk.errors import DelegateError
from refdesk.mcp_client.answers import ToolAnswer, read_answer


def read(result: CallToolResult, max_bytes: int = 1000) -> ToolAnswer:
    return read_answer(result, tool="s.t", max_bytes=max_bytes, mask=lambda said: said)


@pytest.mark.parametrize(
    ("result", "data"),
    [
        (text("plain"), None),
        (text(' {"a": 1}'), {"a": 1}),
        (text("note", '["x"]', '{"late": 1}'), ["x"]),
        (text("{broken", "[1]"), [1]),
        (text("2024"), None),
        (text("ignored", data={"a": 2}), {"a": 2}),
        (text("x", data={"result": ["a"]}), ["a"]),
        (text("x", data={"result": 1, "more": 2}), {"result": 1, "more": 2}),
        (text(), None),
    ],
)
def test_data(result: CallToolResult, data: Any) -> None:
    """Structured content comes first; else the first text that is a JSON object or array."""
    assert read(result).data == data


def test_text() -> None:
    """All texts are joined; what is no text is named."""
    result = CallToolResult.model_validate(
        {
            "content": [
                {"type": "text", "text": "one"},
                {"type": "image", "data": "AA==", "mimeType": "image/png"},
                {"type": "resource_link", "uri": "https://a.test/", "name": "A"},
                {"type": "resource", "resource": {"uri": "x:1", "text": "two"}},
            ]
        }
    )
    assert read(result).text == "one\n\n[image left out]\n\nA: https://a.test/\n\ntwo"


@pytest.mark.parametrize("said", [text(error=True), text("", error=True)])
def test_silent_failure(said: CallToolResult) -> None:
    """A failure without a text is said to be one."""
    with pytest.raises(DelegateError, match=r"s\.t failed: it does not say why"):
        read(said)


@pytest.mark.parametrize(
    "result", [text("x" * 1001), text("é" * 501), text(data={"a": "x" * 1000})]
)
def test_too_large(result: CallToolResult) -> None:
    """Text or structured content above the cap is refused; the message names both sizes."""
    with pytest.raises(DelegateError, match=r"with 10\d\d bytes; at most 1000 are taken"):
        read(result)


def test_too_deep() -> None:
    """JSON nested beyond all measure is no data, and no crash."""
    assert read(text("[" * 100_000), max_bytes=200_000).data is None


@settings(max_examples=30)
@given(st.lists(st.text(max_size=40), max_size=4), st.booleans())
def test_any_text(texts: list[str], error: bool) -> None:
    """Any texts give an answer, or an error where the tool says so."""
    result = text(*texts, error=error)
    if error:
        with pytest.raises(DelegateError) as caught:
            read(result)
        assert str(caught.value).isprintable()
    else:
        assert read(result).text == "\n\n".join(filter(None, texts))
