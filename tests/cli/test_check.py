"""``refdesk check``: all that is wrong, with its place, and nothing reached."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from refdesk.cli import app
from refdesk.cli.check import examine_all, read_checked

GOOD = """\
upstreams:
  a: {base_url: "http://127.0.0.1:1/v1"}
models:
  m: {upstream: a}
engines:
  main: {type: serper, api_key: 0123456789abcdef}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in an empty folder."""
    monkeypatch.chdir(tmp_path)


def check(tmp_path: Path, text: str, *more: str) -> tuple[int, str, str]:
    """Return the exit status, stdout and stderr of a check of that text."""
    (tmp_path / "refdesk.yaml").write_text(text)
    result = CliRunner().invoke(app, ["check", *more])
    return result.exit_code, result.stdout, result.stderr


def test_what_has_no_effect_yet_is_told(tmp_path: Path) -> None:
    """A key that this release does nothing with is a note, and no problem: exit status 0."""
    status, out, err = check(tmp_path, GOOD + "gateway: {search: {mode: loop}}\n")
    assert (status, err.count("note: gateway.search.mode: 'loop' has no effect yet")) == (0, 1)
    assert "all is well" in out
    status, out, _ = check(tmp_path, GOOD + "privacy: {store_bodies: true}\n", "--json")
    assert status == 0
    assert json.loads(out)["notes"][0].startswith("privacy.store_bodies:")


def test_all_is_well(tmp_path: Path) -> None:
    """A configuration that holds is one line with what was counted: exit status 0."""
    assert check(tmp_path, GOOD) == (
        0,
        "refdesk.yaml: all is well: 1 upstream, 1 model, 1 engine, 0 collections, 0 databases\n",
        "",
    )


def test_misspelt_plugin(tmp_path: Path) -> None:
    """A misspelt engine or provider has its place and the nearest known name (K7)."""
    text = GOOD.replace("serper", "tavly").replace("{base_url", "{provider: openay, base_url")
    code, out, err = check(tmp_path, text)
    provider, engine = out.splitlines()
    assert code == 3
    assert provider.startswith(
        "refdesk.yaml:2:7: upstreams.a.provider: no provider is called 'openay'"
    )
    assert provider.endswith("did you mean 'openai'?")
    assert engine.startswith("refdesk.yaml:6:10: engines.main.type: no engine is called 'tavly'")
    assert engine.endswith("did you mean 'tavily'?")
    assert err == "2 problems\n"


def test_plugin_options(tmp_path: Path) -> None:
    """Every wrong option of a plugin has its own place; keys are not shown."""
    text = GOOD.replace("api_key", "api_kee").replace("type: serper", "type: serper, priority: x")
    code, out, _ = check(tmp_path, text)
    lines = [line.split("; known:")[0] for line in out.splitlines()]
    assert code == 3
    assert lines[0].startswith("refdesk.yaml:6:3: engines.main.api_key: is missing")
    assert lines[1] == (
        "refdesk.yaml:6:24: engines.main.priority: is 'x'; should be a whole number"
    )
    assert lines[2] == ("refdesk.yaml:6:37: engines.main.api_kee: is an unknown key")
    assert "did you mean 'api_key'?" in out
    assert "0123456789abcdef" not in out


def test_plugins_are_checked_beside_other_faults(tmp_path: Path) -> None:
    """A fault elsewhere does not hide those of plugins: all come in one go."""
    text = GOOD.replace("serper", "tavly").replace("upstream: a", "upstream: b")
    code, out, _ = check(tmp_path, text)
    assert code == 3
    assert [line.split(": ")[1] for line in out.splitlines()] == [
        "models.m.upstream",
        "engines.main.type",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\n\tb: 2\n", "refdesk.yaml:2:1: a tab"),
        ("version: 2\n", "refdesk.yaml:1:1: version: is 2, an unknown version"),
        ("engines: {}\nengines: {}\n", "refdesk.yaml:2:1: engines: stands here twice"),
        ("search: !!python/object:x {}\n", "refdesk.yaml:1:9: search: has the tag"),
        (
            "upstreams: {a: {base_url: http://h, api_key: '${env:NO_SUCH_VARIABLE}'}}\n",
            "refdesk.yaml:1:37: upstreams.a.api_key: refers to the environment variable",
        ),
    ],
)
def test_bad_files(tmp_path: Path, text: str, told: str) -> None:
    """What a start would refuse, the check tells: file, line, column (K7)."""
    code, out, _ = check(tmp_path, text)
    assert code == 3
    assert out.startswith(told)


def test_absent_engines(tmp_path: Path) -> None:
    """That the keyless engine steps in is said on stderr; `engines: {}` means none."""
    assert "keyless ddgs engine" in check(tmp_path, "version: 1\n")[2]
    assert check(tmp_path, "engines: {}\n")[2] == ""


def test_json(tmp_path: Path) -> None:
    """As JSON, the findings are a list, and talk stays on stderr."""
    code, out, _ = check(tmp_path, GOOD, "--json")
    assert code == 0
    assert json.loads(out)["counts"]["engines"] == 1
    code, out, _ = check(tmp_path, "versin: 1\nengines: {}\n", "--json")
    found = json.loads(out)
    assert code == 3
    assert not found["ok"]
    assert len(found["problems"]) == 1


def test_missing_file(tmp_path: Path) -> None:
    """A file that is named and is not there is a problem."""
    code, out, _ = check(tmp_path, GOOD, "--config", "no.yaml")
    assert code == 3
    assert "no.yaml: there is no such file" in out


def test_provider_without_an_entry(tmp_path: Path) -> None:
    """An engine that only `search.web` names is looked at too, with its place in the file."""
    path = tmp_path / "refdesk.yaml"
    path.write_text("search:\n  web: {provider: tavily, api_key_env: T_KEY}\n")
    _, faults = examine_all(path, env={})
    assert [str(fault).partition(": ")[0].rpartition("/")[2] for fault in faults] == [
        "refdesk.yaml:2:27"
    ]
    assert "search.web.api_key_env" in str(faults[0])
    assert "'T_KEY' is not set" in str(faults[0])
    assert examine_all(path, env={"T_KEY": "x"})[1] == []


COLLECTION = GOOD.replace("m: {upstream: a}", "m: {upstream: a, search: {engine: 'kb:handbook'}}")


def test_collections_of_the_store(tmp_path: Path) -> None:
    """A collection made by command is one; what is neither there nor configured is a problem."""
    code, out, _ = check(tmp_path, COLLECTION)
    assert code == 3
    assert out.startswith(
        "refdesk.yaml:4:29: models.m.search.engine: names the collection 'handbook', but none is"
    )
    assert "`refdesk kb create handbook` makes it" in out
    assert list(tmp_path.iterdir()) == [tmp_path / "refdesk.yaml"]
    assert read_checked(tmp_path / "refdesk.yaml").config.models["m"].search is not None

    made = CliRunner().invoke(app, ["kb", "create", "handbook"])
    assert made.exit_code == 0, made.stderr
    assert check(tmp_path, COLLECTION)[0] == 0
    code, out, _ = check(tmp_path, GOOD + "search: {kb: {collections: [handbok]}}\n")
    assert code == 3
    assert "did you mean 'handbook'?" in out


def test_a_store_elsewhere_is_not_asked(tmp_path: Path) -> None:
    """No network: whether a collection is in a store on another machine is not looked up."""
    url = "postgresql+psycopg://127.0.0.1:1/none"
    code, out, _ = check(tmp_path, COLLECTION + f"store: {{url: '{url}', key: '{'k' * 44}'}}\n")
    assert (code, "kb" in out) == (0, False), out


def test_embedders(tmp_path: Path) -> None:
    """What is wrong with a collection's embedder has its place in the file, as an engine's has."""
    text = GOOD + "collections:\n  a: {embedder: e6}\n  b: {embedder: {type: openai, modl: m}}\n"
    code, out, _ = check(tmp_path, text)
    unknown, missing, extra = out.splitlines()
    assert code == 3
    assert unknown.startswith(
        "refdesk.yaml:8:7: collections.a.embedder: no embedder is called 'e6'"
    )
    assert missing.startswith("refdesk.yaml:9:7: collections.b.embedder.model: is missing")
    assert "did you mean 'model'?" in extra
    code, out, _ = check(tmp_path, GOOD + "collections: {a/b: {}, c: {chunk_chars: 9}}\n")
    assert code == 3
    assert "is no name for a collection" in out
    assert "chunk_chars: is 9, but should be at least 50: a shorter passage says too little" in out
    for chars, told in ((0, "at least 50"), (49, "at least 50"), (20_001, "at most 20000")):
        code, out, _ = check(tmp_path, GOOD + f"collections: {{c: {{chunk_chars: {chars}}}}}\n")
        assert (code, f"is {chars}, but should be {told}" in out) == (3, True)


def test_the_vector_store_is_checked_like_an_engine(tmp_path: Path) -> None:
    """Its type, its options and their values; nothing is wrong with those that there are."""
    for line, told in (
        ("{type: lanse}", "vectors.type: no vector store is called 'lanse'; known: lance, milvus"),
        ("milvuss", "vectors: no vector store is called 'milvuss'"),
        ("{type: milvus, tokn: a}", "vectors.tokn: is an unknown key"),
        ("{type: lance, cache_mb: 3}", "vectors.cache_mb: is 3; should be at least 16"),
    ):
        code, out, _ = check(tmp_path, GOOD + f"vectors: {line}\n")
        assert (code, told in out) == (3, True), out
    for line in ("lance", "{type: lance, cache_mb: 64}", "{type: milvus, url: 'http://a:19530'}"):
        assert check(tmp_path, GOOD + f"vectors: {line}\n")[0] == 0


def test_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster has an address, and wants the extra that speaks to it."""
    code, out, _ = check(tmp_path, GOOD + "ingest: {ray: http://head:10001}\n")
    assert (code, "but should be auto, local, host:6379 or ray://host:10001" in out) == (3, True), (
        out
    )
    monkeypatch.setattr("refdesk.kb.ingest.ray_cluster.find_spec", lambda _: None)
    code, out, _ = check(tmp_path, GOOD + "ingest: {ray: auto}\n")
    assert (code, "ingest.ray: Ray is not installed: run `pip install" in out) == (3, True), out
