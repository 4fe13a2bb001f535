"""
SearXNG: a metasearch of one's own.  https://docs.searxng.org/dev/search_api.html

JSON is off until its operator switches it on.  An empty page whose engines did not answer is a
failure, not an empty result.  As searxng/searxng was in November 2026, and before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from pydantic import Field

from refdesk.errors import EngineError, Outcome
from refdesk.http import HttpRequest, HttpResponse
from refdesk.types import ResultItem, WebPage, WebQuery
from refdesk.web.engines._answer import collect, first_text, item
from refdesk.web.engines._base import ENGINES, Engine, Option
from refdesk.web.engines._failure import by_words, shown
from refdesk.web.engines._locale import base, google_language
from refdesk.web.engines._options import BaseUrl, HeaderValue
from refdesk.web.engines._query import scoped

_NO_PAGES: Final = frozenset({"images.html", "torrent.html", "map.html", "products.html"})
"""Templates of rows that are no web page."""
_MOST_NAMED = 5


class _Row(msgspec.Struct, rename={"published": "publishedDate"}):
    url: str
    title: str | None = None
    content: Any = None
    published: Any = None
    score: Any = None
    template: Any = None


class _Answer(msgspec.Struct):
    results: list[msgspec.Raw] | None = None
    answers: Any = None
    infoboxes: Any = None
    unresponsive_engines: Any = None


@ENGINES.register("searxng")
class SearXng(Engine):
    """A SearXNG instance."""

    class Options(Engine.Options):
        """Where the instance is, and what it is asked."""

        base_url: BaseUrl = Field(
            description="The instance's address, such as http://127.0.0.1:8888."
        )
        categories: str = Field("general", description="Its categories to ask, comma-separated.")
        engines: str | None = Field(
            None, description="Its engines to ask, comma-separated; else those of the categories."
        )
        headers: dict[str, HeaderValue] = Field(
            {}, description="Headers to send, where a proxy before the instance wants a login."
        )

    options: Options
    honours = frozenset({"sites", "blocked_sites", "time_range", "language", "country", "safe"})
    max_query_chars = 1000

    def build_request(self, query: WebQuery) -> HttpRequest:
        """Write a GET; the instance hands site operators on to its engines as they are."""
        params = {
            "q": scoped(query, self.max_query_chars).text,
            "format": "json",
            "pageno": str(query.page),
            "categories": self.options.categories,
        }
        if self.options.engines:
            params["engines"] = self.options.engines
        if language := _language(query):
            params["language"] = language
        if query.time_range:
            # Anything but day, week, month and year is answered with 400.
            params["time_range"] = "day" if query.time_range == "hour" else query.time_range
        if query.safe is not None:
            params["safesearch"] = "2" if query.safe else "0"
        own = {key.lower(): value.get_secret_value() for key, value in self.options.headers.items()}
        return HttpRequest(
            method="GET",
            url=f"{self.options.base_url}/search?{urlencode(params)}",
            headers=tuple({"accept": "application/json", **own}.items()),
        )

    def parse_response(self, response: HttpResponse) -> WebPage:
        """Read ``results``; the first of ``answers``, else an infobox, is the answer."""
        answer = self._read(response, _Answer)
        if not answer.results and answer.unresponsive_engines:
            names = shown(_names(answer.unresponsive_engines), self._mask)
            raise EngineError(
                f"none of the engines of {self.name} answered ({names}); they are suspended for "
                "minutes to hours after a CAPTCHA or a rate limit",
                outcome="upstream_down",
            )
        items, skipped = collect(answer.results, _Row, _item)
        return WebPage(
            items=items,
            answer=first_text(*_texts(answer.answers), *_texts(answer.infoboxes)),
            skipped=skipped,
            more=bool(answer.results),
        )

    def _falls_short(self, query: WebQuery) -> Iterator[Option]:
        words = scoped(query, self.max_query_chars)
        if words.sites_dropped:
            yield "sites"
        if words.blocked_dropped:
            yield "blocked_sites"
        if query.time_range == "hour":
            yield "time_range"
        if not query.language:
            yield "country"  # it is a part of the language: de-CH

    def _outcome(self, response: HttpResponse) -> Outcome | None:
        return "bad_request" if _gives_no_json(response) else None

    def _remedy(self, response: HttpResponse) -> str:
        if _gives_no_json(response):
            return "add json to search.formats in the settings.yml of the instance"
        if response.status == 429:
            return "the limiter of the instance is on; let it pass this server"
        return ""


def _gives_no_json(response: HttpResponse) -> bool:
    """Whether a 403 is about the format, as it is unless its words are about something else."""
    return response.status == 403 and by_words(response) is None


def _language(query: WebQuery) -> str | None:
    if not query.language:
        return None
    code = base(query.language)
    if code == "zh":
        return "zh-TW" if google_language(query.language) == "zh-tw" else "zh-CN"
    return f"{code}-{query.country}" if query.country else code


def _item(row: _Row) -> ResultItem | None:
    if row.template in _NO_PAGES:
        return None
    return item(
        url=row.url,
        title=row.title,
        content=row.content,
        published=row.published,
        score=row.score,
    )


def _texts(values: Any) -> Iterator[Any]:
    """Yield the texts of answers, which were strings and are now objects, or of infoboxes."""
    for value in values if isinstance(values, list) else ():
        if isinstance(value, dict):
            yield value.get("answer")
            yield value.get("content")
        else:
            yield value


def _names(unresponsive: Any) -> str:
    """Name the engines and reasons, which come as ``[["brave", "CAPTCHA"], …]``."""
    named = []
    for pair in unresponsive[:_MOST_NAMED] if isinstance(unresponsive, list) else ():
        words = pair if isinstance(pair, list) else [pair]
        named.append(": ".join(word for word in words if isinstance(word, str)))
    return ", ".join(name for name in named if name) or "unnamed"
