"""A negation is true of rows without a value, and of rows without other rows."""

from __future__ import annotations

import pytest

from db.generate.more import check, databases

ASKED = [
    # A value of a column that may be empty.
    ("market", "how many customers are not gold",
     "SELECT count(*) FROM customers WHERE tier IS NULL OR tier <> 'gold'"),
    ("market", "orders that are not paid",
     "SELECT id FROM orders WHERE status IS NULL OR status <> 'paid'"),
    ("market", "不在Berlin的客户",
     "SELECT id FROM customers WHERE city IS NULL OR city <> 'Berlin'"),
    ("market", "customers not in Berlin or Hamburg",
     "SELECT id FROM customers WHERE city IS NULL OR city NOT IN ('Berlin', 'Hamburg')"),
    ("market", "customers whose city is not Berlin",
     "SELECT name FROM customers WHERE city IS NULL OR city <> 'Berlin'"),
    ("market", "customers whose tier is not 'gold'",
     "SELECT name FROM customers WHERE tier IS NULL OR tier <> 'gold'"),
    ("market", "orders other than paid and cancelled",
     "SELECT id FROM orders WHERE status IS NULL OR status NOT IN ('paid', 'cancelled')"),
    ("school", "students who are not in house red",
     "SELECT id FROM students WHERE house IS NULL OR house <> 'red'"),
    ("school", "how many teachers are not on the north campus",
     "SELECT count(*) FROM teachers WHERE campus IS NULL OR campus <> 'north'"),
    ("school", "courses except maths", "SELECT id FROM courses WHERE subject IS NOT 'maths'"),
    ("films", "studios that are not active", "SELECT id FROM studios WHERE state IS NOT 'active'"),
    # A flag that may be empty.
    ("market", "products that are not discontinued",
     "SELECT id FROM products WHERE discontinued IS NULL OR NOT discontinued"),
    ("school", "how many courses are not archived",
     "SELECT count(*) FROM courses WHERE archived IS NULL OR NOT archived"),
    # Text, and a number.
    ("market", "products whose name does not contain 'Glue'",
     "SELECT id FROM products WHERE name IS NULL OR name NOT LIKE '%Glue%'"),
    ("school", "students whose email does not start with 'mia'",
     "SELECT id FROM students WHERE email IS NULL OR email NOT LIKE 'mia%'"),
    ("school", "teachers with a salary other than 4100",
     "SELECT id FROM teachers WHERE salary IS NULL OR salary <> 4100"),
    # Of a row that belongs to another, or to none.
    ("market", "orders not from Berlin",
     ("SELECT o.id FROM orders o LEFT JOIN customers c ON c.id = o.customer_id"
     " WHERE c.city IS NOT 'Berlin'")),
    ("market", "orders of customers not in Berlin",
     ("SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id"
     " WHERE c.city IS NOT 'Berlin'")),
    ("school", "courses whose teacher is not Ida Moss",
     ("SELECT c.id FROM courses c LEFT JOIN teachers t ON t.id = c.teacher_id"
     " WHERE t.name IS NOT 'Ida Moss'")),
    # Of many rows: none of them is so.
    ("school", "students who have not taken Algebra",
     ("SELECT id FROM students WHERE id NOT IN (SELECT student_id FROM enrollments e"
     " JOIN courses c ON c.id = e.course_id WHERE c.title = 'Algebra')")),
    ("market", "customers without discontinued products",
     ("SELECT id FROM customers WHERE id NOT IN (SELECT o.customer_id FROM orders o"
     " JOIN order_items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id"
     " WHERE p.discontinued AND o.customer_id IS NOT NULL)")),
    ("clinic", "patients who have not had emergency visits",
     ("SELECT id FROM patients WHERE id NOT IN"
     " (SELECT patient_id FROM visits WHERE type = 'emergency')")),
    # Some of them are not so: they are named before.
    ("market", "customers with orders that are not paid",
     ("SELECT DISTINCT c.id FROM customers c JOIN orders o ON o.customer_id = c.id"
     " WHERE o.status IS NOT 'paid'")),
    # What was right before.
    ("market", "customers without a city", "SELECT id FROM customers WHERE city IS NULL"),
    ("market", "orders that are paid", "SELECT id FROM orders WHERE status = 'paid'"),
    ("market", "customers in Berlin or Hamburg",
     "SELECT id FROM customers WHERE city IN ('Berlin', 'Hamburg')"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "question", "sql"), ASKED, ids=[each[1] for each in ASKED])
def test_rows_without_a_value_are_not_so(name, question, sql):
    """The rows are those of which the negated sentence is true, with a value or without."""
    check(name, question, sql)


@pytest.mark.parametrize(
    ("name", "question", "column"),
    [
        ("market", "orders not over 50", "amount"),
        ("market", "价格不超过4的产品", "price"),
        ("school", "teachers with a salary not above 4000", "salary"),
    ],
)
def test_a_negated_comparison_tells_what_it_leaves_out(name, question, column):
    """What is not over 50 has a value, or may have none; a notice says which was taken."""
    made = databases()[name].ask(question)
    assert made.query is not None, made.refused
    assert f"rows without a value in {column!r} are left out" in made.notices


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("market", "customers with not paid orders"),
        ("school", "students with not Algebra courses"),
        ("market", "orders not in November"),
        ("clinic", "patients not visited last month"),
    ],
)
def test_a_negation_with_two_readings_is_refused(name, question):
    """Where a negation may be of some rows or of all, or is of a time, there is no answer."""
    assert databases()[name].ask(question).query is None
