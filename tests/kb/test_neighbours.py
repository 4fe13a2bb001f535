"""Neighbouring chunks made into passages."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from passages import a_chunk
from refdesk.kb.neighbours import MAX_CHUNKS, Found, merge


def found(
    ordinal: int, score: float = 1.0, document: str = "d", text: str = "x" * 10, **fields: Any
) -> Found:
    """A chunk of ten characters, with two between it and the next."""
    place = {"start": ordinal * 12, "end": ordinal * 12 + 10}
    known = {"document_id": document, "revision": "r", "ordinal": ordinal}
    chunk = a_chunk(text, f"{document}{ordinal}", **known | place | fields)
    return Found(chunk=chunk, score=score)


def ordinals(*given: Found) -> list[list[int]]:
    return [[chunk.ordinal for chunk in passage.chunks] for passage in merge(given)]


def test_merge() -> None:
    """Neighbours join in the order of the document; the best gives the place."""
    assert ordinals(found(5), found(9), found(4), found(6)) == [[4, 5, 6], [9]]
    assert ordinals(found(1), found(3)) == [[1], [3]]
    assert ordinals(found(1), found(2, document="e")) == [[1], [2]]
    assert ordinals(found(1), found(2, revision="other")) == [[1], [2]]


def test_merge_bounds() -> None:
    """A neighbour that is worth much less stays by itself, and passages do not grow for ever."""
    assert ordinals(found(1, 1.0), found(2, 0.3)) == [[1], [2]]
    assert ordinals(found(1), found(2), found(3), found(4)) == [[1, 2, 3], [4]]
    assert ordinals(found(1), found(1)) == [[1]]


def test_merge_keeps_place() -> None:
    """What stands on another page, or under another heading, is a passage of its own."""
    assert ordinals(found(1, page=1), found(2, page=2), found(3, page=2)) == [[1], [2, 3]]
    assert ordinals(found(1, page=1), found(3, page=2), found(2, page=2)) == [[1], [2, 3]]
    assert ordinals(found(1, heading=("A",)), found(2, heading=("A", "B"))) == [[1], [2]]


@given(st.lists(st.tuples(st.integers(0, 12), st.sampled_from("de")), max_size=30))
def test_merge_loses_nothing(places: list[tuple[int, str]]) -> None:
    """Every chunk is in one passage, whose chunks follow each other without a gap."""
    chunks = [found(ordinal, document=document) for ordinal, document in places]
    passages = merge(chunks)
    merged = [chunk.id for passage in passages for chunk in passage.chunks]
    assert sorted(merged) == sorted({each.chunk.id for each in chunks})
    for passage in passages:
        numbers = [chunk.ordinal for chunk in passage.chunks]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert len(numbers) <= MAX_CHUNKS


def test_text() -> None:
    """Texts are joined; what overlaps stands once, and a repeated header stays."""
    first = found(0, text="abcdefghij", start=0, end=10)
    second = found(1, text="ijklmnopqr", start=8, end=18)
    assert merge([first, second])[0].text() == "abcdefghijklmnopqr"
    row = found(1, text="head\nrow 2", start=10, end=15)
    (passage,) = merge([first, row])
    assert not passage.is_slice
    assert passage.text() == "abcdefghij\nhead\nrow 2"
