"""The reference of the HTTP API: routes from the route table, bodies from the OpenAPI document."""

from __future__ import annotations

import functools
import inspect
import json
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any, Final

from refdesk.api.openapi import document
from refdesk.api.routes import PREFIX
from refdesk.api.v1 import ROUTES
from refdesk.application import Application
from refdesk.config import Config
from refdesk.gateway.gate import Right
from refdesk.gateway.root import Mount
from refdesk.store import KeyRing
from refdesk.store.opening import open_store

_WHO: Final = {
    Right.OPEN: "all",
    Right.PAGE: "all, but no foreign web page",
    Right.CLIENT: "client key",
    Right.METRICS: "client key with the claim `metrics` or `admin`",
}
_TITLES: Final = {"openapi.json": "The OpenAPI document"}
_TYPES: Final = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "null": "null",
}
_BOUNDS: Final = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", "characters"),
    ("minItems", "maxItems", "entries"),
)


@functools.cache
def mounts() -> tuple[Mount, ...]:
    """Return the route table of a server."""
    with tempfile.TemporaryDirectory() as folder:
        config = Config.model_validate(
            {"data_dir": folder, "store": {"url": f"sqlite:///{folder}/refdesk.db"}}
        )
        with open_store(config) as store:
            return Application(config, store, KeyRing(store.keys)).root.mounts


def routes_table() -> str:
    """
    Return a table of all routes outside of ``/api/v1``.

    Raises:
        ValueError: A handler has no docstring.
    """
    found = mounts()
    paths = {mount.path for mount in found}
    rows = ["| route | who may call it | what it does |", "| --- | --- | --- |"]
    for mount in found:
        if mount.path.startswith(PREFIX) or f"/v1{mount.path}" in paths:
            continue
        below = "…" if mount.path.endswith("/") and mount.path != "/" else ""
        about = about_route(mount)
        rows.append(f"| `{mount.method} {mount.path}{below}` | {_WHO[mount.right]} | {about} |")
    return "\n".join(rows) + "\n"


def about_route(mount: Mount) -> str:
    """
    Return what a route does, as the docstring of its handler says it.

    Raises:
        ValueError: It has none.
    """
    handler: Any = mount.handler
    while isinstance(handler, functools.partial):
        handler = handler.func
    if not inspect.isroutine(handler):
        handler = type(handler).__call__
    if not (text := inspect.getdoc(handler)):
        raise ValueError(f"{handler.__qualname__} serves {mount.path}: say in its docstring what")
    return " ".join(text.split("\n\n")[0].split()).replace("``", "`").replace("|", "\\|")


def operations() -> str:
    """Return a section for each operation below ``/api/v1``."""
    parts: list[str] = []
    tag = ""
    for path, methods in _document()["paths"].items():
        for method, operation in methods.items():
            if operation["tags"][0] != tag:
                tag = operation["tags"][0]
                parts.append(f"### {_TITLES.get(tag, tag.capitalize())}\n")
            parts += _operation(method.upper(), path, operation)
    return "\n".join(parts)


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f"#### `{method} {path}`\n"
    yield " ".join(f"{operation['summary']} {operation.get('description', '')}".split()) + "\n"
    if query := [each for each in operation.get("parameters", ()) if each["in"] == "query"]:
        yield "| in the query | type | what it is |"
        yield "| --- | --- | --- |"
        for each in query:
            yield f"| `{each['name']}` | {_type(each['schema'])} | {each['description']} |"
        yield ""
    if body := operation.get("requestBody"):
        forms = [_form(kind, content["schema"]) for kind, content in body["content"].items()]
        yield f"Sent{'' if body['required'] else ' (may be left out)'}: {', or '.join(forms)}.\n"
    answers = [
        f"{status} {_type(answer['content']['application/json']['schema'])}"
        for status, answer in operation["responses"].items()
        if status != "default"
    ]
    yield f"Answered: {', '.join(answers)}.\n"


def _form(kind: str, schema: Mapping[str, Any]) -> str:
    if kind == "multipart/form-data":
        fields = [
            f"`{name}`{'' if name in schema['required'] else ' (optional)'}"
            for name in schema["properties"]
        ]
        return f"a form with {' and '.join(fields)}"
    return _type(schema) if "$ref" in schema else f"`{kind}`"


def bodies() -> str:
    """Return a section for each body that is sent or answered below ``/api/v1``."""
    schemas = _document()["components"]["schemas"]
    sent = _sent(schemas)
    parts: list[str] = []
    for names, title in (
        (sorted(sent), "### What is sent\n"),
        (sorted(set(schemas) - sent), "### What is answered\n"),
    ):
        parts.append(title)
        for name in names:
            parts += _body(name, schemas[name], sent=name in sent)
    return "\n".join(parts)


def _body(name: str, schema: Mapping[str, Any], *, sent: bool) -> Iterator[str]:
    yield f"#### `{name}`\n"
    if about := schema.get("description"):
        yield " ".join(about.split()) + "\n"
    if not schema.get("properties"):
        return
    yield f"| field | type |{' default |' if sent else ''} what it is |"
    yield f"| --- | --- |{' --- |' if sent else ''} --- |"
    required = schema.get("required", ())
    for field, inner in schema["properties"].items():
        about = " ".join(inner.get("description", "").split()).replace("|", "\\|")
        kind = _type(inner)
        if not sent:
            absent = "" if field in required else ", may be absent"
            yield f"| `{field}` | {kind}{absent} | {about} |"
            continue
        default = "must be given" if field in required else f"`{json.dumps(inner.get('default'))}`"
        yield f"| `{field}` | {kind} | {default} | {about} |"
    yield ""


def _document() -> dict[str, Any]:
    return document(ROUTES, version="", keys_required=True)


def _sent(schemas: Mapping[str, Any]) -> set[str]:
    """Return the names of bodies that requests have, and of those inside of them."""
    found: set[str] = set()
    todo = [route.body.__name__ for route in ROUTES if route.body is not None]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += list(_references(schemas[name]))
    return found


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
        for inner in schema.values():
            yield from _references(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _references(inner)


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[`{name}`](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        values = schema.get("enum") or [schema["const"]]
        return " or ".join(
            f"`{value if isinstance(value, str) else json.dumps(value)}`" for value in values
        )
    kind = schema.get("type")
    if kind == "array":
        inner = _type(schema.get("items", {}))
        text = "list" if inner == "any" else f"list of {inner}"
    else:
        text = _TYPES.get(kind, "any") if isinstance(kind, str) else "any"
    limits = [
        f"{_between(schema.get(least), schema.get(most))} {unit}".rstrip()
        for least, most, unit in _BOUNDS
        if least in schema or most in schema
    ]
    return ", ".join([text, *limits])


def _between(least: float | None, most: float | None) -> str:
    if most is None:
        return f"{least:,g} or more"
    return f"up to {most:,g}" if least is None else f"{least:,g} to {most:,g}"
