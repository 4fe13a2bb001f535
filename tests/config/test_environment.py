"""The environment as a layer: names matched, misspelt ones told."""

from __future__ import annotations

from typing import Any

import pytest

from refdesk.config.environment import environment_layer, variable
from refdesk.config.schema import Config
from refdesk.config.shape import fields

BELOW: dict[str, Any] = {
    "engines": {"main": {"type": "serper", "priority": 1}, "My.Own": {"type": "searxng"}},
    "models": {"deepseek-chat": {"upstream": "up"}, "a-b": {}, "a.b": {}},
    "upstreams": {"up": {"base_url": "http://h"}},
}


def read(**env: str) -> dict[str, Any]:
    """Return the tree of a faultless environment."""
    layer, faults = environment_layer(env, BELOW)
    assert not faults
    return dict(layer.tree)


def fault(name: str, value: str = "x") -> str:
    """Return the one fault of an environment with that variable."""
    _, faults = environment_layer({name: value}, BELOW)
    assert len(faults) == 1
    return str(faults[0])


def test_names() -> None:
    """Case does not matter, and an underscore stands for what a variable's name cannot hold."""
    assert read(REFDESK_ENGINES__MAIN__API_KEY="k") == {"engines": {"main": {"api_key": "k"}}}
    assert read(refdesk_engines__My_own__Base_Url="u") == {"engines": {"My.Own": {"base_url": "u"}}}
    assert read(REFDESK_MODELS__DEEPSEEK_CHAT__MODEL="m") == {
        "models": {"deepseek-chat": {"model": "m"}}
    }


def test_values() -> None:
    """Flow lists and mappings are read; text stays text where the schema knows the type."""
    assert read(REFDESK_UPSTREAMS__UP__WIRE="[chat, messages]") == {
        "upstreams": {"up": {"wire": ["chat", "messages"]}}
    }
    assert read(REFDESK_ENGINES="{}") == {"engines": {}}
    assert read(REFDESK_ENGINES__MAIN__PRIORITY="7") == {"engines": {"main": {"priority": 7}}}
    assert read(REFDESK_ENGINES__MAIN__API_KEY="007") == {"engines": {"main": {"api_key": "007"}}}
    assert read(REFDESK_SERVER__HOST="null") == {"server": {"host": None}}
    assert read(REFDESK_SEARCH__CITATION__FORMAT="#ref:{id}") == {
        "search": {"citation": {"format": "#ref:{id}"}}
    }
    assert read(REFDESK_UPSTREAMS__UP__API_KEY="[not: yaml") == {
        "upstreams": {"up": {"api_key": "[not: yaml"}}
    }


def test_new_entry() -> None:
    """An entry can be made by the environment alone, if all that it must have is given."""
    assert read(REFDESK_ENGINES__NEW__TYPE="tavily", REFDESK_ENGINES__NEW__API_KEY="k") == {
        "engines": {"new": {"type": "tavily", "api_key": "k"}}
    }


def test_misspelt_entry() -> None:
    """An entry that would lack something is taken for a misspelt one, and the nearest named."""
    assert fault("REFDESK_ENGINES__MIAN__API_KEY") == (
        "environment REFDESK_ENGINES__MIAN__API_KEY: engines.mian: is not in the configuration; "
        "known: main, My.Own; did you mean 'main'?; a new one needs type as well"
    )


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "REFDESK_GATEWAY__SEARCH__CONCURENCY",
            "stands for no key; did you mean REFDESK_GATEWAY__SEARCH__CONCURRENCY?",
        ),
        ("REFDESK_PORT", "stands for no key; did you mean REFDESK_SERVER__PORT?"),
        ("REFDESK_CONCURRENCY", "stands for no key; did you mean REFDESK_GATEWAY__SEARCH__"),
        ("REFDESK_MODELS__A_B__MODEL", "stands for several keys: a-b, a.b; rename one"),
        ("REFDESK_SERVER____PORT", "stands for no key: there is an underscore too many"),
        ("REFDESK_SERVER__PORT__X", "stands for no key"),
    ],
)
def test_unmatched(name: str, told: str) -> None:
    """A variable that stands for no key is a fault, with the nearest that does."""
    assert fault(name).startswith(f"environment {name}: {told}")


def test_value_below_a_value() -> None:
    """Two variables that contradict each other are told, not merged by chance."""
    env = {"REFDESK_SERVER": "5", "REFDESK_SERVER__PORT": "6"}
    _, faults = environment_layer(env, {})
    assert ["below another variable's plain value" in str(one) for one in faults] == [True]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REFDESK_NOW", "2026-03-15T12:00:00+00:00"),
        ("REFDESK_CONFIG", "/etc/refdesk.yaml"),
        ("REFDESK_TEST_POSTGRESQL", "1"),
        ("REFDESK_SERVER__PORT", ""),
        ("REFDESK_SERVICE_HOST", "10.0.0.1"),
        ("REFDESK_PORT", "tcp://10.0.0.1:8484"),
        ("REFDESK_PORT_8484_TCP_ADDR", "10.0.0.1"),
        ("OTHER_SERVER__PORT", "1"),
    ],
)
def test_left_alone(name: str, value: str) -> None:
    """Reserved names, empty ones, and those Kubernetes makes for a service are no settings."""
    assert read(**{name: value}) == {}


def test_every_field_has_its_variable() -> None:
    """For each field of the schema outside of entries, its variable leads back to it."""
    for path, info, _ in fields(Config):
        if "NAME" in path:
            continue
        layer, faults = environment_layer({variable(path): "{}"}, {})
        assert not faults, info
        tree: Any = layer.tree
        for key in path:
            tree = tree[key]
