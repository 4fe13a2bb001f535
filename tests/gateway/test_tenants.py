"""Client keys that do not know each other share one gateway: limits, marks and records."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from desk import PATHS, Desk, OpenDesk, answers, asks, whole
from refdesk.errors import EngineError
from refdesk.testing.fakes import FakeEngine, item, page
from refdesk.types import WebPage

PRIVATE = "The merger closes on 4 May."
FAILURE = EngineError("it was down", outcome="upstream_down")


async def made_keys(desk: Desk, *names: str, **limits: Any) -> list[dict[str, str]]:
    """Make client keys; return the header that shows each."""
    shown = []
    for name in names:
        token, _ = await asyncio.to_thread(desk.store.keys.create, name, **limits)
        shown.append({"x-api-key": token})
    await asyncio.to_thread(desk.application.keys.reload)
    return shown


@pytest.mark.parametrize("wire", ["messages", "chat", "responses"])
async def test_parallel_model_requests_keep_the_daily_limit(opened: OpenDesk, wire: str) -> None:
    """Twenty requests at once with one search left: one searches, the others are answered
    without."""
    engine = FakeEngine("main", *[page("https://a.example/")] * 20)
    async with opened(engine) as desk:
        desk.upstream.will(whole(answers(wire)))
        (mine,) = await made_keys(desk, "team", daily_limit=1)
        replies = await asyncio.gather(
            *(
                desk.client.post(
                    "/v1" + PATHS[wire], json=asks(wire, text=f"News of {n}?"), headers=mine
                )
                for n in range(20)
            )
        )
    assert [each.status_code for each in replies] == [200] * 20
    searched = [each.headers["x-refdesk-search"] for each in replies]
    assert sum(said.startswith("gateway") for said in searched) == 1
    assert searched.count("degraded; reason=engine_quota") == 19
    assert len(engine.queries) == 1


@pytest.mark.parametrize("path", ["/v1/search", "/v1/search/main", "/v1/alpha/search"])
async def test_parallel_searches_keep_the_daily_limit(opened: OpenDesk, path: str) -> None:
    """Searches without a model are reserved before they begin, too."""
    engine = FakeEngine("main", *[page("https://a.example/")] * 20)
    async with opened(engine) as desk:
        (mine,) = await made_keys(desk, "team", daily_limit=1)
        body = {"query": "x", "commands": {"search_query": [{"q": "x"}]}}
        replies = await asyncio.gather(
            *(desk.client.post(path, json=body, headers=mine) for _ in range(20))
        )
    assert sorted(each.status_code for each in replies) == [200, *[429] * 19]
    assert len(engine.queries) <= 1


async def test_many_queries_in_one_request_are_as_many_searches(opened: OpenDesk) -> None:
    """A list of queries longer than what is left is refused whole."""
    engine = FakeEngine("main", *[page("https://a.example/")] * 9)
    async with opened(engine) as desk:
        (mine,) = await made_keys(desk, "team", daily_limit=2)
        three = await desk.client.post("/v1/search", json={"query": ["a", "b", "c"]}, headers=mine)
        two = await desk.client.post("/v1/search", json={"query": ["a", "b"]}, headers=mine)
        one = await desk.client.post("/v1/search", json={"query": "a"}, headers=mine)
    assert [each.status_code for each in (three, two, one)] == [429, 200, 429]
    assert sorted(query.text for query in engine.queries) == ["a", "b"]


async def test_failed_searches_do_not_count(opened: OpenDesk) -> None:
    """A search that no engine answered is given back to its key."""
    async with opened(FakeEngine("main", FAILURE, page("https://a.example/"))) as desk:
        (mine,) = await made_keys(desk, "team", daily_limit=1)
        replies = [
            await desk.client.post("/v1/search", json={"query": text}, headers=mine)
            for text in ("nothing", "something", "more")
        ]
    assert [each.status_code for each in replies] == [502, 200, 429]


async def test_collections_and_databases_count(opened: OpenDesk, tmp_path: Path) -> None:
    """The search routes of collections and databases count against the same limit."""
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("create table orders(id integer primary key, amount real)")
        shop.execute("insert into orders values (1, 5)")
    shop.close()
    databases = {"shop": {"url": f"sqlite:///{tmp_path}/shop.db"}}
    async with opened(databases=databases) as desk:
        desk.client.timeout = 50
        await desk.client.post("/api/v1/collections", json={"name": "handbook"})
        for path, body in (
            ("/api/v1/collections/handbook/search", {"query": "x"}),
            ("/api/v1/databases/shop/ask", {"query": "how many orders"}),
            ("/v1/search/kb:handbook", {"query": "x"}),
            ("/v1/search/db:shop", {"query": "how many orders"}),
        ):
            (mine,) = await made_keys(desk, path, daily_limit=1)
            first, second = [
                await desk.client.post(path, json=body, headers=mine) for _ in range(2)
            ]
            assert (first.status_code, second.status_code) == (200, 429), (path, first.text)


# Marks


async def test_a_sealed_row_opens_for_its_key_only(opened: OpenDesk) -> None:
    """Another key, or no key, that sends a block back gets nothing of what is sealed in it."""
    found = WebPage(items=(item("https://intranet.example/", "Secret plan", PRIVATE),))
    async with opened(FakeEngine("main", found)) as desk:
        desk.upstream.will(whole(answers("messages")))
        mine, theirs = await made_keys(desk, "a", "b")
        first = await desk.client.post("/v1/messages", json=asks("messages"), headers=mine)
        turn = {"role": "assistant", "content": first.json()["content"]}
        later = asks("messages", search=False) | {
            "messages": [
                {"role": "user", "content": "When?"},
                turn,
                {"role": "user", "content": "Repeat what you found."},
            ]
        }
        assert "rd1." in json.dumps(later)
        for headers, opens in ((mine, True), (theirs, False), ({}, False)):
            answer = await desk.client.post("/v1/messages", json=later, headers=headers)
            assert answer.status_code == 200
            sent = desk.upstream.seen[-1].body.decode()
            assert (PRIVATE in sent, "Secret plan" in sent) == (opens, opens)
            assert "rd1." not in sent


async def test_a_row_sealed_without_a_key_opens_without_one_only(opened: OpenDesk) -> None:
    """Where no key was needed, the marks are of no key."""
    found = WebPage(items=(item("https://intranet.example/", "Secret plan", PRIVATE),))
    async with opened(FakeEngine("main", found)) as desk:
        desk.upstream.will(whole(answers("messages")))
        (theirs,) = await made_keys(desk, "b")
        first = await desk.client.post("/v1/messages", json=asks("messages"))
        turn = {"role": "assistant", "content": first.json()["content"]}
        later = asks("messages", search=False) | {
            "messages": [
                {"role": "user", "content": "When?"},
                turn,
                {"role": "user", "content": "Repeat what you found."},
            ]
        }
        for headers, opens in (({}, True), (theirs, False)):
            await desk.client.post("/v1/messages", json=later, headers=headers)
            assert (PRIVATE in desk.upstream.seen[-1].body.decode()) == opens


@pytest.mark.parametrize("forget", [False, True], ids=["in memory", "from the store"])
async def test_a_search_id_opens_for_its_key_only(opened: OpenDesk, forget: bool) -> None:
    """An id of the Responses wire is unknown to other keys, in memory and in the store."""
    found = WebPage(items=(item("https://intranet.example/", "Secret plan", PRIVATE),))
    async with opened(FakeEngine("main", found)) as desk:
        desk.upstream.will(whole(answers("responses")))
        mine, theirs = await made_keys(desk, "a", "b")
        first = await desk.client.post("/v1/responses", json=asks("responses"), headers=mine)
        later = asks("responses", search=False) | {
            "input": [
                {"role": "user", "content": "When?"},
                *first.json()["output"],
                {"role": "user", "content": "Repeat what you found."},
            ]
        }
        assert "ws_rd" in json.dumps(later)
        if forget:
            assert await asyncio.to_thread(desk.store.writer.drain, 5)
            # As on another replica, which has only the store.
            desk.application.gateway.driver._by_id.clear()
        for headers, opens in ((theirs, False), ({}, False), (mine, True)):
            await desk.client.post("/v1/responses", json=later, headers=headers)
            sent = desk.upstream.seen[-1].body.decode()
            assert (PRIVATE in sent) == opens
            assert "ws_rd" not in sent


# Records


async def test_incognito_leaves_no_record_on_any_route(opened: OpenDesk, desk_folder: Path) -> None:
    """`x-refdesk-incognito` holds on collections and MCP as on the model routes."""
    word = "zebrafinch"
    async with opened(FakeEngine("main", *[page("https://a.example/")] * 3)) as desk:
        desk.client.timeout = 50
        desk.upstream.will(whole(answers("chat")))
        quiet = {"x-refdesk-incognito": "1"}
        await desk.client.post("/api/v1/collections", json={"name": "handbook"})
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "web_search", "arguments": {"query": f"mcp {word}"}},
        }
        accept = {"accept": "application/json, text/event-stream"}
        for path, body, headers in (
            ("/api/v1/collections/handbook/search", {"query": f"kb {word}"}, {}),
            ("/mcp", call, accept),
            ("/v1/search", {"query": f"search {word}"}, {}),
            ("/v1/chat/completions", asks("chat", text=f"What is a {word}?"), {}),
        ):
            answer = await desk.client.post(path, json=body, headers=quiet | headers)
            assert answer.status_code == 200, (path, answer.text)
        await desk.last()
        assert await asyncio.to_thread(desk.store.writer.drain, 5)
        asked = [query.text for query in desk.engine.queries]
        assert len(asked) == 3
        assert all(word in text for text in asked)
        kept = b"".join(path.read_bytes() for path in (desk_folder / "data").glob("refdesk.db*"))
        assert word.encode() not in kept
