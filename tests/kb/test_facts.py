"""A model's answer read as facts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.errors import DelegateError
from refdesk.kb.facts import read_facts
from refdesk.store.graph import EntityFact, RelationFact

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


def test_our_form() -> None:
    """Entities and relations are read as the schema has them."""
    facts = read_facts(
        {
            "entities": [
                {"name": " Ann  Lee ", "type": "Person", "description": "A pilot."},
                {"name": "Berlin", "type": "Location"},
            ],
            "relations": [{"subject": "ann lee", "predicate": "lives in", "object": "Berlin"}],
        }
    )
    assert facts.entities == (
        EntityFact(name="Ann Lee", type="Person", description="A pilot."),
        EntityFact(name="Berlin", type="Location"),
    )
    assert facts.relations == (
        RelationFact(subject="Ann Lee", predicate="lives in", object="Berlin"),
    )


def test_other_form() -> None:
    """Relationships between ids, as other tools write them, are understood."""
    facts = read_facts(
        {
            "entities": [
                {"id": "e1", "name": "Ann", "type": "Person", "properties": {"description": "x"}},
                {"id": 2, "name": "Acme", "type": "Org"},
            ],
            "relationships": [{"source": "e1", "target": 2, "type": "WORKS_AT"}],
        }
    )
    assert facts.relations == (RelationFact(subject="Ann", predicate="WORKS_AT", object="Acme"),)
    assert facts.entities[0].description == "x"


def test_parts_that_are_wrong() -> None:
    """Rows without a name, links to what is not named, and repeated ones are left out."""
    facts = read_facts(
        {
            "entities": [{"name": ""}, "Ann", None, {"name": "Ann"}, {"name": "ANN"}],
            "relations": [
                {"subject": "Ann", "predicate": "knows", "object": "Bob"},
                {"subject": "Ann", "predicate": "is", "object": "Ann"},
                {"subject": "Ann"},
                7,
            ],
        }
    )
    assert facts.entities == (EntityFact(name="Ann"),)
    assert facts.relations == ()


@pytest.mark.parametrize("answer", [None, "Ann", [], {}, {"entities": "Ann"}])
def test_no_answer(answer: Any) -> None:
    """What has no list of entities is no answer; the error shows what one looks like."""
    with pytest.raises(DelegateError, match="has no entities; it should be"):
        read_facts(answer)


@settings(max_examples=50)
@given(JSON, JSON)
def test_any_rows(entities: Any, relations: Any) -> None:
    """Whatever the rows are, what comes out has names, and links what is named."""
    answer = {"entities": [entities, {"name": "Ann"}], "relations": [relations]}
    facts = read_facts(answer)
    names = {entity.name for entity in facts.entities}
    assert all(names)
    assert all({each.subject, each.object} <= names for each in facts.relations)
