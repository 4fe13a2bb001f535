"""The query: the user's words, without what clients wrap round them, and without secrets."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.search.extracting import extract_query, shorten


def query(*texts: str, limit: int = 400) -> str:
    """The query of these text parts."""
    return extract_query(texts, limit).text


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("  When   was\n it? ",), "When was it?"),
        (("Perform a web search for the query: rust 1.90",), "rust 1.90"),
        (("<system-reminder>x</system-reminder>", "rust"), "rust"),
        (("<system-reminder>never closed, rust",), ""),
        (("<environment_context>cwd</environment_context>\nfix it",), "fix it"),
        (("<FILE name='a'>secret</FILE> what is this?",), "what is this?"),
        (("a < b and c > d",), "a < b and c > d"),
        (("[Image #1] what is this?",), "what is this?"),
        (("one", "two"), "one two"),
        (("a\u200bb\u202ec\x07",), "a b c"),
        (
            ("\U0001f468\u200d\U0001f469\u200d\U0001f467 family",),
            "\U0001f468\u200d\U0001f469\u200d\U0001f467 family",
        ),
        ((), ""),
        (("   ",), ""),
    ],
)
def test_extraction(texts: tuple[str, ...], expected: str) -> None:
    """Wrappers, notes and invisible characters go; the user's own words stay."""
    assert query(*texts) == expected


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("line of a log\n" * 60 + "\nWhat does OOMKilled mean in Kubernetes?", -1),
        ("What does OOMKilled mean in Kubernetes?\n\n" + "line of a log\n" * 60, 0),
        ("一行日志\n" * 120 + "OOMKilled是什么意思？", -1),
    ],
)
def test_the_question_in_a_long_text(text: str, asked: int) -> None:
    """A question that stands alone before or behind what was pasted is what is asked."""
    assert query(text) == text.splitlines()[asked]


@pytest.mark.parametrize(
    "text",
    [
        "line of a log\n" * 60 + "\nHow do I fix this?",
        "line of a log\n" * 60 + "\nwhy?",
        "a long story without any end " * 20,
    ],
)
def test_a_long_text_without_a_question_of_its_own(text: str) -> None:
    """Where no line is a question that stands alone, the beginning is asked, cut at a word."""
    asked = query(text)
    assert 380 < len(asked) <= 400
    assert " ".join(text.split()).startswith(asked)


def test_what_was_left_out_is_told() -> None:
    """What stood round the words, and why there are none, comes along."""
    found = extract_query(["<system-reminder>x</system-reminder>\nnewest nginx?"], 400)
    assert (found.text, found.left_out) == ("newest nginx?", ("<system-reminder>",))
    found = extract_query(["Generate a short title for this chat"], 400)
    assert (found.text, found.author) == ("", "client")
    assert found.why == "a task about the conversation itself"


@pytest.mark.parametrize("length", [399, 400, 401])
@pytest.mark.parametrize("letter", ["語", "\U0001f600", "e\u0301", "\U0001f1e9\U0001f1ea"])
def test_cut_at_a_grapheme(length: int, letter: str) -> None:
    """A14: CJK, emoji, flags and combining marks are cut between what a reader sees."""
    text = (letter * length)[: length * len(letter)]
    cut = shorten(text, 400)
    assert 390 < len(cut) <= 400
    assert text.startswith(cut)
    rest = text[len(cut) :]
    assert not rest or not unicodedata.combining(rest[0])
    if letter > "\U0001f1e0" and len(letter) == 2:
        assert len(cut) % 2 == 0


@given(st.text(), st.integers(1, 50))
def test_never_longer(text: str, limit: int) -> None:
    """Whatever the text, the query is no longer than allowed, and is a part of it."""
    cut = shorten(text, limit)
    assert len(cut) <= limit
    assert text.startswith(cut)
    assert len(query(text, limit=limit)) <= limit
