"""Results and references as JSON values."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal

from refdesk.search.emit import reference_json, result_json
from refdesk.types import (
    Entity,
    GraphNode,
    Keyword,
    Reference,
    Relation,
    ResultItem,
    SearchResult,
)


def test_empty() -> None:
    """A result that found nothing has its constant fields; what is unset is left out."""
    assert result_json(SearchResult(type="kb", query="q")) == {
        "type": "kb",
        "query": "q",
        "source": "hook",
        "items": [],
        "total": 0,
        "duration_ms": 0.0,
    }


def test_full() -> None:
    """Every field has the seed's name, in snake_case, and databases' values become plain ones."""
    result = SearchResult(
        type="db",
        query="q",
        items=(
            ResultItem(
                type="db",
                title="Order 0",
                content="",
                model="orders",
                record_id=0,
                data={"total": Decimal("9.50"), "day": date(2026, 3, 1), "paid": False},
                weight=0.8,
                score=0.0,
                scores={"source": 0.0},
                citation_id="ref_001",
                index=1,
                metadata={"page": 3},
            ),
        ),
        total=1,
        duration_ms=12.3456,
        error="x",
        keywords=(Keyword(text="orders"),),
        dsl={"select": ["id"]},
        entities=(Entity(name="E"),),
        relations=(Relation(subject="a", predicate="b", object="c"),),
        graph_nodes=(GraphNode(id="1", type="t", name="n"),),
        notices=("n",),
        request_id="r1",
    )

    value = json.loads(json.dumps(result_json(result)))

    assert value["items"] == [
        {
            "citation_id": "ref_001",
            "index": 1,
            "source": "auto",
            "weight": 0.8,
            "score": 0.0,
            "scores": {"source": 0.0},
            "type": "db",
            "title": "Order 0",
            "content": "",
            "model": "orders",
            "record_id": 0,
            "data": {"total": "9.50", "day": "2026-03-01", "paid": False},
            "metadata": {"page": 3},
        }
    ]
    assert (value["keywords"], value["dsl"]) == (["orders"], {"select": ["id"]})
    assert value["duration_ms"] == 12.3
    assert value["entities"][0]["name"] == "E"
    assert value["relations"][0]["predicate"] == "b"
    assert value["graph_nodes"][0]["id"] == "1"
    assert (value["notices"], value["request_id"], value["error"]) == (["n"], "r1", "x")


def test_reference() -> None:
    """A reference is all of its fields."""
    reference = Reference(
        id="ref_001",
        index=1,
        type="web",
        source="hook",
        weight=0.8,
        score=None,
        title="T",
        content="C",
        url="https://t.com/",
        meta={"published": "2026"},
    )

    assert reference_json(reference) == {
        "id": "ref_001",
        "index": 1,
        "type": "web",
        "source": "hook",
        "weight": 0.8,
        "score": None,
        "title": "T",
        "content": "C",
        "url": "https://t.com/",
        "meta": {"published": "2026"},
    }
