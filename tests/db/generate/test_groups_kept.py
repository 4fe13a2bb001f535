"""A group stays though nothing belongs to it, and two figures do not multiply each other."""

from __future__ import annotations

import pytest

from db.generate.more import check, databases

ASKED = [
    # A figure for each of what is named first.
    ("market", "customers with their number of payments",
     "SELECT id, (SELECT count(*) FROM payments p WHERE p.customer_id = c.id) FROM customers c"),
    ("market", "customers and their total order amount",
     ("SELECT id, (SELECT total(amount) FROM orders o WHERE o.customer_id = c.id)"
     " FROM customers c")),
    ("market", "customer names with number of orders",
     "SELECT name, (SELECT count(*) FROM orders o WHERE o.customer_id = c.id) FROM customers c"),
    ("market", "客户及其付款数量",
     "SELECT id, (SELECT count(*) FROM payments p WHERE p.customer_id = c.id) FROM customers c"),
    ("market", "customers in Berlin with their number of orders",
     ("SELECT id, (SELECT count(*) FROM orders o WHERE o.customer_id = c.id) FROM customers c"
     " WHERE city = 'Berlin'")),
    ("firm", "departments and their total budget of projects",
     ("SELECT id, (SELECT total(budget) FROM projects p WHERE p.department_id = d.id)"
     " FROM departments d")),
    ("school", "teachers with their number of courses",
     "SELECT id, (SELECT count(*) FROM courses c WHERE c.teacher_id = t.id) FROM teachers t"),
    ("library", "会员和他们的罚款总额",
     "SELECT id, (SELECT total(fine) FROM loans l WHERE l.member_id = m.id) FROM members m"),
    ("firm", "departments, number of employees",
     "SELECT department_id, count(*) FROM employees GROUP BY 1"),
    ("firm", "departments with average salary",
     ("SELECT id, (SELECT avg(salary) FROM employees e WHERE e.department_id = d.id)"
     " FROM departments d")),
    # Two figures that have nothing to do with each other.
    ("market", "number of orders and number of payments per city",
     ("SELECT city, count(DISTINCT o.id), count(DISTINCT p.id) FROM customers c LEFT JOIN orders o"
     " ON o.customer_id = c.id LEFT JOIN payments p ON p.customer_id = c.id GROUP BY city")),
    ("school", "number of courses and number of excursions per teacher",
     ("SELECT id, (SELECT count(*) FROM courses c WHERE c.teacher_id = t.id),"
     " (SELECT count(*) FROM excursions x WHERE x.teacher_id = t.id) FROM teachers t")),
    ("firm", "How many employees and how many projects per department?",
     ("SELECT id, (SELECT count(*) FROM employees e WHERE e.department_id = d.id),"
     " (SELECT count(*) FROM projects p WHERE p.department_id = d.id) FROM departments d")),
    ("library", "每个城市的会员数和借阅次数",
     ("SELECT city, count(DISTINCT m.id), count(DISTINCT l.id) FROM members m LEFT JOIN loans l"
     " ON l.member_id = m.id GROUP BY 1")),
    # What limits the counted rows does not limit the groups.
    ("market", "number of paid orders per customer",
     ("SELECT id, (SELECT count(*) FROM orders o WHERE o.customer_id = c.id AND status = 'paid')"
     " FROM customers c")),
    ("market", "number of orders per city since November 2025",
     ("SELECT city, count(o.id) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id"
     " AND ordered_on >= '2025-11-01' GROUP BY city")),
    ("clinic", "number of cancelled visits per doctor in 2025",
     ("SELECT id, (SELECT count(*) FROM visits v WHERE v.doctor_id = d.id AND state = 'cancelled'"
     " AND visited_on LIKE '2025%') FROM doctors d")),
    ("clinic", "number of visits of female patients per doctor",
     ("SELECT id, (SELECT count(*) FROM visits v JOIN patients p ON p.id = v.patient_id"
     " WHERE v.doctor_id = d.id AND p.sex = 'female') FROM doctors d")),
    # What limits the groups does.
    ("market", "number of orders per customer in Berlin",
     ("SELECT id, (SELECT count(*) FROM orders o WHERE o.customer_id = c.id) FROM customers c"
     " WHERE city = 'Berlin'")),
    # The fewest may be none.
    ("market", "customers with fewer than 2 payments",
     ("SELECT c.id FROM customers c LEFT JOIN payments p ON p.customer_id = c.id GROUP BY c.id"
     " HAVING count(p.id) < 2")),
    ("school", "teacher with the fewest courses", "SELECT 4"),
    ("school", "teachers sorted by number of excursions",
     ("SELECT t.id, count(x.id) FROM teachers t LEFT JOIN excursions x ON x.teacher_id = t.id"
     " GROUP BY t.id ORDER BY 2")),
    # Rows that belong to nothing are shown all the same.
    ("school", "courses and their teachers",
     "SELECT c.title, t.name FROM courses c LEFT JOIN teachers t ON t.id = c.teacher_id"),
    # Which have some: those without any are not asked for.
    ("firm", "which departments have projects, and how many",
     "SELECT department_id, count(*) FROM projects GROUP BY 1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "question", "sql"), ASKED, ids=[each[1] for each in ASKED])
def test_every_group_is_there(name, question, sql):
    """The groups are those of the SQL, with nothing where nothing belongs to them."""
    check(name, question, sql)


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("Which city has the most customers?", "SELECT 1"),
        ("most common tier", "SELECT tier FROM customers WHERE tier = 'gold' LIMIT 1"),
        ("top 3 cities by number of orders",
         ("SELECT city, count(o.id) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id"
         " WHERE city IS NOT NULL GROUP BY 1")),
    ],
)  # fmt: skip
def test_no_value_is_no_winner(question, sql):
    """Rows without a value are no city and no tier, where one is asked for."""
    check("market", question, sql)


def test_a_condition_on_one_of_two_figures_is_told():
    """Where a time limits one figure and not the other, a notice says which."""
    made = databases()["market"].ask(
        "number of orders and number of payments per city since November 2025"
    )
    assert made.query is not None
    assert made.notices == ("the condition on 'ordered_on' was taken to hold for 'orders' only",)


def test_groups_without_an_average_are_told():
    """A value of another table that nothing belongs to has no average, and a notice says so."""
    made = databases()["market"].ask("average amount of orders per city")
    assert made.query is not None
    assert made.notices == ("groups without any row of 'orders' are left out",)
