"""
What a collection remembers of its embedder: the plugin and its options, and never a key.

A key comes from the configuration, or from an environment variable that the entry names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

from refdesk.config.secrets import is_secret_name, mask_url
from refdesk.errors import ConfigError


def without_secrets(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an embedder's entry as it is kept, and shown."""
    return {name: value for name, value in entry.items() if not _is_secret(name, value)}


def refuse_secrets(collection: str, entry: Mapping[str, Any]) -> None:
    """Raise ConfigError, which says where a key belongs, if an entry holds one."""
    found = [name for name, value in entry.items() if _is_secret(name, value)]
    if found:
        raise ConfigError(
            f"embedder.{found[0]} would be kept in the store, where no key belongs: give"
            ' "api_key_env": "EMBEDDINGS_API_KEY", the environment variable that holds it, or'
            f" describe the collection under collections.{collection} in refdesk.yaml, with"
            " api_key: ${env:EMBEDDINGS_API_KEY}"
        )


def _is_secret(name: str, value: Any) -> bool:
    if is_secret_name(name) or name.lower() == "headers" or isinstance(value, SecretStr):
        return True
    return isinstance(value, str) and mask_url(value) != value
