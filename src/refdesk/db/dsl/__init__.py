"""
The query language: typed values, a reader, a writer, a linter, and a compiler to SQLAlchemy.

Pure: nothing here asks a database or a clock.  Values are bound, names are looked up.
"""

from refdesk.db.dsl.compile import Compiled, compile, compile_whole, count_of  # noqa: A004
from refdesk.db.dsl.lint import lint
from refdesk.db.dsl.parse import parse, parse_conditions, parse_orders, parse_select
from refdesk.db.dsl.types import (
    Binary,
    Call,
    Case,
    Cast,
    Claim,
    Comparison,
    Condition,
    Constant,
    Diagnostic,
    Expression,
    Field,
    Group,
    GroupBy,
    Interval,
    Join,
    Order,
    Parameter,
    Position,
    Query,
    QueryError,
    Selected,
    Source,
    Star,
    SubQuery,
    When,
)
from refdesk.db.dsl.values import DIALECTS, Dialect, Statement
from refdesk.db.dsl.write import conditions_to_document, to_document

__all__ = [
    "DIALECTS",
    "Binary",
    "Call",
    "Case",
    "Cast",
    "Claim",
    "Comparison",
    "Compiled",
    "Condition",
    "Constant",
    "Diagnostic",
    "Dialect",
    "Expression",
    "Field",
    "Group",
    "GroupBy",
    "Interval",
    "Join",
    "Order",
    "Parameter",
    "Position",
    "Query",
    "QueryError",
    "Selected",
    "Source",
    "Star",
    "Statement",
    "SubQuery",
    "When",
    "compile",
    "compile_whole",
    "conditions_to_document",
    "count_of",
    "lint",
    "parse",
    "parse_conditions",
    "parse_orders",
    "parse_select",
    "to_document",
]
