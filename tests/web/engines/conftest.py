"""Engines as the configuration makes them, with a marked key, and answers from recordings."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from recorded import recording
from refdesk.errors import EngineError
from refdesk.http import HttpRequest, HttpResponse
from refdesk.types import WebPage, WebQuery
from refdesk.web.engines import ENGINES, Engine

EVERYTHING = WebQuery(text="tides", limit=100)
"""A query of which no row is cut off."""
KEY = "canary-51f0c2aa&key"
SETTINGS: dict[str, dict[str, Any]] = {
    "brave": {"api_key": KEY},
    "exa": {"api_key": KEY},
    "http": {
        "url": "https://intranet.example/search?lang=en",
        "query_param": "q",
        "page_param": "page",
        "results": "/hits",
        "answer": "/told",
        "fields": {"title": "/t", "url": "/u", "snippet": "/s", "date": "/d"},
        "headers": {"X-Key": KEY},
        "params": {"key": KEY},
    },
    "searxng": {"base_url": "https://searx.example", "headers": {"Authorization": KEY}},
    "serpapi": {"api_key": KEY},
    "serper": {"api_key": KEY},
    "tavily": {"api_key": KEY},
}


@pytest.fixture(scope="session")
def settings_of() -> dict[str, dict[str, Any]]:
    """The settings that each type of engine needs, with a marked key."""
    return SETTINGS


@pytest.fixture(scope="session")
def make() -> Callable[..., Engine]:
    """Make an engine of a type called ``main``, with settings beside the needed ones."""

    def engine(kind: str, **settings: Any) -> Engine:
        assert kind in SETTINGS, f"give {kind!r} settings here, so that the contract is checked"
        made = ENGINES.get(kind).configure("main", {**SETTINGS[kind], **settings})
        assert isinstance(made, Engine)
        return made

    return engine


@pytest.fixture
def read(make: Callable[..., Engine]) -> Callable[..., WebPage]:
    """Read a recording, such as ``serper/search.json``, as that engine."""

    def page(name: str, status: int = 200, **settings: Any) -> WebPage:
        body = recording(f"engines/{name}")
        return make(name.split("/")[0], **settings).page(
            EVERYTHING, HttpResponse(status=status, body=body)
        )

    return page


@pytest.fixture
def refuse(make: Callable[..., Engine]) -> Callable[..., EngineError]:
    """Read an answer that is no page, given as a recording's name or as bytes; the error."""

    def error(
        kind: str, status: int, body: bytes | str = b"", *headers: tuple[str, str], **settings: Any
    ) -> EngineError:
        if isinstance(body, str):
            body = recording(f"engines/{kind}/{body}")
        with pytest.raises(EngineError) as caught:
            make(kind, **settings).page(
                EVERYTHING, HttpResponse(status=status, headers=headers, body=body)
            )
        assert KEY not in str(caught.value)
        return caught.value

    return error


@pytest.fixture
def ask(make: Callable[..., Engine]) -> Callable[..., dict[str, Any]]:
    """Write the request for a query; what it asks, from the query string or the JSON body."""

    def asked(kind: str, query: WebQuery, **settings: Any) -> dict[str, Any]:
        return payload(make(kind, **settings).build_request(query))

    return asked


def payload(request: HttpRequest) -> dict[str, Any]:
    """Return what a request asks."""
    if request.body:
        asked: dict[str, Any] = json.loads(request.body)
        return asked
    return dict(parse_qsl(urlsplit(request.url).query, strict_parsing=True))
