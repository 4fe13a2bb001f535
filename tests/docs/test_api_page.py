"""The reference of the HTTP API names what the routes take and answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from desk import open_desk
from documented import tool
from recorded import ROOT
from refdesk.api.openapi import document
from refdesk.api.v1 import ROUTES
from refdesk.testing.fakes import FakeEngine, item
from refdesk.types import WebPage

PAGE = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """Return a section of the page, without its heading."""
    return re.split(r"^## ", PAGE.partition(f"\n## {title}\n")[2], flags=re.MULTILINE)[0]


def test_every_route_is_in_the_reference() -> None:
    """Those below ``/api/v1`` with their bodies, and all others with who may call them."""
    told = document(ROUTES, version="", keys_required=True)
    for path, methods in told["paths"].items():
        for method in methods:
            assert f"#### `{method.upper()} {path}`\n" in section("Collections and databases")
    for name in told["components"]["schemas"]:
        assert f"#### `{name}`\n" in section("Bodies")
    for mount in tool("api_tables").mounts():
        path = mount.path if mount.path.startswith(("/v1", "/api")) else f"/v1{mount.path}"
        shown = any(f"| `{mount.method} {each}" in section("Routes") for each in (path, mount.path))
        assert shown or path.startswith("/api/v1"), mount.path


async def test_search_takes_the_fields_of_the_reference(tmp_path: Path) -> None:
    """Each field is read, and one that is not in the reference is named in a notice."""
    table = section("Search without a model")
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    fields = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    values: dict[str, Any] = {
        "query": ["python", "pypy"],
        "max_results": 5,
        "search_domain_filter": ["python.org", "-pypi.org"],
        "search_recency_filter": "week",
        "search_language_filter": "en",
        "country": "de",
        "store": False,
    }
    assert set(values) | {"model", "search_tool_name", "search_provider"} == set(fields)
    found = WebPage(items=(item(url="https://python.org/", title="A", content="b"),))
    async with open_desk(tmp_path, FakeEngine("fake", found)) as desk:
        for body in (values, dict.fromkeys(fields, "x") | values | {"search_mode": "web"}):
            answer = (await desk.client.post("/v1/search", json=body)).json()
            told = [notice for notice in answer.get("notices", ()) if "is not used here" in notice]
            assert told == (["search_mode is not used here"] if "search_mode" in body else [])
        assert set(answer) == set(re.findall(r'^  "(\w+)":', table, re.MULTILINE))
        assert set(answer["results"][0]) == set(re.findall(r'"(\w+)": (?:"|null)', table)) - {
            "object",
            "id",
        }
