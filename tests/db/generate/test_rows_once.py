"""Each row counts once, however many rows of other tables belong to it."""

from __future__ import annotations

import pytest

from db.generate.more import check, databases

ASKED = [
    # A table in between names a pair twice.
    ("market", "total order amount per product",
     ("SELECT p.id, total(x.amount) FROM products p LEFT JOIN (SELECT DISTINCT i.product_id,"
     " o.id, o.amount FROM orders o JOIN order_items i ON i.order_id = o.id) x"
     " ON x.product_id = p.id GROUP BY p.id")),
    ("school", "total course fee per student",
     ("SELECT s.id, total(x.fee) FROM students s LEFT JOIN (SELECT DISTINCT e.student_id, c.id,"
     " c.fee FROM enrollments e JOIN courses c ON c.id = e.course_id) x ON x.student_id = s.id"
     " GROUP BY s.id")),
    ("market", "number of orders per product",
     ("SELECT p.id, count(DISTINCT i.order_id) FROM products p LEFT JOIN order_items i"
     " ON i.product_id = p.id GROUP BY p.id")),
    ("school", "number of students per course",
     ("SELECT c.id, count(DISTINCT e.student_id) FROM courses c LEFT JOIN enrollments e"
     " ON e.course_id = c.id GROUP BY c.id")),
    ("school", "total salary of teachers per student",
     ("SELECT s.id, total(x.salary) FROM students s LEFT JOIN (SELECT DISTINCT e.student_id, t.id,"
     " t.salary FROM enrollments e JOIN courses c ON c.id = e.course_id JOIN teachers t"
     " ON t.id = c.teacher_id) x ON x.student_id = s.id GROUP BY s.id")),
    # A table in between whose key is the pair.
    ("school", "total seats of rooms per course",
     ("SELECT c.id, total(r.seats) FROM courses c LEFT JOIN course_rooms x ON x.course_id = c.id"
     " LEFT JOIN rooms r ON r.id = x.room_id GROUP BY c.id")),
    # What is in between is added up itself.
    ("market", "total quantity per product",
     ("SELECT p.id, total(i.quantity) FROM products p LEFT JOIN order_items i"
     " ON i.product_id = p.id GROUP BY p.id")),
    # Without groups.
    ("market", "total amount of orders with a discontinued product",
     ("SELECT total(amount) FROM orders WHERE id IN (SELECT order_id FROM order_items i"
     " JOIN products p ON p.id = i.product_id WHERE p.discontinued)")),
    ("market", "how many customers have an order",
     "SELECT count(DISTINCT customer_id) FROM orders"),
    # A figure that has a name of its own.
    ("market", "total amount of orders", "SELECT sum(amount) FROM orders"),
    ("market", "total order amount", "SELECT sum(amount) FROM orders"),
    ("clinic", "total amount of bills", "SELECT sum(amount) FROM bills"),
    ("yard", "total amount of claims", "SELECT sum(amount) FROM claims"),
    ("market", "total number of orders", "SELECT count(*) FROM orders"),
    ("market", "sum of payments", "SELECT sum(paid) FROM payments"),
    ("yard", "total freight of trips", "SELECT sum(freight) FROM trips"),
    ("market", "Which status has the highest total amount?",
     "SELECT status FROM orders GROUP BY 1 ORDER BY sum(amount) DESC LIMIT 1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "question", "sql"), ASKED, ids=[each[1] for each in ASKED])
def test_each_row_counts_once(name, question, sql):
    """The figures are those of rows that count once."""
    check(name, question, sql)


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("market", "total amount of orders and total paid of payments per customer"),
        ("market", "number of orders and total paid per city"),
        ("market", "average amount of orders per product"),
        ("school", "average fee of courses per student"),
        ("school", "total fee of enrollments"),
        # No payment has an amount, and no product: only orders have.
        ("market", "total amount of payments"),
        ("market", "total amount of products"),
        ("market", "highest amount of payments"),
        ("market", "highest amount of payments of Berlin customers"),
        ("market", "orders without payments"),
        ("market", "number of payments per order"),
        ("school", "number of excursions per course"),
        # Each of two counted tables has the column that is grouped by.
        ("films", "number of people and number of studios per country"),
        # One for each is asked for, and not one of all.
        ("market", "customers with their latest order"),
        ("films", "members with their latest loan"),
        # A verb, and no column.
        ("market", "customers whose orders total more than 60"),
        ("market", "who paid the most"),
        # More than one thing is asked for, and one was understood.
        ("market", "orders and payments per customer"),
    ],
)
def test_what_would_count_twice_is_refused(name, question):
    """A figure that can only be had of repeated rows is none."""
    made = databases()[name].ask(question)
    assert made.query is None
    assert made.refused


@pytest.mark.parametrize(
    ("name", "question", "notice"),
    [
        ("market", "sum of payments", "'sum of payments' was taken for the sum of 'paid'"),
        ("market", "total payments", "'total payments' was taken for how many there are"),
        ("films", "total films", "'total films' was taken for how many there are"),
        ("market", "total order amount per product", "each row of 'orders' counts once in each"),
        ("firm", "total hours of employees", "'hours' was taken for 'hours' of 'assignments'"),
        ("clinic", "total fee of doctors", "'fee' was taken for 'fee' of 'visits'"),
    ],
)
def test_what_a_figure_was_taken_for_is_told(name, question, notice):
    """A figure that is of another table, or may be another one, comes with a notice."""
    made = databases()[name].ask(question)
    assert made.query is not None, made.refused
    assert notice in " ".join(made.notices)


@pytest.mark.parametrize(
    ("name", "question", "sql"),
    [
        ("market", "customers with orders over 60",
         "SELECT DISTINCT customer_id FROM orders WHERE amount > 60"),
        ("clinic", "visits of patients older than 80",
         ("SELECT v.id FROM visits v JOIN patients p ON p.id = v.patient_id"
         " WHERE p.birth_date <= '1945-03-15'")),
        ("firm", "departments with employees over 80000",
         "SELECT DISTINCT department_id FROM employees WHERE salary > 80000"),
    ],
)  # fmt: skip
def test_an_amount_is_of_what_stands_before_it(name, question, sql):
    """ "Customers with orders over 60": the orders are, whatever the customers have."""
    check(name, question, sql)
