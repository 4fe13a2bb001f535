"""Names of tables and columns come apart into words, also where nothing parts them."""

from __future__ import annotations

import pytest

from refdesk.db.generate.identifiers import Names
from refdesk.db.schema import Column, Model, ModelSet


def _words(table: str, *columns: str) -> list[tuple[str, ...]]:
    model = Model(
        id=table, table=table, columns=tuple(Column(name=each, type="text") for each in columns)
    )
    names = Names(ModelSet((model,)))
    return [names.column(table, each) for each in columns]


@pytest.mark.parametrize(
    ("table", "columns", "words"),
    [
        ("orders", ["order_date", "custId"], [("order", "date"), ("cust", "id")]),
        ("client", ["username", "postalcode"], [("user", "name"), ("postal", "code")]),
        (
            "sbcustomer",
            ["sbcustid", "sbcustname", "sbcustjoindate"],
            [("id",), ("name",), ("join", "date")],
        ),
        ("people", ["status", "salary", "nature"], [("status",), ("salary",), ("nature",)]),
        ("places", ["name", "nation", "nature"], [("name",), ("nation",), ("nature",)]),
    ],
)
def test_words(table, columns, words):
    """A name is cut only into words that names have; a shared beginning only before words."""
    assert _words(table, *columns) == words
