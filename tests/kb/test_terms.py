"""Texts made into terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.kb.terms import index_terms, query_terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The cat, the CAT!", "the cat the cat"),
        ("备份脚本", "备 份 脚 本 备份 份脚 脚本"),
        ("GitHub备份", "github 备 份 备份"),
        ("ＡＸ－１００", "ax 100 ax-100"),
        ("don't", "don t"),
        ("3.14", "3 14 3.14"),
        ("AT&T, R&D: a & b", "at t at&t r d r&d a b"),
        ("snake_case", "snake case"),
        ("Straße", "straße"),
        ("", ""),
        ("x" * 500, ""),
    ],
)
def test_index_terms(text: str, terms: str) -> None:
    """Words whole, Chinese by characters and pairs, numbers with signs also whole."""
    assert index_terms(text) == terms


def test_query_terms() -> None:
    """Of a run only pairs count, unless it is one character; each term stands once."""
    assert query_terms("备份脚本备份") == "备份 份脚 脚本 本备"
    assert query_terms("茶 tea tea") == "茶 tea"


@given(st.text(max_size=60))
def test_query_finds_its_own_text(text: str) -> None:
    """Every term of a question is a term of the same text: what is copied is found."""
    assert set(query_terms(text).split()) <= set(index_terms(text).split())
