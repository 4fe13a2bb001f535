"""The API under requests that a fuzzer makes from its own OpenAPI document."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from desk import Desk, OpenDesk
from refdesk.api.openapi import document as write_document
from refdesk.api.v1 import ROUTES
from shop import made_shop

CONFIG = """
[[operations]]
include-path-regex = "/collections/.name./"
parameters = { "path.name" = "handbook" }

[[operations]]
include-operation-id = "show_document"
parameters = { "path.name" = "handbook", "path.document" = "notes.md" }

[[operations]]
include-path-regex = "/databases/"
parameters = { "path.name" = "shop", "path.model" = "products" }
"""
"""Names that lead somewhere; otherwise nearly every request would end at the first 404."""
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance"
)


async def fill(desk: Desk, **headers: str) -> None:
    """Make a collection with a document in it."""
    desk.client.timeout = 50
    made = await desk.post("/api/v1/collections", {"name": "handbook"}, **headers)
    assert made.status_code == 201, made.text
    files = {"file": ("notes.md", b"# Notes\n\nThe shop opens at nine.\n")}
    path = "/api/v1/collections/handbook/documents"
    added = await desk.client.post(path, files=files, headers=headers)
    assert added.status_code == 201, added.text


async def fuzz(desk: Desk, folder: Path, *, phases: str, examples: int, key: str = "") -> str:
    """Run schemathesis, which fails at an answer that is a 5xx or not as documented."""
    config, document = folder / "schemathesis.toml", folder / "openapi.json"
    await asyncio.to_thread(config.write_text, CONFIG)
    await asyncio.to_thread(
        document.write_text, json.dumps(write_document(ROUTES, version="1", keys_required=True))
    )
    child = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("schemathesis")),
        f"--config-file={config}",
        "run",
        str(document),
        f"--url=http://{desk.host}:{desk.port}",
        f"--phases={phases}",
        f"--checks={CHECKS}",
        f"--max-examples={examples}",
        "--generation-deterministic",
        "--no-shrink",
        "--suppress-health-check=all",
        "--warnings=off",
        "--no-color",
        *([f"--header=Authorization: Bearer {key}"] if key else []),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=folder,
    )
    try:
        output, _ = await child.communicate()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    told = output.decode()
    assert child.returncode == 0, told
    return told


async def test_without_keys(opened: OpenDesk, tmp_path: Path) -> None:
    """Whatever is sent to collections and databases, the answer is as documented, and no 5xx."""
    url = await asyncio.to_thread(made_shop, tmp_path)
    async with opened(databases={"shop": {"url": url}}) as desk:
        await fill(desk)
        told = await fuzz(desk, tmp_path, phases="coverage,fuzzing", examples=8)
        assert f"Tested: {len(ROUTES)}\n" in told


@pytest.mark.parametrize("sent", [True, False], ids=["with its key", "with none"])
async def test_where_keys_are_required(opened: OpenDesk, tmp_path: Path, sent: bool) -> None:
    """The same holds with a client key that may change everything, and with no key at all."""
    url = await asyncio.to_thread(made_shop, tmp_path)
    async with opened(databases={"shop": {"url": url}}, auth={"required": True}) as desk:
        key, _ = await asyncio.to_thread(desk.store.keys.create, "all", claims={"admin": True})
        await asyncio.to_thread(desk.application.keys.reload)
        await fill(desk, authorization=f"Bearer {key}")
        told = await fuzz(desk, tmp_path, phases="fuzzing", examples=8, key=key if sent else "")
        assert f"Tested: {len(ROUTES)}\n" in told
