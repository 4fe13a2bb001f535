"""
The facts in a text: what it names, and how that stands to each other.

Finding them is somebody else's where there is a model: an assistant or tool that answers with the
JSON of `SCHEMA`.  `refdesk.kb.names` is what there is without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from refdesk.errors import DelegateError
from refdesk.store.graph import EntityFact, RelationFact, folded

MAX_PER_CHUNK: Final = 40
"""Entities of one passage; more is a list, not a text."""
MAX_NAME_CHARS: Final = 80
"""Characters of an entity's name; a longer one is dropped."""
_MAX_DESCRIPTION_CHARS: Final = 500
"""Characters of an entity's description; the rest is cut off."""

ENTITY_TYPES: Final = ("Person", "Organization", "Location", "Product", "Event", "Concept")
"""What is looked for where a collection does not say what."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "entities": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "type": {"type": "string"},
                    "description": {"type": "string"},
                },
                "required": ["name", "type"],
            },
        },
        "relations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "subject": {"type": "string"},
                    "predicate": {"type": "string"},
                    "object": {"type": "string"},
                },
                "required": ["subject", "predicate", "object"],
            },
        },
    },
    "required": ["entities", "relations"],
}
"""What a model's answer has to look like."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What a text names, and what it says of it."""

    entities: tuple[EntityFact, ...] = ()
    relations: tuple[RelationFact, ...] = ()


class Extractor(Protocol):
    """Whoever finds the facts in a text; RefdeskError where it cannot."""

    async def extract(self, text: str, *, types: Sequence[str]) -> Facts:
        """Return what the text says."""
        ...


def read_facts(answer: Any) -> Facts:
    """
    Return the facts in a model's answer, whatever is wrong with parts of it.

    Understood are the names of `SCHEMA`, and `relationships` of `{source, target, type}` between
    ids of entities, as other tools write them.  What has no name, or links what is not named, is
    left out.

    Raises:
        DelegateError: It has no list of entities.
    """
    listed = answer.get("entities") if isinstance(answer, Mapping) else None
    if not isinstance(listed, list):
        raise DelegateError(
            'the answer has no entities; it should be {"entities": […], "relations": […]}'
        )
    entities: dict[str, EntityFact] = {}
    names: dict[str, str] = {}
    for row in listed[:MAX_PER_CHUNK]:
        if not isinstance(row, Mapping) or not (name := _text(row.get("name"), MAX_NAME_CHARS)):
            continue
        properties = row.get("properties")
        described = row.get("description") or (
            properties.get("description") if isinstance(properties, Mapping) else ""
        )
        entities.setdefault(
            folded(name),
            EntityFact(
                name=name,
                type=_text(row.get("type"), MAX_NAME_CHARS),
                description=_text(described, _MAX_DESCRIPTION_CHARS),
            ),
        )
        names[folded(name)] = name
        if isinstance(row.get("id"), str | int):
            names.setdefault(folded(str(row["id"])), name)
    related = answer.get("relations") or answer.get("relationships")
    relations = [
        relation
        for row in (related if isinstance(related, list) else [])[: 2 * MAX_PER_CHUNK]
        if isinstance(row, Mapping) and (relation := _relation(row, names)) is not None
    ]
    return Facts(entities=tuple(entities.values()), relations=tuple(dict.fromkeys(relations)))


def _relation(row: Mapping[str, Any], names: Mapping[str, str]) -> RelationFact | None:
    subject = names.get(folded(_text(row.get("subject") or row.get("source"), MAX_NAME_CHARS)))
    object_ = names.get(folded(_text(row.get("object") or row.get("target"), MAX_NAME_CHARS)))
    predicate = _text(row.get("predicate") or row.get("type"), MAX_NAME_CHARS)
    if not subject or not object_ or not predicate or subject == object_:
        return None
    return RelationFact(subject=subject, predicate=predicate, object=object_)


def _text(value: Any, limit: int) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return " ".join(value.split())[:limit].strip() if isinstance(value, str) else ""
