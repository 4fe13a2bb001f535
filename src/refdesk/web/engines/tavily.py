"""
Tavily: search made for language models.  https://docs.tavily.com

It has no second page; two pages of ten are one call of twenty.  Prices as listed in November 2026.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from pydantic import Field

from refdesk.errors import Outcome
from refdesk.http import HttpRequest, HttpResponse
from refdesk.types import ResultItem, WebPage, WebQuery
from refdesk.web.engines._answer import collect, first_text, item
from refdesk.web.engines._base import ENGINES, Engine, Option
from refdesk.web.engines._countries import TAVILY_COUNTRIES
from refdesk.web.engines._locale import base
from refdesk.web.engines._options import ApiKey, BaseUrl
from refdesk.web.engines._query import cut, domains

_MOST_INCLUDED = 300
_MOST_EXCLUDED = 150
_ADVANCED_PRICE = 16.0


class _Row(msgspec.Struct):
    url: str
    title: str | None = None
    content: Any = None
    published_date: Any = None
    score: Any = None


class _Answer(msgspec.Struct):
    results: list[msgspec.Raw] | None = None
    answer: Any = None


@ENGINES.register("tavily")
class Tavily(Engine):
    """Tavily's search."""

    class Options(Engine.Options):
        """Settings of a Tavily account."""

        api_key: ApiKey = Field(description="The key (tvly-…), sent as a bearer token.")
        base_url: BaseUrl = Field(
            "https://api.tavily.com", description="Where to call instead of api.tavily.com."
        )
        search_depth: Literal["basic", "advanced", "fast", "ultra-fast"] = Field(
            "basic", description="How hard it searches; advanced costs twice as much."
        )
        topic: Literal["general", "news", "finance"] = Field(
            "general",
            description="What it searches; only news has dates, only general takes a country.",
        )
        answer: bool = Field(
            False, description="Whether it also writes its own short answer, given as material."
        )

    options: Options
    honours = frozenset(
        {"sites", "blocked_sites", "time_range", "dates", "language", "country"},
    )
    rows_per_call = 20
    pages = False
    max_query_chars = 400
    list_price = 8.0

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        if options.search_depth == "advanced":
            self.list_price = _ADVANCED_PRICE

    def build_request(self, query: WebQuery) -> HttpRequest:
        """Write a POST; Tavily has a field of its own for every option it knows."""
        payload: dict[str, Any] = {
            "query": cut(query.text, self.max_query_chars),
            "max_results": min(query.limit, self.rows_per_call),
            "search_depth": self.options.search_depth,
            "topic": self.options.topic,
            "include_answer": self.options.answer,
        }
        if only := domains(query.sites, _MOST_INCLUDED):
            payload["include_domains"] = only
        if never := domains(query.blocked_sites, _MOST_EXCLUDED):
            payload["exclude_domains"] = never
        if query.since or query.until:
            if query.since:
                payload["start_date"] = query.since.isoformat()
            if query.until:
                payload["end_date"] = query.until.isoformat()
        elif query.time_range:
            payload["time_range"] = "day" if query.time_range == "hour" else query.time_range
        if query.language:
            payload["language"] = base(query.language)
        if country := self._country(query):
            payload["country"] = country
        return HttpRequest(
            method="POST",
            url=f"{self.options.base_url}/search",
            headers=(
                ("authorization", f"Bearer {self.options.api_key.get_secret_value()}"),
                ("content-type", "application/json"),
                ("accept", "application/json"),
            ),
            body=msgspec.json.encode(payload),
        )

    def parse_response(self, response: HttpResponse) -> WebPage:
        """Read ``results`` and ``answer``; there is never more."""
        answer = self._read(response, _Answer)
        items, skipped = collect(answer.results, _Row, _item)
        return WebPage(items=items, answer=first_text(answer.answer), skipped=skipped, more=False)

    def _country(self, query: WebQuery) -> str | None:
        if self.options.topic != "general" or not query.country:
            return None
        return TAVILY_COUNTRIES.get(query.country)

    def _falls_short(self, query: WebQuery) -> Iterator[Option]:
        if len(domains(query.sites, _MOST_INCLUDED)) < len(set(query.sites)):
            yield "sites"
        if len(domains(query.blocked_sites, _MOST_EXCLUDED)) < len(set(query.blocked_sites)):
            yield "blocked_sites"
        if query.time_range == "hour" or (query.time_range and (query.since or query.until)):
            yield "time_range"  # a day is its shortest, and dates go before
        if not self._country(query):
            yield "country"

    def _outcome(self, response: HttpResponse) -> Outcome | None:
        # 432: the plan or the key is at its limit; 433: so is pay-as-you-go.
        return "no_credit" if response.status in (432, 433) else None


def _item(row: _Row) -> ResultItem | None:
    return item(
        url=row.url,
        title=row.title,
        content=row.content,
        published=row.published_date,
        score=row.score,
    )
