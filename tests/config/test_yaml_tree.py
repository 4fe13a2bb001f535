"""YAML as plain values: what is refused, where it stands, and that nothing makes it fall over."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.config import yaml_tree


def told(text: str) -> list[str]:
    """Return the faults as ``line:column text``."""
    return [f"{f.line}:{f.column} {f.text}" for f in yaml_tree.parse(text).faults]


def test_values_and_places() -> None:
    """Scalars are read as YAML 1.2 has them, keys are text, and every key has its place."""
    tree = yaml_tree.parse("a: on\n4:\n  b: [0x10, 1_000, .5, ~, 'true', 2026-01-02]\n")
    assert tree.value == {"a": "on", "4": {"b": [16, 1000, 0.5, None, "true", "2026-01-02"]}}
    assert tree.places[("4", "b")] == (3, 3)
    assert tree.places[("4", "b", "2")] == (3, 20)
    assert not tree.faults


def test_empty_document() -> None:
    """Nothing but comments is no fault, and no value."""
    assert yaml_tree.parse("# nothing\n").value is None
    assert not told("")


def test_merge_keys() -> None:
    """A merged mapping gives way to what stands beside it."""
    tree = yaml_tree.parse("a: &a {x: 1, y: 2}\nb:\n  y: 3\n  <<: *a\n")
    assert tree.value["b"] == {"x": 1, "y": 3}
    assert not tree.faults


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: 1\n\tb: 2\n", "2:1 a tab, which cannot indent YAML; indent with spaces"),
        ("a: 1\nb: 2\na: 3\n", "3:1 stands here twice; the first is in line 1, keep one"),
        ("a: 1\n---\nb: 1\n", "2:1 a second document"),
        ("a: !!python/object:os.system x\n", "1:4 has the tag !!python/object:os.system"),
        ("a: !!python/object/apply:os.system [x]\n", "1:4 has the tag !!python/object/apply"),
        ("a: !!binary aGk=\n", "1:4 has the tag !!binary, which is not allowed"),
        ("a: &x [*x]\n", "1:4 is an alias of something that it is itself a part of"),
        ("? [a, b]\n: 1\n", "1:3 is a key that is no plain text"),
        ("a: *nope\n", "1:4 is no YAML: found undefined alias"),
        ("a: b\x00\n", "1:5 a character that YAML does not allow"),
        ("<<: 3\n", "1:5 << takes a mapping"),
        ("[" * 200, "1:62 is nested deeper"),
        ("[" * 70 + "]" * 70, "1:62 is nested deeper than 60 levels"),
        ("a: " + "9" * 5000, "1:4 is no number that can be read"),
    ],
)
def test_refused(text: str, fault: str) -> None:
    """Each fault has its place and its remedy."""
    assert any(one.startswith(fault) for one in told(text)), told(text)


def test_all_faults_of_a_document() -> None:
    """A readable document tells all its faults, not the first."""
    assert len(told("a: !x 1\na: 2\nb: !y 3\n")) == 3


def test_anchor_bomb() -> None:
    """Aliases that grow a thousandfold are stopped early, where the limit is passed."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    tree = yaml_tree.parse("\n".join(lines))
    assert tree.fatal
    assert "grows beyond 20000 values" in tree.faults[0].text
    assert len(tree.places) <= yaml_tree.MAX_NODES + 1


def test_too_long() -> None:
    """A text of more than a mebibyte is not parsed at all."""
    assert told("a: " + "x" * yaml_tree.MAX_BYTES)[0].startswith("1:1 is longer than")


def test_faults_hold_no_values() -> None:
    """What is told of a broken text does not repeat its lines, which may hold keys."""
    assert "SECRET" not in "".join(told("api_key: SECRET\n  other: SECRET: x\n"))


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="abc:-[]{}&*!#%@`'\"|>?,<\t\n 019.~\x00\u2028é", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text raises; places of faults are within the text."""
    tree = yaml_tree.parse(text)
    for fault in tree.faults:
        assert 1 <= fault.line <= text.count("\n") + text.count("\u2028") + 2
        assert fault.column >= 1


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text("abc xyz", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner),
    max_leaves=10,
)


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), PLAIN, max_size=4))
def test_json_is_yaml(value: dict[str, object]) -> None:
    """What JSON writes is read back the same, since YAML contains it."""
    import json

    tree = yaml_tree.parse(json.dumps(value))
    assert not tree.faults
    assert tree.value == value
