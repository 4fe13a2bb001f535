"""
One turn: look up, ask, and find the citations while the answer comes.

The search is done here and put before the model, whichever wire its upstream speaks; the request
itself goes the way of every client's, through the gateway.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from refdesk.answering import small
from refdesk.answering.inside import App, post
from refdesk.answering.talk import HEADERS, PATHS, AnswerReader, body_of, error_in
from refdesk.errors import RefdeskError, UpstreamError
from refdesk.search import Searcher
from refdesk.search.citations import CitationParser, Piece
from refdesk.search.extracting import as_query
from refdesk.search.intent import needs_search
from refdesk.types import Reference, ReferenceContext, SearchResult

_SURE: Final = 0.6
"""A rule that is less sure than this does not keep anybody from searching."""
_MAX_TOKENS: Final = 8192


class AnswerFailed(RefdeskError):
    """The model gave no answer, or not all of one.  The message says what it said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """A question, and whom to ask."""

    question: str
    model: str
    """As clients name it."""
    wire: str
    engine: str | None = None
    """The engine to ask first; naming one means to search in any case."""
    collection: str | None = None
    """Search here; the web is searched too only where an engine is named as well."""
    database: str | None = None
    """Look here, likewise."""
    max_query_chars: int = 400
    small: bool = False
    """The model is a very small one; see `refdesk.answering.small`."""
    identity: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What came of it."""

    text: str
    """The model's words, as it wrote them."""
    cited: tuple[Reference, ...]
    """In the order in which they were cited first."""
    unknown: tuple[str, ...]
    """Ids that the model cited and that nothing has."""
    cut_short: bool


class Turn:
    """
    One question and its answer.  Call `look_up`, then go through `answer`.

    Args:
        asking: The question.
        searcher: Who searches.
        app: The gateway.
    """

    def __init__(self, asking: Asking, *, searcher: Searcher, app: App) -> None:
        self._asking = asking
        self._searcher = searcher
        self._app = app
        self.result: SearchResult | None = None
        """What the search gave; None where none was needed."""
        self.skipped = ""
        """Why nothing was searched, where nothing was."""
        self.context = ReferenceContext()
        self.answered: Answered | None = None
        """Set when the answer is whole."""

    async def look_up(self) -> None:
        """Search, unless the question is sure to need none.  A failure is in the result."""
        asking = self._asking
        verdict = needs_search(asking.question)
        named = (asking.engine, asking.collection, asking.database) != (None, None, None)
        if not named and not verdict.need and verdict.confidence >= _SURE:
            self.skipped = verdict.reason
            return
        query = as_query(asking.question, asking.max_query_chars)
        if not query.text:
            self.skipped = "nothing to search for"
            return
        requests: list[dict[str, Any]] = []
        asked = {"query": query.text, "source": "user"}
        if asking.collection is not None:
            requests.append({**asked, "type": "kb", "collections": [asking.collection]})
        if asking.database is not None:
            requests.append({**asked, "type": "db", "database": asking.database})
        if asking.engine is not None or not requests:
            requests.append({**asked, "type": "web", "engine": asking.engine})
        if len(requests) == 1:
            results = [await self._searcher.search(requests[0], identity=asking.identity)]
        else:
            results = await self._searcher.all(requests, identity=asking.identity)
        # What failed is told only where nothing else was found to answer from.
        self.result = next((each for each in results if each.error is None), results[0])
        self.context = self._searcher.references(results)

    async def answer(self) -> AsyncIterator[Piece]:
        """
        Yield the answer in pieces, as it comes.

        Raises:
            AnswerFailed: The model could not be asked, or its answer broke off.
        """
        asking = self._asking
        parser = CitationParser(self.context.items, format=self._searcher.config.citation.format)
        written: list[str] = []
        body = self._small_body() if asking.small else self._body()
        reader = AnswerReader(asking.wire)
        async with post(
            self._app, PATHS[asking.wire], body, HEADERS.get(asking.wire, ())
        ) as answer:
            if answer.status >= 400:
                said = error_in(await answer.read())
                raise AnswerFailed(f"the model could not be asked ({answer.status}): {said}")
            try:
                async for data in answer:
                    for text in reader.feed(data):
                        written.append(text)
                        for piece in parser.feed(text):
                            yield piece
            except UpstreamError as exc:
                raise AnswerFailed(str(exc)) from None
        for text in reader.finish():
            written.append(text)
            for piece in parser.feed(text):
                yield piece
        for piece in parser.finish():
            yield piece
        if reader.error:
            raise AnswerFailed(f"the answer broke off: {reader.error}")
        if not reader.complete:
            raise AnswerFailed("the answer broke off: the stream ended before it was complete")
        if not "".join(written).strip():
            raise AnswerFailed("the model wrote nothing; try again, or ask another model")
        self.answered = Answered(
            text="".join(written),
            cited=tuple(parser.cited),
            unknown=tuple(dict.fromkeys(name for one in parser.unknown for name in one.ids)),
            cut_short=reader.cut_short,
        )

    def _body(self) -> bytes:
        asking, xml = self._asking, self.context.xml
        return body_of(
            asking.wire,
            model=asking.model,
            system=self.context.prompt,
            text=f"{xml}\n\nQuestion: {asking.question}" if xml else asking.question,
            max_tokens=_MAX_TOKENS,
        )

    def _small_body(self) -> bytes:
        asking = self._asking
        return body_of(
            asking.wire,
            model=asking.model,
            system=small.SYSTEM if self.context.items else "",
            text=small.question(self.context, asking.question),
            max_tokens=small.MAX_TOKENS,
            besides=small.settings(self.context),
        )
