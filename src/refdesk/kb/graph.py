"""
Graph search: from the names in a question to passages that say more of what they are linked to.

Extraction is somebody else's where there is a model: an assistant or tool that answers with the
JSON of `SCHEMA`.  Without one, the builtin takes names by their form and links those that stand in
one sentence; it knows no meanings, and `BUILTIN_NOTICE` says so to whoever asks for a graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from refdesk.store.graph import ChunkFacts, EntityFact, Graph, Node, RelationFact, folded
from refdesk.types import GraphNode

HOP_FACTOR: Final = 0.5
"""A passage of an entity is worth half as much for every hop away from the question."""
DEFAULT_HOPS: Final = 2
BUILTIN_NOTICE: Final = (
    "the graph was built without a model: names by their form, linked where they share a sentence"
)
BUILTIN_PREDICATE: Final = "mentioned with"

_MAX_PER_CHUNK: Final = 40
_MAX_NAME_CHARS: Final = 80
_MAX_DESCRIPTION_CHARS: Final = 500

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


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphPassage:
    """A passage that the graph leads to."""

    chunk_id: str
    document_id: str
    score: float
    """0 to 1: 0.5 for every hop of the nearest entity that it names."""
    hops: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphFound:
    """What the graph has on a question."""

    nodes: tuple[GraphNode, ...] = ()
    passages: tuple[GraphPassage, ...] = ()
    """Best first."""


def hop_score(hops: int) -> float:
    """Return what an entity so many hops away is worth, 0 to 1."""
    return float(HOP_FACTOR**hops)


def expand(
    graph: Graph,
    collection: str,
    question: str,
    *,
    hops: int = DEFAULT_HOPS,
    limit: int = 50,
) -> GraphFound:
    """
    Return what relations lead to from the entities that a question names.  Waits for the store.

    Args:
        graph: The store's.
        collection: Whose graph.
        question: As it was asked; no model is needed to read it.
        hops: How many relations far.
        limit: The most passages.
    """
    named = graph.named_in(collection, question)
    nodes = graph.around(collection, [node.id for node in named], hops=hops)
    if not nodes:
        return GraphFound()
    nearest = {node.id: node.hops for node in nodes}
    best: dict[str, tuple[int, int, str]] = {}
    for mention in graph.mentions(collection, nearest):
        distance = nearest[mention.entity]
        before, count, _ = best.get(mention.chunk_id, (distance, 0, ""))
        best[mention.chunk_id] = (min(before, distance), count + 1, mention.document_id)
    # Of those equally near, the one that names more of what was reached says more of it.
    order = sorted(best.items(), key=lambda pair: (pair[1][0], -pair[1][1], pair[0]))
    return GraphFound(
        nodes=tuple(_shown(nodes, graph, collection)),
        passages=tuple(
            GraphPassage(
                chunk_id=chunk_id, document_id=document, score=hop_score(distance), hops=distance
            )
            for chunk_id, (distance, _, document) in order[:limit]
        ),
    )


def _shown(nodes: Sequence[Node], graph: Graph, collection: str) -> Iterable[GraphNode]:
    names = {node.id: node.name for node in nodes}
    said: dict[str, list[str]] = {}
    for edge in graph.edges(collection, names):
        text = f"{names[edge.subject]} {edge.predicate} {names[edge.object]}"
        for end in (edge.subject, edge.object):
            said.setdefault(end, []).append(text)
    for node in nodes:
        yield GraphNode(
            id=node.id,
            type=node.type,
            name=node.name,
            description=node.description,
            relation="; ".join(said.get(node.id, [])[:3]),
            score=hop_score(node.hops),
            metadata={"collection": collection, "hops": node.hops},
        )


def chunk_facts(chunk_id: str, facts: Facts) -> ChunkFacts:
    """Return facts as the store keeps them for a passage."""
    return ChunkFacts(chunk_id=chunk_id, entities=facts.entities, relations=facts.relations)


# A model's answer


def read_facts(answer: Any) -> Facts:
    """
    Return the facts in a model's answer, whatever is wrong with parts of it.

    Understood are the names of `SCHEMA`, and `relationships` of `{source, target, type}` between
    ids of entities, as other tools write them.  What has no name, or links what is not named, is
    left out.

    Raises:
        ValueError: It has no list of entities.
    """
    listed = answer.get("entities") if isinstance(answer, Mapping) else None
    if not isinstance(listed, list):
        raise ValueError('the answer has no entities; it should be {"entities": […], "relations": […]}')  # noqa: E501
    entities: dict[str, EntityFact] = {}
    names: dict[str, str] = {}
    for row in listed[:_MAX_PER_CHUNK]:
        if not isinstance(row, Mapping) or not (name := _text(row.get("name"), _MAX_NAME_CHARS)):
            continue
        properties = row.get("properties")
        described = row.get("description") or (
            properties.get("description") if isinstance(properties, Mapping) else ""
        )
        entities.setdefault(
            folded(name),
            EntityFact(
                name=name,
                type=_text(row.get("type"), _MAX_NAME_CHARS),
                description=_text(described, _MAX_DESCRIPTION_CHARS),
            ),
        )
        names[folded(name)] = name
        if isinstance(row.get("id"), str | int):
            names.setdefault(folded(str(row["id"])), name)
    related = answer.get("relations") or answer.get("relationships")
    relations = [
        relation
        for row in (related if isinstance(related, list) else [])[: 2 * _MAX_PER_CHUNK]
        if isinstance(row, Mapping) and (relation := _relation(row, names)) is not None
    ]
    return Facts(entities=tuple(entities.values()), relations=tuple(dict.fromkeys(relations)))


def _relation(row: Mapping[str, Any], names: Mapping[str, str]) -> RelationFact | None:
    subject = names.get(folded(_text(row.get("subject") or row.get("source"), _MAX_NAME_CHARS)))
    object_ = names.get(folded(_text(row.get("object") or row.get("target"), _MAX_NAME_CHARS)))
    predicate = _text(row.get("predicate") or row.get("type"), _MAX_NAME_CHARS)
    if not subject or not object_ or not predicate or subject == object_:
        return None
    return RelationFact(subject=subject, predicate=predicate, object=object_)


def _text(value: Any, limit: int) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return " ".join(value.split())[:limit].strip() if isinstance(value, str) else ""


# The builtin

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[\"'“(]?\w)|(?<=[。！？；])|\n\s*\n|\n(?=[#|*-])")
_WORD: Final = r"[^\W\d_a-z][\w’'&-]*"
"""A word that begins with a letter which is no small Latin one."""
_NAME: Final = re.compile(
    rf"{_WORD}(?:(?:\s(?:of|the|for|and|de|van|von|der|la|al|du))*\s(?:{_WORD}|\d+(?:\.\d+)*)(?!\w))*"
)
_QUOTED: Final = re.compile(r"[《「『“]([^《》「」『』“”\n]{2,30})[》」』”]")
_HAN_NAME: Final = re.compile(
    r"[\u4e00-\u9fff]{2,12}?(?:公司|集团|大学|学院|研究所|委员会|银行|医院|法院|协会|基金会|部门"
    r"|项目|计划|条例|会议|战争|省|市|县|区|州|国)"
)
_HAN_START: Final = re.compile(r"^(?:位于|来自|属于|以及|成为|由于|关于|对于|在|是|和|与|及|由|于|的|了|从|向|到|为|被)+")
_STARTERS: Final = frozenset(
    "a an the this that these those it its he she they we you i his her their our your my there "
    "here in on at by for from with to of as and or but if when where while after before since "
    "although however because so then thus also not no yes all any each some many most both such "
    "what who whom whose which why how is are was were be been do does did has have had can could "
    "will would shall should may might must use see note example".split()
)


class BuiltinExtractor:
    """
    Finds names by their form: capitalised words, acronyms, titles in quotes, Chinese names that
    end in what they are.  Those that share a sentence are linked, without saying how.
    """

    async def extract(self, text: str, *, types: Sequence[str]) -> Facts:
        """Return what the text names; ``types`` are beyond it and have no say."""
        return builtin_facts(text)


def builtin_facts(text: str) -> Facts:
    """Return the names in a text, and which of them share a sentence."""
    entities: dict[str, EntityFact] = {}
    relations: dict[tuple[str, str], RelationFact] = {}
    for sentence in _SENTENCE.split(text):
        here: dict[str, str] = {}
        for name in _names(sentence):
            key = folded(name)
            if key not in entities and len(entities) >= _MAX_PER_CHUNK:
                continue
            entities.setdefault(key, EntityFact(name=name, type="Name"))
            here.setdefault(key, name)
        keys = list(here)
        # A list of names is linked in its order; all with all would be a knot that says nothing.
        for left, right in zip(keys, keys[1:], strict=False):
            relations.setdefault(
                (left, right),
                RelationFact(
                    subject=entities[left].name,
                    predicate=BUILTIN_PREDICATE,
                    object=entities[right].name,
                ),
            )
    return Facts(entities=tuple(entities.values()), relations=tuple(relations.values()))


def _names(sentence: str) -> Iterable[str]:
    found: list[tuple[int, str]] = []
    for match in _QUOTED.finditer(sentence):
        found.append((match.start(1), match[1]))
    for match in _HAN_NAME.finditer(sentence):
        found.append((match.start(), _HAN_START.sub("", match[0])))
    for match in _NAME.finditer(sentence):
        if any("\u2e80" <= char for char in match[0]):
            continue
        found.append((match.start(), _latin(match[0], opens=not sentence[: match.start()].strip())))
    for _, name in sorted(found):
        name = name.strip(" '’&-")
        if 2 <= len(name) <= _MAX_NAME_CHARS:
            yield name


def _latin(name: str, *, opens: bool) -> str:
    words = name.split()
    while words and words[0].casefold().rstrip("'’s") in _STARTERS | {"" }:
        words.pop(0)
        opens = False
    # A single capitalised word that opens a sentence is capitalised for that reason.
    if opens and len(words) == 1 and not any(char.isupper() or char.isdigit() for char in words[0][1:]):
        return ""
    name = " ".join(words)
    return re.sub(r"['’]s?$", "", name)
