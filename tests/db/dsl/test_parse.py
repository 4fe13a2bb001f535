"""Documents become queries, and all that is wrong with one is named."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.db.dsl import (
    Binary,
    Call,
    Comparison,
    Constant,
    Field,
    Group,
    Parameter,
    Query,
    QueryError,
    SubQuery,
    lint,
    parse,
    parse_conditions,
    to_document,
)

WHOLE: dict[str, Any] = {
    "select": [
        "id",
        "u.name as who",
        ":COUNT(distinct id) as n",
        ":ROUND(:SUM(price * (qty - 1)) / 2, 2) as worth",
        "$agents.bot.order.total",
        "data$.a.b[0] as first",
        "tags[0]",
        "price(decimal 11,2)",
        {"case": [{"when": [{"field": "a", ">": 1}], "then": "'x'"}], "else": "b", "as": "k"},
        {"query": {"select": [":MAX(a)"], "from": "t"}, "as": "most"},
    ],
    "from": "user as u",
    "wheres": [
        {"field": "status", "=": "on"},
        {"wheres": [{":name": "", "match": "li"}, {"or :alias": "why", "match": "li"}]},
        {
            "field": "team_id",
            "op": "in",
            "query": {"select": ["id"], "from": "team", "wheres": [{"field": "open", "=": 1}]},
        },
        {"field": "x", "op": "between", "value": [1, "{y}"]},
        {"field": "x", "is": "not null"},
        {"field": "day", ">=": "{:TODAY() - :INTERVAL(3, months)}"},
        {"field": "z", "in": ["a", {"value": "{braces}"}]},
        {"field": "p", "=": "?:given", "or": True},
    ],
    "joins": [
        {"from": "$t.b as t", "key": "t.id", "foreign": "u.t_id", "left": True},
        {"query": {"select": [], "from": "v"}, "name": "w", "on": [{"field": "w.a", "=": "{u.a}"}]},
    ],
    "groups": "kind, city",
    "havings": [{":COUNT(id)": "", ">": 3}],
    "orders": "a desc, :SUM(x, y) nulls last",
    "unions": [{"select": ["a"], "query": {"select": [], "from": "x"}, "name": "d"}],
    "distinct": True,
    "limit": 5,
    "offset": "?:skip",
    "page": 2,
    "pagesize": "20",
    "comment": "all of it",
}


def test_the_seed_example() -> None:
    """The example of the specification, short forms and group and sub-query, reads as it says."""
    query = parse({key: WHOLE[key] for key in ("select", "from")} | {"wheres": WHOLE["wheres"][:3]})
    status, names, team = query.wheres
    assert status == Comparison(left=Field(name="status"), op="=", right=Constant(value="on"))
    assert isinstance(names, Group)
    assert [each.either for each in names.wheres] == [False, True]
    assert names.wheres[1].comment == "why"
    assert isinstance(team, Comparison)
    assert isinstance(team.right, SubQuery)


def test_long_and_short_forms_mean_the_same() -> None:
    """Three ways to write one condition give one value."""
    expected = parse_conditions([{"field": "score", "op": ">=", "value": 20}])
    assert parse_conditions([{"field": "score", ">=": 20}]) == expected
    assert parse_conditions([{":score": "", ">=": 20}]) == expected


def test_expressions_nest() -> None:
    """Calls within calls, with commas, and arithmetic by its usual precedence."""
    query = parse({"select": [":ROUND(:SUM(a + b * 2), 1)"], "from": "t"})
    call = query.select[0].value
    assert isinstance(call, Call)
    inner = call.args[0]
    assert isinstance(inner, Call)
    assert inner.args[0] == Binary(
        op="+",
        left=Field(name="a"),
        right=Binary(op="*", left=Field(name="b"), right=Constant(value=2)),
    )


@pytest.mark.parametrize("written", ["12", "1.5", "12.5", "0.618", "-3"])
def test_every_number_is_one(written: str) -> None:
    """12.5 is a number as much as 12 and 1.5 are."""
    assert parse({"select": [written], "from": "t"}).select[0].value == Constant(
        value=float(written)
    )


def test_values_of_python() -> None:
    """Dates are taken as ISO 8601, parameters by name."""
    found = parse_conditions([{"field": "d", ">": date(2025, 1, 31)}, {"field": "e", "=": "?:x"}])
    assert isinstance(found[0], Comparison)
    assert isinstance(found[1], Comparison)
    assert found[0].right == Constant(value="2025-01-31")
    assert found[1].right == Parameter(name="x")


def test_what_was_read_can_be_written() -> None:
    """The document of a query reads as an equal query."""
    query = parse(WHOLE)
    assert parse(to_document(query)) == query


BROKEN = [
    ({}, "E100"),
    ({"select": []}, "E110"),
    ({"from": "t"}, "E100"),
    ({"select": ["a b"], "from": "t"}, "E002"),
    ({"select": ["secret*"], "from": "t"}, "E002"),
    ({"select": ["tags[*]"], "from": "t"}, "E002"),
    ({"select": ["COUNT(id)"], "from": "t"}, "E002"),
    ({"select": [":F(a"], "from": "t"}, "E002"),
    ({"select": 3, "from": "t"}, "E101"),
    ({"select": [[]], "from": "t"}, "E101"),
    ({"select": [], "from": "t as a as b"}, "E111"),
    ({"select": [], "from": "t; drop table t"}, "E111"),
    ({"select": [], "from": "t", "query": {"select": [], "from": "u"}}, "E111"),
    ({"select": [], "from": "t", "wheres": [{"op": "="}]}, "E120"),
    ({"select": [], "from": "t", "wheres": [{"field": "a"}]}, "E120"),
    ({"select": [], "from": "t", "wheres": [{"field": "a", "op": "~", "value": 1}]}, "E120"),
    ({"select": [], "from": "t", "wheres": [{"field": "a", "=": None}]}, "E120"),
    ({"select": [], "from": "t", "wheres": [{"field": "a", "is": "odd"}]}, "E120"),
    ({"select": [], "from": "t", "wheres": [{"field": "a", "=": 1, ">": 0}]}, "E120"),
    ({"select": [], "from": "t", "wheres": [{"wheres": []}]}, "E120"),
    ({"select": [], "from": "t", "wheres": [{"field": "a", "=": 1, "raw": "x"}]}, "E120"),
    ({"select": [], "from": "t", "wheres": [{"field": "a", "=": "{b c}"}]}, "E120"),
    ({"select": [], "from": "t", "wheres": "a = 1"}, "E120"),
    ({"select": [], "from": "t", "orders": ["a sideways"]}, "E130"),
    ({"select": [], "from": "t", "orders": [{"field": "a", "sort": "up"}]}, "E130"),
    ({"select": [], "from": "t", "groups": ["a rollup All"]}, "E140"),
    ({"select": [], "from": "t", "havings": [{"field": "a", "=": 1}]}, "E150"),
    ({"select": [], "from": "t", "groups": "a", "havings": [{"op": "="}]}, "E151"),
    ({"select": [], "from": "t", "unions": {}}, "E160"),
    ({"select": [], "from": "t", "joins": [{"from": "u", "foreign": "a"}]}, "E170"),
    ({"select": [], "from": "t", "joins": [{"from": "u", "key": "a"}]}, "E171"),
    ({"select": [], "from": "t", "joins": [{"key": "a", "foreign": "b"}]}, "E172"),
    ({"select": [], "from": "t", "sql": {"stmt": "drop table t"}}, "E180"),
    ({"select": [], "from": "t", "wheres": [{"field": "a", "in": {"query": 1}}]}, "E190"),
    ({"select": [], "from": "t", "limit": -1}, "E003"),
    ({"select": [], "from": "t", "where": []}, "E003"),
    ({"select": [], "from": "t", "distinct": "maybe"}, "E003"),
]


@pytest.mark.parametrize(("document", "code"), BROKEN)
def test_each_fault_has_its_code(document: dict[str, Any], code: str) -> None:
    """Each kind of fault is found, under the code that documentation gives it."""
    with pytest.raises(QueryError) as caught:
        parse(document)
    assert code in [each.code for each in caught.value.diagnostics]
    assert [each.code for each in lint(document)] == [
        each.code for each in caught.value.diagnostics
    ]


def test_all_faults_are_named_at_once() -> None:
    """One reading finds them all, each with its path."""
    with pytest.raises(QueryError) as caught:
        parse({"select": ["a b"], "from": "t", "wheres": [{"wheres": [{"op": "="}]}], "limt": 1})
    found = {each.path: each for each in caught.value.diagnostics}
    assert set(found) == {"select[0]", "wheres[0].wheres[0]", "limt"}
    assert "did you mean 'limit'" in found["limt"].message


def test_depth_and_size_are_bounded() -> None:
    """What is nested without end, or has parts without end, is refused and not followed."""
    deep: dict[str, Any] = {"field": "a", "=": 1}
    for _ in range(500):
        deep = {"wheres": [deep]}
    query: dict[str, Any] = {"select": ["id"], "from": "t"}
    for _ in range(500):
        query = {"select": ["id"], "query": query}
    for document in (
        {"select": [], "from": "t", "wheres": [deep]},
        query,
        {"select": [], "from": "t", "wheres": [{"field": "a", "=": 1}] * 5000},
        {"select": ["(" * 3000 + "a"], "from": "t"},
        {"select": ["+".join("a" * 1000)], "from": "t"},
        {"select": [], "from": "t", "wheres": [{"field": "a", "in": list(range(5000))}]},
    ):
        with pytest.raises(QueryError):
            parse(document)


KEYS = (
    "select from wheres field op value query name or = in case when then func args joins on orders"
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["a", "t as u", ":SUM(a)", "{b}", "a desc", "null", "?:p"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS.split()) | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@settings(max_examples=80, deadline=None)
@given(document=st.dictionaries(st.sampled_from([*WHOLE, "query", "first"]), JSON, max_size=8))
def test_any_document_gives_findings_or_a_query(document: dict[str, Any]) -> None:
    """Nothing that is JSON raises anything but QueryError; what is read can be written."""
    try:
        query = parse(document)
    except QueryError:
        return
    assert isinstance(query, Query)
    assert parse(to_document(query)) == query


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet="ab.:$`'(),*+-/ 1@[]{}?é", max_size=30))
def test_any_text_is_an_expression_or_is_refused(text: str) -> None:
    """Whatever stands in select is read or refused; what is read can be written."""
    try:
        query = parse({"select": [text, "a"], "from": "t"})
    except QueryError:
        return
    assert parse(to_document(query)) == query
