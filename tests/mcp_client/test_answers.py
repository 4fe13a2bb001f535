"""What is read from a tool's result."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import CallToolResult

from mcp_peers import text
from refdesk.errors import DelegateError
from refdesk.masking import Masker
from refdesk.mcp_client.answers import ToolAnswer, read_answer
from refdesk.mcp_client.cutting import cut_data


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
    ("result", "start"),
    [(text("x" * 1001), "xxx"), (text("é" * 501), "ééé"), (text("a" * 600, "b" * 600), "aaa")],
)
def test_a_long_text_is_cut_and_marked(result: CallToolResult, start: str) -> None:
    """Text above the limit is cut at a character; its last line tells of the cut and the size."""
    answer = read(result)
    assert answer.cut
    assert answer.text.startswith(start)
    assert len(answer.text.encode()) <= 1000
    assert re.search(r"\n\[cut: the first 1000 of 1\d\d\d bytes are given\]\Z", answer.text)


@pytest.mark.parametrize("size", [1000, 999, 250, 0])
def test_a_text_that_fits_is_whole(size: int) -> None:
    """At the limit nothing is cut."""
    answer = read(text("x" * size))
    assert (answer.text, answer.cut) == ("x" * size, False)


ROWS = [{"title": f"row {number}", "url": f"https://h.example/{number}"} for number in range(200)]


@pytest.mark.parametrize(
    "result", [text("x", data={"items": ROWS}), text(json.dumps({"items": ROWS}))]
)
def test_long_data_are_cut_between_entries(result: CallToolResult) -> None:
    """Structured content keeps the rows that fit, and stays what it was: an object with a list."""
    answer = read(result)
    assert answer.cut
    assert len(json.dumps(answer.data, separators=(",", ":"))) <= 1050
    rows = answer.data["items"]
    assert 0 < len(rows) < len(ROWS)
    assert rows[:-1] == ROWS[: len(rows) - 1]


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        ({"a": "x" * 2000, "b": 1}, ["a"]),
        ({"a": 1, "b": "é" * 2000}, ["a", "b"]),
        ({str(number): number for number in range(500)}, None),
    ],
)
def test_long_texts_in_data_are_cut(data: dict[str, Any], kept: list[str] | None) -> None:
    """A text ends in an ellipsis, and what follows it is left out."""
    found = read(text("x", data=data)).data
    assert kept is None or list(found) == kept
    assert len(json.dumps(found, ensure_ascii=False).encode()) <= 1500
    assert kept is None or any(str(value).endswith("…") for value in found.values())


def test_a_key_in_a_refusal_is_masked() -> None:
    """A tool that says why it failed, and quotes the key it was sent, does not show it."""
    quoting = text('{"error": "bad key c4n4ry-key"}')
    answer = read_answer(quoting, tool="s.t", max_bytes=1000, mask=Masker(["Bearer c4n4ry-key"]))
    assert answer.data == {"error": "bad key ••••"}
    assert "c4n4ry" not in answer.text


@settings(max_examples=100, derandomize=True)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.integers(0, 300),
)
def test_any_data(data: Any, limit: int) -> None:
    """Whatever the data, what is kept is of the same kind, and whole where it is not cut."""
    kept, cut = cut_data(data, limit)
    assert type(kept) is type(data)
    assert cut or kept == data


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
