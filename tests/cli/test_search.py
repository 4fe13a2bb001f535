"""``refdesk search``: results, what went wrong, and what it leaves behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import Command, Peer, found
from refdesk.config import load
from refdesk.store.opening import open_store

OFFLINE = "engines: {pages: {type: offline}}\n"
QUESTION = "when was Python 3.14 released"


def searxng(peer: Peer, more: str = "") -> str:
    """A configuration whose first engine is a SearXNG server."""
    return f'engines: {{own: {{type: searxng, base_url: "{peer.url}", priority: 9}}{more}}}\n'


def test_text(refdesk: Command) -> None:
    """Results are numbered, with title, address and snippet; the summary is talk, on stderr."""
    ran = refdesk("search", QUESTION, "--limit", "2", yaml=OFFLINE)
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert lines[0].startswith("1. What's new in Python 3.14")
    assert lines[1] == "   https://docs.python.org/3/whatsnew/3.14.html"
    assert lines[2].startswith("   Python 3.14 was released on 7 October 2025.")
    assert lines[3].startswith("2. ")
    assert ran.err.startswith("2 results by pages (offline) in ")


def test_json(refdesk: Command) -> None:
    """The JSON is a search result with the names of the contract."""
    result = refdesk("search", QUESTION, "--limit", "1", "--json", yaml=OFFLINE).json
    assert result.pop("duration_ms") >= 0
    assert result.pop("request_id")
    assert [each["engine"] for each in result.pop("attempts")] == ["pages"]
    assert result["items"][0].pop("content").startswith("Python 3.14 was released")
    assert result == {
        "type": "web",
        "query": QUESTION,
        "source": "user",
        "items": [
            {
                "citation_id": "ref_001",
                "index": 1,
                "source": "user",
                "weight": 1.0,
                "type": "web",
                "title": "What's new in Python 3.14",
                "url": "https://docs.python.org/3/whatsnew/3.14.html",
                "published": "2025-10-07",
            }
        ],
        "total": 1,
        "engine": "pages",
        "error": None,
        "notices": [],
    }


def test_trace(refdesk: Command, peer: Peer) -> None:
    """The trace has every engine asked: a tree beside the results, a key in JSON."""
    peer.answers["/search"] = (500, b"down")
    yaml = searxng(peer, ", pages: {type: offline}")
    ran = refdesk("search", QUESTION, "--trace", "--json", yaml=yaml)
    assert [(each["engine"], each["outcome"]) for each in ran.json["attempts"]] == [
        ("own", "upstream_down"),
        ("pages", "ok"),
    ]
    assert any("'pages' was asked instead" in notice for notice in ran.json["notices"])
    (node,) = ran.json["trace"]
    assert node["status"] == "completed"
    (web,) = node["children"]
    assert web["label"] == "Web Search"
    assert "Engine own" in [line["message"] for line in web["logs"]]
    ran = refdesk("search", QUESTION, "--trace", yaml=yaml)
    assert "outcome=upstream_down" in ran.err
    assert "completed" in ran.err
    assert "upstream_down" not in ran.out


@pytest.mark.parametrize("mode", ["all", "any", "race"])
def test_modes(refdesk: Command, mode: str) -> None:
    """Several searches are a list with a slot for each, under the mode that was asked for."""
    arguments = ("search", QUESTION, f"--{mode}", "--limit", "2", "--json", "--trace")
    shown = refdesk(*arguments, yaml=OFFLINE).json
    assert shown["mode"] == mode
    assert [len(result["items"]) for result in shown["results"]] == [2]
    (node,) = shown["trace"]
    assert [child["status"] for child in node["children"]] == ["completed"]


def test_one_mode(refdesk: Command) -> None:
    """Two modes at once are a usage error."""
    ran = refdesk("search", QUESTION, "--any", "--race", yaml=OFFLINE)
    assert ran.code == 2
    assert "choose one" in ran.err


def test_records(refdesk: Command, folder: Path) -> None:
    """Where there is a store, what was found is kept, with its numbers."""
    config = load(None, env={}, saved={"data_dir": str(folder / "refdesk-data")}).config
    open_store(config).close()
    result = refdesk("search", QUESTION, "--limit", "2", "--json", yaml=OFFLINE).json
    with open_store(config) as store:
        (record,) = store.searches.by_request(result["request_id"])
    assert [one.index for one in record.references or ()] == [1, 2]
    assert (record.query, record.source, record.type) == (QUESTION, "user", "web")


def test_nothing_found(refdesk: Command, peer: Peer) -> None:
    """A search that found nothing is well: exit status 0, no item, and it is said."""
    peer.answers["/search"] = (200, found())
    ran = refdesk("search", QUESTION, yaml=searxng(peer))
    assert (ran.code, ran.out) == (0, "")
    assert "found nothing" in ran.err
    result = refdesk("search", QUESTION, "--json", yaml=searxng(peer)).json
    assert (result["items"], result["total"], result["error"]) == ([], 0, None)


def test_failure(refdesk: Command, peer: Peer) -> None:
    """A search that failed is exit status 1; the error names the engine, also in the JSON."""
    peer.answers["/search"] = (500, b"down")
    ran = refdesk("search", QUESTION, "--json", yaml=searxng(peer))
    assert ran.code == 1
    assert "own answered 500" in ran.json["error"]
    assert ran.json["items"] == []


def test_named_engine(refdesk: Command, peer: Peer) -> None:
    """A named engine is asked whatever its priority, and no other steps in for it."""
    peer.answers["/search"] = (500, b"down")
    yaml = searxng(peer, ", pages: {type: offline}")
    assert refdesk("search", QUESTION, "--engine", "pages", yaml=yaml).code == 0
    assert peer.seen == []
    assert refdesk("search", QUESTION, "--engine", "own", yaml=yaml).code == 1
    ran = refdesk("search", QUESTION, "--engine", "page", yaml=yaml)
    assert ran.code == 1
    assert ran.err == "no engine is called 'page'; known: own, pages; did you mean 'pages'?\n"


def test_disabled_engine(refdesk: Command) -> None:
    """A disabled engine is not asked; the message has the key to set."""
    yaml = "engines: {pages: {type: offline, enabled: false}}\n"
    ran = refdesk("search", QUESTION, "--engine", "pages", yaml=yaml)
    assert ran.code == 1
    assert "set engines.pages.enabled to true" in ran.err


def test_sites(refdesk: Command) -> None:
    """Only pages of the given domains are shown; a domain that makes no sense is refused."""
    arguments = ("search", "Python", "--site", "devguide.python.org", "--json")
    urls = [item["url"] for item in refdesk(*arguments, yaml=OFFLINE).json["items"]]
    assert urls
    assert all(url.startswith("https://devguide.python.org/") for url in urls)
    ran = refdesk("search", "Python", "--site", "no domain")
    assert ran.code == 2
    assert "no domain" in ran.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("  ",), "nothing to search for"),
        (("q", "--limit", "0"), "--limit"),
        (("q", "--limit", "101"), "--limit"),
        (("q", "--type", "kb"), "there are no collections yet"),
        (("q", "--collection", "handbook"), "there are no collections yet"),
        (("q", "--identity", "{"), "not JSON"),
        (("q", "--identity", "7"), "no JSON object"),
        (("q", "--type", "wbe"), "'wbe' is no type of search"),
    ],
)
def test_usage(refdesk: Command, arguments: tuple[str, ...], told: str) -> None:
    """What cannot be asked is exit status 2, with the value and what would be right."""
    ran = refdesk("search", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in " ".join(ran.err.replace("│", " ").split())


def test_pages_for_the_limit(refdesk: Command, peer: Peer) -> None:
    """As many pages are asked for as the limit needs."""
    peer.answers["/search"] = (200, found("A"))
    refdesk("search", QUESTION, "--limit", "11", yaml=searxng(peer))
    assert len(peer.seen) == 2


def test_foreign_text_steers_nothing(refdesk: Command, peer: Peer) -> None:
    """Control characters and markup in results are text on the terminal."""
    peer.answers["/search"] = (200, found("\x1b[31mred [bold]x[/bold]\u202e"))
    out = refdesk("search", QUESTION, yaml=searxng(peer)).out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "[bold]x[/bold]" in out


def test_ledger(refdesk: Command, folder: Path, peer: Peer) -> None:
    """No store is made for a search; where there is one, the search counts in its ledger."""
    peer.answers["/search"] = (200, found("A"))
    yaml = searxng(peer, ", pages: {type: offline, price_per_1000: 500}")
    refdesk("search", QUESTION, "--engine", "pages", yaml=yaml)
    assert not (folder / "refdesk-data").exists()
    config = load(folder / "refdesk.yaml", env={}).config
    open_store(config).close()
    refdesk("search", QUESTION, "--engine", "pages")
    with open_store(config) as store:
        store.ledger.load()
        used = store.ledger.today(engine="pages")
    assert (used.searches, used.calls, used.cost_usd) == (1, 1, 0.5)


def test_broken_store(refdesk: Command, folder: Path) -> None:
    """A store that cannot be opened is no reason not to search; it is told."""
    (folder / "refdesk-data").mkdir()
    (folder / "refdesk-data/refdesk.db").write_bytes(b"no database" * 100)
    ran = refdesk("search", QUESTION, yaml=OFFLINE)
    assert ran.code == 0
    assert "the store is not used" in ran.err


def test_wrong_configuration(refdesk: Command) -> None:
    """Wrong options of a plugin are told with their place."""
    ran = refdesk("search", QUESTION, yaml="engines: {main: {type: serpr}}\n")
    assert ran.code == 1
    assert ran.err.startswith("refdesk.yaml:1:18: engines.main.type: no engine is called 'serpr'")


@pytest.mark.parametrize("name", ["db:shop", "kb:handbook", "db:nowhere", "DB:shop", "nonsense"])
@pytest.mark.parametrize("how", ["flag", "search.web.engine", "default_engine"])
def test_a_private_source_is_not_replaced_by_the_web(
    refdesk: Command, peer: Peer, name: str, how: str
) -> None:
    """What names a collection, a database or nothing is answered by that, or refused."""
    peer.answers["/search"] = (200, found("From the web"))
    config: dict[str, Any] = {"engines": {"main": {"type": "searxng", "base_url": peer.url}}}
    if how == "search.web.engine":
        config["search"] = {"web": {"engine": name}}
    elif how == "default_engine":
        config["gateway"] = {"search": {"default_engine": name}}
    flags = ("--engine", name) if how == "flag" else ()
    ran = refdesk("search", "how many orders are there", *flags, yaml=json.dumps(config))
    assert ran.code != 0
    assert peer.seen == []
