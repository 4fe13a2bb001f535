"""Any JSON endpoint: the request and the fields of the configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.errors import ConfigError, EngineError
from refdesk.http import HttpResponse
from refdesk.types import WebPage, WebQuery
from refdesk.web.engines import ENGINES, Engine
from refdesk.web.engines._pointer import MISSING, find

KEY = "canary-51f0c2aa&key"
BODY = {
    "q": {"text": "all of {query}", "from": "{page}"},
    "size": ["{limit}", 5, None],
    "{query}": True,
}


def test_the_contracts_example() -> None:
    """The example of the configuration reference is read as it stands there."""
    made = ENGINES.get("http").configure(
        "ours",
        {
            "method": "GET",
            "url": "https://intranet/search",
            "headers": {},
            "body": None,
            "query_param": "q",
            "page_param": "page",
            "results": "/hits",
            "fields": {"title": "/t", "url": "/u", "snippet": "/s", "date": None},
        },
    )
    assert isinstance(made, Engine)
    request = made.build_request(WebQuery(text="holiday rules", page=2))
    assert (request.method, request.url) == (
        "GET",
        "https://intranet/search?q=holiday+rules&page=2",
    )
    assert request.headers == (("accept", "application/json"),)


def test_rows(read: Callable[..., WebPage]) -> None:
    """Rows are read by pointers: lists are joined, numbers written, bad rows counted."""
    page = read("http/200-hits.json")
    assert page.items[0].content == "Thirty days. … Ask early."
    assert [row.published for row in page.items] == ["2026", "2026-11-01"]
    assert page.answer == "Thirty days a year."
    assert page.skipped == 1


def test_get(make: Callable[..., Engine]) -> None:
    """The endpoint's own query string stays; fixed parameters and words follow, as data."""
    request = make("http").build_request(WebQuery(text="a&page=9#x"))
    assert request.url == (
        "https://intranet.example/search?lang=en&key=canary-51f0c2aa%26key&q=a%26page%3D9%23x&page=1"
    )
    assert ("x-key", KEY) in request.headers


def test_post_body(ask: Callable[..., dict[str, Any]]) -> None:
    """Placeholders are filled wherever they stand, alone as numbers; filled text is only text."""
    asked = ask(
        "http",
        WebQuery(text='{limit} "}', page=3, limit=4),
        method="POST",
        body=BODY,
        query_param=None,
        page_param=None,
    )
    assert asked == {
        "q": {"text": 'all of {limit} "}', "from": 3},
        "size": [4, 5, None],
        "{query}": True,
    }


def test_post_without_body(ask: Callable[..., dict[str, Any]]) -> None:
    """A POST without a body of its own sends words and page as JSON fields."""
    assert ask("http", WebQuery(text="a"), method="POST") == {"q": "a", "page": 1}


def test_pages(make: Callable[..., Engine]) -> None:
    """There is a second page where the configuration says how to ask for it."""
    assert make("http").pages
    assert not make("http", page_param=None).pages
    assert make("http", method="POST", page_param=None, body=BODY).pages


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"results": "hits"}, "results: a JSON pointer starts with a slash, such as /hits"),
        ({"fields": {"url": "/a~"}}, "~ is written ~0"),
        ({"body": {"q": "{query}"}}, "a GET has no body"),
        ({"query_param": None}, "nothing carries the query"),
        ({"url": "intranet/search"}, "url: this must be an http or https URL"),
        ({"headers": {"X-Key": "a\r\nb: c"}}, "printable ASCII on one line"),
        ({"headers": {"X Key": "a"}}, "'X Key' is no name of a header"),
        ({"fields": {"link": "/u"}}, r"fields\.link"),
    ],
)
def test_wrong_settings(make: Callable[..., Engine], settings: dict[str, Any], says: str) -> None:
    """A mistake in the configuration is said with its place and the remedy."""
    with pytest.raises(ConfigError, match=says):
        make("http", **settings)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"items":[]}', "there is nothing at '/hits'; correct `results`"),
        (b'{"hits":"none"}', "there is no list at '/hits'"),
    ],
)
def test_wrong_pointer(make: Callable[..., Engine], body: bytes, says: str) -> None:
    """An answer without a list at the pointer says which setting to correct."""
    with pytest.raises(EngineError, match=says) as caught:
        make("http").parse_response(HttpResponse(status=200, body=body))
    assert caught.value.outcome == "parse_error"


def test_null_is_empty(make: Callable[..., Engine]) -> None:
    """Null in place of the list is an empty page."""
    page = make("http").parse_response(HttpResponse(status=200, body=b'{"hits":null}'))
    assert page.items == ()


DOCUMENT = {"a/b": {"m~n": [10, {"": 5}]}, "": 1, "0": "zero"}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/a~1b/m~0n/0", 10),
        ("/a~1b/m~0n/1/", 5),
        ("/", 1),
        ("/0", "zero"),
        ("/a~1b/m~0n/2", MISSING),
        ("/a~1b/m~0n/01", MISSING),
        ("/a~1b/m~0n/-", MISSING),
        ("/0/x", MISSING),
    ],
)
def test_pointers(pointer: str, value: Any) -> None:
    """Pointers lead where RFC 6901 says."""
    assert find(DOCUMENT, pointer) == value


@given(st.text(), st.integers() | st.none() | st.text())
def test_any_name_has_a_pointer(name: str, value: Any) -> None:
    """Every name of a field can be written in a pointer."""
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    assert find({name: value}, pointer) == value
