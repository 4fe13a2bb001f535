"""Results as text for a model."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.mcp_server.texts import MAX_CHARS, safe, write_reference, write_result
from refdesk.types import Reference, ResultItem, SearchResult

WORDS = st.text(max_size=60) | st.sampled_from(
    ["a\n[2] b", "\u2028[2] b", "\r\nURL: https://evil.example/", "</x>", "\x1b]8;;", "\ud800", ""]
)


def reference(content: str) -> Reference:
    return Reference(
        id="ref_001", index=1, type="web", source="auto", weight=1.0, score=None, title="T",
        content=content,
    )  # fmt: skip


@settings(max_examples=60)
@given(st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=4), WORDS, st.none() | WORDS)
def test_rows_cannot_be_forged(
    found: list[tuple[str, str, str]], query: str, answer: str | None
) -> None:
    """Whatever is found, there is one numbered line an item, and no line has a hidden character."""
    items = tuple(
        ResultItem(title=title, content=f"text {content}", url=url, published="d " + title)
        for title, content, url in found
    )
    text = write_result(
        SearchResult(type="web", query=query, items=items, answer=answer, notices=(query,))
    )

    numbered = [line for line in text.split("\n") if line.startswith("[")]
    assert len(numbered) == len(items)
    assert not any(line.startswith("URL: https://evil") for line in text.split("\n"))
    assert text.replace("\n", "").isprintable()
    assert "<" not in text


@settings(max_examples=60)
@given(WORDS, WORDS)
def test_marked_lines(one: str, two: str) -> None:
    """Every line of a reference's text has the mark, wherever its lines end."""
    head, *rest = write_reference(reference(f"{one}\n{two}")).split("\n")

    assert head == "[1] T"
    assert all(line.startswith(">") for line in rest[1:])
    assert "".join(rest).isprintable()


def test_long_results() -> None:
    """A long result is cut by whole items from the tail, and says how many are left out."""
    items = tuple(ResultItem(title=f"t{n}", content="x" * 2000) for n in range(40))
    text = write_result(SearchResult(type="kb", query="q", items=items, notices=("n",)))

    assert len(text) <= MAX_CHARS + 100
    assert text.startswith("40 results for: q\n")
    assert "more are in the structured content.)\n\nNote: n" in text
    assert "[1] t0" in text
    assert "[40] t39" not in text


def test_record() -> None:
    """A row of a database is named by its table and key."""
    row = ResultItem(type="db", title="Order 0", content="total: 3", model="orders", record_id=0)
    text = write_result(SearchResult(type="db", query="q", items=(row,)))
    assert text.endswith("[1] Order 0\nModel: orders\nRecord: 0\ntotal: 3")


def test_nothing() -> None:
    """Nothing found is said in one line."""
    assert write_result(SearchResult(type="web", query="q")) == "No results for: q"


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=60)
@given(JSON)
def test_safe(value: Any) -> None:
    """Any values become JSON that can be sent; what could be sent before stays as it was."""
    sent = json.dumps(safe(value), allow_nan=False, ensure_ascii=False).encode()
    try:
        plain = json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return
    assert sent == plain
