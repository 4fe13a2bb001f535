"""The settings of a search from their layers."""

from __future__ import annotations

import copy
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.config.library import LibrarySection
from refdesk.config.load import load
from refdesk.errors import ConfigError
from refdesk.search.settings import LAYERS, LayerName, SearchSettings, SettingsLayer
from refdesk.uses import SearchUses

resolve = SearchSettings.resolve


def layer(name: LayerName, **tree: Any) -> SettingsLayer:
    return SettingsLayer(name=name, tree=tree)


def test_defaults() -> None:
    """Without layers every value is the system's."""
    found = resolve()
    assert found.values == SearchSettings(search=LibrarySection(), uses=SearchUses())
    assert set(found.origins.values()) == {"system"}
    assert found.origins["search.web.max_results"] == "system"
    assert found.origins["uses.rerank"] == "system"


def test_later_layers_win() -> None:
    """Each layer overrides the ones below it, key by key, and each value knows its own."""
    found = resolve(
        layer("global", search={"web": {"max_results": 3, "engine": "a"}}, uses={"web": "one"}),
        layer("assistant", search={"web": {"max_results": 4}, "rerank": {"top_n": 2}}),
        layer("hook", search={"web": {"max_results": 5}}),
        layer("request", search={"web": {"max_results": 6}, "weights": {"auto": 0.1}}),
    )
    search = found.values.search
    assert (search.web.max_results, search.web.engine, search.rerank.top_n) == (6, "a", 2)
    assert (search.weights.auto, search.weights.user) == (0.1, 1.0)
    assert str(found.values.uses.web) == "one"
    assert {key: origin for key, origin in found.origins.items() if origin != "system"} == {
        "search.web.max_results": "request",
        "search.web.engine": "global",
        "search.rerank.top_n": "assistant",
        "search.weights.auto": "request",
        "uses.web": "global",
    }


@pytest.mark.parametrize(
    ("section", "key", "below", "above"),
    [
        ("kb", "graph", True, False),
        ("kb", "threshold", 0.7, 0),
        ("kb", "collections", ["handbook"], []),
        ("querydsl", "strict", True, False),
        ("citation", "auto_inject_prompt", True, False),
        ("citation", "custom_prompt", "Cite!", ""),
        ("options", "skip_threshold", 5, 0),
        ("weights", "user", 1.0, 0),
        ("db", "models", ["orders"], []),
    ],
)
def test_zero_and_false_override(section: str, key: str, below: Any, above: Any) -> None:
    """Zero, false and empty are values; null leaves what is below."""

    def value(*layers: SettingsLayer) -> Any:
        return getattr(getattr(resolve(*layers).values.search, section), key)

    low = layer("assistant", search={section: {key: below}})
    unset = layer("request", search={section: {key: None}})
    zero = layer("request", search={section: {key: above}})
    expected = tuple(above) if isinstance(above, list) else above
    assert value(low, zero) == expected
    assert type(value(low, zero)) is type(value(low))
    assert value(low, unset) == value(low) != expected
    assert resolve(low, unset).origins[f"search.{section}.{key}"] == "assistant"


@pytest.mark.parametrize("nothing", [{}, {"search": None}, {"search": {"kb": None}, "uses": {}}])
def test_null_sections_are_unset(nothing: dict[str, Any]) -> None:
    """A whole section that is null sets nothing."""
    low = layer("global", search={"kb": {"graph": True}})
    assert resolve(low, SettingsLayer(name="request", tree=nothing)) == resolve(low)


def test_a_citation_section_sets_only_what_it_holds() -> None:
    """A section that is there without a key leaves that key alone."""
    found = resolve(layer("assistant", search={"citation": {"format": "[{id}]"}}))
    assert found.values.search.citation.auto_inject_prompt is True
    assert found.origins["search.citation.auto_inject_prompt"] == "system"


def test_camel_case() -> None:
    """Keys are read in both spellings."""
    found = resolve(
        layer("request", search={"web": {"maxResults": 3}, "citation": {"autoInjectPrompt": False}})
    )
    assert found.values.search.web.max_results == 3
    assert found.values.search.citation.auto_inject_prompt is False
    assert found.origins["search.web.max_results"] == "request"


def test_one_key_twice() -> None:
    """Both spellings at once are a fault, unless one of them is null."""
    with pytest.raises(ConfigError, match=r"search\.web\.max_results: is given twice"):
        resolve(layer("request", search={"web": {"maxResults": 3, "max_results": 4}}))
    for null in ({"maxResults": None, "max_results": 4}, {"max_results": 4, "maxResults": None}):
        assert resolve(layer("request", search={"web": null})).values.search.web.max_results == 4


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"search": {"web": {"max_result": 3}}}, r"did you mean 'max_results'"),
        ({"search": {"webb": {}}}, r"search\.webb.*did you mean 'web'"),
        ({"search": {"Web": {}}}, r"search\.Web.*did you mean 'web'"),
        ({"serch": {}}, r"serch.*did you mean 'search'"),
        ({"search": {"rerank": {"topN": 0}}}, r"search\.rerank\.top_n: is 0; .*at least 1"),
        ({"search": {"kb": {"threshold": 1.5}}}, r"search\.kb\.threshold: is 1\.5; .*at most 1"),
        ({"search": {"kb": {"graph": "maybe"}}}, r"search\.kb\.graph.*true or false"),
        ({"search": {"kb": {"collections": "a"}}}, r"search\.kb\.collections"),
        ({"search": []}, r"search"),
        ({"uses": {"web": "mcp:nodot"}}, r"uses\.web: 'mcp:nodot'.*mcp:<server>\.<tool>"),
        ({"uses": {"keyword": "disabled"}}, r"uses\.keyword.*only uses\.search"),
        ({"uses": {"vision": "x"}}, r"uses\.vision.*known: search, web"),
        ({7: 1}, r"7"),
    ],
)
def test_faults(tree: dict[Any, Any], said: str) -> None:
    """Unknown keys and values that cannot be are refused, with the layer and the nearest name."""
    with pytest.raises(ConfigError, match=rf"hook: .*{said}"):
        resolve(SettingsLayer(name="hook", tree=tree))


def test_all_faults_at_once() -> None:
    """Every fault of every layer has its line."""
    with pytest.raises(ConfigError) as caught:
        resolve(
            layer("assistant", search={"web": {"x": 1}}, uses={"search": "a b"}),
            layer("request", search={"rerank": {"top_n": -1}}),
        )
    assistant, uses, request = str(caught.value).splitlines()
    assert assistant.startswith("assistant: search.web.x: is an unknown key")
    assert uses.startswith("assistant: uses.search: 'a b'")
    assert request.startswith("request: search.rerank.top_n: is -1")


@pytest.mark.parametrize(
    ("hook", "request_says", "origin", "result"),
    [
        ("disabled", "builtin", "hook", "disabled"),
        ("disabled", "other", "hook", "disabled"),
        ("builtin", "disabled", "request", "disabled"),
        ("finder", "builtin", "request", "builtin"),
        ("disabled", None, "hook", "disabled"),
    ],
)
def test_a_hook_may_only_narrow(
    hook: str, request_says: str | None, origin: str, result: str
) -> None:
    """A hook can switch search off for a request, but never on again."""
    found = resolve(
        layer("hook", uses={"search": hook}), layer("request", uses={"search": request_says})
    )
    assert str(found.values.uses.search) == result
    assert found.origins["uses.search"] == origin


def test_assistant_disabled_can_be_lifted() -> None:
    """What an assistant's file disables, a request may enable."""
    off = layer("assistant", uses={"search": "disabled"})
    assert str(resolve(off).values.uses.search) == "disabled"
    on = layer("request", uses={"search": "builtin"})
    assert str(resolve(off, on).values.uses.search) == "builtin"


def test_of_config(tmp_path: Path) -> None:
    """The configuration is the global layer; its defaults stay unset, its places are told."""
    file = tmp_path / "refdesk.yaml"
    file.write_text("version: 1\nsearch:\n  web:\n    max_results: 7\n")
    loaded = load(file, env={})
    config = loaded.config
    low = layer("system", search={"rerank": {"top_n": 4}})
    found = resolve(
        low, SettingsLayer.of_config(config.search, config.uses, origins=loaded.origins)
    )
    assert (found.values.search.web.max_results, found.values.search.rerank.top_n) == (7, 4)
    assert found.origins["search.web.max_results"] == f"{file}:4:5"
    assert found.origins["search.rerank.top_n"] == "system"


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "search": st.fixed_dictionaries(
            {},
            optional={
                "web": st.fixed_dictionaries(
                    {}, optional={"max_results": st.none() | st.integers(1, 50)}
                ),
                "kb": st.none()
                | st.fixed_dictionaries(
                    {},
                    optional={
                        "graph": st.none() | st.booleans(),
                        "collections": st.none() | st.lists(st.sampled_from("abc"), max_size=2),
                    },
                ),
            },
        ),
        "uses": st.fixed_dictionaries({}, optional={"web": st.sampled_from(["builtin", "x"])}),
    },
)


@given(st.fixed_dictionaries(dict.fromkeys(LAYERS, VALUES)), st.randoms())
def test_layers(trees: dict[LayerName, dict[str, Any]], random: Any) -> None:
    """
    The order of arguments does not matter, nothing given is changed, and each value is that of
    the highest layer that sets it.
    """
    before = copy.deepcopy(trees)
    layers = [SettingsLayer(name=name, tree=tree) for name, tree in trees.items()]
    found = resolve(*layers)
    random.shuffle(layers)
    assert resolve(*layers) == found
    assert trees == before
    assert SearchSettings() == resolve().values
    setters = [
        (name, value)
        for name in LAYERS
        if (value := ((trees[name].get("search") or {}).get("kb") or {}).get("graph")) is not None
    ]
    name, graph = setters[-1] if setters else ("system", False)
    assert found.values.search.kb.graph is graph
    assert found.origins["search.kb.graph"] == name


def test_two_layers_of_one_name() -> None:
    """Of two requests' layers the later given one wins, in any place among the others."""
    first, second = (layer("request", search={"rerank": {"top_n": n}}) for n in (1, 2))
    low = layer("global", search={"rerank": {"top_n": 9}})
    for given_layers in permutations([first, second, low]):
        later = [one for one in given_layers if one is not low][-1]
        expected = later.tree["search"]["rerank"]["top_n"]
        assert resolve(*given_layers).values.search.rerank.top_n == expected


def test_results_are_frozen() -> None:
    """What was resolved cannot be changed, so that no default ever is."""
    values = resolve().values
    with pytest.raises((AttributeError, TypeError, ValueError)):
        values.search.web.max_results = 3  # type: ignore[misc]
    assert isinstance(
        resolve(layer("hook", search={"kb": {"collections": ["a"]}})).values.search.kb.collections,
        tuple,
    )
