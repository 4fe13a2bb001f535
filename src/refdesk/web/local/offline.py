"""
Search with no network: full text over a small collection of pages shipped with the package.

For the demo and for tests.  The pages are Markdown files, each headed by its title, address and
date; the index (SQLite FTS5, ranked by bm25, so that rare words weigh more) is built in memory at
the first search.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Final

from refdesk.errors import EngineError, EngineTimeout
from refdesk.types import ResultItem, WebPage, WebQuery
from refdesk.web.engines import ENGINES, LocalEngine, Option
from refdesk.web.filters import read_domains

EXCERPT_CHARS: Final = 480
"""As much of a page as is shown: a little less than what the gateway keeps of a snippet."""
_MOST_WORDS: Final = 32
"""Words of a query that the offline engine looks for."""
_TITLE_WEIGHT: Final = 3.0
_WEAK: Final = 0.2
"""Pages that match this much worse than the best one share only a chance word with the query."""

_CJK: Final = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af])")
_CJK_RUN: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
_WORD: Final = re.compile(r"\w+(?:[.'’+-]\w+)*")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。!?])\s+")
_COMMON_WORDS: Final = """
    a about an and are as at be been but by can could did do does for from give had has have how i
    in into is it its latest list me my new newest of on or our please search should show tell than
    that the their them there these they this to us was we web were what when where which who whom
    whose why will with would you your perform query find information
    """
_COMMON: Final = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One page of the collection."""

    title: str
    url: str
    date: str
    text: str


def read_document(source: str) -> Document:
    """Read a page: ``name: value`` lines, an empty line, the text."""
    head, _, text = source.replace("\r\n", "\n").partition("\n\n")
    values = dict(line.split(": ", 1) for line in head.splitlines())
    return Document(
        title=values["title"], url=values["url"], date=values["date"], text=" ".join(text.split())
    )


def documents() -> Iterator[Document]:
    """Yield the pages shipped with the package, by file name."""
    folder = resources.files("refdesk.web.local") / "pages"
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".md"):
            yield read_document(entry.read_text(encoding="utf-8"))


class Index:
    """
    The full-text index over some pages; safe to use from several threads.

    Args:
        pages: What can be found.
    """

    def __init__(self, pages: Iterator[Document]) -> None:
        self._pages = list(pages)
        self._lock = threading.Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(
            "CREATE VIRTUAL TABLE page USING fts5"
            "(title, text, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        self._database.executemany(
            "INSERT INTO page (rowid, title, text) VALUES (?, ?, ?)",
            [(at, _spaced(page.title), _spaced(page.text)) for at, page in enumerate(self._pages)],
        )

    def close(self) -> None:
        """Free the index."""
        self._database.close()

    def search(self, text: str, give_up: Callable[[], bool]) -> list[Document]:
        """
        Return the pages that match any of the words, the best first; none for no words.

        Args:
            text: Any text at all; it has no syntax.
            give_up: Asked now and then; when it says so, `sqlite3.OperationalError` is raised.
        """
        expression = expression_of(text)
        if not expression:
            return []
        with self._lock:
            self._database.set_progress_handler(give_up, 2000)
            try:
                rows = self._database.execute(
                    "SELECT rowid, bm25(page, ?, 1.0) AS badness FROM page WHERE page MATCH ? "
                    "ORDER BY badness, rowid",
                    (_TITLE_WEIGHT, expression),
                ).fetchall()
            finally:
                self._database.set_progress_handler(None, 0)
        # bm25 is negative in SQLite: the lower, the better.
        return [self._pages[at] for at, badness in rows if badness <= rows[0][1] * _WEAK]


@ENGINES.register("offline")
class Offline(LocalEngine):
    """Full-text search over the pages that come with Refdesk; needs no network and no key."""

    honours: frozenset[Option] = frozenset({"sites", "blocked_sites"})
    rows_per_call: int = 10
    max_query_chars: int = 2000

    async def search(self, query: WebQuery, *, timeout_s: float) -> WebPage:
        """Return one page of results, from a thread; EngineTimeout if it takes too long."""
        deadline = time.monotonic() + timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.to_thread(_search, query, deadline)
        except TimeoutError:
            raise self._late(timeout_s) from None
        except (sqlite3.Error, OSError, KeyError, ValueError) as error:
            if time.monotonic() > deadline:  # the index was told to give up
                raise self._late(timeout_s) from None
            raise EngineError(
                f"engine {self.name!r} (offline) cannot use its index ({type(error).__name__}): "
                "Python's sqlite3 needs FTS5, and the package its pages",
                outcome="parse_error",
            ) from error

    def _late(self, timeout_s: float) -> EngineTimeout:
        return EngineTimeout(
            f"engine {self.name!r} (offline) did not answer within {timeout_s:.3g} s"
        )


def expression_of(text: str) -> str:
    """
    Return the FTS5 expression that finds any of a text's words; empty if it has none.

    Every word is quoted, so that no syntax of FTS5 gets through.  Words with signs in them (3.14,
    state-of-the-art) stand for their parts in a row, and so do the pairs of signs of scripts
    that are written without spaces.
    """
    terms: dict[str, None] = {}
    for run in _CJK_RUN.findall(text):
        pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
        terms.update(dict.fromkeys(" ".join(pair) for pair in pairs))
    words = [word.casefold() for word in _WORD.findall(_CJK_RUN.sub(" ", text))]
    rare = [word for word in words if word not in _COMMON]
    terms.update(dict.fromkeys(rare or words))
    return " OR ".join(f'"{term}"' for term in list(terms)[:_MOST_WORDS])


def excerpt(text: str, query: str, limit: int = EXCERPT_CHARS) -> str:
    """Return the stretch of whole sentences that has the most of the query's words."""
    if len(text) <= limit:
        return text
    stems = {
        word[:5] for word in (found.casefold() for found in _WORD.findall(query))
        if word not in _COMMON
    }  # fmt: skip
    sentences = _SENTENCE_END.split(text)
    best, most = "", -1
    for start in range(len(sentences)):
        stretch = sentences[start][:limit]
        for sentence in sentences[start + 1 :]:
            if len(stretch) + 1 + len(sentence) > limit:
                break
            stretch += " " + sentence
        folded = stretch.casefold()
        hits = sum(stem in folded for stem in stems)
        if hits > most:
            best, most = stretch, hits
    return best


_building = threading.Lock()
_index: list[Index] = []


def _shared_index() -> Index:
    """Return the index of this process, built when it is first needed."""
    with _building:
        if not _index:
            _index.append(Index(documents()))
        return _index[0]


def _search(query: WebQuery, deadline: float) -> WebPage:
    found = _shared_index().search(query.text, lambda: time.monotonic() > deadline)
    domains = read_domains(query.sites, query.blocked_sites)
    found = [page for page in found if domains.permit(page.url)]
    start = (query.page - 1) * query.limit
    rows = found[start : start + query.limit]
    return WebPage(
        items=tuple(
            ResultItem(
                title=page.title,
                url=page.url,
                content=excerpt(page.text, query.text),
                published=page.date,
            )
            for page in rows
        ),
        more=start + query.limit < len(found),
    )


def _spaced(text: str) -> str:
    """Set signs of scripts without spaces apart: the tokenizer takes a run of them for one word."""
    return _CJK.sub(r" \1 ", text)
