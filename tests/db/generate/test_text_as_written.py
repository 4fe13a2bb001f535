"""What a question says of text means itself: the signs of a pattern are none."""

from __future__ import annotations

import pytest

from db.generate.more import check, databases


def _like(column: str, pattern: str) -> str:
    return f"SELECT id FROM products WHERE {column} LIKE '{pattern}' ESCAPE '!'"


ASKED = [
    ("market", "products whose name contains A_1", _like("name", "%A!_1%")),
    ("market", "products whose name contains '50%'", _like("name", "%50!%%")),
    ("market", "products whose sku starts with GL_", _like("sku", "GL!_%")),
    ("market", "products whose sku starts with GL_5", _like("sku", "GL!_5%")),
    ("market", "products whose name contains 50%", _like("name", "%50!%%")),
    ("market", "products whose name contains %", _like("name", "%!%%")),
    ("market", "products whose name starts with 100%", _like("name", "100!%%")),
    ("market", "products whose name ends with _1", _like("name", "%!_1")),
    ("market", "products whose sku contains '\\'", _like("sku", "%\\%")),
    ("market", "products with 'A_1' in the name", _like("name", "%A!_1%")),
    ("market", "products with A_1 in the name", _like("name", "%A!_1%")),
    ("market", "名称包含50%的产品", _like("name", "%50!%%")),
    ("market", "名称包含A_1的产品", _like("name", "%A!_1%")),
    ("market", "products whose sku contains GL-5", _like("sku", "%GL-5%")),
    ("market", "products whose name contains glue and price over 4",
     "SELECT id FROM products WHERE name LIKE '%glue%' AND price > 4"),
    ("market", "products whose name does not contain '50%'",
     "SELECT id FROM products WHERE name IS NULL OR name NOT LIKE '%50!%%' ESCAPE '!'"),
    ("library", "书名包含'三'的书", "SELECT title FROM books WHERE title LIKE '%三%'"),
    ("market", "customers whose name starts with A",
     "SELECT name FROM customers WHERE name LIKE 'A%'"),
    ("school", "students whose email contains '_x'",
     "SELECT id FROM students WHERE email LIKE '%!_x%' ESCAPE '!'"),
    ("school", "students whose email contains pia%",
     "SELECT id FROM students WHERE email LIKE '%pia!%%' ESCAPE '!'"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "question", "sql"), ASKED, ids=[each[1] for each in ASKED])
def test_signs_mean_themselves(name, question, sql):
    """The rows are those whose text has just what is written, quoted or not."""
    check(name, question, sql)


@pytest.mark.parametrize("question", ["orders containing 2 products", "orders including product 3"])
def test_a_number_of_things_is_no_text(question):
    """Rows that have so many others are not looked for by text."""
    assert databases()["market"].ask(question).query is None
