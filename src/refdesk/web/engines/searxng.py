"""
SearXNG: a metasearch of one's own.  https://docs.searxng.org/dev/search_api.html

JSON is off until its operator switches it on.  An empty page is a failure where two of its engines
did not answer, or all that were to be asked.  As searxng/searxng was in November 2026, and before.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from pydantic import Field

from refdesk.errors import EngineError, Outcome
from refdesk.http import HttpRequest, HttpResponse
from refdesk.types import ResultItem, WebPage, WebQuery
from refdesk.web.engines._answer import collect, first_date, first_text, item
from refdesk.web.engines._base import ENGINES, Engine, Option
from refdesk.web.engines._failure import by_words, shown
from refdesk.web.engines._locale import base, is_traditional_chinese, language_in
from refdesk.web.engines._options import BaseUrl, HeaderValue, SafeSearch
from refdesk.web.engines._query import scoped

_NO_PAGES: Final = frozenset({"images.html", "torrent.html", "map.html", "products.html"})
"""Templates of rows that are no web page."""
_MOST_NAMED: Final = 5
_MANY: Final = 2
"""So many engines that did not answer are not one that was suspended among others."""
_CHINESE_REGIONS: Final = {"CN": "CN", "SG": "CN", "TW": "TW", "HK": "HK", "MO": "HK"}


class _Row(msgspec.Struct, rename={"published": "publishedDate"}):
    url: str
    title: str | None = None
    content: Any = None
    published: Any = None
    pubdate: Any = None
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
        safe_search: SafeSearch = None
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
        }
        # The instance asks the engines of both, where both are sent.
        if self.options.engines:
            params["engines"] = self.options.engines
        else:
            params["categories"] = self.options.categories
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
        """
        Read ``results``; what ``answers`` say, else an infobox, is the answer.

        Without a row the pages that answers come from are the rows: an answer alone is none.
        """
        answer = self._read(response, _Answer)
        told = _joined(_texts(answer.answers)) or first_text(*_texts(answer.infoboxes))
        if not answer.results and not told and self._is_down(answer.unresponsive_engines):
            names = shown(_names(answer.unresponsive_engines), self._mask)
            raise EngineError(
                f"none of the engines of {self.name} answered ({names}); they are suspended for "
                "minutes to hours after a CAPTCHA or a rate limit",
                outcome="upstream_down",
            )
        items, skipped = collect(answer.results, _Row, _item)
        if not items:
            items = tuple(_sources(answer.answers))
        return WebPage(items=items, answer=told, skipped=skipped, more=bool(answer.results))

    def _is_down(self, unresponsive: Any) -> bool:
        """
        Whether a page is empty because engines did not answer.

        The instance names those that did not, never those that did.  Where all that were to be
        asked are known, all of them must be missing; else one alone is taken for one of many.
        """
        missing = {name for name, _ in _pairs(unresponsive)}
        if self.options.engines:
            asked = {name.strip().lower() for name in self.options.engines.split(",")}
            return {name for name in asked if name} <= {name.lower() for name in missing}
        return len(missing) >= _MANY

    def _falls_short(self, query: WebQuery) -> Iterator[Option]:
        words = scoped(query, self.max_query_chars)
        if words.sites_dropped:
            yield "sites"
        if words.blocked_dropped:
            yield "blocked_sites"
        if query.time_range == "hour":
            yield "time_range"
        if query.country and not _names_country(_language(query), query.country):
            yield "country"

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
    """Return language and country as the instance takes them, ``de-CH``: no country goes alone."""
    country = query.country
    language = query.language or (language_in(country, query.text) if country else None)
    if not language:
        return None
    code = base(language)
    if code == "zh":
        default = "TW" if is_traditional_chinese(language) else "CN"
        return f"zh-{_CHINESE_REGIONS.get(country or '', default)}"
    return f"{code}-{country}" if country else code


def _names_country(language: str | None, country: str) -> bool:
    return language is not None and language.endswith(f"-{country}")


def _item(row: _Row) -> ResultItem | None:
    if row.template in _NO_PAGES:
        return None
    return item(
        url=row.url,
        title=row.title,
        content=row.content,
        published=first_date(row.published, row.pubdate),
        score=row.score,
    )


def _texts(values: Any) -> Iterator[Any]:
    """Yield the texts of answers, which were strings and are now objects, or of infoboxes."""
    for value in values if isinstance(values, list) else ():
        if not isinstance(value, dict):
            yield value
            continue
        yield value.get("answer")
        yield value.get("content")
        translations = value.get("translations")
        for each in translations if isinstance(translations, list) else ():
            yield each.get("text") if isinstance(each, dict) else None


def _sources(answers: Any) -> Iterator[ResultItem]:
    for value in answers if isinstance(answers, list) else ():
        if isinstance(value, dict) and (
            row := item(url=value.get("url"), content=first_text(*_texts([value])))
        ):
            yield row


def _joined(texts: Iterator[Any]) -> str | None:
    """Return all answers, each once."""
    clean = [text for text in map(first_text, texts) if text]
    return first_text(" … ".join(dict.fromkeys(clean)))


def _pairs(unresponsive: Any) -> Iterator[tuple[str, str]]:
    """Yield engines and reasons, which come as ``[["brave", "CAPTCHA"], …]``."""
    for pair in unresponsive if isinstance(unresponsive, list) else ():
        words = [word for word in (pair if isinstance(pair, list) else [pair]) if word]
        if words and isinstance(words[0], str):
            yield words[0], ": ".join(word for word in words if isinstance(word, str))


def _names(unresponsive: Any) -> str:
    named = [told for _, told in islice(_pairs(unresponsive), _MOST_NAMED)]
    return ", ".join(named) or "unnamed"
