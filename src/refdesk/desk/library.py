"""
Refdesk as a library: web, knowledge and database search with one numbering of citations.

No server is needed.  A desk is opened, asked, and closed again; whatever it started ends with it.
Everything behind it is imported when one is made.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from refdesk.errors import RefdeskError

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.desk.parts import Parts
    from refdesk.desk.source import Source
    from refdesk.desk.waiting import SyncRefdesk
    from refdesk.records import ReferenceBook
    from refdesk.search import Searcher
    from refdesk.types import Reference


class Refdesk:
    """
    The library.

        async with Refdesk.open("refdesk.yaml") as desk:
            result = await desk.search.web("who maintains httpx2", limit=5)

    Args:
        config: The configuration; None: the defaults, with the keyless engine.
        records: Whether searches are kept in the configuration's store, so that their references
            can be opened again.  None: they are, where the configuration comes from a file or
            names a ``data_dir`` or ``store``.

    Raises:
        ConfigError: The configuration does not hold.
    """

    def __init__(self, config: Source = None, *, records: bool | None = None) -> None:
        from refdesk.desk.source import read_source

        self.config: Config
        self.config, said = read_source(config)
        self._records = said if records is None else records
        self._stack: AsyncExitStack | None = None
        self._parts: Parts | None = None

    @classmethod
    def open(cls, source: Source = None, *, records: bool | None = None) -> Refdesk:
        """Return a desk for ``async with``; see the class for the arguments."""
        return cls(source, records=records)

    @classmethod
    def open_sync(cls, source: Source = None, *, records: bool | None = None) -> SyncRefdesk:
        """Return a desk for ``with``, whose calls wait; it runs in a thread of its own."""
        from refdesk.desk.waiting import SyncRefdesk

        return SyncRefdesk(cls(source, records=records))

    @property
    def search(self) -> Searcher:
        """The searches: ``web``, ``kb``, ``db``, ``all``, ``any``, ``race``, ``references``."""
        if self._parts is None:
            raise RefdeskError(
                "the desk is not open; use it inside `async with Refdesk.open(…) as desk:`"
            )
        return self._parts.searcher

    async def references(self, request_id: str, *, owner: str | None = None) -> list[Reference]:
        """
        Return the references of an earlier request, in the order of their numbers.

        Args:
            request_id: As its results say it.
            owner: The id of the client key that the search was done with, if there was one.

        Raises:
            NoSuchReference: The request is not known, or nothing is recorded here.
            NotYours: The search was done with another key.
        """
        return await self._references().of_request(request_id, owner=owner, shared=True)

    async def reference(
        self, request_id: str, index: int, *, owner: str | None = None
    ) -> Reference:
        """Return one reference of an earlier request by its number; see `references`."""
        return await self._references().one(request_id, index, owner=owner, shared=True)

    async def __aenter__(self) -> Refdesk:
        if self._stack is not None:
            raise RefdeskError("the desk is open already; open another one")
        from refdesk.desk.parts import open_parts, open_store

        async with AsyncExitStack() as stack:
            store = await open_store(self.config, stack) if self._records else None
            self._parts = await open_parts(self.config, stack, store=store)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        stack, self._stack, self._parts = self._stack, None, None
        if stack is not None:
            await stack.aclose()

    def _references(self) -> ReferenceBook:
        if self._parts is None or self._parts.book is None:
            raise RefdeskError(
                "this desk keeps no records; open it inside `async with`, with records=True"
            )
        return self._parts.book
