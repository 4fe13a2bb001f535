"""Keys that ask for what this release does not do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from refdesk.config import Config, load
from refdesk.config.dormant import dormant

UP = {"up": {"base_url": "http://127.0.0.1:1/v1"}}


def test_the_defaults_ask_for_nothing() -> None:
    """A configuration that leaves all as it is, or writes the defaults out, is not noted upon."""
    assert dormant(Config()) == ()
    written = {"gateway": {"search": {"mode": "inject"}}, "privacy": {"store_bodies": False}}
    assert dormant(Config.model_validate(written)) == ()


@pytest.mark.parametrize(
    ("tree", "key"),
    [
        ({"gateway": {"search": {"mode": "loop"}}}, "gateway.search.mode: 'loop'"),
        (
            {"upstreams": {"up": {**UP["up"], "search": {"mode": "auto"}}}},
            "upstreams.up.search.mode: 'auto'",
        ),
        (
            {"upstreams": UP, "models": {"m": {"upstream": "up", "search": {"mode": "loop"}}}},
            "models.m.search.mode: 'loop'",
        ),
        ({"upstreams": {"up": {**UP["up"], "wire": "gemini"}}}, "upstreams.up.wire: 'gemini'"),
        (
            {
                "upstreams": UP,
                "models": {"m": {"upstream": "up", "capabilities": {"input_tokens": 1}}},
            },
            "models.m.capabilities.input_tokens:",
        ),
        ({"search": {"options": {"skip_threshold": 0}}}, "search.options:"),
        ({"privacy": {"store_bodies": True}}, "privacy.store_bodies:"),
        ({"uses": {"web": "researcher"}}, "uses.web: 'researcher'"),
    ],
)
def test_what_is_asked_for_in_vain_is_named(tree: dict[str, Any], key: str) -> None:
    """Each key that asks for what is not there yet is named in a sentence of its own."""
    told = [note for note in dormant(Config.model_validate(tree)) if note.startswith(key)]
    assert len(told) == 1
    assert "has no effect yet" in told[0]


@pytest.mark.parametrize(
    ("upstream", "search", "told"),
    [
        ({}, {"declare": "always"}, False),
        ({}, {"declare": "always", "enabled": "off"}, True),
        ({"enabled": "off"}, {"declare": "always"}, True),
        ({"enabled": "off"}, {"declare": "always", "enabled": "on"}, False),
        ({"enabled": "off"}, {"declare": "always", "engine": "ddgs"}, False),
        ({"enabled": "off"}, {"declare": "client"}, False),
    ],
)
def test_a_search_for_each_turn_that_is_switched_off(
    upstream: dict[str, Any], search: dict[str, Any], told: bool
) -> None:
    """`declare: always` beside a switch that is off is told, whichever layer has the switch."""
    config = Config.model_validate(
        {
            "upstreams": {"up": {**UP["up"], "search": upstream}},
            "models": {"m": {"upstream": "up", "search": search}},
        }
    )
    notes = [note for note in dormant(config) if note.startswith("models.m.search.declare:")]
    assert len(notes) == told


def test_a_name_that_hides_another() -> None:
    """A model whose name ends in `:online` is told to hide what the name would stand for."""
    models = {
        "m": {"upstream": "up"},
        "m:online": {"upstream": "up"},
        "x:online": {"upstream": "up"},
    }
    notes = dormant(Config.model_validate({"upstreams": UP, "models": models}))
    assert [note.split(":online")[0] for note in notes] == ["models.m"]


def test_knowledge_and_databases_are_there() -> None:
    """Collections, databases, engines that are one of them, and who writes queries: all work."""
    config = Config.model_validate(
        {
            "collections": {"c": {}},
            "databases": {"d": {"url": "sqlite:///d.db"}},
            "gateway": {"search": {"default_engine": "kb:c"}},
            "search": {"querydsl": {"strict": True}},
            "mcp_servers": {"s": {"command": "s"}},
            "uses": {"querydsl": "mcp:s.t"},
        }
    )
    assert dormant(config) == ()


def test_whoever_loads_it_is_told(tmp_path: Path) -> None:
    """What was loaded holds the sentences, beside the warnings."""
    path = tmp_path / "refdesk.yaml"
    path.write_text("gateway: {search: {mode: loop}}\n")
    loaded = load(path, env={})
    assert loaded.dormant == dormant(loaded.config) != ()
