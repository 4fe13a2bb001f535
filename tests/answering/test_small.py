"""What a very small model is asked."""

from __future__ import annotations

import pytest

from refdesk.answering import small
from refdesk.types import Reference, ReferenceContext


def context(content: str, title: str = "") -> ReferenceContext:
    """Two references, of which the first says something."""
    said = [(content, title), ("Other matters.", "Other")]
    return ReferenceContext(
        items=tuple(
            Reference(
                id=f"ref_00{n}",
                index=n,
                type="kb",
                source="user",
                weight=1.0,
                score=None,
                title=t,
                content=c,
                url="",
            )
            for n, (c, t) in enumerate(said, 1)
        )
    )


def test_best_passage_only() -> None:
    """It reads the best passage, the question behind it, and can but cite that passage."""
    found = context("Goods may be sent back\nfor 14 days.", "Returns")
    assert small.question(found, "How long?") == (
        "Returns: Goods may be sent back for 14 days.\n\nHow long?"
    )
    assert '" [ref_001]"' in small.settings(found)["grammar"]


@pytest.mark.parametrize("content", ["word " * 5000, "七" * 5000, "🎉" * 5000])
def test_room(content: str) -> None:
    """However long the passage and whatever its script, the question still fits behind it."""
    asked = small.question(context(content), "How long?")
    assert asked.endswith("\n\nHow long?")
    assert len(asked.encode()) < 2500


def test_nothing_found() -> None:
    """Without a passage it is asked as it is, and there is nothing to cite."""
    assert small.question(ReferenceContext(), "How long?") == "How long?"
    assert "grammar" not in small.settings(ReferenceContext())
