"""Entities found by somebody else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from refdesk.errors import DelegateError
from refdesk.kb.facts import SCHEMA
from refdesk.search.entities import extractors
from refdesk.store.graph import EntityFact
from refdesk.uses import Uses


@dataclass
class Other:
    """A delegate with one answer."""

    answer: Any
    seen: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    async def call(self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float) -> Any:
        self.seen.append((str(target), payload))
        return self.answer


async def test_asked() -> None:
    """An assistant is told what to do, with the schema; a tool has its own name for it."""
    other = Other(
        '```json\n{"entities": [{"name": "Ann", "type": "Person"}], "relations": []}\n```'
    )
    facts = await extractors(other)("reader").extract("Ann.", types=("Person",))
    assert facts.entities == (EntityFact(name="Ann", type="Person"),)
    await extractors(other)("mcp:notes.entities").extract("Ann.", types=())
    (who, asked), (tool, given) = other.seen
    assert (who, tool) == ("reader", "mcp:notes.entities")
    assert (asked["action"], asked["text"], asked["schema"]) == ("extract_entities", "Ann.", SCHEMA)
    assert asked["entity_types"] == ["Person"]
    assert "action" not in given


async def test_no_answer() -> None:
    """What is no list of facts, and nobody to ask, are delegate errors."""
    with pytest.raises(DelegateError, match="has no entities"):
        await extractors(Other("I cannot."))("reader").extract("Ann.", types=())
    with pytest.raises(DelegateError, match="no assistant runtime"):
        await extractors(None)("reader").extract("Ann.", types=())
