"""Passages grow with the text, and no faster, whatever the text is made of."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from refdesk.kb.ingest import chunk
from refdesk.kb.ingest.chunk import (
    MAX_PASSAGES,
    MAX_REPEATED,
    MAX_REPEATED_CHARS,
    Piece,
    Shape,
    TooManyPassages,
    parted,
)
from refdesk.kb.ingest.headings import MAX_HEADING_CHARS
from refdesk.kb.ingest.report import covered

Make = Callable[[int], str]


def fill(unit: str, length: int) -> str:
    """A text of so many characters."""
    return (unit * (length // len(unit) + 1))[:length]


def columns(count: int) -> list[str]:
    """The names of some columns."""
    return [f"column {at}" for at in range(count)]


LONG = "a heading of some words "

REPEATING: dict[str, tuple[Shape, Make]] = {
    "a wide CSV": ("rows", lambda n: ",".join(columns(n // 60)) + "\n" + "1,2,3\n" * (n // 7)),
    "a CSV of one huge name": ("rows", lambda n: fill("name", n // 10) + "\n" + "1,2\n" * (n // 5)),
    "a wide table": (
        "markdown",
        lambda n: f"| {' | '.join(columns(n // 60))} |\n|---|---|\n" + "| 1 | 2 |\n" * (n // 11),
    ),
    "a long heading": (
        "markdown",
        lambda n: f"# {fill(LONG, n // 10)}\n\n" + "Words.\n\n" * (n // 9),
    ),
    "a long underlined heading": (
        "markdown",
        lambda n: f"{fill(LONG, n // 10)}\n====\n\n" + "Words.\n\n" * (n // 9),
    ),
    "a long heading over many": (
        "markdown",
        lambda n: f"# {fill(LONG, n // 10)}\n\n" + "## a\nb\n" * (n // 8),
    ),
    "six levels of headings": (
        "markdown",
        lambda n: (
            "".join(f"{'#' * at} {fill(LONG, 190)}\n" for at in range(1, 6))
            + "###### a\nb\n" * (n // 11)
        ),
    ),
    "a caption over every table": (
        "markdown",
        lambda n: (fill("caption ", 199) + "\n|a|b|\n|-|-|\n" + "|1|2|\n" * 200) * (n // 1400),
    ),
    "one huge cell": ("rows", lambda n: "a,b\n" + fill("word ", n) + ",x\n"),
}
"""Texts of which a passage repeats something."""


def size(pieces: list[Piece]) -> int:
    """Characters kept of passages: their text, what goes before it, their headings."""
    return sum(len(one.index_text) + sum(map(len, one.heading)) for one in pieces)


@pytest.mark.parametrize("chars", [50, 1000])
@pytest.mark.parametrize("kind", REPEATING)
def test_what_is_repeated_is_bounded(kind: str, chars: int) -> None:
    """What comes out is a few times the text, and doubles with it; no word is lost."""
    shape, make = REPEATING[kind]
    sizes = []
    for length in (40_000, 80_000, 160_000):
        text = make(length)
        pieces = parted(text, shape=shape, chars=chars)
        assert covered(text, pieces) == sum(map(len, text.split()))
        assert size(pieces) <= (1 + MAX_REPEATED) * len(text) + MAX_REPEATED_CHARS + len(pieces)
        assert max(len(one.text) for one in pieces) <= chars
        sizes.append(size(pieces))
    assert sizes[2] < 2.2 * sizes[1] < 4.84 * sizes[0]


@pytest.mark.parametrize("kind", ["a wide CSV", "a wide table", "a long heading", "one huge cell"])
def test_a_usual_passage_is_at_most_doubled(kind: str) -> None:
    """A header takes at most half of a passage, headings and caption half as much as it is long."""
    shape, make = REPEATING[kind]
    text = make(200_000)
    pieces = parted(text, shape=shape, chars=1000)
    assert size(pieces) < 2.2 * len(text)
    for one in pieces:
        assert len(one.lead) <= 500
        assert len(one.text) - (one.end - one.start) <= 501
        assert all(len(name) <= MAX_HEADING_CHARS for name in one.heading)


def test_a_long_header_is_cut_at_a_column() -> None:
    """A header that is too long to be repeated stands whole once, and later with whole names."""
    header = ",".join(columns(60))
    text = header + "\n" + "".join(f"row {at},x\n" for at in range(100))
    first, *rest = parted(text, shape="rows", chars=300)
    assert "".join(one.text for one in (first, *rest) if "row" not in one.text) == header
    repeated = {one.text.partition("\n")[0] for one in rest if "row" in one.text}
    (shown,) = repeated
    assert shown.endswith(" …")
    assert header.startswith(shown.removesuffix(" …") + ",")


def test_a_long_heading_is_found_by_its_beginning() -> None:
    """A long heading is repeated by its beginning; of several the nearest is kept."""
    long = fill(LONG, 5_000)
    text = f"# {long}\n\n## Near\n\n" + "Some words here.\n\n" * 40
    *_, last = parted(text, shape="markdown", chars=100)
    assert last.heading == (long[: MAX_HEADING_CHARS - 1].rstrip() + "…", "Near")
    assert last.lead.startswith("…")
    assert last.lead.endswith("… > Near")
    assert len(last.lead) <= 200


SLOW: dict[str, tuple[Shape, Make]] = {
    "a cell without spaces": ("rows", lambda n: "a,b\n" + "x" * n + ",y\n"),
    "a cell of Chinese": ("rows", lambda n: "a,b\n" + fill("参考台回答问题并且给出出处", n // 8)),
    "a line of dashes": ("markdown", lambda n: "a|b\n" + "-" * n + "x|"),
    "a heading of tabs": ("markdown", lambda n: "# a" + "\t" * n + "b\n\nwords"),
    "a heading of number signs": ("markdown", lambda n: "# a" + " #" * (n // 2) + " b\n\nwords"),
    "tables in turn": ("markdown", lambda n: "words\n\n|a|b|\n|-|-|\n|1|2|\n\n" * (n // 27)),
    "letters with full stops": ("plain", lambda n: "a.b" * (n // 3)),
    "quotation marks": ("rows", lambda n: "a\n" + '"x\n' * (n // 3)),
}
"""Texts over which parting once took time with the square of their length, or a pattern would."""


@pytest.mark.parametrize("kind", SLOW)
def test_time_grows_with_the_text(kind: str) -> None:
    """Four times the text takes about four times the time, where its square would be sixteen."""
    shape, make = SLOW[kind]

    def spent(length: int) -> float:
        text = make(length)
        took = []
        for _ in range(3):
            before = time.process_time()
            parted(text, shape=shape, chars=1000)
            took.append(time.process_time() - before)
        return min(took)

    spent(10_000)
    assert spent(400_000) < 10 * spent(100_000) + 0.01


def test_pages_and_sections_are_walked_once() -> None:
    """A text of as many pages as sections is parted without looking at each page for each one."""
    looked = 0

    class Pages(list[int]):
        def __getitem__(self, at: object) -> int:  # type: ignore[override]
            nonlocal looked
            assert isinstance(at, int), "no part of the list is copied"
            looked += 1
            return list.__getitem__(self, at)

    counts = []
    for count in (500, 1000, 2000):
        looked = 0
        text = "# a\nb c\n" * count
        parted(text, shape="markdown", chars=1000, pages=Pages(range(0, len(text), 8)))
        counts.append(looked)
    assert counts[2] < 2.5 * counts[1] < 6.25 * counts[0]


def test_too_many_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document of more passages than one may have is refused with the remedy."""
    assert MAX_PASSAGES == 200_000
    monkeypatch.setattr(chunk, "MAX_PASSAGES", 20)
    assert len(parted("# a\nb\n" * 20, shape="markdown", chars=50)) == 20
    with pytest.raises(TooManyPassages, match="more than 20 passages: split it, or have longer"):
        parted("# a\nb\n" * 21, shape="markdown", chars=50)


@pytest.mark.parametrize("chars", [1, 2, 3, 4, 5, 7, 10, 49])
@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ("rows", "# One\n# One"),
        ("rows", "a,b\n1,2\n3,4"),
        ("rows", "header\n" + "x" * 40),
        ("markdown", "# One\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nMore 中文 words."),
        ("plain", "One two. 中文没有空格 é\u0301"),
    ],
)
def test_any_length_from_one(shape: Shape, text: str, chars: int) -> None:
    """Passages may be of any length from one character on; all words are in them."""
    pieces = parted(text, shape=shape, chars=chars)
    assert covered(text, pieces) == sum(map(len, text.split()))
