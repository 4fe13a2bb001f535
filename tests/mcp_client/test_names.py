"""The names of tools for models."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.mcp_client import alias_of

NAMES = st.one_of(st.text(min_size=1, max_size=80), st.text("ab_0", min_size=1, max_size=20))


@settings(max_examples=50)
@given(NAMES, NAMES)
def test_any_names(server: str, tool: str) -> None:
    """Whatever the names, the alias is one that every provider takes, and always the same."""
    alias = alias_of(server, tool)

    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", alias)
    assert alias == alias_of(server, tool)


@settings(max_examples=50)
@given(st.lists(st.tuples(NAMES, NAMES), unique=True, max_size=20))
def test_no_two_alike(names: list[tuple[str, str]]) -> None:
    """Two different tools never have one alias."""
    assert len({alias_of(*name) for name in names}) == len(names)


def test_short_names() -> None:
    """Short plain names are joined, so that a person can read them."""
    assert alias_of("notes", "search") == "notes__search"


def test_long_names() -> None:
    """A tool of 50 characters on a server of 20 has an alias of 64 that begins with the server."""
    alias = alias_of("s" * 20, "t" * 50)

    assert len(alias) == 64
    assert alias.startswith("s" * 20 + "__ttt")
    assert alias != alias_of("s" * 20, "t" * 51)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a__b", "c"), ("a", "b__c")),
        (("a_", "b"), ("a", "_b")),
        (("a.b", "c"), ("a_b", "c")),
        (("a", "笔记"), ("a", "搜索")),
    ],
)
def test_near_misses(one: tuple[str, str], other: tuple[str, str]) -> None:
    """Names that would be alike when joined or cleaned are told apart."""
    assert alias_of(*one) != alias_of(*other)


def test_no_borrowed_alias() -> None:
    """A server cannot name a tool so that it has the alias of another server's tool."""
    victim = alias_of("a.b", "c")
    server, _, tool = victim.partition("__")

    assert alias_of(server, tool) != victim
