"""
Exa: search by meaning.  https://exa.ai/docs/reference/search

Rows have no text unless ``contents`` is asked for; highlights are, because whole texts may be whole
pages.  It has no second page.  Price as listed in November 2026, for up to 25 rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from pydantic import Field

from refdesk.http import HttpRequest, HttpResponse
from refdesk.types import ResultItem, WebPage, WebQuery
from refdesk.web.engines._answer import collect, first_text, item
from refdesk.web.engines._base import ENGINES, Engine, Option
from refdesk.web.engines._options import ApiKey, BaseUrl
from refdesk.web.engines._query import cut, domains


class _Row(msgspec.Struct, rename="camel"):
    url: str
    title: str | None = None
    highlights: Any = None
    summary: Any = None
    text: Any = None
    published_date: Any = None
    score: Any = None


class _Answer(msgspec.Struct):
    results: list[msgspec.Raw] | None = None


@ENGINES.register("exa")
class Exa(Engine):
    """Exa's search."""

    class Options(Engine.Options):
        """Settings of an Exa account."""

        api_key: ApiKey = Field(description="The key from exa.ai, sent as a header.")
        base_url: BaseUrl = Field(
            "https://api.exa.ai", description="Where to call instead of api.exa.ai."
        )
        search_type: Literal["auto", "fast", "instant", "neural"] = Field(
            "auto", description="How it searches; fast and instant answer sooner."
        )
        category: str | None = Field(
            None, description="Only results of one kind, such as news or research paper."
        )

    options: Options
    honours = frozenset({"sites", "blocked_sites", "dates", "country"})
    # Beyond 25 rows a call costs five times as much.
    rows_per_call = 25
    pages = False
    max_query_chars = 2000
    list_price = 5.0

    def build_request(self, query: WebQuery) -> HttpRequest:
        """Write a POST; of included and excluded domains Exa takes only one list."""
        payload: dict[str, Any] = {
            "query": cut(query.text, self.max_query_chars),
            "type": self.options.search_type,
            "numResults": min(query.limit, self.rows_per_call),
            "contents": {"highlights": True},
        }
        if self.options.category:
            payload["category"] = self.options.category
        if only := domains(query.sites):
            payload["includeDomains"] = only
        elif never := domains(query.blocked_sites):
            payload["excludeDomains"] = never
        if query.since:
            payload["startPublishedDate"] = f"{query.since.isoformat()}T00:00:00.000Z"
        if query.until:
            payload["endPublishedDate"] = f"{query.until.isoformat()}T23:59:59.999Z"
        if query.country:
            payload["userLocation"] = query.country
        return HttpRequest(
            method="POST",
            url=f"{self.options.base_url}/search",
            headers=(
                ("x-api-key", self.options.api_key.get_secret_value()),
                ("content-type", "application/json"),
                ("accept", "application/json"),
            ),
            body=msgspec.json.encode(payload),
        )

    def parse_response(self, response: HttpResponse) -> WebPage:
        """Read ``results``: highlights, else the summary, else the text."""
        answer = self._read(response, _Answer)
        items, skipped = collect(answer.results, _Row, _item)
        return WebPage(items=items, skipped=skipped, more=False)

    def _falls_short(self, query: WebQuery) -> Iterator[Option]:
        only = domains(query.sites)
        if len(only) < len(set(query.sites)):
            yield "sites"
        if only or len(domains(query.blocked_sites)) < len(set(query.blocked_sites)):
            yield "blocked_sites"


def _item(row: _Row) -> ResultItem | None:
    return item(
        url=row.url,
        title=row.title,
        content=_content(row),
        published=row.published_date,
        score=row.score,
    )


def _content(row: _Row) -> str | None:
    if isinstance(row.highlights, list):
        texts = [text for text in row.highlights if isinstance(text, str) and text]
        if texts:
            return " … ".join(texts)
    return first_text(row.summary, row.text)
