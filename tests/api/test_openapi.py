"""The OpenAPI document: valid, complete, and true of what is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import lancedb  # noqa: F401 - loaded here, where no client waits for it
import onnxruntime  # noqa: F401
import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from desk import OpenDesk
from refdesk.api.openapi import document
from refdesk.api.routes import find
from refdesk.api.v1 import ROUTES
from shop import made_shop

NOTES = b"# Expenses\n\nEmployees claim expenses within 30 days.\n"


def the_document() -> dict[str, Any]:
    """What a server answers."""
    return document(ROUTES, version="1", keys_required=True)


def closed(schema: Any) -> Any:
    """A schema in which no object has a field that it does not name."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    more = {"additionalProperties": False} if "properties" in schema else {}
    return {key: closed(value) for key, value in schema.items()} | more


def check(told: dict[str, Any], operation: Mapping[str, Any], answer: httpx2.Response) -> None:
    """An answer is as the document says that it is."""
    responses = operation["responses"]
    said = responses.get(str(answer.status_code), responses["default"])
    (kind,) = said["content"]
    assert answer.headers["content-type"] == kind
    if kind == "application/json":
        assert str(answer.status_code) in responses, answer.text
    schema = said["content"][kind]["schema"]
    whole = {"components": closed(told["components"]), **schema}
    Draft202012Validator(whole).validate(answer.json())


def test_valid() -> None:
    """The document is one of OpenAPI 3.1."""
    assert list(OpenAPIV31SpecValidator(the_document()).iter_errors()) == []


def test_names_are_clients_names() -> None:
    """Every operation has a name of its own, which generated clients use."""
    names = [route.handler.__name__ for route in ROUTES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.handler.__name__)
def test_each_route_is_found_and_documented(route: Any) -> None:
    """What is routed is documented under its path and method, and the other way round."""
    told = the_document()["paths"]
    assert sum(map(len, told.values())) == len(ROUTES)
    operation = told["/api/v1" + route.path][route.method.lower()]
    assert operation["operationId"] == route.handler.__name__
    parts = route.path.replace("{", "").replace("}", "").strip("/").split("/")
    found, _ = find(ROUTES, route.method, parts)
    assert found is route


async def test_answers_fit(opened: OpenDesk, tmp_path: Path) -> None:
    """Every route answers, and each answer, good or bad, is as the document says."""
    url = await asyncio.to_thread(made_shop, tmp_path)
    async with opened(databases={"shop": {"url": url}}) as desk:
        desk.client.timeout = 50
        told = (await desk.client.get("/api/v1/openapi.json")).json()
        asked: set[str] = set()

        async def ask(name: str, values: Mapping[str, str], status: int, **options: Any) -> Any:
            (path, method, operation) = next(
                (path, method, operation)
                for path, methods in told["paths"].items()
                for method, operation in methods.items()
                if operation["operationId"] == name
            )
            answer = await desk.client.request(method, path.format(**values), **options)
            assert answer.status_code == status, (name, answer.text)
            check(told, operation, answer)
            asked.add(name)
            return answer.json()

        book, shop = {"name": "handbook"}, {"name": "shop"}
        await ask("show_openapi", {}, 200)
        await ask("create_collection", {}, 201, json={"name": "handbook", "graph": True})
        await ask("create_collection", {}, 409, json={"name": "handbook"})
        await ask("create_collection", {}, 400, json={"name": "x", "chunk_chars": "many"})
        files = {"file": ("notes.md", NOTES)}
        added = await ask("add_documents", book, 201, files=files)
        broken = {"file": ("broken.pdf", b"%PDF-1.7 broken")}
        await ask("add_documents", book, 422, files=broken)
        both = [("f", broken["file"]), ("f", ("ok.txt", b"All well."))]
        await ask("add_documents", book, 200, files=both)
        document = {**book, "document": added["added"][0]["document"]["id"]}
        await ask("list_documents", book, 200)
        await ask("show_document", document, 200)
        await ask("show_document", document, 200, params={"start": 0, "end": 9})
        await ask("show_document", document, 400, params={"start": "first"})
        await ask("list_collections", {}, 200)
        await ask("show_collection", book, 200)
        query = {"query": "when are expenses claimed", "graph": True}
        found = await ask("search_collection", book, 200, json=query)
        chunk = {**book, "chunk": found["items"][0]["metadata"]["chunk_id"]}
        await ask("show_passage", chunk, 200)
        await ask("show_passage", {**book, "chunk": "none"}, 404)
        await ask("reindex_collection", book, 200)
        again = await ask("reindex_collection", book, 200, json={"chunk_chars": 50})
        assert again["chunk_chars"] == 50
        await ask("remove_document", document, 200)
        await ask("remove_collection", book, 200)
        await ask("remove_collection", book, 404)

        await ask("list_databases", {}, 200)
        await ask("show_database", shop, 200)
        rows = await ask("ask_database", shop, 200, json={"query": "products under $10"})
        await ask("ask_database", shop, 400, json={"query": "products", "limit": 0})
        record = {"model": "products", "record": str(rows["items"][0]["record_id"])}
        await ask("show_record", shop | record, 200)
        good = {"select": ["name"], "from": "products"}
        await ask("lint_query", shop, 200, json={"select": ["nothing"], "from": "products"})
        await ask("compile_query", shop, 200, json=good)
        await ask("compile_query", shop, 422, json={"select": ["nothing"], "from": "products"})
        assert asked == {route.handler.__name__ for route in ROUTES}
