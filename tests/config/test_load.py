"""Layers, origins, paths and references, read from real files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from refdesk.config import KeyRef, examine, load
from refdesk.errors import ConfigError

Write = Callable[[str], Path]
WHOLE = Path(__file__).parent / "whole.yaml"
KEYS = {
    "DEEPSEEK_API_KEY": "sk-deepseek-0123456789",
    "SERPER_API_KEY": "serper-0123456789",
    "SERPAPI_API_KEY": "serpapi-0123456789",
}
MODELS = """\
upstreams:
  local: {base_url: "http://127.0.0.1:8080", wire: [chat, messages], api_key: plain-key}
models:
  small: {upstream: local, aliases: "gpt-*"}
  deepseek-chat: {upstream: local, model: chat}
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes refdesk.yaml."""

    def written(text: str) -> Path:
        path = tmp_path / "refdesk.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return written


def faults(path: Path | None, env: dict[str, str] | None = None, **given: object) -> str:
    """Return the message of the error that loading gives."""
    with pytest.raises(ConfigError) as caught:
        load(path, env=env or {}, **given)  # type: ignore[arg-type]
    return str(caught.value)


def test_nothing_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file everything has its default, and paths start at the current folder."""
    monkeypatch.chdir(tmp_path)
    loaded = load(None, env={})
    config = loaded.config
    assert config.server.port == 8484
    assert config.engines is None
    assert list(config.engine_entries) == ["ddgs"]
    assert config.data_dir == str(tmp_path / "refdesk-data")
    assert config.store.url == f"sqlite:///{tmp_path}/refdesk-data/refdesk.db"
    assert config.store.key == (
        KeyRef(path=tmp_path / "refdesk-data" / "store.key", may_be_made=True),
    )
    assert config.assistants_dir == str(tmp_path / "assistants")
    assert {origin.layer for origin in loaded.origins.values()} == {"default"}
    assert loaded.warnings == ("no engines are configured: the keyless ddgs engine is used",)


def test_whole_contract(tmp_path: Path) -> None:
    """Every key of the contract loads, sections included that are not used yet."""
    loaded = load(WHOLE, env=KEYS)
    config = loaded.config
    folder = WHOLE.parent
    assert config.models["deepseek-chat"].search.enabled == "on"  # type: ignore[union-attr]
    assert config.upstreams["deepseek"].api_key.get_secret_value() == KEYS["DEEPSEEK_API_KEY"]  # type: ignore[union-attr]
    assert config.engines is not None
    assert config.engines["ours"].settings["fields"]["date"] is None
    assert config.engines["main"].settings["api_key"] == KEYS["SERPER_API_KEY"]
    assert config.databases["shop"].url == f"sqlite:///{folder}/shop.db"
    assert config.databases["shop"].permission["orders"].hidden == ("internal_note",)
    assert config.collections["handbook"].embedder.type == "minilm"
    assert config.search.citation.format == "#ref:{id}"
    assert str(loaded.origins["gateway.search.mode"]).startswith(f"{WHOLE}:")


def test_later_layers_win(write: Write) -> None:
    """Default, file, saved, environment, flag: the later wins, and each value says who set it."""
    path = write("gateway:\n  search:\n    concurrency: 1\n    budget_ms: 2\n    cache_ttl_s: 3\n")
    loaded = load(
        path,
        env={"REFDESK_GATEWAY__SEARCH__CACHE_TTL_S": "33", "REFDESK_SERVER__PORT": "5"},
        flags={"server.port": 6, "server.host": None},
        saved={"gateway": {"search": {"budget_ms": 22, "cache_ttl_s": 30}}},
    )
    search = loaded.config.gateway.search
    assert (search.concurrency, search.budget_ms, search.cache_ttl_s) == (1, 22, 33)
    assert loaded.config.server.port == 6
    origins = {key: str(origin) for key, origin in loaded.origins.items()}
    assert origins["gateway.search.concurrency"] == f"{path}:3:5"
    assert origins["gateway.search.budget_ms"] == "saved in the console"
    assert (
        origins["gateway.search.cache_ttl_s"] == "environment REFDESK_GATEWAY__SEARCH__CACHE_TTL_S"
    )
    assert origins["server.port"] == "command line"
    assert origins["server.host"] == "default"


def test_environment_over_saved(write: Write) -> None:
    """A value that the console saved does not hide the environment's (open-webui#7560)."""
    loaded = load(
        write(""),
        env={"REFDESK_PRIVACY__RETENTION_DAYS": "1"},
        saved={"privacy": {"retention_days": 2}},
    )
    assert loaded.config.privacy.retention_days == 1
    assert loaded.origins["privacy.retention_days"].layer == "environment"


def test_derived_takes_the_users_base(write: Write, tmp_path: Path) -> None:
    """What is derived from data_dir follows it, whichever layer set it (open-webui#22097)."""
    config = load(write(""), env={"REFDESK_DATA_DIR": "elsewhere"}).config
    assert config.store.url == f"sqlite:///{tmp_path}/elsewhere/refdesk.db"
    assert config.store.key[0].path == tmp_path / "elsewhere" / "store.key"


def test_flag_paths_start_here(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path of a flag starts at the current folder, all others at the file's."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    path = write("data_dir: d\n")
    assert load(path, env={}).config.data_dir == str(tmp_path / "d")
    assert load(path, env={}, flags={"data_dir": "f"}).config.data_dir == str(here / "f")


def test_null_is_unset(write: Write) -> None:
    """A null key has its default, and a section left empty is no fault; zero and false hold."""
    config = load(
        write(
            "server:\nupstreams:\nengines:\ngateway: {search: {cache_ttl_s: 0, mode: null}}\n"
            "search: {kb: {threshold: 0, graph: false}, db: {max_results: null}}\n"
        ),
        env={},
    ).config
    assert config.engines is None
    assert config.upstreams == {}
    assert config.gateway.search.cache_ttl_s == 0
    assert config.gateway.search.mode == "inject"
    assert config.search.kb.threshold == 0
    assert config.search.kb.model_fields_set == {"threshold", "graph"}
    assert config.search.db.max_results == 20
    assert "max_results" not in config.search.db.model_fields_set


def test_no_engines_is_not_absent_engines(write: Write) -> None:
    """An empty mapping of engines means none; only its absence means the keyless one."""
    assert load(write("engines: {}\n"), env={}).config.engine_entries == {}


def test_references(write: Write, tmp_path: Path) -> None:
    """References stand anywhere in a text, files lose one line end, and $${ is a plain ${."""
    (tmp_path / "key").write_text("from-file\n")
    path = write(
        "upstreams:\n"
        "  a:\n"
        "    base_url: ${env:BASE}/v1\n"
        "    api_key: ${file:key}\n"
        "    headers: {Authorization: 'Bearer ${env:TOKEN}', X-Plain: '$${env:TOKEN}'}\n"
        "databases: {d: {url: 'sqlite:///${data_dir}/d.db'}}\n"
    )
    config = load(path, env={"BASE": "http://h", "TOKEN": "${env:BASE}"}).config
    upstream = config.upstreams["a"]
    assert upstream.base_url == "http://h/v1"
    assert upstream.api_key.get_secret_value() == "from-file"  # type: ignore[union-attr]
    assert upstream.headers["authorization"].get_secret_value() == "Bearer ${env:BASE}"
    assert upstream.headers["x-plain"].get_secret_value() == "${env:TOKEN}"
    assert config.databases["d"].url == f"sqlite:///{tmp_path}/refdesk-data/d.db"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("${env:NOPE}", "refers to the environment variable NOPE, which is not set; set it"),
        ("${env:EMPTY}", "refers to the environment variable EMPTY, which is empty; set it"),
        ("${file:/no/such}", "refers to the file /no/such, which cannot be read"),
        ("${file:}", "holds ${file:} without a path"),
        ("${env:sk-live-0123}", "holds ${env:…} with something that is no name of a variable"),
        ("pa${sk-live-0123}", "holds a reference that is none of ${env:NAME}"),
        ("sk-live-0123${env:X", "holds ${ without its }"),
    ],
)
def test_unresolved_reference(write: Write, value: str, told: str) -> None:
    """A reference that does not resolve names the key and the remedy, never the value."""
    path = write(f"upstreams:\n  a:\n    base_url: http://h\n    api_key: '{value}'\n")
    message = faults(path, {"EMPTY": ""})
    assert message.startswith(f"{path}:4:5: upstreams.a.api_key: {told}")
    assert "\n" not in message
    assert "0123" not in message


def test_all_faults_in_one_go(write: Write) -> None:
    """Every fault is told at once, in the order of the file, with place, finding and remedy."""
    path = write(
        "version: 2\n"
        "server: {prot: 5, port: ninety, workers: 0}\n"
        "upstreams:\n"
        "  a: {base_url: 'ftp://x', api_key: 12345, wire: chatt}\n"
        "models:\n"
        "  m: {upstream: aa, concurrency: 3}\n"
        "  m: {upstream: a}\n"
        "default_model: mm\n"
        "engines: {main: {api_key: x}}\n"
        "foo: !!python/object:os.system x\n"
    )
    env = {"REFDESK_GATEWAY__SEARCH__CONCURENCY": "3"}
    assert faults(path, env).replace(f"{path}:", "").split("\n") == [
        "1:1: version: is 2, an unknown version; this Refdesk reads version 1",
        (
            "2:10: server.prot: is an unknown key; known: host, port, workers, "
            "hosts, origins, limits; "
            "did you mean 'port'?"
        ),
        "2:19: server.port: is 'ninety'; should be a whole number",
        "2:33: server.workers: is 0; should be at least 1",
        (
            "4:7: upstreams.a.base_url: is 'ftp://x', but should start with http:// or https:// "
            "and name a host"
        ),
        (
            "4:28: upstreams.a.api_key: holds a value that is not shown here; should be text "
            "(put it in quotes)"
        ),
        (
            "4:44: upstreams.a.wire: is 'chatt'; allowed: chat, responses, messages, gemini; "
            "did you mean 'chat'?"
        ),
        (
            "6:7: models.m.upstream: is 'aa', but no upstream is called that; known: a; "
            "did you mean 'a'?"
        ),
        (
            "6:21: models.m.concurrency: is an unknown key; known: upstream, model, "
            "aliases, capabilities, search; it belongs to gateway.search.concurrency"
        ),
        "7:3: models.m: stands here twice; the first is in line 6, keep one",
        "8:1: default_model: is 'mm', but no model is called that; known: m; did you mean 'm'?",
        "9:11: engines.main.type: is missing; write it: An engine plugin, such as `serper`.",
        (
            "10:6: foo: has the tag !!python/object:os.system, which is not allowed; write plain "
            "values"
        ),
        (
            "environment REFDESK_GATEWAY__SEARCH__CONCURENCY: stands for no key; did you mean "
            "REFDESK_GATEWAY__SEARCH__CONCURRENCY?"
        ),
    ]


def test_saved_and_flag_faults(write: Write) -> None:
    """A fault says which layer brought it."""
    message = faults(
        write(""),
        flags={"server.port": 70000},
        saved={"gateway": {"search": {"concurrency": True}}},
    )
    assert message.split("\n") == [
        "command line: server.port: is 70000; should be at most 65535",
        "saved in the console: gateway.search.concurrency: is true, but should be a number",
    ]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"- a\n", ":1:1: the file should be a mapping"),
        (b"a: 1\n\tb: 2\n", ":2:1: a tab, which cannot indent YAML; indent with spaces"),
        (b"\xff\xfe\x00", ": is not UTF-8 in line 1; save it as UTF-8"),
        (b"a: [", ":1:5: is no YAML"),
    ],
)
def test_unreadable_file(tmp_path: Path, data: bytes, told: str) -> None:
    """A file that is no configuration at all is one fault, whatever else is wrong."""
    path = tmp_path / "refdesk.yaml"
    path.write_bytes(data)
    message = faults(path, {"REFDESK_NOPE": "1"})
    assert message.startswith(f"{path}{told}")
    assert "\n" not in message


def test_missing_file_and_folder(tmp_path: Path) -> None:
    """A file that is not there, or is a folder, is a fault with its name."""
    assert "there is no such file" in faults(tmp_path / "no.yaml")
    assert "is a folder" in faults(tmp_path)


def test_store_key_is_not_read(write: Write, tmp_path: Path) -> None:
    """The default key, written out or not, is a reference: the first start has yet to make it."""
    made = KeyRef(path=tmp_path / "refdesk-data/store.key", may_be_made=True)
    written = load(write("store: {key: '${file:${data_dir}/store.key}'}\n"), env={}).config
    assert written.store.key == (made,)
    assert load(write("store:\n"), env={}).config.store.key == (made,)


def test_store_keys_rotate(write: Write, tmp_path: Path) -> None:
    """A list keeps its order; files stay references, and text is the key itself."""
    (tmp_path / "old").write_text("old key")
    path = write("store: {key: ['${env:NEW}', '${file:old}']}\n")
    loaded = load(path, env={"NEW": "the-new-key"})
    first, second = loaded.config.store.key
    assert first.literal is not None
    assert first.literal.get_secret_value() == "the-new-key"
    assert second == KeyRef(path=tmp_path / "old")
    assert "the-new-key" not in repr(loaded)


def test_given_key_must_be_there(write: Write) -> None:
    """A key file that is not the default one is looked for at once."""
    message = faults(write("store: {key: ['${file:/no/key}', 'x']}\n"))
    assert "store.key.0: refers to the file /no/key, which cannot be read" in message


def test_postgresql_needs_its_key(write: Write, tmp_path: Path) -> None:
    """With a store that several servers share, no key is made by itself."""
    url = "postgresql+psycopg://refdesk:hunter2@db/refdesk"
    message = faults(write(f"store: {{url: '{url}'}}\n"))
    assert "store.key: is missing" in message
    assert "hunter2" not in message
    default = f"store: {{url: '{url}', key: '${{file:${{data_dir}}/store.key}}'}}\n"
    assert "cannot be read" in faults(write(default))
    (tmp_path / "refdesk-data").mkdir()
    (tmp_path / "refdesk-data/store.key").write_text("k")
    assert not load(write(default), env={}).config.store.key[0].may_be_made


def test_secrets_stay_out_of_sight(write: Write) -> None:
    """No repr and no message shows a key, even one that is of the wrong type or place."""
    path = write(
        "upstreams: {a: {base_url: http://h, api_key: SECRETA, headers: {X-Key: SECRETB}}}\n"
        "engines: {e: {type: serper, api_key: SECRETC}}\n"
        "store: {url: 'postgresql://u:SECRETD@h/d', key: SECRETE}\n"
        "mcp_servers: {m: {command: x, args: [SECRETG], env: {T: SECRETF}}}\n"
    )
    loaded = load(path, env={})
    assert "SECRET" not in repr(loaded)
    draft = examine(path, env={"REFDESK_SERVER__PORT": "x"})
    assert draft.config is None
    assert "SECRET" not in "\n".join(map(str, draft.faults))
    wrong = write(
        "upstreams: {a: {base_url: 'http://u:SECRET@h', api_key: [SECRET], api_keyy: SECRET}}\n"
        "mcp_servers: {m: {command: x, args: '--key SECRET'}, n: {url: 'h://SECRET@h'}}\n"
    )
    assert "SECRET" not in faults(wrong)


def test_key_with_line_break(write: Write, tmp_path: Path) -> None:
    """A key that could break a header is refused, unshown."""
    (tmp_path / "key").write_text("SECRET\r\nX-Evil: 1\n")
    message = faults(write("upstreams: {a: {base_url: http://h, api_key: '${file:key}'}}\n"))
    assert "holds a line break or white space at its ends" in message
    assert "SECRET" not in message


def test_dotted_names(write: Write) -> None:
    """A name that holds a dot is quoted in keys, so that they can be told apart."""
    text = MODELS.replace("small", "gpt-4.1")
    assert 'models."gpt-4.1".upstream' in load(write(text), env={}).origins


def test_find_model(write: Write) -> None:
    """A model's name comes before aliases, and the default after them."""
    config = load(write(MODELS + "default_model: deepseek-chat\n"), env={}).config
    assert config.find_model("small") == "small"
    assert config.find_model("gpt-9") == "small"
    assert config.find_model("else") == "deepseek-chat"


def test_input_is_left_alone(write: Write) -> None:
    """What is handed in is not changed by reading."""
    saved = {"gateway": {"search": {"budget_ms": 22}}}
    load(write("gateway: {search: {concurrency: 1}}\n"), env={}, saved=saved)
    assert saved == {"gateway": {"search": {"budget_ms": 22}}}


@pytest.mark.parametrize(
    "key", ["sk-“quoted”", "sk-cut…", "\ufeffsk-mark", "sk-日本", "sk-é", "a\tb"]
)
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("upstreams: {a: {base_url: http://h, api_key: '${env:K}'}}\n", "upstreams.a.api_key"),
        (
            "upstreams: {a: {base_url: http://h, headers: {x: '${env:K}'}}}\n",
            "upstreams.a.headers.x",
        ),
        (
            "mcp_servers: {m: {url: http://h, headers: {x: '${env:K}'}}}\n",
            "mcp_servers.m.headers.x",
        ),
    ],
)
def test_a_key_that_no_header_can_carry(write: Write, key: str, text: str, place: str) -> None:
    """It is refused with its place, unshown, before a server starts with it."""
    message = faults(write(text), env={"K": key})
    assert "refdesk.yaml:1:" in message
    assert f"{place}: holds a" in message
    assert key not in message


def test_the_environment_of_a_server_may_hold_any_script(write: Write) -> None:
    """Only headers are bound to ASCII."""
    loaded = load(write("mcp_servers: {m: {command: x, env: {K: 日本}}}\n"), env={})
    assert loaded.config.mcp_servers["m"].env["K"].get_secret_value() == "日本"


@pytest.mark.parametrize("name", ["x y", "naïve", "a:b", ""])
def test_the_name_of_a_header(write: Write, name: str) -> None:
    """What is no name of a header is refused for upstreams and for MCP servers."""
    for text in (
        f"upstreams: {{a: {{base_url: http://h, headers: {{'{name}': v}}}}}}\n",
        f"mcp_servers: {{m: {{url: http://h, headers: {{'{name}': v}}}}}}\n",
    ):
        assert "is no name of a header" in faults(write(text))
