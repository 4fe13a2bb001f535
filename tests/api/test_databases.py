"""Databases over HTTP, over MCP and through the gateway, against a real server on a shop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from desk import Desk, OpenDesk, answers, whole
from refdesk.config.library import DatabaseEntry
from shop import made_shop

RULES = {
    "orders": {
        "rows": [{"field": "customer_id", "op": "=", "value": "{user.id}"}],
        "hidden": ["note"],
    }
}


@pytest_asyncio.fixture
async def desk(opened: OpenDesk, tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk with the shop, whose orders are everybody's own."""
    url = await asyncio.to_thread(made_shop, tmp_path)
    shop = {"url": url, "permission": RULES}
    async with opened(
        databases={"shop": shop},
        auth={"required": True},
        models={"m": {"search": {"enabled": "on", "engine": "db:shop"}}},
    ) as one:
        yield one


async def _key(desk: Desk, number: int) -> dict[str, str]:
    create = desk.store.keys.create
    token, _ = await asyncio.to_thread(create, f"customer {number}", claims={"id": number})
    await asyncio.to_thread(desk.application.keys.reload)
    return {"authorization": f"Bearer {token}"}


async def _post(desk: Desk, path: str, body: Any, key: dict[str, str]) -> Any:
    return await desk.post(f"/api/v1/databases{path}", body, **key)


async def test_what_may_be_asked_about(desk: Desk) -> None:
    """Databases are listed, and their models, without hidden columns."""
    key = await _key(desk, 14)
    listed = await desk.client.get("/api/v1/databases", headers=key)
    assert listed.json() == {"databases": [{"name": "shop", "dialect": "sqlite"}]}
    shown = (await desk.client.get("/api/v1/databases/shop", headers=key)).json()
    columns = {model["id"]: [c["name"] for c in model["columns"]] for model in shown["models"]}
    assert "note" not in columns["orders"]
    assert "total" in columns["orders"]


async def test_a_question_is_answered_under_the_keys_claims(desk: Desk) -> None:
    """Each key sees its own rows; the references can be opened by it, and by no other."""
    ann, bob = await _key(desk, 14), await _key(desk, 10)
    seen = {}
    for number, key in ((14, ann), (10, bob)):
        answer = await _post(desk, "/shop/ask", {"query": "all orders", "limit": 100}, key)
        assert answer.status_code == 200, answer.text
        result = answer.json()
        seen[number] = {item["data"]["customer_id"] for item in result["items"]}
        assert result["type"] == "db"
        assert result["dsl"]
    assert seen == {14: {14}, 10: {10}}
    path = f"/v1/references/{answer.headers['x-request-id']}"
    mine = await desk.client.get(path, headers=bob)
    assert mine.status_code == 200
    assert (await desk.client.get(path, headers=ann)).status_code == 403


async def test_search_names_a_database_as_its_engine(desk: Desk) -> None:
    """`/v1/search/db:shop` gives rows in the shape of search results."""
    key = await _key(desk, 14)
    answer = await desk.post("/v1/search/db:shop", {"query": "products under $10"}, **key)
    assert answer.status_code == 200, answer.text
    assert [row["title"] for row in answer.json()["results"]] == ["USB-C Cable", "Plant Pot"]


async def test_a_record_is_opened_by_whoever_may_see_it(desk: Desk) -> None:
    """A record's URL gives the record, or a 404 that tells nothing of other people's."""
    key = await _key(desk, 14)
    mine = await _post(desk, "/shop/ask", {"query": "all orders", "limit": 1}, key)
    record = mine.json()["items"][0]["record_id"]
    path = "/api/v1/databases/shop/records/orders"
    shown = await desk.client.get(f"{path}/{record}", headers=key)
    assert shown.status_code == 200
    assert shown.json()["data"]["customer_id"] == 14
    other = await desk.client.get(f"{path}/{record}", headers=await _key(desk, 10))
    none = await desk.client.get(f"{path}/99999", headers=key)
    assert (other.status_code, none.status_code) == (404, 404)
    assert other.headers["content-type"] == "application/problem+json"


async def test_queries_are_linted_and_compiled(desk: Desk) -> None:
    """Findings come with code and path; what is compiled holds the key's own claim."""
    key = await _key(desk, 14)
    wrong = await _post(desk, "/shop/lint", {"select": ["note"], "from": "orders"}, key)
    assert wrong.json()["valid"] is False
    assert wrong.json()["diagnostics"][0]["path"] == "select[0]"
    good = await _post(desk, "/shop/compile", {"select": ["id"], "from": "orders"}, key)
    assert 14 in good.json()["params"].values()
    refused = await _post(desk, "/shop/compile", {"select": ["note"], "from": "orders"}, key)
    assert refused.status_code == 422
    assert refused.json()["diagnostics"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nothing", None, 404),
        ("GET", "/shop/what", None, 404),
        ("GET", "/shop/records/nothing/1", None, 404),
        ("POST", "/shop/ask", b"{", 400),
        ("POST", "/shop/ask", b"[]", 400),
        ("POST", "/shop/ask", b'{"query": "x", "database": "other"}', 400),
        ("POST", "/nothing/ask", b'{"query": "x"}', 404),
        ("POST", "/shop/run", b"{}", 404),
        ("POST", "/shop/compile", b'{"sql": {"stmt": "DROP TABLE orders"}}', 422),
        ("POST", "/shop/lint", b'{"select": 5}', 200),
    ],
)
async def test_problems_are_told(
    desk: Desk, method: str, path: str, body: bytes | None, status: int
) -> None:
    """Whatever comes, the answer is a problem in its own shape, and never a 500."""
    key = await _key(desk, 14)
    answer = await desk.client.request(
        method, f"/api/v1/databases{path}", content=body, headers=key
    )
    assert answer.status_code == status, answer.text
    if status >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == status
        assert answer.json()["detail"]


async def test_without_a_key_nothing_is_shown(desk: Desk) -> None:
    """Where keys are required, databases are no exception."""
    assert (await desk.client.get("/api/v1/databases")).status_code == 401
    assert (await _post(desk, "/shop/ask", {"query": "all orders"}, {})).status_code == 401


async def test_the_gateway_gives_a_model_rows(desk: Desk) -> None:
    """A model whose engine is a database gets rows as material, each with a URL to cite."""
    key = await _key(desk, 14)
    desk.upstream.will(whole(answers("chat", "There are two [1][2].")))
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "products under $10"}],
        "web_search_options": {},
    }
    answer = await desk.post("/v1/chat/completions", body, **key)
    assert answer.status_code == 200, answer.text
    assert "engine=db:shop" in answer.headers["x-refdesk-search"]
    sent = str(desk.upstream.seen[-1].json)
    assert "USB-C Cable" in sent
    assert "/api/v1/databases/shop/records/products/4" in sent
    cited = answer.json()["choices"][0]["message"]["annotations"]
    assert cited[0]["url_citation"]["url"].endswith("/records/products/4")


async def test_a_refused_question_blocks_nothing(desk: Desk) -> None:
    """What the database cannot answer goes to the model without material."""
    key = await _key(desk, 14)
    desk.upstream.will(whole(answers("chat")))
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "drop the products table"}],
        "web_search_options": {},
    }
    answer = await desk.post("/v1/chat/completions", body, **key)
    assert answer.status_code == 200
    assert answer.headers["x-refdesk-search"].startswith("degraded")


async def test_other_sites_pages(opened: OpenDesk, tmp_path: Path) -> None:
    """Without a key, no web page of another site reads rows, whatever name it gives this server."""
    url = await asyncio.to_thread(made_shop, tmp_path)
    async with opened(databases={"shop": {"url": url}}) as desk:
        path = "/api/v1/databases/shop/ask"
        assert (await desk.post(path, {"query": "products"})).status_code == 200
        for name, value in (("origin", "https://evil.example"), ("host", "evil.example")):
            refused = await desk.post(path, {"query": "products"}, **{name: value})
            assert (refused.status_code, "items" in refused.json()) == (403, False)


async def test_a_reload_takes_databases_in(opened: OpenDesk, tmp_path: Path) -> None:
    """A database that a new configuration names can be asked at once."""
    url = await asyncio.to_thread(made_shop, tmp_path)
    async with opened() as desk:
        assert (await desk.client.get("/api/v1/databases")).json() == {"databases": []}
        config = desk.application.config
        entry = DatabaseEntry.model_validate({"url": url})
        desk.application.reload(config.model_copy(update={"databases": {"new": entry}}))
        answer = await desk.post("/v1/search/db:new", {"query": "products under $10"})
        assert answer.status_code == 200, answer.text
