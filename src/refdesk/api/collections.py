"""
``/api/v1/collections``: collections, their documents, and passages in them.

Files come by upload and pages by URL; a path on this machine is no way in, since whoever holds a
client key need not be allowed to read the disk.  A collection that the caller may not read is one
that is not there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol
from urllib.parse import parse_qsl, unquote

import msgspec
import structlog

from refdesk.api.problem import problem, read_json, refuse_foreign_page, reply_headers
from refdesk.api.uploads import (
    MAX_UPLOAD_BYTES,
    UPLOAD_TIMEOUT_S,
    Form,
    header_of,
    read_upload,
)
from refdesk.errors import ConfigError, RefdeskError, StoreError, UnknownName, WireError
from refdesk.gateway.app import Login
from refdesk.gateway.client import Client, Receive, Scope, Send
from refdesk.gateway.headers import login_tokens
from refdesk.gateway.root import Mount
from refdesk.ids import new_request_id
from refdesk.kb.permission import may_read
from refdesk.kb.showing import added_json, collection_json, document_json, passage_json
from refdesk.search import Searcher
from refdesk.search.emit import result_json
from refdesk.search.options import BadOption, read_request
from refdesk.store.passages import Collection, Document

BASE: Final = "/api/v1/collections"
if TYPE_CHECKING:
    from refdesk.kb.collection import Added, Knowledge

_JSON: Final = b"application/json"
_PROBLEM: Final = b"application/problem+json"
_BAD: Final = frozenset({"failed", "empty"})
_MAX_URLS: Final = 100
_SHOWN_CHARS: Final = 80
_MAX_NAME_CHARS: Final = 100
_MAX_CHUNK_CHARS: Final = 20_000
_MAX_TEXT_CHARS: Final = 100_000
_COLLECTION_FIELDS: Final = frozenset(
    {"name", "embedder", "language", "graph", "chunk_chars", "permission"}
)
_SEARCH_FIELDS: Final = frozenset(
    {"query", "limit", "threshold", "graph", "metadata", "rerank_top_n"}
)

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk")

Answer = tuple[int, dict[str, Any]]
"""The status, and what the body says; from 400 on it is a problem, with its ``detail``."""


class KnowledgeHost(Protocol):
    """What these routes need of the application; read anew for every request."""

    @property
    def searcher(self) -> Searcher:
        """Who searches."""
        ...

    @property
    def login(self) -> Login:
        """Who a client is."""
        ...

    @property
    def closing(self) -> bool:
        """Whether nothing new is begun."""
        ...

    @property
    def listen(self) -> str:
        """The host that the server listens on."""
        ...

    async def knowledge(self) -> Knowledge:
        """Return the knowledge service, opened when it is first needed."""
        ...

    def claims(self, key_id: str | None) -> Mapping[str, Any]:
        """Return the identity that requests with this key have."""
        ...


class CollectionsApi:
    """The routes."""

    def __init__(self, host: KnowledgeHost) -> None:
        self.host = host

    def mounts(self) -> list[Mount]:
        """Return what is served."""
        methods: tuple[Literal["GET", "POST", "DELETE"], ...] = ("GET", "POST", "DELETE")
        return [
            Mount(
                method=method,
                path=path,
                handler=self._handle,
                shown=f"{method} {BASE}/…" if path == BASE else "",
            )
            for method in methods
            for path in (BASE, BASE + "/")
        ]

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _Call(self.host, scope, receive, send).run()


class _Call:
    """One request."""

    def __init__(self, host: KnowledgeHost, scope: Scope, receive: Receive, send: Send) -> None:
        self._host = host
        self._scope = scope
        self._client = Client(receive, send)
        self._request_id = new_request_id()
        self._key_id: str | None = None
        self._identity: Mapping[str, Any] = {}

    async def run(self) -> None:
        """Do it, and answer."""
        client = self._client
        try:
            self._admit()
            status, body = await self._route()()
            if status >= 400:
                detail = body.pop("detail")
                await self._send(status, _PROBLEM, problem(status, detail, **body))
            else:
                await self._send(status, _JSON, msgspec.json.encode(body, enc_hook=str))
        except WireError as exc:
            await self._refuse(exc.status, str(exc), exc.param)
        except UnknownName as exc:
            await self._refuse(404, str(exc))
        except ConfigError as exc:
            await self._refuse(409, str(exc))
        except StoreError as exc:
            _log.warning("a request about a collection failed", error=str(exc))
            await self._refuse(503, str(exc))
        except RefdeskError as exc:
            await self._refuse(400, str(exc))
        except asyncio.CancelledError:
            if not client.gone:
                raise
        except Exception as exc:
            _log.exception("a request about a collection failed", request_id=self._request_id)
            kind = type(exc).__name__
            await self._refuse(
                500, f"{kind}: a fault of Refdesk, please report it with the id {self._request_id}"
            )
        finally:
            client.unwatch()

    def _admit(self) -> None:
        if self._host.closing:
            raise WireError("this server is shutting down; try again", status=503)
        headers = self._scope["headers"]
        self._key_id = self._host.login.check(login_tokens(headers))
        if self._key_id is None:
            refuse_foreign_page(headers, self._host.listen)
        self._identity = self._host.claims(self._key_id)

    def _route(self) -> Callable[[], Awaitable[Answer]]:
        raw = self._scope.get("raw_path") or self._scope["path"].encode()
        path = raw.decode("latin-1").partition("?")[0]
        # Parted before it is decoded: the id of a document may be a path or a URL.
        parts = [unquote(part) for part in path[len(BASE) :].strip("/").split("/") if part]
        method = "GET" if self._scope["method"] == "HEAD" else self._scope["method"]
        match (method, *parts):
            case ("GET",):
                return self._list
            case ("POST",):
                return self._create
            case ("GET", name):
                return lambda: self._show(name)
            case ("DELETE", name):
                return lambda: self._drop(name)
            case ("POST", name, "search"):
                return lambda: self._search(name)
            case ("POST", name, "reindex"):
                return lambda: self._reindex(name)
            case ("GET", name, "documents"):
                return lambda: self._documents(name)
            case ("POST", name, "documents"):
                return lambda: self._add(name)
            case ("GET", name, "documents", document):
                return lambda: self._document(name, document)
            case ("DELETE", name, "documents", document):
                return lambda: self._remove(name, document)
            case ("GET", name, "passages", chunk_id):
                return lambda: self._passage(name, chunk_id)
        raise WireError(
            f"{method} {self._scope['path'][:200]} is not served; served below {BASE}: GET and "
            "POST here, GET and DELETE /{name}, POST /{name}/search and /reindex, GET and POST "
            "/{name}/documents, GET and DELETE /{name}/documents/{id}, GET /{name}/passages/{id}",
            status=404,
        )

    # Collections

    async def _list(self) -> Answer:
        knowledge = await self._host.knowledge()
        shown = [
            collection_json(each, await knowledge.documents(each.name))
            for each in await knowledge.list()
            if may_read(each.permission, self._identity)
        ]
        return 200, {"collections": shown, "total": len(shown)}

    async def _create(self) -> Answer:
        given = await self._json({"name": "handbook"}, _COLLECTION_FIELDS)
        wished = read_collection(given)
        knowledge = await self._host.knowledge()
        if any(each.name == wished.name for each in await knowledge.list()):
            raise WireError(
                f"there is a collection called {wished.name!r} already; choose another name",
                status=409,
                param="name",
            )
        return 201, collection_json(await knowledge.create(wished))

    async def _show(self, name: str) -> Answer:
        knowledge, collection = await self._open(name)
        return 200, collection_json(collection, await knowledge.documents(name))

    async def _drop(self, name: str) -> Answer:
        knowledge, _ = await self._open(name)
        await knowledge.drop(name)
        return 200, {"name": name, "removed": True}

    async def _reindex(self, name: str) -> Answer:
        body = await self._body()
        given = read_json(body, {"embedder": "minilm"}) if body.strip() else {}
        embedder = _embedder(given["embedder"]) if given.get("embedder") is not None else None
        knowledge, _ = await self._open(name)
        done = await knowledge.reindex(name, embedder=embedder)
        return 200, collection_json(done, await knowledge.documents(name))

    # Documents

    async def _documents(self, name: str) -> Answer:
        knowledge, _ = await self._open(name)
        documents = await knowledge.documents(name)
        shown = [document_json(each) for each in documents]
        return 200, {"collection": name, "documents": shown, "total": len(shown)}

    async def _document(self, name: str, document: str) -> Answer:
        knowledge, _ = await self._open(name)
        found = await _find(knowledge, name, document)
        shown = document_json(found)
        if span := _span(self._scope["query_string"], found.characters):
            text = await knowledge.text(found.id, *span)
            shown["text"] = {"start": span[0], "end": span[1], "text": text}
        return 200, shown

    async def _remove(self, name: str, document: str) -> Answer:
        knowledge, _ = await self._open(name)
        await _find(knowledge, name, document)
        gone = await knowledge.remove(name, document)
        return 200, document_json(gone) | {"removed": True}

    async def _add(self, name: str) -> Answer:
        knowledge, _ = await self._open(name)
        headers = self._scope["headers"]
        kind = header_of(headers, b"content-type")
        body = await self._client.read_body(
            headers, max_bytes=MAX_UPLOAD_BYTES, timeout_s=UPLOAD_TIMEOUT_S
        )
        if kind.partition(";")[0].strip().lower() == "application/json" and not _names_a_file(
            self._scope["query_string"], headers
        ):
            added = await self._add_urls(knowledge, name, body)
        else:
            query = self._scope["query_string"].decode("latin-1")
            form = read_upload(kind, header_of(headers, b"content-disposition"), query, body)
            added = await self._add_files(knowledge, name, form)
        shown = {"collection": name, "added": [added_json(each) for each in added]}
        bad = [each for each in added if each.outcome in _BAD]
        if added and len(bad) == len(added):
            reasons = "; ".join(f"{each.key}: {each.reason}" for each in bad[:5])
            return 422, {"detail": f"no document was taken in: {reasons}", **shown}
        return (200 if bad else 201), shown

    async def _add_files(self, knowledge: Knowledge, name: str, form: Form) -> Sequence[Added]:
        metadata = _metadata(form.fields.get("metadata"))
        return [
            await knowledge.upload(name, each.name, each.body, metadata=metadata)
            for each in form.files
        ]

    async def _add_urls(self, knowledge: Knowledge, name: str, body: bytes) -> Sequence[Added]:
        given = read_json(body, {"urls": ["https://example.com/"]})
        _only(given, frozenset({"urls", "metadata"}))
        urls = given.get("urls")
        if not isinstance(urls, list) or not 1 <= len(urls) <= _MAX_URLS:
            raise WireError(
                f"urls is {_shown(urls)}; send a list of 1 to {_MAX_URLS} web addresses, or a file"
                " as multipart/form-data",
                param="urls",
            )
        for url in urls:
            # A path would be read from this machine's disk.
            if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")):
                raise WireError(
                    f"{_shown(url)} is no web address; send one that begins with https://, or "
                    "upload the file",
                    param="urls",
                )
        metadata = given.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            raise WireError(f"metadata is {_shown(metadata)}; send an object", param="metadata")
        return await knowledge.add(name, urls, metadata=metadata)

    # Passages

    async def _search(self, name: str) -> Answer:
        given = await self._json({"query": "how do I claim expenses"}, _SEARCH_FIELDS)
        await self._open(name)
        request = {**given, "type": "kb", "source": "user", "collections": [name]}
        if not isinstance(given.get("query"), str) or not given["query"].strip():
            raise WireError("query is empty; say what to look for", param="query")
        try:
            read_request(request)
        except BadOption as exc:
            raise WireError(str(exc), param=str(exc).split(" ", 1)[0]) from None
        self._client.watch(asyncio.current_task())  # type: ignore[arg-type]
        result = await self._host.searcher.search(
            request,
            request_id=self._request_id,
            owner=self._key_id,
            identity=self._identity,
        )
        if result.error is not None:
            raise WireError(f"the search failed: {result.error}", status=502)
        return 200, result_json(result)

    async def _passage(self, name: str, chunk_id: str) -> Answer:
        knowledge, _ = await self._open(name)
        shown = await passage_json(knowledge, name, chunk_id)
        if shown is None:
            raise WireError(
                f"no passage of {name!r} has the id {chunk_id[:_SHOWN_CHARS]!r}; its document was "
                "updated or removed",
                status=404,
            )
        return 200, shown

    # What they share

    async def _open(self, name: str) -> tuple[Knowledge, Collection]:
        """Return a collection that the caller may read; 404 for any other."""
        knowledge = await self._host.knowledge()
        readable = [
            each for each in await knowledge.list() if may_read(each.permission, self._identity)
        ]
        for each in readable:
            if each.name == name:
                return knowledge, each
        fault = UnknownName("collection", name[:_SHOWN_CHARS], [each.name for each in readable])
        raise WireError(str(fault), status=404)

    async def _body(self) -> bytes:
        return await self._client.read_body(self._scope["headers"])

    async def _json(self, example: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
        given = read_json(await self._body(), example)
        _only(given, known)
        return given

    async def _refuse(self, status: int, message: str, param: str | None = None) -> None:
        more = {"param": param} if param else {}
        await self._send(status, _PROBLEM, problem(status, message, **more))

    async def _send(self, status: int, kind: bytes, data: bytes) -> None:
        headers = reply_headers(kind, self._request_id)
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if status in (408, 413, 415, 431, 503):
            headers.append((b"connection", b"close"))
        if self._scope["method"] == "HEAD":
            data = b""
        if self._client.unread and self._scope["method"] in ("POST", "DELETE"):
            await self._client.refuse(status, headers, data)
        else:
            await self._client.answer(status, headers, data)


def read_collection(given: Mapping[str, Any]) -> Collection:
    """Return the collection that a body describes, or raise WireError (400) naming the field."""
    name = given.get("name")
    if not isinstance(name, str) or not name.strip() or name != name.strip():
        raise WireError(f"name is {_shown(name)}; send a name for the collection", param="name")
    if not name.isprintable() or "/" in name or len(name) > _MAX_NAME_CHARS:
        raise WireError(
            f"{_shown(name)} is no name for a collection: no /, no control characters, and at most "
            f"{_MAX_NAME_CHARS} characters",
            param="name",
        )
    language = given.get("language", "auto")
    if not isinstance(language, str) or not language:
        raise WireError(f"language is {_shown(language)}; send en, zh or auto", param="language")
    graph = given.get("graph", False)
    if not isinstance(graph, bool):
        raise WireError(f"graph is {_shown(graph)}; send true or false", param="graph")
    chars = given.get("chunk_chars", 1000)
    if isinstance(chars, bool) or not isinstance(chars, int) or not 1 <= chars <= _MAX_CHUNK_CHARS:
        raise WireError(
            f"chunk_chars is {_shown(chars)}; send a number from 1 to {_MAX_CHUNK_CHARS}",
            param="chunk_chars",
        )
    return Collection(
        name=name,
        embedder=_embedder(given.get("embedder", "minilm")),
        language=language,
        graph=graph,
        chunk_chars=chars,
        permission=given.get("permission"),
    )


def _embedder(value: Any) -> dict[str, Any]:
    entry = {"type": value} if isinstance(value, str) else value
    if not isinstance(entry, dict) or not isinstance(entry.get("type"), str) or not entry["type"]:
        raise WireError(
            f"embedder is {_shown(value)}; send minilm, e5, or an object with a type",
            param="embedder",
        )
    return entry


async def _find(knowledge: Knowledge, collection: str, name: str) -> Document:
    """Return a document by its id or key, or raise WireError (404)."""
    for each in await knowledge.documents(collection):
        if name in (each.id, each.key):
            return each
    raise WireError(
        f"{collection!r} has no document {name[:_SHOWN_CHARS]!r}; give its id, or what it was added"
        " from",
        status=404,
    )


def _span(query: bytes, characters: int) -> tuple[int, int] | None:
    """Return the characters that a query asks for, by ``start`` and ``end``; None without."""
    given = dict(parse_qsl(query.decode("latin-1")))
    if "start" not in given and "end" not in given:
        return None
    start = _number(given.get("start", "0"), "start")
    end = min(_number(given.get("end", str(characters)), "end"), start + _MAX_TEXT_CHARS)
    return start, max(start, min(end, characters))


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise WireError(f"{name} is {_shown(text)}; send a number of characters", param=name)
    return int(text)


def _names_a_file(query: bytes, headers: Any) -> bool:
    """Whether JSON is meant as a document, since it has a name."""
    told = header_of(headers, b"content-disposition")
    return "filename" in told or any(key == b"name" for key, _ in parse_qsl(query))


def _metadata(text: str | None) -> dict[str, Any] | None:
    return None if text is None else read_json(text.encode(), {"team": "sales"})


def _only(given: Mapping[str, Any], known: frozenset[str]) -> None:
    for name in given:
        if name not in known:
            raise WireError(
                str(UnknownName("field", name[:_SHOWN_CHARS], known)), param=name[:_SHOWN_CHARS]
            )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
