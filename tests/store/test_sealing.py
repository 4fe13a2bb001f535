"""Sealing."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.errors import StoreError
from refdesk.store.sealing import Sealer, StoreKey, key_id, token_key_id

OLD, NEW = b"o" * 32, b"n" * 32
SEALER = Sealer([OLD])


@settings(deadline=None)
@given(st.binary(max_size=2000), st.binary(max_size=40))
def test_round_trip(plaintext: bytes, purpose: bytes) -> None:
    """What was sealed comes back, for the same purpose and no other."""
    token = SEALER.seal(plaintext, purpose=purpose)
    assert token.startswith("rd1.")
    assert SEALER.open(token, purpose) == plaintext
    assert SEALER.open(token, purpose + b"x") is None


@settings(deadline=None)
@given(st.text(max_size=300) | st.text(max_size=300).map(lambda text: "rd1." + text))
def test_foreign_text(text: str) -> None:
    """Text that we did not make opens to nothing, and raises nothing."""
    assert SEALER.open(text, b"row") is None


@settings(deadline=None)
@given(st.data())
def test_damage(data: st.DataObject) -> None:
    """A token with any one character changed, cut or added opens to nothing."""
    token = SEALER.seal(b"some plaintext", purpose=b"row")
    place = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.characters().filter(lambda char: char != token[place]))
    damaged = data.draw(
        st.sampled_from([token[:place] + other + token[place + 1 :], token[:place], token + other])
    )
    opened = SEALER.open(damaged, b"row")
    # Two spellings of the last character may stand for the same bytes; nothing else may pass.
    assert opened is None or place == len(token) - 1


def test_rotation() -> None:
    """The first key seals, all of them open; a key that is gone opens nothing."""
    token = SEALER.seal(b"x", purpose=b"row")
    both = Sealer([NEW, OLD])
    assert both.open(token, b"row") == b"x"
    assert token_key_id(both.seal(b"x", purpose=b"row")) == key_id(NEW) == both.key_id
    assert Sealer([NEW]).open(token, b"row") is None


def test_marker() -> None:
    """The keyed hash repeats under one key and differs under another."""
    assert SEALER.mac(b"results") == Sealer([OLD]).mac(b"results")
    assert SEALER.mac(b"results") != Sealer([NEW]).mac(b"results")
    assert SEALER.mac(b"results") != SEALER.mac(b"other results")
    assert len(SEALER.mac(b"")) == 32


def test_nonces_differ() -> None:
    """The same text sealed twice looks different."""
    assert SEALER.seal(b"x", purpose=b"row") != SEALER.seal(b"x", purpose=b"row")


@pytest.mark.parametrize(
    "text",
    [
        OLD.hex(),
        OLD.hex().upper(),
        base64.b64encode(OLD).decode(),
        base64.urlsafe_b64encode(OLD).decode().rstrip("="),
        f"\n {OLD.hex()} \n",
    ],
)
def test_key_forms(text: str) -> None:
    """A key may be written as hex or base64 of either alphabet, with white space round it."""
    assert StoreKey.parse(text).keys == (OLD,)


def test_key_lists() -> None:
    """Several keys stand on lines, between commas, or in a list; the order is kept."""
    old, new = OLD.hex(), base64.b64encode(NEW).decode()
    for form in (f"{new}\n{old}\n", f"{new},{old}", [new, old]):
        assert StoreKey.parse(form).keys == (NEW, OLD)
    key = StoreKey(keys=(NEW, OLD))
    assert StoreKey.parse(key.text()) == key


@pytest.mark.parametrize("text", ["", "  \n", "short", "ü" * 43, "g" * 64, "ab" * 31, "A" * 60])
def test_wrong_keys(text: str) -> None:
    """What is no key is refused with a sentence that does not show it."""
    with pytest.raises(StoreError) as caught:
        StoreKey.parse(text)
    assert not text.strip() or text.strip() not in str(caught.value)


def test_wrong_second_key() -> None:
    """The message says which key of a list is wrong."""
    with pytest.raises(StoreError, match="number 2"):
        StoreKey.parse([OLD.hex(), "nonsense"])


def test_reprs_hide() -> None:
    """No repr shows a key."""
    for value in (StoreKey(keys=(OLD,)), SEALER):
        shown = repr(value)
        assert "oooo" not in shown
        assert OLD.hex() not in shown
        assert str(OLD) not in shown
