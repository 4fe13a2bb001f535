"""What a caller asks for, read into a request."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.search.options import BadOption, read_request
from refdesk.types import SearchRequest


def test_both_spellings() -> None:
    """Options are understood in snake_case and in camelCase, whatever sequence they are in."""
    camel = {"query": " q ", "timeRange": "week", "blockedSites": ["a.com"], "rerank": {"topN": 3}}
    snake = {"query": "q", "time_range": "week", "blocked_sites": ("a.com",), "rerank_top_n": 3}

    assert read_request(camel).request == read_request(snake).request
    assert read_request(camel).request == SearchRequest(
        query="q", time_range="week", blocked_sites=("a.com",), rerank_top_n=3
    )


def test_request_is_read_too() -> None:
    """A SearchRequest is checked like a mapping, and comes out as it was."""
    request = SearchRequest(query="q", type="db", models=("orders",), select=("id",))

    assert read_request(request).request == request
    with pytest.raises(BadOption, match="limit is 0"):
        read_request(SearchRequest(query="q", limit=0))


@pytest.mark.parametrize(
    ("rerank", "top_n"),
    [(True, 7), (False, None), (None, None), ({}, 7), ({"top_n": 2}, 2), ({"topN": None}, 7)],
)
def test_rerank(rerank: Any, top_n: int | None) -> None:
    """A rerank that does not say how many it keeps, keeps as many as is configured."""
    reading = read_request({"query": "q", "rerank": rerank}, default_top_n=7)

    assert reading.request.rerank_top_n == top_n


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"query": ""}, "the query is empty; say what to look for"),
        ({"query": " \n"}, "the query is empty"),
        ({}, "the query is empty"),
        ({"query": 3}, "query is 3; give a text"),
        ({"query": "q", "type": 4}, "type is 4; give a text"),
        ({"query": "q", "limit": 0}, "limit is 0; give a whole number of at least 1"),
        ({"query": "q", "limit": -3}, "limit is -3"),
        ({"query": "q", "limit": "5"}, "limit is '5'"),
        ({"query": "q", "limit": True}, "limit is True"),
        ({"query": "q", "timeRange": "decade"}, "time_range is 'decade'; give one of hour, day"),
        ({"query": "q", "timeRange": ["day"]}, r"time_range is \['day'\]"),
        ({"query": "q", "threshold": 1.5}, "threshold is 1.5; give a number from 0 to 1"),
        ({"query": "q", "threshold": float("nan")}, "threshold is nan"),
        ({"query": "q", "source": "me"}, "source is 'me'; give one of user, hook, auto"),
        ({"query": "q", "sites": 4}, "sites is 4; give a list of texts"),
        ({"query": "q", "sites": ["a", 4]}, "sites holds 4"),
        ({"query": "q", "graph": 1}, "graph is 1; give true or false"),
        ({"query": "q", "country": "Germany"}, "country is 'Germany'; give two letters"),
        ({"query": "q", "language": "x y"}, "language is 'x y'; give a code"),
        ({"query": "q", "wheres": ["a"]}, "wheres is"),
        ({"query": "q", "orders": [3]}, "orders is"),
        ({"query": "q", "rerank": {"n": 3}}, "rerank has no option 'n'; known: top_n"),
        ({"query": "q", "rerank": {"topN": 0}}, "rerank_top_n is 0"),
        ({"query": "q", "limits": 3}, "no search option 'limits'.*did you mean 'limit'"),
        ({"query": "q", 3: 3}, "no search option 3"),
        ({"query": "q", "timeRange": "day", "time_range": "day"}, "given twice"),
        ({"query": "q", "metadata": {"a": ["x"] * 2000}}, "metadata has 2000 values; give up to"),
        ({"query": "q", "metadata": {"a": {"b": 1}}}, "metadata.a holds a mapping"),
        ({"query": "q", "collections": ["c"] * 101}, "collections has 101 entries; give up to 100"),
        ({"query": "q", "sites": ["a.example"] * 1001}, "sites has 1001 entries; give up to 1000"),
        ({"query": "q", "wheres": [{}] * 1001}, "wheres has 1001 entries"),
        ({"query": "q", "orders": ["a"] * 1001}, "orders has 1001 entries"),
        ({"query": "q", "models": ["m" * 3000]}, "models holds a text of 3000 characters"),
        ({"query": "q" * 100_001}, "query has 100001 characters; give up to 100000"),
        ({"query": "q", "engine": "e" * 3000}, "engine has 3000 characters; give up to 2048"),
        ({"query": "q", "limit": 10**5000}, "limit is a very large number; give up to 1000000"),
        ({"query": "q", "threshold": 10**5000}, "threshold is a very large number"),
        (None, "this is None"),
        ("q", "this is a str"),
    ],
)
def test_refused(options: Any, words: str) -> None:
    """A wrong option is refused with a sentence that names the value and the remedy."""
    with pytest.raises(BadOption, match=words):
        read_request(options)


@pytest.mark.parametrize("option", ["sites", "timeRange", "collections", "orders", "metadata"])
def test_nested_without_end(option: str) -> None:
    """A value of lists in lists is refused, however deep it goes."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(BadOption, match="give") as caught:
        read_request({"query": "q", option: {"a": deep} if option == "metadata" else deep})
    assert len(str(caught.value)) < 250


def test_identity_is_not_shown() -> None:
    """Claims never stand in a message."""
    with pytest.raises(BadOption) as caught:
        read_request({"query": "q", "identity": ["secret-claim"]})
    assert str(caught.value) == "identity is a list; give a mapping of names to values"


def test_options_of_another_type() -> None:
    """An option that its type of search does not know is told, not refused."""
    reading = read_request({"query": "q", "collections": ["docs"], "limit": 3})

    assert reading.notices == ("collections is an option of kb search; web search does not use it",)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.text(max_size=3) | st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["topN", "x"]), st.integers(), max_size=2),
)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["query", "limit", "rerank", "sites", "timeRange", "wheres", "type", "x"]),
        VALUES,
        max_size=3,
    )
)
def test_any_mapping(options: dict[str, Any]) -> None:
    """Whatever is given, it is a request that holds, or a BadOption."""
    with suppress(BadOption):
        request = read_request(options).request
        assert request.query.strip()
        assert request.limit is None or request.limit > 0
