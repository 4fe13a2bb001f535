"""Result items become references: each once, in order of worth, numbered once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.search.references import (
    CitationIds,
    citation_id,
    key_of,
    merged,
    numbered,
    reference_of,
    unique,
)
from refdesk.types import ResultItem


def web(url: str, *, weight: float = 0.8, score: float | None = None) -> ResultItem:
    return ResultItem(title=url, url=url, weight=weight, score=score)


def row(record: object, *, model: str = "orders", **fields: object) -> ResultItem:
    return ResultItem(title="Order", type="db", model=model, record_id=record, **fields)  # type: ignore[arg-type]


def chunk(text: str, *, collection: str = "docs", **metadata: object) -> ResultItem:
    return ResultItem(
        title="Handbook", type="kb", collection=collection, content=text, metadata=metadata
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (web("https://Example.com/a/?utm_source=x#top"), web("https://example.com/a")),
        (row(7), row(7, content="later")),
        (chunk("text", chunk_id="c1"), chunk("other text", chunk_id="c1")),
        (chunk("text"), chunk("text")),
        (ResultItem(title="a", content="b"), ResultItem(title="a", content="b")),
    ],
)
def test_same(one: ResultItem, other: ResultItem) -> None:
    """One page, one record, one chunk or one text is the same thing, however it was found."""
    assert key_of(one) == key_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (web("https://example.com/a"), web("https://example.com/b")),
        (row(7), row(8)),
        (row(7), row("7")),
        (row(7), row(7, model="users")),
        (chunk("text"), chunk("text", collection="faq")),
        (chunk("text", chunk_id="c1"), chunk("text", chunk_id="c2")),
        (row(None, data={"sum": 3}), row(None, data={"sum": 4})),
    ],
)
def test_different(one: ResultItem, other: ResultItem) -> None:
    """What differs in what tells it apart is not the same."""
    assert key_of(one) != key_of(other)


def test_unique_keeps_the_best() -> None:
    """Of the same thing found twice the highest weight stays, then the highest score."""
    items = [
        web("https://a.com/", weight=0.6, score=0.9),
        web("https://b.com/"),
        web("https://a.com", weight=0.8, score=0.1),
        web("https://a.com/#x", weight=0.8, score=0.4),
    ]

    assert unique(items) == [items[3], items[1]]


def test_merged_by_rank() -> None:
    """Scores of different sources do not compete: ranks do, and at equal rank what came first."""
    engine = [web("https://a.com/", score=0.2), web("https://b.com/", score=0.1)]
    rows = [row(1, weight=0.8), row(2, weight=0.8)]
    loud = [replace(chunk("x"), score=0.99, weight=0.8)]

    assert merged([engine, rows, loud]) == [engine[0], rows[0], loud[0], engine[1], rows[1]]


def test_weight_counts() -> None:
    """What the user named comes before what was found by itself, at any rank."""
    found = [web(f"https://a.com/{number}", weight=0.6) for number in range(10)]
    named = [web(f"https://b.com/{number}", weight=1.0) for number in range(10)]

    assert merged([found, named])[:10] == named


def test_found_twice() -> None:
    """What two sources found is there once, at its best, and before its equals."""
    one = [web("https://a.com/"), web("https://both.com/")]
    two = [web("https://both.com/"), web("https://b.com/")]

    assert [item.url for item in merged([one, two])] == [
        "https://both.com/",
        "https://a.com/",
        "https://b.com/",
    ]


def test_score_times_weight() -> None:
    """The other method multiplies; what has no score is placed by its rank."""
    items = [
        web("https://a.com/", score=0.5, weight=1.0),
        web("https://b.com/", score=0.9, weight=0.8),
        web("https://c.com/", score=0.9, weight=0.5),
    ]
    rows = [row(1, weight=0.6), row(2, weight=0.6)]

    ranked = merged([items, rows], method="score_weight")

    assert ranked == [items[1], rows[0], items[0], items[2], rows[1]]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(
            st.builds(
                web,
                st.integers(0, 6).map(lambda number: f"https://a.com/{number}"),
                weight=st.sampled_from([0.6, 0.8, 1.0]),
                score=st.none() | st.floats(0, 1),
            ),
            max_size=6,
        ),
        max_size=4,
    ),
    st.sampled_from(["rrf", "score_weight"]),
)
def test_merged_loses_nothing(lists: list[list[ResultItem]], method: str) -> None:
    """Everything found is there, each thing once, with the highest weight it was found with."""
    found = [item for items in lists for item in items]
    result = merged(lists, method=method)  # type: ignore[arg-type]

    assert {key_of(item) for item in result} == {key_of(item) for item in found}
    assert len(result) == len({key_of(item) for item in result})
    for item in result:
        assert item in found
        same = [other.weight for other in found if key_of(other) == key_of(item)]
        assert item.weight == max(same)


def test_citation_ids() -> None:
    """Numbers start at 1, come one after the other, and stay with what they were given to."""
    ids = CitationIds()

    assert [ids.number(key) for key in ("a", "b", "a", "c")] == [1, 2, 1, 3]
    assert ids.count == 3
    assert [citation_id(number) for number in (1, 42, 1000)] == ["ref_001", "ref_042", "ref_1000"]


def test_citation_ids_from_threads() -> None:
    """However many ask at once, each thing has one number and no number is left out."""
    ids = CitationIds()
    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(ids.number, [number % 500 for number in range(1000)]))

    assert sorted(set(given)) == list(range(1, 501))
    assert given[:500] == given[500:]


def test_reference() -> None:
    """A reference holds what click-through needs, and links only to web pages."""
    item = numbered(
        row(
            7,
            data={"status": "open", "total": 12},
            score=0.5,
            source="user",
            weight=1.0,
            url="javascript:alert(1)",
            metadata={"page": 3},
        ),
        CitationIds(),
    )

    reference = reference_of(item)

    assert (reference.id, reference.index) == ("ref_001", 1)
    assert reference.content == "status: open\ntotal: 12"
    assert reference.url == ""
    assert reference.meta == {
        "model": "orders",
        "record_id": 7,
        "data": {"status": "open", "total": 12},
        "metadata": {"page": 3},
    }


def test_reference_is_cleaned() -> None:
    """What cannot be seen does not come along: controls, direction marks, tag characters."""
    item = ResultItem(
        title="a\u202e\u200bb\x1b[2J", content="one\r\ntwo\U000e0041\x00", url="//evil"
    )

    reference = reference_of(numbered(item, CitationIds()))

    assert reference.title == "ab [2J"
    assert reference.content == "one\ntwo"
    assert reference.url == ""
