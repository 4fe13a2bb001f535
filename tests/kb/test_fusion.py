"""Fusion, and who may rank for whom."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.kb.fusion import can_rank, can_read, fuse

ENGLISH = frozenset({"en"})


def test_fuse() -> None:
    """What both lists have comes before what one has; ranks count, and nothing else does."""
    assert fuse([["a", "b", "c"], ["c", "d"]]) == ["c", "a", "b", "d"]
    assert fuse([["a", "b"], []]) == ["a", "b"]
    assert fuse([]) == []


@given(st.lists(st.lists(st.sampled_from("abcdef"), unique=True), max_size=4))
def test_fuse_loses_nothing(lists: list[list[str]]) -> None:
    """Every id is in the result, once."""
    fused = fuse(lists)
    assert sorted(fused) == sorted({each for ids in lists for each in ids})


@given(st.lists(st.sampled_from("abcdef"), unique=True))
def test_fuse_alone(ids: list[str]) -> None:
    """One list alone keeps its order."""
    assert fuse([ids, []]) == ids


@pytest.mark.parametrize(
    ("query", "language", "known", "may"),
    [
        ("When was the bridge built?", "auto", ENGLISH, True),
        ("bridge", "auto", ENGLISH, True),
        ("", "auto", ENGLISH, True),
        ("42", "auto", ENGLISH, True),
        ("When was the bridge built?", "en", ENGLISH, True),
        ("When was the bridge built?", "en-GB", ENGLISH, True),
        ("When was the bridge built?", "zh", ENGLISH, False),
        ("大桥是什么时候建成的？", "auto", ENGLISH, False),
        ("大桥是什么时候建成的？", "en", ENGLISH, False),
        ("GitHub 备份脚本上传失败", "auto", ENGLISH, False),
        ("Когда был построен мост?", "auto", ENGLISH, False),
        ("Wann wurde die Brücke von wem gebaut?", "auto", ENGLISH, False),
        ("¿Cuándo se construyó el puente de la ciudad?", "auto", ENGLISH, False),
        ("Which café did the naïve Zoë visit?", "auto", ENGLISH, True),
        ("大桥是什么时候建成的？", "zh", None, True),
        ("大桥是什么时候建成的？", "zh", frozenset({"en", "zh"}), True),
    ],
)
def test_can_rank(query: str, language: str, known: frozenset[str] | None, may: bool) -> None:
    """An embedder ranks where it knows the language of question and collection."""
    assert can_rank(query, language, known) is may


def test_can_read() -> None:
    """A passage in other letters is one that an embedder of English cannot read."""
    assert can_read("A word like 北京 in a long English sentence about a city.", ENGLISH)
    assert not can_read("北京是一座城市，and some English", ENGLISH)
    assert can_read("北京", None)
    assert can_read("", ENGLISH)
