"""``refdesk db`` as a person runs it, on a shop of their own."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from commands import Command

SHOP = Path(__file__).parents[1] / "db" / "shop.sql"
YAML = """
version: 1
databases:
  shop:
    url: sqlite:///shop.db
    permission:
      orders:
        rows: [{field: customer_id, op: "=", value: "{user.id}"}]
        hidden: [note]
"""
QUERY = {
    "select": ["id", "name"],
    "from": "products",
    "wheres": [{"field": "name", "match": "canary"}, {"field": "price", "<": 50}],
    "limit": 5,
}


@pytest.fixture(autouse=True)
def _shop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = sqlite3.connect(folder / "shop.db")
    connection.executescript(f"BEGIN; {SHOP.read_text()} COMMIT;")
    connection.close()
    (folder / "refdesk.yaml").write_text(YAML)
    monkeypatch.setenv("REFDESK_NOW", "2026-03-15T12:00:00+00:00")


def _file(folder: Path, query: Any) -> str:
    (folder / "query.json").write_text(json.dumps(query))
    return "query.json"


def test_models_are_listed_without_hidden_columns(refdesk: Command) -> None:
    """What is listed is what the asker may know of."""
    ran = refdesk("db", "models", "--database", "shop", "--json")
    assert ran.code == 0
    models = {model["id"]: model for model in ran.json["models"]}
    assert ran.json["database"] == "shop"
    assert set(models) == {"customers", "products", "orders"}
    assert "note" not in [column["name"] for column in models["orders"]["columns"]]
    assert {relation["model"] for relation in models["orders"]["relations"]} == {
        "customers",
        "products",
    }
    shown = refdesk("db", "models")
    assert "products" in shown.out
    assert "note" not in shown.out


def test_reflection_prints_a_model_file_that_can_be_used(refdesk: Command, folder: Path) -> None:
    """One command writes the models down; read back they answer the same."""
    ran = refdesk("db", "models", "--reflect")
    assert ran.code == 0
    (folder / "shop.mod.yaml").write_text(ran.out)
    models = YAML.replace("shop.db\n", "shop.db\n    models: [shop.mod.yaml]\n")
    asked = refdesk("db", "ask", "products under $10", "--json", yaml=models)
    assert asked.code == 0
    assert [item["record_id"] for item in asked.json["items"]] == [4, 18]


def test_a_query_is_compiled_without_its_values(refdesk: Command, folder: Path) -> None:
    """The driver takes SQL and params unchanged, and no value stands in the SQL."""
    file = _file(folder, QUERY)
    ran = refdesk("db", "compile", "--database", "shop", file, "--json")
    assert ran.code == 0
    assert set(ran.json) == {"sql", "params"}
    assert "canary" not in ran.json["sql"]
    assert "50" not in ran.json["sql"]
    assert any("canary" in str(value) for value in ran.json["params"].values())
    connection = sqlite3.connect(folder / "shop.db")
    assert connection.execute(ran.json["sql"], ran.json["params"]).fetchall() == []
    connection.close()


def test_compile_holds_the_row_rule(refdesk: Command, folder: Path) -> None:
    """The claims of the identity are bound; without them there are no rows."""
    file = _file(folder, {"select": ["id"], "from": "orders"})
    ran = refdesk("db", "compile", file, "--identity", '{"id": 14}', "--json")
    connection = sqlite3.connect(folder / "shop.db")
    mine = connection.execute(ran.json["sql"], ran.json["params"]).fetchall()
    every = connection.execute("SELECT id FROM orders WHERE customer_id = 14").fetchall()
    assert sorted(mine) == sorted(every) != []
    ran = refdesk("db", "compile", file, "--json")
    assert connection.execute(ran.json["sql"], ran.json["params"]).fetchall() == []
    connection.close()


def test_lint_tells_place_and_code(refdesk: Command, folder: Path) -> None:
    """Each finding has its code and path; exit status 3 where something is wrong."""
    wrong = {"select": ["id", "nothing"], "from": "products", "wheres": [{"field": "id"}]}
    ran = refdesk("db", "lint", _file(folder, wrong), "--json")
    assert ran.code == 3
    assert ran.json["valid"] is False
    codes = {finding["code"] for finding in ran.json["diagnostics"]}
    assert codes
    assert all(finding["path"] for finding in ran.json["diagnostics"])
    good = refdesk("db", "lint", _file(folder, QUERY), "--json")
    assert (good.code, good.json) == (0, {"valid": True, "diagnostics": []})


def test_a_wrong_query_is_not_compiled(refdesk: Command, folder: Path) -> None:
    """A hidden column is an unknown one; exit status 1."""
    ran = refdesk("db", "compile", _file(folder, {"select": ["note"], "from": "orders"}))
    assert ran.code == 1
    assert ran.out == ""
    assert "note" in ran.err


def test_a_question_is_answered(refdesk: Command) -> None:
    """The result has the names of every face, and the query that was made."""
    ran = refdesk("db", "ask", "--database", "shop", "products under $10", "--json")
    assert ran.code == 0
    result = ran.json
    assert (result["type"], result["total"], result["error"]) == ("db", 2, None)
    assert result["dsl"]["from"] in ("products", "$products")
    item = result["items"][0]
    assert (item["index"], item["record_id"], item["model"]) == (1, 4, "products")
    assert item["data"]["name"] == "USB-C Cable"
    shown = refdesk("db", "ask", "products under $10")
    assert "USB-C Cable" in shown.out
    assert "2 rows" in shown.err
    assert f"query: {json.dumps(result['dsl'], separators=(',', ':'))}" in shown.err
    assert "engine" not in shown.err


def test_dates_are_read_by_the_fixed_clock(refdesk: Command) -> None:
    """REFDESK_NOW says what last month is."""
    ran = refdesk("db", "ask", "orders placed last month", "--identity", '{"id": 17}', "--json")
    assert ran.code == 0
    dates = [item["data"]["ordered_at"] for item in ran.json["items"]]
    assert dates
    assert all(date.startswith("2026-02") for date in dates)


def test_what_cannot_be_answered_is_refused(refdesk: Command, folder: Path) -> None:
    """Exit status 1, the reason on stderr or in the result, and the database as it was."""
    before = (folder / "shop.db").read_bytes()
    ran = refdesk("db", "ask", "delete all products", "--json")
    assert ran.code == 1
    assert ran.json["error"]
    assert ran.json["items"] == []
    assert (folder / "shop.db").read_bytes() == before


def test_nothing_found_is_no_failure(refdesk: Command) -> None:
    """Exit status 0, and no row."""
    ran = refdesk("db", "ask", "orders placed last month", "--json")
    assert (ran.code, ran.json["items"]) == (0, [])
    shown = refdesk("db", "ask", "orders placed last month")
    assert (shown.code, shown.out) == (0, "")
    assert "no rows in" in shown.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["ask", "--database", "shpo", "x"], 1, "did you mean 'shop'"),
        (["ask", " "], 2, "nothing to ask"),
        (["lint", "no.json"], 2, "No such file"),
        (["models", "--identity", "[]"], 2, "no JSON object"),
    ],
)
def test_mistakes_are_told(refdesk: Command, arguments: list[str], code: int, said: str) -> None:
    """A mistake is a sentence that names the value, and an exit status."""
    ran = refdesk("db", *arguments)
    assert ran.code == code
    assert said in ran.err


def test_search_takes_the_type(refdesk: Command) -> None:
    """`refdesk search --type db` is the same search."""
    ran = refdesk("search", "--type", "db", "--database", "shop", "products under $10", "--json")
    assert ran.code == 0
    assert [item["record_id"] for item in ran.json["items"]] == [4, 18]
    assert "engine" not in ran.err, "the web has no part in it"
