"""Failures that a body tells of, told from answers that found nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.web.engines._failure import told_in_body
from refdesk.web.wording import class_of

FAILURES: list[tuple[Any, str]] = [
    ({"error": "quota exceeded"}, "no_credit"),
    ({"error": "quota exceeded", "results": []}, "no_credit"),
    ({"error": {"message": "Monthly limit", "code": "QUOTA_EXCEEDED"}}, "no_credit"),
    ({"errors": [{"message": "Rate limit exceeded"}]}, "rate_limited"),
    ({"errors": ["Invalid API key"], "hits": []}, "bad_key"),
    ({"detail": {"error": "Your account has run out of searches."}}, "no_credit"),
    ({"detail": "Not authenticated"}, "bad_key"),
    ({"message": "Too many requests, slow down"}, "rate_limited"),
    ({"message": "Not enough credits", "statusCode": 400}, "no_credit"),
    ({"message": "Unauthorized.", "statusCode": 403}, "bad_key"),
    ({"status": "error", "message": "unsupported country"}, "unsupported_param"),
    ({"status": "failed"}, "upstream_down"),
    ({"success": False, "error": "Payment required"}, "no_credit"),
    ({"success": False, "data": None}, "upstream_down"),
    ({"ok": 0, "reason": "missing parameter q"}, "bad_request"),
    ({"code": 429, "msg": "Busy"}, "rate_limited"),
    ({"code": "401", "msg": "No."}, "bad_key"),
    ({"code": "403", "message": "You do not have enough money", "log_id": "1"}, "no_credit"),
    ({"code": 1001, "msg": "余额不足", "data": None}, "no_credit"),
    ({"code": 1002, "msg": "请求过于频繁", "data": []}, "rate_limited"),
    ({"data": {"error": "API_KEY_BUDGET_EXCEEDED"}}, "no_credit"),
    ({"requestId": "1", "error": "No.", "tag": "NO_MORE_CREDITS"}, "no_credit"),
    ({"error": {"code": "RATE_LIMITED", "status": 429}}, "rate_limited"),
    ({"error": {"code": 503, "message": "Overloaded"}}, "upstream_down"),
    ({"error": "Something went wrong"}, "upstream_down"),
    ({"error": True}, "upstream_down"),
    ({"message": "Welcome to our new API, see the docs"}, "upstream_down"),
    ({"errorMessage": "ThrottlingException"}, "rate_limited"),
    ("quota exceeded", "no_credit"),
]
EMPTY: list[Any] = [
    {},
    {"results": []},
    {"results": [], "error": None, "errors": [], "message": ""},
    {"results": [], "error": False, "success": True, "status": "ok", "code": 200},
    {"code": 0, "msg": "success", "data": {"webPages": {"value": []}}},
    {"code": 200, "message": "OK", "data": []},
    {"hits": [], "message": "Try other words"},
    {"hits": [], "message": "Your key has a quota of 1000 requests a month"},
    {"error": "Google hasn't returned any results for this query."},
    {"error": {"code": "SEARCH_QUERY_NO_RESULT", "message": "No result"}},
    {"code": 422, "status": 42206, "message": "No search results available for query x"},
    {"status": 404, "message": "No matches found"},
    {"success": False, "message": "Nothing found"},
    {"code": 1, "msg": "没有找到相关结果"},
    {"type": "search", "query": {"original": "error handling"}},
    {"searchParameters": {"q": "quota exceeded error", "type": "search"}, "organic": []},
    {"query": "x", "answer": None, "images": [], "results": [], "response_time": 1.1},
    [],
    None,
    5,
]


@pytest.mark.parametrize(("body", "outcome"), FAILURES, ids=repr)
def test_a_failure_has_the_class_of_its_words(body: Any, outcome: str) -> None:
    """The vendor's sentence decides, then its code; what says nothing more is an outage."""
    assert told_in_body(json.dumps(body).encode()) == outcome


@pytest.mark.parametrize("body", EMPTY, ids=repr)
def test_an_honest_nothing_is_no_failure(body: Any) -> None:
    """An empty list, an all-well message and "no results" are answers."""
    assert told_in_body(json.dumps(body).encode()) is None


@pytest.mark.parametrize("body", [b"Too Many Requests", b"quota exceeded\n"])
def test_plain_words_of_trouble_are_a_failure(body: bytes) -> None:
    """So is a text that is no JSON; a page or broken JSON tells nothing of itself."""
    assert told_in_body(body) in ("rate_limited", "no_credit")
    assert told_in_body(b"<p>" + body) is None
    assert told_in_body(b'{"rows": ["' + body) is None


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Rate limit exceeded: monthly quota used up", "no_credit"),
        ("Quota exceeded for requests per minute", "rate_limited"),
        ("Your API key has no credits left", "no_credit"),
        ("API key rate limit exceeded", "rate_limited"),
        ("SUBSCRIPTION_TOKEN_INVALID", "bad_key"),
        ("Invalid key 'foo' in the request body", "bad_request"),
        ("insufficientFunds", "no_credit"),
        ("tides in the north sea", None),
    ],
)
def test_of_two_meanings_the_nearer_counts(text: str, outcome: str | None) -> None:
    """A limit in time is a rate, one of a month is credit; a named key of JSON is no API key."""
    assert class_of(text) == outcome


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["error", "code", "message", "data", "x"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=200, derandomize=True)
@given(JSON)
def test_any_json_is_read(body: Any) -> None:
    """Whatever the answer, it is a failure of some class or none."""
    assert told_in_body(json.dumps(body).encode()) in {
        *(None, "bad_key", "no_credit", "rate_limited", "bad_request"),
        *("unsupported_param", "upstream_down"),
    }
