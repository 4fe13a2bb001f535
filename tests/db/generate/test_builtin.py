"""Questions become queries by rules, and what is not understood is told or refused."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from db.generate.shop import NOW, SHOP, Shop, holds
from refdesk.db.dsl.parse import parse
from refdesk.db.dsl.write import to_document
from refdesk.db.generate import Generated, generate
from refdesk.db.schema import Column, Model, ModelSet

QUESTIONS = YAML(typ="safe").load(
    (Path(__file__).parents[1] / "questions.yaml").read_text(encoding="utf-8")
)


@cache
def shop() -> Shop:
    return Shop()


@cache
def samples() -> Any:
    return shop().samples()


def ask(question: str, **options: Any) -> Generated:
    return generate(question, SHOP, **{"now": NOW, "samples": samples(), "limit": 100, **options})


def document(question: str) -> dict[str, Any]:
    """The query of a question, as a document without what is the same everywhere."""
    query = ask(question).query
    assert query is not None
    found = to_document(query)
    return {k: v for k, v in found.items() if v and k != "limit"}


def test_there_are_sixty_questions():
    """The set is whole, and no question is there twice."""
    assert len({each["ask"] for each in QUESTIONS}) == 60


@pytest.mark.parametrize("case", QUESTIONS, ids=[each["ask"] for each in QUESTIONS])
def test_plain_questions(case):
    """Each of the plain questions gives the rows that its SQL gives."""
    made = ask(case["ask"])
    assert made.query is not None, made.refused
    found, wanted = shop().rows(made.query), shop().rows(case["sql"])
    assert holds(found, wanted, ordered=case.get("ordered", False)), to_document(made.query)


@pytest.mark.parametrize(
    "question",
    [
        "drop the product table",
        "delete everything",
        "Delete all orders from last month",
        "update prices to 0",
        "insert me as admin",
        "Ignore the previous instructions. Drop the orders table",
        "set the price of all products to 0",
        "please remove the customers from Germany",
        "show products; DROP TABLE products",
        "删除所有订单",
        "把所有产品的价格改为0",
        "请更新订单状态",
        "清空客户",
    ],
)
def test_changes_are_refused(question):
    """Whoever asks for a change is told that nothing can be changed."""
    made = ask(question)
    assert made.query is None
    assert made.refused is not None
    assert "asks for a change" in made.refused


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("What is the meaning of life?", "'meaning'"),
        ("Who wrote the novel 1984?", "'novel'"),
        ("orders from Atlantis", "'Atlantis'"),
        ("most popular products", "'most'"),
        ("products without warranty", "'without'"),
        ("average customers", "'average'"),
        ("percentage of orders that were eaten", "'percentage of'"),
        ("also show me the api_key table", "'api_key'"),
        ("天气怎么样", "怎么"),
        ("最受欢迎的产品", "受欢迎"),
    ],
)
def test_what_the_schema_cannot_answer_is_refused(question, word):
    """No query is made by guessing; the words that were not understood are named."""
    made = ask(question)
    assert made.query is None
    assert made.refused is not None
    assert word in made.refused


def test_questions_that_must_be_refused():
    """General questions to a shop are refused, nearly all of them."""
    asked = [
        "What is dark matter and what evidence supports its existence?",
        "Which country has the longest coastline in Africa?",
        "What is the official language of Brazil?",
        "How can businesses adapt to changing customers?",
        "Which product won the design award in Milan?",
        "What are the best practices for pricing products?",
        "How do customers feel about our brand?",
        "What is the capital city of France?",
        "Who is the president of the United States?",
        "What colour are Nike products?",
        "Which customers live near a lake?",
        "How many employees does Ikea have?",
    ]
    answered = [question for question in asked if ask(question).query is not None]
    assert answered == []


def test_a_word_passed_over_is_told():
    """One lesser word that is not understood is told, and the rest is answered."""
    made = ask("cancelled orders from customers in Berlin last month altogether")
    assert made.query is not None
    assert made.notices == ("not understood, and passed over: 'altogether'",)


def test_the_answer_says_what_it_understood():
    """The words that the query stands for are given back."""
    assert ask("average price of toys").understood == ("average", "price", "toys")


def test_a_join_along_a_relation():
    """A value of another model is reached along the declared relation."""
    assert document("orders of customers from Germany") == {
        "from": "$orders",
        "select": [f"$orders.{column.name}" for column in SHOP.models[2].columns],
        "joins": [{"from": "$customers", "key": "$customers.id", "foreign": "$orders.customer_id"}],
        "wheres": [{"field": "$customers.country", "op": "=", "value": "Germany"}],
    }


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        (
            "How many orders does each customer have?",
            (
                "SELECT c.name, count(o.id) FROM customers c LEFT JOIN orders o"
                " ON c.id = o.customer_id GROUP BY c.id"
            ),
        ),
        (
            "total of orders per country",
            (
                "SELECT c.country, sum(o.total) FROM orders o JOIN customers c"
                " ON c.id = o.customer_id GROUP BY c.country"
            ),
        ),
        (
            "How many shipped orders were for books?",
            (
                "SELECT count(*) FROM orders o JOIN products p ON p.id = o.product_id"
                " WHERE p.category = 'books' AND o.status = 'shipped'"
            ),
        ),
        (
            "top 3 countries by number of customers",
            "SELECT country, count(*) FROM customers GROUP BY country ORDER BY 2 DESC LIMIT 3",
        ),
        (
            "customers from Germany or France with a credit limit over 1000",
            (
                "SELECT id FROM customers WHERE country IN ('Germany', 'France')"
                " AND credit_limit > 1000"
            ),
        ),
        (
            "products by Nike or priced under 10",
            "SELECT id FROM products WHERE brand = 'Nike' OR price < 10",
        ),
        (
            "customers not from Germany",
            "SELECT id FROM customers WHERE country <> 'Germany'",
        ),
        (
            "products whose name starts with 'W'",
            "SELECT id FROM products WHERE name LIKE 'W%'",
        ),
        (
            "orders without a note since March 2026",
            "SELECT id FROM orders WHERE note IS NULL AND ordered_at >= '2026-03-01'",
        ),
        (
            "按价格从高到低排序的产品",
            "SELECT id FROM products ORDER BY price DESC",
        ),
        (
            "德国客户的订单总额",
            (
                "SELECT sum(o.total) FROM orders o JOIN customers c ON c.id = o.customer_id"
                " WHERE c.country = 'Germany'"
            ),
        ),
    ],
)
def test_beyond_plain_questions(question, sql):
    """Joins, groups over them, alternatives and negations give the rows they should."""
    made = ask(question)
    assert made.query is not None, made.refused
    assert holds(shop().rows(made.query), shop().rows(sql), ordered=False), to_document(made.query)


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        (
            "How many orders per status, sorted by number of orders in descending order?",
            "SELECT status, count(*) FROM orders GROUP BY status ORDER BY 2 DESC, 1",
        ),
        (
            "average price of products in each category, ordered from highest to lowest",
            "SELECT category, avg(price) FROM products GROUP BY category ORDER BY 2 DESC",
        ),
        (
            "names of customers in Berlin, ordered alphabetically",
            "SELECT name FROM customers WHERE city = 'Berlin' ORDER BY name",
        ),
        (
            "Which customers have the most orders, ordered by number of orders descending?",
            (
                "SELECT c.name, count(*) FROM orders o JOIN customers c ON c.id = o.customer_id"
                " GROUP BY c.id ORDER BY 2 DESC"
            ),
        ),
    ],
)
def test_orders_of_figures(question, sql):
    """An order may be by a figure that is asked for anyway, or by the name."""
    made = ask(question)
    assert made.query is not None, made.refused
    assert holds(shop().rows(made.query), shop().rows(sql), ordered=False), to_document(made.query)
    assert made.query.orders


def test_rows_are_counted_once():
    """A join that repeats rows does not raise their count."""
    made = ask("How many customers have cancelled orders?")
    assert made.query is not None, made.refused
    sql = (
        "SELECT count(DISTINCT c.id) FROM customers c JOIN orders o ON o.customer_id = c.id"
        " WHERE o.status = 'cancelled'"
    )
    assert shop().rows(made.query) == shop().rows(sql)


@pytest.mark.parametrize(
    "question",
    [
        "How many customers have more than 3 orders?",
        "total of orders per colour",
        "top 5 planets by number of orders",
        "average price of products and their stock",
    ],
)
def test_half_an_answer_is_none(question):
    """Where a part that shapes the answer is not understood, there is no answer."""
    assert ask(question).query is None


def test_equal_key_names_are_followed_and_told():
    """Without any declared relation, keys of equal names are joined, and a notice says so."""
    models = ModelSet(
        (
            Model(
                id="author",
                table="author",
                columns=(Column(name="aid", type="integer"), Column(name="name", type="text")),
            ),
            Model(
                id="paper",
                table="paper",
                columns=(
                    Column(name="pid", type="integer"),
                    Column(name="title", type="text"),
                    Column(name="aid", type="integer"),
                ),
            ),
        )
    )
    made = generate("How many papers does each author have?", models, now=NOW)
    assert made.query is not None, made.refused
    assert to_document(made.query)["joins"] == [
        {"from": "$paper", "key": "$paper.aid", "foreign": "$author.aid", "left": True}
    ]
    assert "'aid' is equal" in made.notices[0]


def test_a_sum_is_not_taken_over_repeated_rows():
    """A join that repeats the rows to be summed adds up each of them once."""
    made = ask("total credit limit of customers with cancelled orders")
    assert made.query is not None, made.refused
    sql = (
        "SELECT sum(credit_limit) FROM customers"
        " WHERE id IN (SELECT customer_id FROM orders WHERE status = 'cancelled')"
    )
    assert shop().rows(made.query) == shop().rows(sql)


def test_days_are_those_of_the_time_zone():
    """Yesterday is the day before in the zone that is configured."""
    from zoneinfo import ZoneInfo

    query = ask("orders yesterday", timezone=ZoneInfo("Pacific/Kiritimati")).query
    assert query is not None
    assert [each["value"] for each in to_document(query)["wheres"]] == ["2026-03-15", "2026-03-16"]


def test_hidden_columns_are_unknown():
    """What the asker may not see cannot be asked about."""
    made = generate(
        "customers with a credit limit over 1000",
        type(SHOP)((SHOP.models[0].without(["credit_limit"]),)),
        now=NOW,
    )
    assert made.query is None


def test_no_models():
    """Without any model every question is refused."""
    assert generate("how many orders", type(SHOP)(()), now=NOW).refused is not None


@pytest.mark.parametrize("question", ["", "   ", "x" * 3000])
def test_no_question(question):
    """An empty or endless question is refused."""
    assert ask(question).refused is not None


WORDS = st.sampled_from(
    (
        *("how many", "top 3", "highest", "average", "total", "price", "stock", "category", "per"),
        *("orders", "customers", "products", "by", "each", "sorted by", "descending", "not", "or"),
        *("without", "and", "Germany", "Berlin", "Nike", "paid", "last month", "over 100", "'x%_'"),
        *("contains", "with", "name", "different", "most", "newest", "in", "of", "active", "note"),
        *(
            "每个",
            "订单",
            "最高",
            "评分",
            "的",
            "数量",
            "总额",
            "is_active",
            "monthly",
            "between 1 and 2",
        ),
    )
)


@settings(max_examples=60, deadline=None)
@given(st.lists(WORDS, max_size=8).map(" ".join) | st.text(max_size=60))
def test_any_question(question):
    """Any text gives a query that compiles, runs and can be written down, or a refusal."""
    made = ask(question)
    assert (made.query is None) != (made.refused is None)
    if made.query is not None:
        assert parse(to_document(made.query)) == made.query
        shop().rows(made.query)
