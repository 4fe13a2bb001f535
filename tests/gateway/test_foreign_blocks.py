"""Searches that a provider did, in the history of a request to this or another upstream."""

from __future__ import annotations

import json
from typing import Any

import pytest

from desk import PATHS, Desk, OpenDesk, answers, whole
from recorded import recorded_json

FUNCTION = {"name": "f", "input_schema": {"type": "object"}}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
PAYLOAD = "EqgfCioIDhgCIiQ4OTI"
CODE = {"type": "code_execution_20260120", "tool_id": "srvtoolu_01C"}


def call(name: str = "srvtoolu_01A", tool: str = "web_search") -> dict[str, Any]:
    """A call of a provider."""
    return {"type": "server_tool_use", "id": name, "name": tool, "input": {"query": "foo news"}}


def result(payload: str = PAYLOAD, of: str = "srvtoolu_01A") -> dict[str, Any]:
    """Its result."""
    row = {
        "type": "web_search_result",
        "title": "Foo",
        "url": "https://foo.example/",
        "encrypted_content": payload,
        "page_age": None,
    }
    return {"type": "web_search_tool_result", "tool_use_id": of, "content": [row]}


CITED = {
    "type": "text",
    "text": "Foo is out.",
    "citations": [
        {
            "type": "web_search_result_location",
            "url": "https://foo.example/",
            "title": "Foo",
            "cited_text": "Foo",
            "encrypted_index": "Eo8BCioIBxgC",
        }
    ],
}
NESTED = [
    call("srvtoolu_01C", "code_execution"),
    call() | {"caller": CODE},
    result() | {"caller": CODE},
    {
        "type": "code_execution_tool_result",
        "tool_use_id": "srvtoolu_01C",
        "content": {"type": "code_execution_result", "stdout": "ok", "stderr": ""},
    },
    CITED,
]
TURNS = {"pair": [call(), result(), CITED], "nested": NESTED}


def talk(*content: Any, then: Any = "And bar?", **changes: Any) -> dict[str, Any]:
    """A request whose history holds these blocks."""
    body = {
        "model": "m",
        "max_tokens": 100,
        "messages": [
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": list(content)},
            {"role": "user", "content": then},
        ],
    }
    return body | changes


def at(provider: str, **model: Any) -> dict[str, Any]:
    """A configuration whose upstream is this provider."""
    up = {"provider": provider}
    return {"upstreams": {"up": up}, "models": {"m": {"upstream": "up", **model}}}


CLAUDE = at("anthropic", model="claude-sonnet-4-5")
DEEPSEEK = at("deepseek", model="deepseek-chat")
RELAY = at("compatible", capabilities={"web_search": True})
OTHERS = {
    "compatible": at("compatible"),
    "bedrock": at("bedrock", model="claude-sonnet-4-5"),
    "minimax": at("minimax"),
    "deepseek": DEEPSEEK,
    "refused": at("anthropic", model="claude-sonnet-4-5", capabilities={"web_search": False}),
}
SIGNS = ("encrypted_", "server_tool_use", "_tool_result", "srvtoolu_", '"caller"')


async def sent(desk: Desk, body: dict[str, Any], path: str = "/v1/messages") -> Any:
    """What the upstream got."""
    desk.upstream.will(whole(answers("messages")))
    response = await desk.post(path, body)
    assert response.status_code == 200
    return desk.upstream.seen[-1].json


@pytest.mark.parametrize("provider", OTHERS)
@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize(
    "tools", [{}, {"tools": [FUNCTION]}, {"tools": [FUNCTION, SEARCH]}], ids=["none", "f", "search"]
)
async def test_a_turn_of_another_provider_becomes_text(
    opened: OpenDesk, provider: str, turn: str, tools: dict[str, Any]
) -> None:
    """Whatever this turn declares, pairs become text whole, and no payload goes upstream."""
    async with opened(**OTHERS[provider]) as desk:
        body = await sent(desk, talk(*TURNS[turn], **tools))
        content = body["messages"][1]["content"]
        assert {block["type"] for block in content} == {"text"}
        assert 'Web search for "foo news"' in content[0]["text"]
        assert "https://foo.example/" in content[0]["text"]
        assert content[-1] == {"type": "text", "text": "Foo is out."}
        assert not [sign for sign in SIGNS if sign in json.dumps(content)]


@pytest.mark.parametrize("config", [CLAUDE, RELAY], ids=["anthropic", "relay"])
@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("tools", [{}, {"tools": [FUNCTION]}, {"tools": [FUNCTION, SEARCH]}])
async def test_its_own_turns_go_to_a_provider_unchanged(
    opened: OpenDesk, config: dict[str, Any], turn: str, tools: dict[str, Any]
) -> None:
    """The upstream that may have made them gets its blocks as they are."""
    async with opened(**config) as desk:
        body = talk(*TURNS[turn], **tools)
        assert (await sent(desk, body))["messages"] == body["messages"]


@pytest.mark.parametrize("switch", ["on", "default"])
async def test_the_switch_says_nothing_of_the_history(opened: OpenDesk, switch: str) -> None:
    """A provider whose search is done here still reads what it made before."""
    config = at("anthropic", model="claude-sonnet-4-5", search={"enabled": switch})
    async with opened(**config) as desk:
        body = talk(*TURNS["pair"], tools=[FUNCTION, SEARCH])
        assert (await sent(desk, body))["messages"][:2] == body["messages"][:2]


@pytest.mark.parametrize(
    "foreign",
    [
        [call(), result("")],
        [call(), result("b3BhcXVl")],
        [call("call_7"), result(of="call_7")],
        [NESTED[0], NESTED[1], result("") | {"caller": CODE}, NESTED[3]],
    ],
    ids=["empty", "opaque", "id", "nested"],
)
async def test_foreign_payloads_do_not_go_to_anthropic(
    opened: OpenDesk, foreign: list[Any]
) -> None:
    """What another vendor or gateway wrote in Anthropic's shape becomes text whole."""
    async with opened(**CLAUDE) as desk:
        content = (await sent(desk, talk(*foreign)))["messages"][1]["content"]
        assert {block["type"] for block in content} == {"text"}
        assert "https://foo.example/" in content[0]["text"]


@pytest.mark.parametrize("config", [CLAUDE, DEEPSEEK, RELAY, OTHERS["compatible"]], ids=str)
@pytest.mark.parametrize("turn", [*TURNS, "orphan", "half"])
async def test_tokens_are_counted_for_what_is_sent(
    opened: OpenDesk, config: dict[str, Any], turn: str
) -> None:
    """Counting keeps the very blocks that the exchange keeps."""
    blocks = TURNS | {"orphan": [call(), CITED], "half": [result(), CITED]}
    async with opened(**config) as desk:
        body = talk(*blocks[turn], tools=[FUNCTION])
        asked = await sent(desk, body)
        counted = await sent(desk, body, "/v1/messages/count_tokens")
        assert counted == asked


ORPHANS = ["web_search", "web_fetch", "code_execution"]


@pytest.mark.parametrize("name", ORPHANS)
@pytest.mark.parametrize("tools", [[FUNCTION, SEARCH], [SEARCH]], ids=["with f", "alone"])
@pytest.mark.parametrize("later", [0, 3])
async def test_a_stored_call_without_result_blocks_no_search(
    desk: Desk, name: str, tools: list[Any], later: int
) -> None:
    """The orphan goes, and the new question is searched, also turns later."""
    body = talk(call(tool=name), {"type": "text", "text": "Here is what I know."}, tools=tools)
    for turn in range(later):
        body["messages"] += [
            {"role": "assistant", "content": f"Answer {turn}."},
            {"role": "user", "content": f"what is new in bar {turn}?"},
        ]
    asked = await sent(desk, body)

    assert [query.text for query in desk.engine.queries] == [body["messages"][-1]["content"]]
    assert "server_tool_use" not in json.dumps(asked)
    entry = await desk.last()
    assert entry.outcome.header().startswith("gateway; engine=fake")


@pytest.mark.parametrize("config", [CLAUDE, DEEPSEEK, OTHERS["bedrock"]], ids=str)
@pytest.mark.parametrize("block", [call(), call(tool="web_fetch"), result()], ids=str)
async def test_half_of_a_pair_goes_to_nobody(
    opened: OpenDesk, config: dict[str, Any], block: Any
) -> None:
    """Not even to the provider that made it, which would refuse the request."""
    async with opened(**config) as desk:
        text = {"type": "text", "text": "Here."}
        asked = await sent(desk, talk(block, text, tools=[FUNCTION]))
        assert asked["messages"][1]["content"] == [text]


async def test_a_call_that_waits_is_left_to_its_provider(opened: OpenDesk) -> None:
    """A recorded turn whose search comes next goes to Anthropic as it is."""
    body = recorded_json("anthropic-messages/mixed-server-and-client-tools/request.json")
    async with opened(**CLAUDE) as desk:
        asked = await sent(desk, body | {"model": "m"})
        assert asked["messages"] == body["messages"]
        assert desk.engine.queries == []
    async with opened() as desk:
        asked = await sent(desk, body | {"model": "m"})
        assert "server_tool_use" not in json.dumps(asked)
        assert desk.engine.queries == []


OPENAI_TURN = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABo"},
    {
        "type": "web_search_call",
        "id": "ws_0cc96ac817fdc57e00693337335db881989d7938ef5e5dcd6b",
        "status": "completed",
        "action": {"type": "search", "query": "foo news"},
    },
    {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gAAAAABp"},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Foo is out.", "annotations": []}],
    },
]


@pytest.mark.parametrize(
    ("config", "stays"),
    [
        (at("openai", model="gpt-5.4"), True),
        (RELAY, True),
        (at("compatible"), False),
        (at("xai", model="grok-4"), False),
        (at("qwen", model="qwen3-max"), False),
        (at("deepseek", model="deepseek-chat"), False),
    ],
    ids=str,
)
async def test_calls_of_openai(opened: OpenDesk, config: dict[str, Any], stays: bool) -> None:
    """A call goes to OpenAI alone, and with it what only OpenAI can read of that turn."""
    items = [{"role": "user", "content": "first"}, *OPENAI_TURN, {"role": "user", "content": "?"}]
    async with opened(**config) as desk:
        desk.upstream.will(whole(answers("responses")))
        await desk.post("/v1" + PATHS["responses"], {"model": "m", "input": items})
        asked = desk.upstream.seen[-1].json["input"]
        if stays:
            assert asked == items
        else:
            kinds = [item.get("type") for item in asked]
            assert kinds == [None, "message", "message", None]
            assert "foo news" in json.dumps(asked[1]["content"])
            assert "gAAAA" not in json.dumps(asked)
