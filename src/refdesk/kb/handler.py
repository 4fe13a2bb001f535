"""
Search in collections, as the searcher does it: permission, both legs, the graph, items.

Permission is checked here, so that no way to a search passes it by.  Collections are searched at
once; one that cannot be searched is a notice, and an error only where none can be.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from refdesk.errors import ConfigError, EmbedderError, RefdeskError, StoreError
from refdesk.http import is_web_url
from refdesk.kb.embedders import Embedder, check_same
from refdesk.kb.fusion import can_rank
from refdesk.kb.graph import GraphFound, expand
from refdesk.kb.neighbours import Passage
from refdesk.kb.permission import may_read
from refdesk.kb.retrieval import POOL, Nearness, Retriever
from refdesk.kb.vectors import Vector, VectorStore
from refdesk.store.graph import Graph
from refdesk.store.knowledge import KnowledgeStore
from refdesk.store.passages import Collection
from refdesk.types import Attempt, GraphNode, ResultItem, SearchRequest, SearchResult, SearchType

EmbedderFor = Callable[[Collection], Embedder]
"""Gives the embedder that is configured for a collection."""

_LIMIT: Final = 10
MAX_QUESTION_CHARS: Final = 10_000
"""Characters of a question that are compared; a longer one is cut, with a notice."""
_VECTOR_S: Final = 5.0
"""Seconds that a question waits for its vector where another machine makes it."""
_REST_S: Final = 30.0
"""Seconds before an endpoint that failed is asked again."""

_log = logging.getLogger(__name__)


class Asker(Protocol):
    """What a search says of whoever asks, such as `refdesk.search.handler.SearchContext`."""

    @property
    def identity(self) -> Mapping[str, Any] | None:
        """The claims that permissions are checked against."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """What one collection gave."""

    passages: tuple[Passage, ...] = ()
    nodes: tuple[GraphNode, ...] = ()
    notices: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    """Empty for a collection that is not there for whoever asks."""
    error: str | None = None


class KnowledgeHandler:
    """
    Knowledge search for the searcher.

    Args:
        store: Collections and chunks.
        index: Finds chunks.
        embedder_for: The embedder of a collection; asked once for each search and collection.
        graph: Entities and what links them; None where there is no graph.
        vector_s: How long a question waits for its vector, in seconds, where another machine makes
            it; then words alone are compared, for half a minute without asking it again.
        clock: A monotonic clock, in seconds.
    """

    type: SearchType = "kb"

    def __init__(
        self,
        store: KnowledgeStore,
        index: VectorStore,
        embedder_for: EmbedderFor,
        *,
        graph: Graph | None = None,
        vector_s: float = _VECTOR_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._embedder_for = embedder_for
        self._graph = graph
        self._vector_s = vector_s
        self._clock = clock
        self._resting: dict[str, float] = {}
        self._retriever = Retriever(store, index)

    async def search(self, request: SearchRequest, *, context: Asker) -> SearchResult:
        """
        Search, and return passages with the score of every stage; see `refdesk.kb.scoring`.

        A collection that may not be read is told of as one that is not there.
        """
        if not request.query.strip():
            return _result(request, error="query is required: say what to look for")
        threshold = request.threshold
        if threshold is not None and not 0 <= threshold <= 1:
            return _result(
                request, error=f"threshold is {threshold:g}; scores, and so thresholds, are 0 to 1"
            )
        names = tuple(dict.fromkeys(request.collections or ()))
        if not names:
            return _result(
                request,
                notices=("no collection was searched: name some, or set search.kb.collections",),
            )
        asked, cut = request.query, len(request.query) > MAX_QUESTION_CHARS
        if cut:
            request = replace(request, query=asked[:MAX_QUESTION_CHARS])
        vectors: dict[str, asyncio.Task[Vector]] = {}
        identity = context.identity
        parts = [
            asyncio.ensure_future(self._part(name, request, identity, vectors)) for name in names
        ]
        try:
            done = await asyncio.gather(*parts)
        finally:
            for task in (*parts, *vectors.values()):
                task.cancel()
        result = await self._merged(request, done)
        if not cut:
            return result
        said = f"the first {MAX_QUESTION_CHARS} characters of the question were compared"
        return replace(result, query=asked, notices=(said, *result.notices))

    async def _part(
        self,
        name: str,
        request: SearchRequest,
        identity: Mapping[str, Any] | None,
        vectors: dict[str, asyncio.Task[Vector]],
    ) -> _Part:
        started, known = time.monotonic(), None
        try:
            known = await self._readable(name, identity)
            part = await self._find(known, request, identity, vectors)
        except RefdeskError as error:
            part = _Part(error=f"collection {name!r} could not be searched: {error}")
        except Exception as error:
            # Its message may hold anything, also what was searched for: only its kind is told.
            _log.exception("a collection could not be searched")
            kind = type(error).__name__
            part = _Part(error=f"collection {name!r} could not be searched: {kind}")
        if known is None:
            return part
        outcome = "upstream_down" if part.error else "ok" if part.passages else "empty"
        seconds = time.monotonic() - started
        return replace(
            part, attempts=(Attempt(engine=f"kb:{name}", outcome=outcome, duration_s=seconds),)
        )

    async def _find(
        self,
        collection: Collection,
        request: SearchRequest,
        identity: Mapping[str, Any] | None,
        vectors: dict[str, asyncio.Task[Vector]],
    ) -> _Part:
        while True:
            part, failure = None, None
            try:
                part = await self._found(collection, request, vectors)
            except StoreError as error:
                failure = error
            # Re-indexed meanwhile, or removed: then what was searched is not what it has now.
            before = collection.index
            collection = await self._readable(collection.name, identity)
            if collection.index != before:
                continue
            if failure is not None:
                counted = await asyncio.to_thread(self._store.counts, collection.name)
                if not counted.chunks:
                    # Whoever was to add the first document died before there was an index.
                    return _Part()
                raise failure
            assert part is not None
            return part

    async def _readable(self, name: str, identity: Mapping[str, Any] | None) -> Collection:
        collections = await asyncio.to_thread(self._store.collections)
        readable = {each.name: each for each in collections if may_read(each.permission, identity)}
        if (collection := readable.get(name)) is None:
            known = ", ".join(sorted(readable)) or "none"
            raise ConfigError(f"no collection that you may read has this name; known: {known}")
        return collection

    async def _found(
        self,
        collection: Collection,
        request: SearchRequest,
        vectors: dict[str, asyncio.Task[Vector]],
    ) -> _Part:
        if collection.embedder_id is None:
            return _Part()  # nothing was ever added to it
        embedder = self._embedder_for(collection)
        check_same(collection.name, collection.embedder_id, embedder)
        nearness, notices = await self._nearness(collection, request.query, embedder, vectors)
        found = await self._linked(collection, request)
        passages = await self._retriever.find(
            collection,
            request.query,
            nearness=nearness,
            filters=request.metadata,
            graph=found,
        )
        return _Part(
            passages=tuple(passages),
            nodes=found.nodes if found else (),
            notices=notices,
        )

    async def _nearness(
        self,
        collection: Collection,
        query: str,
        embedder: Embedder,
        vectors: dict[str, asyncio.Task[Vector]],
    ) -> tuple[Nearness | None, tuple[str, ...]]:
        """Return the question's vector, or None and, if that is a fault, why words alone count."""
        if not can_rank(query, collection.language, embedder.languages):
            return None, ()
        rest = self._resting.get(embedder.identity, 0.0) - self._clock()
        if rest > 0 and embedder.identity not in vectors:
            why = f"{embedder.identity} failed, and is asked again in {math.ceil(rest)} s"
            return None, (f"collection {collection.name!r} was searched by words alone: {why}",)
        try:
            async with asyncio.timeout(None if embedder.computes else self._vector_s):
                vector = await _vector(query, embedder, vectors)
        except EmbedderError as error:
            why = str(error)
        except TimeoutError:
            why = f"{embedder.identity} took longer than {self._vector_s:g} s"
        else:
            nearness = Nearness(vector=vector, floor=embedder.floor, languages=embedder.languages)
            return nearness, ()
        if not embedder.computes:
            self._resting[embedder.identity] = self._clock() + _REST_S
        # An endpoint may repeat the question in what it says: that is for whoever asked.
        _log.warning("%s made no vector of a question: words alone count", embedder.identity)
        return None, (f"collection {collection.name!r} was searched by words alone: {why}",)

    async def _linked(self, collection: Collection, request: SearchRequest) -> GraphFound | None:
        if not (request.graph and collection.graph and self._graph is not None):
            return None
        return await asyncio.to_thread(
            expand, self._graph, collection.name, request.query, limit=POOL
        )

    async def _merged(self, request: SearchRequest, parts: list[_Part]) -> SearchResult:
        errors = [part.error for part in parts if part.error is not None]
        attempts = tuple(each for part in parts for each in part.attempts)
        if len(errors) == len(parts):
            return replace(_result(request, error="; ".join(errors)), attempts=attempts)
        found = [passage for part in parts for passage in part.passages]
        if sum(bool(part.passages) for part in parts) > 1:
            found.sort(key=lambda each: -each.best.score)
        left_out = 0
        if request.threshold is not None:
            kept = [each for each in found if each.best.score >= request.threshold]
            left_out, found = len(found) - len(kept), kept
        wanted = _LIMIT if request.limit is None else request.limit
        notices = (*errors, *(each for part in parts for each in part.notices))
        if left_out:
            # A default of the file is easily forgotten as the cause.
            number = f"{left_out} passage{'' if left_out == 1 else 's'}"
            whose = " (search.kb.threshold)" if "threshold" in request.defaults else ""
            notices += (f"the threshold {request.threshold:g}{whose} left out {number}",)
        if wanted > POOL:
            notices += (f"a collection gives at most {POOL} passages; {wanted} were wanted",)
        items = await asyncio.to_thread(self._items, found[: max(0, wanted)])
        return SearchResult(
            type="kb",
            query=request.query,
            source=request.source,
            items=items,
            total=len(items),
            graph_nodes=tuple(node for part in parts for node in part.nodes),
            notices=notices,
            attempts=attempts,
        )

    def _items(self, passages: list[Passage]) -> tuple[ResultItem, ...]:
        return tuple(_item(each, self._text(each)) for each in passages)

    def _text(self, passage: Passage) -> str:
        if len(passage.chunks) > 1 and passage.is_slice:
            # As the document has it, with what lies between the chunks.
            document = passage.best.chunk.document_id
            said = self._store.text(document, passage.start, passage.end)
            if len(said) == passage.end - passage.start:
                return said
        return passage.text()


async def _vector(
    query: str, embedder: Embedder, vectors: dict[str, asyncio.Task[Vector]]
) -> Vector:
    """Return the question's vector, made once for all collections of one embedder."""
    if (task := vectors.get(embedder.identity)) is None:
        task = vectors[embedder.identity] = asyncio.ensure_future(embedder.query(query))
    return await asyncio.shield(task)


def _item(passage: Passage, text: str) -> ResultItem:
    chunk = passage.best.chunk
    first = passage.chunks[0]
    known = dict(chunk.metadata)
    key = str(known.get("key") or "")
    place: dict[str, Any] = {
        "chunk_id": chunk.id,
        "heading": list(first.heading),
        "start": passage.start,
        "end": passage.end,
    }
    if first.page is not None:
        place["page"] = first.page
    if len(passage.chunks) > 1:
        place["chunk_ids"] = [each.id for each in passage.chunks]
    return ResultItem(
        type="kb",
        title=str(known.get("title") or key.rstrip("/").rsplit("/", 1)[-1] or chunk.document_id),
        url=key if is_web_url(key) else "",
        content=text,
        score=round(passage.best.score, 6),
        scores={name: round(score, 6) for name, score in passage.best.scores.items()},
        document_id=chunk.document_id,
        collection=chunk.collection,
        metadata=known | place,
    )


def _result(
    request: SearchRequest, *, error: str | None = None, notices: tuple[str, ...] = ()
) -> SearchResult:
    return SearchResult(
        type="kb", query=request.query, source=request.source, error=error, notices=notices
    )
