"""
SerpAPI: many search engines' pages as JSON.  https://serpapi.com/search-api

Each engine behind it has its own parameter names (see `_serpapi_dialects`).  The key goes into the
query string, where SerpAPI wants it: no message and no repr shows a query string.  Price of the
smallest plan as listed in November 2026.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlencode

import msgspec
from pydantic import Field, model_validator

from refdesk.errors import Outcome
from refdesk.http import HttpRequest, HttpResponse
from refdesk.types import ResultItem, WebPage, WebQuery
from refdesk.web.engines._answer import EMPTY, collect, first_text, item, part
from refdesk.web.engines._base import ENGINES, Engine, Option
from refdesk.web.engines._failure import told_in_body
from refdesk.web.engines._options import ApiKey, BaseUrl, SafeSearch
from refdesk.web.engines._query import cut, scoped
from refdesk.web.engines._serpapi_dialects import DIALECTS, Dialect

_MAX_QUERY_CHARS = 2048


class _Row(msgspec.Struct):
    link: str
    title: str | None = None
    snippet: Any = None
    date: Any = None


class _Metadata(msgspec.Struct):
    status: str = ""


class _Box(msgspec.Struct):
    answer: Any = None
    snippet: Any = None
    result: Any = None
    description: Any = None


class _Overview(msgspec.Struct):
    text_blocks: list[_Box] = []


class _Answer(msgspec.Struct):
    search_metadata: msgspec.Raw = EMPTY
    organic_results: list[msgspec.Raw] | None = None
    web_results: list[msgspec.Raw] | None = None
    answer_box: msgspec.Raw = EMPTY
    ai_overview: msgspec.Raw = EMPTY
    knowledge_graph: msgspec.Raw = EMPTY


@ENGINES.register("serpapi")
class SerpApi(Engine):
    """One of the search engines behind SerpAPI."""

    class Options(Engine.Options):
        """Settings of a SerpAPI account, and which engine to ask through it."""

        api_key: ApiKey = Field(description="The key from serpapi.com, sent in the query string.")
        base_url: BaseUrl = Field(
            "https://serpapi.com", description="Where to call instead of serpapi.com."
        )
        engine: str = Field(
            "google", description=f"Which engine to ask: {', '.join(sorted(DIALECTS))}."
        )
        query_param: str | None = Field(
            None,
            pattern=r"^\w+$",
            description="What an engine not in that list calls its query; it is then asked "
            "without paging and options.",
        )
        country: str | None = Field(
            None,
            pattern=r"^[A-Za-z]{2}$",
            description="Country searched from (two letters) when the request names none.",
        )

        safe_search: SafeSearch = None

        @model_validator(mode="after")
        def _engine_is_known(self) -> SerpApi.Options:
            if self.engine not in DIALECTS and self.query_param is None:
                known = ", ".join(sorted(DIALECTS))
                close = get_close_matches(self.engine, DIALECTS, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise ValueError(
                    f"no engine of SerpAPI is known as {self.engine!r}; known: {known}{hint} "
                    "(to ask it all the same, say in query_param what it calls its query)"
                )
            if self.safe_search is not None and not self._filters():
                raise ValueError(
                    f"safe_search is set, and {self.engine!r} has no such option; leave it out"
                )
            return self

        def _filters(self) -> bool:
            dialect = DIALECTS.get(self.engine)
            return dialect is not None and "safe" in dialect.honours

    options: Options
    max_query_chars = _MAX_QUERY_CHARS
    list_price = 25.0

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self._dialect = DIALECTS.get(options.engine) or Dialect(query=str(options.query_param))
        self.honours = self._dialect.honours
        self.rows_per_call = self._dialect.rows
        self.pages = self._dialect.paging is not None
        self.open_dates = self._dialect.open_dates

    def build_request(self, query: WebQuery) -> HttpRequest:
        """Write a GET in the parameter names of the chosen engine."""
        dialect = self._dialect
        params = {"engine": self.options.engine, dialect.query: self._words(query)}
        if dialect.paging:
            name, first = dialect.paging
            params[name] = str(first(query.page))
        if dialect.size:
            params[dialect.size] = str(min(query.limit, self.rows_per_call))
        country = query.country or (self.options.country or "").upper() or None
        if dialect.write:
            params.update(dialect.write(query, country))
        params["api_key"] = self.options.api_key.get_secret_value()
        return HttpRequest(
            method="GET",
            url=f"{self.options.base_url}/search.json?{urlencode(params)}",
            headers=(("accept", "application/json"),),
        )

    def parse_response(self, response: HttpResponse) -> WebPage:
        """
        Read ``organic_results``, or ``web_results``.

        ``error`` with HTTP 200 says that nothing was found, or is a failure; a search whose status
        is no success is one in any case.
        """
        answer = self._read(response, _Answer)
        found = answer.organic_results or answer.web_results
        status = (part(answer.search_metadata, _Metadata) or _Metadata()).status
        if not found and status not in ("", "Success"):
            raise self._failure(response)
        items, skipped = collect(found, _Row, _item)
        box = part(answer.answer_box, _Box) or _Box()
        panel = part(answer.knowledge_graph, _Box) or _Box()
        overview = part(answer.ai_overview, _Overview) or _Overview()
        blocks = [block.snippet for block in overview.text_blocks if isinstance(block.snippet, str)]
        return WebPage(
            items=items,
            answer=first_text(
                box.answer, box.result, box.snippet, " ".join(blocks), panel.description
            ),
            skipped=skipped,
            more=self.pages and bool(found),
        )

    def _words(self, query: WebQuery) -> str:
        if self._dialect.either is None:
            return cut(query.text, self.max_query_chars)
        return scoped(query, self.max_query_chars, either=self._dialect.either).text

    def _falls_short(self, query: WebQuery) -> Iterator[Option]:
        words = scoped(query, self.max_query_chars, either=self._dialect.either or "OR")
        if words.sites_dropped:
            yield "sites"
        if words.blocked_dropped:
            yield "blocked_sites"
        if self._dialect.short:
            yield from self._dialect.short(query)

    def _outcome(self, response: HttpResponse) -> Outcome | None:
        if response.status != 200:
            return None
        return told_in_body(response.body) or "upstream_down"


def _item(row: _Row) -> ResultItem | None:
    return item(url=row.link, title=row.title, content=row.snippet, published=row.date)
