"""The declaration of hosted web search: read, and taken out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recorded import recorded_json
from refdesk.errors import WireError
from refdesk.types import Location
from refdesk.wires.base import SearchTool
from refdesk.wires.document import Document
from refdesk.wires.responses import search_tool, strip_search_tool

SEARCH = {"type": "web_search"}
FUNCTION = {"type": "function", "name": "web_search", "parameters": {}}
CUSTOM = {"type": "custom", "name": "web_search"}
CODEX = "openai-responses/client-codex-0.171.0"


def document(**body: Any) -> Document:
    return Document.read(json.dumps({"model": "m", "input": "hi", **body}).encode())


def stripped(**body: Any) -> Any:
    out = json.loads(bytes(strip_search_tool(document(**body))))
    assert (out.pop("model"), out.pop("input")) == ("m", "hi")
    return out


@pytest.mark.parametrize(
    "type_",
    [
        "web_search",
        "web_search_2025_08_26",
        "web_search_preview",
        "web_search_preview_2025_03_11",
        "web_search_2031_01_01",
    ],
)
def test_every_dated_type_counts(type_: str) -> None:
    """All names that the hosted tool has had, and those to come."""
    tool = search_tool(document(tools=[{"type": type_}]))
    assert tool == SearchTool(alone=True)
    assert stripped(tools=[{"type": type_}]) == {}


@pytest.mark.parametrize(
    "tools",
    [
        None,
        [],
        {},
        "web_search",
        [FUNCTION, CUSTOM],
        [{"type": "file_search"}, {"type": "tool_search"}, {"type": "web_searches"}],
        ["web_search", 5, None, {"name": "web_search"}, {"type": 5}],
    ],
)
def test_what_declares_no_search(tools: Any) -> None:
    """Only the type decides; a client's tool that bears the name is the client's own."""
    assert search_tool(document(tools=tools)) is None
    assert stripped(tools=tools, tool_choice="required") == {
        "tools": tools,
        "tool_choice": "required",
    }


@pytest.mark.parametrize(
    ("config", "live"),
    [("live", True), ("unset (default)", False), ("cached", False), ("indexed", True)],
)
def test_what_codex_declares(config: str, live: bool) -> None:
    """Codex declares the tool on every step; unless told otherwise it may not search live."""
    tools = recorded_json(f"{CODEX}/tool-by-config.json")[config]
    assert search_tool(document(tools=tools)) == SearchTool(alone=True, live=live)


def test_all_settings() -> None:
    """Filters, place and size as Codex sends them, and what binds the whole request."""
    tools = recorded_json(f"{CODEX}/tool-by-config.json")["live with [tools.web_search] settings"]
    tools[0]["filters"]["blocked_domains"] = ["bad.example", " ", 5]
    found = search_tool(document(tools=[FUNCTION, *tools], background=True, max_tool_calls=3))
    assert found == SearchTool(
        alone=False,
        allowed_domains=("example.com",),
        blocked_domains=("bad.example",),
        location=Location(country="US", city="New York", timezone="America/New_York"),
        context_size="high",
        max_uses=3,
        background=True,
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("allowed_domains", (("a.example",), ())),
        ("excluded_domains", ((), ("a.example",))),
    ],
)
def test_the_spelling_of_xai(name: str, expected: Any) -> None:
    """xAI writes the filters at the top level of the tool."""
    found = search_tool(document(tools=[{**SEARCH, name: ["a.example"]}]))
    assert found is not None
    assert (found.allowed_domains, found.blocked_domains) == expected


def test_both_lists_of_xai() -> None:
    """There one list excludes the other; OpenAI's filters may hold both."""
    both = {"allowed_domains": ["a.example"], "excluded_domains": ["b.example"]}
    with pytest.raises(WireError, match="send one of them") as caught:
        search_tool(document(tools=[SEARCH | both]))
    assert caught.value.param == "tools"
    assert search_tool(document(tools=[SEARCH | both | {"excluded_domains": []}]))
    filters = {"allowed_domains": ["a.example"], "blocked_domains": ["b.a.example"]}
    assert search_tool(document(tools=[SEARCH | {"filters": filters}]))


@pytest.mark.parametrize(
    ("choice", "after"),
    [
        ("required", "auto"),
        ("auto", "auto"),
        ("none", "none"),
        (SEARCH, "auto"),
        ({"type": "function", "name": "f"}, {"type": "function", "name": "f"}),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [SEARCH, FUNCTION]},
            {"type": "allowed_tools", "mode": "auto", "tools": [FUNCTION]},
        ),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [FUNCTION]},
            {"type": "allowed_tools", "mode": "required", "tools": [FUNCTION]},
        ),
    ],
)
def test_a_search_meets_a_demand(choice: Any, after: Any) -> None:
    """After the search a choice that it could meet demands no tool any more."""
    body = document(tools=[SEARCH, FUNCTION], tool_choice=choice)
    out = json.loads(bytes(strip_search_tool(body, searched=True)))
    assert (out["tools"], out["tool_choice"]) == ([FUNCTION], after)


def test_a_domain_outside_a_list_binds() -> None:
    """A domain that is written as a text in place of a list limits the search all the same."""
    tools = [{**SEARCH, "filters": {"allowed_domains": "a.example", "blocked_domains": " "}}]
    found = search_tool(document(tools=tools))
    assert found is not None
    assert (found.allowed_domains, found.blocked_domains) == (("a.example",), ())


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ({"filters": None, "user_location": None, "search_context_size": None}, {}),
        ({"filters": [], "user_location": "NL", "search_context_size": "huge"}, {}),
        ({"filters": {"allowed_domains": 5}, "external_web_access": None}, {}),
        ({"user_location": {"type": "approximate", "city": None, "country": 5}}, {}),
        ({"external_web_access": "false"}, {"background": "true", "max_tool_calls": -1}),
        ({}, {"background": None, "max_tool_calls": 1e9, "tool_choice": 5}),
        ({}, {"tool_choice": {}, "max_tool_calls": None}),
    ],
)
def test_settings_that_make_no_sense_are_absent(settings: Any, more: Any) -> None:
    """Null and nonsense ask for nothing, and break nothing."""
    assert search_tool(document(tools=[{**SEARCH, **settings}], **more)) == SearchTool(alone=True)


def test_declared_twice_is_one_search() -> None:
    """Two declarations are one search, and both are taken out; the function survives."""
    tools = [SEARCH, FUNCTION, {"type": "web_search_preview", "search_context_size": "low"}]
    found = search_tool(document(tools=tools))
    assert found == SearchTool(alone=False)
    assert stripped(tools=tools) == {"tools": [FUNCTION]}
    assert search_tool(document(tools=[SEARCH, SEARCH])) == SearchTool(alone=True)


ALLOWED = {"type": "allowed_tools", "mode": "auto"}


@pytest.mark.parametrize(
    ("given", "choice", "left"),
    [
        (None, "auto", None),
        ("auto", "auto", "auto"),
        ("none", "none", "none"),
        ("required", "required", "required"),
        (SEARCH, "search", "auto"),
        ({"type": "web_search_preview"}, "search", "auto"),
        ({"type": "function", "name": "web_search"}, "other", ...),
        ({"type": "file_search"}, "other", ...),
        ({**ALLOWED, "tools": [SEARCH]}, "auto", "auto"),
        ({**ALLOWED, "mode": "required", "tools": [SEARCH]}, "search", "auto"),
        (
            {**ALLOWED, "mode": "required", "tools": [SEARCH, FUNCTION]},
            "required",
            {**ALLOWED, "mode": "required", "tools": [FUNCTION]},
        ),
        ({**ALLOWED, "tools": [FUNCTION, SEARCH]}, "auto", {**ALLOWED, "tools": [FUNCTION]}),
        ({**ALLOWED, "tools": [FUNCTION]}, "other", ...),
    ],
)
def test_tool_choice(given: Any, choice: str, left: Any) -> None:
    """What a choice says of search, and what is left of it beside another tool, and alone."""
    body = {"tools": [SEARCH, FUNCTION], "tool_choice": given, "parallel_tool_calls": False}
    found = search_tool(document(**body))
    assert found is not None
    assert found.choice == choice
    expected = given if left is ... else left
    assert stripped(**body) == {
        "tools": [FUNCTION],
        "tool_choice": expected,
        "parallel_tool_calls": False,
    }
    assert stripped(**{**body, "tools": [SEARCH]}) == {}


def test_other_tools_survive_byte_for_byte() -> None:
    """Their order, digits, escapes and spaces stay, and so does everything around."""
    one = b'{"type":"function", "x":1.10,"n":18446744073709551617}'
    two = b'{"type":"namespace","t":"\\ud800\\u5317"}'
    body = b'{"a":1.0,"tools":[%b, {"type":"web_search"},%b],  "z":[ ]}' % (one, two)
    out = bytes(strip_search_tool(Document.read(body)))
    assert out == b'{"a":1.0,"tools":[%b,%b],  "z":[ ]}' % (one, two)
