"""Ids, names and numbers in paths and queries: whatever they are, the answer is not a 5xx."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import quote

import pytest

from desk import Desk, OpenDesk
from shop import made_shop

VALUES = (
    "--5", "-", "²", "٣", "𝟗", " 5", "+5", "5.0", "1_000", "1e5", "0x10", "nan", "inf", "true",
    "5" * 5000, "9" * 30, str(2**63), str(-(2**63) - 1), str(2**64), "", "'", "%", "a/b", "..",
    "\0", "\n", "\x1b[0m", b"\xff\xfe", b"\xed\xa0\x80", "x" * 20_000, "2026-13-45", "日本",
)  # fmt: skip
RECORD = "/api/v1/databases/shop/records"
BOOK = "/api/v1/collections/handbook"
GETS = (
    "/api/v1/{}",
    "/api/v1/databases/{}",
    f"{RECORD}/{{}}/1",
    f"{RECORD}/products/{{}}",
    "/api/v1/collections/{}",
    f"{BOOK}/documents/{{}}",
    f"{BOOK}/documents/notes.md?start={{}}",
    f"{BOOK}/documents/notes.md?start=1&end={{}}",
    f"{BOOK}/passages/{{}}",
    "/v1/references/{}",
    "/v1/references/{}/1",
    "/v1/references/req_none/{}",
    "/v1/models/{}",
)
POSTS = (
    "/api/v1/databases/{}/ask",
    "/api/v1/databases/{}/lint",
    "/api/v1/collections/{}/search",
    "/api/v1/collections/{}/documents",
    f"{BOOK}/documents?name={{}}",
    f"{BOOK}/documents?name=a.txt&metadata={{}}",
    "/v1/search/{}",
    "/v1/search/db:{}",
    "/v1/search/kb:{}",
)
DELETES = ("/api/v1/collections/{}", f"{BOOK}/documents/{{}}")


async def statuses(desk: Desk, method: str, path: str) -> dict[str, int]:
    """Return how each value is answered in a place of a path."""
    found: dict[str, int] = {}
    body = b'{"query": "products"}' if method == "POST" else b""
    for value in VALUES:
        target = path.replace("{}", quote(value, safe=""))
        # Sent as it is: a client's library would take `..` out.
        head, _, _ = (await desk.raw(desk.http(method, target, body))).partition(b"\r\n")
        found[repr(value)[:40]] = int(head.split()[1])
    return found


@pytest.mark.parametrize(("method", "paths"), [("GET", GETS), ("POST", POSTS), ("DELETE", DELETES)])
async def test_every_value_is_answered(
    opened: OpenDesk, tmp_path: Path, method: str, paths: tuple[str, ...]
) -> None:
    """Every parameter that becomes a number, an id or a name takes any text there is."""
    url = await asyncio.to_thread(made_shop, tmp_path)
    async with opened(databases={"shop": {"url": url}}) as desk:
        desk.client.timeout = 50
        assert (await desk.post("/api/v1/collections", {"name": "handbook"})).status_code == 201
        files = {"file": ("notes.md", b"# Notes\n\nThe shop opens at nine.\n")}
        await desk.client.post(f"{BOOK}/documents", files=files)
        for path in paths:
            told = await statuses(desk, method, path)
            assert {value: status for value, status in told.items() if status >= 500} == {}, path


async def test_an_id_that_no_record_has_is_not_found(opened: OpenDesk, tmp_path: Path) -> None:
    """Only digits name an integer key; other texts that Python reads as that number do not."""
    url = await asyncio.to_thread(made_shop, tmp_path)
    async with opened(databases={"shop": {"url": url}}) as desk:
        told = await statuses(desk, "GET", f"{RECORD}/products/{{}}")
        assert set(told.values()) == {404}
        shown = await desk.client.get(f"{RECORD}/products/5")
        assert shown.json()["record_id"] == 5


async def test_a_database_that_is_not_there_is_not_found(opened: OpenDesk, tmp_path: Path) -> None:
    """`/v1/search/db:NAME` names the databases there are; the name is shown in part."""
    url = await asyncio.to_thread(made_shop, tmp_path)
    async with opened(databases={"shop": {"url": url}}) as desk:
        answer = await desk.post(f"/v1/search/db:{'x' * 5000}", {"query": "products"})
        assert answer.status_code == 404
        told = answer.json()["error"]
        assert told["param"] == "engine"
        assert "known: shop" in told["message"]
        assert len(told["message"]) < 300
