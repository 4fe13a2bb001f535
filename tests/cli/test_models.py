"""``refdesk models``: the list, and the decision record with the layer behind each value."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import Command
from refdesk.cli._record import matched
from refdesk.config import Config, load
from refdesk.gateway.app import WIRES
from refdesk.gateway.targets import build_targets

YAML = """\
upstreams:
  plain:
    base_url: "http://127.0.0.1:1/v1"
    api_key: SECRET-0123456789-tail
    search: {enabled: "off", engine: spare}
  oa: {provider: openai, wire: [responses, chat, gemini], base_url: "http://127.0.0.1:1"}
models:
  local: {upstream: plain, model: llama, aliases: ["claude-*", "gpt-?"]}
  own: {upstream: plain, search: {enabled: "on", engine: spare, mode: auto}, aliases: ["claude-x*"]}
  half: {upstream: plain, search: {engine: gone}}
  gpt-5.1: {upstream: oa}
  denied: {upstream: oa, model: gpt-5.1, capabilities: {web_search: false}}
default_model: local
engines:
  main: {type: offline, priority: 2}
  spare: {type: offline}
  gone: {type: offline, enabled: false}
"""


def wires(refdesk: Command, name: str, *more: str) -> dict[str, dict]:
    """The record of a model, by wire."""
    ran = refdesk("models", "explain", name, "--json", *more, yaml=YAML)
    assert ran.code == 0, ran.err
    return {wire["wire"]: wire for wire in ran.json["wires"]}


def test_list(refdesk: Command) -> None:
    """Each model has its names, its upstream, and who searches on which wire."""
    rows = {row["name"]: row for row in refdesk("models", "list", "--json", yaml=YAML).json}
    assert list(rows) == ["local", "own", "half", "gpt-5.1", "denied"]
    assert rows["local"] == {
        "name": "local",
        "aliases": ["claude-*", "gpt-?"],
        "default": True,
        "upstream": "plain",
        "provider": "compatible",
        "upstream_model": "llama",
        "wires": [{"wire": "chat", "route": "pass", "layer": "upstream"}],
    }
    assert [wire["route"] for wire in rows["gpt-5.1"]["wires"]] == ["hosted", "gateway", "gateway"]
    out = refdesk("models", "list").out
    assert "local (default)" in out
    assert "responses: hosted, chat: gateway" in out
    assert "SECRET" not in out


def test_list_of_none(refdesk: Command) -> None:
    """Without models there is no line, and it is said where to add them."""
    ran = refdesk("models", "list", yaml="version: 1\n")
    assert (ran.code, ran.out) == (0, "")
    assert "add them under `models:`" in ran.err
    assert refdesk("models", "list", "--json").json == []


def test_upstream_says_so(refdesk: Command) -> None:
    """Without a switch of the model the upstream's stands; the capability is shown, overridden."""
    wire = wires(refdesk, "local")["chat"]
    assert (wire["route"], wire["layer"]) == ("pass", "upstream")
    assert wire["reason"] == "gateway search is switched off"
    assert (wire["engine"], wire["mode"]) == (None, None)
    assert wire["layers"] == [
        {"layer": "model", "value": {}, "set_at": {}, "decides": False, "note": "unset"},
        {
            "layer": "upstream",
            "value": {"enabled": "off", "engine": "spare"},
            "set_at": {"enabled": "refdesk.yaml:5:14", "engine": "refdesk.yaml:5:30"},
            "decides": True,
            "note": "",
        },
        {
            "layer": "capability",
            "value": "no",
            "set_at": "no rule",
            "decides": False,
            "note": "overridden by upstream",
        },
    ]


def test_model_replaces_upstream(refdesk: Command) -> None:
    """A model's object replaces its upstream's as a whole, which is shown as overridden."""
    wire = wires(refdesk, "own")["chat"]
    assert (wire["route"], wire["layer"]) == ("gateway", "model")
    assert wire["layers"][1]["note"] == "overridden as a whole by model"
    assert wire["layers"][1]["value"] == {"enabled": "off", "engine": "spare"}
    assert wire["engine"]["name"] == "spare"
    assert wire["engine"]["why"] == "named by the model"
    assert wire["engine"]["fallbacks"] == ["main"]
    assert wire["mode"] == {"value": "auto", "source": "the search object that counts"}


def test_half_an_object(refdesk: Command) -> None:
    """An object without a switch leaves the route to the capability; its engine still counts."""
    wire = wires(refdesk, "half")["chat"]
    assert (wire["route"], wire["layer"]) == ("gateway", "capability")
    assert wire["layers"][0]["note"] == "leaves the route to the capability"
    assert wire["layers"][1]["note"] == "overridden as a whole by model"
    assert wire["engine"]["name"] == "main"
    assert wire["engine"]["why"] == "the highest priority (2)"
    assert "'gone', which the model or upstream names, is disabled" in wire["engine"]["notices"][0]
    assert wire["mode"] == {"value": "inject", "source": "gateway.search.mode, default"}


def test_capability(refdesk: Command) -> None:
    """Without switches the capability decides wire by wire, with its evidence."""
    found = wires(refdesk, "gpt-5.1")
    assert list(found) == ["responses", "chat", "gemini"]
    assert found["responses"]["route"] == "hosted"
    assert found["responses"]["capability"]["verdict"] == "hosted"
    assert "the vendor's guide" in found["responses"]["capability"]["evidence"]
    chat = found["chat"]
    assert (chat["route"], chat["capability"]["verdict"]) == ("gateway", "elsewhere")
    assert chat["accepts_search_tool"]["value"] is False
    assert "answers 400" in chat["accepts_search_tool"]["source"]
    assert [wire["served"] for wire in found.values()] == [True, True, False]


def test_metadata_denies(refdesk: Command) -> None:
    """`web_search: false` in the model's entry wins over the provider's rule, and says so."""
    wire = wires(refdesk, "denied")["responses"]
    assert wire["route"] == "gateway"
    assert wire["capability"] == {
        "verdict": "no",
        "source": "metadata",
        "evidence": "web_search: false",
    }


def test_one_wire(refdesk: Command) -> None:
    """One wire can be asked for; one that is none, or not spoken, is refused with the known."""
    assert list(wires(refdesk, "gpt-5.1", "--wire", "chat")) == ["chat"]
    ran = refdesk("models", "explain", "gpt-5.1", "--wire", "messages")
    assert ran.code == 1
    assert "speaks responses and chat and gemini, not messages" in ran.err
    ran = refdesk("models", "explain", "gpt-5.1", "--wire", "telex")
    assert ran.code == 2
    assert "'telex' is no wire" in ran.err


def test_unknown(refdesk: Command) -> None:
    """Without a default, a name that nothing matches is exit status 1 with the known names."""
    ran = refdesk("models", "explain", "zzz", yaml=YAML.replace("default_model: local\n", ""))
    assert (ran.code, ran.out) == (1, "")
    assert "no model is called 'zzz'; known: local, own" in ran.err


@pytest.mark.parametrize(
    ("name", "entry", "how"),
    [
        ("local", "local", "the entry of that name"),
        ("own", "own", "the entry of that name"),
        ("own[1m]", "own", "the entry of that name, '[1m]' set aside"),
        ("claude-x1", "local", "the alias 'claude-*' of 'local'"),
        ("gpt-5", "local", "the alias 'gpt-?' of 'local'"),
        ("gpt-5[1m]", "local", "the alias 'gpt-?' of 'local', '[1m]' set aside"),
        ("gpt-5.1", "gpt-5.1", "the entry of that name"),
        ("zzz", "local", "default_model: local"),
        ("own:online", "own", "the entry of that name, ':online' set aside"),
        ("gpt-5:online", "local", "the alias 'gpt-?' of 'local', ':online' set aside"),
        ("own:online[1m]", "own", "the entry of that name, ':online[1m]' set aside"),
        ("own[1m]:online", "own", "the entry of that name, '[1m]:online' set aside"),
        ("zzz:online", "local", "default_model: local"),
    ],
)
def test_matched(folder: Path, name: str, entry: str, how: str) -> None:
    """How a name led to an entry is said as the gateway finds it."""
    (folder / "refdesk.yaml").write_text(YAML)
    config: Config = load(folder / "refdesk.yaml", env={}).config
    target = build_targets(config, WIRES).find(name)
    assert target.name == entry
    assert matched(config, name, entry) == how
    assert {way.terms.always for way in target.ways.values()} == {":online" in name}


def test_each_user_turn(refdesk: Command) -> None:
    """What is searched without a declaration is said, with who searches then and who set it."""
    said = "  said: {upstream: oa, model: gpt-5.1, search: {declare: always}}\n"
    yaml = YAML.replace("models:\n", f"models:\n{said}")
    record = refdesk("models", "explain", "said", "--json", yaml=yaml).json
    assert record["declare"]["value"] == "always"
    assert record["declare"]["source"].startswith("models.said.search.declare, refdesk.yaml:")
    by_wire = {wire["wire"]: wire for wire in record["wires"]}
    assert by_wire["responses"]["route"] == "hosted"
    assert by_wire["responses"]["undeclared"]["route"] == "gateway"
    assert "did not declare" in by_wire["responses"]["undeclared"]["reason"]

    out = refdesk("models", "explain", "local:online", yaml=YAML).out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "searched each user turn, declared or not (the name 'local:online')" in lines
    assert "not declared PASS: gateway search is switched off" in lines
    plain = refdesk("models", "explain", "own", "--json", yaml=YAML).json
    assert plain["declare"]["value"] == "client"
    assert {wire["undeclared"] for wire in plain["wires"]} == {None}


def test_text(refdesk: Command) -> None:
    """As text: route, reason and layer, each layer's own value with its place, and no key."""
    out = refdesk("models", "explain", "claude-x1", yaml=YAML).out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines == [
        "model claude-x1",
        "matched the alias 'claude-*' of 'local'",
        "upstream plain (provider compatible)",
        "asked as llama at http://127.0.0.1:1/v1",
        "",
        "wire chat",
        "route PASS",
        "because gateway search is switched off (upstream said so)",
        "model unset",
        "→ upstream enabled: off (refdesk.yaml:5:14), engine: spare (refdesk.yaml:5:30)",
        "capability no (no rule); overridden by upstream",
        "evidence nothing is known of 'llama' at compatible (no rule)",
        "search tool the upstream takes it (nothing says that it does not)",
    ]
    assert "then main" in refdesk("models", "explain", "own").out
    assert "which this version does not serve" in refdesk("models", "explain", "gpt-5.1").out
