"""SerpAPI: one API, eight engines' parameter names."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from refdesk.errors import ConfigError, EngineError
from refdesk.types import Location, WebPage, WebQuery
from refdesk.web.engines import ENGINES, Engine

Ask = Callable[..., dict[str, Any]]
Read = Callable[..., WebPage]
Refuse = Callable[..., EngineError]
KEY = "canary-51f0c2aa&key"


@pytest.mark.parametrize(
    ("engine", "asked"),
    [
        ("google", {"q": "tides", "start": "10", "num": "10"}),
        ("google_light", {"q": "tides", "start": "10", "num": "10"}),
        ("bing", {"q": "tides", "first": "11", "count": "10"}),
        ("baidu", {"q": "tides", "pn": "10", "rn": "10"}),
        ("yandex", {"text": "tides", "p": "1"}),
        ("yahoo", {"p": "tides", "b": "11", "pz": "10"}),
        ("duckduckgo", {"q": "tides", "start": "30"}),
        ("naver", {"query": "tides", "page": "2", "num": "10", "where": "web"}),
    ],
)
def test_names(ask: Ask, engine: str, asked: dict[str, str]) -> None:
    """Each engine has its own names for the query, the page and the size."""
    query = WebQuery(text="tides", page=2)
    assert ask("serpapi", query, engine=engine) == {"engine": engine, **asked, "api_key": KEY}


FULL = WebQuery(
    text="tides",
    sites=("a.example", "b.example"),
    time_range="week",
    language="zh-hant",
    location=Location(country="tw"),
    safe=True,
)
EITHER = "(site:a.example OR site:b.example) tides"
BAR = "(site:a.example | site:b.example) tides"


@pytest.mark.parametrize(
    ("engine", "asked", "dropped"),
    [
        (
            "google",
            {"q": EITHER, "tbs": "qdr:w", "gl": "tw", "hl": "zh-tw", "safe": "active"},
            (),
        ),
        (
            "bing",
            {"q": EITHER, "filters": 'ex1:"ez2"', "mkt": "zh-TW", "safeSearch": "strict"},
            (),
        ),
        ("baidu", {"q": BAR, "ct": "3"}, ("time_range", "country", "safe")),
        ("yandex", {"text": BAR, "lang": "zh"}, ("time_range", "country", "safe")),
        ("yahoo", {"p": EITHER, "vl": "lang_zh"}, ("time_range", "country", "safe")),
        ("duckduckgo", {"q": EITHER, "df": "w", "kl": "tw-zh", "safe": "1"}, ()),
        ("naver", {"query": "tides"}, ("sites", "time_range", "language", "country", "safe")),
    ],
)
def test_options(
    ask: Ask, make: Callable[..., Engine], engine: str, asked: dict[str, str], dropped: tuple[str]
) -> None:
    """Each engine says what it can in its own way, and names the rest as dropped."""
    assert asked.items() <= ask("serpapi", FULL, engine=engine).items()
    made = make("serpapi", engine=engine)
    assert made.dropped(FULL) == dropped
    assert not made.honours & set(dropped)


@pytest.mark.parametrize(
    ("engine", "name", "value"),
    [
        ("google", "tbs", "cdr:1,cd_min:1/2/2026,cd_max:2/3/2026"),
        ("bing", "filters", 'ex1:"ez5_20455_20487"'),
        ("duckduckgo", "df", "2026-01-02..2026-02-03"),
    ],
)
def test_dates(ask: Ask, engine: str, name: str, value: str) -> None:
    """A range of dates in three spellings."""
    query = WebQuery(text="a", since=date(2026, 1, 2), until=date(2026, 2, 3))
    assert ask("serpapi", query, engine=engine)[name] == value


@pytest.mark.parametrize("engine", ["ecosia", "seznam", "googel"])
def test_unknown_engine(engine: str) -> None:
    """An engine that SerpAPI's clients do not know is refused, with the known ones listed."""
    with pytest.raises(ConfigError) as caught:
        ENGINES.get("serpapi").configure("more", {"api_key": KEY, "engine": engine})
    message = str(caught.value)
    assert f"no engine of SerpAPI is known as {engine!r}" in message
    assert "baidu, bing, duckduckgo, google, google_light, naver, yahoo, yandex" in message
    assert ("did you mean 'google'?" in message) is (engine == "googel")
    assert KEY not in message


def test_query_param(ask: Ask, make: Callable[..., Engine]) -> None:
    """With the name of its query an unknown engine is asked all the same, one plain page."""
    settings = {"engine": "ecosia", "query_param": "words"}
    asked = ask("serpapi", FULL, **settings)
    assert asked == {"engine": "ecosia", "words": "tides", "api_key": KEY}
    made = make("serpapi", **settings)
    assert not made.pages
    assert made.dropped(FULL) == ("sites", "time_range", "language", "country", "safe")


def test_rows(read: Read) -> None:
    """A row without a snippet is kept, one without a link counted; the answer box is the answer."""
    page = read("serpapi/200-google.json")
    assert [row.title for row in page.items] == ["Tide tables", "A film of the tide"]
    assert page.items[0].published == "3 days ago"
    assert page.skipped == 1
    assert page.answer == "About twice a day."
    assert read("serpapi/mock-ok.json").items[0].url == "https://example.com/result"


def test_rows_of_naver(read: Read) -> None:
    """Rows may lie under ``web_results``."""
    assert read("serpapi/200-naver-web.json", engine="naver").items[0].title == "조석표"


def test_overview(read: Read) -> None:
    """The paragraphs of an AI overview are the vendor's answer."""
    assert read("serpapi/200-overview.json").answer == "The moon pulls. So does the sun."


def test_empty_with_an_error(read: Read) -> None:
    """An error text under a successful status means that nothing was found."""
    assert read("serpapi/mock-empty-200.json") == WebPage(more=False)


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (200, "mock-error-200.json", "bad_key"),
        (200, b'{"search_metadata":{"status":"Error"},"error":"Timed out"}', "upstream_down"),
        (200, b'{"search_metadata":{"status":"Processing"}}', "upstream_down"),
        (200, b'{"error":"Your account has run out of searches."}', "no_credit"),
        (401, "401-key.json", "bad_key"),
        (400, "400-parameter.json", "unsupported_param"),
        (400, b'{"error":"Missing query `q` parameter."}', "bad_request"),
        (429, "429-searches.json", "no_credit"),
        (429, "429-throughput.json", "rate_limited"),
        (503, b'{"search_metadata":{"status":"Error"},"error":"x"}', "upstream_down"),
    ],
)
def test_refusals(refuse: Refuse, status: int, body: bytes | str, outcome: str) -> None:
    """The status of the search first, then the text: 429 has two meanings, and 200 any."""
    assert refuse("serpapi", status, body).outcome == outcome
