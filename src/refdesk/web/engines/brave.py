"""
Brave Search API.  https://api-dashboard.search.brave.com/app/documentation

``offset`` counts pages, not rows.  Accounts of the old free plan may ask once a second, so calls
with one key keep that distance.  Price as listed in September 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from pydantic import Field

from refdesk.errors import EngineError, Outcome
from refdesk.http import HttpRequest, HttpResponse
from refdesk.types import ResultItem, WebPage, WebQuery
from refdesk.web.engines._answer import (
    EMPTY,
    Unreadable,
    collect,
    decode,
    first_date,
    item,
    part,
)
from refdesk.web.engines._base import ENGINES, Engine, Option
from refdesk.web.engines._failure import MAX_RETRY_AFTER_S
from refdesk.web.engines._locale import base, is_traditional_chinese, normal
from refdesk.web.engines._options import ApiKey, BaseUrl, SafeSearch
from refdesk.web.engines._query import scoped

_MOST_WORDS: Final = 50
"""Words of a query that Brave takes; the rest is left out."""
_LAST_OFFSET: Final = 9

# Both lists as brave/brave-search-mcp-server has them in src/tools/web/params.ts (2026).  Any other
# value is answered with 422.
_COUNTRIES: Final = frozenset(
    re.findall(
        r"\w+",
        "AR AU AT BE BR CA CL DK FI FR DE HK IN ID IT JP KR MY MX NL NZ NO CN PL PT PH RU SA ZA ES "
        "SE CH TW TR GB US",
    )
)
_LANGUAGES: Final = frozenset(
    re.findall(
        r"[\w-]+",
        "ar eu bn bg ca zh-hans zh-hant hr cs da nl en en-gb et fi fr gl de gu he hi hu is it jp "
        "kn ko lv lt ms ml mr nb pl pt-br pt-pt pa ro ru sr sk sl es sv ta te th tr uk vi",
    )
)
_OTHER_NAMES: Final = {"ja": "jp", "no": "nb", "nn": "nb", "pt": "pt-br", "iw": "he"}


class _Row(msgspec.Struct):
    url: str
    title: str | None = None
    description: Any = None
    extra_snippets: Any = None
    page_age: Any = None
    age: Any = None


class _Web(msgspec.Struct):
    results: list[msgspec.Raw] | None = None


class _About(msgspec.Struct):
    more_results_available: bool = True


class _Answer(msgspec.Struct):
    web: _Web | None = None
    query: msgspec.Raw = EMPTY


class _Meta(msgspec.Struct):
    quota_limit: float | None = None
    quota_current: float | None = None


class _Error(msgspec.Struct):
    code: str = ""
    meta: msgspec.Raw = EMPTY


class _Refusal(msgspec.Struct):
    error: _Error


@ENGINES.register("brave")
class Brave(Engine):
    """Brave's own index."""

    class Options(Engine.Options):
        """Settings of a Brave Search API account."""

        api_key: ApiKey = Field(description="The subscription token, sent as a header.")
        base_url: BaseUrl = Field(
            "https://api.search.brave.com", description="Where to call instead of Brave."
        )
        extra_snippets: bool = Field(
            False, description="Whether to ask for up to five more excerpts a row (some plans)."
        )
        safe_search: SafeSearch = None
        min_interval_s: float = Field(
            1.1,
            ge=0,
            description="Seconds between two calls; 0 where the plan allows many a second.",
        )

    options: Options
    honours = frozenset(
        {"sites", "blocked_sites", "time_range", "dates", "language", "country", "safe"}
    )
    rows_per_call = 20
    open_dates = False
    max_query_chars = 400
    list_price = 5.0
    min_interval_s = 1.1

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self.min_interval_s = options.min_interval_s

    def build_request(self, query: WebQuery) -> HttpRequest:
        """Write a GET for web rows only, without markup in the texts."""
        params: dict[str, str | int] = {
            "q": scoped(query, self.max_query_chars, _MOST_WORDS).text,
            "count": min(query.limit, self.rows_per_call),
            "offset": min(query.page - 1, _LAST_OFFSET),
            "result_filter": "web",
            "text_decorations": "false",
        }
        if query.country in _COUNTRIES:
            params["country"] = str(query.country)
        if language := _language(query):
            params["search_lang"] = language
        if when := _freshness(query):
            params["freshness"] = when
        if query.safe is not None:
            params["safesearch"] = "strict" if query.safe else "off"
        if self.options.extra_snippets:
            params["extra_snippets"] = "true"
        return HttpRequest(
            method="GET",
            url=f"{self.options.base_url}/res/v1/web/search?{urlencode(params)}",
            headers=(
                ("x-subscription-token", self.options.api_key.get_secret_value()),
                ("accept", "application/json"),
            ),
        )

    def parse_response(self, response: HttpResponse) -> WebPage:
        """Read ``web.results``; extra snippets follow the description."""
        answer = self._read(response, _Answer)
        found = answer.web.results if answer.web else None
        items, skipped = collect(found, _Row, _item)
        about = part(answer.query, _About) or _About()
        return WebPage(
            items=items, skipped=skipped, more=bool(found) and about.more_results_available
        )

    def _falls_short(self, query: WebQuery) -> Iterator[Option]:
        words = scoped(query, self.max_query_chars, _MOST_WORDS)
        if words.sites_dropped:
            yield "sites"
        if words.blocked_dropped:
            yield "blocked_sites"
        if query.time_range == "hour" or (query.time_range and query.until):
            yield "time_range"  # a day is its shortest, and dates go before
        if query.since and not query.until:
            yield "dates"
        if not _language(query):
            yield "language"
        if query.country not in _COUNTRIES:
            yield "country"

    def _failure(self, response: HttpResponse) -> EngineError:
        error = super()._failure(response)
        if response.status == 429 and error.retry_after_s is None:
            error.retry_after_s = _reset(response, quota=error.outcome == "no_credit")
        return error

    def _outcome(self, response: HttpResponse) -> Outcome | None:
        try:
            error = decode(response.body, _Refusal).error
        except Unreadable:
            return None
        if response.status == 422 and "TOKEN" in error.code:
            return "bad_key"  # not 401: SUBSCRIPTION_TOKEN_INVALID
        if response.status == 429:
            meta = part(error.meta, _Meta) or _Meta()
            used_up = bool(meta.quota_limit) and (meta.quota_current or 0) >= (
                meta.quota_limit or 0
            )
            return "no_credit" if used_up or "QUOTA" in error.code else "rate_limited"
        return None


def _item(row: _Row) -> ResultItem | None:
    return item(
        url=row.url,
        title=row.title,
        content=_content(row),
        # Some rows have only the words of the results page, such as "3 days ago".
        published=first_date(row.page_age, row.age),
    )


def _content(row: _Row) -> str:
    texts = [row.description, *(row.extra_snippets if isinstance(row.extra_snippets, list) else [])]
    return " … ".join(text for text in texts if isinstance(text, str) and text)


def _language(query: WebQuery) -> str | None:
    """Return Brave's name of the language: Chinese by script, Portuguese by country."""
    if not query.language:
        return None
    code = normal(query.language)
    if base(code) == "zh":
        return "zh-hant" if is_traditional_chinese(code) else "zh-hans"
    if code == "pt" and query.country == "PT":
        return "pt-pt"
    for name in (code, _OTHER_NAMES.get(code), base(code), _OTHER_NAMES.get(base(code))):
        if name in _LANGUAGES:
            return name
    return None


def _freshness(query: WebQuery) -> str | None:
    """Return ``freshness``; a range of dates needs both ends, and the first may be long ago."""
    if query.until:
        since = query.since.isoformat() if query.since else "1990-01-01"
        return f"{since}to{query.until.isoformat()}"
    if query.time_range:
        return "pd" if query.time_range == "hour" else f"p{query.time_range[0]}"
    return None


def _reset(response: HttpResponse, *, quota: bool) -> float | None:
    """Return ``X-RateLimit-Reset``: seconds until the next second, and until the next month."""
    parts = (response.header("x-ratelimit-reset") or "").split(",")
    value = parts[-1 if quota else 0].strip()
    if not (value.isascii() and value.isdigit() and len(value) <= 20):
        return None
    return min(float(value), MAX_RETRY_AFTER_S)
