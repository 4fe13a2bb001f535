"""Kinds of option that several engines have.  Their errors never quote a secret."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr

from refdesk.http import is_web_url


def _key(value: SecretStr) -> SecretStr:
    # A key read from a file ends in a line break, which no header may hold.
    key = value.get_secret_value().strip()
    if not key:
        raise ValueError("the key is empty; is the variable or file it comes from set?")
    if not (key.isascii() and key.isprintable()):
        raise ValueError("the key holds characters that no header can carry; copy it again")
    return SecretStr(key)


def _header(value: SecretStr) -> SecretStr:
    text = value.get_secret_value().strip()
    if not (text.isascii() and text.isprintable()):
        raise ValueError("a header's value must be printable ASCII on one line")
    return SecretStr(text)


def web_address(value: str) -> str:
    """Return the URL as it is; ValueError, in a sentence, if it is none that engines can call."""
    value = value.strip()
    if not is_web_url(value):
        raise ValueError("this must be an http or https URL with a host, such as https://host/path")
    return value


def _base_url(value: str) -> str:
    value = web_address(value)
    parts = urlsplit(value)
    if parts.query or parts.fragment:
        raise ValueError("this must be a URL without a query and a fragment")
    return value.rstrip("/")


ApiKey = Annotated[SecretStr, AfterValidator(_key)]
HeaderValue = Annotated[SecretStr, AfterValidator(_header)]
BaseUrl = Annotated[str, AfterValidator(_base_url)]
WebAddress = Annotated[str, AfterValidator(web_address)]
SafeSearch = Annotated[
    bool | None,
    Field(
        description="Whether explicit results are filtered, where the request does not say; unset: "
        "as the vendor does."
    ),
]
