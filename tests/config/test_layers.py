"""Layers laid over each other, and the origins that survive."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.config.layers import Layer, Origin, dotted, merge, walk

TREES = st.recursive(
    st.integers(0, 9) | st.lists(st.integers(0, 9), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
ROOTS = st.dictionaries(st.sampled_from("abc"), TREES, max_size=3)


def test_mappings_merge_and_lists_replace() -> None:
    """Keys are merged one by one; a list, or a value of another kind, is replaced as a whole."""
    low = Layer(name="file", tree={"a": {"x": 1, "y": [1, 2]}, "b": {"c": 1}})
    high = Layer(name="saved", tree={"a": {"y": [3]}, "b": 5})
    merged = merge([low, high])
    assert merged.tree == {"a": {"x": 1, "y": [3]}, "b": 5}
    assert merged.origin(("a", "x")).layer == "file"
    assert merged.origin(("a", "y")).layer == "saved"
    assert ("b", "c") not in merged.origins


def test_origin_of_a_missing_key() -> None:
    """A key that nobody wrote is placed at the nearest key above it."""
    at = Origin(layer="file", file="f", line=3, column=1)
    merged = merge([Layer(name="file", tree={"a": {}}, origins={("a",): at})])
    assert str(merged.origin(("a", "b", "c"))) == "f:3:1"


@settings(max_examples=30, deadline=None)
@given(ROOTS, ROOTS)
def test_the_upper_layer_holds(low: dict[str, object], high: dict[str, object]) -> None:
    """All that the upper layer says is in the result; the layers stay; every key has an origin."""
    before = repr((low, high))
    merged = merge([Layer(name="file", tree=low), Layer(name="flag", tree=high)])
    assert repr((low, high)) == before
    values = dict(walk(merged.tree))
    for path, value in walk(high):
        if not isinstance(value, dict):
            assert values[path] == value
            assert merged.origin(path).layer == "flag"
    assert set(values) - {()} == set(merged.origins) - {()}


def test_dotted() -> None:
    """Names that would be mistaken for several are quoted."""
    assert dotted(("models", "gpt-4.1", "model")) == 'models."gpt-4.1".model'
    assert dotted(("a", "deepseek-chat", "0")) == "a.deepseek-chat.0"
