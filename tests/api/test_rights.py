"""Who may change collections over HTTP: keys that say so, and whoever asks where none is needed."""

from __future__ import annotations

import asyncio
from typing import Any

import lancedb  # noqa: F401 - loaded here, where no client waits for it
import pytest

from desk import Desk, OpenDesk
from refdesk.api.rights import may_change
from refdesk.api.v1 import ROUTES

BASE = "/api/v1/collections"
COLLECTIONS: dict[str, Any] = {"handbook": {}, "prices": {"permission": {"team": "sales"}}}


async def a_key(desk: Desk, **claims: Any) -> dict[str, str]:
    """Make a key, and return the header that shows it."""
    token, _ = await asyncio.to_thread(desk.store.keys.create, "k", claims=claims)
    await asyncio.to_thread(desk.application.keys.reload)
    return {"x-api-key": token}


@pytest.mark.parametrize(
    ("claims", "name", "allowed"),
    [
        ({}, "handbook", False),
        ({"admin": True}, "handbook", True),
        ({"admin": True}, None, True),
        ({"admin": ["handbook"]}, "handbook", True),
        ({"admin": ["handbook"]}, "prices", False),
        ({"admin": ["handbook"]}, None, False),
        ({"admin": "handbook"}, "hand", False),
        ({"admin": "true"}, "handbook", False),
        ({"admin": 1}, "handbook", False),
        ({"admin": False}, "handbook", False),
    ],
)
def test_claims(claims: dict[str, Any], name: str | None, allowed: bool) -> None:
    """True is all of them and new ones, a list its own only; anything else is nothing."""
    assert may_change(claims, name) is allowed


def test_routes_that_change() -> None:
    """Every route that is no reading and no search is one that not everybody may use."""
    reading = {
        "search_collection",
        "ask_database",
        "lint_query",
        "compile_query",
    }
    for route in ROUTES:
        name = route.handler.__name__
        assert route.changes is (route.method != "GET" and name not in reading), name


async def test_plain_keys(opened: OpenDesk) -> None:
    """A key that may read changes nothing, and is told what it lacks and how to get it."""
    async with opened(auth={"required": True}, collections=COLLECTIONS) as desk:
        desk.client.timeout = 50
        key = await a_key(desk, team="law")
        for route in ROUTES:
            if not route.changes:
                continue
            for name, status in (("handbook", 403), ("prices", 404), ("none", 404)):
                if "{name}" not in route.path:
                    status = 403
                path = "/api/v1" + route.path.format(name=name, document="d", chunk="c")
                answer = await desk.client.request(route.method, path, headers=key)
                assert answer.status_code == status, (route.method, path, answer.text)
                assert answer.headers["content-type"] == "application/problem+json"
                if status == 403:
                    assert "refdesk keys create --claims" in answer.json()["detail"]
        listed = (await desk.client.get(BASE, headers=key)).json()
        assert [each["name"] for each in listed["collections"]] == ["handbook"]
        assert await asyncio.to_thread(desk.store.knowledge.documents, "handbook") == []


async def test_a_key_of_one_collection(opened: OpenDesk) -> None:
    """A key whose claims list collections changes those, if it may read them, and no others."""
    async with opened(auth={"required": True}, collections=COLLECTIONS) as desk:
        desk.client.timeout = 50
        key = await a_key(desk, admin=["handbook", "prices"])
        where = f"{BASE}/handbook/documents?name=a.txt"
        added = await desk.client.post(where, content=b"All is well.", headers=key)
        assert added.status_code == 201, added.text
        hidden = await desk.client.delete(f"{BASE}/prices", headers=key)
        assert hidden.status_code == 404
        new = await desk.client.post(BASE, json={"name": "mine"}, headers=key)
        assert new.status_code == 403
        assert (await desk.client.delete(f"{BASE}/handbook", headers=key)).status_code == 200


async def test_a_large_upload_is_refused_unread(opened: OpenDesk) -> None:
    """Whoever may not add is told so, while the file is still on its way."""
    async with opened(auth={"required": True}, collections=COLLECTIONS) as desk:
        desk.client.timeout = 50
        key = await a_key(desk)
        where = f"{BASE}/handbook/documents?name=a.txt"
        answer = await desk.client.post(where, content=b"x" * 20_000_000, headers=key)
        assert answer.status_code == 403
