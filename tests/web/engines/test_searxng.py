"""SearXNG: a page of one's own instance, and why there is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from refdesk.errors import ConfigError, EngineError
from refdesk.http import HttpResponse
from refdesk.types import Location, WebPage, WebQuery
from refdesk.web.engines import ENGINES, Engine

Ask = Callable[..., dict[str, Any]]
Read = Callable[..., WebPage]
Refuse = Callable[..., EngineError]


def test_rows_of_2024(read: Read) -> None:
    """The shape of 2024 is read: thirty rows; the infobox is the answer."""
    page = read("searxng/search.json")
    assert len(page.items) == 30
    assert page.items[0].title == "Welcome to Python.org"
    assert page.items[0].score == 9.0
    assert page.answer == "general-purpose programming language"


def test_rows_of_2026(read: Read) -> None:
    """The shape of 2026 is read: answers are objects; pictures are no pages and are counted."""
    page = read("searxng/200-2026.json")
    assert [row.content for row in page.items] == ["High & low water."]
    assert page.items[0].published == "2026-11-20T00:00:00"
    assert page.answer == "About twice a day."
    assert page.skipped == 1


def test_suspended_engines(refuse: Refuse) -> None:
    """No rows while engines did not answer is a failure that names them, not an empty page."""
    error = refuse("searxng", 200, "200-suspended.json")
    assert error.outcome == "upstream_down"
    assert "google: Suspended: CAPTCHA, brave: Suspended: too many requests" in str(error)


ONE = [["brave", "Suspended: too many requests"]]
TWO = [*ONE, ["google", "timeout"]]


@pytest.mark.parametrize(
    ("engines", "unresponsive", "down"),
    [
        (None, [], False),
        (None, ONE, False),
        (None, ["google"], False),
        (None, TWO, True),
        ("brave", ONE, True),
        ("brave, google", ONE, False),
        ("Brave,Google", TWO, True),
        ("brave,google,mojeek", TWO, False),
    ],
)
def test_a_suspended_engine_and_an_honest_nothing(
    make: Callable[..., Engine], engines: str | None, unresponsive: list[Any], down: bool
) -> None:
    """One engine that did not answer is no failure of the instance, nor are some of those named."""
    body = json.dumps({"query": "x", "results": [], "unresponsive_engines": unresponsive}).encode()
    response = HttpResponse(status=200, body=body)
    engine = make("searxng", engines=engines)
    if not down:
        assert engine.page(WebQuery(text="x"), response).items == ()
        return
    with pytest.raises(EngineError) as caught:
        engine.page(WebQuery(text="x"), response)
    assert caught.value.outcome == "upstream_down"


@pytest.mark.parametrize(
    ("answers", "infoboxes", "told"),
    [
        ([{"answer": "42"}, {"answer": "about 6 × 7"}], [], "42 … about 6 × 7"),
        (["a string", {"answer": "a string"}], [], "a string"),
        ([{"translations": [{"text": "Gezeiten"}, {"text": "Tide"}]}], [], "Gezeiten … Tide"),
        ([], [{"infobox": "Tide", "content": "A rise of the sea."}], "A rise of the sea."),
        ([{"answer": ""}, 5, None], [], None),
    ],
)
def test_answers_are_kept(
    make: Callable[..., Engine], answers: list[Any], infoboxes: list[Any], told: str | None
) -> None:
    """All answers are told, also without a row, and while engines did not answer."""
    document = {
        "answers": answers,
        "infoboxes": infoboxes,
        "results": [],
        "unresponsive_engines": ONE,
    }
    response = HttpResponse(status=200, body=json.dumps(document).encode())
    assert make("searxng").page(WebQuery(text="x"), response).answer == told


def test_an_answers_page_is_a_row_where_there_is_no_other(make: Callable[..., Engine]) -> None:
    """An answer that names its page can be cited, though the engines found no other."""
    answers = [{"answer": "Twice a day.", "url": "https://tides.example/"}, {"answer": "42"}]
    body = json.dumps({"answers": answers, "results": []}).encode()
    page = make("searxng").page(WebQuery(text="x"), HttpResponse(status=200, body=body))
    assert [(row.url, row.content) for row in page.items] == [
        ("https://tides.example/", "Twice a day.")
    ]
    assert page.answer == "Twice a day. … 42"


def test_empty(make: Callable[..., Engine]) -> None:
    """No rows with all engines well is an empty page."""
    body = b'{"query":"x","results":[],"unresponsive_engines":[]}'
    assert make("searxng").parse_response(HttpResponse(status=200, body=body)).items == ()


def test_json_is_off(refuse: Refuse) -> None:
    """A 403 says which setting of the instance to change, and quotes the page without markup."""
    error = refuse("searxng", 403, "403-format.html")
    assert error.outcome == "bad_request"
    assert "add json to search.formats" in str(error)
    assert "You don't have the permission" in str(error)
    assert "<" not in str(error)


def test_other_refusals(refuse: Refuse) -> None:
    """The limiter's plain text is a rate limit; a parameter out of its list is a bad request."""
    limited = refuse("searxng", 429, b"Too Many Requests", ("retry-after", "30"))
    assert (limited.outcome, limited.retry_after_s) == ("rate_limited", 30)
    assert refuse("searxng", 400, "400-parameter.json").outcome == "bad_request"
    assert refuse("searxng", 500, b'{"error":"search error"}').outcome == "upstream_down"


def test_request(ask: Ask) -> None:
    """The country is a part of the language; with engines named no category is asked."""
    query = WebQuery(
        text="tides",
        page=2,
        blocked_sites=("a.example",),
        time_range="week",
        language="de",
        location=Location(country="ch"),
        safe=False,
    )
    assert ask("searxng", query, engines="brave,mojeek") == {
        "q": "-site:a.example tides",
        "format": "json",
        "pageno": "2",
        "engines": "brave,mojeek",
        "language": "de-CH",
        "time_range": "week",
        "safesearch": "0",
    }


def test_categories(ask: Ask) -> None:
    """Without engines of one's own choice the categories are asked."""
    assert ask("searxng", WebQuery(text="a"), categories="news")["categories"] == "news"
    assert "engines" not in ask("searxng", WebQuery(text="a"))


@pytest.mark.parametrize(
    ("language", "country", "sent"),
    [
        ("zh", None, "zh-CN"),
        ("zh-hant", None, "zh-TW"),
        ("zh", "hk", "zh-HK"),
        ("zh-hant", "us", "zh-TW"),
        ("pt", "br", "pt-BR"),
        ("en", "de", "en-DE"),
    ],
)
def test_language(ask: Ask, language: str, country: str | None, sent: str) -> None:
    """Language and country go together; Chinese by its region, else by its script."""
    location = Location(country=country) if country else None
    query = WebQuery(text="a", language=language, location=location)
    assert ask("searxng", query)["language"] == sent


@pytest.mark.parametrize(
    ("text", "country", "sent"),
    [
        ("Wetter morgen", "de", "de-DE"),
        ("what is the weather tomorrow", "de", "en-DE"),
        ("天気", "jp", "ja-JP"),
        ("明日の天気", "jp", "ja-JP"),
        ("weer morgen", "be", "nl-BE"),
        ("vær", "no", "nb-NO"),
        ("news", "us", "en-US"),
        ("날씨", "jp", "ko-JP"),
        ("天气", "tw", "zh-TW"),
        ("news", "zz", None),
    ],
)
def test_a_country_without_a_language(
    ask: Ask, make: Callable[..., Engine], text: str, country: str, sent: str | None
) -> None:
    """It goes with the language that the words show, else its own; an unknown one is dropped."""
    query = WebQuery(text=text, location=Location(country=country))
    assert ask("searxng", query).get("language") == sent
    assert make("searxng").dropped(query) == (
        () if sent and sent[-2:] == country.upper() else ("country",)
    )


def test_what_falls_short(ask: Ask, make: Callable[..., Engine]) -> None:
    """An hour is asked as a day, and Chinese has regions of its own; both are named as dropped."""
    query = WebQuery(text="a", time_range="hour", language="zh", location=Location(country="de"))
    assert ask("searxng", query)["time_range"] == "day"
    assert make("searxng").dropped(query) == ("time_range", "country")


def test_base_url_is_needed() -> None:
    """Without the instance's address there is no engine."""
    with pytest.raises(ConfigError, match=r"engines\.own: base_url: Field required"):
        ENGINES.get("searxng").configure("own", {})
