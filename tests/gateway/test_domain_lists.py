"""Domain lists of a declared search: kept to, whoever searches, or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from desk import PATHS, Desk, OpenDesk, answers, asks, sse, whole
from judges import ASKED, WIRES
from refdesk.testing.fakes import FakeEngine, page

GOOD, BAD = "https://docs.python.org/3/", "https://elsewhere.example/x"
LISTS = {"allowed_domains": ["python.org"]}


def at(provider: str, model: str, **search: Any) -> dict[str, Any]:
    """A configuration whose upstream is this provider."""
    entry = {"upstream": "up", "model": model} | ({"search": search} if search else {})
    return {"upstreams": {"up": {"provider": provider}}, "models": {"m": entry}}


def declared(wire: str, kind: str, **lists: Any) -> dict[str, Any]:
    """A request that declares this tool with these lists."""
    if wire == "messages":
        tool: dict[str, Any] = {"type": kind, "name": "web_search", **lists}
    else:
        tool = {"type": kind, "filters": lists} if lists else {"type": kind}
    return asks(wire, tools=[tool])


def hosted(wire: str, *urls: str) -> dict[str, Any]:
    """An answer of a model that searched by itself and found these pages."""
    answer = answers(wire, "It is.")
    if wire == "messages":
        rows = [
            {"type": "web_search_result", "title": "T", "url": url, "encrypted_content": "EqgfC"}
            for url in urls
        ]
        answer["content"] = [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": rows},
            *answer["content"],
        ]
        return answer
    notes = [
        {"type": "url_citation", "url": url, "title": "T", "start_index": 0, "end_index": 1}
        for url in urls
    ]
    answer["output"][0]["content"][0]["annotations"] = notes
    sources = [{"type": "url", "url": url} for url in urls]
    action = {"type": "search", "query": "q", "sources": sources}
    call = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": action}
    answer["output"].insert(0, call)
    return answer


CLAUDE = at("anthropic", "claude-sonnet-4-6")
OPENAI = at("openai", "gpt-5.4")
RELAY = {"models": {"m": {"upstream": "up", "capabilities": {"web_search": True}}}}
HOSTED = [
    pytest.param("messages", "web_search_20250305", CLAUDE, id="anthropic-20250305"),
    pytest.param("messages", "web_search_20260209", CLAUDE, id="anthropic-20260209"),
    pytest.param("messages", "web_search_20260209", RELAY, id="relay"),
    pytest.param("responses", "web_search", OPENAI, id="openai"),
    pytest.param("responses", "web_search_2025_08_26", OPENAI, id="openai-dated"),
]


@pytest.mark.parametrize(("wire", "kind", "config"), HOSTED)
@pytest.mark.parametrize("lists", [LISTS, {"blocked_domains": ["elsewhere.example"]}], ids=str)
@pytest.mark.parametrize("streamed", [True, False])
async def test_hosted_results_outside_of_the_lists(
    opened: OpenDesk, wire: str, kind: str, config: Any, lists: Any, streamed: bool
) -> None:
    """What a provider shows in spite of the lists is left out, and the log says so."""
    async with opened(**config) as desk:
        body = declared(wire, kind, **lists) | {"stream": streamed}
        answer = json.dumps(hosted(wire, BAD, GOOD)).encode()
        events = WIRES[wire].streamed(answer, ASKED[wire])
        desk.upstream.will(sse(events, cut=31) if streamed else whole(answer))
        response = await desk.post("/v1" + PATHS[wire], body)

        assert response.headers["x-refdesk-search"] == "hosted"
        assert b"elsewhere" not in response.content
        assert GOOD.encode() in response.content
        assert desk.upstream.seen[-1].json["tools"] == body["tools"]
        notices = (await desk.last()).outcome.notices
        assert any("domain lists" in notice for notice in notices)


@pytest.mark.parametrize(("wire", "kind", "config"), HOSTED)
@pytest.mark.parametrize("lists", [LISTS, {}], ids=str)
async def test_a_hosted_answer_that_keeps_to_them(
    opened: OpenDesk, wire: str, kind: str, config: Any, lists: Any
) -> None:
    """Where nothing is left out, the answer is the bytes that came, and nothing is noted."""
    async with opened(**config) as desk:
        answer = json.dumps(hosted(wire, *([GOOD] if lists else [GOOD, BAD])), indent=1).encode()
        desk.upstream.will(whole(answer))
        response = await desk.post("/v1" + PATHS[wire], declared(wire, kind, **lists))
        assert response.content == answer
        assert (await desk.last()).outcome.notices == []


DEEPSEEK = at("deepseek", "deepseek-chat")
CANNOT = [
    pytest.param("messages", "web_search_20250305", DEEPSEEK, LISTS, id="deepseek-lists"),
    pytest.param(
        "messages", "web_search_20250305", DEEPSEEK, {"blocked_domains": ["elsewhere.example"]},
        id="deepseek-blocked",
    ),
    pytest.param("messages", "web_search_20260209", DEEPSEEK, LISTS, id="deepseek-20260209"),
    pytest.param("messages", "web_search_20260318", DEEPSEEK, {}, id="deepseek-type"),
    pytest.param("responses", "web_search", at("qwen", "qwen3-max"), LISTS, id="qwen-lists"),
    pytest.param("responses", "web_search_preview", OPENAI, LISTS, id="openai-preview"),
    pytest.param("responses", "web_search_preview", at("xai", "grok-4"), {}, id="xai-type"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "kind", "config", "lists"), CANNOT)
async def test_what_a_provider_is_not_known_to_do_is_done_here(
    opened: OpenDesk, wire: str, kind: str, config: Any, lists: Any
) -> None:
    """A type or a limit that the rule's evidence does not cover leads to our own search."""
    async with opened(FakeEngine("fake", page(BAD, GOOD)), **config) as desk:
        desk.upstream.will(whole(answers(wire)))
        response = await desk.post("/v1" + PATHS[wire], declared(wire, kind, **lists))
        assert response.headers["x-refdesk-search"].startswith("gateway; engine=fake")
        assert (b"elsewhere" in response.content) == (not lists)
        entry = await desk.last()
        assert entry.route == "gateway"
        assert "known" in entry.route_why or "nothing shows" in entry.route_why
        if wire == "messages":
            counted = declared(wire, kind, **lists)
            desk.upstream.will(whole({"input_tokens": 1}))
            await desk.post("/v1/messages/count_tokens", counted)
            assert "tools" not in desk.upstream.seen[-1].json


@pytest.mark.parametrize(
    ("wire", "kind", "config"),
    [
        ("messages", "web_search_20250305", DEEPSEEK),
        ("responses", "web_search", at("qwen", "qwen3-max")),
        ("responses", "web_search_preview", OPENAI),
    ],
)
async def test_without_lists_the_provider_searches(
    opened: OpenDesk, wire: str, kind: str, config: Any
) -> None:
    """What the evidence covers stays with the provider."""
    async with opened(**config) as desk:
        desk.upstream.will(whole(hosted(wire, BAD)))
        response = await desk.post("/v1" + PATHS[wire], declared(wire, kind))
        assert response.headers["x-refdesk-search"] == "hosted"
        assert desk.engine.queries == []


async def test_an_operators_choice_stands(opened: OpenDesk) -> None:
    """Where gateway search is switched off it stays off; the results are limited all the same."""
    async with opened(**at("deepseek", "deepseek-chat", enabled="off")) as desk:
        desk.upstream.will(whole(hosted("messages", BAD, GOOD)))
        response = await desk.post(
            "/v1/messages", declared("messages", "web_search_20260209", **LISTS)
        )
        assert response.headers["x-refdesk-search"] == "hosted"
        assert b"elsewhere" not in response.content
        assert desk.engine.queries == []


@pytest.mark.parametrize("config", [{}, CLAUDE, DEEPSEEK], ids=["gateway", "anthropic", "deepseek"])
@pytest.mark.parametrize("streamed", [True, False])
async def test_both_lists_are_refused(opened: OpenDesk, config: Any, streamed: bool) -> None:
    """One list excludes the other on Messages: 400 in the wire's form, before any search."""
    both = LISTS | {"blocked_domains": ["elsewhere.example"]}
    async with opened(**config) as desk:
        body = declared("messages", "web_search_20250305", **both) | {"stream": streamed}
        for path in ("/v1/messages", "/v1/messages/count_tokens"):
            response = await desk.post(path, body)
            assert response.status_code == 400
            assert response.json()["error"]["type"] == "invalid_request_error"
            assert "blocked_domains" in response.json()["error"]["message"]
        assert desk.engine.queries == []
        assert desk.upstream.seen == []


@pytest.mark.parametrize("empty", [[], None], ids=str)
async def test_an_empty_list_is_none(desk: Desk, empty: Any) -> None:
    """A list that holds nothing excludes nothing."""
    desk.upstream.will(whole(answers("messages")))
    body = declared("messages", "web_search_20250305", **LISTS, blocked_domains=empty)
    assert (await desk.post("/v1/messages", body)).status_code == 200
    assert desk.engine.queries[-1].sites == ("python.org",)


async def test_openai_takes_both(desk: Desk) -> None:
    """On Responses the lists go together, and both bind."""
    desk.upstream.will(whole(answers("responses")))
    both = LISTS | {"blocked_domains": ["bugs.python.org"]}
    response = await desk.post("/v1/responses", declared("responses", "web_search", **both))
    assert response.status_code == 200
    assert desk.engine.queries[-1].blocked_sites == ("bugs.python.org",)
