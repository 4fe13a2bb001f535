"""One question to one collection: what the graph adds, and scores that one leg did not give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from passages import a_chunk
from refdesk.kb.graph import GraphFound, GraphPassage
from refdesk.kb.retrieval import POOL, Nearness, Retriever
from refdesk.kb.scoring import text_score, with_graph
from refdesk.kb.vectors import Hit, fits
from refdesk.store.passages import Chunk, Collection

DOCS = Collection(name="docs", index="docs")


class Legs:
    """A store and an index that give what they are told."""

    def __init__(self, chunks: Sequence[Chunk], text: dict[str, float], near: dict[str, float]):
        self.known = {chunk.id: chunk for chunk in chunks}
        self.text, self.near = text, near
        self.asked_only: list[Sequence[str] | None] = []

    def chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        return {each: self.known[each] for each in ids if each in self.known}

    async def search_text(self, index: str, query: str, *, k: int, filters: Any = None):  # type: ignore[no-untyped-def]
        return _best(self.text, k)

    async def search_vector(self, index: str, vector: Any, *, k: int, filters=None, only=None):  # type: ignore[no-untyped-def]
        self.asked_only.append(only)
        return _best({i: s for i, s in self.near.items() if only is None or i in only}, k)

    @property
    def retriever(self) -> Retriever:
        return Retriever(self, self)  # type: ignore[arg-type]


def _best(scores: dict[str, float], k: int) -> list[Hit]:
    order = sorted(scores, key=lambda each: -scores[each])[:k]
    return [Hit(chunk_id=each, score=scores[each]) for each in order]


def linked(*passages: tuple[str, float]) -> GraphFound:
    return GraphFound(
        passages=tuple(
            GraphPassage(chunk_id=each, document_id=f"d-{each}", score=score, hops=0)
            for each, score in passages
        )
    )


async def test_graph_raises() -> None:
    """A passage that the graph leads to as well is worth more, and says so."""
    legs = Legs([a_chunk("a", "a"), a_chunk("b", "b")], {"a": 6.0, "b": 5.9}, {})
    found = await legs.retriever.find(DOCS, "q", nearness=None, graph=linked(("b", 1.0)))
    assert [each.best.chunk.id for each in found] == ["b", "a"]
    assert found[0].best.scores == {"text": text_score(5.9), "graph": 1.0}
    assert found[0].best.score == with_graph(text_score(5.9), 1.0)


async def test_graph_has_its_places() -> None:
    """What only the graph leads to has every fifth place, however many others are better."""
    ids = [f"c{n}" for n in range(12)]
    legs = Legs([a_chunk(i, i) for i in [*ids, "far", "farther"]], dict.fromkeys(ids, 50.0), {})
    graph = linked(("far", 0.5), ("farther", 0.25))
    found = await legs.retriever.find(DOCS, "q", nearness=None, graph=graph)
    order = [each.best.chunk.id for each in found]
    assert (order[4], order[9]) == ("far", "farther")
    assert sorted(order) == sorted([*ids, "far", "farther"])


async def test_graph_obeys_filters() -> None:
    """What the graph leads to must fit the filters like everything else."""
    chunks = [a_chunk("a", "a", metadata={"year": 1}), a_chunk("b", "b", metadata={"year": 2})]
    found = await Legs(chunks, {}, {}).retriever.find(
        DOCS, "q", nearness=None, filters={"year": 1}, graph=linked(("a", 1.0), ("b", 1.0))
    )
    assert [each.best.chunk.id for each in found] == ["a"]
    assert fits(chunks[0], {"year": [1, 3], "document_id": "d-a"})
    assert not fits(chunks[0], {"document_id": "d-b"})


async def test_nearness_is_completed() -> None:
    """How near a passage is counts also where the nearest left it no place."""
    ids = [f"n{n}" for n in range(POOL + 20)]
    near = dict.fromkeys(ids, 0.9) | {"worded": 0.4}
    legs = Legs([a_chunk(i, i) for i in near], {"worded": 40.0}, near)
    nearness = Nearness(vector=np.ones(3, dtype=np.float32))
    found = await legs.retriever.find(DOCS, "q", nearness=nearness)
    worded = next(each for each in found if each.best.chunk.id == "worded")
    assert worded.best.scores["vector"] == pytest.approx(0.4)
    assert legs.asked_only == [None, ["worded"]]


async def test_equals_keep_their_order() -> None:
    """What is worth the same comes in the same order, whatever the index's is."""
    chunks = [a_chunk(i, i) for i in "abcd"]
    for ids in ("abcd", "dbca"):
        legs = Legs(chunks, dict.fromkeys(ids, 5.0), {})
        found = await legs.retriever.find(DOCS, "q", nearness=None)
        assert [each.best.chunk.id for each in found] == list("abcd")


async def test_code_wins_in_a_small_collection() -> None:
    """The one of thirteen passages that has the code asked for is first, whatever is nearer."""
    chunks = [a_chunk(f"the display shows a code, page {n}", f"c{n}") for n in range(12)]
    chunks.append(a_chunk("QX-7731: a broken wire", "right"))
    text = {f"c{n}": 6.0 for n in range(12)} | {"right": 5.0}
    near = {f"c{n}": 0.6 for n in range(12)} | {"right": 0.3}
    nearness = Nearness(vector=np.ones(3, dtype=np.float32), floor=0.17)
    found = await Legs(chunks, text, near).retriever.find(
        DOCS, "what does QX-7731 on the display mean", nearness=nearness
    )
    assert found[0].best.chunk.id == "right"
    assert found[0].best.scores["exact"] == 1.0


async def test_below_the_floor_only_words_count() -> None:
    """A passage that is no nearer than unrelated texts is found by its words, or not at all."""
    chunks = [a_chunk(each, each) for each in ("near", "worded", "neither", "hardly", "against")]
    near = {"near": 0.5, "worded": 0.1, "neither": 0.17, "hardly": 0.175, "against": -0.4}
    nearness = Nearness(vector=np.ones(3, dtype=np.float32), floor=0.17)
    legs = Legs(chunks, {"worded": 3.0}, near)
    found = await legs.retriever.find(DOCS, "q", nearness=nearness)
    assert {each.best.chunk.id for each in found} == {"near", "worded"}
    worded = next(each for each in found if each.best.chunk.id == "worded")
    assert worded.best.scores["vector"] == 0.0
    assert worded.best.score == text_score(3.0) / 2
