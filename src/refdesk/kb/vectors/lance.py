"""
The embedded store: LanceDB, files in a folder, for any number of processes at once.

Every change is a new version of a table, written whole before it is seen.  Two processes that
write at once are put in order by Lance; a step that must be tried again is.  Words are brought to
their stems by the index, which is searched together with what is not in it yet.
"""

from __future__ import annotations

import asyncio
import ctypes
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import Field

from refdesk.errors import StoreError
from refdesk.kb.terms import index_terms, query_terms
from refdesk.kb.vectors._base import (
    VECTOR_STORES,
    Filters,
    Hit,
    Vector,
    Vectors,
    VectorStore,
    check_dimension,
    check_fit,
    labels_of,
    safe_name,
    unknown_index,
    wanted_documents,
    wanted_labels,
)
from refdesk.store.passages import Chunk

T = TypeVar("T")

_STEMMED: Final = {
    "ar": "Arabic",
    "da": "Danish",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "it": "Italian",
    "nl": "Dutch",
    "no": "Norwegian",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
}
_ATTEMPTS: Final = 12
_PAUSE_S: Final = 0.02
_UNINDEXED: Final = 256
"""So many chunks may wait outside the word index: they are read one by one at every search."""
_UNINDEXED_SHARE: Final = 16
"""Of a large table one part in so many may: taking them in costs as much as the table is large."""
_CHUNKS_UNSORTED: Final = 4096
"""Up to so many vectors are compared as they stand; more are sorted into groups first."""
_CHUNKS_PER_GROUP: Final = 1000
_MOST_GROUPS: Final = 128
"""Groups that the vectors of a large collection are sorted into."""
_GROUPS_READ: Final = 64
"""The nearest groups, which are all of them up to 64,000 chunks: then nothing is missed."""
_MOST_PARTS: Final = 8
"""Chunks added later are sorted by themselves; after so many times all are sorted anew."""
_METADATA_CACHE_BYTES: Final = 64 << 20
_M_MMAP_THRESHOLD: Final = -3
"""As malloc.h of glibc has it."""
_LARGE_PIECE_BYTES: Final = 1 << 20
_SOURCE: Final = re.compile(r", /\S+\.rs:\d+:\d+")
"""Where in Lance's source an error arose."""


@VECTOR_STORES.register("lance")
class Lance(VectorStore):
    """Tables of one LanceDB folder, one for each index."""

    class Options(VectorStore.Options):
        """How much memory it may take."""

        cache_mb: int = Field(default=512, ge=16, le=1_048_576)
        """For vectors and words that were read: 100,000 chunks want 170 MB."""

    options: Options

    def __init__(self, options: Options, *, folder: Path) -> None:
        super().__init__(options, folder=folder)
        self._database: Any = None
        self._tables: dict[str, Any] = {}

    async def create(self, index: str, *, dimension: int, language: str) -> None:
        """Make a table and its word index."""
        if (table := await self._find(index)) is not None:
            check_dimension(index, await _dimension(table), dimension)
            await _equip(table, language)
            return
        import pyarrow as pa

        schema = pa.schema(
            [
                pa.field("id", pa.string()),
                pa.field("document_id", pa.string()),
                pa.field("revision", pa.string()),
                pa.field("terms", pa.string()),
                pa.field("labels", pa.list_(pa.string())),
                pa.field("vector", pa.list_(pa.float32(), dimension)),
            ]
        )
        database = await self._open()
        name = safe_name(index)
        table = await _again(lambda: database.create_table(name, schema=schema, exist_ok=True))
        check_dimension(index, await _dimension(table), dimension)
        await _equip(table, language)

    async def add(self, index: str, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Add rows as one version of the table."""
        table = await self._table(index)
        import pyarrow as pa

        schema = await _again(table.schema)
        dimension = await _dimension(table)
        check_fit(index, dimension, chunks, vectors)
        if not chunks:
            return
        rows = pa.table(
            {
                "id": [chunk.id for chunk in chunks],
                "document_id": [chunk.document_id for chunk in chunks],
                "revision": [chunk.revision for chunk in chunks],
                "terms": [index_terms(chunk.index_text or chunk.text) for chunk in chunks],
                "labels": [labels_of(chunk.metadata) for chunk in chunks],
                "vector": pa.FixedSizeListArray.from_arrays(
                    pa.array(vectors.astype("float32").reshape(-1)), dimension
                ),
            },
            schema=schema,
        )
        await _again(lambda: table.add(rows))
        await self._catch_up(index, table)

    async def delete(self, index: str, revision: str) -> None:
        """Delete rows as one version of the table."""
        if (table := await self._find(index)) is not None:
            with suppress(_Gone):
                await _again(lambda: table.delete(f"revision = {_quoted(revision)}"))

    async def search_text(
        self,
        index: str,
        query: str,
        *,
        k: int,
        filters: Filters | None = None,
    ) -> list[Hit]:
        """Search the word index, and what is not in it yet."""
        table = await self._table(index)
        import lancedb.query

        if not (terms := query_terms(query)):
            return []
        match: Any = lancedb.query.MatchQuery
        found = table.query().nearest_to_text(match(terms, "terms"))
        rows = await _rows(found, ["id", "_score"], k, _condition(filters, None))
        return [Hit(chunk_id=row["id"], score=row["_score"]) for row in rows]

    async def search_vector(
        self,
        index: str,
        vector: Vector,
        *,
        k: int,
        filters: Filters | None = None,
        only: Sequence[str] | None = None,
    ) -> list[Hit]:
        """Compare with the vectors of the nearest groups; with every one where there are few."""
        table = await self._table(index)
        check_dimension(index, await _dimension(table), len(vector))
        found = table.query().nearest_to(vector.astype("float32")).distance_type("cosine")
        if only is not None:
            found = found.bypass_vector_index()
        else:  # where filters leave too few in these, more groups are read
            found = found.maximum_nprobes(_MOST_GROUPS).minimum_nprobes(_GROUPS_READ)
        rows = await _rows(found, ["id", "_distance"], k, _condition(filters, only))
        return [Hit(chunk_id=row["id"], score=1.0 - row["_distance"]) for row in rows]

    async def revisions(self, index: str) -> set[str]:
        """Read one column."""
        if (table := await self._find(index)) is None:
            return set()
        rows = await _again(table.query().select(["revision"]).to_arrow)
        return set(rows.column("revision").unique().to_pylist())

    async def count(self, index: str) -> int:
        """Count the rows."""
        table = await self._find(index)
        return 0 if table is None else int(await _again(table.count_rows))

    async def drop(self, index: str) -> None:
        """Remove the table's files."""
        self._tables.pop(index, None)
        database = await self._open()
        with suppress(_Gone):
            await _again(lambda: database.drop_table(safe_name(index), ignore_missing=True))

    async def settle(self, index: str) -> None:
        """Put small files together, take new rows into the word index, remove old versions."""
        if (table := await self._find(index)) is not None:
            # Ten minutes: nobody reads a version for longer, and none is removed under a reader.
            await _again(lambda: table.optimize(cleanup_older_than=timedelta(minutes=10)))
            await self._sort(table)

    async def aclose(self) -> None:
        """Let go of the folder."""
        self._tables.clear()
        if self._database is not None:
            self._database.close()
            self._database = None

    async def _catch_up(self, index: str, table: Any) -> None:
        state = await _again(lambda: table.index_stats("terms_idx"))
        if state is None:
            return
        bearable = max(_UNINDEXED, state.num_indexed_rows // _UNINDEXED_SHARE)
        if state.num_unindexed_rows > bearable:
            await self.settle(index)

    async def _sort(self, table: Any) -> None:
        """Sort vectors into groups of what is near, if that is due."""
        from lancedb.index import IvfFlat

        chunks = await _again(table.count_rows)
        if chunks <= _CHUNKS_UNSORTED:
            return
        state = await _again(lambda: table.index_stats("vector_idx"))
        if state is None or state.num_indices > _MOST_PARTS:
            groups = min(_MOST_GROUPS, chunks // _CHUNKS_PER_GROUP)
            sorting = IvfFlat(distance_type="cosine", num_partitions=groups)
            await _again(lambda: table.create_index("vector", config=sorting, replace=True))

    async def _open(self) -> Any:
        if self._database is None:
            # Imported where it is used, and in a thread: it is large, and few commands need it.
            lancedb = await asyncio.to_thread(import_module, "lancedb")
            try:
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                # Every read looks for what other processes have written.
                self._database = await lancedb.connect_async(
                    str(self.folder),
                    read_consistency_interval=timedelta(0),
                    session=lancedb.Session(
                        index_cache_size_bytes=self.options.cache_mb << 20,
                        metadata_cache_size_bytes=_METADATA_CACHE_BYTES,
                    ),
                )
                _give_memory_back()
            except (OSError, RuntimeError, ValueError) as error:
                raise StoreError(
                    f"the folder of the vectors, {self.folder}, cannot be opened: {error}"
                ) from error
        return self._database

    async def _find(self, index: str) -> Any:
        """Return the table of an index, or None where there is none."""
        if (table := self._tables.get(index)) is not None:
            return table
        if self._database is None and not await asyncio.to_thread(self.folder.exists):
            return None  # looking makes no folder
        database = await self._open()
        try:
            table = await _again(lambda: database.open_table(safe_name(index)))
        except _Gone:
            return None
        self._tables[index] = table
        return table

    async def _table(self, index: str) -> Any:
        if (table := await self._find(index)) is None:
            raise unknown_index(index)
        return table


def _give_memory_back() -> None:
    """
    Have large pieces of memory go back to the system when they are let go of.

    Else glibc keeps them for each thread that ever had one, and Lance has many: after 8,000 pages
    400 MB.  Other systems' libraries have no such call, and no need of it.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_PIECE_BYTES)


async def _dimension(table: Any) -> int:
    return int((await _again(table.schema)).field("vector").type.list_size)


async def _equip(table: Any, language: str) -> None:
    """Give a table the indexes that it lacks: whoever made it may have died just then."""
    there = {one.name for one in await _again(table.list_indices)}
    from lancedb.index import FTS, BTree

    if "terms_idx" not in there:
        words = FTS(
            base_tokenizer="whitespace",
            language=_STEMMED.get(language.split("-")[0].lower(), "English"),
            stem=True,
            remove_stop_words=True,
            ascii_folding=True,
            max_token_length=100,
        )
        await _again(lambda: table.create_index("terms", config=words, replace=True))
    if "id_idx" not in there:
        # Asking how near some chunks are takes a quarter of the time with it (30,000 chunks).
        await _again(lambda: table.create_index("id", config=BTree(), replace=True))


async def _rows(
    found: Any, columns: list[str], k: int, condition: str | None
) -> list[dict[str, Any]]:
    if condition is not None:
        found = found.where(condition)
    wanted = found.select(columns).limit(k)
    rows: list[dict[str, Any]] = (await _again(wanted.to_arrow)).to_pylist()
    return rows


def _condition(filters: Filters | None, only: Sequence[str] | None) -> str | None:
    # One call with a list, not a chain of OR: the parser recurses into each part of a chain.
    every = [_any_label(any_of) for any_of in wanted_labels(filters)]
    if (documents := wanted_documents(filters)) is not None:
        every.append(_one_of("document_id", documents))
    if only is not None:
        every.append(_one_of("id", only))
    return " AND ".join(every) or None


def _any_label(labels: Sequence[str]) -> str:
    if not labels:
        return "false"
    return f"array_has_any(labels, [{', '.join(map(_quoted, labels))}])"


def _one_of(column: str, values: Sequence[str]) -> str:
    return f"{column} IN ({', '.join(map(_quoted, values))})" if values else "false"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class _Gone(StoreError):
    """A table is not there, or not any more."""


async def _again(step: Callable[[], Awaitable[T]]) -> T:
    """Do a step that another process's step may have come before; then it is done anew."""
    for attempt in range(_ATTEMPTS):
        try:
            return await step()
        except (RuntimeError, OSError, ValueError) as error:
            said = _SOURCE.sub("", str(error).partition("\n")[0])
            if "not found" in said.lower():
                raise _Gone(
                    "an index is gone: another process re-indexed its collection or removed it, or"
                    " its files were deleted: try again, and if it stays so, run `refdesk kb"
                    " reindex` for its collection"
                ) from error
            if "conflict" not in said.lower() or attempt == _ATTEMPTS - 1:
                raise StoreError(f"the vector store failed: {said}") from error
            await asyncio.sleep(_PAUSE_S * (attempt + 1))
    raise AssertionError("unreachable")
