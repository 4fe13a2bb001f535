"""The configuration as it may be shown."""

from __future__ import annotations

from typing import Any

import pytest

from refdesk.config import Config
from refdesk.config.secrets import hide_url
from refdesk.config.view import leaves, shown

SECRET = "SECRET-0123456789-tail"


def test_secrets_are_masked() -> None:
    """No secret is shown, wherever it stands, and whether or not the schema knows it for one."""
    config = Config.model_validate(
        {
            "upstreams": {
                "u": {"base_url": "http://h", "api_key": SECRET, "headers": {"a": SECRET}}
            },
            "engines": {
                "e": {
                    "type": "http",
                    "api_key": SECRET,
                    "headers": {"X-Any": SECRET},
                    "url": f"https://h/?key={SECRET}",
                    "q": SECRET,
                }
            },
            "store": {"url": f"postgresql://u:{SECRET}@h/d", "key": [SECRET, SECRET]},
            "collections": {"c": {"embedder": {"type": "openai", "api_key": SECRET}}},
            "databases": {"d": {"url": f"mysql://u:{SECRET}@h/d"}},
            "mcp_servers": {
                "m": {"command": "x", "args": ["--key", SECRET], "env": {"A": SECRET}},
                "n": {"url": f"https://{SECRET}@h/?sig={SECRET}", "headers": {"a": SECRET}},
            },
        }
    )
    tree = shown(
        config, frozenset({("engines", "e", "q")}), is_safe=lambda at: at[-1] in ("url", "q")
    )
    assert "SECRET" not in repr(tree)
    assert tree["upstreams"]["u"]["api_key"] == "••••tail"
    assert tree["engines"]["e"]["q"] == "••••tail"
    assert tree["store"]["key"] == ["••••tail", "••••tail"]


@pytest.mark.parametrize(
    "entry",
    [
        {"engines": {"e": {"type": "serper", "api_keyy": SECRET}}},
        {"engines": {"e": {"type": "http", "body": {"auth": SECRET, "n": [SECRET]}}}},
        {"engines": {"e": {"type": "own", "pin": 1234567890}}},
        {"vectors": {"type": "milvus", "tokn": SECRET}},
        {"collections": {"c": {"embedder": {"type": "openai", "pass": SECRET}}}},
    ],
)
def test_what_no_schema_knows_is_hidden(entry: dict[str, Any]) -> None:
    """The value of a plugin's option is shown only where its plugin tells that it is plain."""
    tree = repr(shown(Config.model_validate(entry)))
    assert "SECRET" not in tree
    assert "1234567890" not in tree


def test_a_plain_option_is_shown() -> None:
    """What is known to be plain stays readable, also where the section is a plugin's."""
    config = Config.model_validate({"engines": {"e": {"type": "serper", "country": "de"}}})
    tree = shown(config, is_safe=lambda at: at == ("engines", "e", "country"))
    assert tree["engines"]["e"] == {"type": "serper", "country": "de"}


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("https://h/path?lang=en&sig=S", "https://h/path?lang=en&sig=••••"),
        ("https://TOKEN@h/", "https://••••@h/"),
        ("https://TOKEN:x@h/", "https://••••@h/"),
        ("postgresql://u:P@h/d?sslmode=require", "postgresql://u:••••@h/d?sslmode=require"),
        ("git+ssh://TOKEN@h", "git+ssh://••••@h"),
        ("http://127.0.0.1:8888", "http://127.0.0.1:8888"),
        ("a plain text?", "a plain text?"),
    ],
)
def test_credentials_of_urls_are_hidden(url: str, seen: str) -> None:
    """Users without a password, and values of a query that are not known to be plain, are out."""
    assert hide_url(url) == seen


def test_order_and_plain_values() -> None:
    """Sections come in the order of the schema, and every value is there."""
    tree = shown(Config())
    assert list(tree) == list(Config.model_fields)
    assert tree["store"]["key"] == "${file:refdesk-data/store.key}"
    assert tree["engines"] is None


def test_leaves() -> None:
    """Every value that holds nothing further is a leaf, empty mappings too."""
    found = dict(leaves(Config.model_validate({"engines": {"e": {"type": "t", "n": {"m": 1}}}})))
    assert found[("engines", "e", "n", "m")] == 1
    assert found[("upstreams",)] == {}
    assert ("engines", "e") not in found
