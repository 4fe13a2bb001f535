"""
``/api/v1/databases``: what may be asked about, one record, and a question or a query asked.

Everything is under the claims of the client key.  What reads and writes SQL is imported with the
first request: it takes its time, and most servers have no database.
"""

from __future__ import annotations

import asyncio
import time
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import msgspec

from refdesk.api import schemas
from refdesk.api.call import Call, read
from refdesk.api.collections import check_request
from refdesk.api.problem import read_json
from refdesk.api.routes import Answer, Handler, Route
from refdesk.errors import RefdeskError, UnknownName, WireError
from refdesk.gateway.log import Entry
from refdesk.search.emit import result_json

if TYPE_CHECKING:
    from refdesk.db.reading import Scope

_QUERY: Final = {"select": ["name"], "from": "customers"}


def _told(handler: Handler) -> Handler:
    """Make a handler's faults answers: those of a query with what was found in it."""

    @wraps(handler)
    async def answer(call: Call, **values: str) -> Answer:
        from refdesk.db.dsl import QueryError
        from refdesk.db.handler import NotAnswered

        try:
            return await handler(call, **values)
        except WireError:
            raise
        except QueryError as exc:
            found = [_diagnostic(each) for each in exc.diagnostics]
            return 422, {"detail": str(exc), "diagnostics": found}
        except (UnknownName, NotAnswered) as exc:
            raise WireError(str(exc), status=404) from None
        except RefdeskError as exc:
            raise WireError(str(exc), status=502) from None

    return answer


@_told
async def list_databases(call: Call) -> Answer:
    """Answer with the databases there are."""
    every = call.host.databases.databases
    return 200, {"databases": [{"name": one.name, "dialect": one.dialect} for one in every]}


@_told
async def show_database(call: Call, name: str) -> Answer:
    """Answer with what may be asked about."""
    from refdesk.db.reading import describe

    scope = await _scope(call, name)
    return 200, {
        "name": scope.database.name,
        "dialect": scope.database.dialect,
        "models": describe(scope.visible),
    }


@_told
async def show_record(call: Call, name: str, model: str, record: str) -> Answer:
    """Answer with one record, if the caller may see it."""
    from refdesk.db.dsl import Comparison, Constant, Field, Query, Source
    from refdesk.db.execute import ExecutionFailed
    from refdesk.db.record_keys import record_key

    scope = await _scope(call, name)
    found = scope.visible.get(model)
    if found is None:
        raise UnknownName("model", model, scope.models.ids)
    key = found.primary_key
    column = found.column(key[0]) if len(key) == 1 else None
    if column is None:
        raise WireError(f"records of {model!r} have no id to be found by", status=404)
    nothing = WireError(f"there is no {model} {record[:80]!r} that you may see", status=404)
    value = record_key(record, column, scope.database.dialect)
    if value is None:
        raise nothing
    query = Query(
        source=Source(name=f"${found.id}"),
        wheres=(Comparison(left=Field(name=column.name), op="=", right=Constant(value=value)),),
    )
    try:
        result = await call.host.databases.ask(query, scope, limit=1)
    except ExecutionFailed as exc:
        if not exc.bad_value:
            raise
        raise nothing from None
    if not result.items:
        raise nothing
    item = result.items[0]
    return 200, {
        "model": item.model,
        "record_id": item.record_id,
        "title": item.title,
        "content": item.content,
        "data": item.data,
    }


@_told
async def ask_database(call: Call, name: str) -> Answer:
    """Ask a question: it is searched, numbered and recorded as any other search."""
    given = read(schemas.Question, await call.body(), {"query": "orders above 100"})
    host = call.host
    host.databases.databases.get(name)
    wished = given.model_dump(exclude_none=True)
    request = {"source": "user", **wished, "type": "db", "database": name}
    check_request(request)
    reserved = host.reserve(call.key_id)
    call.end_when_left()
    entry = Entry(
        request_id=call.request_id, started=time.time(), wire="search", key_id=call.key_id
    )
    entry.incognito = call.client.incognito
    started = time.perf_counter()
    try:
        result = await host.searcher.search(
            request,
            request_id=call.request_id,
            owner=call.key_id,
            identity=call.identity,
            incognito=entry.incognito,
        )
        if result.error is not None:
            reserved.give_back()
        entry.status = 200
        entry.outcome.query = result.query
        entry.outcome.notices = list(result.notices)
        entry.outcome.kind = "gateway" if result.error is None else "degraded"
        entry.outcome.reason = "" if result.error is None else "engine_bad_response"  # type: ignore[assignment]
        entry.outcome.detail = result.error or ""
        return 200, result_json(result)
    except asyncio.CancelledError:
        entry.end, entry.status = "client_disconnected", 499
        raise
    finally:
        entry.search_s = entry.total_s = time.perf_counter() - started
        host.log.add(entry)


@_told
async def lint_query(call: Call, name: str) -> Answer:
    """Say what is wrong with a query."""
    from refdesk.db.reading import lint_for

    given = read_json(await call.body(), _QUERY)
    found = lint_for(given, await _scope(call, name))
    return 200, {
        "valid": not any(each.severity == "error" for each in found),
        "diagnostics": [_diagnostic(each) for each in found],
    }


@_told
async def compile_query(call: Call, name: str) -> Answer:
    """Answer with a query as the driver takes it."""
    from refdesk.db.dsl.parse import parse
    from refdesk.db.gate import write
    from refdesk.db.reading import compile_for

    given = read_json(await call.body(), _QUERY)
    scope = await _scope(call, name)
    written = write(compile_for(parse(given), scope), scope.database.dialect)
    return 200, {"sql": written.sql, "params": dict(written.params)}


async def _scope(call: Call, name: str) -> Scope:
    """Return what the caller may read of a database."""
    handler = call.host.databases
    handler.databases.get(name)
    scope, _ = await handler.scope(name, None, call.identity)
    return scope


def _diagnostic(diagnostic: Any) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(diagnostic)
    return shown


ROUTES: Final = (
    Route(
        method="GET",
        path="/databases",
        handler=list_databases,
        summary="The databases that can be asked.",
        answer=schemas.DatabaseList,
    ),
    Route(
        method="GET",
        path="/databases/{name}",
        handler=show_database,
        summary="What may be asked about.",
        answer=schemas.DescribedDatabase,
    ),
    Route(
        method="GET",
        path="/databases/{name}/records/{model}/{record}",
        handler=show_record,
        summary="One record.",
        answer=schemas.Record,
    ),
    Route(
        method="POST",
        path="/databases/{name}/ask",
        handler=ask_database,
        summary="Ask a question in words; the answer is rows.",
        body=schemas.Question,
        answer=schemas.SearchResult,
    ),
    Route(
        method="POST",
        path="/databases/{name}/lint",
        handler=lint_query,
        summary="What is wrong with a query.",
        body=schemas.QueryDocument,
        answer=schemas.Linted,
    ),
    Route(
        method="POST",
        path="/databases/{name}/compile",
        handler=compile_query,
        summary="A query as SQL, under the caller's rights; it is not run.",
        body=schemas.QueryDocument,
        answer=schemas.Compiled,
    ),
)
