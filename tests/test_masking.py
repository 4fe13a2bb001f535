"""Credentials taken out of what peers say, in every form in which they are quoted."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.masking import MASK, Masker

KEY = "sk-Canary/51f0+c2aa&key=9"
FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in another case": str.upper,
    "percent-encoded": lambda key: quote(key, safe=""),
    "percent-encoded in lower case": lambda key: quote(key, safe="").lower(),
    "for a form": quote_plus,
    "percent-encoded twice": lambda key: quote(quote(key, safe=""), safe=""),
    "every byte percent-encoded": lambda key: "".join(f"%{byte:02X}" for byte in key.encode()),
    "in HTML": html.escape,
    "in HTML twice": lambda key: html.escape(html.escape(key)),
    "in numbers of HTML": lambda key: "".join(f"&#{ord(char)};" for char in key),
    "in JSON": lambda key: json.dumps(key).replace("/", "\\/").replace("&", "\\u0026"),
    "in JSON in JSON": lambda key: json.dumps(json.dumps(key).replace("&", "\\u0026")),
    "in hex": lambda key: key.encode().hex(),
    "in base64": lambda key: base64.b64encode(key.encode()).decode(),
    "in base64 for URLs": lambda key: base64.urlsafe_b64encode(key.encode()).decode(),
    "in base64 with a name": lambda key: base64.b64encode(f"me:{key}".encode()).decode(),
    "in base64 in between": lambda key: base64.b64encode(f"ab{key}xyz".encode()).decode(),
}
SECRETS = {
    "alone": KEY,
    "after a scheme": f"Bearer {KEY}",
    "after a name": f"token {KEY}",
    "among others": f"a=1234; session {KEY} ; b=2",
}


def longest_part(text: str, key: str) -> int:
    """How many characters of a key stand in a row in a text."""
    text, key = text.lower(), key.lower()
    return max(
        (size for size in range(len(key) + 1) for at in range(len(key) - size + 1)
         if key[at : at + size] in text),
        default=0,
    )  # fmt: skip


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_key_is_masked_in_any_form(form: Callable[[str], str], secret: str) -> None:
    """Whatever a header held besides, the key alone is found, quoted in whatever way."""
    quoted = form(KEY)
    said = Masker([secret])(f"the key {quoted} is not valid")
    assert MASK in said
    assert said.startswith("the key ")
    assert said.endswith(" is not valid")
    # The ends of base64 hold bits of what stands around.
    assert longest_part(said, quoted) < 8


@pytest.mark.parametrize(
    ("secret", "echo"),
    [
        ("https://user:pass-w0rd@proxy.example:8080", "pass-w0rd"),
        ("https://hook.example/T0K3N-abc/send", "T0K3N-abc"),
        ("https://api.example/search?key=abcdefgh1&lang=en", "abcdefgh1"),
        ('Token token="abcdefgh1"', "abcdefgh1"),
        ("Basic " + base64.b64encode(b"admin:pass-w0rd").decode(), "pass-w0rd"),
        ("sid=abcdefgh1; other=2", "abcdefgh1"),
    ],
)
def test_a_part_of_a_credential_is_masked(secret: str, echo: str) -> None:
    """A URL's password, path and query, a cookie's value and Basic's password are credentials."""
    assert Masker([secret])(f"no user with {echo}.") == f"no user with {MASK}."


@pytest.mark.parametrize(
    "secret", ["Bearer abc-defgh1", "https://api.example/v1?k=abcdefgh1", "abc"]
)
def test_ordinary_words_stay(secret: str) -> None:
    """Schemes, hosts and values of a few letters are no credentials."""
    text = "Bearer tokens of https://api.example/v1 are abc"
    assert Masker([secret])(text) == text


def test_nothing_is_masked_without_secrets() -> None:
    """A text comes back as it is."""
    assert Masker()("a %26 & b") == "a %26 & b"


@settings(max_examples=200, derandomize=True)
@given(
    st.text(max_size=40),
    st.text(max_size=40),
    st.text("aZ9-%&+/= \\\"'<é日", min_size=8, max_size=30),
)
def test_any_key_in_any_text(before: str, after: str, key: str) -> None:
    """A key never stands in what comes out, and what stands around it is only ever masked."""
    said = Masker([key])(f"{before}{key}{after}")
    if key.strip():
        assert key.strip() not in said
    else:
        assert said == f"{before}{key}{after}"


@pytest.mark.parametrize("unit", ["%25", "&amp;", "\\", "a", "\\u0026", "%2526amp;"])
def test_the_work_grows_with_the_text(unit: str) -> None:
    """A text has as many readings as it has layers of escapes, four at most, each once."""
    key = "a" * 40 + "b"
    assert Masker([key])(unit * 20_000 + key).endswith(MASK)
