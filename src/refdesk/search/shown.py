"""Results and references as JSON objects, with the same names on every face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from refdesk.types import Reference, ResultItem, SearchResult

_SNIPPET_CHARS: Final = 200
_ITEM_TEXTS: Final = ("url", "document_id", "collection", "model")


def result_object(result: SearchResult) -> dict[str, Any]:
    """Return a result as JSON values; what is absent is left out, except error and total."""
    shown: dict[str, Any] = {
        "type": result.type,
        "query": result.query,
        "source": result.source,
        "items": [_item(item) for item in result.items],
        "total": result.total,
        "duration_ms": round(result.duration_ms, 1),
        "error": result.error,
    }
    optional = {
        "request_id": result.request_id,
        "reason": result.reason,
        "engine": result.engine,
        "answer": result.answer,
        "keywords": result.keywords,
        "dsl": result.dsl,
        "entities": result.entities,
        "relations": result.relations,
        "graph_nodes": result.graph_nodes,
        "notices": result.notices,
    }
    return shown | _plain(optional)


def reference_object(reference: Reference) -> dict[str, Any]:
    """Return a reference as JSON values: what click-through needs."""
    content = reference.content
    cut = len(content) > _SNIPPET_CHARS
    shown: dict[str, Any] = {
        "id": reference.id,
        "index": reference.index,
        "type": reference.type,
        "title": reference.title,
        "url": reference.url,
        "snippet": content[:_SNIPPET_CHARS].rstrip() + "…" if cut else content,
        "content": content,
        "source": reference.source,
        "weight": reference.weight,
    }
    if reference.score is not None:
        shown["score"] = reference.score
    return shown | _plain({"metadata": reference.meta})


def _item(item: ResultItem) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "citation_id": item.citation_id,
        "index": item.index,
        "source": item.source,
        "weight": item.weight,
        "type": item.type,
        "title": item.title,
        "content": item.content,
    }
    metadata = {**item.metadata, **({"published": item.published} if item.published else {})}
    optional: dict[str, Any] = {name: getattr(item, name) for name in _ITEM_TEXTS}
    optional |= {"scores": item.scores, "data": item.data, "metadata": metadata}
    # Zero and false are values here, not absences.
    for name in ("score", "record_id"):
        if (value := getattr(item, name)) is not None:
            shown[name] = value
    return shown | _plain(optional)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those that say something, made of what JSON knows; anything else becomes text."""
    return {
        name: msgspec.to_builtins(value, enc_hook=str, str_keys=True)
        for name, value in values.items()
        if value
    }
