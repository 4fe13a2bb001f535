"""Which models belong together where a schema does not say so, and how they are joined."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refdesk.db.generate.identifiers import Names
from refdesk.db.generate.joins import Joins, NoWay
from refdesk.db.generate.relations import Ways
from refdesk.db.schema import Column, Model, ModelSet, Relation


def _model(name: str, columns: str, *relations: Relation) -> Model:
    """A model of columns such as ``id:integer*``, the star for the primary key."""
    found = []
    for each in columns.split():
        column, _, type_ = each.rstrip("*").partition(":")
        found.append(Column(name=column, type=type_ or "integer", primary=each.endswith("*")))
    return Model(id=name, table=name, columns=tuple(found), relations=relations)


def _ways(*models: Model) -> tuple[ModelSet, Ways]:
    known = ModelSet(models)
    return known, Ways(known, Names(known))


def _steps(ways: Ways, model: Model) -> list[tuple[str, str, str, bool]]:
    return [
        (step.relation.column, step.target.id, step.relation.foreign, step.many)
        for step in ways.of(model)
    ]


@pytest.mark.parametrize(
    ("one", "many", "step"),
    [
        ("author aid name:text", "book bid aid", ("aid", "author", "aid", False)),
        ("guest id name:text", "orders id guest_id", ("guest_id", "guest", "id", False)),
        ("paper paperid", "cite citingpaperid x", ("citingpaperid", "paper", "paperid", False)),
        ("term term_id year", "offer offer_id term", ("term", "term", "term_id", False)),
        ("airline airline_code:text", "flight flight_id airline_code:text",
         ("airline_code", "airline", "airline_code", False)),
    ],
)  # fmt: skip
def test_names_that_refer(one, many, step):
    """A column called like another model's key refers to it, and is followed both ways."""
    models = [_model(*each.split(" ", 1)) for each in (one, many)]
    _, ways = _ways(*models)
    assert step in _steps(ways, models[1])
    assert (step[2], models[1].id, step[0], True) in _steps(ways, models[0])


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("student student_id", "tags tag_id cares_for_students"),
        ("term term_id", "course course_id num_terms"),
        ("term term_id", "student student_id graduation_term:date"),
        ("fare fare_id", "ride ride_id ground_fare:text"),
    ],
)
def test_names_that_do_not_refer(one, many):
    """A count, another kind of value or a mere likeness is no relation."""
    models = [_model(*each.split(" ", 1)) for each in (one, many)]
    _, ways = _ways(*models)
    assert _steps(ways, models[1]) == []


def test_declared_relations_are_enough():
    """Between models that declare relations, names show nothing more."""
    customer = _model("customer", "id* name:text")
    orders = _model(
        "orders", "id* customer_id seller_customer_id",
        Relation(name="customer", model="customer", column="customer_id", foreign="id"),
    )  # fmt: skip
    _, ways = _ways(customer, orders)
    assert _steps(ways, orders) == [("customer_id", "customer", "id", False)]


AUTHOR = _model("author", "aid name:text")
WRITES = _model("writes", "aid pid")
PAPER = _model("paper", "pid title:text")
ABOUT = _model("about", "pid did")
KNOWS = _model("knows", "aid did")
DOMAIN = _model("domain", "did name:text")


def test_a_way_along_what_is_spoken_of():
    """Of two ways alike, the one through what the question names is meant."""
    _, ways = _ways(AUTHOR, WRITES, PAPER, ABOUT, KNOWS, DOMAIN)
    joins = Joins(subject=AUTHOR, ways=ways, mentions=(PAPER, DOMAIN))
    joins.connect(DOMAIN)
    assert list(joins.steps) == ["writes", "paper", "about", "domain"]


def test_two_ways_are_none():
    """Where nothing tells two ways apart there is none."""
    flight = _model("flight", "flight_id from_airport to_airport")
    airport = _model("airport", "airport_id name:text")
    _, ways = _ways(flight, airport)
    joins = Joins(subject=flight, ways=ways)
    assert joins.distance(airport) is None
    with pytest.raises(NoWay, match="no one way leads to 'airport'"):
        joins.connect(airport)


def test_rows_that_joins_repeat():
    """An author comes once for each paper; grouped by paper, once where no pair is named twice."""
    _, ways = _ways(AUTHOR, WRITES, PAPER)
    joins = Joins(subject=AUTHOR, ways=ways)
    joins.connect(PAPER)
    assert joins.repeats(AUTHOR)
    assert joins.repeats(PAPER)
    assert joins.repeats(AUTHOR, (PAPER,))  # nothing keeps a pair from standing there twice
    assert not joins.repeats(WRITES)


def test_a_primary_key_of_pairs_keeps_them_apart():
    """A table between two models that names each pair once repeats no row within a group."""
    pairs = replace(WRITES, columns=tuple(replace(c, primary=True) for c in WRITES.columns))
    _, ways = _ways(AUTHOR, pairs, PAPER)
    joins = Joins(subject=AUTHOR, ways=ways)
    joins.connect(PAPER)
    assert joins.repeats(AUTHOR)
    assert not joins.repeats(AUTHOR, (PAPER,))
    assert not joins.repeats(PAPER, (AUTHOR,))
