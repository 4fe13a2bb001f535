"""Secrets go out of a query; hashes, names and words about secrets stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.search._secrets import cut_secrets

SHA1 = "9fceb02d0ae598e95dc970b74767f19372d61af8"
SHA256 = "4bcff63911fcb4448bd4fdacec207030997caf25e9bea4045fa6c8c44de311d1"
PEM = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj"


@pytest.mark.parametrize(
    ("secret", "what"),
    [
        ("sk-ant-api03-abcdefghij0123456789", "an API key"),
        ("ghp_0123456789abcdefghij", "an API key"),
        ("AKIAIOSFODNN7EXAMPLE1", "an API key"),
        ("Bearer abcdef0123456789", "a bearer token"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "a JSON web token"),
        ("password: hunter22", "a password"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "a private key"),
        ("0123456789abcdef0123456789abcdef", "a long key"),
        (SHA1, "a long key"),
        ("AbCd3fGh1jKlMn0pQrStUvWxYz1234567890AbCd", "a long key"),
        ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "a long key"),
        ("xoxb-1234567890-AbCdEf1234567890", "an API key"),
        ("Basic dXNlcjpwYXNzd29yZA==", "a bearer token"),
        ('password: "letmein"', "a password"),
        ("password=letmein", "a password"),
        ("pwd: s3cr3t!", "a password"),
        (f"-----BEGIN PRIVATE KEY-----\n{PEM}\n{PEM}", "a private key"),
    ],
)
def test_secrets(secret: str, what: str) -> None:
    """What looks like one is cut out and named; what stands round it stays."""
    text, removed = cut_secrets(f"why does {secret} fail")
    assert secret not in text
    assert text.split() == ["why", "does", "fail"]
    assert removed == (what,)


def test_a_key_that_is_called_one() -> None:
    """A number that a sentence calls a key is one, though hashes are spoken of as well."""
    assert SHA1 not in cut_secrets(f"my api key {SHA1} fails with git push")[0]


def test_credentials_in_a_url() -> None:
    """A name and password before a host go, and the address stays."""
    text, removed = cut_secrets("why does postgres://bob:s3cr3tX@db/x fail")
    assert text.split() == ["why", "does", "postgres://", "db/x", "fail"]
    assert removed == ("credentials in a URL",)


@pytest.mark.parametrize(
    "text",
    [
        "how do I rotate an API key",
        "what is a bearer token",
        "python-3.14 release-candidate key-value store",
        "https://example.com/a/b?c=d",
        "sk-learn versus scikit-learn",
        "commit 1a2b3c4",
        f"what changed in git commit {SHA1} of nginx",
        f"commits {SHA1} and {SHA1}",
        f"git show {SHA1}",
        f"sha256:{SHA256} which docker image",
        f"nginx@sha256:{SHA256}",
        "md5 d41d8cd98f00b204e9800998ecf8427e of which file",
        f"https://github.com/Microsoft/vscode/commit/{SHA1}",
        "what is token: CSRF-token in Rails 8.1",
        "password: how do I reset it",
        "password: change policy in Windows",
        "secret: optional or required?",
        "api key: required header",
        "token: string vs number in TypeScript",
        "HTTP Basic authentication vs Bearer authentication",
        "postgres://user:password@localhost/db format",
        "550e8400-e29b-41d4-a716-446655440000 is which version of UUID",
        "sk-learn-1.5-documentation",
        "key-value-store-2024-benchmark",
        "api_version-2024-06-01-preview",
        "AbstractSingletonProxyFactoryBean2Configuration in Spring",
        "src/main/java/org/Apache2/CommonsThing/AbstractFooBarBaz.java",
        "-----BEGIN RSA PRIVATE KEY----- what does this line mean",
    ],
)
def test_no_secrets(text: str) -> None:
    """Words about secrets are none."""
    assert cut_secrets(text) == (text, ())


@given(st.text(alphabet=st.sampled_from("abcXYZ019 :=-_./@\n"), max_size=200))
def test_what_is_left_was_there(text: str) -> None:
    """Nothing is made up: what is left are parts of the text, in order."""
    left, removed = cut_secrets(text)
    at = 0
    for word in left.split():
        at = text.index(word, at) + len(word)
    assert removed or left == text
