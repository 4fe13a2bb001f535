"""The configuration as it may be shown."""

from __future__ import annotations

from refdesk.config import Config
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
            "mcp_servers": {"m": {"command": "x", "env": {"A": SECRET}}},
        }
    )
    tree = shown(config, frozenset({("engines", "e", "q")}))
    assert "SECRET" not in repr(tree)
    assert tree["upstreams"]["u"]["api_key"] == "••••tail"
    assert tree["engines"]["e"]["q"] == "••••tail"
    assert tree["store"]["key"] == ["••••tail", "••••tail"]


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
