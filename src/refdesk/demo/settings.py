"""The demo's configuration: what a user would write, for one model and two engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from refdesk.config import Config, Loaded
from refdesk.demo.choose import Model

HOST: Final = "127.0.0.1"
PORT: Final = 8484
SMALL: Final = {
    # A page or two: more would only confuse a model of this size, and take long to read.
    "pages_per_query": 1,
    "max_injected_chars": 1200,
    "max_snippet_chars": 250,
    "max_query_chars": 200,
}
"""The bounds of gateway search for a model that reads 2,048 tokens."""


def settings(model: Model, *, port: int, data_dir: Path) -> Loaded:
    """Return the configuration: the keyless engine first, the shipped pages where it fails."""
    upstream: dict[str, Any] = {
        "provider": model.provider,
        "wire": [model.wire] if not model.small else ["messages", "chat", "responses"],
        "base_url": model.base_url,
        # Also where the model could search by itself: the demo shows the gateway's search.
        "search": {"enabled": "on"},
    }
    if model.api_key:
        upstream["api_key"] = model.api_key
    tree: dict[str, Any] = {
        "server": {"host": HOST, "port": port},
        "data_dir": str(data_dir),
        "upstreams": {"demo": upstream},
        "models": {model.name: {"upstream": "demo"}},
        "default_model": model.name,
        "engines": {
            "ddgs": {"type": "ddgs", "priority": 10},
            "offline": {"type": "offline", "priority": 1},
        },
        "gateway": {
            "search": {
                "engine_timeout_ms": 8000,
                "budget_ms": 12000,
                **(SMALL if model.small else {}),
            }
        },
    }
    return Loaded(config=Config.model_validate(tree), origins={}, path=None)
