"""`refdesk kb`: collections by command, as a person uses them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import lancedb  # noqa: F401 - loaded once, for all commands of this file
import onnxruntime  # noqa: F401
import pytest

from commands import Command
from refdesk.cli._ingesting import Bar, notes_of, pace, print_report
from refdesk.cli.output import JsonList
from refdesk.kb.collection import Progress
from refdesk.store.passages import Document, DocumentReport

TEXT = "# Expenses\n\nEmployees claim expenses within 30 days.\n\n## Travel\n\nTrains go first.\n"


@pytest.fixture
def filled(refdesk: Command, folder: Path) -> Command:
    """A collection `docs` with two files in it."""
    (folder / "in").mkdir()
    (folder / "in" / "handbook.md").write_text(TEXT)
    (folder / "in" / "people.csv").write_text("name,phone\nAnn Lee,123\nBob Ray,456\n")
    assert refdesk("kb", "create", "docs", yaml="version: 1\nengines: {}\n").code == 0
    added = refdesk("kb", "add", "--collection", "docs", "in")
    assert (added.code, added.out) == (0, "")
    assert "docs: 2 added" in added.err
    return refdesk


def test_whole_way(filled: Command, folder: Path) -> None:
    """What was added is listed, found with its place, reported, and gone when removed."""
    (listed,) = filled("kb", "list", "--json").json
    assert (listed["name"], listed["documents"], listed["ready"]) == ("docs", 2, 2)

    found = filled("kb", "search", "--collection", "docs", "when are expenses claimed", "--json")
    assert found.code == 0
    first = found.json["items"][0]
    assert "30 days" in first["content"]
    assert first["metadata"]["heading"] == ["Expenses"]
    start, end = first["metadata"]["start"], first["metadata"]["end"]
    assert TEXT[start:end].startswith(first["content"][:20])
    assert found.json["error"] is None

    shown = filled("kb", "search", "--collection", "docs", "Ann's phone number", "--limit", "1")
    assert "people.csv" in shown.out
    assert "Ann Lee,123" in shown.out
    assert "1 passage in" in shown.err

    reports = filled("kb", "report", "docs", "--json").json
    assert {one["report"]["coverage"] for one in reports} == {1.0}

    again = filled("kb", "add", "--collection", "docs", "in")
    assert "docs: 2 unchanged" in again.err
    gone = filled("kb", "remove", "--collection", "docs", "in/handbook.md")
    assert gone.code == 0
    assert [one["key"] for one in filled("kb", "report", "docs", "--json").json] == [
        str(folder / "in" / "people.csv")
    ]
    assert filled("kb", "remove", "--collection", "docs", "--all").code == 0
    assert filled("kb", "list", "--json").json == []


def test_search_and_show(filled: Command) -> None:
    """`search --collection` finds the same; `show` tells collection and documents."""
    found = filled("search", "--collection", "docs", "expenses", "--json")
    assert found.json["items"][0]["collection"] == "docs"
    shown = filled("kb", "show", "docs")
    assert "embedder_id: minilm" in shown.out
    assert "handbook.md" in shown.out


def test_bad_documents(filled: Command, folder: Path) -> None:
    """A document that cannot be read, or has no text, is told by name, and the exit status is 1."""
    (folder / "bad").mkdir()
    (folder / "bad" / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    (folder / "bad" / "blank.txt").write_text("  \n")
    (folder / "bad" / "ok.txt").write_text("All is well here.")
    added = filled("kb", "add", "--collection", "docs", "bad", "--json")
    assert added.code == 1
    outcomes = {Path(one["key"]).name: one["outcome"] for one in added.json}
    assert outcomes["ok.txt"] == "added"
    assert outcomes["blank.txt"] == "empty"
    assert outcomes["broken.pdf"] in ("failed", "empty")
    told = filled("kb", "report", "docs")
    assert told.code == 0
    assert "broken.pdf" in told.out


def test_stdin(filled: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is a document by the name it is given."""

    class Piped:
        buffer = io.BytesIO(b"Zebras are striped.")

    monkeypatch.setattr(sys, "stdin", Piped())
    added = filled("kb", "add", "--collection", "docs", "-", "--name", "zebras.txt", "--json")
    assert [(one["key"], one["outcome"]) for one in added.json] == [("zebras.txt", "added")]


def test_metadata_and_graph(refdesk: Command, folder: Path) -> None:
    """Values given with a document filter; a graph leads on, and says what it was made by."""
    (folder / "a.md").write_text("The bridge was built by Ann Lee and Bob Ray in Springfield.")
    (folder / "b.md").write_text("We know that Bob Ray lives near Shelbyville since last May.")
    refdesk("kb", "create", "docs", "--graph", yaml="version: 1\nengines: {}\n")
    refdesk("kb", "add", "--collection", "docs", "a.md", "--metadata", '{"team": "law"}')
    refdesk("kb", "add", "--collection", "docs", "b.md")
    found = refdesk(
        "kb", "search", "--collection", "docs", "x", "--metadata", '{"team": "law"}', "--json"
    ).json
    assert {item["metadata"]["filename"] for item in found["items"]} <= {"a.md"}
    linked = refdesk("kb", "search", "--collection", "docs", "Ann Lee", "--graph", "--json").json
    hops = {node["name"]: node["metadata"]["hops"] for node in linked["graph_nodes"]}
    assert hops["Ann Lee"] == 0
    assert hops["Bob Ray"] == 1
    assert hops["Shelbyville"] == 2
    assert any("without a model" in notice for notice in linked["notices"])
    refdesk("kb", "remove", "--collection", "docs", "b.md")
    linked = refdesk("kb", "search", "--collection", "docs", "Ann Lee", "--graph", "--json").json
    assert "Shelbyville" not in {node["name"] for node in linked["graph_nodes"]}


def test_values_are_bounded(filled: Command, folder: Path) -> None:
    """A filter or a document's values beyond the bounds end a command with the bound."""
    many = json.dumps({"tag": [str(n) for n in range(2_000)]})
    docs = ("--collection", "docs")
    refused = filled("kb", "search", *docs, "expenses", "--metadata", many)
    assert (refused.code, "2000 values; give up to 1000" in refused.err) == (1, True)
    named = [part for n in range(101) for part in ("--collection", f"c{n}")]
    refused = filled("kb", "search", *named, "expenses")
    assert (refused.code, "collections has 101 entries" in refused.err) == (1, True)
    (folder / "b.md").write_text("Words.")
    refused = filled("kb", "add", *docs, "b.md", "--metadata", many)
    assert (refused.code, "2000 values; give up to 1000" in refused.err) == (1, True)
    deep = '{"a": ' + "[" * 9_000 + "]" * 9_000 + "}"
    assert filled("kb", "search", *docs, "expenses", "--metadata", deep).code == 2
    shown = filled("kb", "show", "docs", "--json").json["documents"]
    assert "b.md" not in {Path(one["key"]).name for one in shown}


def test_configured(refdesk: Command, folder: Path) -> None:
    """Collections of the configuration are there; its embedder is not changed by an option."""
    yaml = "version: 1\nengines: {}\ncollections: {law: {permission: {team: law}}}\n"
    (listed,) = refdesk("kb", "list", "--json", yaml=yaml).json
    assert (listed["name"], listed["permission"]) == ("law", {"team": "law"})
    refused = refdesk("kb", "reindex", "law", "--embedder", "e5")
    assert refused.code == 1
    assert "set collections.law.embedder to 'e5'" in refused.err
    (folder / "p.txt").write_text("The price is 7.")
    refdesk("kb", "add", "--collection", "law", "p.txt")
    search = ("kb", "search", "--collection", "law", "price", "--json")
    assert refdesk(*search).code == 1
    assert refdesk(*search, "--identity", '{"team": "law"}').json["total"] == 1
    assert refdesk("kb", "reindex", "law").code == 0
    refused = refdesk("kb", "reindex", "law", "--chunk-chars", "100")
    assert (refused.code, "set collections.law.chunk_chars to 100" in refused.err) == (1, True)


def test_a_changed_length(refdesk: Command, folder: Path) -> None:
    """Passages have the length that configuration or command says, once it is re-indexed."""
    (folder / "p.txt").write_text("All is well here today. " * 20)
    refdesk("kb", "create", "docs", yaml="version: 1\nengines: {}\n")
    refdesk("kb", "add", "--collection", "docs", "p.txt")
    assert (
        refdesk("kb", "reindex", "docs", "--chunk-chars", "100", "--json").json["chunk_chars"]
        == 100
    )
    assert refdesk("kb", "show", "docs", "--json").json["chunks"] >= 5
    yaml = "version: 1\nengines: {}\ncollections: {docs: {chunk_chars: 2000}}\n"
    assert refdesk("kb", "reindex", "docs", yaml=yaml).code == 0
    assert refdesk("kb", "show", "docs", "--json").json["chunks"] == 1


USAGE: list[tuple[tuple[str, ...], int, str]] = [
    (("add", "x"), 2, "name the collection"),
    (("add", "--collection", "c", "x", "--name", "y"), 2, "add - too"),
    (("add", "--collection", "c", "x", "--metadata", "[]"), 2, "no JSON object"),
    (("create", " x"), 2, "no name for a collection"),
    (("create", "x", "--embedder", "{"), 2, "not JSON"),
    (("create", "x", "--embedder", "{}"), 2, "type"),
    (("create", "x", "--embedder", '{"type": "openai", "api_key": "k"}'), 1, '"api_key_env"'),
    (("create", "x", "--embedder", "e6"), 1, "no embedder is called 'e6'"),
    (("search", " ", "--collection", "c"), 2, "empty"),
    (("remove", "--collection", "c"), 2, "--all"),
    (("remove", "--collection", "c", "d", "--all"), 2, "--all"),
    (("show", "nothing"), 1, "no collection is called 'nothing'"),
    (("report",), 2, "name the collection"),
]


@pytest.mark.parametrize(("words", "code", "told"), USAGE)
def test_usage(refdesk: Command, words: tuple[str, ...], code: int, told: str) -> None:
    """What makes no sense is said in a sentence that names the option."""
    ran = refdesk("kb", *words, yaml="version: 1\nengines: {}\n")
    said = " ".join(ran.err.replace("│", " ").split())
    assert (ran.code, told in said) == (code, True), ran.err


def progress(done: int, **changes: Any) -> Progress:
    """How far it is."""
    values: dict[str, Any] = {
        "done": done, "total": 250, "key": "a.md", "bytes_done": 2_000_000,
        "bytes_total": 5_000_000, "seconds": 10.0, "left_s": 30.0,
    }  # fmt: skip
    return Progress(**values | changes)


def test_pace() -> None:
    """Rate and time left are told; nothing is left at the end."""
    assert pace(progress(100)) == "10.0 documents/s, 0.2 MB/s, 30 s left"
    assert pace(progress(100, left_s=600.0)).endswith("10 min left")
    assert pace(progress(100, left_s=20_000.0)).endswith("5 h 33 min left")
    assert "left" not in pace(progress(250))


def test_bar_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is no terminal, a line comes after every hundred documents."""
    with Bar() as bar:
        for done in range(1, 251):
            bar.update(progress(done))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["100", "200", "250"]
    with Bar(quiet=True) as bar:
        bar.update(progress(100))
    assert capsys.readouterr().err == ""


def test_report(capsys: pytest.CaptureFixture[str]) -> None:
    """A report tells the share in chunks, and below it the pages without text and what failed."""
    report = DocumentReport(
        characters_read=100, characters_in_chunks=90, chunks=2, pages=9,
        pages_without_text=(1, 2, 3, 7), skipped=("a picture was skipped",), parser="pdf",
    )  # fmt: skip
    document = Document(id="d", collection="c", key="a.pdf", revision="r", report=report)
    assert notes_of(report) == ["no text on pages 1-3, 7", "a picture was skipped"]
    print_report([document])
    said = capsys.readouterr().out
    assert "90%" in said
    assert "a.pdf: no text on pages 1-3, 7" in said


@pytest.mark.parametrize(
    ("lost", "said"), [(0, "100%"), (1, "99.9%"), (4, "99.9%"), (120, "97.7%"), (5400, "0%")]
)
def test_share_is_not_rounded_up(capsys: pytest.CaptureFixture[str], lost: int, said: str) -> None:
    """A document of which a letter was lost is not covered by 100 %."""
    report = DocumentReport(
        characters_read=90, characters_in_chunks=90, characters_in_file=5400, characters_lost=lost
    )
    print_report([Document(id="d", collection="c", key="a.pdf", revision="r", report=report)])
    assert f" {said} " in capsys.readouterr().out


def test_json_list(capsys: pytest.CaptureFixture[str]) -> None:
    """A list is whole also where its maker fails; each item is a line, there when it is known."""
    with JsonList():
        pass
    assert json.loads(capsys.readouterr().out) == []

    def fail() -> None:
        with JsonList() as listed:
            listed.add({"key": "a\nb"})
            assert capsys.readouterr().out.splitlines() == ["[", r'{"key":"a\nb"}']
            listed.add(2)
            raise OSError("away")

    with pytest.raises(OSError, match="away"):
        fail()
    assert json.loads('[{"key":"a"}' + capsys.readouterr().out) == [{"key": "a"}, 2]


def test_the_embedder_of_a_configured_collection(refdesk: Command, folder: Path) -> None:
    """A collection may have the embedder of a configured one, and says so when that is gone."""
    (folder / "p.txt").write_text("The price is 7.")
    yaml = "version: 1\nengines: {}\n"
    shared = '{"type": "collection", "name": "law"}'
    made = refdesk(
        "kb", "create", "x", "--embedder", shared, yaml=f"{yaml}collections: {{law: }}\n"
    )
    assert made.code == 0
    assert refdesk("kb", "add", "--collection", "x", "p.txt").code == 0
    search = ("kb", "search", "--collection", "x", "price", "--json")
    assert refdesk(*search).json["total"] == 1
    gone = refdesk(*search, yaml=yaml)
    assert (gone.code, "put collections.law back" in gone.err) == (1, True)
    assert refdesk("kb", "reindex", "x", "--embedder", "minilm").code == 0
    assert refdesk(*search).json["total"] == 1
