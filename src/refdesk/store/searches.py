"""
What was found: for click-through, and for putting an earlier search back into a conversation.

Every search is kept, whoever asked for it, also one that failed or found nothing; a reference is
found again by its request and its number, which is given once and never changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final, Literal

import msgspec
from sqlalchemy import Select, delete, select

from refdesk.store.connection import Database
from refdesk.store.tables import searches
from refdesk.types import Entity, GraphNode, Keyword, Reference, Relation, SearchType

_CHUNK: Final = 1000
_IDS_PER_QUERY: Final = 500
_GATEWAY_WEIGHT: Final = 1.0

Asker = Literal["gateway", "api", "user", "hook", "auto"]
"""Who asked: the gateway for a model, ``/v1/search``, or one of `refdesk.types.SourceType`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchItem:
    """One result as it was shown.  Its place in the list, from 1, is its number."""

    title: str
    url: str
    snippet: str = ""
    published: str | None = None
    meta: Mapping[str, Any] | None = None
    """Of a passage of a collection: what its reference is opened by; None for a web page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchRecord:
    """
    One search.  ``id`` is 40 hex digits; ``time`` bears its zone.

    A search of the gateway has ``items``; any other has ``references``, which bear their numbers.
    """

    id: str
    request_id: str
    time: datetime
    key_id: str | None = None
    query: str | None = field(default=None, repr=False)
    """None also where the configuration says that queries are not kept."""
    engine: str | None = None
    items: tuple[SearchItem, ...] = field(default=(), repr=False)
    answer: str | None = field(default=None, repr=False)
    conversation: str | None = None
    """A hash of the conversation up to the searched message."""
    type: SearchType = "web"
    source: Asker = "gateway"
    config: Mapping[str, Any] | None = field(default=None, repr=False)
    """What the configuration and the request said to this search; it holds no secret."""
    keywords: tuple[Keyword, ...] = field(default=(), repr=False)
    entities: tuple[Entity, ...] = field(default=(), repr=False)
    relations: tuple[Relation, ...] = field(default=(), repr=False)
    dsl: Mapping[str, Any] | None = field(default=None, repr=False)
    references: tuple[Reference, ...] | None = field(default=None, repr=False)
    graph: tuple[GraphNode, ...] = field(default=(), repr=False)
    xml: str | None = field(default=None, repr=False)
    """What was put before the model, where references were."""
    prompt: str | None = field(default=None, repr=False)
    duration_ms: float | None = None
    error: str | None = field(default=None, repr=False)

    @property
    def weight(self) -> int:
        """About how many bytes it holds while it waits to be written."""
        shown = self.references or ()
        texts = sum(len(item.title) + len(item.url) + len(item.snippet) for item in self.items)
        texts += sum(len(one.title) + len(one.url) + len(one.content) for one in shown)
        texts += len(self.answer or "") + len(self.xml or "") + len(self.prompt or "")
        return 800 + 300 * (len(self.items) + len(shown)) + 2 * texts


_COLUMNS: Final = [item.name for item in fields(SearchRecord)]
_LISTS: Final[Mapping[str, Any]] = {
    "items": tuple[SearchItem, ...],
    "keywords": tuple[Keyword, ...],
    "entities": tuple[Entity, ...],
    "relations": tuple[Relation, ...],
    "graph": tuple[GraphNode, ...],
}


def row_of(record: SearchRecord) -> dict[str, Any]:
    """Return a record as the table takes it."""
    return {name: getattr(record, name) for name in _COLUMNS}


def numbered(records: Iterable[SearchRecord]) -> list[Reference]:
    """
    Return the references of one request in the order of their numbers, each number once.

    Args:
        records: The searches of the request, in the order they were done.
    """
    found: dict[int, Reference] = {}
    for record in records:
        if record.references is not None:
            shown: Iterable[Reference] = record.references
        else:
            # What the gateway shows is numbered from 1, and on where it searches again.
            start = max(found, default=0) + 1
            shown = (_reference(at, item, record) for at, item in enumerate(record.items, start))
        for reference in shown:
            found.setdefault(reference.index, reference)
    return [found[index] for index in sorted(found)]


def _reference(index: int, item: SearchItem, record: SearchRecord) -> Reference:
    meta = {"engine": record.engine, "published": item.published, **(item.meta or {})}
    return Reference(
        id=f"ref_{index:03d}",
        index=index,
        type="web" if item.meta is None else "kb",
        source="auto",
        weight=_GATEWAY_WEIGHT,
        score=None,
        title=item.title,
        content=item.snippet,
        url=item.url,
        meta={name: value for name, value in meta.items() if value},
    )


class Searches:
    """
    Read the search records.  Every call waits for the database: not on an event loop.

    Whose search it was stands in ``key_id``: whoever shows a record checks it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, ids: Iterable[str]) -> dict[str, SearchRecord]:
        """Return those of the searches that are known, by id."""
        wanted = list(dict.fromkeys(ids))
        found: dict[str, SearchRecord] = {}
        for start in range(0, len(wanted), _IDS_PER_QUERY):
            part = wanted[start : start + _IDS_PER_QUERY]
            for record in self._read(select(searches).where(searches.c.id.in_(part))):
                found[record.id] = record
        return found

    def by_request(self, request_id: str) -> list[SearchRecord]:
        """Return the searches of one request, in the order they were done."""
        query = select(searches).where(searches.c.request_id == request_id)
        return self._read(query.order_by(searches.c.seq))

    def by_conversation(self, conversation: str, key_id: str | None) -> SearchRecord | None:
        """
        Return the newest search of a conversation that found something.

        Args:
            conversation: Its hash.
            key_id: Held with this key (None: with none).
        """
        query = (
            select(searches)
            .where(
                searches.c.conversation == conversation,
                searches.c.key_id == key_id,
                searches.c.error.is_(None),
            )
            .order_by(searches.c.seq.desc())
            .limit(1)
        )
        found = self._read(query)
        return found[0] if found else None

    def delete_before(self, moment: datetime) -> int:
        """Delete what is older; return how many.  In short steps, so that writing goes on."""
        deleted = 0
        while True:
            oldest = select(searches.c.seq).where(searches.c.time < moment).limit(_CHUNK)
            with self._database.write() as connection:
                done = connection.execute(
                    delete(searches).where(searches.c.seq.in_(oldest))
                ).rowcount
            deleted += done
            if done < _CHUNK:
                return deleted

    def _read(self, query: Select[Any]) -> list[SearchRecord]:
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
        return [_record(row) for row in rows]


def _record(row: Mapping[Any, Any]) -> SearchRecord:
    values = {name: row[name] for name in _COLUMNS}
    for name, type_ in _LISTS.items():
        values[name] = msgspec.convert(values[name] or (), type_)
    if values["references"] is not None:
        values["references"] = msgspec.convert(values["references"], tuple[Reference, ...])
    return SearchRecord(**values)
