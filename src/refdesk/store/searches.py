"""
What was found: for click-through, and for putting an earlier search back into a conversation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Select, delete, select

from refdesk.store.connection import Database
from refdesk.store.tables import searches

_CHUNK: Final = 1000
_IDS_PER_QUERY: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchItem:
    """One result as it was shown.  Its place in the list, from 1, is its number."""

    title: str
    url: str
    snippet: str = ""
    published: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchRecord:
    """One search.  ``id`` is 40 hex digits; ``time`` bears its zone."""

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

    @property
    def weight(self) -> int:
        """About how many bytes it holds while it waits to be written."""
        texts = sum(len(item.title) + len(item.url) + len(item.snippet) for item in self.items)
        return 800 + 300 * len(self.items) + 2 * (texts + len(self.answer or ""))


_COLUMNS: Final = [item.name for item in fields(SearchRecord)]


def row_of(record: SearchRecord) -> dict[str, Any]:
    """Return a record as the table takes it."""
    return {name: getattr(record, name) for name in _COLUMNS}


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
        """Return the newest search of a conversation, held with this key (None: with none)."""
        query = (
            select(searches)
            .where(searches.c.conversation == conversation, searches.c.key_id == key_id)
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
        return [
            SearchRecord(
                **{name: row[name] for name in _COLUMNS if name != "items"},
                items=msgspec.convert(row["items"], tuple[SearchItem, ...]),
            )
            for row in rows
        ]
