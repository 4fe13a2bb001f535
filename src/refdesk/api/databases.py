"""
Databases over HTTP: what may be asked about, one record, and a question or a query asked.

Everything is under the claims of the client key.  Errors are problem+json (RFC 9457).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec
import structlog

from refdesk.api.bodies import read_object
from refdesk.api.search import Host
from refdesk.db.dsl import Comparison, Constant, Field, Query, QueryError, Source
from refdesk.db.dsl.parse import parse
from refdesk.db.gate import write
from refdesk.db.handler import DatabaseHandler, NotAnswered
from refdesk.db.reading import Scope as Reading
from refdesk.db.reading import compile_for, describe, lint_for
from refdesk.errors import RefdeskError, UnknownName, WireError
from refdesk.gateway.client import Client, HeaderList, Receive, Scope, Send
from refdesk.gateway.driver import CHARGED_KEY
from refdesk.gateway.headers import login_tokens
from refdesk.gateway.log import Entry, RequestLog
from refdesk.ids import new_request_id
from refdesk.search.emit import result_json

PATH: Final = "/api/v1/databases"
_MAX_LIMIT: Final = 1000
_KNOWN: Final = ("query", "models", "limit", "wheres", "orders", "select", "locale")

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk")


@dataclass(frozen=True, kw_only=True, slots=True)
class DatabasesApi:
    """The routes."""

    host: Host
    databases: DatabaseHandler
    log: RequestLog

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await _Call(self, scope, receive, send).run()


class _Call:
    """One request of a client."""

    def __init__(self, api: DatabasesApi, scope: Scope, receive: Receive, send: Send) -> None:
        self.api = api
        self.scope = scope
        self.client = Client(receive, send)
        self.request_id = new_request_id()
        self.key_id: str | None = None
        self._send = send

    async def run(self) -> None:
        """Let the client in, and send the answer, or the problem that it ends in."""
        try:
            if self.api.host.closing:
                raise WireError("this server is shutting down; try again", status=503)
            self.key_id = self.api.host.login.check(login_tokens(self.scope["headers"]))
            parts = [part for part in self.scope["path"].removeprefix(PATH).split("/") if part]
            answer = _posted if self.scope["method"] == "POST" else _got
            await self._answer(200, "application/json", await answer(self, parts))
        except WireError as exc:
            await self._problem(exc.status, str(exc), {"param": exc.param} if exc.param else {})
        except QueryError as exc:
            found = [diagnostic_json(each) for each in exc.diagnostics]
            await self._problem(422, str(exc), {"diagnostics": found})
        except (UnknownName, NotAnswered) as exc:
            await self._problem(404, str(exc), {})
        except RefdeskError as exc:
            await self._problem(502, str(exc), {})
        except asyncio.CancelledError:
            if not self.client.gone:
                raise
        except Exception as exc:
            # Nothing that a client sends may lead here; if it does, it gets an answer all the same.
            _log.exception("a database request failed", request_id=self.request_id)
            what = f"{type(exc).__name__}: a fault of Refdesk, please report it"
            await self._problem(500, f"{what} with the id {self.request_id}", {})
        finally:
            self.client.unwatch()

    @property
    def identity(self) -> Mapping[str, Any]:
        """The claims of the client key."""
        return self.api.host.claims(self.key_id)

    async def body(self) -> bytes:
        """Return the body; from here on the client's leaving ends the work."""
        body = await self.client.read_body(self.scope["headers"])
        self.client.watch(asyncio.current_task())  # type: ignore[arg-type]
        return body

    async def reading(self, name: str) -> Reading:
        """Return what may be read of a database."""
        self.api.databases.databases.get(name)
        reading, _ = await self.api.databases.scope(name, None, self.identity)
        return reading

    async def _problem(self, status: int, detail: str, more: Mapping[str, Any]) -> None:
        problem = {
            "type": "about:blank",
            "title": HTTPStatus(status).phrase,
            "status": status,
            "detail": detail,
            "request_id": self.request_id,
            **more,
        }
        await self._answer(status, "application/problem+json", problem)

    async def _answer(self, status: int, kind: str, shown: Mapping[str, Any]) -> None:
        body = msgspec.json.encode(shown, enc_hook=str)
        headers: HeaderList = [
            (b"content-type", kind.encode()),
            (b"content-length", b"%d" % len(body)),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
            (b"x-request-id", self.request_id.encode()),
        ]
        if status >= 400:
            headers.append((b"connection", b"close"))
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        sent = b"" if self.scope["method"] == "HEAD" else body
        await self._send({"type": "http.response.body", "body": sent})


async def _got(call: _Call, parts: list[str]) -> Mapping[str, Any]:
    match parts:
        case []:
            every = call.api.databases.databases
            return {"databases": [{"name": one.name, "dialect": one.dialect} for one in every]}
        case [name]:
            reading = await call.reading(name)
            database = reading.database
            return {
                "name": database.name,
                "dialect": database.dialect,
                "models": describe(reading.visible),
            }
        case [name, "records", model, *record] if record:
            return await _record(await call.reading(name), model, "/".join(record), call)
    raise _no_path(call)


async def _posted(call: _Call, parts: list[str]) -> Mapping[str, Any]:
    if len(parts) != 2 or parts[1] not in _POSTS:
        raise _no_path(call)
    body = await call.body()
    return await _POSTS[parts[1]](call, parts[0], read_object(body))


async def _ask(call: _Call, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Ask a question: it is searched, numbered and recorded as any other search."""
    host = call.api.host
    call.api.databases.databases.get(name)
    for key in given:
        if key not in _KNOWN:
            raise WireError(f"there is no option {key[:80]!r}; known: {', '.join(_KNOWN)}")
    if spent := host.spent(call.key_id):
        raise WireError(spent, status=429)
    CHARGED_KEY.set(call.key_id)
    entry = Entry(
        request_id=call.request_id, started=time.time(), wire="search", key_id=call.key_id
    )
    entry.incognito = call.client.incognito
    started = time.perf_counter()
    try:
        result = await host.searcher.search(
            {"source": "user", **given, "type": "db", "database": name},
            request_id=call.request_id,
            owner=call.key_id,
            identity=call.identity,
            incognito=entry.incognito,
        )
        entry.status = 200
        entry.outcome.query = result.query
        entry.outcome.notices = list(result.notices)
        entry.outcome.kind = "gateway" if result.error is None else "degraded"
        entry.outcome.reason = "" if result.error is None else "engine_bad_response"  # type: ignore[assignment]
        entry.outcome.detail = result.error or ""
        return result_json(result)
    except asyncio.CancelledError:
        entry.end, entry.status = "client_disconnected", 499
        raise
    finally:
        entry.search_s = entry.total_s = time.perf_counter() - started
        call.api.log.add(entry)


async def _lint(call: _Call, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    reading = await call.reading(name)
    found = lint_for(dict(given), reading)
    return {
        "valid": not any(each.severity == "error" for each in found),
        "diagnostics": [diagnostic_json(each) for each in found],
    }


async def _compile(call: _Call, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    reading = await call.reading(name)
    return compiled_json(parse(dict(given)), reading)


_POSTS: Final[
    Mapping[str, Callable[[_Call, str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]]
] = {"ask": _ask, "lint": _lint, "compile": _compile}


async def _record(reading: Reading, name: str, record: str, call: _Call) -> Mapping[str, Any]:
    model = reading.visible.get(name)
    key = model.primary_key if model else ()
    if model is None:
        raise UnknownName("model", name, reading.models.ids)
    column = model.column(key[0]) if len(key) == 1 else None
    if column is None:
        raise WireError(f"records of {name!r} have no id to be found by", status=404)
    value: str | int = record
    if column.kind == "integer" and record.lstrip("-").isdigit():
        value = int(record)
    query = Query(
        source=Source(name=f"${model.id}"),
        wheres=(Comparison(left=Field(name=column.name), op="=", right=Constant(value=value)),),
    )
    result = await call.api.databases.ask(query, reading, limit=1)
    if not result.items:
        raise WireError(f"there is no {name} {record[:80]!r} that you may see", status=404)
    item = result.items[0]
    return {
        "model": item.model,
        "record_id": item.record_id,
        "title": item.title,
        "content": item.content,
        "data": item.data,
    }


def diagnostic_json(diagnostic: Any) -> dict[str, Any]:
    """Return a finding of the linter as plain values."""
    shown: dict[str, Any] = msgspec.to_builtins(diagnostic)
    return shown


def compiled_json(query: Query, reading: Reading) -> dict[str, Any]:
    """Return a query as the driver takes it: ``{"sql", "params"}``."""
    written = write(compile_for(query, reading), reading.database.dialect)
    return {"sql": written.sql, "params": dict(written.params)}


def _no_path(call: _Call) -> WireError:
    return WireError(
        f"{call.scope['path'][:200]} is not served; served: GET {PATH}, GET {PATH}/{{name}}, "
        f"GET {PATH}/{{name}}/records/{{model}}/{{id}}, "
        f"POST {PATH}/{{name}}/{{{'|'.join(_POSTS)}}}",
        status=404,
    )
