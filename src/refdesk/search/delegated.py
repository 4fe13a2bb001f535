"""Searches that an assistant or an MCP tool does, whole or for the web, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from refdesk.cleaning import one_line
from refdesk.errors import DelegateError
from refdesk.http import web_url
from refdesk.search.delegate import Delegate, ask
from refdesk.types import ResultItem, SearchRequest, SearchResult
from refdesk.uses import Uses
from refdesk.web.refusal import refusal, said

_MAX_ITEMS: Final = 1_000
"""Items of a delegate's answer that are read."""
_SAID_CHARS: Final = 200
"""How much of what a delegate says of its failure is told."""
_KNOWN: Final = frozenset(
    {"title", "name", "content", "snippet", "text", "url", "link", "score", "published", "date"}
    | {"document_id", "collection", "model", "record_id", "data", "metadata"}
)


async def search_by_delegate(
    target: Uses, request: SearchRequest, delegate: Delegate | None
) -> SearchResult:
    """
    Have a search done by a delegate.

    What it answers is ``{"items": [{title, content, url, score}], "total"}``, a bare list of such
    items, or either of them as JSON text.

    Raises:
        DelegateError: It failed, or its answer has no items to read.
    """
    answer = await ask(delegate, target, _payload(target, request))
    rows = answer.get("items", answer.get("results")) if isinstance(answer, Mapping) else answer
    if isinstance(answer, Mapping) and _is_refused(answer, rows):
        told = one_line(said(dict(answer)), _SAID_CHARS) or "it does not say why"
        raise DelegateError(f"{str(target)!r} failed: {told}")
    if not isinstance(rows, list):
        raise DelegateError(
            f"{str(target)!r} gave no results to read; "
            'its answer should be {"items": [{"title", "content", "url", "score"}]}'
        )
    items = [item for row in rows[:_MAX_ITEMS] if (item := _item(row, request)) is not None]
    written = answer.get("answer") if isinstance(answer, Mapping) else None
    unread = len(rows) - len(items)
    return SearchResult(
        type=request.type,
        query=request.query,
        source=request.source,
        items=tuple(items),
        answer=written if isinstance(written, str) and written else None,
        engine=str(target),
        notices=(f"{unread} of the results of {str(target)!r} could not be read",)
        if unread
        else (),
    )


def _is_refused(answer: Mapping[str, Any], rows: Any) -> bool:
    """Whether an answer tells of a failure, by its error or by what it says instead of rows."""
    error = answer.get("error")
    return bool(isinstance(error, str) and error) or (
        not rows and refusal(dict(answer)) is not None
    )


def _payload(target: Uses, request: SearchRequest) -> dict[str, Any]:
    options: dict[str, Any] = {
        "limit": request.limit,
        "sites": list(request.sites) or None,
        "blocked_sites": list(request.blocked_sites) or None,
        "time_range": request.time_range,
        "language": request.language,
        "country": request.country,
        "safe": request.safe,
        "collections": None if request.collections is None else list(request.collections),
        "threshold": request.threshold,
        "graph": request.graph,
        "metadata": request.metadata,
        "database": request.database,
        "models": None if request.models is None else list(request.models),
        "wheres": list(request.wheres) or None,
        "orders": list(request.orders) or None,
        "select": list(request.select) or None,
    }
    payload: dict[str, Any] = {"query": request.query}
    # A tool's arguments may be checked against its schema, so it gets only what was said;
    # an assistant has to be told what kind of search it is for.
    if target.kind == "assistant" or request.type != "web":
        payload["type"] = request.type
    if target.kind == "assistant":
        payload["source"] = request.source
    return {**payload, **{name: value for name, value in options.items() if value is not None}}


def _item(row: Any, request: SearchRequest) -> ResultItem | None:
    if not isinstance(row, Mapping):
        return None
    title = _text(row, "title", "name")
    content = _text(row, "content", "snippet", "text")
    url = _text(row, "url", "link")
    if not title and not content:
        return None
    data = row.get("data")
    record = row.get("record_id")
    return ResultItem(
        type=request.type,
        title=title or url or content[:80],
        url=web_url(url) or "",
        content=content,
        published=_text(row, "published", "date") or None,
        score=_share(row.get("score")),
        document_id=_text(row, "document_id") or None,
        collection=_text(row, "collection") or None,
        model=_text(row, "model") or None,
        record_id=record if isinstance(record, (str, int, float, bool)) else None,
        data=dict(data) if isinstance(data, Mapping) else None,
        metadata=_metadata(row),
    )


def _text(row: Mapping[str, Any], *names: str) -> str:
    return next((row[name] for name in names if isinstance(row.get(name), str)), "").strip()


def _share(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return None
    return min(max(float(value), 0.0), 1.0)


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    given = row.get("metadata")
    known = dict(given) if isinstance(given, Mapping) else {}
    return {**{k: v for k, v in row.items() if isinstance(k, str) and k not in _KNOWN}, **known}
