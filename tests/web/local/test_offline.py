"""Search with no network, over the pages shipped with the package."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.errors import EngineTimeout
from refdesk.http import is_web_url
from refdesk.types import WebPage, WebQuery
from refdesk.web.engines import ENGINES
from refdesk.web.local.offline import (
    EXCERPT_CHARS,
    Document,
    Index,
    Offline,
    documents,
    excerpt,
    expression_of,
    read_document,
)

ENGINE = Offline("offline", Offline.Options())
PAGES = list(documents())


async def search(text: str, **options: object) -> WebPage:
    return await ENGINE.search(WebQuery(text=text, **options), timeout_s=10)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "title", "fact"),
    [
        ("When was Python 3.14 released?", "What's new in Python 3.14", "7 October 2025"),
        ("how does SSE work", "Server-sent events (SSE)", "text/event-stream"),
        ("Which elements did Curie discover?", "Marie Curie", "polonium"),
        ("What is the capital of Australia?", "Capitals of the world", "Canberra"),
        ("capital of Lithuania", "Capitals of Europe", "Vilnius"),
        ("newest debian release", 'Debian 13 "trixie" released', "9 August 2025"),
        ("bm25 default k1", "Okapi BM25", "between 1.2 and 2.0"),
        ("How does MCP travel over HTTP?", "Model Context Protocol (MCP)", "streamable HTTP"),
        ("biggest planet", "Planets of the solar system", "Jupiter"),
        ("postgres 18 asynchronous io", "PostgreSQL 18 released", "io_method"),
        ("北京是哪个国家的首都", "北京 (Beijing)", "首都"),
        ("東京", "Capitals of the world", "東京"),
        ("trixie!!! (AND NEAR* \" OR ' -- ", 'Debian 13 "trixie" released', "trixie"),
    ],
)
async def test_questions(question: str, title: str, fact: str) -> None:
    """A question finds its page first, and the excerpt holds the answer."""
    page = await search(question)
    assert page.items[0].title == title
    assert fact in page.items[0].content


async def test_words_are_stemmed_and_rare_ones_weigh_more() -> None:
    """Another form of a word matches; a rare word beats several common ones."""
    assert (await search("crawling indexes rankings")).items[
        0
    ].title == "How web search engines work"
    assert (await search("released version of the year ferris")).items[0].title == (
        "The Rust programming language"
    )


@pytest.mark.parametrize("text", ["", " ", "?!", "xyzzyplugh", "龘"])
async def test_nothing_found(text: str) -> None:
    """No words, or none that occur, is an empty page, no error."""
    page = await search(text)
    assert page == WebPage(more=False)


async def test_pages_and_domains() -> None:
    """Pages follow each other without overlap, and domains limit before they are cut."""
    first = await search("python linux http database released", limit=3)
    second = await search("python linux http database released", limit=3, page=2)
    assert first.more
    assert len(first.items) == 3
    assert not {row.url for row in first.items} & {row.url for row in second.items}
    only = await search("python http sqlite released", limit=2, sites=("docs.python.org",))
    assert {row.url.split("/")[2] for row in only.items} == {"docs.python.org"}
    without = await search("python 3.14", blocked_sites=("python.org",))
    assert all("python.org/" not in row.url for row in without.items)


async def test_in_parallel() -> None:
    """Many searches at once, from many threads, all get their answer."""
    answers = await asyncio.gather(*(search(f"python 3.1{n % 5}") for n in range(30)))
    assert all(answer.items for answer in answers)


async def test_out_of_time() -> None:
    """With no time at all the engine says so."""
    with pytest.raises(EngineTimeout, match="did not answer within"):
        await ENGINE.search(WebQuery(text="python"), timeout_s=0)


def test_found_by_its_name() -> None:
    """The configuration calls it ``offline``, and it needs no options."""
    assert ENGINES.get("offline") is Offline
    assert isinstance(Offline.configure("demo", {}), Offline)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.title)
def test_each_page_is_sound(page: Document) -> None:
    """A page has a link, a real date, and 80 to 200 words in sentences fit for an excerpt."""
    assert is_web_url(page.url)
    assert page.url.startswith("https://")
    assert date.fromisoformat(page.date) <= date(2026, 11, 30)
    assert 80 <= len(page.text.split()) <= 200
    assert max(map(len, re.split(r"(?<=[.!?])\s+", page.text))) <= EXCERPT_CHARS


def test_the_collection() -> None:
    """The collection is small, and no title or address occurs twice."""
    assert 25 <= len(PAGES) <= 60
    assert len({page.title for page in PAGES}) == len({page.url for page in PAGES}) == len(PAGES)


def test_read_document() -> None:
    """The head ends at the first empty line; line ends of either kind will do."""
    page = read_document(
        "title: A: b\r\nurl: https://a.com/\r\ndate: 2026-01-01\r\n\r\nOne\r\ntwo."
    )
    assert page == Document(title="A: b", url="https://a.com/", date="2026-01-01", text="One two.")


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("What is Python 3.14?", '"python" OR "3.14"'),
        ("what is the", '"what" OR "is" OR "the"'),
        ("北京 天气好", '"北 京" OR "天 气" OR "气 好"'),
        ("京", '"京"'),
        ('say "AND" twice twice', '"say" OR "twice"'),
        ("", ""),
    ],
)
def test_expression_of(text: str, expression: str) -> None:
    """Rare words are quoted and joined by OR; common ones count only where there is no other."""
    assert expression_of(text) == expression


def test_excerpt() -> None:
    """The stretch with the most of the query's words is shown, in whole sentences."""
    text = " ".join(f"Sentence {number} is about nothing." for number in range(40))
    text += " The zebra eats grass. It sleeps at night."
    assert "zebra eats grass" in excerpt(text, "what does a zebra eat", 80)
    assert excerpt(text, "quagga", 80).startswith("Sentence 0")
    assert excerpt("short", "any", 80) == "short"
    assert len(excerpt("x" * 1000, "x", 80)) == 80


_SMALL = Index(iter(PAGES[:3]))


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="\"*():^-+{}ANDORNEAR \x00'", max_size=60)))
def test_any_text_is_a_query(text: str) -> None:
    """There is no syntax to get wrong."""
    assert isinstance(_SMALL.search(text, lambda: False), list)


def test_giving_up() -> None:
    """A search that is told to give up does, and the next one works."""
    index = Index(iter(PAGES * 20))
    with pytest.raises(sqlite3.OperationalError):
        index.search("python released version first", lambda: True)
    assert index.search("python", lambda: False)
    index.close()
