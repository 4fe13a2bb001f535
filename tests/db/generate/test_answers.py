"""A query is found in whatever form an assistant or a tool gives it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.db.generate.answers import MAX_ANSWER_CHARS, read_answer

DSL = {"select": ["id"], "from": "orders"}
TEXT = json.dumps(DSL)


@pytest.mark.parametrize(
    "answer",
    [
        DSL,
        TEXT,
        {"dsl": DSL, "explain": "all orders"},
        {"dsl": TEXT},
        {"data": DSL},
        {"data": {"dsl": DSL}},
        {"next": {"data": TEXT}},
        {"result": {"dsl": DSL}},
        {"content": [{"type": "text", "text": TEXT}]},
        [{"type": "text", "text": json.dumps({"dsl": DSL, "warnings": []})}],
        f"```json\n{TEXT}\n```",
        f"Here it is:\n```\n{TEXT}\n```\nHave a nice day.",
        f'<think>maybe {{}} or {{"from": "x"}}</think>\n{TEXT}',
        f"The query is {TEXT}, as you asked.",
        f'{{"data": "```json\\n{TEXT.replace(chr(34), chr(92) + chr(34))}\\n```"}}',
    ],
    ids=str,
)
def test_forms_of_a_query(answer):
    """Bare, wrapped, fenced, after thinking or in prose: it is the same query."""
    assert read_answer(answer).document == DSL


def test_warnings_are_kept():
    """What the delegate warns of comes with its query."""
    assert read_answer({"dsl": DSL, "warnings": ["no dates"]}).warnings == ("no dates",)


@pytest.mark.parametrize(
    "answer",
    [
        {"error": "missing_field", "message": "no column holds a colour"},
        {"data": {"error": "no column holds a colour"}},
        '{"error": "missing_field", "message": "no column holds a colour"}',
    ],
    ids=str,
)
def test_refusals(answer):
    """An error object is a refusal, with its message."""
    assert read_answer(answer).refused == "no column holds a colour"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("I cannot say.", "holds 0 queries"),
        ("", "holds 0 queries"),
        (None, "holds no query"),
        (7, "holds no query"),
        ({}, "holds no query"),
        (f"{TEXT}\n{TEXT}", "holds 2 queries"),
        (f"```\n{TEXT}\n```\nor\n```\n{TEXT}\n```", "holds 2 queries"),
        ([DSL, DSL], "holds 2 things"),
        ("{" * 5000, "holds 0 queries"),
        (json.dumps({"from": "x" * 1_000_000}), str(MAX_ANSWER_CHARS)),
    ],
    ids=lambda each: str(each)[:40],
)
def test_what_holds_no_query(answer, reason):
    """Prose, two queries, or far too much is no query, and it is said why."""
    found = read_answer(answer)
    assert found.document is None
    assert found.refused is None
    assert found.unread is not None
    assert reason in found.unread


ANSWERS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.just(TEXT),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["dsl", "data", "next", "from", "error", "content", "text", "query"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(ANSWERS)
def test_any_answer(answer):
    """Whatever comes is a document, a refusal or unread, and exactly one of them."""
    found = read_answer(answer)
    said = [found.document is not None, found.refused is not None, found.unread is not None]
    assert said.count(True) == 1
