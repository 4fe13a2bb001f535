"""The declaration of hosted search is found, understood and taken out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recorded import recording
from refdesk.types import Location
from refdesk.wires.base import SearchTool
from refdesk.wires.chat import search_tool, strip_search_tool
from refdesk.wires.document import Document

FUNCTION = {"type": "function", "function": {"name": "web_search", "parameters": {}}}
CUSTOM = {"type": "custom", "custom": {"name": "web_search"}}
SEARCH = {"type": "web_search"}
NAMED = {"type": "function", "function": {"name": "web_search"}}


def doc(**fields: Any) -> Document:
    """Write a request as clients do, compactly."""
    body = {"model": "m", "messages": [], **fields}
    return Document.read(json.dumps(body, separators=(",", ":")).encode())


def allowed(mode: str, *tools: Any) -> dict[str, Any]:
    """Write a choice among some of the tools."""
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": list(tools)}}


@pytest.mark.parametrize(
    "fields",
    [
        {"web_search_options": {}},
        {"tools": [{"type": "web_search"}]},
        {"tools": [{"type": "web_search_preview"}]},
        {"tools": [{"type": "web_search_preview_2025_03_11"}]},
        {"tools": [{"type": "web_search_2025_08_26"}]},
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [{"type": "web_search", "web_search": {"enable": True}}]},
        {"web_search_options": {}, "tools": [SEARCH, SEARCH]},
    ],
)
def test_declared(fields: dict[str, Any]) -> None:
    """Every spelling is one search, free to be used, with nothing else declared."""
    assert search_tool(doc(**fields)) == SearchTool(choice="auto", alone=True)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"web_search_options": None},
        {"web_search_options": True},
        {"tools": None},
        {"tools": {}},
        {"tools": [None, 5, "web_search", {}]},
        {"tools": [FUNCTION, CUSTOM]},
        {"tools": [{"type": "web_searching"}, {"type": "my_web_search"}, {"type": "WEB_SEARCH"}]},
        {"tools": [{"type": "openrouter:web_search"}, {"type": 5}]},
        {"tools": [{"type": "web_search", "web_search": {"enable": False}}]},
        {"enable_search": True, "plugins": [{"id": "web"}], "search_parameters": {}},
        {"tool_choice": SEARCH},
    ],
)
def test_not_declared(fields: dict[str, Any]) -> None:
    """Names, near misses, other vendors' switches and nulls declare nothing."""
    assert search_tool(doc(**fields)) is None


@pytest.mark.parametrize(
    ("choice", "tools", "expected"),
    [
        (None, [SEARCH, FUNCTION], "auto"),
        ("auto", [SEARCH, FUNCTION], "auto"),
        ("none", [SEARCH, FUNCTION], "none"),
        ("required", [SEARCH, FUNCTION], "required"),
        ("any", [SEARCH], "required"),
        ("odd", [SEARCH], "auto"),
        (5, [SEARCH], "auto"),
        ({"type": "web_search"}, [SEARCH, FUNCTION], "search"),
        ({"type": "web_search_preview"}, [SEARCH], "search"),
        (NAMED, [SEARCH, FUNCTION], "other"),
        ({"type": "custom", "custom": {"name": "x"}}, [SEARCH, CUSTOM], "other"),
        (allowed("auto", NAMED), [SEARCH, FUNCTION], "other"),
        (allowed("auto", NAMED, SEARCH), [SEARCH, FUNCTION], "auto"),
        (allowed("required", NAMED, SEARCH), [SEARCH, FUNCTION], "required"),
        (allowed("required", SEARCH), [SEARCH, FUNCTION], "search"),
    ],
)
def test_choice(choice: Any, tools: list[Any], expected: str) -> None:
    """What the tool choice says about search."""
    found = search_tool(doc(tools=tools, tool_choice=choice))

    assert found is not None
    assert found.choice == expected
    assert found.alone == (FUNCTION not in tools and CUSTOM not in tools)


@pytest.mark.parametrize(
    ("fields", "choice", "alone"),
    [
        ({"tool_choice": "none"}, "auto", True),
        ({"tool_choice": "none", "tools": []}, "auto", True),
        ({"tool_choice": "none", "tools": [FUNCTION]}, "none", False),
        ({"tool_choice": NAMED, "tools": [FUNCTION]}, "other", False),
        ({"tool_choice": SEARCH}, "search", True),
        ({"functions": [{"name": "f"}]}, "auto", False),
        ({"functions": [{"name": "f"}], "function_call": {"name": "f"}}, "other", False),
    ],
)
def test_options_are_no_tool(fields: dict[str, Any], choice: str, alone: bool) -> None:
    """`web_search_options` without tools is free, whatever a dangling choice says."""
    found = search_tool(doc(web_search_options={}, **fields))

    assert found == SearchTool(choice=choice, alone=alone)  # type: ignore[arg-type]


NL = Location(city="Utrecht", region="UT", country="NL", timezone="Europe/Amsterdam")
PLACE = {"city": "Utrecht", "region": "UT", "country": "NL", "timezone": "Europe/Amsterdam"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {
                "web_search_options": {
                    "search_context_size": "high",
                    "user_location": {"type": "approximate", "approximate": PLACE},
                }
            },
            {"context_size": "high", "location": NL},
        ),
        (
            {
                "tools": [
                    {
                        **SEARCH,
                        "user_location": {"type": "approximate", **PLACE},
                        "filters": {"allowed_domains": ["a.org"], "blocked_domains": ["b.org"]},
                        "external_web_access": False,
                    }
                ]
            },
            {
                "location": NL,
                "allowed_domains": ("a.org",),
                "blocked_domains": ("b.org",),
                "live": False,
            },
        ),
        (
            {
                "tools": [
                    {
                        "type": "web_search_20250305",
                        "max_uses": 0,
                        "allowed_domains": ["a.org", "b.org/x"],
                        "blocked_domains": ["c.org"],
                    }
                ]
            },
            {
                "max_uses": 0,
                "allowed_domains": ("a.org", "b.org/x"),
                "blocked_domains": ("c.org",),
            },
        ),
        (
            {
                "tools": [
                    {
                        **SEARCH,
                        "web_search": {
                            "enable": True,
                            "search_domain_filter": "a.org",
                            "content_size": "medium",
                        },
                    }
                ]
            },
            {"allowed_domains": ("a.org",), "context_size": "medium"},
        ),
        (
            {
                "web_search_options": {"search_context_size": "low"},
                "tools": [{**SEARCH, "search_context_size": "high", "max_uses": 2}],
            },
            {"context_size": "low", "max_uses": 2},
        ),
        (
            {
                "web_search_options": {
                    "search_context_size": "huge",
                    "user_location": {"approximate": {"city": 5, "country": "Netherlands"}},
                    "external_web_access": "no",
                    "max_uses": -1,
                    "allowed_domains": [5, None, ""],
                    "filters": "x",
                }
            },
            {},
        ),
        (
            {
                "web_search_options": {
                    "search_context_size": None,
                    "user_location": None,
                    "filters": None,
                    "max_uses": None,
                }
            },
            {},
        ),
    ],
)
def test_fields(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    """All spellings of the tool's own parameters are understood; malformed ones are absent."""
    assert search_tool(doc(**fields)) == SearchTool(alone=True, **expected)


def test_recorded_declaration() -> None:
    """A real request with `web_search_options`."""
    document = Document.read(
        recording("openai-chat/nonstream-search-preview-location/request.json")
    )

    assert search_tool(document) == SearchTool(
        alone=True, context_size="medium", location=Location(city="Utrecht", country="NL")
    )
    stripped = strip_search_tool(document)
    assert search_tool(stripped) is None
    before = json.loads(bytes(document))
    del before["web_search_options"]
    assert json.loads(bytes(stripped)) == before


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"web_search_options": {}}, {}),
        ({"web_search_options": {}, "tools": []}, {}),
        ({"web_search_options": {}, "tool_choice": "required"}, {}),
        ({"tools": [SEARCH], "tool_choice": SEARCH, "parallel_tool_calls": False}, {}),
        ({"tools": [SEARCH], "tool_choice": "required"}, {}),
        ({"tools": [SEARCH, {"type": "web_search_preview"}], "tool_choice": "auto"}, {}),
        ({"tools": [{**SEARCH, "web_search": {"enable": True}}], "user": "u"}, {"user": "u"}),
        (
            {"tools": [FUNCTION, SEARCH, CUSTOM], "tool_choice": SEARCH, "web_search_options": {}},
            {"tools": [FUNCTION, CUSTOM], "tool_choice": "auto"},
        ),
        (
            {"tools": [FUNCTION, SEARCH], "tool_choice": "required", "parallel_tool_calls": True},
            {"tools": [FUNCTION], "tool_choice": "required", "parallel_tool_calls": True},
        ),
        (
            {"tools": [FUNCTION, SEARCH], "tool_choice": NAMED},
            {"tools": [FUNCTION], "tool_choice": NAMED},
        ),
        (
            {"tools": [FUNCTION, SEARCH], "tool_choice": allowed("required", SEARCH, NAMED)},
            {"tools": [FUNCTION], "tool_choice": allowed("required", NAMED)},
        ),
        (
            {"tools": [FUNCTION, SEARCH], "tool_choice": allowed("auto", NAMED)},
            {"tools": [FUNCTION], "tool_choice": allowed("auto", NAMED)},
        ),
        (
            {"tools": [FUNCTION, SEARCH], "tool_choice": allowed("required", SEARCH)},
            {"tools": [FUNCTION], "tool_choice": "none"},
        ),
        (
            {"tools": [FUNCTION], "tool_choice": "auto", "web_search_options": {"x": 1}},
            {"tools": [FUNCTION], "tool_choice": "auto"},
        ),
    ],
)
def test_strip(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    """The declaration goes, and whatever an upstream would refuse without it; the rest stays."""
    stripped = strip_search_tool(doc(**fields))

    assert json.loads(bytes(stripped)) == {"model": "m", "messages": [], **expected}
    assert search_tool(stripped) is None


@pytest.mark.parametrize(
    ("fields", "after"),
    [
        ({"tools": [FUNCTION, SEARCH], "tool_choice": "required"}, "auto"),
        ({"tools": [FUNCTION, SEARCH], "tool_choice": "any"}, "auto"),
        ({"tools": [FUNCTION, SEARCH], "tool_choice": NAMED}, NAMED),
        (
            {"tools": [FUNCTION, SEARCH], "tool_choice": allowed("required", SEARCH, NAMED)},
            allowed("auto", NAMED),
        ),
        (
            {"tools": [FUNCTION, SEARCH], "tool_choice": allowed("required", NAMED)},
            allowed("required", NAMED),
        ),
        # `web_search_options` is no tool that the choice could mean.
        (
            {"tools": [FUNCTION], "tool_choice": "required", "web_search_options": {}},
            "required",
        ),
    ],
)
def test_a_search_meets_a_demand(fields: dict[str, Any], after: Any) -> None:
    """After the search a choice that it could meet demands no tool any more."""
    out = json.loads(bytes(strip_search_tool(doc(**fields), searched=True)))
    assert (out["tools"], out["tool_choice"]) == ([FUNCTION], after)


def test_other_tools_survive_byte_for_byte() -> None:
    """Odd numbers, escapes and order in the tools that stay, as the client wrote them."""
    first = (
        b'{"type":"function","function":{"name":"web_search","x":1.10,"n":18446744073709551617}}'
    )
    second = b'{"type":"new_thing","s":"\\ud800\\u00e9","e":1e400}'
    body = (
        b'{"tools":[' + first + b',{"type":"web_search"},' + second + b',{"type":"web_search"}],'
        b'"model":"m","messages":[],"tool_choice":{"type":"web_search"}}'
    )

    assert bytes(strip_search_tool(Document.read(body))) == (
        b'{"tools":[' + first + b"," + second + b'],"model":"m","messages":[],"tool_choice":"auto"}'
    )


def test_nothing_to_strip() -> None:
    """A body without a declaration stays the document it is."""
    document = doc(tools=[FUNCTION], tool_choice="auto")

    assert strip_search_tool(document) is document
