"""
Result items become references: each source once, in order of worth, numbered once per request.

Numbers are given by what an item *is*, not by where it was found: the same page found twice in a
request has one number, and a number given once stays.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import msgspec

from refdesk.cleaning import visible, visible_lines
from refdesk.http import normal_url, web_url
from refdesk.types import Reference, ResultItem

Merge = Literal["rrf", "score_weight"]
"""
How items of several sources are put in one order: by weight and rank (``rrf``), or by score times
weight, where the score of what only has a rank is made from its rank.
"""

_RRF_K: Final = 60
"""The constant of reciprocal rank fusion (Cormack et al., 2009): it flattens the first ranks."""


MAX_CONTENT_CHARS: Final = 50_000
"""Of a reference's text: more than any chunk or snippet, less than a page made to choke on."""


def citation_id(index: int) -> str:
    """Return the id for a number: ``ref_001`` for 1."""
    return f"ref_{index:03d}"


class CitationIds:
    """The numbering of one request, from 1, for use from any thread."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._lock = threading.Lock()

    def number(self, key: Hashable) -> int:
        """Return the number of what has this key: its old one, or the next."""
        with self._lock:
            return self._numbers.setdefault(key, len(self._numbers) + 1)

    @property
    def count(self) -> int:
        """How many numbers have been given."""
        return len(self._numbers)


def key_of(item: ResultItem) -> Hashable:
    """Return what is equal for two items that are the same thing."""
    if item.type == "db" and item.record_id is not None:
        return ("db", item.model, repr(item.record_id))
    if item.type == "kb":
        chunk = item.metadata.get("chunk_id") or item.metadata.get("segment_id")
        return ("kb", item.collection, chunk if isinstance(chunk, (str, int)) else _hash(item))
    if item.type == "web" and item.url:
        return ("web", normal_url(item.url))
    return (item.type, _hash(item))


def unique(items: Iterable[ResultItem]) -> list[ResultItem]:
    """Return each thing once, at its first place: its highest weight, then its highest score."""
    best: dict[Hashable, ResultItem] = {}
    for item in items:
        key = key_of(item)
        if key not in best or _worth(item) > _worth(best[key]):
            best[key] = item
    return list(best.values())


def merged(lists: Sequence[Sequence[ResultItem]], *, method: Merge = "rrf") -> list[ResultItem]:
    """
    Put the items of several sources in one order, each thing once.

    Every list is one source, best first.  Scores of different sources are not comparable, so ranks
    are, before weights.  What was found more than once counts at its best; at equal worth, what
    more sources found is first, and then what came first.
    """
    return [item for item, _ in ranked(lists, method=method)]


def ranked(
    lists: Sequence[Sequence[ResultItem]], *, method: Merge = "rrf"
) -> list[tuple[ResultItem, float]]:
    """Do as `merged`, and say what each item is worth."""
    found: dict[Hashable, _Found] = {}
    for items in lists:
        for rank, item in enumerate(unique(items), start=1):
            worth = _fused(item, rank, len(items), method)
            if (known := found.get(key_of(item))) is None:
                found[key_of(item)] = _Found(item, worth)
                continue
            known.times += 1
            known.worth = max(known.worth, worth)
            if _worth(item) > _worth(known.item):
                known.item = item
    best_first = sorted(found.values(), key=lambda each: (-each.worth, -each.times))
    return [(each.item, each.worth) for each in best_first]


def numbered(item: ResultItem, ids: CitationIds) -> ResultItem:
    """Return the item with its number in this request."""
    index = ids.number(key_of(item))
    return replace(item, index=index, citation_id=citation_id(index))


def reference_of(item: ResultItem) -> Reference:
    """Return a numbered item as a reference, cleaned of what cannot be seen."""
    return Reference(
        id=item.citation_id,
        index=item.index,
        type=item.type,
        source=item.source,
        weight=item.weight,
        score=item.score,
        title=" ".join(visible(item.title[:MAX_CONTENT_CHARS]).split()),
        content=visible_lines((item.content or _row_text(item))[:MAX_CONTENT_CHARS]).strip(),
        url=web_url(item.url) or "",
        meta=_meta(item),
    )


@dataclass(slots=True)
class _Found:
    item: ResultItem
    worth: float
    times: int = field(default=1)


def _fused(item: ResultItem, rank: int, count: int, method: Merge) -> float:
    if method == "rrf":
        return item.weight / (_RRF_K + rank)
    score = 1 - (rank - 1) / count if item.score is None else item.score
    return score * item.weight


def _worth(item: ResultItem) -> tuple[float, float]:
    return (item.weight, -1.0 if item.score is None else item.score)


def _hash(item: ResultItem) -> str:
    parts = [item.title, item.content, _plain(item.data)]
    text = "\x00".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _plain(data: Any) -> str:
    return "" if data is None else repr(msgspec.to_builtins(data, enc_hook=repr))


def _row_text(item: ResultItem) -> str:
    return "\n".join(f"{name}: {value}" for name, value in (item.data or {}).items())


def _meta(item: ResultItem) -> dict[str, Any]:
    known = {
        "document_id": item.document_id,
        "collection": item.collection,
        "model": item.model,
        "record_id": item.record_id,
        "data": None if item.data is None else dict(item.data),
        "published": item.published,
        "scores": dict(item.scores) or None,
    }
    return {
        **{name: value for name, value in known.items() if value is not None},
        **({"metadata": dict(item.metadata)} if item.metadata else {}),
    }
