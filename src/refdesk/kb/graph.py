"""
Graph search: from the names in a question to passages that say more of what they are linked to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from refdesk.kb.facts import Facts
from refdesk.store.graph import ChunkFacts, Graph, Node
from refdesk.types import GraphNode

HOP_FACTOR: Final = 0.5
"""A passage of an entity is worth half as much for every hop away from the question."""
DEFAULT_HOPS: Final = 2
_RELATIONS_SHOWN: Final = 3


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


def _shown(nodes: Sequence[Node], graph: Graph, collection: str) -> Iterator[GraphNode]:
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
            relation="; ".join(said.get(node.id, [])[:_RELATIONS_SHOWN]),
            score=hop_score(node.hops),
            metadata={"collection": collection, "hops": node.hops},
        )


def chunk_facts(chunk_id: str, facts: Facts) -> ChunkFacts:
    """Return facts as the store keeps them for a passage."""
    return ChunkFacts(chunk_id=chunk_id, entities=facts.entities, relations=facts.relations)
