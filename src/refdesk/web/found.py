"""What an engine's pages come to: one list, filtered, each page once, with what was amiss."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final

from refdesk.errors import EngineError
from refdesk.types import Attempt, ResultItem, WebPage, WebQuery
from refdesk.web.engines import BaseEngine
from refdesk.web.filters import Domains, clean, tidy
from refdesk.web.query import not_honoured, wanted_options

ROWS_PER_PAGE: Final = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A query ready to be asked: its text normal, its domains read."""

    query: WebQuery
    domains: Domains = field(default_factory=Domains)
    pages: int = 1

    def key(self, engine: str, edition: int) -> Hashable:
        """
        Return what is equal for questions that have the same answer.

        It is small whatever the client asked, since it is kept as long as the answer.
        """
        query = replace(self.query, text=self.query.text.casefold(), sites=(), blocked_sites=())
        allowed = self.domains.allowed
        only = None if allowed is None else sorted(set(map(repr, allowed)))
        blocked = sorted(set(map(repr, self.domains.blocked)))
        asked = (engine, edition, self.pages, query, only, blocked)
        return blake2b(repr(asked).encode(errors="surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What a search brought home, before it is one caller's answer."""

    engine: str
    engine_type: str
    items: tuple[ResultItem, ...] = ()
    answer: str | None = None
    rows: int = 0
    """Rows the engine gave, before they were filtered."""
    skipped: int = 0
    """Rows the engine's answer had, and that could not be used."""
    partial: bool = False
    """Whether a page is missing."""
    notices: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    cached: bool = False
    queue_s: float = 0.0

    @property
    def detail(self) -> str:
        """The rows, in words."""
        words = f"{len(self.items)} of {self.rows} rows used"
        return f"{words}, {self.skipped} more could not be read" if self.skipped else words


def found_bytes(found: Found) -> int:
    """Return about how much memory this takes: what a cache counts."""
    texts = sum(len(item.title) + len(item.url) + len(item.content) for item in found.items)
    extras = sum(len(repr(item.metadata)) for item in found.items if item.metadata)
    return 600 + 500 * len(found.items) + 2 * texts + 4 * extras + 2 * len(found.answer or "")


def merged(
    pages: Sequence[WebPage | EngineError],
    question: Question,
    engine: BaseEngine,
    engine_type: str,
    *,
    refused_options: bool = False,
) -> Found:
    """
    Put an engine's pages together, in rank order.

    Args:
        pages: First page first; errors stand for pages that are missing.
        question: What was asked.
        engine: Who was asked.
        engine_type: What the configuration calls its kind.
        refused_options: Whether it was asked without the query's options in the end.
    """
    good = [page for page in pages if isinstance(page, WebPage)]
    rows = [item for page in good for item in page.items]
    dropped = {name for page in good for name in page.dropped}
    if refused_options:
        dropped |= wanted_options(question.query)
    answer = next((clean(page.answer).strip() for page in good if page.answer), "")
    return Found(
        engine=engine.name,
        engine_type=engine_type,
        items=tidy(rows, question.domains, question.pages * ROWS_PER_PAGE),
        answer=answer or None,
        rows=len(rows),
        skipped=sum(page.skipped for page in good),
        partial=len(good) < len(pages),
        notices=(
            *not_honoured(question.query, engine, engine_type, dropped),
            *_amiss(pages, engine),
        ),
    )


def _amiss(pages: Sequence[WebPage | EngineError], engine: BaseEngine) -> list[str]:
    notices: list[str] = []
    seen: set[str] = set()
    for number, page in enumerate(pages, start=1):
        if isinstance(page, EngineError):
            notices.append(
                f"page {number} of engine {engine.name!r} failed ({page.reason}); "
                "the pages before it are used"
            )
            continue
        urls = {item.url for item in page.items}
        if number > 1 and urls and urls <= seen:
            notices.append(f"page {number} of engine {engine.name!r} only repeated earlier rows")
        seen |= urls
    return notices
