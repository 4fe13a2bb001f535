"""
The graph of a collection: what its passages name, and how that stands to each other.

Every fact belongs to the passage that says it, and leaves with that passage's document: an entity
that nothing mentions any more is gone.  A collection without a graph has no rows here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection as Some
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Executable,
    and_,
    case,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite

from refdesk.store.connection import Database
from refdesk.store.tables import graph_documents, graph_entities, graph_mentions, graph_relations

MAX_HOPS: Final = 3
"""Steps from an entity that a question names."""
MAX_NODES: Final = 100
"""Entities that a graph search looks at."""
_IDS_PER_QUERY: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityFact:
    """An entity as one passage names it."""

    name: str
    type: str = ""
    description: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationFact:
    """What a passage says of two entities, which it names both."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkFacts:
    """All that one passage says."""

    chunk_id: str
    entities: tuple[EntityFact, ...] = ()
    relations: tuple[RelationFact, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """An entity that was reached, and how far it is from the question."""

    id: str
    name: str
    type: str
    description: str
    hops: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Mention:
    """Where an entity is named."""

    entity: str
    chunk_id: str
    document_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """A relation between two entities, by their ids."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """How large a graph is."""

    entities: int
    relations: int
    mentions: int


def folded(name: str) -> str:
    """Return the form in which names are compared: without case, white space as one space."""
    return " ".join(name.casefold().split())


def entity_id(collection: str, name: str) -> str:
    """Return the id of an entity: the same name is the same entity of a collection."""
    key = f"{collection}\0{folded(name)}".encode("utf-8", "replace")
    return "ent_" + hashlib.sha256(key).hexdigest()[:24]


class Graph:
    """
    Read and write graphs.  Every call waits for the database: not on an event loop.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(
        self, collection: str, document_id: str, revision: str, facts: Sequence[ChunkFacts]
    ) -> None:
        """
        Put the facts of a document in place of those that it had; all of them, or none.

        Args:
            collection: Whose graph.
            document_id: The document that says them.
            revision: Which revision of it was read; `revisions` gives it back.
            facts: By passage.
        """
        entities, mentions, relations = _rows(collection, document_id, facts)
        with self._database.write() as connection:
            forget_document(connection, collection, document_id)
            connection.execute(
                insert(graph_documents),
                [{"collection": collection, "document_id": document_id, "revision": revision}],
            )
            if entities:
                connection.execute(self._insert_new(), entities)
                connection.execute(insert(graph_mentions), mentions)
            if relations:
                connection.execute(insert(graph_relations), relations)
            _sweep(connection, collection)

    def _insert_new(self) -> Executable:
        if self._database.embedded:
            return sqlite.insert(graph_entities).on_conflict_do_nothing()
        return postgresql.insert(graph_entities).on_conflict_do_nothing()

    def forget_document(self, collection: str, document_id: str) -> None:
        """Delete what a document said, and the entities that only it named."""
        with self._database.write() as connection:
            forget_document(connection, collection, document_id)
            _sweep(connection, collection)

    def forget_collection(self, collection: str) -> None:
        """Delete the graph of a collection."""
        with self._database.write() as connection:
            forget_collection(connection, collection)

    def size(self, collection: str) -> Size:
        """Return how large the graph of a collection is."""
        with self._database.read() as connection:
            counts = [
                connection.execute(
                    select(func.count()).select_from(table).where(table.c.collection == collection)
                ).scalar_one()
                for table in (graph_entities, graph_relations, graph_mentions)
            ]
        return Size(entities=counts[0], relations=counts[1], mentions=counts[2])

    def revisions(self, collection: str) -> dict[str, str]:
        """Return the revision that was read of each document, by the document's id."""
        table = graph_documents
        query = select(table.c.document_id, table.c.revision).where(
            table.c.collection == collection
        )
        with self._database.read() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def named_in(self, collection: str, text: str, *, limit: int = 20) -> list[Node]:
        """
        Return the entities whose whole name stands in a text, the longest names first.

        Names stand by themselves where their letters part words: `Art` is not in `party`.
        """
        table = graph_entities
        inside = func.instr if self._database.embedded else func.strpos
        query = (
            select(table)
            .where(table.c.collection == collection, inside(folded(text), table.c.folded) > 0)
            .order_by(func.length(table.c.folded).desc(), table.c.folded)
            .limit(limit * 10)
        )
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
        haystack = folded(text)
        return [_node(row, 0) for row in rows if stands_in(row["folded"], haystack)][:limit]

    def around(
        self, collection: str, start: Iterable[str], *, hops: int = 2, limit: int = MAX_NODES
    ) -> list[Node]:
        """
        Return the entities that relations lead to from some, in either direction, nearest first.

        Args:
            collection: Whose graph.
            start: Ids of entities; they are 0 hops away, and returned too.
            hops: How far, 0 to 3.
            limit: The most entities.
        """
        ids = list(dict.fromkeys(start))[:_IDS_PER_QUERY]
        if not ids:
            return []
        entities, relations = graph_entities, graph_relations
        walk = (
            select(entities.c.id.label("id"), literal(0).label("hops"))
            .where(entities.c.collection == collection, entities.c.id.in_(ids))
            .cte("walk", recursive=True)
        )
        other = case(
            (relations.c.subject == walk.c.id, relations.c.object), else_=relations.c.subject
        )
        # UNION, not UNION ALL: whoever was reached with so many hops is not gone through again.
        walk = walk.union(
            select(other, walk.c.hops + 1).where(
                walk.c.hops < max(0, min(hops, MAX_HOPS)),
                relations.c.collection == collection,
                or_(relations.c.subject == walk.c.id, relations.c.object == walk.c.id),
            )
        )
        nearest = (
            select(walk.c.id, func.min(walk.c.hops).label("hops"))
            .group_by(walk.c.id)
            .order_by(func.min(walk.c.hops), walk.c.id)
            .limit(limit)
            .subquery()
        )
        query = (
            select(entities, nearest.c.hops)
            .join(nearest, nearest.c.id == entities.c.id)
            .order_by(nearest.c.hops, entities.c.folded)
        )
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
        return [_node(row, row["hops"]) for row in rows]

    def mentions(self, collection: str, entities: Iterable[str]) -> list[Mention]:
        """Return where these entities are named."""
        ids = list(dict.fromkeys(entities))[:_IDS_PER_QUERY]
        table = graph_mentions
        query = (
            select(table.c.entity, table.c.chunk_id, table.c.document_id)
            .where(table.c.collection == collection, table.c.entity.in_(ids))
            .order_by(table.c.chunk_id, table.c.entity)
        )
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
        return [Mention(**row) for row in rows]

    def edges(self, collection: str, entities: Some[str]) -> list[Edge]:
        """Return the relations among these entities, each once."""
        ids = list(dict.fromkeys(entities))[:_IDS_PER_QUERY]
        table = graph_relations
        columns = (table.c.subject, table.c.predicate, table.c.object)
        query = (
            select(*columns)
            .where(
                and_(
                    table.c.collection == collection,
                    table.c.subject.in_(ids),
                    table.c.object.in_(ids),
                )
            )
            .distinct()
            .order_by(*columns)
        )
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
        return [Edge(**row) for row in rows]


def stands_in(name: str, text: str) -> bool:
    """Whether a folded name stands in a folded text by itself, and not as a part of a word."""
    start = text.find(name) if name else -1
    while start >= 0:
        end = start + len(name)
        if not _glued(text[start - 1 : start], name[0]) and not _glued(
            name[-1], text[end : end + 1]
        ):
            return True
        start = text.find(name, start + 1)
    return False


def _glued(left: str, right: str) -> bool:
    # Chinese and Japanese write no spaces, so there a name may stand between any two characters.
    return all(char.isalnum() and ord(char) < 0x2E80 for char in (left, right) if char) and bool(
        left and right
    )


def _rows(
    collection: str, document_id: str, facts: Sequence[ChunkFacts]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    entities: dict[str, dict[str, Any]] = {}
    mentions: dict[tuple[str, str], dict[str, Any]] = {}
    relations: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    where = {"collection": collection, "document_id": document_id}
    for chunk in facts:
        named: dict[str, str] = {}
        for entity in chunk.entities:
            if not (key := folded(entity.name)):
                continue
            id_ = named[key] = entity_id(collection, entity.name)
            entities.setdefault(
                id_,
                {
                    "id": id_,
                    "collection": collection,
                    "folded": key,
                    "name": " ".join(entity.name.split()),
                    "type": entity.type,
                    "description": entity.description,
                },
            )
            mentions[id_, chunk.chunk_id] = where | {"entity": id_, "chunk_id": chunk.chunk_id}
        for relation in chunk.relations:
            subject = named.get(folded(relation.subject))
            object_ = named.get(folded(relation.object))
            # A relation to what the passage does not name would outlive it, or dangle.
            if subject is None or object_ is None or subject == object_:
                continue
            row = {"subject": subject, "predicate": relation.predicate, "object": object_}
            key_ = (subject, relation.predicate, object_, chunk.chunk_id)
            relations[key_] = where | row | {"chunk_id": chunk.chunk_id}
    return list(entities.values()), list(mentions.values()), list(relations.values())


def forget_document(connection: Connection, collection: str, document_id: str) -> None:
    """Delete what a document said, within a transaction of the caller's."""
    for table in (graph_relations, graph_mentions, graph_documents):
        connection.execute(
            delete(table).where(
                table.c.collection == collection, table.c.document_id == document_id
            )
        )


def forget_collection(connection: Connection, collection: str) -> None:
    """Delete the graph of a collection, within a transaction of the caller's."""
    for table in (graph_relations, graph_mentions, graph_entities, graph_documents):
        connection.execute(delete(table).where(table.c.collection == collection))


def _sweep(connection: Connection, collection: str) -> None:
    """Delete the entities of a collection that nothing mentions any more."""
    named = select(graph_mentions.c.entity).where(graph_mentions.c.entity == graph_entities.c.id)
    connection.execute(
        delete(graph_entities).where(graph_entities.c.collection == collection, ~named.exists())
    )


def _node(row: Mapping[Any, Any], hops: int) -> Node:
    return Node(
        id=row["id"],
        name=row["name"],
        type=row["type"],
        description=row["description"],
        hops=hops,
    )
