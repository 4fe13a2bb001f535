"""
No private question reaches a web engine: every face, with every way to name a source.

The only web engine fails the test when it is asked.
"""

from __future__ import annotations

import sqlite3
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from desk import PATHS, Desk, OpenDesk, answers, asks, config_of, whole
from refdesk.config import Config
from refdesk.db.lazy import DatabaseSearches
from refdesk.desk.parts import open_parts, open_store
from refdesk.search import Searcher, WebHandler
from refdesk.search.handler import HandlerTable
from refdesk.search.sources import SourceRouter
from refdesk.testing.fakes import FakeEngine
from refdesk.types import WebPage, WebQuery
from refdesk.uses import SearchUses

QUESTION = "how many orders are there"
MCP = {"accept": "application/json, text/event-stream"}
NAMES = ("db:shop", "DB:shop", "db:nowhere", "kb:handbook", "kb:nowhere", "KB:handbook", " kb:x")


class ForbiddenEngine(FakeEngine):
    """A web engine that no test here may reach."""

    def __init__(self) -> None:
        super().__init__("main")
        self.reached: list[str] = []

    async def search(self, query: WebQuery, *, timeout_s: float) -> WebPage:
        self.reached.append(query.text)
        raise AssertionError("a private question reached the web")


def database(folder: Path) -> dict[str, Any]:
    """Make a database; return its section of the configuration."""
    with closing(sqlite3.connect(folder / "shop.db")) as shop:
        shop.execute("create table orders(id integer primary key, amount real)")
        shop.executemany("insert into orders values (?, ?)", [(1, 5), (2, 6)])
        shop.commit()
    return {"shop": {"url": f"sqlite:///{folder}/shop.db"}}


CONFIGURED = {
    "search.web.engine": lambda name: {"search": {"web": {"engine": name}}},
    "default_engine": lambda name: {"gateway": {"search": {"default_engine": name}}},
    "model": lambda name: {"models": {"m": {"search": {"enabled": "on", "engine": name}}}},
    "upstream": lambda name: {"upstreams": {"up": {"search": {"enabled": "on", "engine": name}}}},
}
"""The ways to name a source in the configuration."""


def tool_call(**arguments: Any) -> dict[str, Any]:
    """A call of ``web_search``."""
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "web_search", "arguments": {"query": QUESTION, **arguments}},
    }


def refused_by_configuration(folder: Path, changes: dict[str, Any], name: str) -> bool:
    """Return whether the configuration itself refuses a name; it then says which."""
    try:
        config_of("http://127.0.0.1:9", folder, **changes)
    except ValidationError as exc:
        return name in str(exc)
    return False


async def ask_faces(desk: Desk, *, search: bool = True, models: bool = True) -> None:
    """Ask on the faces of the server, naming no source."""
    client = desk.client
    if models:
        for wire, path in PATHS.items():
            desk.upstream.will(whole(answers(wire)))
            answer = await client.post("/v1" + path, json=asks(wire, text=QUESTION))
            assert answer.status_code == 200
    if not search:
        return
    for path in ("/v1/search", "/search"):
        await client.post(path, json={"query": QUESTION})
    await client.post("/v1/alpha/search", json={"commands": {"search_query": [{"q": QUESTION}]}})
    await client.post("/mcp", json=tool_call(), headers=MCP)
    searcher = desk.application.searcher
    await searcher.web(QUESTION)
    await searcher.all([{"query": QUESTION}, {"query": QUESTION, "keywords": True}])
    await searcher.race([{"query": QUESTION}])


@pytest.mark.parametrize("sources", ["there", "absent"])
@pytest.mark.parametrize("way", CONFIGURED)
@pytest.mark.parametrize("name", NAMES)
async def test_a_configured_source_answers_or_is_refused(
    opened: OpenDesk, tmp_path: Path, name: str, way: str, sources: str
) -> None:
    """Gateway, search API, drop-in routes, MCP and searcher never ask the web instead."""
    engine = ForbiddenEngine()
    changes = CONFIGURED[way](name)
    if sources == "there":
        changes = {**changes, "databases": database(tmp_path)}
    if refused_by_configuration(tmp_path, changes, name):
        return
    async with opened(engine, **changes) as desk:
        desk.client.timeout = 50
        models_only = way in ("model", "upstream")
        await ask_faces(desk, search=not models_only, models=way != "search.web.engine")
    assert engine.reached == []


@pytest.mark.parametrize("sources", ["there", "absent"])
@pytest.mark.parametrize("name", NAMES)
async def test_a_named_source_answers_or_is_refused(
    opened: OpenDesk, tmp_path: Path, name: str, sources: str
) -> None:
    """A source named in a path, a tool's argument or a library call is never replaced."""
    engine = ForbiddenEngine()
    changes = {"databases": database(tmp_path)} if sources == "there" else {}
    async with opened(engine, **changes) as desk:
        desk.client.timeout = 50
        for prefix in ("/v1/search/", "/search/"):
            answer = await desk.client.post(prefix + name, json={"query": QUESTION})
            assert answer.status_code in (200, 404)
        await desk.client.post("/mcp", json=tool_call(engine=name), headers=MCP)
        result = await desk.application.searcher.web(QUESTION, engine=name)
        assert result.error is not None or result.engine == "db:shop"
    assert engine.reached == []


@pytest.mark.parametrize("records", [True, False])
@pytest.mark.parametrize("way", ["argument", "search.web.engine", "default_engine"])
@pytest.mark.parametrize("name", NAMES)
async def test_the_library_answers_or_refuses(
    tmp_path: Path, name: str, way: str, records: bool
) -> None:
    """The same holds without a server, with records and without."""
    engine = ForbiddenEngine()
    changes = CONFIGURED[way](name) if way != "argument" else {}
    changes = {"databases": database(tmp_path), **changes}
    if refused_by_configuration(tmp_path, changes, name):
        return
    config = config_of("http://127.0.0.1:9", tmp_path, **changes)
    async with AsyncExitStack() as stack:
        store = await open_store(config, stack) if records else None
        parts = await open_parts(config, stack, store=store, engines=lambda _: {"main": engine})
        named = {"engine": name} if way == "argument" else {}
        result = await parts.searcher.web(QUESTION, **named)
    assert engine.reached == []
    answered = result.engine == "db:shop" and "2" in result.items[0].content
    assert answered or result.error is not None


async def test_no_tool_gets_a_question_for_a_private_source(tmp_path: Path) -> None:
    """`uses.web` searches the web by a tool; a question for a database is not for it."""
    asked: list[str] = []

    class Tools:
        """Takes down what is asked of it."""

        async def call(self, target: Any, payload: Any, *, timeout_s: float) -> Any:
            asked.append(str(target))
            return {"items": []}

    config = Config.model_validate({"databases": database(tmp_path)})
    databases = DatabaseSearches(config)
    handlers = HandlerTable([databases])
    engine = ForbiddenEngine()
    handlers.register(WebHandler(SourceRouter(engine, handlers, engines=lambda: ("main",))))  # type: ignore[arg-type]
    uses = SearchUses.read({"web": "mcp:web.search", "search": "mcp:web.search"})
    searcher = Searcher(config.search, handlers=handlers, uses=uses, delegates=Tools())  # type: ignore[arg-type]
    result = await searcher.web(QUESTION, engine="db:shop")
    databases.close()
    assert (result.engine, result.error, asked) == ("db:shop", None, [])
