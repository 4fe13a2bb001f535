"""What a Messages request wants, and how it is edited."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorded import recording
from refdesk.errors import WireError
from refdesk.types import Location
from refdesk.wires import messages
from refdesk.wires.base import SearchTool
from refdesk.wires.document import Document
from refdesk.wires.messages.request import calls_directly
from refdesk.wires.turns import Author

CLAUDE_CODE = "anthropic-messages/client-claude-code-2.1.197"
HOSTED = {"type": "web_search_20250305", "name": "web_search"}
FUNCTION = {"name": "web_search", "description": "Mine", "input_schema": {"type": "object"}}
OTHER = {"name": "add", "input_schema": {"type": "object", "maximum": 1.10}}
CALL = {"type": "server_tool_use", "id": "srvtoolu_01A", "name": "web_search", "input": {}}
RESULT = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_01A", "content": []}
OWN = {**CALL, "id": "srvtoolu_rd0123456789abcdef01234567"}
TOOL_RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "4"}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def read(**members: Any) -> Document:
    body = {"model": "m", "messages": [user("Hello?")], **members}
    return Document.read(json.dumps(body).encode())


def parsed(document: Document) -> Any:
    return json.loads(bytes(document))


@pytest.mark.parametrize(("stream", "expected"), [(True, True), (False, False), (None, False)])
def test_head(stream: bool | None, expected: bool) -> None:
    """The head tells the model, and whether a stream is asked for; null is absent."""
    head = messages.read_head(read(stream=stream))

    assert (head.model, head.stream) == ("m", expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": None}, "model must be a non-empty string; found null"),
        ({"model": ""}, 'model must be a non-empty string; found the string ""'),
        ({"model": 5}, "model must be a non-empty string; found the number 5"),
        ({"stream": "true"}, 'stream must be true or false; found the string "true"'),
        ({"stream": 1}, "stream must be true or false; found the number 1"),
        ({"messages": {}}, "messages must be an array; found an object"),
        ({"messages": None}, "messages must be an array; found null"),
    ],
)
def test_bad_head(change: dict[str, Any], message: str) -> None:
    """A field that must be read and cannot be is named, with what stands there."""
    with pytest.raises(WireError) as caught:
        messages.read_head(read(**change))

    assert (str(caught.value), caught.value.param) == (message, next(iter(change)))
    assert caught.value.status == 400


def test_absent_model() -> None:
    """A body without a model is told so."""
    with pytest.raises(WireError, match="model must be a non-empty string; found nothing"):
        messages.read_head(Document.read(b'{"messages":[]}'))


def test_what_the_upstream_judges() -> None:
    """A value that is none of ours to read is no error here."""
    assert messages.read_head(read(max_tokens=-1, temperature="hot", messages=[])).model == "m"


def test_claude_code_search_request() -> None:
    """Claude Code's sub-request declares the search alone, forces it, and limits its uses."""
    body = recording("anthropic-messages/client-claude-code-2.1.197/2-search.request.json")

    document = Document.read(body)

    assert messages.read_head(document).stream
    assert messages.search_tool(document) == SearchTool(choice="search", alone=True, max_uses=8)
    said = messages.conversation(document)
    assert said.user_texts == ("Perform a web search for the query: capital of France 2026",)
    assert not said.ends_with_tool_output


def test_claude_code_domains() -> None:
    """With domains, the same request carries them in the declaration."""
    body = recording(f"{CLAUDE_CODE}/4-search-with-domains.request.json")

    tool = messages.search_tool(Document.read(body))

    assert tool is not None
    assert tool.allowed_domains + tool.blocked_domains != ()


def test_claude_code_main_request() -> None:
    """Its conversation declares a client tool called WebSearch, which is no hosted search."""
    body = recording("anthropic-messages/client-claude-code-2.1.197/1-main.request.json")

    document = Document.read(body)

    assert messages.search_tool(document) is None
    assert messages.strip_search_tool(document) is document
    assert messages.conversation(document).user_texts[-1] == "Use web search: capital of France"


def test_claude_code_conversation_keeps_its_prefix() -> None:
    """A conversation is known again at its next step, though its cache breakpoint moved on."""
    steps = [
        Document.read(recording(f"anthropic-messages/client-claude-code-2.1.197/{name}"))
        for name in ("1-main.request.json", "3-main-after-search.request.json")
    ]

    first, second = (messages.conversation(step) for step in steps)

    assert first.prefix == second.prefix != b""
    assert not first.ends_with_tool_output
    assert second.ends_with_tool_output
    assert first.user_texts == second.user_texts


def test_search_tool_parameters() -> None:
    """Every parameter of the declaration is read."""
    tool = {
        **HOSTED,
        "max_uses": 0,
        "allowed_domains": ["example.com", "docs.python.org/3"],
        "blocked_domains": [],
        "user_location": {"type": "approximate", "city": "Utrecht", "country": "NL"},
        "cache_control": {"type": "ephemeral"},
    }

    assert messages.search_tool(read(tools=[OTHER, tool])) == SearchTool(
        max_uses=0,
        allowed_domains=("example.com", "docs.python.org/3"),
        location=Location(city="Utrecht", country="NL"),
    )


def test_a_domain_outside_a_list_binds() -> None:
    """A domain that is written as a text in place of a list limits the search all the same."""
    found = messages.search_tool(read(tools=[{**HOSTED, "allowed_domains": "a.example"}]))
    assert found is not None
    assert (found.allowed_domains, found.blocked_domains) == (("a.example",), ())


@pytest.mark.parametrize("lists", [(["a.example"], ["b.example"]), ("a.example", ["b.example"])])
def test_both_domain_lists(lists: tuple[Any, Any]) -> None:
    """One list excludes the other; an empty one or null is none."""
    for tools in ([HOSTED], [OTHER, HOSTED]):
        body = [
            tool | dict(zip(DOMAINS, lists, strict=True)) if tool is HOSTED else tool
            for tool in tools
        ]
        with pytest.raises(WireError, match="both allowed_domains and blocked_domains") as caught:
            messages.search_tool(read(tools=body))
        assert (caught.value.status, caught.value.param) == (400, "tools")
    for empty in ([], None, "", [" "]):
        assert messages.search_tool(
            read(tools=[HOSTED | {"allowed_domains": empty, "blocked_domains": ["b.example"]}])
        )


DOMAINS = ("allowed_domains", "blocked_domains")


@pytest.mark.parametrize(
    ("choice", "after"),
    [
        ({"type": "any"}, {"type": "auto"}),
        (
            {"type": "any", "disable_parallel_tool_use": True},
            {"type": "auto", "disable_parallel_tool_use": True},
        ),
        ({"type": "tool", "name": "web_search"}, {"type": "auto"}),
        ({"type": "tool", "name": "f"}, {"type": "tool", "name": "f"}),
        ({"type": "none"}, {"type": "none"}),
        ({"type": "auto"}, {"type": "auto"}),
    ],
)
def test_a_search_meets_a_demand(choice: Any, after: Any) -> None:
    """After the search a choice that it could meet demands no tool any more."""
    body = read(tools=[HOSTED, OTHER], tool_choice=choice)
    assert parsed(messages.strip_search_tool(body, searched=True))["tool_choice"] == after
    kept = parsed(messages.strip_search_tool(body))["tool_choice"]
    assert kept == (choice if choice["type"] == "any" else after)


@pytest.mark.parametrize("junk", [None, "", 3.5, True, {}, [5, None], -1])
def test_malformed_parameters(junk: Any) -> None:
    """An explicit null is absent, and a malformed parameter is no reason to refuse."""
    tool = {
        **HOSTED,
        **dict.fromkeys(("max_uses", "allowed_domains", "blocked_domains", "user_location"), junk),
    }

    assert messages.search_tool(read(tools=[tool])) == SearchTool(alone=True)


@pytest.mark.parametrize(
    "tool",
    [
        FUNCTION,
        {**FUNCTION, "type": "custom"},
        {**FUNCTION, "name": "WebSearch"},
        {"type": "web_fetch_20250910", "name": "web_fetch"},
        {"type": "tool_search_tool_regex_20251119", "name": "web_search_20250305"},
        {"type": "web_search_", "name": "web_search"},
        {"type": None, "name": "web_search"},
        "web_search_20250305",
        None,
    ],
)
def test_no_hosted_search(tool: Any) -> None:
    """Only the type decides: a client's tool that bears the name is the client's."""
    document = read(tools=[tool])

    assert messages.search_tool(document) is None
    assert messages.strip_search_tool(document) is document


@pytest.mark.parametrize(
    ("dated", "direct"),
    [("20250305", False), ("20260209", True), ("20260318", True), ("20991231", True)],
)
def test_every_dated_type(dated: str, direct: bool) -> None:
    """Any date counts; from 20260209 on blocks name their caller."""
    document = read(tools=[{"type": f"web_search_{dated}", "name": "web_search"}])

    assert messages.search_tool(document) is not None
    assert calls_directly(document) is direct


def test_escaped_type() -> None:
    """A type is read as JSON, however it is escaped."""
    document = Document.read(
        rb'{"model":"m","messages":[],"tools":[{"type":"web\u005fsearch_20250305"}]}'
    )

    assert messages.search_tool(document) is not None


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, "auto"),
        ({"type": "auto", "disable_parallel_tool_use": True}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "web_search"}, "search"),
        ({"type": "tool", "name": "add"}, "other"),
        ("auto", "auto"),
        ({"type": 5}, "auto"),
    ],
)
def test_choice(choice: Any, expected: str) -> None:
    """The tool choice is told in words that no vendor chose."""
    tool = messages.search_tool(read(tools=[HOSTED, OTHER], tool_choice=choice))

    assert tool is not None
    assert tool.choice == expected


def strip(**body: Any) -> dict[str, Any]:
    stripped = parsed(messages.strip_search_tool(read(**body)))
    return {key: stripped[key] for key in ("tools", "tool_choice") if key in stripped}


@pytest.mark.parametrize(
    "choice",
    [
        None,
        {"type": "auto"},
        {"type": "any"},
        {"type": "none"},
        {"type": "tool", "name": "web_search"},
    ],
)
def test_strip_the_only_tool(choice: Any) -> None:
    """With the last tool goes every choice of one, and no empty list is left."""
    assert strip(tools=[HOSTED], tool_choice=choice) == {}


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        ({"type": "auto"}, {"type": "auto"}),
        ({"type": "any"}, {"type": "any"}),
        ({"type": "none"}, {"type": "none"}),
        ({"type": "tool", "name": "add"}, {"type": "tool", "name": "add"}),
        ({"type": "tool", "name": "web_search"}, {"type": "auto"}),
        (
            {"type": "tool", "name": "web_search", "disable_parallel_tool_use": True},
            {"type": "auto", "disable_parallel_tool_use": True},
        ),
    ],
)
def test_strip_beside_other_tools(choice: Any, left: Any) -> None:
    """Other tools stay in their order; a choice of the search becomes auto, others stand."""
    assert strip(tools=[OTHER, HOSTED, FUNCTION], tool_choice=choice) == {
        "tools": [OTHER, FUNCTION],
        "tool_choice": left,
    }


def test_strip_a_double_declaration() -> None:
    """A search that is declared twice is one search, and both declarations go."""
    newer = {"type": "web_search_20260209", "name": "web_search"}

    assert strip(tools=[HOSTED, OTHER, newer]) == {"tools": [OTHER]}


def test_strip_leaves_bytes() -> None:
    """What stays is copied and not written anew."""
    document = Document.read(
        rb'{"model":"m", "tools":[{"name":"a","n": 1.10},'
        rb'{"type":"web_search_20250305"}, {"name":"\ud800","n":18446744073709551617}], "x" : 1e2}'
    )

    assert bytes(messages.strip_search_tool(document)) == (
        rb'{"model":"m", "tools":[{"name":"a","n": 1.10},'
        rb'{"name":"\ud800","n":18446744073709551617}], "x" : 1e2}'
    )


def test_inject_into_a_string() -> None:
    """A content that is a string becomes text blocks, the client's and ours."""
    document = messages.inject(read(), "Material")

    assert parsed(document)["messages"] == [user([text("Hello?"), text("Material")])]


def test_inject_after_tool_results() -> None:
    """The material stands after the tool results, in the last user message and no other."""
    history = [user("Hello?"), assistant(text("Wait.")), user([TOOL_RESULT])]
    system = {"role": "system", "content": "Stay calm."}

    document = messages.inject(read(messages=[*history, system]), "Material")

    assert parsed(document)["messages"] == [
        *history[:2],
        user([TOOL_RESULT, text("Material")]),
        system,
    ]


@pytest.mark.parametrize("content", ["", []])
def test_inject_into_nothing(content: Any) -> None:
    """No empty text block is made of an empty content."""
    document = messages.inject(read(messages=[user(content)]), "Material")

    assert parsed(document)["messages"] == [user([text("Material")])]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([], "no message of role user"),
        ([assistant(text("Hello."))], "no message of role user"),
        (["Hello?", None, 5], "no message of role user"),
        ([user(None)], "must be a string or an array; found null"),
        ([user(5)], "must be a string or an array; found number"),
        ([{"role": "user"}], "must be a string or an array; found absent"),
    ],
)
def test_nowhere_to_inject(bad: Any, message: str) -> None:
    """Where there is no place for material, the message says why."""
    with pytest.raises(WireError, match=message):
        messages.inject(read(messages=bad), "Material")


def test_inject_leaves_bytes() -> None:
    """Numbers, escapes and blocks that mean nothing to us go on as they were written."""
    document = Document.read(
        rb'{"model":"m", "seed": 1.10,"messages":[{"role":"user", "x":18446744073709551617,'
        rb'"content":[{"type":"new","a": "\ud800", "b":-0.0}]}],"y":[ ]}'
    )

    assert bytes(messages.inject(document, "Material")) == (
        rb'{"model":"m", "seed": 1.10,"messages":[{"role":"user","x":18446744073709551617,'
        rb'"content":[{"type":"new","a": "\ud800", "b":-0.0},{"type":"text","text":"Material"}]}],'
        rb'"y":[ ]}'
    )


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6
)
BLOCKS = st.one_of(
    st.builds(text, st.text()),
    st.just(TOOL_RESULT),
    st.dictionaries(st.text(), VALUES, max_size=3),
)
MESSAGES = st.builds(
    lambda role, content, more: {**more, "role": role, "content": content},
    st.sampled_from(["user", "assistant", "system"]),
    st.text(min_size=1) | st.lists(BLOCKS, max_size=3),
    st.dictionaries(st.text(), SCALARS, max_size=2),
)
TOOLS = st.lists(
    st.sampled_from([HOSTED, OTHER, FUNCTION]) | st.dictionaries(st.text(), SCALARS), max_size=5
)


@given(
    st.lists(MESSAGES, max_size=4),
    st.dictionaries(st.text(), VALUES, max_size=3),
    st.sampled_from([None, 1]),
    st.booleans(),
)
def test_nothing_else_changes(
    history: list[Any], more: dict[str, Any], indent: int | None, ascii_only: bool
) -> None:
    """Outside the one block that is put in, the body that goes out is the one that came in."""
    body = {**more, "model": "m", "messages": [*history, user("Hello?")]}
    data = json.dumps(body, indent=indent, ensure_ascii=ascii_only).encode(errors="surrogatepass")
    expected = copy.deepcopy(body)
    expected["messages"][-1]["content"] = [text("Hello?"), text("Material")]

    document = messages.inject(Document.read(data), "Material")

    assert parsed(document) == expected


@given(TOOLS, st.sampled_from([None, {"type": "any"}, {"type": "tool", "name": "web_search"}]))
def test_strip_takes_only_searches(tools: list[Any], choice: Any) -> None:
    """All other tools survive in order, and a choice is left only where it can be met."""
    stripped = parsed(messages.strip_search_tool(read(tools=tools, tool_choice=choice, x=1)))

    left = [tool for tool in tools if tool is not HOSTED]
    assert stripped.pop("tools", []) == left
    if HOSTED in tools and not left:
        assert "tool_choice" not in stripped
    assert stripped["x"] == 1


@pytest.mark.parametrize(
    ("turns", "texts", "after_tools"),
    [
        ([user("Hello?")], ("Hello?",), False),
        ([user([text("A"), {"type": "image"}, text("B")])], ("A", "B"), False),
        ([user("Hello?"), {"role": "system", "content": "x"}], ("Hello?",), False),
        ([user("Hello?"), assistant(text("{"))], ("Hello?",), False),
        ([user("Old"), assistant(text("x")), user([TOOL_RESULT])], ("Old",), True),
        (
            [user("Old"), user([TOOL_RESULT]), {"role": "developer", "content": "x"}],
            ("Old",),
            True,
        ),
        ([user("Old"), user([TOOL_RESULT, text("New")])], ("New",), False),
        ([user([text("Note"), TOOL_RESULT])], ("Note",), True),
        ([user("Old"), user([{"type": "image"}])], ("Old",), False),
        ([user("Old"), user([])], ("Old",), False),
        ([user("Old"), user(" \n")], ("Old",), False),
        ([user("Old"), user([TOOL_RESULT]), assistant(text("{"))], ("Old",), False),
        ([assistant(text("x"))], (), False),
        ([], (), False),
        ([None, 5, "user", [], {"role": 5}, user(5), user([None, "x"])], (), False),
    ],
)
def test_newest_user_text(turns: list[Any], texts: tuple[str, ...], after_tools: bool) -> None:
    """The newest user message that has text counts; other roles and odd shapes are passed over."""
    said = messages.conversation(read(messages=turns))

    assert (said.user_texts, said.ends_with_tool_output) == (texts, after_tools)


def test_lone_surrogate_in_the_text() -> None:
    """Half of a character is read as U+FFFD and sent on as it was written."""
    data = rb'{"model":"m","messages":[{"role":"user","content":"a \ud800 b"}]}'
    document = Document.read(data)

    assert messages.conversation(document).user_texts == ("a \ufffd b",)
    assert rb'{"type":"text","text":"a \ud800 b"}' in bytes(messages.inject(document, "M"))


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([user("Q"), assistant(CALL)], True),
        ([user("Q"), assistant(CALL), user([TOOL_RESULT])], True),
        ([user("Q"), assistant(CALL, RESULT)], False),
        ([user("Q"), assistant(CALL), user([TOOL_RESULT]), assistant(RESULT)], False),
        ([user("Q"), assistant(OWN)], False),
        ([user("Q"), assistant(text("server_tool_use"))], False),
        ([user("Q")], False),
    ],
)
def test_waiting_server_tools(turns: list[Any], expected: bool) -> None:
    """A provider's call without a result anywhere still waits; one of ours never does."""
    assert messages.conversation(read(messages=turns)).awaits_server_tool is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("mixed-server-and-client-tools/request", True), ("pause-turn-nonstream/2-request", True)],
)
def test_recorded_waiting_turns(name: str, expected: bool) -> None:
    """Recorded turns that were paused, or mixed with client tools, are recognised."""
    document = Document.read(recording(f"anthropic-messages/{name}.json"))

    assert messages.conversation(document).awaits_server_tool is expected


def test_own_search_since() -> None:
    """A search of ours counts only after the newest user text."""
    done = [user("Q"), assistant(OWN, text("A"))]

    assert messages.conversation(read(messages=done)).own_search_since
    assert messages.conversation(read(messages=[*done, user([TOOL_RESULT])])).own_search_since
    assert not messages.conversation(read(messages=[*done, user("New")])).own_search_since


def test_prefix_is_the_conversation_so_far() -> None:
    """The prefix tells conversations apart, and does not change as one goes on."""
    first = messages.conversation(read(messages=[user("A"), assistant(text("B")), user("C")]))
    later = messages.conversation(
        read(messages=[user("A"), assistant(text("B")), user("C"), assistant(text("D"))])
    )
    other = messages.conversation(read(messages=[user("Z"), assistant(text("B")), user("C")]))

    assert first.prefix == later.prefix
    assert first.prefix != other.prefix


REMINDER = "<system-reminder>x</system-reminder>"


@pytest.mark.parametrize(
    ("turns", "texts", "after_tools", "unasked"),
    [
        ([user("Q"), assistant(CALL), user([TOOL_RESULT, text(REMINDER)])], ("Q",), True, ()),
        ([user("Q"), assistant(CALL), user([TOOL_RESULT]), user(REMINDER)], ("Q",), True, ()),
        ([user([text(REMINDER), text("Q")])], (REMINDER, "Q"), False, ()),
        ([user("Q"), {"role": "system", "content": REMINDER}], ("Q",), False, ()),
        ([user("Q"), assistant(text("A")), user(REMINDER)], ("Q",), False, (REMINDER,)),
        ([user("Q"), assistant(CALL), user([TOOL_RESULT, text("New")])], ("New",), False, ()),
    ],
)
def test_reminders_are_no_users_text(
    turns: list[Any], texts: tuple[str, ...], after_tools: bool, unasked: tuple[str, ...]
) -> None:
    """A reminder behind a tool's result, or after an answer, is no new text of a user."""

    def author_of(parts: Sequence[str]) -> Author:
        return "aside" if all(part == REMINDER for part in parts) else "user"

    said = messages.conversation(read(messages=turns), author_of)

    assert (said.user_texts, said.ends_with_tool_output, said.unasked) == (
        texts,
        after_tools,
        unasked,
    )
