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
    ("What is the average salary for each gender and department?",
     ("SELECT e.gender, d.name, avg(e.salary) FROM employees e JOIN departments d"
     " ON d.id = e.department_id GROUP BY 1, d.id")),
    ("Which departments have more than 1 remote employee?",
     ("SELECT d.name FROM employees e JOIN departments d ON d.id = e.department_id"
     " WHERE e.is_remote GROUP BY d.id HAVING count(*) > 1")),
    ("How many hours were worked on each project by engineers?",
     ("SELECT p.title, total(a.hours) FROM projects p LEFT JOIN assignments a"
     " ON p.id = a.project_id AND a.employee_id IN"
     " (SELECT id FROM employees WHERE job_title = 'engineer') GROUP BY p.id")),
    ("What are the most common job titles?",
     "SELECT job_title, count(*) FROM employees GROUP BY 1 ORDER BY 2 DESC"),
    ("employees without a department", "SELECT id FROM employees WHERE department_id IS NULL"),
]  # fmt: skip
LIBRARY = [
    ("Which genre has the most copies?",
     "SELECT genre FROM books GROUP BY genre ORDER BY sum(copies) DESC LIMIT 1"),
    ("哪种体裁的书最多？", "SELECT genre FROM books GROUP BY genre ORDER BY count(*) DESC LIMIT 1"),
    ("loans without a fine", "SELECT id FROM loans WHERE fine IS NULL OR fine = 0"),
    ("归还日期晚于应还日期的借阅", "SELECT id FROM loans WHERE returned_on > due_on"),
    ("未归还的借阅占全部借阅的百分比",
     "SELECT 100.0 * sum(returned_on IS NULL) / count(*) FROM loans"),
    ("每个城市的学生会员数量",
     "SELECT city, count(*) FROM members WHERE is_student GROUP BY city"),
    ("北京会员借阅的科幻书",
     ("SELECT DISTINCT b.title FROM books b JOIN loans l ON l.book_id = b.id"
     " JOIN members m ON m.id = l.member_id WHERE m.city = '北京' AND b.genre = '科幻'")),
    ("loans due next week",
     "SELECT id FROM loans WHERE due_on >= '2026-03-16' AND due_on < '2026-03-23'"),
]  # fmt: skip
SHOP_QUESTIONS = [
    ("top 3 customers by revenue",
     ("SELECT c.name, sum(o.total) FROM orders o JOIN customers c ON c.id = o.customer_id"
     " GROUP BY c.id ORDER BY 2 DESC LIMIT 3")),
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
    ("products that cost less than the average price",
     "SELECT id FROM products WHERE price < (SELECT avg(price) FROM products)"),
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


@pytest.mark.parametrize(("question", "sql"), LIBRARY, ids=[each[0] for each in LIBRARY])
def test_library(question, sql):
    """The rows are those of the SQL."""
    database = databases()["library"]
    made = database.ask(question)
    assert made.query is not None, made.refused
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
        "average salary over 100",
        "Which departments have only finished projects?",
        "departments whose budget is higher than their projects",
        "employees who joined and left last year",
    ],
)
def test_firm_refuses(question):
    """Where one reading is not plain, there is none."""
    assert databases()["firm"].ask(question).query is None


@pytest.mark.parametrize(
    "question",
    [
        "How many customers are there in Germany and how many in France?",
        "orders with more than 3 products",
        "How many orders does an average customer place?",
        "customers who bought Nike products but not Adidas",
        "orders delivered last month",
        "average price and colour of products",
    ],
)
def test_shop_refuses(question):
    """Two figures in one, what no row can have, and what no column holds have no answer."""
    assert ask(question).query is None


def test_what_is_assumed_is_told():
    """A unit that is not said, and a condition that may hold for both sides, are in a notice."""
    firm = databases()["firm"]
    assert firm.ask("average duration of projects").notices == ("'duration' was taken in days",)
    shared = firm.ask("What percentage of projects are active that started in 2025?")
    assert "'in 2025' was taken to hold for the whole as well" in shared.notices
