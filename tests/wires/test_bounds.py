"""What a body may hold, whatever its bytes look like."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.errors import WireError
from refdesk.wires.bounds import MAX_DIGITS, MAX_KEY_CHARS, MAX_KEYS, MAX_VALUES, check_bounds
from refdesk.wires.document import Document

MANY_DIGITS = b"7" * (MAX_DIGITS + 1)
TOO_MANY = MAX_VALUES + 1


def body(value: bytes) -> bytes:
    return b'{"model":"m","messages":' + value + b"}"


@pytest.mark.parametrize(
    "number",
    [
        MANY_DIGITS,
        b"-" + MANY_DIGITS,
        b"0." + MANY_DIGITS,
        b"1e" + MANY_DIGITS,
        b'["' + b"8" * 9_000 + b'", ' + MANY_DIGITS + b"]",
        b'["a \\" b \\\\", ' + MANY_DIGITS + b"]",
        b" " * 2_149 + MANY_DIGITS,
    ],
)
def test_a_number_of_too_many_digits_is_refused(number: bytes) -> None:
    """However it is written, and whatever stands before it."""
    with pytest.raises(WireError, match="a number has more than 4300 digits"):
        Document.read(body(number))


@pytest.mark.parametrize(
    "text",
    [
        MANY_DIGITS,
        b'\\"' + MANY_DIGITS,
        b": " + MANY_DIGITS,
        b"\\\\" * 3 + MANY_DIGITS,
        MANY_DIGITS + b" " + MANY_DIGITS,
    ],
)
def test_digits_in_a_text_are_text(text: bytes) -> None:
    """A user may send a long number in words; only a number as a value is refused."""
    sent = body(b'[{"role":"user","content":"' + text + b'"}]')

    assert bytes(Document.read(sent)) == sent


def test_digits_up_to_the_bound_pass() -> None:
    """4,300 digits are a number, and so are many such numbers."""
    sent = body(b"[" + b",".join([MANY_DIGITS[1:]] * 50) + b"]")

    assert bytes(Document.read(sent)) == sent


@pytest.mark.parametrize(
    "value",
    [
        b"[" + b"1," * TOO_MANY + b"1]",
        b"[" + b'"a",' * TOO_MANY + b"1]",
        b"[" + b"{}," * (TOO_MANY // 2 + 1) + b"1]",
        b"[" + b"[[[]]]," * (TOO_MANY // 4 + 1) + b"1]",
        b"[" + b'{"a":1},' * (TOO_MANY // 2 + 1) + b"1]",
        b"[" + b'{"role":"user","content":"x, y"},' * (TOO_MANY // 3 + 1) + b"1]",
        b"[" + b'"a" , \n' * TOO_MANY + b"1]",
    ],
)
def test_too_many_values_are_refused(value: bytes) -> None:
    """Numbers, texts, objects and arrays count alike."""
    with pytest.raises(WireError, match=r"the body has more than 1,000,000 values"):
        Document.read(body(value))


def test_what_stands_in_a_text_is_no_value() -> None:
    """Commas, brackets and quotes of a long text are not counted."""
    text = json.dumps('{"a": [1, 2], "b\\\\": "c"}, ' * 60_000)
    sent = body(f'[{{"role":"user","content":{text}}}]'.encode())

    assert bytes(Document.read(sent)) == sent


@pytest.mark.parametrize("between", [b":", b" : ", b"\t:\n", b"\n:"])
def test_an_object_of_too_many_keys_is_refused(between: bytes) -> None:
    """At any depth, whatever white space stands around the colons."""
    members = b",".join(b'"%d"%b1' % (n, between) for n in range(MAX_KEYS + 1))

    with pytest.raises(WireError, match="an object has more than 20,000 keys"):
        Document.read(body(b'[{"deep":{' + members + b"}}]"))


def test_many_objects_of_some_keys_pass() -> None:
    """The bound is one object's: a long conversation has more keys in all."""
    turns = b",".join([b'{"role":"user","content":"hi"}'] * 15_000)
    sent = body(b"[" + turns + b"]")

    assert bytes(Document.read(sent)) == sent


def test_a_key_of_too_many_characters_is_refused() -> None:
    """No field has such a name."""
    with pytest.raises(WireError, match="a key of the body has more than 65,536 characters"):
        Document.read(b'{"model":"m","' + b"k" * (MAX_KEY_CHARS + 1) + b'":1}')


@pytest.mark.parametrize(
    "broken",
    [
        b"]" * 1_000_000,
        b'"' * 1_000_001,
        b'{"a":' * 200_000,
        b'"a":' * 300_000,
        b"[" + b'"\\' * 500_000,
        b"{" + b"," * 150_000 + b'"\\',
        b"1" * 100_000 + b'"',
    ],
)
def test_what_is_not_json_is_refused_all_the_same(broken: bytes) -> None:
    """Counting ends on any bytes; what it passes, the parser refuses."""
    with pytest.raises(WireError):
        Document.read(broken)


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(tree=st.dictionaries(st.text(max_size=6), trees, max_size=6), times=st.integers(1, 3))
@settings(max_examples=60)
def test_what_is_within_the_bounds_passes(tree: dict[str, Any], times: int) -> None:
    """A long text beside any values changes nothing about them."""
    text = 'a, "b": [1], \\ ' * 20_000 * times

    check_bounds(json.dumps({**tree, "text": text}).encode())
    check_bounds(json.dumps({"text": text, **tree}, ensure_ascii=False).encode())
