"""Ratios, shares, lengths of time, groups and what rows lack, against SQL that says the same."""

from __future__ import annotations

import pytest

from db.generate.more import databases
from db.generate.shop import holds
from db.generate.test_builtin import ask, shop
from refdesk.db.dsl.parse import parse
from refdesk.db.dsl.write import to_document

FIRM = [
    (
        "Which departments have an average salary above 60000?",
        ("SELECT d.name, avg(e.salary) FROM employees e JOIN departments d"
        " ON d.id = e.department_id GROUP BY d.id HAVING avg(e.salary) > 60000"),
    ),
    (
        "What percentage of projects are active in each department?",
        ("SELECT d.name, 100.0 * sum(p.status = 'active') / count(*) FROM projects p"
        " JOIN departments d ON d.id = p.department_id GROUP BY d.id"),
    ),
    (
        "What is the ratio of active projects to finished projects in each department?",
        ("SELECT d.name, 1.0 * sum(p.status = 'active') / nullif(sum(p.status = 'finished'), 0)"
        " FROM projects p JOIN departments d ON d.id = p.department_id GROUP BY d.id"),
    ),
    (
        "Which project has the longest duration?",
        ("SELECT title FROM projects ORDER BY julianday(end_date) - julianday(start_date) DESC"
        " LIMIT 1"),
    ),
    (
        "projects that lasted more than 200 days",
        "SELECT title FROM projects WHERE julianday(end_date) - julianday(start_date) > 200",
    ),
    (
        "What is the average number of employees per department?",
        "SELECT count(*) * 1.0 / count(DISTINCT department_id) FROM employees",
    ),
    (
        "average budget of projects by status and department",
        ("SELECT p.status, d.name, avg(p.budget) FROM projects p JOIN departments d"
        " ON d.id = p.department_id GROUP BY p.status, d.id"),
    ),
    (
        "How many female engineers were hired after 2018?",
        ("SELECT count(*) FROM employees WHERE gender = 'female' AND job_title = 'engineer'"
        " AND hire_date >= '2019-01-01'"),
    ),
    ("Which manager has the highest salary?",
     "SELECT name FROM employees WHERE job_title = 'manager' ORDER BY salary DESC LIMIT 1"),
    ("employees with a salary above average",
     "SELECT name FROM employees WHERE salary > (SELECT avg(salary) FROM employees)"),
    ("List all employees and their departments",
     "SELECT e.name, d.name FROM employees e JOIN departments d ON d.id = e.department_id"),
    ("employees without a department", "SELECT id FROM employees WHERE department_id IS NULL"),
]  # fmt: skip
SHOP_QUESTIONS = [
    ("percentage of orders that were cancelled",
     "SELECT 100.0 * sum(status = 'cancelled') / count(*) FROM orders"),
    ("cancelled orders as a percentage of all orders",
     "SELECT 100.0 * sum(status = 'cancelled') / count(*) FROM orders"),
    ("What percentage of orders were paid by card?",
     "SELECT 100.0 * sum(payment_method = 'card') / count(*) FROM orders"),
    ("What is the ratio of orders to customers?",
     "SELECT (SELECT count(*) FROM orders) * 1.0 / (SELECT count(*) FROM customers)"),
    ("Which products have never been ordered?",
     "SELECT id FROM products WHERE id NOT IN (SELECT product_id FROM orders)"),
    ("How many customers have no cancelled orders?",
     ("SELECT count(*) FROM customers WHERE id NOT IN"
     " (SELECT customer_id FROM orders WHERE status = 'cancelled')")),
    ("monthly revenue for 2025",
     ("SELECT strftime('%m', ordered_at) + 0, sum(total) FROM orders"
     " WHERE ordered_at >= '2025-01-01' AND ordered_at < '2026-01-01' GROUP BY 1")),
    ("How many orders were placed on weekends?",
     "SELECT count(*) FROM orders WHERE strftime('%w', ordered_at) IN ('0', '6')"),
    ("products with a price higher than their rating",
     "SELECT id FROM products WHERE price > rating"),
    ("average price of products rounded to 1 decimal place",
     "SELECT round(avg(price), 1) FROM products"),
    ("How does the average price vary across brands?",
     "SELECT brand, avg(price) FROM products GROUP BY brand"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "sql"), FIRM, ids=[each[0] for each in FIRM])
def test_firm(question, sql):
    """The rows are those of the SQL."""
    database = databases()["firm"]
    made = database.ask(question)
    assert made.query is not None, made.refused
    assert parse(to_document(made.query)) == made.query
    assert holds(database.rows(made.query), database.rows(sql), ordered=False)


@pytest.mark.parametrize(
    ("question", "sql"), SHOP_QUESTIONS, ids=[each[0] for each in SHOP_QUESTIONS]
)
def test_shop(question, sql):
    """The rows are those of the SQL."""
    made = ask(question)
    assert made.query is not None, made.refused
    assert parse(to_document(made.query)) == made.query
    assert holds(shop().rows(made.query), shop().rows(sql), ordered=False)


@pytest.mark.parametrize(
    "question",
    [
        "Which employee has the highest salary in each department?",
        "employees hired within a month of",
        "projects that took more than 30 apples",
        "What is the ratio of budget to happiness?",
        "What percentage of employees?",
        "What is the total budget of departments with employees earning over 50000?",
        "How many projects does each department have, and what is their average budget?",
        "Which department has the budget?",
        "employees who joined and left last year",
    ],
)
def test_firm_refuses(question):
    """Where one reading is not plain, there is none."""
    assert databases()["firm"].ask(question).query is None


def test_what_is_assumed_is_told():
    """A unit that is not said, and a condition that may hold for both sides, are in a notice."""
    firm = databases()["firm"]
    assert firm.ask("average duration of projects").notices == ("'duration' was taken in days",)
    shared = firm.ask("What percentage of projects are active that started in 2025?")
    assert "'in 2025' was taken to hold for the whole as well" in shared.notices
