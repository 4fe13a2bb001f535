"""What was read, compared with what the file holds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.kb.ingest.reading.letters import compare


@pytest.mark.parametrize(
    ("held", "text", "total", "lost", "where"),
    [
        ("one two", "one two", 6, 0, ""),
        ("one two", "two\n\none", 6, 0, ""),
        ("one two", "| one |\n|---|\n| two |", 6, 0, ""),
        ("har-\nbour", "harbour", 7, 0, ""),
        ("harbour", "har bour", 7, 0, ""),
        ("one two two", "one two", 9, 3, "two"),
        ("Falafel & Hummus", "Falafel Hummus", 14, 1, "&"),
        ("5 > 3, x<y, 10%", "5 3, xy, 10", 9, 3, "> < %"),
        ("ﬁne ﬂow", "fine flow", 8, 0, ""),
        ("北京市朝阳区的天气很好", "北京市朝阳区的\n天气很好", 11, 0, ""),
        ("北京市朝阳区的天气很好", "北京市", 11, 11, "北京市朝阳区的天气很好"),
        ("", "anything", 0, 0, ""),
        ("anything", "", 8, 8, "anything"),
        ("a\ufffdb", "a\ufffdb", 3, 1, ""),
        ("soft\u00adhyphen", "softhyphen", 10, 0, ""),
    ],
)
def test_compared(held: str, text: str, total: int, lost: int, where: str) -> None:
    """Letters and signs count once, wherever they stand and whatever parts the words."""
    assert compare(held, text) == (total, lost, where)


def test_more_does_not_hide_what_is_lost() -> None:
    """Letters that a text has besides do not stand in for others that it lacks."""
    held = "the title of the book"
    assert compare(held, "book the of the " + "elitt " * 50)[1] == len("title")


def test_many_words_at_once() -> None:
    """A text of which nothing fits is counted by its letters, not word by word."""
    held = " ".join(f"w{at}x" for at in range(30_000))
    _, lost, _ = compare(held, "")
    assert lost == sum(map(len, held.split()))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="abc北&<% ", max_size=8), max_size=12), st.randoms())
def test_order_does_not_matter(parts: list[str], dice: object) -> None:
    """A text in another order has lost nothing; one without a part has lost at most that part."""
    shuffled = list(parts)
    dice.shuffle(shuffled)  # type: ignore[attr-defined]
    held = "\n".join(parts)
    assert compare(held, "\n".join(shuffled))[1] == 0
    total, lost, _ = compare(held, "\n".join(parts[1:]))
    assert lost <= (sum(map(len, parts[0].split())) if parts else 0) <= total + 1
