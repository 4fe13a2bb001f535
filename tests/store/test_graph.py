"""Graphs in the store: facts by passage, what is near, and what goes with a document."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.store import Store
from refdesk.store.graph import (
    ChunkFacts,
    EntityFact,
    Graph,
    RelationFact,
    Size,
    entity_id,
    folded,
    stands_in,
)


def chunk(chunk_id: str, *pairs: tuple[str, str]) -> ChunkFacts:
    """A passage that links names, two by two."""
    names = dict.fromkeys(name for pair in pairs for name in pair)
    return ChunkFacts(
        chunk_id=chunk_id,
        entities=tuple(EntityFact(name=name, type="Person") for name in names),
        relations=tuple(RelationFact(subject=a, predicate="knows", object=b) for a, b in pairs),
    )


@pytest.fixture
def graph(store: Store) -> Graph:
    """A graph with a line of acquaintances: Ann, Bob, Cid, Dan, Eve; Fay knows nobody of them."""
    graph = store.graph
    graph.put("c", "d1", "r1", [chunk("k1", ("Ann", "Bob")), chunk("k2", ("Bob", "Cid"))])
    graph.put("c", "d2", "r1", [chunk("k3", ("Cid", "Dan"), ("Dan", "Eve"))])
    graph.put("c", "d3", "r1", [chunk("k4", ("Fay", "Gus"))])
    return graph


def hops(graph: Graph, start: str, far: int) -> dict[str, int]:
    """How far whom is."""
    return {node.name: node.hops for node in graph.around("c", [entity_id("c", start)], hops=far)}


def test_hops(graph: Graph) -> None:
    """Relations are followed in both directions, no further than asked, by the shortest way."""
    assert hops(graph, "Ann", 0) == {"Ann": 0}
    assert hops(graph, "Ann", 2) == {"Ann": 0, "Bob": 1, "Cid": 2}
    assert hops(graph, "Cid", 1) == {"Cid": 0, "Bob": 1, "Dan": 1}
    assert hops(graph, "Eve", 3) == {"Eve": 0, "Dan": 1, "Cid": 2, "Bob": 3}
    graph.put("c", "d4", "r1", [chunk("k5", ("Ann", "Cid"))])
    assert hops(graph, "Ann", 2) == {"Ann": 0, "Bob": 1, "Cid": 1, "Dan": 2}


def test_limits(graph: Graph) -> None:
    """Never further than three hops, never more than so many; no start leads nowhere."""
    assert "Eve" not in hops(graph, "Ann", 99)
    assert [n.name for n in graph.around("c", [entity_id("c", "Ann")], limit=2)] == ["Ann", "Bob"]
    assert graph.around("c", []) == []
    assert graph.around("c", ["ent_unknown"]) == []


def test_named_in(graph: Graph) -> None:
    """Names are found whole and whatever their case, in their own collection only."""
    assert [node.name for node in graph.named_in("c", "do BOB and ann meet?")] == ["Ann", "Bob"]
    assert graph.named_in("c", "Annual reports on bobsleds") == []
    assert graph.named_in("other", "Ann") == []
    assert graph.named_in("c", "") == []


def test_chinese_name(store: Store) -> None:
    """A Chinese name stands wherever its characters do, since nothing parts words."""
    store.graph.put("c", "d", "r", [chunk("k", ("清华大学", "北京"))])
    assert [n.name for n in store.graph.named_in("c", "清华大学在哪里？")] == ["清华大学"]


def test_document_leaves(graph: Graph) -> None:
    """With a document go its relations and mentions, and the entities that only it named."""
    graph.forget_document("c", "d2")
    assert hops(graph, "Cid", 3) == {"Cid": 0, "Bob": 1, "Ann": 2}
    assert graph.named_in("c", "Dan and Eve") == []
    assert graph.revisions("c") == {"d1": "r1", "d3": "r1"}
    graph.forget_document("c", "d1")
    graph.forget_document("c", "d3")
    assert graph.size("c") == Size(entities=0, relations=0, mentions=0)


def test_document_replaced(graph: Graph) -> None:
    """Facts put again take the place of those before; an entity keeps its id."""
    before = entity_id("c", "Cid")
    graph.put("c", "d2", "r2", [chunk("k9", ("cid", "Zoe"))])
    assert hops(graph, "Zoe", 1) == {"Zoe": 0, "Cid": 1}
    assert [m.chunk_id for m in graph.mentions("c", [before])] == ["k2", "k9"]
    assert graph.revisions("c")["d2"] == "r2"
    assert graph.named_in("c", "Eve") == []


def test_collections_apart(graph: Graph) -> None:
    """The same name in another collection is another entity, and stays when one is forgotten."""
    graph.put("e", "d1", "r1", [chunk("k1", ("Ann", "Bob"))])
    graph.forget_collection("c")
    assert graph.size("c") == Size(entities=0, relations=0, mentions=0)
    assert graph.size("e") == Size(entities=2, relations=1, mentions=2)
    assert graph.revisions("c") == {}


def test_edges_and_mentions(graph: Graph) -> None:
    """Relations are told once, whoever says them; mentions lead to passage and document."""
    graph.put("c", "d4", "r1", [chunk("k5", ("Ann", "Bob"))])
    ids = [entity_id("c", name) for name in ("Ann", "Bob")]
    edges = graph.edges("c", ids)
    assert [(e.subject, e.predicate, e.object) for e in edges] == [(ids[0], "knows", ids[1])]
    found = {(m.chunk_id, m.document_id) for m in graph.mentions("c", ids[:1])}
    assert found == {("k1", "d1"), ("k5", "d4")}


def test_dangling(store: Store) -> None:
    """A relation to what its passage does not name, to itself, or of a nameless one is not kept."""
    facts = ChunkFacts(
        chunk_id="k",
        entities=(EntityFact(name="Ann"), EntityFact(name="  ")),
        relations=(
            RelationFact(subject="Ann", predicate="knows", object="Nobody"),
            RelationFact(subject="Ann", predicate="is", object="ann"),
        ),
    )
    store.graph.put("c", "d", "r", [facts])
    assert store.graph.size("c") == Size(entities=1, relations=0, mentions=1)


def test_no_facts(store: Store) -> None:
    """A document without names is known as read."""
    store.graph.put("c", "d", "r", [])
    assert store.graph.revisions("c") == {"d": "r"}


def test_many_at_once(store: Store) -> None:
    """A hub with hundreds of neighbours costs no more than the limit."""
    pairs = [("Hub", f"N{number}") for number in range(400)]
    store.graph.put("c", "d", "r", [chunk("k", *pairs)])
    assert len(store.graph.around("c", [entity_id("c", "N1")], hops=2)) == 100


@settings(max_examples=50)
@given(st.text(max_size=12), st.text(max_size=30))
def test_stands_in(name: str, text: str) -> None:
    """A name that stands in a text is a part of it, and by itself it always stands."""
    name, text = folded(name), folded(text)
    assert not stands_in(name, text) or name in text
    assert stands_in(name, name) == bool(name)
    if name:
        assert stands_in(name, f"{text} {name}.")
