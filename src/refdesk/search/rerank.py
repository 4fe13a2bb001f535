"""
What was found, put in a better order: by weight and rank, by an assistant, or by an MCP tool.

Nothing that a reranker does loses an item it should have kept or makes one up: it names items by
their ids, and on any failure the old order stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from refdesk.errors import DelegateError
from refdesk.search.delegate import DELEGATE_TIMEOUT_S, Delegate, ask
from refdesk.search.references import Merge, citation_id, ranked
from refdesk.types import ResultItem
from refdesk.uses import BUILTIN, Uses

_SENT_CHARS: Final = 2_000
"""Of each item's content: enough to judge it by."""

_ID: Final = re.compile(r"\[?(?:#?ref[:_])?(?:ref_)?0*([0-9]{1,6})\]?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reranked:
    """The items in their new order, and what is to be said about it."""

    items: tuple[ResultItem, ...]
    notices: tuple[str, ...] = ()


class Reranker:
    """
    Reranks as ``uses.rerank`` says.

    Args:
        uses: Who does it.
        delegate: Who is asked, where an assistant or a tool does it.
        method: How the builtin one orders.
        timeout_s: How long a delegate may take.
    """

    def __init__(
        self,
        uses: Uses = BUILTIN,
        delegate: Delegate | None = None,
        *,
        method: Merge = "rrf",
        timeout_s: float = DELEGATE_TIMEOUT_S,
    ) -> None:
        self._uses = uses
        self._delegate = delegate
        self._method = method
        self._timeout_s = timeout_s

    async def rerank(self, query: str, items: Sequence[ResultItem], *, top_n: int) -> Reranked:
        """
        Return the ``top_n`` best items, best first.

        Items without a citation id are given one for the time being, by their place.
        """
        if not items:
            return Reranked(items=())
        if not self._uses.delegated:
            return Reranked(items=tuple(by_worth(items, method=self._method)[:top_n]))
        named = {
            item.citation_id or citation_id(place): item
            for place, item in enumerate(items, start=1)
        }
        try:
            answer = await ask(
                self._delegate,
                self._uses,
                self._payload(query, named, top_n),
                timeout_s=self._timeout_s,
            )
            order = _order_in(answer, named)
        except DelegateError as error:
            notice = f"the results were not reranked: {error}"
            return Reranked(items=tuple(items[:top_n]), notices=(notice,))
        rest = (name for name in named if name not in order)
        return Reranked(items=tuple(named[name] for name in (*order, *rest))[:top_n])

    def _payload(self, query: str, named: Mapping[str, ResultItem], top_n: int) -> dict[str, Any]:
        payload = {
            "query": query,
            "items": [_sent(name, item) for name, item in named.items()],
            "top_n": top_n,
        }
        # A tool has its own name for what it does; an assistant has to be told.
        return payload if self._uses.kind == "mcp" else {**payload, "action": "rerank"}


def by_worth(items: Sequence[ResultItem], *, method: Merge = "rrf") -> list[ResultItem]:
    """
    Order items of several sources by their scores within each, then by weight.

    A source is a collection, a model, or the web.  One in which an item has no score keeps its
    order, and so do items that are worth the same.
    """
    sources: dict[tuple[str | None, ...], list[ResultItem]] = {}
    for item in items:
        sources.setdefault((item.type, item.collection, item.model), []).append(item)
    lists = [_by_score(source) for source in sources.values()]
    return [
        replace(item, scores={**item.scores, "rerank": round(worth, 6)})
        for item, worth in ranked(lists, method=method)
    ]


def _by_score(items: list[ResultItem]) -> list[ResultItem]:
    scores = [item.score for item in items if item.score is not None]
    if len(scores) < len(items):
        return items
    return [item for _, item in sorted(zip(scores, items, strict=True), key=lambda pair: -pair[0])]


def _sent(name: str, item: ResultItem) -> dict[str, Any]:
    sent = {
        "citation_id": name,
        "type": item.type,
        "source": item.source,
        "weight": item.weight,
        "score": item.score,
        "title": item.title,
        "content": item.content[:_SENT_CHARS],
        "url": item.url,
    }
    return {key: value for key, value in sent.items() if value not in (None, "")}


def _order_in(answer: Any, known: Mapping[str, ResultItem]) -> list[str]:
    entries = answer
    if isinstance(answer, Mapping):
        entries = answer.get("order") or answer.get("items")
    if not isinstance(entries, list):
        raise DelegateError('the answer has no order; it should be {"order": ["ref_002", …]}')
    order = dict.fromkeys(name for entry in entries if (name := _id_of(entry)) in known)
    if not order:
        raise DelegateError("the answer names none of the results by their citation_id")
    return [name for name in order if name is not None]


def _id_of(entry: Any) -> str | None:
    if isinstance(entry, Mapping):
        entry = entry.get("citation_id") or entry.get("id")
    if isinstance(entry, int) and not isinstance(entry, bool):
        entry = str(entry)
    if not isinstance(entry, str) or not (match := _ID.fullmatch(entry.strip())):
        return None
    return citation_id(int(match[1]))
