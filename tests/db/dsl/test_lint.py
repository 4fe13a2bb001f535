"""The linter: codes, paths and places, and names it knows."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.db.dsl import Diagnostic, lint
from refdesk.db.dsl.places import find_places
from refdesk.db.dsl.types import MAX_FINDINGS
from refdesk.db.permission import Permission, read_permission
from refdesk.db.schema import Column, Model, ModelSet

MODELS = ModelSet(
    (
        Model(
            id="product",
            table="products",
            columns=(
                Column(name="id", type="integer", primary=True),
                Column(name="name"),
                Column(name="price", type="decimal"),
                Column(name="made", type="date"),
                Column(name="cost", type="decimal"),
            ),
        ),
        Model(id="agents.bot.order", table="orders", columns=(Column(name="id"),)),
    )
)
PERMISSION = read_permission({"product": {"hidden": ["cost"]}}, MODELS)

TEXT = """{
  "select": ["id", "nam"],
  "from": "products",
  "wheres": [
    {"wheres": [
      {"field": "price", ">": "cheap"}
    ]}
  ]
}"""


def _lint(document: object, permission: Permission = PERMISSION) -> list[Diagnostic]:
    return lint(document, MODELS, permission=permission)  # type: ignore[arg-type]


def test_a_right_document_has_no_findings() -> None:
    """The grouping that the language teaches lints clean."""
    assert not _lint(
        {
            "select": ["id", "name"],
            "from": "$product",
            "wheres": [
                {"field": "price", "<": 100},
                {"wheres": [{":name": "", "match": "a"}, {"or :name": "", "match": "b"}]},
            ],
        }
    )


def test_findings_say_where() -> None:
    """In a text, each finding has line, column and offset, and one line says it all."""
    name, price = _lint(TEXT)
    assert (name.code, name.path) == ("E101", "select[1]")
    assert "did you mean name" in name.message
    assert name.position is not None
    assert (name.position.line, name.position.column) == (2, 20)
    assert TEXT[name.position.offset : name.position.end_offset] == '"nam"'
    assert str(name).startswith("2:20-25:select[1]: error: there is no column 'nam'")
    assert (price.code, price.path) == ("E120", "wheres[0].wheres[0]")
    assert price.source == '{"field": "price", ">": "cheap"}'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no JSON"),
        ('{"select": [}', "line 1, column 13"),
        ("[]", "an object"),
        ('{"select": [], "select": []}', "twice"),
        ('{"limit": NaN}', "NaN"),
        ("[" * 100_000, "no JSON|nested"),
        ('{"limit": ' + "9" * 5000 + "}", "no JSON"),
    ],
)
def test_what_is_no_json(text: str, says: str) -> None:
    """A text that is no JSON object has one finding, E001."""
    (found,) = _lint(text)
    assert found.code == "E001"
    assert any(each in found.message for each in says.split("|"))


@pytest.mark.parametrize(
    "document",
    [
        {"select": [], "from": "products", **{f"selec{n}": 1 for n in range(5000)}},
        {"select": [f"nam{n}" for n in range(200)], "from": "products"},
        {"select": "," * 1_000_000, "from": "products"},
    ],
    ids=["members", "columns", "commas"],
)
def test_no_more_is_told_than_is_read(document: object) -> None:
    """However much is wrong with a document, its findings are few, and found without delay."""
    started = time.process_time()
    assert 1 <= len(_lint(document)) <= MAX_FINDINGS
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("document", "code", "says"),
    [
        ({"select": [], "from": "prodcts"}, "E111", "'prodcts'"),
        ({"select": [], "from": "$produc"}, "E111", "did you mean product"),
        ({"select": ["x.id"], "from": "products"}, "E101", "'x' is not read here"),
        ({"select": [":pg_sleep(9)"], "from": "products"}, "E101", "no function PG_SLEEP"),
        ({"select": [":ROUND()"], "from": "products"}, "E101", "arguments"),
        ({"select": ["name", ":COUNT(*)"], "from": "products"}, "E140", "add 'name' to groups"),
        ({"select": [], "from": "products", "orders": "pric"}, "E130", "price"),
        ({"select": ["id"], "from": "products", "orders": "1"}, "E130", "same for every row"),
        (
            {"select": ["id"], "from": "products", "distinct": True, "orders": "name"},
            "E130",
            "select this too",
        ),
        ({"select": [":COUNT(*)"], "from": "products", "groups": "1"}, "E140", "same for every"),
        (
            {"select": ["name"], "from": "products", "groups": "name", "orders": "price"},
            "E140",
            "add 'price' to groups",
        ),
        (
            {
                "select": ["a.name"],
                "from": "products as a",
                "joins": [{"from": "products as b", "key": "b.id", "foreign": "a.id"}],
                "groups": "b.name",
            },
            "E140",
            "add 'name' to groups",
        ),
        ({"select": ['name$.`a"b`'], "from": "products"}, "E101", "no quotes"),
        (
            {"select": [], "from": "products", "wheres": [{":SUM(price)": "", ">": 1}]},
            "E120",
            "SUM",
        ),
        (
            {"select": [], "from": "products", "wheres": [{"field": "made", ">": "x"}]},
            "E120",
            "date",
        ),
        (
            {
                "select": ["id"],
                "from": "products",
                "joins": [{"from": "o", "key": "id", "foreign": "id"}],
            },
            "E172",
            "no table or model 'o'",
        ),
        (
            {"select": ["id"], "from": "products", "unions": [{"select": [], "from": "products"}]},
            "E160",
            "4 columns",
        ),
        (
            {
                "select": [],
                "from": "products",
                "wheres": [{"field": "id", "in": {"query": {"select": [], "from": "products"}}}],
            },
            "E190",
            "one column",
        ),
    ],
)
def test_names_are_checked(document: dict[str, object], code: str, says: str) -> None:
    """Tables, columns, functions and shapes are checked against what there is."""
    found = _lint(document)
    assert code in [each.code for each in found]
    assert any(says in each.message for each in found)


def test_a_hidden_column_is_an_unknown_one() -> None:
    """What is said of a hidden column is what would be said if it were not there."""
    document = {"select": ["id"], "from": "products", "wheres": [{"field": "cost", ">": 1}]}
    (hidden,) = _lint(document)
    gone = ModelSet(tuple(model.without(["cost"]) for model in MODELS))
    assert lint(document, gone) == [hidden]
    assert not lint(document, MODELS)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"\\é', max_size=3), inner)
    ),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(value=JSON, indent=st.sampled_from([None, 1]))
def test_places_are_those_of_the_values(value: object, indent: int | None) -> None:
    """Every path leads to the text of its value, however the text is laid out."""
    text = json.dumps({"v": value}, indent=indent)
    places = find_places(text)

    def check(path: str, expected: object) -> None:
        start, end = places.spans[path]
        assert json.loads(text[start:end]) == expected
        if isinstance(expected, list):
            for index, each in enumerate(expected):
                check(f"{path}[{index}]", each)

    check("v", value)
