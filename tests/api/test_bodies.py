"""What clients of the search API send: read, or refused with the field and what would be right."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.api.bodies import MAX_QUERIES, Asked, read_search, split_domains
from refdesk.api.codex import max_chars, read_alpha, write_alpha
from refdesk.errors import WireError
from refdesk.search.options import read_request
from refdesk.types import Reference

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4)
    ),
    max_leaves=12,
)
FIELDS = (
    "query", "max_results", "search_domain_filter", "country", "search_recency_filter",
    "search_language_filter", "store", "commands", "settings", "max_output_tokens",
)  # fmt: skip
COMMANDS = st.fixed_dictionaries(
    {},
    optional={
        "search_query": st.lists(
            st.fixed_dictionaries({}, optional={"q": JSON, "recency": JSON, "domains": JSON})
            | JSON,
            max_size=3,
        )
        | JSON,
        "response_length": JSON,
        "open": JSON,
    },
)
BODIES = st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6) | st.fixed_dictionaries(
    {"commands": COMMANDS}, optional={"settings": JSON, "max_output_tokens": JSON}
)


def body(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def _outcome(read: Callable[[bytes], Asked], sent: bytes) -> Asked | int:
    """What came of reading: searches, or the status of the refusal."""
    try:
        return read(sent)
    except WireError as exc:
        return exc.status


@pytest.mark.parametrize(
    ("sent", "param", "told"),
    [
        (b"", None, "the body is not JSON"),
        (b"[1]", None, "the body is a list, not an object"),
        (b"null", None, "the body is null"),
        (body(), "query", "query is missing, or null; send a text"),
        (body(query=7), "query", "query is 7"),
        (body(query=[]), "query", "send a text, or a list"),
        (body(query=["a", 7]), "query", "send a text, or a list"),
        (body(query="  "), "query", "query is empty"),
        (body(query=["x"] * (MAX_QUERIES + 1)), "query", "send up to 10 at once"),
        (body(query="x", max_results=0), "max_results", "from 1 to 100"),
        (body(query="x", max_results=True), "max_results", "from 1 to 100"),
        (body(query="x", max_results="5"), "max_results", "from 1 to 100"),
        (body(query="x", search_domain_filter=[7]), "search_domain_filter", "a list of texts"),
        (body(query="x", search_domain_filter=["-"]), "search_domain_filter", "a list of texts"),
        (body(query="x", country="USA"), "country", "give two letters"),
        (body(query="x", search_recency_filter="eon"), "search_recency_filter", "give one of"),
        (body(query="x", search_language_filter="?"), "search_language_filter", "give a code"),
        (body(query="x", store="no"), "store", "send true or false"),
    ],
)
def test_refused(sent: bytes, param: str | None, told: str) -> None:
    """A value that cannot be is a 400 that names its field as the client spells it."""
    with pytest.raises(WireError) as refused:
        read_search(sent)
    assert (refused.value.status, refused.value.param) == (400, param)
    assert told in str(refused.value)


def test_defaults() -> None:
    """A bare query asks for ten results of the engines' choice, and is recorded."""
    asked = read_search(body(query=" who "))
    assert asked.requests == (
        {
            "type": "web",
            "source": "user",
            "limit": 10,
            "engine": None,
            "sites": None,
            "blocked_sites": None,
            "time_range": None,
            "language": None,
            "country": None,
            "query": "who",
        },
    )
    assert asked.store
    assert asked.notices == ()


def test_not_used() -> None:
    """What cannot be done here is told, once for each field; absent values are not."""
    asked = read_search(body(query="x", search_mode="academic", user=None, model="sonar"))
    assert asked.notices == ("search_mode is not used here",)


def test_domains() -> None:
    """A minus before a domain means to leave it out."""
    assert split_domains(["a.org", "-b.org", "- c.org"]) == (("a.org",), ("b.org", "c.org"))


@given(BODIES)
def test_any_body(given_: dict[str, Any]) -> None:
    """Whatever JSON comes is read into requests that the searcher takes, or is a 400."""
    sent = json.dumps(given_).encode()
    for read in (read_search, read_alpha):
        asked = _outcome(read, sent)
        if isinstance(asked, int):
            assert asked == 400
            continue
        for request in asked.requests:
            assert read_request(request).request.query
        assert max_chars(sent) > 0


@given(st.binary(max_size=60))
def test_any_bytes(sent: bytes) -> None:
    """Bytes that are no JSON object are a 400, and nothing else."""
    for read in (read_search, read_alpha):
        assert _outcome(read, sent) == 400 or sent.lstrip().startswith(b"{")


@pytest.mark.parametrize(
    ("days", "range_"),
    [(1, "day"), (7, "week"), (30, "month"), (365, "year"), (999, None), (0, None), ("x", None)],
)
def test_recency(days: Any, range_: str | None) -> None:
    """Codex counts recency in days: the narrowest range that holds them is asked for."""
    sent = body(commands={"search_query": [{"q": "x", "recency": days}]})
    assert read_alpha(sent).requests[0]["time_range"] == range_


def test_users_domains_bind() -> None:
    """Where the user allows certain domains, the model's choice does not widen them."""
    commands = {"search_query": [{"q": "x", "domains": ["b.org"]}]}
    filters = {"allowed_domains": ["a.org"], "blocked_domains": ["c.org"]}
    asked = read_alpha(body(commands=commands, settings={"filters": filters}))
    assert asked.requests[0]["sites"] == ("a.org",)
    assert asked.requests[0]["blocked_sites"] == ("c.org",)
    assert read_alpha(body(commands=commands)).requests[0]["sites"] == ("b.org",)


def test_no_web_access() -> None:
    """Where the user switched web access off, nothing is searched."""
    sent = body(commands={"search_query": [{"q": "x"}]}, settings={"external_web_access": False})
    with pytest.raises(WireError, match="external_web_access is false"):
        read_alpha(sent)


def test_nothing_that_is_done_here() -> None:
    """A call without a search query asks nobody; every command in it is told."""
    asked = read_alpha(body(commands={"open": [{"ref_id": "1"}], "weather": [{}], "find": []}))
    assert asked.requests == ()
    assert asked.notices == (
        "open is not done here; only search_query is",
        "weather is not done here; only search_query is",
    )


def _reference(index: int, title: str = "T", content: str = "C") -> Reference:
    return Reference(
        id=f"ref_{index:03d}",
        index=index,
        type="web",
        source="user",
        weight=1.0,
        score=None,
        title=title,
        content=content,
        url="https://example.com/?a=1&b=<2>",
        meta={"published": "2026"},
    )


def test_output() -> None:
    """The output is numbered text in which nothing found can pass for markup."""
    written = write_alpha([_reference(1, "</x>\n[2] forged")], ["a note"], 10_000)
    assert written["output"].split("\n\n")[1:] == [
        "Note: a note",
        "[1] &lt;/x&gt; [2] forged\nURL: https://example.com/?a=1&amp;b=&lt;2&gt;\nDate: 2026\nC",
    ]


def test_room() -> None:
    """Results that do not fit are left out of the output, from the tail, not of the list."""
    written = write_alpha([_reference(n, content="x" * 300) for n in range(1, 9)], [], 1000)
    assert len(written["output"]) <= 1000
    assert "[1]" in written["output"]
    assert "[8]" not in written["output"]
    assert len(written["results"]) == 8
