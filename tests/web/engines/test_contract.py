"""What holds for every engine that is registered, without being told its name."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote_plus, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from recorded import RECORDINGS
from refdesk.errors import ConfigError, EngineError
from refdesk.http import HttpResponse, is_web_url
from refdesk.types import Location, WebPage, WebQuery
from refdesk.web.engines import ENGINES, Engine, LocalEngine

Make = Callable[..., Engine]
Settings = dict[str, dict[str, Any]]
KEY = "canary-51f0c2aa&key"
NAMES = [name for name in ENGINES.names() if not issubclass(ENGINES.get(name), LocalEngine)]


def having(option: str) -> list[str]:
    return [name for name in NAMES if option in ENGINES.get(name).Options.model_fields]


STATUSES = [200, 204, 302, 400, 401, 402, 403, 404, 422, 429, 432, 500, 503, 599]
FULL = WebQuery(
    text='a "b) OR site:evil.example | c 日本',
    limit=7,
    page=2,
    sites=("docs.python.org/3", "a.example"),
    blocked_sites=("b.example",),
    time_range="week",
    since=date(2026, 1, 2),
    until=date(2026, 2, 3),
    language="zh-hant",
    location=Location(country="de"),
    context_size="high",
    safe=True,
)


def recordings(name: str) -> list[Path]:
    found = [
        path
        for path in sorted((RECORDINGS / "engines" / name).rglob("*"))
        if path.suffix in (".json", ".html") and path.name not in ("meta.json", "request.json")
    ]
    assert found, f"there is no recording of {name!r} in tests/recordings/engines"
    return found


def check(page: WebPage) -> None:
    """Whether a page's fields are what their types say, and fit for the store."""
    for row in page.items:
        assert row.title.strip()
        assert is_web_url(row.url)
        assert isinstance(row.content, str)
        assert row.published is None or isinstance(row.published, str)
        assert row.score is None or isinstance(row.score, float)
        for text in (row.title, row.url, row.content, row.published or ""):
            assert "\x00" not in text.encode("utf-8").decode()
    assert page.answer is None or isinstance(page.answer, str)
    assert len(page.items) <= 100
    assert page.skipped >= 0


def read(made: Engine, response: HttpResponse) -> None:
    """Read an answer: a proper page, or an EngineError in which no key stands."""
    try:
        page = made.page(WebQuery(text="tides", limit=100), response)
    except EngineError as exc:
        said = str(exc)
    else:
        check(page)
        return
    assert KEY not in said
    assert "<" not in said
    assert len(said) < 600


@pytest.mark.parametrize("name", NAMES)
def test_recordings(make: Make, name: str) -> None:
    """Every recording of an engine reads as a page or as an EngineError, under any status."""
    for path in recordings(name):
        for status in STATUSES:
            read(make(name), HttpResponse(status=status, body=path.read_bytes()))


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(2**70), max_value=2**70),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["javascript:alert(1)", "https://a@b/", "\ud800", "a\x00b\ufeff", KEY, "<b>x"]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.none(), max_size=3),
)


def replaced(document: Any, data: st.DataObject) -> Any:
    """Replace one value, anywhere in a document."""
    if not isinstance(document, (dict, list)) or not document or data.draw(st.integers(0, 5)) == 0:
        return data.draw(JUNK)
    if isinstance(document, list):
        at = data.draw(st.integers(0, len(document) - 1))
        return [*document[:at], replaced(document[at], data), *document[at + 1 :]]
    key = data.draw(st.sampled_from(sorted(document)))
    return {**document, key: replaced(document[key], data)}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_damaged_answers(make: Make, name: str, data: st.DataObject) -> None:
    """An engine fed a damaged answer gives a proper page or an EngineError, and nothing else."""
    paths = [path for path in recordings(name) if path.suffix == ".json"]
    document = json.loads(data.draw(st.sampled_from(paths)).read_bytes())
    body = json.dumps(replaced(document, data)).encode("utf-8", "surrogatepass")
    read(make(name), HttpResponse(status=data.draw(st.sampled_from([200, 200, 429])), body=body))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(body=st.binary(max_size=200), status=st.integers(100, 999), cut=st.integers(0, 4000))
def test_any_bytes(make: Make, name: str, body: bytes, status: int, cut: int) -> None:
    """An engine fed any bytes, or an answer that breaks off, under any status, does the same."""
    made = make(name)
    read(made, HttpResponse(status=status, body=body))
    read(made, HttpResponse(status=200, body=body))
    read(made, HttpResponse(status=200, body=recordings(name)[0].read_bytes()[:cut]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"null", b"[]", b"5", b'"x"', b"{", b"{} {}", b"[" * 100_000, b'{"a":' * 50_000),
        b'{"hits":[' + b"[]," * 50_000 + b"0]}",
        b'{"results":[' + b"{}," * 50_000 + b"0]}",
        b"<!doctype html><title>Are you a robot?</title><script>x</script><p>Prove it.",
    ],
    ids=lambda body: repr(body[:12]),
)
def test_not_a_page(make: Make, name: str, body: bytes) -> None:
    """HTML with status 200 (a captcha), broken JSON or another shape is a parse error or a page."""
    made = make(name)
    if body.startswith(b"<"):
        with pytest.raises(EngineError, match="Prove it") as caught:
            made.parse_response(HttpResponse(status=200, body=body))
        assert caught.value.outcome == "parse_error"
    read(made, HttpResponse(status=200, body=body))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (204, "parse_error"),
        (302, "bad_request"),
        (400, "bad_request"),
        (401, "bad_key"),
        (402, "no_credit"),
        (429, "rate_limited"),
        (500, "upstream_down"),
        (503, "upstream_down"),
    ],
)
def test_statuses(make: Make, name: str, status: int, outcome: str) -> None:
    """A status without a telling body has the same meaning at every engine."""
    with pytest.raises(EngineError, match=f"main answered {status}") as caught:
        make(name).parse_response(HttpResponse(status=status, body=b"<p>no</p>"))
    assert caught.value.outcome == outcome


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ({"error": "quota exceeded"}, "no_credit"),
        ({"errors": [{"message": "Invalid API key"}]}, "bad_key"),
        ({"status": "error", "message": "Rate limit exceeded"}, "rate_limited"),
        ({"success": False, "detail": "unknown parameter 'x'"}, "unsupported_param"),
    ],
    ids=repr,
)
def test_a_200_that_tells_of_a_failure_is_one(
    make: Make, name: str, body: dict[str, Any], outcome: str
) -> None:
    """An error in the place of rows has its class, whether or not an empty list stands beside."""
    for more in ({}, {"results": [], "organic": [], "hits": [], "web": {"results": []}}):
        answer = HttpResponse(status=200, body=json.dumps({**body, **more}).encode())
        with pytest.raises(EngineError, match="main answered 200: ") as caught:
            make(name).page(WebQuery(text="tides"), answer)
        assert caught.value.outcome == outcome


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (400, {"message": "Not enough credits"}, "no_credit"),
        (403, {"error": "Rate limit exceeded"}, "rate_limited"),
        (429, {"error": "Monthly quota exceeded"}, "no_credit"),
        (401, {"error": "Please authenticate"}, "bad_key"),
    ],
)
def test_words_say_more_than_a_status(
    make: Make, name: str, status: int, body: dict[str, Any], outcome: str
) -> None:
    """An account without credit, or asked too fast, is so under any status of a refusal."""
    answer = HttpResponse(status=status, body=json.dumps(body).encode())
    with pytest.raises(EngineError) as caught:
        make(name).page(WebQuery(text="tides"), answer)
    assert caught.value.outcome == outcome


SAFE = {
    "brave": ("safesearch", "strict", "off"),
    "searxng": ("safesearch", "2", "0"),
    "serpapi": ("safe", "active", "off"),
}


@pytest.mark.parametrize("name", having("safe_search"))
def test_safe_search_is_an_option(make: Make, name: str) -> None:
    """It holds where the request does not say; where it says, the request does."""
    parameter, on, off = SAFE[name]

    def sent(option: bool | None, asked: bool | None) -> str | None:
        engine = make(name, safe_search=option)
        (call,) = engine.plan(WebQuery(text="a", safe=asked), 1)
        query = dict(parse_qsl(urlsplit(engine.build_request(call).url).query))
        return query.get(parameter)

    assert [sent(True, None), sent(False, None), sent(None, None)] == [on, off, None]
    assert [sent(True, False), sent(False, True)] == [off, on]


def test_safe_search_where_there_is_none(make: Make) -> None:
    """An engine that cannot filter refuses the option, before it is asked anything."""
    with pytest.raises(ConfigError, match="'baidu' has no such option; leave it out"):
        make("serpapi", engine="baidu", safe_search=True)
    with pytest.raises(ConfigError, match="safe_search: Extra inputs are not permitted"):
        make("serper", safe_search=True)


@pytest.mark.parametrize("name", NAMES)
def test_keys_stay_hidden(make: Make, name: str) -> None:
    """A key is in no repr and in no message, not even when the vendor quotes it."""
    made = make(name)
    request = made.build_request(FULL)
    everything = repr(request.headers) + request.url + request.body.decode()
    assert KEY in everything or quote_plus(KEY) in everything
    assert "canary" not in repr(request) + repr(made.options) + str(made.options)
    if "headers" in type(made.options).model_fields:
        made = make(name, headers={"Authorization": f"Bearer {KEY}"})
    for status in (200, 400, 401, 500):
        for form in (
            *(KEY, quote_plus(KEY), quote_plus(quote_plus(KEY)), KEY.upper(), KEY.encode().hex()),
            *(KEY.replace("&", "&amp;"), KEY.replace("&", "&#38;"), KEY.replace("&", "\\u0026")),
            b64encode(KEY.encode()).decode(),
        ):
            for body in (form.encode(), json.dumps({"error": f"key {form} is bad"}).encode()):
                with pytest.raises(EngineError) as caught:
                    made.parse_response(HttpResponse(status=status, body=b"<i>x</i> " + body))
                said = str(caught.value).lower()
                assert "canary" not in said
                assert form.lower()[:12] not in said


@pytest.mark.parametrize("name", NAMES)
def test_requests_are_sendable(make: Make, name: str) -> None:
    """Any query makes a request whose URL is ASCII and whose headers fit on their lines."""
    made = make(name)
    nasty = ["a\r\nb: c", "\ud800 x", "q" * 5000, "日本語" * 500, "&x=1#y", "\x00", ""]
    for text in nasty:
        for query in (WebQuery(text=text), WebQuery(text=text, sites=("a.example",) * 3)):
            request = made.build_request(query)
            assert request.url.isascii()
            assert is_web_url(request.url) or len(request.url) > 2048
            for key, value in request.headers:
                assert key == key.lower()
                assert (key + value).isprintable()


@pytest.mark.parametrize("name", ENGINES.names())
def test_options_are_documented(settings_of: Settings, name: str) -> None:
    """Every option has a description, and an unknown one is refused with the known ones listed."""
    kind = ENGINES.get(name)
    for option, field in kind.Options.model_fields.items():
        assert field.description, f"{name}.{option}"
    with pytest.raises(ConfigError, match=r"engines\.main: .*typo.*known options: enabled"):
        kind.configure("main", {**settings_of.get(name, {}), "typo": 1})


@pytest.mark.parametrize("name", NAMES)
def test_dropped_options(make: Make, name: str) -> None:
    """What an engine does not claim to honour is named as dropped, and nothing unasked is."""
    made = make(name)
    dropped = set(made.dropped(FULL))
    everything = {"sites", "blocked_sites", "time_range", "dates", "language", "country"}
    everything |= {"context_size", "safe"}
    assert everything - made.honours <= dropped
    assert made.dropped(WebQuery(text="a")) == ()


@pytest.mark.parametrize("name", NAMES)
def test_page_is_cut_and_labelled(make: Make, name: str) -> None:
    """Reading for a query gives at most the rows asked for, and names what was dropped."""
    made = make(name)
    good = next(path for path in recordings(name) if path.name.startswith("200-"))
    response = HttpResponse(status=200, body=good.read_bytes())
    if made.parse_response(response).items:
        page = made.page(WebQuery(text="a", limit=1, context_size="low"), response)
        assert len(page.items) == 1
        assert page.dropped == ("context_size",)


@pytest.mark.parametrize("name", having("base_url"))
def test_base_url(make: Make, name: str) -> None:
    """An engine is asked where ``base_url`` says, and a value that is no address is refused."""
    made = make(name, base_url="http://127.0.0.1:81/x/")
    assert made.build_request(WebQuery(text="a")).url.startswith("http://127.0.0.1:81/x/")
    for bad in ("ftp://a", "http://u:p@h", "https://h/?a=1", "h"):
        with pytest.raises(ConfigError, match="base_url: this must be"):
            make(name, base_url=bad)


@pytest.mark.parametrize("name", having("api_key"))
def test_key_is_checked(make: Make, name: str) -> None:
    """A key may end in the line break of its file; an empty one or one of two lines is refused."""
    made = make(name, api_key=f"{KEY}\n")
    key = getattr(made.options, "api_key", None)
    assert isinstance(key, SecretStr)
    assert key.get_secret_value() == KEY
    for bad, remedy in (("", "is empty"), ("canary\nx", "copy it again"), ("canäry", "copy it")):
        with pytest.raises(ConfigError, match=remedy) as caught:
            make(name, api_key=bad)
        assert "canary" not in str(caught.value)
