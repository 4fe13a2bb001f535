"""An assistant or a tool makes the query: three attempts, the linter's findings told each time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from refdesk.db.dsl.write import to_document
from refdesk.db.generate.delegate import generate_by_delegate
from refdesk.db.schema import Column, Model, ModelSet, Relation
from refdesk.errors import ConfigError, DelegateError
from refdesk.uses import Uses

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
ASSISTANT = Uses.parse("query-maker")
TOOL = Uses.parse("mcp:sql.make")
ORDERS = Model(
    id="orders",
    table="orders",
    label="Orders",
    columns=(
        Column(name="id", type="integer", primary=True, nullable=False),
        Column(name="status", type="string", enum=("paid", "open")),
        Column(name="city", type="string", description="Where it goes"),
        Column(name="card", type="string", private=True),
        Column(name="customer_id", type="integer"),
    ),
    relations=(Relation(name="customer", model="customers", column="customer_id", foreign="id"),),
)
CUSTOMERS = Model(id="customers", table="customers", columns=(Column(name="id", type="integer"),))
MODELS = ModelSet((ORDERS, CUSTOMERS))
GOOD = {"select": ["id"], "from": "orders", "wheres": [{"field": "status", "=": "paid"}]}


class Scripted:
    """A delegate that gives the answers it was given, in turn, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Mapping[str, Any]] = []

    async def call(self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float) -> Any:
        self.asked.append(payload)
        answer = self.answers[len(self.asked) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer


async def make(delegate: Any, **options: Any) -> Any:
    given = {"delegate": delegate, "target": ASSISTANT, "now": NOW, "limit": 15, **options}
    return await generate_by_delegate("paid orders", given.pop("models", MODELS), **given)


async def test_an_answer_is_the_query():
    """A good answer is taken, and gets the limit of the request where it names none."""
    delegate = Scripted(json.dumps({"dsl": GOOD, "warnings": ["by status"]}))
    made = await make(delegate)
    assert to_document(made.query)["wheres"] == [{"field": "status", "op": "=", "value": "paid"}]
    assert (made.query.limit, made.notices, made.attempts) == (15, ("by status",), 1)


async def test_its_own_limit_stands():
    """A limit that the answer names is kept; the compiler caps it."""
    assert (await make(Scripted({**GOOD, "limit": 3}))).query.limit == 3


async def test_what_an_assistant_is_told():
    """It is told the question, the schema, the day, the grammar and the form of its answer."""
    delegate = Scripted(GOOD)
    await make(delegate, samples={"orders": {"city": ("Berlin", "Paris"), "card": ("4111",)}})
    (asked,) = delegate.asked
    assert (asked["query"], asked["models"], asked["limit"]) == (
        "paid orders",
        ["orders", "customers"],
        15,
    )
    assert asked["now"] == "Sunday, 2026-03-15 12:00 +0000"
    assert asked["schema"][0] == {
        "name": "orders",
        "label": "Orders",
        "columns": [
            {"name": "id", "type": "integer", "nullable": False},
            {"name": "status", "type": "string", "enum": ["paid", "open"]},
            {
                "name": "city",
                "type": "string",
                "description": "Where it goes",
                "values": ["Berlin", "Paris"],
            },
            {"name": "customer_id", "type": "integer"},
        ],
        "relations": [
            {"name": "customer", "to": "customers", "key": "customer_id", "foreign": "id"}
        ],
    }
    assert "4111" not in json.dumps(dict(asked))
    assert {"instructions", "answer_schema"} <= asked.keys()
    assert "retry" not in asked


async def test_one_model_is_one_object():
    """The schema of a single model is no list, and names no model that may not be used."""
    delegate = Scripted(GOOD)
    await make(delegate, models=ModelSet((ORDERS,)))
    assert delegate.asked[0]["schema"]["name"] == "orders"
    assert "relations" not in delegate.asked[0]["schema"]


async def test_what_a_tool_is_told():
    """A tool gets arguments of its contract only."""
    delegate = Scripted(GOOD)
    await make(delegate, target=TOOL)
    assert delegate.asked[0].keys() == {"query", "models", "limit", "extra"}
    assert delegate.asked[0]["extra"]["schema"][1]["name"] == "customers"


async def test_findings_are_told():
    """What is wrong with an answer goes with the next attempt, whose answer is taken."""
    delegate = Scripted({"select": ["colour"], "from": "orders"}, "Sorry?", GOOD)
    made = await make(delegate)
    assert made.attempts == 3
    assert made.query is not None
    first, second = (asked["retry"] for asked in delegate.asked[1:])
    assert first["attempt"] == 2
    assert "colour" in first["lint_errors"]
    assert "holds 0 queries" in second["lint_errors"]


@pytest.mark.parametrize(
    "hostile",
    [
        {"select": ["*"], "from": "secrets"},
        {"sql": {"stmt": "DROP TABLE orders"}},
        {"select": [":pg_sleep(60)"], "from": "orders"},
        {"from": "orders", "wheres": [{"field": "id) OR 1=1 --", "=": 1}]},
        {"from": "orders", "wheres": [{"field": "id", "in": {"query": {"from": "secrets"}}}]},
        {"from": "orders; DROP TABLE orders"},
        "```json\n{}\n```",
        None,
    ],
    ids=str,
)
async def test_three_attempts_in_all(hostile):
    """An answer that cannot be used three times over is an error that says what was wrong."""
    delegate = Scripted(hostile, hostile, hostile, GOOD)
    with pytest.raises(DelegateError, match="in 3 attempts"):
        await make(delegate)
    assert len(delegate.asked) == 3


async def test_a_refusal_is_not_asked_again():
    """A delegate that says the schema cannot answer is believed at once."""
    delegate = Scripted({"error": "missing_field", "message": "no column holds a colour"}, GOOD)
    made = await make(delegate)
    assert (made.query, made.refused) == (None, "no column holds a colour")
    assert len(delegate.asked) == 1


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (DelegateError("the server is gone"), "the server is gone"),
        (ConfigError("no such assistant"), "'query-maker' failed: no such assistant"),
        (ValueError("key sk-secret"), "failed with ValueError"),
    ],
    ids=str,
)
async def test_failures(failure, said):
    """A delegate that fails is not asked again, and a foreign error's message stays out."""
    delegate = Scripted(failure, GOOD)
    with pytest.raises(DelegateError) as raised:
        await make(delegate)
    assert said in str(raised.value)
    assert "sk-secret" not in str(raised.value)
    assert len(delegate.asked) == 1


async def test_silence_ends_in_time():
    """A delegate that never answers is given up at its time, with the remedy."""

    class Silent:
        async def call(self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float) -> Any:
            await asyncio.Event().wait()

    with pytest.raises(DelegateError, match=r"no answer within 0\.01 s"):
        await make(Silent(), timeout_s=0.01)


async def test_nobody_to_ask():
    """Without anybody who can call it, the error says so."""
    with pytest.raises(DelegateError, match=r"set uses\.querydsl to builtin"):
        await make(None)


async def test_hidden_columns_cannot_be_named():
    """A query on a column that the asker may not see is as wrong as on one that is not there."""
    models = ModelSet((replace(ORDERS, relations=()).without(["status"]),))
    with pytest.raises(DelegateError, match="status"):
        await make(Scripted(GOOD, GOOD, GOOD), models=models)
