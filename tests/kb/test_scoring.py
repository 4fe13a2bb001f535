"""The score of a passage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.kb.scoring import mean_score, text_score, vector_score, with_exact, with_graph

SHARE = st.floats(0, 1)


@given(st.floats(-5, 1e6), st.floats(-1, 1), st.floats(0, 0.9), SHARE)
def test_bounds(bm25: float, cosine: float, floor: float, graph: float) -> None:
    """Whatever goes in, a score is 0 to 1."""
    score = mean_score(text_score(bm25), vector_score(cosine, floor))
    assert 0 <= score <= 1
    assert score - 1e-12 <= with_graph(score, graph) <= 1


@given(st.floats(0, 1e3), st.floats(0.01, 1e3))
def test_text_grows(bm25: float, more: float) -> None:
    """More words in common never count less."""
    assert text_score(bm25 + more) >= text_score(bm25)


def test_formula() -> None:
    """The formula is the one that is written down."""
    assert text_score(12) == 0.5
    assert text_score(0) == 0
    assert vector_score(0.85, 0.7) == pytest.approx(0.5)
    assert vector_score(0.5, 0.7) == 0
    assert mean_score(0.5, 0.25) == 0.375
    assert mean_score(0.5, None) == 0.5
    assert with_exact(0.2, 1.0) == pytest.approx(0.6)
    assert with_exact(0.2, 0.0) == pytest.approx(0.2)
    assert with_graph(0.0, 1.0) == 0.25
    assert with_graph(0.5, 0.5) == 1 - 0.5 * 0.875
