"""
Search without a model, over HTTP: ``/v1/search``, ``/v1/alpha/search``, ``/v1/references``.

Whatever goes wrong is an answer in OpenAI's error shape.  Every answer has an ``x-request-id``,
which opens the references in the order in which they were shown.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec
import structlog

from refdesk.api.bodies import Asked, read_search
from refdesk.api.codex import max_chars, read_alpha, write_alpha
from refdesk.errors import (
    NoSuchReference,
    NotYours,
    RefdeskError,
    StoreError,
    UnknownName,
    WireError,
)
from refdesk.gateway.client import Client, HeaderList, Receive, Scope, Send, header
from refdesk.gateway.gate import Right
from refdesk.gateway.headers import refusal_headers
from refdesk.gateway.host import Host
from refdesk.gateway.log import Entry, RequestLog
from refdesk.gateway.offloading import LARGE_READ, off_loop
from refdesk.gateway.root import Mount
from refdesk.ids import new_request_id
from refdesk.kb.permission import may_read
from refdesk.kb.showing import passage_json
from refdesk.records import ReferenceBook
from refdesk.search.emit import reference_json
from refdesk.search.references import reference_of
from refdesk.search.sources import Source, UnknownSource, resolve
from refdesk.types import ANONYMOUS, Caller, Reference, SearchResult, WebAnswer
from refdesk.wires.openai_error import error_body

if TYPE_CHECKING:
    pass

_SNIPPET_CHARS: Final = 200
_STATUS: Final = {
    "no_query": 400,
    "engine_timeout": 504,
    "budget_exceeded": 504,
    "no_engine": 503,
    "engine_resting": 503,
    "queue_timeout": 503,
    "memory_pressure": 503,
}
"""How a search that failed is answered; 502 where the engine is at fault."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk")

Shown = Callable[[Sequence[Reference], Sequence[str], str], dict[str, Any]]
"""Writes an answer: the references, what is to be said besides, the request's id."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchApi:
    """The routes.  ``log`` is told of every search."""

    host: Host
    book: ReferenceBook
    log: RequestLog

    def mounts(self) -> list[Mount]:
        """Return what is served, with and without ``/v1``."""
        found: list[Mount] = []
        for prefix, told in (("/v1", True), ("", False)):
            served = [
                ("POST", f"{prefix}/search", self._search, "POST /v1/search"),
                ("POST", f"{prefix}/search/", self._search, "POST /v1/search/{engine}"),
                ("POST", f"{prefix}/alpha/search", self._alpha, "POST /v1/alpha/search"),
                (
                    "GET",
                    f"{prefix}/references/",
                    self._references,
                    "GET /v1/references/{request_id}[/{index}]",
                ),
            ]
            found += [
                Mount(
                    method=method,  # type: ignore[arg-type]
                    path=path,
                    right=Right.CLIENT,
                    handler=handler,
                    refuse=self._refuse,
                    shown=shown if told else "",
                )
                for method, path, handler, shown in served
            ]
        return found

    async def _search(self, scope: Scope, receive: Receive, send: Send, caller: Caller) -> None:
        """Search the web, or the engine, collection or database that the path names."""
        _, _, name = scope["path"].partition("/search/")

        def read(body: bytes) -> Asked:
            source = self._target(name)
            engine = source.name if source.kind == "web" else None
            return _aimed(read_search(body, engine=engine), source)

        await _Call(self, scope, receive, send, caller).run(read, lambda _: _shown, strict=True)

    async def _alpha(self, scope: Scope, receive: Receive, send: Send, caller: Caller) -> None:
        """Search as Codex's stand-alone search does."""

        def write(body: bytes) -> Shown:
            limit = max_chars(body)
            return lambda references, said, _: write_alpha(references, said, limit)

        await _Call(self, scope, receive, send, caller).run(read_alpha, write, strict=False)

    async def _references(self, scope: Scope, receive: Receive, send: Send, caller: Caller) -> None:
        """Show what a search found, by the id of its request, to its client key."""
        await _Call(self, scope, receive, send, caller).open_references()

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, fault: WireError) -> None:
        await _Call(self, scope, receive, send, ANONYMOUS).refuse(fault)

    def _target(self, name: str) -> Source:
        """Return what a path names; WireError (404) where it is nothing that can be asked."""
        engines = self.host.engines()
        try:
            source = resolve(name, engines, self.host.searcher.handlers.types())
        except UnknownSource as exc:
            raise WireError(str(exc), status=404, param="engine") from None
        if source.kind == "web" and source.name and not engines[source.name]:
            raise WireError(
                f"the engine {name!r} is disabled; name another, or set engines.{name}.enabled",
                status=404,
                param="engine",
            )
        return source


class _Call:
    """One request of a client."""

    def __init__(
        self, api: SearchApi, scope: Scope, receive: Receive, send: Send, caller: Caller
    ) -> None:
        self._api = api
        self._scope = scope
        self._client = Client(receive, send)
        self._send = send
        self._started = time.perf_counter()
        self._identity = caller.claims
        self._entry = Entry(
            request_id=new_request_id(),
            started=time.time(),
            wire="search",
            key_id=caller.key_id,
        )

    async def run(
        self,
        read: Callable[[bytes], Asked],
        writer: Callable[[bytes], Shown],
        *,
        strict: bool,
    ) -> None:
        """
        Search, and answer.

        Args:
            read: Reads the body.
            writer: Returns what writes the answer to that body.
            strict: Whether a search that failed is an HTTP error; else it is told in the answer.
        """

        async def answer() -> None:
            body = await self._client.read_body(
                self._scope["headers"], max_bytes=self._api.host.limits.body_bytes
            )
            self._entry.client_request_id = self._client.request_id
            self._entry.incognito = self._client.incognito
            asked = await off_loop(len(body), read, body, above=LARGE_READ)
            write = await off_loop(len(body), writer, body, above=LARGE_READ)
            results = await self._results(asked)
            failed = [result for result in results if result.error is not None]
            if strict and results and len(failed) == len(results):
                await self._refuse_failed(failed[0])
                return
            said = [*asked.notices, *(f"the search failed: {one.error}" for one in failed)]
            said += [notice for result in results for notice in result.notices]
            shown = write(
                _references_of(results), list(dict.fromkeys(said)), self._entry.request_id
            )
            await self._answer(200, msgspec.json.encode(shown))

        await self._guarded(answer)
        self._api.log.add(self._entry)

    async def open_references(self) -> None:
        """Answer a request for the references of an earlier one, or for one of them."""

        async def answer() -> None:
            key_id = self._entry.key_id
            host, book = self._api.host, self._api.book
            path = self._scope["path"].partition("/references/")[2].rstrip("/")
            request_id, slash, number = path.partition("/")
            index = _index(number) if slash else None
            shared = not host.keys_required
            try:
                if index is None:
                    found = await book.of_request(request_id, owner=key_id, shared=shared)
                    shown: dict[str, Any] = {
                        "request_id": request_id,
                        "references": [_reference(one) for one in found],
                        "total": len(found),
                    }
                else:
                    one = await book.one(request_id, index, owner=key_id, shared=shared)
                    shown = _reference(one) | await self._opened(one)
            except NoSuchReference as exc:
                raise WireError(str(exc), status=404) from None
            except NotYours as exc:
                raise WireError(str(exc), status=403) from None
            except StoreError as exc:
                _log.warning("references could not be looked up", error=str(exc))
                raise WireError(
                    "the store does not answer, so references cannot be opened; try again",
                    status=503,
                ) from None
            await self._answer(200, msgspec.json.encode(shown))

        await self._guarded(answer)

    async def _check_sources(self, asked: Asked) -> None:
        """
        Raise WireError (404) for a database that is not there, or a collection that is not there
        for the caller.
        """
        for request in asked.requests:
            if request.get("type") == "db":
                try:
                    self._api.host.databases.databases.get(request["database"])
                except UnknownName as exc:
                    raise WireError(str(exc), status=404, param="engine") from None
        wanted = {
            name
            for request in asked.requests
            if request.get("type") == "kb"
            for name in request.get("collections") or ()
        }
        if not wanted:
            return
        host = self._api.host
        try:
            listed = await (await host.knowledge()).list()
        except StoreError as exc:
            _log.warning("collections could not be looked up", error=str(exc))
            raise WireError(
                "the store does not answer, so no collection can be searched; try again",
                status=503,
            ) from None
        known = [each.name for each in listed if may_read(each.permission, self._identity)]
        for name in wanted:
            if name not in known:
                fault = UnknownName("collection", name[:80], known)
                raise WireError(str(fault), status=404, param="engine")

    async def _opened(self, reference: Reference) -> dict[str, Any]:
        """Return where a passage stands, and what is around it, as its document is now."""
        place = reference.meta.get("metadata") or {}
        chunk, collection = place.get("chunk_id"), reference.meta.get("collection")
        if reference.type != "kb" or not isinstance(chunk, str) or not isinstance(collection, str):
            return {}
        host = self._api.host
        try:
            knowledge = await host.knowledge()
            permission = (await knowledge.show(collection)).permission
            found = None
            if may_read(permission, self._identity):
                together = [each for each in place.get("chunk_ids") or () if isinstance(each, str)]
                found = await passage_json(knowledge, collection, chunk, beside=together)
        except RefdeskError as exc:
            _log.info("a passage could not be opened", error=str(exc))
            found = None
        if found is None:
            why = "the passage's document was updated or removed since, or is not yours to read"
            return {"opened": None, "notices": [why]}
        return {"opened": found}

    async def _results(self, asked: Asked) -> list[SearchResult]:
        entry, host = self._entry, self._api.host
        if not asked.requests:
            return []
        await self._check_sources(asked)
        reserved = host.reserve(entry.key_id, len(asked.requests))
        outcome = entry.outcome
        outcome.query = "; ".join(request["query"] for request in asked.requests)
        started = time.perf_counter()
        self._client.watch(asyncio.current_task())  # type: ignore[arg-type]
        try:
            results = await host.searcher.all(
                asked.requests,
                request_id=entry.request_id,
                owner=entry.key_id,
                identity=self._identity,
                incognito=entry.incognito or not asked.store,
            )
        finally:
            entry.search_s = time.perf_counter() - started
        entry.incognito = entry.incognito or not asked.store
        if failed := sum(result.error is not None for result in results):
            reserved.give_back(failed)
        outcome.attempts = tuple(attempt for result in results for attempt in result.attempts)
        outcome.notices = [notice for result in results for notice in result.notices]
        good = [result for result in results if result.error is None]
        if good:
            outcome.kind = "gateway"
            items = tuple({item.index: item for each in good for item in each.items}.values())
            engine = next((result.engine for result in good if result.engine), "")
            outcome.answer = WebAnswer(items=items, engine=engine or "")
        else:
            outcome.kind = "degraded"
            outcome.reason = results[0].reason or "engine_bad_response"  # type: ignore[assignment]
            outcome.detail = results[0].error or ""
        return results

    async def refuse(self, fault: WireError) -> None:
        """Answer with a refusal."""
        self._entry.error = str(fault)
        await self._refuse(
            fault.status, str(fault), param=fault.param, retry_after_s=fault.retry_after_s
        )

    async def _guarded(self, answer: Callable[[], Awaitable[None]]) -> None:
        entry, client = self._entry, self._client
        try:
            if self._api.host.closing:
                raise WireError("this server is shutting down; try again", status=503)
            await answer()
        except WireError as exc:
            await self.refuse(exc)
        except asyncio.CancelledError:
            if not client.gone:
                raise
            entry.end, entry.status = "client_disconnected", 499
        except Exception as exc:
            # Nothing that a client sends may lead here; if it does, it gets an answer all the same.
            entry.error = f"{type(exc).__name__}: a fault of Refdesk, please report it"
            _log.exception("a search request failed", request_id=entry.request_id)
            await self._refuse(500, f"{entry.error} with the id {entry.request_id}")
        finally:
            client.unwatch()
            entry.total_s = time.perf_counter() - self._started

    async def _refuse_failed(self, result: SearchResult) -> None:
        status = _STATUS.get(result.reason or "", 502)
        self._entry.error = result.error or ""
        await self._refuse(status, f"the search failed: {result.error}", code=result.reason)

    async def _refuse(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        self._entry.status = status
        headers = [*self._headers(), *refusal_headers(status, retry_after_s)]
        body = error_body(message, status=status, param=param, code=code)
        await self._client.answer(status, headers, body)

    async def _answer(self, status: int, body: bytes) -> None:
        self._entry.status = status
        headers = [*self._headers(), (b"content-length", b"%d" % len(body))]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        shown = b"" if self._scope["method"] == "HEAD" else body
        await self._send({"type": "http.response.body", "body": shown})

    def _headers(self) -> HeaderList:
        entry = self._entry
        return [
            (b"content-type", b"application/json"),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
            (b"x-request-id", entry.request_id.encode()),
            header("x-refdesk-search", entry.outcome.header()),
            (b"server-timing", b"search;dur=%.1f" % (entry.search_s * 1000)),
        ]


def _aimed(asked: Asked, source: Source) -> Asked:
    """Return searches of a collection or a database, where the path names one."""
    if source.kind == "web":
        return asked
    name = source.name
    where = {"collections": [name]} if source.kind == "kb" else {"database": name}
    requests = tuple(
        {key: request[key] for key in ("query", "source", "limit")} | {"type": source.kind} | where
        for request in asked.requests
    )
    return replace(asked, requests=requests)


def _references_of(results: Iterable[SearchResult]) -> list[Reference]:
    """Return what was found, each source once, in the order of the numbers."""
    items = {item.index: item for result in results for item in result.items}
    return [reference_of(items[index]) for index in sorted(items)]


def _shown(references: Sequence[Reference], said: Sequence[str], request_id: str) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": request_id,
        "object": "search",
        "results": [
            {
                "title": reference.title,
                "url": reference.url,
                "snippet": reference.content,
                "date": reference.meta.get("published"),
                "last_updated": None,
            }
            for reference in references
        ],
    }
    return shown | ({"notices": list(said)} if said else {})


def _reference(reference: Reference) -> dict[str, Any]:
    shown = reference_json(reference)
    shown["metadata"] = shown.pop("meta")
    content = reference.content
    cut = content[:_SNIPPET_CHARS].rstrip() + "…" if len(content) > _SNIPPET_CHARS else content
    return {**shown, "snippet": cut}


def _index(text: str) -> int:
    # More digits than any number that was ever given are no number of ours either.
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= 1):
        raise WireError(
            f"{text[:80]!r} is no number of a reference; they count from 1", param="index"
        )
    return int(text)
