"""No command lets foreign text steer the terminal, on stdout or on stderr."""

from __future__ import annotations

import ast
import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import refdesk.cli
from commands import Command, Peer, Ran
from desk import PATHS, stream
from refdesk.config import load
from refdesk.store import RequestRecord
from refdesk.store.opening import open_store
from refdesk.terminal import harmless

STEERING = (
    "\x1b[2J\x1b]0;owned\x07\x1b]8;;https://evil.example\x1b\\\x9b31m\x08\r\x7f\x85"
    "\u202egnp\u2066\u200b\U000e0041"
)
HOSTILE = f"Steer{STEERING}ing"


def unsteered(ran: Ran) -> Ran:
    """What a command said, if nothing of it steers."""
    assert harmless(ran.out) == ran.out
    assert harmless(ran.err) == ran.err
    return ran


def searxng(peer: Peer) -> str:
    return f'{{type: searxng, base_url: "{peer.url}"}}'


@pytest.fixture
def hostile(peer: Peer) -> Peer:
    """A search engine, and a model, whose every word steers."""
    row = {"title": HOSTILE, "url": "https://example.com/1", "content": HOSTILE}
    row |= {"publishedDate": HOSTILE}
    peer.answers["/search"] = (200, {"query": "q", "results": [row], "unresponsive_engines": []})
    answer = f"{HOSTILE} [ref_001] [ref_099]"
    peer.answers["/v1" + PATHS["chat"]] = (200, b"".join(stream("chat", answer)))
    return peer


def test_output_goes_through_one_module() -> None:
    """No command writes by itself."""
    folder = Path(refdesk.cli.__file__).parent
    named = ("print", "Console", "typer.echo", "click.echo", "typer.secho")
    writers = []
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in named or called.endswith((".stdout.write", ".stderr.write")):
                    writers.append(f"{path.name}: {called}")

    assert {each.partition(":")[0] for each in writers} <= {"output.py", "_lazy.py"}


@pytest.mark.parametrize("more", [(), ("--trace",), ("--json",), ("--limit", "1")])
def test_search(refdesk: Command, hostile: Peer, more: tuple[str, ...]) -> None:
    """Titles, snippets, dates and the trace."""
    ran = unsteered(
        refdesk("search", "steering", *more, yaml=f"engines: {{own: {searxng(hostile)}}}\n")
    )

    assert "Steer" in ran.out


def test_search_that_fails(refdesk: Command, hostile: Peer) -> None:
    """What an engine says of its failure."""
    hostile.answers["/search"] = (500, HOSTILE.encode())
    ran = unsteered(refdesk("search", "steering", yaml=f"engines: {{own: {searxng(hostile)}}}\n"))

    assert ran.code == 1


@pytest.mark.parametrize("status", [200, 401, 500])
def test_engines_test(refdesk: Command, hostile: Peer, status: int) -> None:
    """An engine's answer, good or bad."""
    if status != 200:
        hostile.answers["/search"] = (status, json.dumps({"error": HOSTILE}).encode())

    unsteered(refdesk("engines", "test", "own", yaml=f"engines: {{own: {searxng(hostile)}}}\n"))


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_ask(refdesk: Command, hostile: Peer, more: tuple[str, ...]) -> None:
    """The model's words as they come, the sources below them, and the notes."""
    yaml = (
        f'upstreams: {{up: {{wire: chat, base_url: "{hostile.url}/v1"}}}}\n'
        "models: {small: {upstream: up}}\n"
        f"engines: {{own: {searxng(hostile)}}}\n"
    )
    ran = unsteered(refdesk("ask", "steering?", *more, yaml=yaml))

    assert "Steer" in ran.out


def test_ask_that_fails(refdesk: Command, hostile: Peer) -> None:
    """What an upstream says of its failure."""
    hostile.answers["/v1" + PATHS["chat"]] = (400, {"error": {"message": HOSTILE}})
    yaml = (
        f'upstreams: {{up: {{wire: chat, base_url: "{hostile.url}/v1"}}}}\n'
        f"models: {{small: {{upstream: up}}}}\nengines: {{own: {searxng(hostile)}}}\n"
    )
    ran = unsteered(refdesk("ask", "steering?", yaml=yaml))

    assert ran.code == 1


def test_kb(refdesk: Command, folder: Path) -> None:
    """A document's text, heading and name, found, listed and reported."""
    name = "steer\x1b[2J\u202eing.md"
    (folder / name).write_text(f"# {HOSTILE}\n\n{HOSTILE} is dangerous.\n")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\n" + STEERING.encode())
    yaml = "version: 1\nengines: {}\n"
    unsteered(refdesk("kb", "add", "--collection", "docs", name, "broken.pdf", yaml=yaml))
    found = unsteered(refdesk("kb", "search", "--collection", "docs", "steering dangerous"))

    assert "dangerous" in found.out
    for command in ("show", "list", "report"):
        unsteered(refdesk("kb", command, *(() if command == "list" else ("--collection", "docs"))))


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_db_ask(refdesk: Command, folder: Path, more: tuple[str, ...]) -> None:
    """A row's values, and a table's names."""
    connection = sqlite3.connect(folder / "shop.db")
    connection.execute("CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT)")
    connection.execute("INSERT INTO products (name) VALUES (?)", (HOSTILE,))
    connection.commit()
    connection.close()
    yaml = "version: 1\ndatabases: {shop: {url: 'sqlite:///shop.db'}}\n"
    ran = unsteered(refdesk("db", "ask", "--database", "shop", "list products", *more, yaml=yaml))

    assert "Steer" in ran.out
    unsteered(refdesk("db", "models", "--database", "shop"))
    unsteered(refdesk("db", "ask", "--database", "shop", HOSTILE))


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_logs(refdesk: Command, folder: Path, more: tuple[str, ...]) -> None:
    """A model's name and an upstream's error, as clients and upstreams wrote them."""
    values: dict[str, Any] = {"model": HOSTILE, "error": HOSTILE, "query": HOSTILE, "status": 502}
    with open_store(load(None, env={}).config) as store:
        record = RequestRecord(id="req_1", time=datetime.now(UTC), wire="chat", **values)
        store.writer.offer(record)
        assert store.writer.drain(5.0)
    ran = unsteered(refdesk("logs", *more))

    assert "req_1" in ran.out
