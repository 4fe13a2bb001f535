"""What a client makes up fills no memory: names, labels, keys of caches, words, addresses."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from desk import PATHS, WIRES, Desk, asks
from refdesk import http
from refdesk.db.generate import tokens
from refdesk.errors import UnknownName
from refdesk.gateway.log import Entry
from refdesk.gateway.metrics import Metrics
from refdesk.kb import stems
from refdesk.types import Attempt, WebQuery
from refdesk.web.filters import read_domains
from refdesk.web.found import Question

LONG = "n" * 2_000_000


@pytest.mark.parametrize("default", ["m", None])
@pytest.mark.parametrize("path", [*PATHS.values(), "/messages/count_tokens"])
async def test_a_model_name(desk: Desk, path: str, default: str | None) -> None:
    """A model name of megabytes is refused in the wire's form, and kept nowhere."""
    desk.application.gateway.targets._default = desk.application.gateway.targets.by_name["m"]
    if default is None:
        desk.application.gateway.targets._default = None
    wire = next((wire for wire in WIRES if PATHS[wire] == path), "messages")

    response = await desk.post("/v1" + path, asks(wire, model=LONG))

    assert response.status_code == 400
    assert len(response.content) < 1000
    assert "256" in response.json()["error"]["message"]
    assert len((await desk.last()).model) == 256
    assert desk.upstream.seen == []


def test_labels_of_metrics() -> None:
    """A counter has a thousand series; what comes after them is counted together."""
    metrics = Metrics()
    entry = Entry(request_id="r", started=0.0, wire="search")
    for number in range(3000):
        attempt = Attempt(engine=f"kb:{number}" + "x" * 5000, outcome="ok")
        made = replace(entry)
        made.outcome = replace(entry.outcome, attempts=(attempt,))
        metrics.take([made])

    page = metrics.page()[1].decode()
    lines = [line for line in page.splitlines() if line.startswith("refdesk_engine_attempts_total")]
    assert len(lines) == 1001
    assert sum(float(line.rsplit(" ", 1)[1]) for line in lines) == 3000
    assert 'refdesk_engine_attempts_total{engine="other",outcome="other"} 2000.0' in lines
    assert max(map(len, lines)) < 300


def question(text: str, *, sites: tuple[str, ...] = (), pages: int = 1) -> Question:
    """A question ready to be asked."""
    return Question(query=WebQuery(text=text), domains=read_domains(sites, ()), pages=pages)


def test_keys_of_the_cache() -> None:
    """What a cached search is found by is small, and tells questions apart as before."""
    key = question("when?").key("main", 0)

    assert key == question("When?").key("main", 0)
    assert question("a", sites=("x.org", "y.org")).key("main", 0) == question(
        "a", sites=("y.org", "x.org", "x.org")
    ).key("main", 0)
    others = [
        question("when??").key("main", 0),
        question("when?").key("other", 0),
        question("when?").key("main", 1),
        question("when?", pages=2).key("main", 0),
        question("when?", sites=("x.org",)).key("main", 0),
        question(LONG).key("main", 0),
        question("\ud800").key("main", 0),
    ]
    assert len({key, *others}) == len(others) + 1
    assert all(len(bytes(each)) == 16 for each in others)


def test_addresses() -> None:
    """An address that is too long to be shown is not remembered either."""
    kept = [http._normal_url.cache_info().currsize, http._is_web_url.cache_info().currsize]

    assert not http.is_web_url("https://example.com/" + LONG)
    assert http.normal_url(" https://example.com/" + LONG) == "https://example.com/" + LONG

    assert kept == [
        http._normal_url.cache_info().currsize,
        http._is_web_url.cache_info().currsize,
    ]


def test_words() -> None:
    """Nor is a word that no language has."""
    kept = [tokens._plain.cache_info().currsize, stems._stem.cache_info().currsize]

    assert tokens.plain(LONG.upper()) == LONG
    assert stems.stem(LONG) == LONG

    assert kept == [tokens._plain.cache_info().currsize, stems._stem.cache_info().currsize]


@pytest.mark.parametrize("name", ["x" * 201, LONG])
def test_messages(name: str) -> None:
    """A message repeats the beginning of a made-up name."""
    message = str(UnknownName("engine", name, ["main"]))

    assert len(message) < 300
    assert name[:200] in message


async def test_records(desk: Desk) -> None:
    """A record keeps the beginning of a long question, and names some of many unused fields."""
    body = {"query": "why " * 20_000} | {f"field{number}": 1 for number in range(5000)}

    response = await desk.post("/v1/search", body)

    assert response.status_code == 200
    assert len(response.content) < 10_000
    assert await asyncio.to_thread(desk.store.writer.drain, 5)
    (record,) = desk.store.searches.by_request(response.headers["x-request-id"])
    assert record.query is not None
    assert len(record.query) == 4000
