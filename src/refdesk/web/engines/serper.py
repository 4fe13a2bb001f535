"""
serper.dev: Google's results as JSON.  https://serper.dev

Google gives at most ten rows a page whatever is asked (since September 2025), and fewer is normal.
Price as listed in November 2026, smallest pack.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from pydantic import Field

from refdesk.http import HttpRequest, HttpResponse
from refdesk.types import ResultItem, WebPage, WebQuery
from refdesk.web.engines._answer import EMPTY, collect, first_text, item, part
from refdesk.web.engines._base import ENGINES, Engine, Option
from refdesk.web.engines._google import tbs
from refdesk.web.engines._locale import google_language
from refdesk.web.engines._options import ApiKey, BaseUrl
from refdesk.web.engines._query import scoped


class _Row(msgspec.Struct):
    link: str
    title: str | None = None
    snippet: Any = None
    date: Any = None


class _Box(msgspec.Struct):
    answer: Any = None
    snippet: Any = None
    description: Any = None


class _Answer(msgspec.Struct, rename="camel"):
    organic: list[msgspec.Raw] | None = None
    answer_box: msgspec.Raw = EMPTY
    knowledge_graph: msgspec.Raw = EMPTY


@ENGINES.register("serper")
class Serper(Engine):
    """Google through serper.dev."""

    class Options(Engine.Options):
        """Settings of a serper.dev account."""

        api_key: ApiKey = Field(description="The key from serper.dev, sent as a header.")
        base_url: BaseUrl = Field(
            "https://google.serper.dev", description="Where to call instead of serper.dev."
        )
        country: str = Field(
            "us",
            pattern=r"^[A-Za-z]{2}$",
            description="Country searched from (two letters) when the request names none.",
        )
        language: str | None = Field(
            None, description="Language of the results page when the request names none."
        )

    options: Options
    honours = frozenset({"sites", "blocked_sites", "time_range", "dates", "language", "country"})
    max_query_chars = 2048
    list_price = 1.0

    def build_request(self, query: WebQuery) -> HttpRequest:
        """Write a POST whose words hold the site operators."""
        payload: dict[str, Any] = {
            "q": scoped(query, self.max_query_chars).text,
            "gl": (query.country or self.options.country).lower(),
            "num": min(query.limit, self.rows_per_call),
            "page": query.page,
        }
        if language := query.language or self.options.language:
            payload["hl"] = google_language(language)
        if when := tbs(query):
            payload["tbs"] = when
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
        """Read ``organic``; the answer box, else the knowledge panel, is the vendor's answer."""
        answer = self._read(response, _Answer)
        items, skipped = collect(answer.organic, _Row, _item)
        box = part(answer.answer_box, _Box) or _Box()
        panel = part(answer.knowledge_graph, _Box) or _Box()
        return WebPage(
            items=items,
            answer=first_text(box.answer, box.snippet, panel.description),
            skipped=skipped,
            more=bool(answer.organic),
        )

    def _falls_short(self, query: WebQuery) -> Iterator[Option]:
        words = scoped(query, self.max_query_chars)
        if words.sites_dropped:
            yield "sites"
        if words.blocked_dropped:
            yield "blocked_sites"
        if query.time_range and (query.since or query.until):
            yield "time_range"  # Google takes one of the two


def _item(row: _Row) -> ResultItem | None:
    return item(
        url=row.link,
        title=row.title,
        content=row.snippet,
        published=row.date,
    )
