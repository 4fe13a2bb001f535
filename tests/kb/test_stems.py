"""English stems: the examples of the algorithm's author."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.kb.stems import stem

EXAMPLES = """
    caresses caress, ponies poni, cats cat, agreed agre, plastered plaster, motoring motor, sing
    sing, conflated conflat, troubled troubl, sized size, hopping hop, falling fall, hissing hiss,
    failing fail, filing file, happy happi, sky sky, relational relat, conditional condit, rational
    ration, digitizer digit, predication predic, operator oper, feudalism feudal, decisiveness
    decis, hopefulness hope, triplicate triplic, formative form, electrical electr, goodness good,
    revival reviv, allowance allow, adjustable adjust, replacement replac, adoption adopt, probate
    probat, rate rate, cease ceas, roll roll
"""


@pytest.mark.parametrize("pair", EXAMPLES.split(","))
def test_examples(pair: str) -> None:
    """Words have the stems that the paper gives them."""
    word, expected = pair.split()
    assert stem(word) == expected


@given(st.text(max_size=30))
def test_any_text(word: str) -> None:
    """Whatever is no English word stays as it is, and nothing becomes empty."""
    assert bool(stem(word)) == bool(word)
    if not word.isascii():
        assert stem(word) == word
