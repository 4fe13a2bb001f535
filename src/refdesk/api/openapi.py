"""The OpenAPI 3.1 document of the routes below ``/api/v1``.  No I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from pydantic.json_schema import models_json_schema

from refdesk.api.rights import CLAIM
from refdesk.api.routes import PREFIX, Route
from refdesk.api.schemas import Problem

if TYPE_CHECKING:
    from pydantic import BaseModel

_REFERENCE: Final = "#/components/schemas/{model}"
_NEEDS: Final = f"Where client keys are required, this needs one with the claim `{CLAIM}`."
_FILES: Final[Mapping[str, Any]] = {
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "properties": {
                "file": {
                    "type": "array",
                    "items": {"type": "string", "contentMediaType": "application/octet-stream"},
                    "description": "Files, each with its name.",
                },
                "metadata": {
                    "type": "string",
                    "contentMediaType": "application/json",
                    "description": "Values that searches can filter by.",
                },
            },
            "required": ["file"],
        }
    },
    "application/octet-stream": {"schema": {}},
}


def document(routes: Sequence[Route], *, version: str, keys_required: bool) -> dict[str, Any]:
    """
    Return the document.

    Args:
        routes: What is served.
        version: Of Refdesk.
        keys_required: Whether a client key must be sent.
    """
    models: set[type[BaseModel]] = {Problem}
    models |= {model for route in routes for model in (route.answer, route.body) if model}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, found = models_json_schema(
        [(model, "validation") for model in ordered], ref_template=_REFERENCE
    )
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(PREFIX + route.path, {})[route.method.lower()] = _operation(route)
    schemes: list[dict[str, Any]] = [{"bearer": []}, {"apiKey": []}]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Refdesk",
            "version": version,
            "summary": "Collections of documents, and databases.",
        },
        "paths": paths,
        "components": {
            "schemas": found["$defs"],
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
        "security": schemes if keys_required else [*schemes, {}],
    }


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.handler.__name__,
        "tags": [route.path.split("/")[1]],
        "summary": route.summary,
    }
    if route.changes:
        operation["description"] = _NEEDS
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    parameters += [
        {
            "name": each.name,
            "in": "query",
            "description": each.summary,
            "schema": {"type": each.type},
        }
        for each in route.query
    ]
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        content = {"application/json": {"schema": _named(route.body)}}
        if route.files:
            content |= dict(_FILES)
        operation["requestBody"] = {"required": not route.optional_body, "content": content}
    answer = {"application/json": {"schema": _named(route.answer)}}
    responses = {
        str(status): {"description": HTTPStatus(status).phrase, "content": answer}
        for status in route.statuses
    }
    operation["responses"] = responses | {
        "default": {
            "description": "What went wrong.",
            "content": {"application/problem+json": {"schema": _named(Problem)}},
        }
    }
    return operation


def _named(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(model=model.__name__)}
