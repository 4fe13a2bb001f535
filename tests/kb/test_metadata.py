"""Bounds of the values that documents carry and that searches filter by."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.kb.metadata import (
    MAX_FILTER_BYTES,
    MAX_KEYS,
    MAX_METADATA_DEPTH,
    MAX_VALUE_BYTES,
    MAX_VALUES,
    BadMetadata,
    check_filter,
    check_metadata,
)


def nested(levels: int) -> Any:
    """Lists in each other, made without recursion."""
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


TOO_MUCH = [
    ({"tag": [str(n) for n in range(40_000)]}, "metadata has 40000 values; give up to 1000"),
    ({f"k{n}": ["a"] * 30 for n in range(40)}, "metadata has 1200 values"),
    ({str(n): n for n in range(MAX_KEYS + 1)}, "metadata has 65 keys; give up to 64"),
    ({"note": "é" * MAX_VALUE_BYTES}, "metadata.note has a value of 4096 bytes"),
    ({"n": 10**9000}, "metadata.n has a value of 9967 bytes"),
    ({"k" * 3000: 1}, "metadata has a key of 3000 bytes"),
    ({"tag": [f"{n:02000}" for n in range(40)]}, "metadata has 80120 bytes; give up to"),
]
"""Refused of a filter, and of a document's metadata."""


@pytest.mark.parametrize(("given", "words"), TOO_MUCH)
def test_too_much_is_refused(given: dict[str, Any], words: str) -> None:
    """Too many keys or values, or too many bytes, are refused with the bound."""
    with pytest.raises(BadMetadata, match=words):
        check_filter(given)
    with pytest.raises(BadMetadata, match=words):
        check_metadata(given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"a": {"b": 1}}, "metadata.a holds a mapping, which equals no value"),
        ({"a": None}, "metadata.a holds null"),
        ({"a": nested(2)}, "metadata.a holds a list in a list"),
        ({"a": nested(100_000)}, "metadata.a holds a list in a list"),
        ({"a": [b"x"]}, "metadata.a holds a bytes"),
    ],
)
def test_a_filter_is_flat(given: dict[str, Any], words: str) -> None:
    """A filter holds scalars and lists of them; what could equal nothing is refused."""
    with pytest.raises(BadMetadata, match=words):
        check_filter(given)


def test_metadata_nests_so_deep() -> None:
    """A document's metadata may hold lists and mappings, to a stated depth."""
    check_metadata({"a": nested(MAX_METADATA_DEPTH - 1), "b": {"c": {"d": [1, 2]}}, "e": None})
    for levels in (MAX_METADATA_DEPTH, 100_000):
        with pytest.raises(BadMetadata, match="more than 4 deep"):
            check_metadata({"a": nested(levels)})


def test_what_is_within_the_bounds_passes() -> None:
    """As many document ids as a filter takes, sets and tuples, and texts of any letters pass."""
    ids = [f"doc_{n:020}" for n in range(MAX_VALUES)]
    assert check_filter({"document_id": ids}) == {"document_id": ids}
    assert check_filter({"a": (1, 2.5), "b": {True}, "c": "\ud800", "d": []}) == {
        "a": [1, 2.5],
        "b": [True],
        "c": "\ud800",
        "d": [],
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.dictionaries(st.text(max_size=9), JSON, max_size=5))
def test_any_json(given: dict[str, Any]) -> None:
    """Whatever JSON is given, it passes within the bounds or is refused; nothing else is raised."""
    for check in (check_filter, check_metadata):
        with suppress(BadMetadata):
            check(given)
            assert len(repr(given)) < 4 * MAX_FILTER_BYTES
