"""Names by their form: what the builtin takes for one, and what it links."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.kb.facts import MAX_PER_CHUNK, Facts
from refdesk.kb.names import PREDICATE, BuiltinExtractor, builtin_facts
from refdesk.store.graph import folded


def names(text: str) -> list[str]:
    """The names in a text."""
    return [entity.name for entity in builtin_facts(text).entities]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "The Eiffel Tower was built by Gustave Eiffel in Paris.",
            ["Eiffel Tower", "Gustave Eiffel", "Paris"],
        ),
        (
            "It was NASA that met the University of California.",
            ["NASA", "University of California"],
        ),
        ("Tourists love it. However, nobody knows.", []),
        ("Python 3.14's manager is Hugo van Kemenade.", ["Python 3.14", "Hugo van Kemenade"]),
        ("清华大学位于北京市海淀区。", ["清华大学", "北京市", "海淀区"]),
        ("《红楼梦》是一部小说。", ["红楼梦"]),
        ("Wir waren in Österreich, été à Paris.", ["Österreich", "Paris"]),
        ("", []),
        ("no names here at all", []),
    ],
)
def test_names(text: str, found: list[str]) -> None:
    """Names stand as they are written, less what only opens the sentence."""
    assert names(text) == found


def test_links() -> None:
    """Names of one sentence are linked in their order, those of two are not."""
    facts = builtin_facts("We saw Ann Lee meet Bob Ray and Cid Fox. Then Dan Poe left.")
    pairs = [(r.subject, r.predicate, r.object) for r in facts.relations]
    assert pairs == [("Ann Lee", PREDICATE, "Bob Ray"), ("Bob Ray", PREDICATE, "Cid Fox")]


async def test_extractor() -> None:
    """As an extractor it needs no model, and no list of types."""
    assert await BuiltinExtractor().extract("We met Ann Lee.", types=()) == builtin_facts(
        "We met Ann Lee."
    )


@settings(max_examples=50)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    """Whatever a text is, names are bounded, have no white space around them, and links hold."""
    facts = builtin_facts(text)
    assert isinstance(facts, Facts)
    assert len(facts.entities) <= MAX_PER_CHUNK
    known = {entity.name for entity in facts.entities}
    assert all(name == name.strip() and len(name) >= 2 for name in known)
    assert len({folded(name) for name in known}) == len(known)
    assert all({link.subject, link.object} <= known for link in facts.relations)
