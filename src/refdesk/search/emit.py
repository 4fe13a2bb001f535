"""Results and references as JSON values, with the names that every face shows them by."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import msgspec

from refdesk.types import Reference, ResultItem, SearchResult

_ALWAYS: Final = frozenset({"type", "query", "source", "items", "total", "duration_ms"})


def result_json(result: SearchResult) -> dict[str, Any]:
    """
    Return a search result as plain values.

    Fields that are unset or empty are left out, except those that every result has.
    """
    values: dict[str, Any] = {
        "type": result.type,
        "query": result.query,
        "source": result.source,
        "items": [item_json(item) for item in result.items],
        "total": result.total,
        "duration_ms": round(result.duration_ms, 1),
        "error": result.error,
        "answer": result.answer,
        "engine": result.engine,
        "keywords": [keyword.text for keyword in result.keywords],
        "dsl": result.dsl,
        "entities": [asdict(each) for each in result.entities],
        "relations": [asdict(each) for each in result.relations],
        "graph_nodes": [asdict(each) for each in result.graph_nodes],
        "notices": list(result.notices),
        "attempts": [asdict(each) for each in result.attempts],
        "request_id": result.request_id,
    }
    return _plain({name: v for name, v in values.items() if name in _ALWAYS or not _empty(v)})


def item_json(item: ResultItem) -> dict[str, Any]:
    """Return an item as plain values; what is unset is left out."""
    values: dict[str, Any] = {
        "citation_id": item.citation_id,
        "index": item.index,
        "source": item.source,
        "weight": item.weight,
        "score": item.score,
        "scores": dict(item.scores),
        "type": item.type,
        "title": item.title,
        "content": item.content,
        "url": item.url,
        "published": item.published,
        "document_id": item.document_id,
        "collection": item.collection,
        "model": item.model,
        "record_id": item.record_id,
        "data": item.data,
        "metadata": dict(item.metadata),
    }
    kept = {"title", "content", "weight"}
    return _plain({name: v for name, v in values.items() if name in kept or not _empty(v)})


def reference_json(reference: Reference) -> dict[str, Any]:
    """Return a reference as plain values."""
    return _plain(
        {
            "id": reference.id,
            "index": reference.index,
            "type": reference.type,
            "source": reference.source,
            "weight": reference.weight,
            "score": reference.score,
            "title": reference.title,
            "content": reference.content,
            "url": reference.url,
            "meta": dict(reference.meta),
        }
    )


def _empty(value: Any) -> bool:
    # 0 and False are values: a record may have the id 0.
    return value is None or (isinstance(value, (str, list, dict)) and not value)


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(value, str_keys=True, enc_hook=str)
    return plain
