"""What a client wants, and where the material goes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorded import recorded_json, recording
from refdesk.errors import WireError
from refdesk.wires.base import Conversation, Head
from refdesk.wires.document import Document
from refdesk.wires.responses import conversation, inject, read_head

CODEX = "openai-responses/client-codex-0.171.0"
OURS = "ws_rd" + "a" * 40
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\ufdd0"), max_size=20)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
PARTS = st.fixed_dictionaries({"type": st.sampled_from(["input_text", "input_image", "x"])}) | TREES
ITEMS = st.fixed_dictionaries(
    {"content": TEXT | st.lists(PARTS, max_size=3)},
    optional={
        "role": st.sampled_from(["user", "assistant", "developer"]),
        "type": st.sampled_from(["message", "reasoning", "function_call_output"]),
        "extra": TREES,
    },
)


def document(body: Any) -> Document:
    return Document.read(json.dumps(body).encode())


def asking(input_: Any) -> Document:
    return document({"model": "m", "input": input_})


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


# The head


@pytest.mark.parametrize(
    ("more", "stream"),
    [
        ({}, False),
        ({"stream": None}, False),
        ({"stream": False}, False),
        ({"stream": True, "input": "hi"}, True),
        ({"input": [], "stream": True}, True),
        ({"input": None, "previous_response_id": "resp_1"}, False),
        ({"temperature": "hot", "tools": 5}, False),
    ],
)
def test_head(more: dict[str, Any], stream: bool) -> None:
    """Model and stream are read; what is not ours to judge is not judged."""
    assert read_head(document({"model": "m", **more})) == Head(model="m", stream=stream)


@pytest.mark.parametrize(
    ("body", "message", "param"),
    [
        ({}, "model must be the name of a model; found none", "model"),
        ({"model": 5}, "model must be the name of a model; found the number 5", "model"),
        ({"model": ""}, 'model must be the name of a model; found the string ""', "model"),
        (
            {"model": "m", "stream": "true"},
            'stream must be true or false; found the string "true"',
            "stream",
        ),
        ({"model": "m", "stream": 1}, "stream must be true or false; found the number 1", "stream"),
        (
            {"model": "m", "input": {}},
            "input must be a string or an array of items; found an object",
            "input",
        ),
        (
            {"model": "m", "input": 5},
            "input must be a string or an array of items; found the number 5",
            "input",
        ),
    ],
)
def test_wrong_heads(body: Any, message: str, param: str) -> None:
    """A field that we must read and cannot is named, with what was found."""
    with pytest.raises(WireError) as caught:
        read_head(document(body))
    assert str(caught.value) == message
    assert caught.value.param == param
    assert caught.value.status == 400


# The conversation


@pytest.mark.parametrize(
    ("input_", "texts", "ends_with_output", "own"),
    [
        ("Who?", ("Who?",), False, False),
        ("", ("",), False, False),
        (None, (), False, False),
        ([], (), False, False),
        ([user("a"), user("b")], ("b",), False, False),
        (
            [{"type": "message", **user([{"type": "input_text", "text": "a"}])}],
            ("a",),
            False,
            False,
        ),
        (
            [user([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}])],
            ("a", "b"),
            False,
            False,
        ),
        # An image alone says nothing; a blank text asks nothing.
        ([user("a"), user([{"type": "input_image", "image_url": "u"}])], ("a",), False, False),
        ([user("a"), user(" ")], (" ",), False, False),
        # Who speaks after the user without taking a turn.
        ([user("a"), {"role": "developer", "content": "d"}], ("a",), False, False),
        ([user("a"), {"role": "assistant", "content": "Pre"}], ("a",), False, False),
        ([user("a"), {"type": "function_call_output", "output": "o"}], ("a",), True, False),
        ([user("a"), {"type": "custom_tool_call_output"}], ("a",), True, False),
        (
            [user("a"), {"type": "function_call_output"}, {"role": "system", "content": "s"}],
            ("a",),
            True,
            False,
        ),
        ([{"type": "function_call_output"}], (), True, False),
        ([user("a"), {"type": "function_call_output"}, user("b")], ("b",), False, False),
        # Our own search, before and after.
        ([user("a"), {"type": "web_search_call", "id": OURS}], ("a",), False, True),
        ([user("a"), {"type": "item_reference", "id": OURS}], ("a",), False, True),
        ([user("a"), {"type": "web_search_call", "id": OURS}, user("b")], ("b",), False, False),
        ([user("a"), {"type": "web_search_call", "id": "ws_1"}], ("a",), False, False),
        # Nobody's items.
        ([user("a"), 5, None, {"type": 7}, {"content": []}], ("a",), False, False),
        ([user("a"), user(5), user(None), user({"x": 1})], ("a",), False, False),
    ],
)
def test_conversation(
    input_: Any, texts: tuple[str, ...], ends_with_output: bool, own: bool
) -> None:
    """The newest user message with text counts, and what stands after it."""
    found = conversation(asking(input_))
    assert found.user_texts == texts
    assert found.ends_with_tool_output is ends_with_output
    assert found.own_search_since is own
    assert not found.awaits_server_tool


def test_no_input() -> None:
    """A request that only continues an earlier response has no text of its own."""
    assert conversation(document({"model": "m"})) == Conversation()


def test_the_prefix_is_stable() -> None:
    """The same conversation has the same prefix in every step of a turn, and no other has it."""
    first = [{"role": "developer", "content": "d"}, user("a")]
    prefix = conversation(asking(first)).prefix
    step = [*first, {"type": "function_call", "arguments": "{}"}, {"type": "function_call_output"}]
    assert conversation(asking(step)).prefix == prefix
    assert conversation(asking([*first, user("b")])).prefix != prefix
    assert conversation(asking([user("a")])).prefix != prefix
    assert conversation(asking("a")).prefix == b'"a"'


def test_lone_surrogates_read_as_replacements() -> None:
    """A character that is none is read as U+FFFD."""
    body = Document.read(b'{"model":"m","input":[{"role":"user","content":"a\\ud800"}]}')
    assert conversation(body).user_texts == ("a\ufffd",)


def test_what_codex_sends() -> None:
    """Codex puts its environment into a user message of its own; the question is the last one."""
    first = Document.read(recording(f"{CODEX}/1-first-turn.request.json"))
    assert read_head(first) == Head(model="gpt-5.4", stream=True)
    assert conversation(first).user_texts == ("What is the capital of France? Search the web.",)
    second = Document.read(recording(f"{CODEX}/2-second-turn-replay.request.json"))
    found = conversation(second)
    assert found.user_texts == ("And of Spain?",)
    assert not found.own_search_since
    assert not found.ends_with_tool_output


# The material


@pytest.mark.parametrize(
    ("input_", "expected"),
    [
        (
            "Who?",
            [
                {
                    "type": "message",
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "Who?"},
                        {"type": "input_text", "text": "M"},
                    ],
                }
            ],
        ),
        (
            [user("a")],
            [user([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "M"}])],
        ),
        (
            [user("a"), user([{"type": "input_image"}]), {"role": "developer", "content": "d"}],
            [
                user("a"),
                user([{"type": "input_image"}, {"type": "input_text", "text": "M"}]),
                {"role": "developer", "content": "d"},
            ],
        ),
        (
            [user("a"), {"type": "function_call_output", "output": "o"}],
            [
                user([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "M"}]),
                {"type": "function_call_output", "output": "o"},
            ],
        ),
        ([user([])], [user([{"type": "input_text", "text": "M"}])]),
        ([user(None)], [user([{"type": "input_text", "text": "M"}])]),
    ],
)
def test_inject(input_: Any, expected: Any) -> None:
    """One text part more, at the end of the last user message."""
    assert json.loads(bytes(inject(asking(input_), "M")))["input"] == expected


@pytest.mark.parametrize(
    ("input_", "message"),
    [
        (None, "input holds no message of the role user to append the search results to"),
        ([], "input holds no message of the role user to append the search results to"),
        (
            [{"role": "assistant", "content": "a"}],
            "input holds no message of the role user to append the search results to",
        ),
        (
            [user(5)],
            "input[0].content must be a string or an array of parts; found the number 5",
        ),
    ],
)
def test_nowhere_to_inject(input_: Any, message: str) -> None:
    """Without a user message that can take a part, it says so."""
    with pytest.raises(WireError) as caught:
        inject(asking(input_), "M")
    assert str(caught.value) == message


@settings(deadline=None, max_examples=60)
@given(
    items=st.lists(ITEMS, max_size=5),
    rest=st.dictionaries(TEXT.filter(lambda key: key != "input"), TREES, max_size=3),
    spaced=st.booleans(),
)
def test_nothing_else_changes(items: list[Any], rest: dict[str, Any], spaced: bool) -> None:
    """Outside of our one insertion the outgoing body equals the incoming one."""
    body = {**rest, "input": items}
    sent = Document.read(json.dumps(body, indent=1 if spaced else None).encode())
    users = [
        place
        for place, item in enumerate(items)
        if item.get("role") == "user" and item.get("type", "message") == "message"
    ]
    if not users:
        with pytest.raises(WireError):
            inject(sent, "M")
        return
    out = json.loads(bytes(inject(sent, "M")))
    content = out["input"][users[-1]]["content"]
    assert content.pop() == {"type": "input_text", "text": "M"}
    before = items[users[-1]]["content"]
    if isinstance(before, str):
        assert content == [{"type": "input_text", "text": before}]
        out["input"][users[-1]]["content"] = before
    assert out == body


def test_bytes_that_nobody_reads_survive() -> None:
    """Digits, escapes and key order of everything else are those that came in."""
    pieces = [b'"x":1.10', b'"n":18446744073709551617', b'"t":"\\ud800\\u5317"', b'"a":[ 1 ]']
    body = b'{"model":"m","p":{%b},"input":[{%b},{"role":"user","k":{%b},"content":"\\ud800 hi"}]}'
    sent = Document.read(body % ((b",".join(pieces),) * 3))
    out = bytes(inject(sent, "M"))
    for piece in pieces:
        assert out.count(piece) == 3
    assert b'"text":"\\ud800 hi"' in out


def test_codex_gets_one_part_more() -> None:
    """The recorded request differs from the outgoing one by one part, after the question."""
    name = f"{CODEX}/1-first-turn.request.json"
    sent = recorded_json(name)
    out = json.loads(bytes(inject(Document.read(recording(name)), "M")))
    assert out["input"][3]["content"].pop() == {"type": "input_text", "text": "M"}
    assert out == sent
