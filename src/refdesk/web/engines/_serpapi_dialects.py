"""
What the engines behind SerpAPI call their parameters.

Query names as in SerpAPI's own client tests (serpapi/google-search-results-python, February 2026);
the others as its documentation pages have them.  Ecosia and Seznam are in neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Final

from refdesk.types import WebQuery
from refdesk.web.engines._base import Option
from refdesk.web.engines._google import tbs
from refdesk.web.engines._locale import base, google_language, is_traditional_chinese

_EPOCH: Final = date(1970, 1, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """How one engine is asked."""

    query: str
    paging: tuple[str, Callable[[int], int]] | None = None
    """The parameter, and its value for a page counted from 1; None: it has one page."""
    size: str | None = None
    rows: int = 10
    either: str | None = None
    """How it writes "or" between ``site:`` operators; None: it is not given any."""
    honours: frozenset[Option] = frozenset()
    open_dates: bool = True
    write: Callable[[WebQuery, str | None], dict[str, str]] | None = None
    """The parameters for a query's options, given the country asked from."""
    short: Callable[[WebQuery], Iterable[Option]] | None = None
    """The options among ``honours`` that it cannot say for this query."""


def _google(query: WebQuery, country: str | None) -> dict[str, str]:
    params = {}
    if when := tbs(query):
        params["tbs"] = when
    if country:
        params["gl"] = country.lower()
    if query.language:
        params["hl"] = google_language(query.language)
    if query.safe is not None:
        params["safe"] = "active" if query.safe else "off"
    return params


def _google_short(query: WebQuery) -> Iterable[Option]:
    return ["time_range"] if query.time_range and (query.since or query.until) else []


def _bing(query: WebQuery, country: str | None) -> dict[str, str]:
    params = {}
    if query.until:
        first = (query.since - _EPOCH).days if query.since else 0
        params["filters"] = f'ex1:"ez5_{first}_{(query.until - _EPOCH).days}"'
    elif code := _BING_TIMES.get(query.time_range or ""):
        params["filters"] = f'ex1:"{code}"'
    if country and query.language:
        params["mkt"] = f"{base(query.language)}-{country}"
    elif country:
        params["cc"] = country
    if query.safe is not None:
        params["safeSearch"] = "strict" if query.safe else "off"
    return params


def _bing_short(query: WebQuery) -> Iterable[Option]:
    if query.time_range in ("hour", "year") or (query.time_range and query.until):
        yield "time_range"  # a year would need today's date
    if query.since and not query.until:
        yield "dates"
    if query.language and not query.country:
        yield "language"  # it has markets, which are a language and a country


_BING_TIMES: Final = {"hour": "ez1", "day": "ez1", "week": "ez2", "month": "ez3"}


def _baidu(query: WebQuery, country: str | None) -> dict[str, str]:
    if not query.language or base(query.language) != "zh":
        return {}
    return {"ct": "3" if is_traditional_chinese(query.language) else "2"}


def _baidu_short(query: WebQuery) -> Iterable[Option]:
    return ["language"] if query.language and base(query.language) != "zh" else []


def _yandex(query: WebQuery, country: str | None) -> dict[str, str]:
    return {"lang": base(query.language)} if query.language else {}


def _yahoo(query: WebQuery, country: str | None) -> dict[str, str]:
    return {"vl": f"lang_{base(query.language)}"} if query.language else {}


def _duckduckgo(query: WebQuery, country: str | None) -> dict[str, str]:
    params = {}
    if query.since and query.until:
        params["df"] = f"{query.since.isoformat()}..{query.until.isoformat()}"
    elif query.time_range:
        params["df"] = "d" if query.time_range == "hour" else query.time_range[0]
    if country:
        region = {"GB": "uk"}.get(country, country.lower())
        params["kl"] = f"{region}-{base(query.language) if query.language else 'en'}"
    if query.safe is not None:
        params["safe"] = "1" if query.safe else "-2"
    return params


def _duckduckgo_short(query: WebQuery) -> Iterable[Option]:
    both = query.since and query.until
    if query.time_range == "hour" or (query.time_range and both):
        yield "time_range"
    if not both:
        yield "dates"
    if query.language and not query.country:
        yield "language"  # it has regions, which are a country and a language


_OPERATORS: Final[frozenset[Option]] = frozenset({"sites", "blocked_sites"})
_GOOGLE: Final = Dialect(
    query="q",
    paging=("start", lambda page: (page - 1) * 10),
    size="num",
    either="OR",
    honours=_OPERATORS | {"time_range", "dates", "language", "country", "safe"},
    write=_google,
    short=_google_short,
)

DIALECTS: Final[dict[str, Dialect]] = {
    "google": _GOOGLE,
    "google_light": _GOOGLE,
    "bing": Dialect(
        query="q",
        paging=("first", lambda page: (page - 1) * 10 + 1),
        size="count",
        either="OR",
        honours=_OPERATORS | {"time_range", "dates", "language", "country", "safe"},
        open_dates=False,
        write=_bing,
        short=_bing_short,
    ),
    "baidu": Dialect(
        query="q",
        paging=("pn", lambda page: (page - 1) * 10),
        size="rn",
        either="|",
        honours=_OPERATORS | {"language"},
        write=_baidu,
        short=_baidu_short,
    ),
    "yandex": Dialect(
        query="text",
        paging=("p", lambda page: page - 1),
        either="|",
        honours=_OPERATORS | {"language"},
        write=_yandex,
    ),
    "yahoo": Dialect(
        query="p",
        paging=("b", lambda page: (page - 1) * 10 + 1),
        size="pz",
        either="OR",
        honours=_OPERATORS | {"language"},
        write=_yahoo,
    ),
    "duckduckgo": Dialect(
        query="q",
        paging=("start", lambda page: (page - 1) * 30),
        rows=30,
        either="OR",
        honours=_OPERATORS | {"time_range", "dates", "language", "country", "safe"},
        open_dates=False,
        write=_duckduckgo,
        short=_duckduckgo_short,
    ),
    # Its site operator is in no list of SerpAPI's: domains are applied to the results alone.
    "naver": Dialect(
        query="query",
        paging=("page", lambda page: page),
        size="num",
        write=lambda query, country: {"where": "web"},
    ),
}
