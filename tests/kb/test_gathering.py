"""Graphs kept up to date: what is read, when, by whom, and what becomes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refdesk.errors import ConfigError, DelegateError
from refdesk.kb.facts import ENTITY_TYPES, Facts
from refdesk.kb.gathering import AT_ONCE, GIVE_UP_AFTER, GraphBuilder, GraphKnowledge
from refdesk.kb.graph import expand
from refdesk.store import Store
from refdesk.store.graph import EntityFact, RelationFact, Size
from refdesk.store.passages import Chunk, Collection


class Vectors:
    """An embedder that knows nothing."""

    identity = "none"

    async def dimension(self) -> int:
        return 2

    async def passages(self, texts: Sequence[str]) -> Any:
        return np.ones((len(texts), 2), dtype=np.float32)


class Index:
    """A vector store that keeps nothing but a number."""

    held = 0

    async def create(self, index: str, *, dimension: int, language: str) -> None: ...

    async def add(self, index: str, chunks: Sequence[Chunk], vectors: Any) -> None:
        self.held += len(chunks)

    async def count(self, index: str) -> int:
        return self.held

    async def delete(self, index: str, revision: str) -> None: ...

    async def drop(self, index: str) -> None: ...

    async def settle(self, index: str) -> None: ...


@dataclass
class Links:
    """An extractor: the first word of a text knows the last."""

    seen: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    broken: bool = False

    async def extract(self, text: str, *, types: Sequence[str]) -> Facts:
        self.seen.append((text, tuple(types)))
        if self.broken:
            raise DelegateError("it does not answer")
        first, *_, last = text.split()
        return Facts(
            entities=(EntityFact(name=first), EntityFact(name=last)),
            relations=(RelationFact(subject=first, predicate="knows", object=last),),
        )


@dataclass
class Desk:
    """A knowledge service with one graph."""

    knowledge: GraphKnowledge
    store: Store
    links: Links
    builder: GraphBuilder

    async def add(self, name: str, text: str) -> str:
        """Add a text, and return the document's id."""
        added = await self.knowledge.upload("c", name, text.encode())
        assert added.document is not None
        return added.document.id

    def hops(self, question: str) -> dict[str, int]:
        """What the graph leads to, and how far it is."""
        nodes = expand(self.store.graph, "c", question).nodes
        return {node.name: node.metadata["hops"] for node in nodes}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A knowledge service with one collection that has a graph."""
    store = Store.open(f"sqlite:///{tmp_path}/refdesk.db")
    links = Links()
    builder = GraphBuilder(store, lambda _: (links, ()))
    knowledge = GraphKnowledge(
        store,
        Index(),
        lambda _: Vectors(),
        data_dir=tmp_path,
        builder=builder,
        configured=lambda name: {"type": "minilm"} if name == "fixed" else None,
    )
    await knowledge.create(Collection(name="c", graph=True))
    yield Desk(knowledge, store, links, builder)
    await knowledge.aclose()
    store.close()


async def test_two_hops(desk: Desk) -> None:
    """Passages are read once, with the usual types, and linked over documents."""
    first = await desk.add("a.txt", "Ann knows Bob")
    second = await desk.add("b.txt", "Bob knows Cid")
    assert desk.hops("where is Ann") == {"Ann": 0, "Bob": 1, "Cid": 2}
    found = expand(desk.store.graph, "c", "where is Ann")
    assert [(one.document_id, one.score) for one in found.passages] == [(first, 1.0), (second, 0.5)]
    assert found.nodes[0].relation == "Ann knows Bob"
    await desk.add("a.txt", "Ann knows Bob")
    assert desk.links.seen == [("Ann knows Bob", ENTITY_TYPES), ("Bob knows Cid", ENTITY_TYPES)]


async def test_update_and_removal(desk: Desk) -> None:
    """An updated document says something else; a removed one says nothing more."""
    await desk.add("a.txt", "Ann knows Bob")
    await desk.add("a.txt", "Ann knows Zoe")
    assert desk.hops("Ann") == {"Ann": 0, "Zoe": 1}
    await desk.knowledge.remove("c", "a.txt")
    assert desk.store.graph.size("c") == Size(entities=0, relations=0, mentions=0)


async def test_failure(desk: Desk) -> None:
    """What could not be read is no failure of the document, and is read with the next call."""
    desk.links.broken = True
    await desk.add("a.txt", "Ann knows Bob")
    assert desk.hops("Ann") == {}
    desk.links.broken = False
    await desk.add("b.txt", "Eve knows Fay")
    assert desk.hops("Ann") == {"Ann": 0, "Bob": 1}


async def test_failure_costs_little(desk: Desk) -> None:
    """An extractor that fails is asked about few passages of few documents, and then again."""
    desk.links.broken = True
    await desk.add("long.txt", "\n\n".join(f"Ann {'knows ' * 160} Bob" for _ in range(40)))
    assert desk.store.knowledge.counts("c").chunks > 2 * AT_ONCE
    assert len(desk.links.seen) <= AT_ONCE
    for n in range(2 * GIVE_UP_AFTER):
        await desk.add(f"{n}.txt", f"Ann{n} knows Bob")
    desk.links.seen.clear()
    failures = await desk.builder.catch_up("c")
    assert len(failures) == GIVE_UP_AFTER + 1
    assert "4 more documents of 'c' are not in the graph" in failures[-1]
    assert len(desk.links.seen) <= GIVE_UP_AFTER * AT_ONCE
    desk.links.broken = False
    assert await desk.builder.catch_up("c") == []
    assert desk.hops("Ann3")["Ann3"] == 0


async def test_no_graph(desk: Desk) -> None:
    """A collection without a graph asks nobody; once it is wanted, all documents are read."""
    await desk.knowledge.create(Collection(name="plain"))
    await desk.knowledge.upload("plain", "a.txt", b"Ann knows Bob")
    assert desk.links.seen == []
    desk.store.knowledge.change("plain", graph=True)
    await desk.knowledge.resume("plain")
    assert len(desk.links.seen) == 1


async def test_configured_embedder(desk: Desk) -> None:
    """Where the configuration says what embeds, no call says otherwise."""
    await desk.knowledge.create(Collection(name="fixed"))
    with pytest.raises(ConfigError, match=r"set collections\.fixed\.embedder to 'e5'"):
        await desk.knowledge.reindex("fixed", embedder={"type": "e5"})
