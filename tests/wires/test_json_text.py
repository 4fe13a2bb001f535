"""Citations in answers that are JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.wires.json_text import JsonStrings, finder

URLS = ["https://a.example/x", "https://b.example/y"]


def test_what_is_blanked_moves_no_offset() -> None:
    """Lengths and lines stay; what stands in strings stays, without its escapes."""
    text = '{"a": "x\\n[1]",\n "b": [1,\n2]}'
    out = JsonStrings().feed(text)
    assert len(out) == len(text)
    assert out.index("[1]") == text.index("[1]")
    assert out.count("\n") == text.count("\n")
    assert "1,\n2" not in out


@pytest.mark.parametrize("text", ["see [1]", '  Sure: {"a": [1]}', "", "1"])
def test_prose_is_not_blanked(text: str) -> None:
    """A model that did not do as it was told is read as prose."""
    assert JsonStrings().feed(text) == text


@given(
    tree=st.recursive(
        st.text(alphabet='[]12 "\\n{}', max_size=8) | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=8,
    ).filter(lambda tree: isinstance(tree, (list, dict))),
    size=st.integers(1, 9),
)
def test_cuts_change_nothing(tree: object, size: int) -> None:
    """What is blanked does not depend on how the text was cut."""
    text = json.dumps(tree)
    strings = JsonStrings()
    pieces = [strings.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert "".join(pieces) == JsonStrings().feed(text)
    assert len("".join(pieces)) == len(text)


@pytest.mark.parametrize("as_json", [True, False])
def test_a_list_is_no_citation(as_json: bool) -> None:
    """Only a marker or URL in a string cites; read as prose, the list does too."""
    text = '{"ids": [1], "said": "as [2] says", "url": "https://a.example/x"}'
    finding = finder(URLS, as_json=as_json)
    found = finding.feed(text) + finding.finish()
    assert [each.source for each in found] == ([1, 0] if as_json else [0, 1, 0])
    assert all(text[each.start : each.end] for each in found)
