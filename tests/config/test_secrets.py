"""References, and what may be shown of a secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.config.secrets import Resolver, UnresolvedError, is_secret_name, mask, mask_url


def resolver(**env: str) -> Resolver:
    """Return a resolver over one file and that environment."""
    files = {Path("/base/k"): "key\n", Path("/data/k"): "datakey\r\n", Path("/base/two"): "a\n\n"}

    def read(path: Path) -> str:
        if path not in files:
            raise FileNotFoundError(2, "No such file or directory")
        return files[path]

    return Resolver(env=env, read=read, base=Path("/base"), data_dir="/data")


@pytest.mark.parametrize(
    ("text", "value", "secret"),
    [
        ("plain", "plain", False),
        ("${env:A}", "x", True),
        ("Bearer ${env:A}!", "Bearer x!", True),
        ("${env:A}${env:A}", "xx", True),
        ("${file:k}", "key", True),
        ("${file:/base/two}", "a\n", True),
        ("${file:${data_dir}/k}", "datakey", True),
        ("${data_dir}/x", "/data/x", False),
        ("$${env:A}", "${env:A}", False),
        ("$$${env:A}", "$${env:A}", False),
        ("$5 {a} $", "$5 {a} $", False),
    ],
)
def test_resolved(text: str, value: str, secret: bool) -> None:
    """References are replaced where they stand; what came from outside is a secret."""
    assert resolver(A="x").resolve(text) == (value, secret)


def test_no_reference_in_what_came_in() -> None:
    """What a reference brings in is not read again."""
    assert resolver(A="${env:B}", B="b").resolve("${env:A}") == ("${env:B}", True)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="$\\{}:envfile_dataA/ k", max_size=30))
def test_any_text(text: str) -> None:
    """Any text is resolved or refused; one without a reference comes back as it was."""
    try:
        value, secret = resolver(A="x").resolve(text)
    except UnresolvedError:
        assert "${" in text
        return
    if "${" not in text:
        assert (value, secret) == (text, False)


def test_mask() -> None:
    """Four characters at most are shown, and none of a short secret."""
    assert mask("sk-0123456789abcdef") == "••••cdef"
    assert mask("short-key") == "••••"


def test_mask_url() -> None:
    """Passwords and keys inside of URLs are masked, the rest is left."""
    assert mask_url("postgresql://u:p%40ss@h:5432/d") == "postgresql://u:••••@h:5432/d"
    assert mask_url("https://h/s?q=a&api_key=abc&n=1") == "https://h/s?q=a&api_key=••••&n=1"
    assert mask_url("http://127.0.0.1:8888") == "http://127.0.0.1:8888"


@pytest.mark.parametrize("name", ["api_key", "API-Key", "token", "client_secret", "Authorization"])
def test_secret_names(name: str) -> None:
    """Names that tell of a secret are known."""
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["keyword", "max_tokens_x", "page_param", "monkey", "key_field"])
def test_plain_names(name: str) -> None:
    """Names that only look like one are not."""
    assert not is_secret_name(name)
