"""What the client wants is read, and its body edited, without touching anything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorded import recorded_json, recording
from refdesk.errors import WireError
from refdesk.wires.base import Head, Marks
from refdesk.wires.chat import conversation, find_marks, inject, read_head, restore
from refdesk.wires.document import Document

MATERIAL = "[1] «title» — https://example.org/"


def doc(**fields: Any) -> Document:
    """Write a request as clients do, compactly."""
    body = {"model": "m", "messages": [], **fields}
    return Document.read(json.dumps(body, separators=(",", ":")).encode())


def user(content: Any) -> dict[str, Any]:
    """Write a user message."""
    return {"role": "user", "content": content}


def text(value: str) -> dict[str, Any]:
    """Write a text part."""
    return {"type": "text", "text": value}


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


class TestHead:
    """Three fields are checked, and no more."""

    @pytest.mark.parametrize(
        ("stream", "expected"), [({}, False), ({"stream": None}, False), ({"stream": True}, True)]
    )
    def test_read(self, stream: dict[str, Any], expected: bool) -> None:
        """Model and stream are returned; absent and null mean no stream."""
        assert read_head(doc(**stream)) == Head(model="m", stream=expected)

    @pytest.mark.parametrize(
        ("fields", "param", "message"),
        [
            ({"model": 5}, "model", "model must be the name of a model; found the number 5"),
            ({"model": ""}, "model", 'model must be the name of a model; found the string ""'),
            ({"model": None}, "model", "model must be the name of a model; found none"),
            (
                {"stream": "true"},
                "stream",
                'stream must be true or false; found the string "true"',
            ),
            ({"stream": 1}, "stream", "stream must be true or false; found the number 1"),
            ({"messages": {}}, "messages", "messages must be an array; found an object"),
            ({"messages": None}, "messages", "messages must be an array; found none"),
            ({"messages": "hi"}, "messages", 'messages must be an array; found the string "hi"'),
        ],
    )
    def test_refused(self, fields: dict[str, Any], param: str, message: str) -> None:
        """The message names the field, what was found, and what would be right."""
        with pytest.raises(WireError) as caught:
            read_head(doc(**fields))

        assert (str(caught.value), caught.value.param, caught.value.status) == (message, param, 400)

    def test_the_rest_is_the_upstreams(self) -> None:
        """Odd values of other fields, and of the messages themselves, are not judged here."""
        assert read_head(doc(max_tokens=-1, temperature="hot", messages=[5], tools={}))


class TestConversation:
    """The query comes from the newest user message that has text."""

    @pytest.mark.parametrize(
        ("messages", "texts", "ends"),
        [
            ([user("a"), user("b")], ("b",), False),
            ([user([text("a"), IMAGE, text("b")])], ("a", "b"), False),
            ([user("a"), user([IMAGE])], ("a",), False),
            ([user("a"), user("  ")], ("  ",), False),
            ([user("a"), user(None)], ("a",), False),
            ([user("a"), {"role": "assistant", "content": "prefill"}], ("a",), False),
            ([user("a"), {"role": "tool", "tool_call_id": "c", "content": "x"}], ("a",), True),
            ([user("a"), {"role": "function", "name": "f", "content": "x"}], ("a",), True),
            (
                [user("a"), {"role": "tool", "content": "x"}, {"role": "system", "content": "s"}],
                ("a",),
                True,
            ),
            ([{"role": "tool", "content": "x"}, user("a")], ("a",), False),
            ([user("a"), {"role": "developer", "content": "d"}], ("a",), False),
            ([{"role": "system", "content": "s"}], (), False),
            ([user([{"type": "text"}, {"type": "text", "text": 5}, 7, None])], (), False),
            ([], (), False),
        ],
    )
    def test_texts_and_end(self, messages: list[Any], texts: tuple[str, ...], ends: bool) -> None:
        """Other roles, images and prefills are passed over; tool outputs at the end are told."""
        found = conversation(doc(messages=messages))

        assert (found.user_texts, found.ends_with_tool_output) == (texts, ends)
        assert not found.own_search_since
        assert not found.awaits_server_tool

    def test_prefix_is_stable(self) -> None:
        """The next steps of a turn, and the next turns, begin with the same bytes."""
        start = [{"role": "system", "content": "s"}, user("a")]
        first = conversation(doc(messages=start))
        step = conversation(doc(messages=[*start, {"role": "tool", "content": "x"}]))
        turn = conversation(doc(messages=[*start, {"role": "assistant"}, user("b")]))
        other = conversation(doc(messages=[{"role": "system", "content": "S"}, user("a")]))

        assert first.prefix == step.prefix != b""
        assert turn.prefix.startswith(first.prefix)
        assert turn.prefix != first.prefix != other.prefix

    def test_a_lone_surrogate_reads_as_a_replacement(self) -> None:
        """The query must be text; the body keeps the escape."""
        document = Document.read(
            b'{"model":"m","messages":[{"role":"user","content":"a \\ud800 b"}]}'
        )

        assert conversation(document).user_texts == ("a \ufffd b",)
        assert b'"a \\ud800 b"' in bytes(inject(document, MATERIAL))

    def test_recorded(self) -> None:
        """A real request of the search model."""
        document = Document.read(
            recording("openai-chat/nonstream-search-preview-location/request.json")
        )

        assert conversation(document).user_texts == ("What is the current temperature?",)

    @pytest.mark.parametrize("messages", [{}, "x", [5], [user("a"), "x"], [None]])
    def test_refused(self, messages: Any) -> None:
        """Messages that are none are the client's error."""
        with pytest.raises(WireError, match="must be an"):
            conversation(doc(messages=messages))


class TestInject:
    """One text part is added to the last user message."""

    def test_a_string_becomes_two_parts(self) -> None:
        """The question stays, word for word, as the first part."""
        body = json.loads(bytes(inject(doc(messages=[user("a"), user("b")]), MATERIAL)))

        assert body["messages"] == [user("a"), user([text("b"), text(MATERIAL)])]

    @pytest.mark.parametrize(
        "parts",
        [
            [],
            [IMAGE],
            [text("b"), {"type": "input_audio", "input_audio": {}}, {"type": "file", "file": {}}],
        ],
    )
    def test_a_list_grows_by_one(self, parts: list[Any]) -> None:
        """Parts of any type stay, in order, before ours."""
        body = json.loads(bytes(inject(doc(messages=[user(parts)]), MATERIAL)))

        assert body["messages"] == [user([*parts, text(MATERIAL)])]

    def test_what_follows_the_user_stays(self) -> None:
        """Tool outputs, prefills and system messages after it are not disturbed."""
        after = [
            {"role": "assistant", "content": None, "tool_calls": []},
            {"role": "tool", "tool_call_id": "c", "content": "x"},
            {"role": "system", "content": "s"},
        ]

        body = json.loads(bytes(inject(doc(messages=[user("a"), *after]), MATERIAL)))

        assert body["messages"] == [user([text("a"), text(MATERIAL)]), *after]

    def test_odd_values_survive_digit_for_digit(self) -> None:
        """Numbers, escapes, spacing outside of the messages: as the client wrote them."""
        body = (
            b'{ "model": "m", "x": 1.10, "big": 18446744073709551617, "s": "\\ud800\\u00e9",\n'
            b' "messages": [{"role":"system","n":1e400,"content":"\\ud83d"},'
            b'{"z":-0.0,"role":"user","content":"\\u0041"}], "y": null }'
        )

        edited = bytes(inject(Document.read(body), "M"))

        assert edited == (
            b'{ "model": "m", "x": 1.10, "big": 18446744073709551617, "s": "\\ud800\\u00e9",\n'
            b' "messages": [{"role":"system","n":1e400,"content":"\\ud83d"},'
            b'{"z":-0.0,"role":"user","content":[{"type":"text","text":"\\u0041"},'
            b'{"type":"text","text":"M"}]}], "y": null }'
        )

    @pytest.mark.parametrize("name", ["plain-tools", "nonstream-search-preview-location"])
    def test_recorded(self, name: str) -> None:
        """In real requests nothing changes but the last message."""
        before = recorded_json(f"openai-chat/{name}/request.json")
        document = Document.read(recording(f"openai-chat/{name}/request.json"))

        after = json.loads(bytes(inject(document, MATERIAL)))

        question = before["messages"][-1]["content"]
        assert after["messages"].pop() == user([text(question), text(MATERIAL)])
        before["messages"].pop()
        assert after == before

    @pytest.mark.parametrize(
        ("messages", "message"),
        [
            ([], "no message of the role user"),
            ([{"role": "system", "content": "s"}], "no message of the role user"),
            ([user(5)], r"messages\[0\].content must be a string or a list of parts"),
        ],
    )
    def test_refused(self, messages: list[Any], message: str) -> None:
        """Without a place for the material there is no injection."""
        with pytest.raises(WireError, match=message):
            inject(doc(messages=messages), MATERIAL)


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
"""Lone surrogates included."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
PARTS = st.lists(
    st.builds(text, ANY_TEXT) | st.just(IMAGE) | st.just({"type": "new", "x": [1]}),
    max_size=3,
)
MESSAGES = st.lists(
    st.builds(
        lambda role, content, more: {**more, "role": role, "content": content},
        st.sampled_from(["user", "assistant", "system", "tool", "developer"]),
        ANY_TEXT | PARTS | st.none(),
        st.dictionaries(st.sampled_from(["name", "x"]), JSON, max_size=2),
    ),
    min_size=1,
    max_size=5,
)


@given(
    messages=MESSAGES,
    more=st.dictionaries(st.text(max_size=6), JSON, max_size=4),
    indent=st.sampled_from([None, 1]),
    ascii_=st.booleans(),
)
def test_outside_our_insertion_nothing_changes(
    messages: list[Any], more: dict[str, Any], indent: int | None, ascii_: bool
) -> None:
    """The outgoing body less our one part is the incoming one, whatever is in it."""
    body = {**more, "model": "m", "messages": [*messages, user("q"), messages[0]]}
    written = json.dumps(body, indent=indent, ensure_ascii=ascii_)
    # A lone surrogate can only be written as an escape.
    data = written.encode(errors="backslashreplace")

    after = json.loads(bytes(inject(Document.read(data), MATERIAL)))

    at = max(n for n, message in enumerate(body["messages"]) if message["role"] == "user")
    parts = after["messages"][at]["content"]
    assert parts.pop() == text(MATERIAL)
    was = body["messages"][at]["content"]
    if isinstance(was, str):
        assert parts == [text(was)]
    else:
        assert parts == (was or [])
    after["messages"][at]["content"] = was
    assert after == body
    assert list(after) == list(body)


def test_nothing_of_ours_comes_back() -> None:
    """A Chat history holds no marks, and is sent on as it came."""
    document = doc(messages=[user("a"), {"role": "assistant", "content": "see [1] ws_rd00"}])

    assert find_marks(document) == Marks()
    assert not find_marks(document)
    assert restore(document, None, kept=None) is document  # type: ignore[arg-type]
