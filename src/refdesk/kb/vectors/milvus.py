"""
Milvus, for collections that have grown past one machine: the extra ``milvus``.

Every index is a Milvus collection, whose words Milvus counts itself.  Reads wait for what was
written before them, by whomever.  Terms of scripts without spaces are written in letters, since
the tokenizer would take them apart.  English words are brought to their stems here, those of other
languages by the server.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from pydantic import Field, SecretStr

from refdesk.errors import ConfigError, StoreError
from refdesk.kb.stems import SMALL_WORDS, stem
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
from refdesk.masking import Masker
from refdesk.store.passages import Chunk

T = TypeVar("T")

_STEMMED: Final = {
    "da": "danish",
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "nl": "dutch",
    "pt": "portuguese",
    "ru": "russian",
    "sv": "swedish",
}
_ENGLISH: Final = "english"
_BATCH: Final = 500
_MAX_TERMS_BYTES: Final = 65_000
"""Milvus takes 65,535."""
_MAX_LABELS: Final = 4096
"""Labels of one passage that can be filtered by; the rest is left out."""
_NO_SUCH_COLLECTION: Final = 100
"""How Milvus numbers that error."""
_WORD: Final = re.compile(r"[0-9A-Za-z\u00c0-\u024f]+\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """What is known of an index."""

    dimension: int
    english: bool


@VECTOR_STORES.register("milvus")
class Milvus(VectorStore):
    """The collections of one Milvus database, one for each index."""

    class Options(VectorStore.Options):
        """Where it is."""

        url: str = Field(
            "http://127.0.0.1:19530", min_length=1, description="The server, or a file's path."
        )
        token: SecretStr | None = Field(None, description="`user:password`, or an API key.")
        database: str = Field("default", description="The database on the server.")
        timeout_s: float = Field(30.0, gt=0, description="For one call.")

    options: Options

    def __init__(self, options: Options, *, folder: Path) -> None:
        super().__init__(options, folder=folder)
        self._client: Any = None
        self._opening = asyncio.Lock()
        self._known: dict[str, _Known] = {}

    async def create(self, index: str, *, dimension: int, language: str) -> None:
        """Make a collection with its two indexes."""
        self._known.pop(index, None)  # it may have been dropped since it was looked up
        if (known := await self._look(index)) is not None:
            check_dimension(index, known.dimension, dimension)
            return
        client = await self._open()
        await self._call(lambda: _create(client, safe_name(index), dimension, language))
        check_dimension(index, (await self._needed(index)).dimension, dimension)

    async def add(self, index: str, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Insert rows, some hundreds at once; each lot is seen whole."""
        known = await self._needed(index)
        check_fit(index, known.dimension, chunks, vectors)
        client = await self._open()
        for start in range(0, len(chunks), _BATCH):
            rows = [
                {
                    "id": chunk.id,
                    "document_id": chunk.document_id,
                    "revision": chunk.revision,
                    "terms": _cut(_said(index_terms(chunk.index_text or chunk.text), known)),
                    "labels": labels_of(chunk.metadata)[:_MAX_LABELS],
                    "vector": vectors[start + place].tolist(),
                }
                for place, chunk in enumerate(chunks[start : start + _BATCH])
            ]
            await self._in(
                index,
                lambda rows=rows: client.upsert(  # type: ignore[misc]
                    safe_name(index), rows, timeout=self.options.timeout_s
                ),
            )

    async def delete(self, index: str, revision: str) -> None:
        """Delete rows by their revision."""
        if await self._look(index) is None:
            return
        client = await self._open()
        with suppress(_Gone):
            await self._in(
                index,
                lambda: client.delete(
                    safe_name(index),
                    filter=f"revision == {_quoted(revision)}",
                    timeout=self.options.timeout_s,
                ),
            )

    async def search_text(
        self,
        index: str,
        query: str,
        *,
        k: int,
        filters: Filters | None = None,
    ) -> list[Hit]:
        """Let Milvus count the words."""
        known = await self._needed(index)
        if not (terms := _said(query_terms(query), known)):
            return []
        return await self._search(index, terms, "terms_words", k, filters, None)

    async def search_vector(
        self,
        index: str,
        vector: Vector,
        *,
        k: int,
        filters: Filters | None = None,
        only: Sequence[str] | None = None,
    ) -> list[Hit]:
        """Let Milvus find what is near."""
        check_dimension(index, (await self._needed(index)).dimension, len(vector))
        return await self._search(index, vector.tolist(), "vector", k, filters, only)

    async def revisions(self, index: str) -> set[str]:
        """Read one column, some hundred rows at once."""
        if await self._look(index) is None:
            return set()
        client = await self._open()

        def read() -> set[str]:
            rows = client.query_iterator(
                safe_name(index), batch_size=_BATCH, output_fields=["revision"]
            )
            found: set[str] = set()
            while batch := rows.next():
                found |= {row["revision"] for row in batch}
            rows.close()
            return found

        try:
            return await self._in(index, read)
        except _Gone:
            return set()

    async def count(self, index: str) -> int:
        """Count the rows."""
        if await self._look(index) is None:
            return 0
        client = await self._open()
        try:
            rows = await self._in(
                index,
                lambda: client.query(
                    safe_name(index),
                    filter="",
                    output_fields=["count(*)"],
                    timeout=self.options.timeout_s,
                ),
            )
        except _Gone:
            return 0
        return int(rows[0]["count(*)"])

    async def drop(self, index: str) -> None:
        """Drop the collection."""
        self._known.pop(index, None)
        client = await self._open()
        await self._call(
            lambda: client.drop_collection(safe_name(index), timeout=self.options.timeout_s)
        )

    async def settle(self, index: str) -> None:
        """Do nothing: Milvus looks after its files by itself."""

    async def aclose(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        self._known.clear()
        if client is not None:
            await asyncio.to_thread(client.close)

    async def _search(
        self,
        index: str,
        data: Any,
        field: str,
        k: int,
        filters: Filters | None,
        only: Sequence[str] | None,
    ) -> list[Hit]:
        if (condition := _condition(filters, only)) is None:
            return []
        client = await self._open()
        found = await self._in(
            index,
            lambda: client.search(
                safe_name(index),
                data=[data],
                anns_field=field,
                filter=condition,
                limit=k,
                output_fields=["id"],
                consistency_level="Strong",
                timeout=self.options.timeout_s,
            ),
        )
        # The embedded Milvus gives BM25 below zero.
        words = field != "vector"
        hits = [
            Hit(chunk_id=row["id"], score=abs(row["distance"]) if words else row["distance"])
            for row in found[0]
        ]
        return [hit for hit in hits if hit.score > 0] if words else hits

    async def _look(self, index: str) -> _Known | None:
        """Return what is known of an index, or None where there is none."""
        if (known := self._known.get(index)) is not None:
            return known
        client = await self._open()
        name = safe_name(index)

        def read() -> _Known | None:
            if not client.has_collection(name, timeout=self.options.timeout_s):
                return None
            client.load_collection(name, timeout=self.options.timeout_s)
            told = client.describe_collection(name, timeout=self.options.timeout_s)
            vector = next(one for one in told["fields"] if one["name"] == "vector")
            return _Known(
                dimension=int(vector["params"]["dim"]),
                # The embedded Milvus keeps no description.
                english=told.get("description") in ("", None, _ENGLISH),
            )

        if (found := await self._call(read)) is not None:
            self._known[index] = found
        return found

    async def _needed(self, index: str) -> _Known:
        if (known := await self._look(index)) is None:
            raise unknown_index(index)
        return known

    async def _open(self) -> Any:
        async with self._opening:
            if self._client is None:
                self._client = await self._call(self._connect)
        return self._client

    def _connect(self) -> Any:
        # Imported where it is used: it is an extra, and large.
        try:
            import pymilvus
        except ImportError as error:
            raise ConfigError(
                "the vector store 'milvus' is not installed: run `pip install 'refdesk[milvus]'`"
            ) from error
        # It writes whole requests with tracebacks; what failed is told by ourselves.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        token = self.options.token
        return pymilvus.MilvusClient(
            self.options.url,
            token=token.get_secret_value() if token else "",
            db_name=self.options.database,
            timeout=self.options.timeout_s,
        )

    async def _in(self, index: str, step: Callable[[], T]) -> T:
        """Do a call in an index that was looked up, maybe long ago; `_Gone` if it is not there."""
        try:
            return await self._call(step)
        except StoreError as error:
            # Whatever it was, the next call looks at the index anew: it may have to be loaded.
            self._known.pop(index, None)
            if getattr(error.__cause__, "code", None) == _NO_SUCH_COLLECTION:
                raise _Gone(str(unknown_index(index))) from error
            raise

    async def _call(self, step: Callable[[], T]) -> T:
        """Do a call in a thread; what Milvus says of a failure is told, with where it is."""
        try:
            return await asyncio.to_thread(step)
        except (ConfigError, StoreError):
            raise
        except Exception as error:
            url = self.options.url
            where = urlsplit(url).netloc.rsplit("@", 1)[-1] or url
            token = self.options.token
            mask = Masker([token.get_secret_value() if token else "", urlsplit(url).password or ""])
            told = mask(str(getattr(error, "message", None) or error)[:10_000])
            said = " ".join(told.split())[:300]
            raise StoreError(
                f"Milvus at {where} did not do it: {said or type(error).__name__}; see whether "
                "it is reachable, and its log"
            ) from error


class _Gone(StoreError):
    """An index was dropped, by another process, after it was looked up here."""


def _create(client: Any, name: str, dimension: int, language: str) -> None:
    from pymilvus import DataType, Function, FunctionType

    stemmed = _STEMMED.get(language.split("-")[0].lower())
    filters: list[Any] = ["lowercase", "asciifolding"]
    if stemmed is not None:
        filters.append({"type": "stemmer", "language": stemmed})
    schema = client.create_schema(
        auto_id=False, enable_dynamic_field=False, description=stemmed or _ENGLISH
    )
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=256)
    schema.add_field("document_id", DataType.VARCHAR, max_length=256)
    schema.add_field("revision", DataType.VARCHAR, max_length=256)
    schema.add_field(
        "terms",
        DataType.VARCHAR,
        max_length=65_535,
        enable_analyzer=True,
        analyzer_params={"tokenizer": "standard", "filter": filters},
    )
    schema.add_field(
        "labels",
        DataType.ARRAY,
        element_type=DataType.VARCHAR,
        max_capacity=_MAX_LABELS,
        max_length=2048,
    )
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
    schema.add_field("terms_words", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_function(
        Function(
            name="words",
            function_type=FunctionType.BM25,
            input_field_names=["terms"],
            output_field_names=["terms_words"],
        )
    )
    indexes = client.prepare_index_params()
    indexes.add_index("vector", index_type="AUTOINDEX", metric_type="COSINE")
    indexes.add_index(
        "terms_words",
        index_type="SPARSE_INVERTED_INDEX",
        metric_type="BM25",
        params={"bm25_k1": 1.2, "bm25_b": 0.75},
    )
    client.create_collection(name, schema=schema, index_params=indexes, consistency_level="Strong")


def _said(terms: str, known: _Known) -> str:
    """Return terms that the tokenizer leaves whole: letters and digits alone."""
    words = [word for word in terms.split(" ") if word]
    if known.english:
        words = [stem(word) for word in words if word not in SMALL_WORDS]
    return " ".join(word if _WORD.match(word) else _lettered(word) for word in words)


def _lettered(word: str) -> str:
    return "".join(each if _WORD.match(each) else f"x{ord(each):x}x" for each in word)


def _cut(terms: str) -> str:
    data = terms.encode()
    if len(data) <= _MAX_TERMS_BYTES:
        return terms
    return data[:_MAX_TERMS_BYTES].decode("utf-8", "ignore").rsplit(" ", 1)[0]


def _condition(filters: Filters | None, only: Sequence[str] | None) -> str | None:
    """Return an expression; None where nothing can fit."""
    every = []
    for any_of in wanted_labels(filters):
        if not any_of:
            return None
        every.append(f"array_contains_any(labels, [{', '.join(map(_quoted, any_of))}])")
    for column, values in (("document_id", wanted_documents(filters)), ("id", only)):
        if values is not None:
            if not values:
                return None
            every.append(f"{column} in [{', '.join(map(_quoted, values))}]")
    return " and ".join(every)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
