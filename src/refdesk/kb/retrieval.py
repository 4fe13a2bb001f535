"""
One question to one collection: both legs, fused, scored, neighbours merged, best first.

The pool of candidates has a fixed size, so that asking for more results never changes the first
ones.  The vector store may hold chunks that belong to no document (of a process that died, or is at
it); they are dropped here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from refdesk.kb.exact import exact_scores
from refdesk.kb.fusion import can_read, fuse
from refdesk.kb.graph import GraphFound
from refdesk.kb.neighbours import Found, Passage, merge
from refdesk.kb.scoring import mean_score, text_score, vector_score, with_exact, with_graph
from refdesk.kb.vectors import Filters, Hit, Vector, VectorStore, fits
from refdesk.store.knowledge import KnowledgeStore
from refdesk.store.passages import Chunk, Collection

POOL: Final = 100
"""How many candidates each leg gives, and how many are scored."""

_WORD_POOL: Final = 300
"""So many scores the words give; what is not among them has no words worth counting."""

_LEAST: Final = 0.005
"""A passage that is hardly nearer than texts with nothing in common would show as 0.00."""

_GRAPH_EVERY: Final = 5
"""Every fifth place is kept for what only the graph leads to: by its score it would come last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Nearness:
    """What an embedder made of a question, and how its cosines are read."""

    vector: Vector
    floor: float = 0.0
    languages: frozenset[str] | None = None


class Retriever:
    """
    Finds passages.

    Args:
        store: Has the chunks.
        index: Finds them.
    """

    def __init__(self, store: KnowledgeStore, index: VectorStore) -> None:
        self._store = store
        self._index = index

    async def find(
        self,
        collection: Collection,
        query: str,
        *,
        nearness: Nearness | None,
        filters: Filters | None = None,
        graph: GraphFound | None = None,
    ) -> list[Passage]:
        """
        Return passages, best first.

        Args:
            collection: Where to look.
            query: The question.
            nearness: Its vector; None where words alone are compared.
            filters: What the metadata of chunks must be.
            graph: What the graph has on the question.
        """
        text, near = await asyncio.gather(
            self._text(collection, query, filters), self._near(collection, nearness, filters)
        )
        linked = {each.chunk_id: each.score for each in graph.passages} if graph else {}
        pool = fuse([list(text)[:POOL], list(near), list(linked)])
        chunks = await asyncio.to_thread(self._store.chunks, pool)
        pool = [
            each
            for each in pool
            if each in chunks and (each not in linked or fits(chunks[each], filters))
        ][:POOL]
        await self._complete(collection, nearness, pool, near)
        exact = exact_scores(query, {each: chunks[each].index_text for each in pool})
        found = [
            _scored(chunks[each], text, near, nearness, exact.get(each), linked.get(each))
            for each in pool
        ]
        found = [each for each in found if _is_found(each)]
        # Of equals, always the same one is first, in whatever order the index gave them.
        found.sort(key=lambda each: (-each.score, each.chunk.document_id, each.chunk.ordinal))
        return _spread(_once(merge(found)))

    async def _text(
        self, collection: Collection, query: str, filters: Filters | None
    ) -> dict[str, float]:
        hits = await self._index.search_text(collection.index, query, k=_WORD_POOL, filters=filters)
        return _by_id(hits)

    async def _near(
        self, collection: Collection, nearness: Nearness | None, filters: Filters | None
    ) -> dict[str, float]:
        if nearness is None:
            return {}
        hits = await self._index.search_vector(
            collection.index, nearness.vector, k=POOL, filters=filters
        )
        return _by_id(hits)

    async def _complete(
        self,
        collection: Collection,
        nearness: Nearness | None,
        pool: list[str],
        near: dict[str, float],
    ) -> None:
        """Ask how near those are which others were nearer than."""
        missing = [each for each in pool if each not in near]
        if nearness is not None and missing:
            near |= _by_id(
                await self._index.search_vector(
                    collection.index, nearness.vector, k=len(missing), only=missing
                )
            )


def _by_id(hits: list[Hit]) -> dict[str, float]:
    return {hit.chunk_id: hit.score for hit in hits}


def _scored(
    chunk: Chunk,
    text: Mapping[str, float],
    near: Mapping[str, float],
    nearness: Nearness | None,
    exact: float | None,
    graph: float | None,
) -> Found:
    scores = {"text": text_score(text.get(chunk.id, 0.0))}
    vector = None
    if nearness is not None and can_read(chunk.text, nearness.languages):
        vector = scores["vector"] = vector_score(near.get(chunk.id, 0.0), nearness.floor)
    score = mean_score(scores["text"], vector)
    if exact is not None:
        scores["exact"] = exact
        score = with_exact(score, exact)
    if graph is not None:
        scores["graph"] = graph
        score = with_graph(score, graph)
    return Found(chunk=chunk, score=score, scores=scores)


def _is_found(each: Found) -> bool:
    """Whether words, a code or the graph lead to a passage, or it is near enough to matter."""
    others = (score for name, score in each.scores.items() if name != "vector")
    return each.score >= _LEAST or any(score > 0 for score in others)


def _once(passages: list[Passage]) -> list[Passage]:
    """Return passages without those that say what a better one says; a word repeated says once."""
    said: dict[tuple[str, ...], Passage] = {}
    for each in passages:
        said.setdefault(tuple(word for word, _ in groupby(each.text().split())), each)
    return list(said.values())


def _spread(passages: list[Passage]) -> list[Passage]:
    """Return passages with those that the graph leads to at every fifth place, at the latest."""
    if not any("graph" in each.best.scores for each in passages):
        return passages
    waiting = list(passages)
    spread: list[Passage] = []
    while waiting:
        block = spread[len(spread) - len(spread) % _GRAPH_EVERY :]
        last = len(block) == _GRAPH_EVERY - 1
        owed = last and not any("graph" in each.best.scores for each in block)
        place = next((i for i, one in enumerate(waiting) if "graph" in one.best.scores), 0)
        spread.append(waiting.pop(place if owed else 0))
    return spread
