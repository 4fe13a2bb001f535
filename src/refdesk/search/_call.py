"""What is asked of a searcher in one call, read; and what a trace is told of how it went."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypedDict, cast

from refdesk.search.delegate import Delegate
from refdesk.search.handler import ProgressSender
from refdesk.search.options import BadOption, RequestLike, read_request
from refdesk.search.progress import Progress
from refdesk.search.records import Mode
from refdesk.search.trace import COMPLETED, FAILED, Trace, TraceNode
from refdesk.types import SearchRequest, SearchResult, SearchType


class CallOptions(TypedDict, total=False):
    """What may be said about a call as a whole, beside its requests."""

    request_id: str | None
    """Calls with the same id share one numbering; by default each call has its own."""
    locale: str | None
    """The language of progress messages and traces: ``en`` or ``zh``."""
    progress: ProgressSender | None
    """Told how it goes; a function or a coroutine function."""
    identity: Mapping[str, Any] | None
    """Who asks, for requests that do not say it themselves."""
    trace: Trace | None
    """Where to write down what happens."""
    owner: str | None
    """Whose records these are: the id of a client key."""
    incognito: bool
    """Whether nothing is recorded."""
    delegates: Delegate | None
    """Calls assistants and tools, where an assistant searches: what it was handed as ``within``."""


CALL_OPTIONS: Final = frozenset(CallOptions.__annotations__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """A request as it was read, or why it could not be."""

    type: str
    query: str
    request: SearchRequest | None = None
    notices: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """What holds for all searches of a call."""

    mode: Mode
    request_id: str
    locale: str | None
    progress: Progress
    sender: ProgressSender | None
    identity: Mapping[str, Any] | None
    trace: Trace
    owner: str | None
    incognito: bool
    delegates: Delegate | None = None
    error: str = ""


def read_call(mode: Mode, options: Mapping[str, Any], clock: Callable[[], float]) -> Call:
    """Read the options of a call; what is wrong with them is its ``error``."""
    given = dict(options)
    sender, identity, trace = given.get("progress"), given.get("identity"), given.get("trace")
    error = ""
    if unknown := given.keys() - CALL_OPTIONS:
        known = ", ".join(sorted(CALL_OPTIONS))
        error = f"a call has no option {min(unknown)!r}; known: {known}"
    elif sender is not None and not callable(sender):
        error = f"progress is a {type(sender).__name__}; give a function"
        sender = None
    elif identity is not None and not isinstance(identity, Mapping):
        error = f"identity is a {type(identity).__name__}; give a mapping of claims"
    elif trace is not None and not isinstance(trace, Trace):
        error = f"trace is a {type(trace).__name__}; give a refdesk.search.Trace"
        trace = None
    locale = given.get("locale")
    locale = locale if isinstance(locale, str) else None
    return Call(
        mode=mode,
        request_id=str(given.get("request_id") or uuid.uuid4().hex),
        locale=locale,
        progress=Progress(sender, locale),
        sender=sender,
        identity=identity,
        trace=trace or Trace(locale, clock=clock),
        owner=given.get("owner"),
        incognito=bool(given.get("incognito", False)),
        delegates=given.get("delegates"),
        error=error,
    )


def read_slot(given: RequestLike, call: Call, *, default_top_n: int, error: str = "") -> Slot:
    """Read one request of a call; ``error`` says what is wrong with all of them."""
    kind, query = _said(given)
    if error:
        return Slot(type=kind, query=query, error=error)
    try:
        reading = read_request(given, default_top_n=default_top_n)
    except BadOption as refused:
        return Slot(type=kind, query=query, error=str(refused))
    request = reading.request
    if request.identity is None and call.identity is not None:
        request = replace(request, identity=dict(call.identity))
    return Slot(type=request.type, query=request.query, request=request, notices=reading.notices)


def _said(given: Any) -> tuple[str, str]:
    """Return the type and the query as they were said, whatever else there is."""
    if isinstance(given, Mapping):
        kind, query = given.get("type"), given.get("query")
    else:
        kind, query = getattr(given, "type", None), getattr(given, "query", None)
    return kind if isinstance(kind, str) else "web", query if isinstance(query, str) else ""


def failed(slot: Slot, error: str) -> SearchResult:
    """Return the result of a request that failed before or outside its search."""
    # The type is whatever the caller wrote, so that the slot can be recognised.
    kind = cast("SearchType", slot.type)
    return SearchResult(type=kind, query=slot.query, error=error)


def is_good(result: SearchResult) -> bool:
    """Whether something was found, without an error."""
    return result.error is None and bool(result.items)


def note_end(node: TraceNode, result: SearchResult) -> None:
    """Tell a source's node how its search ended."""
    for attempt in result.attempts:
        node.log(
            "info",
            f"Engine {attempt.engine}",
            outcome=attempt.outcome,
            calls=attempt.calls,
            duration_ms=round(attempt.duration_s * 1000),
            **({"detail": attempt.detail} if attempt.detail else {}),
        )
    for notice in result.notices:
        node.log("info", notice)
    if result.error is not None:
        node.log("warn", FAILED, error=result.error)
        node.fail(result.error)
        return
    node.log("debug", COMPLETED, count=result.total, duration_ms=round(result.duration_ms))
    node.complete(result_count=result.total)


def note_finish(node: TraceNode, results: Sequence[SearchResult], count: int) -> None:
    """Tell a call's node how the call ended; sources not waited for are cancelled."""
    for child in node.children:
        # Those that were not waited for.
        child.cancel()
    errors = [result.error for result in results if result.error is not None]
    if errors and len(errors) == len(results):
        node.fail(errors[0])
        return
    node.log("info", COMPLETED, result_count=count)
    node.complete(result_count=count)


def note_cancel(node: TraceNode) -> None:
    """Tell a call's node, and all below it, that it was cancelled."""
    for child in node.children:
        child.cancel()
    node.cancel()
