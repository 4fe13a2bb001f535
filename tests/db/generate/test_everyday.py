"""Everyday ways to ask for a figure, for somebody, and for what a row refers to."""

from __future__ import annotations

import pytest

from db.generate.more import check, databases

ASKED = [
    # …是多少 after a figure.
    ("market", "订单金额的总和是多少", "SELECT sum(amount) FROM orders"),
    ("market", "订单总额是多少？", "SELECT sum(amount) FROM orders"),
    ("market", "平均价格是多少", "SELECT avg(price) FROM products"),
    ("market", "产品的最低价格是多少呢？", "SELECT min(price) FROM products"),
    ("market", "最高金额是多少", "SELECT max(amount) FROM orders"),
    ("market", "金额一共是多少", "SELECT sum(amount) FROM orders"),
    ("market", "平均订单金额是多少钱", "SELECT avg(amount) FROM orders"),
    ("market", "订单的平均金额和总金额分别是多少", "SELECT avg(amount), sum(amount) FROM orders"),
    ("market", "客户数是多少", "SELECT count(*) FROM customers"),
    ("market", "每个客户的订单数量是多少",
     "SELECT id, (SELECT count(*) FROM orders o WHERE o.customer_id = c.id) FROM customers c"),
    ("library", "科幻书的平均页数是多少", "SELECT avg(pages) FROM books WHERE genre = '科幻'"),
    ("library", "罚款总额是多少", "SELECT sum(fine) FROM loans"),
    ("yard", "2025年的运费总额是多少", "SELECT sum(freight) FROM trips WHERE left_on LIKE '2025%'"),
    ("yard", "司机的平均年龄是多少", "SELECT avg(age) FROM drivers"),
    # 一共有多少.
    ("market", "一共有多少订单", "SELECT count(*) FROM orders"),
    ("market", "总共有多少个客户？", "SELECT count(*) FROM customers"),
    ("market", "订单一共有多少", "SELECT count(*) FROM orders"),
    ("market", "每个城市一共有多少客户", "SELECT city, count(*) FROM customers GROUP BY 1"),
    ("library", "总共有多少本书", "SELECT count(*) FROM books"),
    ("yard", "武汉一共有多少司机", "SELECT count(*) FROM drivers WHERE city = '武汉'"),
    ("library", "一共有多少本小说", "SELECT count(*) FROM books WHERE genre = '小说'"),
    ("library", "每个城市的罚款总额是多少",
     ("SELECT city, total(fine) FROM members m LEFT JOIN loans l ON l.member_id = m.id"
     " GROUP BY 1")),
    # Who.
    ("firm", "Who has the highest salary?",
     "SELECT name FROM employees ORDER BY salary DESC LIMIT 1"),
    ("firm", "Who has the lowest salary in Research?", "SELECT 'Bo Lund'"),
    ("firm", "谁的工资最高", "SELECT name FROM employees ORDER BY salary DESC LIMIT 1"),
    ("clinic", "Who has the lowest rating?", "SELECT 'Klaus Berger'"),
    ("yard", "评分最高的是谁", "SELECT '李敏'"),
    ("school", "who has the highest salary", "SELECT 'Lea Sack'"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "question", "sql"), ASKED, ids=[each[1] for each in ASKED])
def test_everyday_questions(name, question, sql):
    """The rows are those of the SQL."""
    check(name, question, sql)


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("firm", "Who has the highest salary in each department?"),
        ("market", "Who has the highest amount?"),
        ("market", "产品多少钱"),
        ("market", "总共有多少"),
        ("yard", "司机的工资是多少"),
    ],
)
def test_half_an_everyday_question_is_refused(name, question):
    """Somebody for each group, nobody's name, and a figure of nothing have no answer."""
    assert databases()[name].ask(question).query is None


REFERS = [
    ("Which products have no supplier?", "SELECT id FROM product WHERE supplier_id IS NULL"),
    ("products without a warehouse", "SELECT id FROM product WHERE warehouse_id IS NULL"),
    ("how many products have no brand", "SELECT count(*) FROM product WHERE brand_id IS NULL"),
    ("没有供应商的产品", "SELECT id FROM product WHERE supplier_id IS NULL"),
    ("products with a vendor", "SELECT id FROM product WHERE supplier_id IS NOT NULL"),
    ("products of supplier 1", "SELECT id FROM product WHERE supplier_id = 1"),
    ("how many products per supplier", "SELECT supplier_id, count(*) FROM product GROUP BY 1"),
    ("Which supplier has the most products?", "SELECT 1"),
]


@pytest.mark.parametrize(("question", "sql"), REFERS, ids=[each[0] for each in REFERS])
def test_a_reference_to_what_is_not_in_sight(question, sql):
    """Where only the product may be asked about, its column tells of a supplier; so is told."""
    store = databases()["store"]
    made = store.ask(question, store.models.only(["product"]))
    assert made.query is not None, made.refused
    rows = store.rows(made.query)
    wanted = store.rows(sql)
    assert sorted(map(str, (row[0] for row in rows))) == sorted(str(row[0]) for row in wanted)
    assert "are not among the tables that may be asked about" in " ".join(made.notices)


@pytest.mark.parametrize("question", ["average supplier", "the highest supplier", "total brands"])
def test_a_reference_is_no_amount(question):
    """What only tells rows apart is neither added up nor compared."""
    store = databases()["store"]
    assert store.ask(question, store.models.only(["product"])).query is None


def test_a_table_in_sight_is_meant_itself():
    """Where suppliers may be asked about, those without any product are among them."""
    sql = (
        "SELECT s.id, count(p.id) FROM suppliers s LEFT JOIN product p ON p.supplier_id = s.id"
        " GROUP BY s.id"
    )
    assert check("store", "how many products per supplier", sql).notices == ()


@pytest.mark.parametrize(
    ("name", "question", "held"),
    [
        ("market", "最受欢迎的产品", "products (id, name, sku, price, discontinued)"),
        ("library", "天气怎么样", "书 books (id, 书名 title, 作者 author"),
        ("library", "删除所有会员", "会员 members (id, 姓名 name, 城市 city"),
        ("firm", "employees who sing", "departments (id, name, city, budget)"),
    ],
)
def test_a_refusal_says_what_may_be_asked(name, question, held):
    """The tables and columns in sight are named, by their labels where they have some."""
    made = databases()[name].ask(question)
    assert made.refused is not None
    assert held in made.refused
