"""Row rules and hidden columns: read, filled in with claims, and applied."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from refdesk.db.dsl import QueryError, compile, parse, parse_conditions  # noqa: A004
from refdesk.db.gate import write
from refdesk.db.permission import Permission, read_permission
from refdesk.db.schema import Column, Model, ModelSet, Relation
from refdesk.errors import ConfigError

ORDERS = Model(
    id="order",
    table="orders",
    columns=(
        Column(name="id", type="integer", primary=True),
        Column(name="owner", type="integer"),
        Column(name="team", type="string"),
        Column(name="note", type="string"),
        Column(name="client_id", type="integer"),
    ),
    relations=(Relation(name="client", model="client", column="client_id", foreign="id"),),
)
CLIENTS = Model(
    id="client",
    table="clients",
    columns=(Column(name="id", type="integer", primary=True), Column(name="name")),
)
MODELS = ModelSet((ORDERS, CLIENTS))


@pytest.fixture
def database() -> Any:
    database = sqlite3.connect(":memory:")
    database.executescript(
        """
        create table orders(id integer, owner integer, team text, note text, client_id integer);
        create table clients(id integer, name text);
        insert into orders values (1, 7, 'red', 'n1', 1), (2, 8, 'blue', 'n2', 1),
                                  (3, 8, 'red', 'n3', 2), (4, null, null, 'n4', 2);
        insert into clients values (1, 'Ada'), (2, 'Bob');
        """
    )
    yield database
    database.close()


def _ids(
    database: sqlite3.Connection,
    rules: dict[str, Any],
    identity: dict[str, Any] | None,
    document: dict[str, Any] | None = None,
    **more: Any,
) -> list[Any]:
    document = {
        "select": ["orders.id"],
        "from": "orders",
        "orders": "orders.id",
        **(document or {}),
    }
    statement = compile(
        parse(document),
        MODELS,
        "sqlite",
        permission=read_permission(rules, MODELS),
        identity=identity,
        **more,
    )
    written = write(statement, "sqlite")
    return [row[0] for row in database.execute(written.sql, written.params)]


def _rows(*conditions: Any) -> dict[str, Any]:
    return {"order": {"rows": list(conditions)}}


@pytest.mark.parametrize(
    ("condition", "identity", "seen"),
    [
        ({"field": "owner", "=": "{user.id}"}, {"id": 7}, [1]),
        ({"field": "owner", "=": "{user.id}"}, {"id": "8"}, [2, 3]),
        ({"field": "owner", "=": "{user.id}"}, {"id": "7 or 1=1"}, []),
        ({"field": "owner", "=": "{user.id}"}, {"id": [7, 8]}, []),
        ({"field": "id", "=": "{user.id}"}, {"id": True}, []),
        ({"field": "id", "in": "{user.ids}"}, {"ids": [True, 2]}, []),
        ({"field": "id", "=": "{user.id}"}, {"id": "1e0"}, []),
        ({"field": "id", "=": "{user.id}"}, {"id": " 1"}, []),
        ({"field": "id", "=": "{user.id}"}, {"id": "0_1"}, []),
        ({"field": "id", "=": "{user.id}"}, {"id": "１"}, []),
        ({"field": "id", "=": "{user.id}"}, {"id": {"a": 1}}, []),
        ({"field": "id", "<>": "{user.id}"}, {"id": 10**30}, []),
        ({"field": "id", "<>": "{user.id}"}, {"id": float("nan")}, []),
        ({"field": "id", "<": "{user.id}"}, {"id": float("inf")}, []),
        ({"field": "team", "<>": "{user.team}"}, {"team": "x\0"}, []),
        ({"field": "team", "<>": "{user.team}"}, {"team": "\ud800"}, []),
        ({"field": "team", "<>": "{user.team}"}, {"team": False}, []),
        ({"field": "team", "like": "{user.team}"}, {"team": "%"}, []),
        ({"field": "team", "like": "{user.team}"}, {"team": "r_d"}, []),
        ({"field": "team", "like": "{user.team}"}, {"team": "RED"}, [1, 3]),
        ({"field": "team", "match": "{user.team}"}, {"team": "e"}, [1, 2, 3]),
        ({"field": "team", "match": "{user.team}"}, {"team": True}, []),
        ({"field": "owner", "=": "{user.id}"}, {"id": None}, []),
        ({"field": "owner", "=": "{user.id}"}, {}, []),
        ({"field": "owner", "=": "{user.id}"}, None, []),
        ({"field": "owner", "<>": "{user.id}"}, {}, []),
        ({"field": "team", "in": "{user.teams}"}, {"teams": ["red", "blue"]}, [1, 2, 3]),
        ({"field": "team", "in": "{user.teams}"}, {"teams": "red"}, [1, 3]),
        ({"field": "team", "in": "{user.teams}"}, {"teams": []}, []),
        ({"field": "team", "in": "{user.teams}"}, {"teams": {"a": 1}}, []),
        ({"field": "team", "not in": "{user.teams}"}, {}, []),
        ({"field": "team", "=": "{user.org.team}"}, {"org": {"team": "blue"}}, [2]),
        ({"field": "orders.team", "=": "red"}, None, [1, 3]),
        (
            {
                "wheres": [
                    {"field": "team", "is": "null"},
                    {"or": True, "field": "owner", "=": "{user.id}"},
                ]
            },
            {"id": 7},
            [1, 4],
        ),
        (
            {
                "field": "client_id",
                "in": {
                    "query": {
                        "select": ["id"],
                        "from": "clients",
                        "wheres": [{"field": "name", "=": "{user.client}"}],
                    }
                },
            },
            {"client": "Bob"},
            [3, 4],
        ),
    ],
)
def test_rules_decide_what_is_seen(
    database: sqlite3.Connection, condition: Any, identity: Any, seen: list[int]
) -> None:
    """A rule shows the rows that are the asker's; without the claim, or with an odd one, none."""
    assert _ids(database, _rows(condition), identity) == seen


def test_an_or_stays_in_its_group(database: sqlite3.Connection) -> None:
    """Neither the question's OR nor the request's reaches beyond its own parentheses."""
    rules = _rows({"field": "team", "=": "red"})
    anything = {"wheres": [{"field": "id", "=": 1}, {"or": True, "field": "1", "=": 1}]}
    assert _ids(database, rules, None, anything) == [1, 3]
    preset = parse_conditions([{"field": "id", ">": 1}, {"or": True, "field": "id", "=": 99}])
    assert _ids(database, rules, None, anything, preset=preset) == [3]


def test_a_preset_is_on_each_branch(database: sqlite3.Connection) -> None:
    """What the request asks for holds in unions and in derived tables."""
    preset = parse_conditions([{"field": "team", "=": "red"}])
    union = {"unions": [{"select": ["id"], "from": "orders"}], "orders": []}
    assert sorted(_ids(database, {}, None, union, preset=preset)) == [1, 1, 3, 3]
    derived = {
        "query": {"select": ["id", "team"], "from": "orders"},
        "name": "orders",
        "from": None,
    }
    assert _ids(database, {}, None, derived, preset=preset) == [1, 3]


@pytest.mark.parametrize(
    "document",
    [
        {"select": ["note"]},
        {"select": ["orders.NOTE"]},
        {"select": [":MAX(note)"]},
        {"wheres": [{"field": "note", "like": "n1"}]},
        {"wheres": [{"field": "id", "=": "{note}"}]},
        {"orders": "note"},
        {"groups": "note"},
        {"groups": "orders.id", "havings": [{":MAX(note)": "", ">": "n"}]},
        {"joins": [{"from": "clients", "key": "name", "foreign": "note"}]},
        {"joins": [{"from": "clients", "on": [{"field": "note", "=": "n1"}]}]},
        {"wheres": [{"field": "id", "in": {"query": {"select": ["note"], "from": "orders"}}}]},
        {"unions": [{"select": ["note"], "from": "orders"}]},
        {
            "select": ["d.note"],
            "from": None,
            "query": {"select": [], "from": "orders"},
            "name": "d",
        },
    ],
)
def test_a_hidden_column_is_nowhere(database: sqlite3.Connection, document: dict[str, Any]) -> None:
    """A hidden column is refused in every part of a query, and * leaves it out."""
    with pytest.raises(QueryError, match=r"(?i)note"):
        _ids(database, {"order": {"hidden": ["note"]}}, None, document)
    statement = compile(
        parse({"select": ["*"], "from": "orders"}),
        MODELS,
        "sqlite",
        permission=read_permission({"order": {"hidden": ["note"]}}, MODELS),
    )
    assert "note" not in write(statement, "sqlite").sql


def test_a_rule_may_stand_on_a_hidden_column(database: sqlite3.Connection) -> None:
    """The rule sees what the asker may not, even where the models were cut for the asker."""
    rules = {"order": {"rows": [{"field": "team", "=": "red"}], "hidden": ["team"]}}
    assert _ids(database, rules, None) == [1, 3]
    permission = read_permission(rules, MODELS)
    visible = permission.visible(MODELS)
    assert visible.models[0].column("team") is None
    statement = compile(
        parse({"select": ["id"], "from": "orders"}), visible, "sqlite", permission=permission
    )
    written = write(statement, "sqlite")
    assert database.execute(written.sql, written.params).fetchall() == [(1,), (3,)]


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ({"ordr": {}}, "no model is called 'ordr'.*did you mean 'order'"),
        ({"order": {"hidden": ["nots"]}}, "no column of order is called 'nots'"),
        (_rows({"field": "ownr", "=": 1}), "no column of order is called 'ownr'"),
        (_rows({"field": "owner"}), "op is missing"),
        (_rows({"field": "owner", "=": 1}, {"or": True, "field": "id", "=": 1}), "joined by AND"),
        (_rows({"field": "team", "=": "x-{user.team}"}), "a claim stands alone"),
    ],
)
def test_a_wrong_rule_is_found_when_it_is_read(rules: dict[str, Any], says: str) -> None:
    """A rule that could not hold is an error at the start, not a hole later."""
    with pytest.raises(ConfigError, match=says):
        read_permission(rules, MODELS)


def test_rules_of_model_and_configuration_both_hold(database: sqlite3.Connection) -> None:
    """A model file's own rules stay in force beside those of the configuration."""
    own = Model(
        id="order",
        table="orders",
        columns=ORDERS.columns,
        rows=({"field": "team", "=": "red"},),
        hidden=("note",),
    )
    permission = read_permission(
        {"order": {"rows": [{"field": "owner", "=": 8}]}}, ModelSet((own,))
    )
    assert permission.hidden("order") == {"note"}
    assert len(permission.rows("order", None) or ()) == 2


def test_relations_to_what_is_hidden_are_not_shown() -> None:
    """A relation by a hidden column, on either side, is not told."""
    for rules in ({"order": {"hidden": ["client_id"]}}, {"client": {"hidden": ["id"]}}):
        visible = read_permission(rules, MODELS).visible(MODELS)
        assert visible.models[0].relations == ()
    assert Permission().visible(MODELS).models[0].relations
