"""
What a collection remembers of its embedder: the plugin and its options, and never a key.

A key comes from the configuration, or from an environment variable that the entry names.  An entry
of type `SHARED` names a collection of the configuration, whose embedder is used with all it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import SecretStr

from refdesk.config import Config
from refdesk.config.secrets import is_secret_name, mask_url
from refdesk.errors import ConfigError
from refdesk.store.passages import Collection

SHARED: Final = "collection"
"""The type of an entry that names a configured collection instead: ``{type, name}``."""


def configured_entry(config: Config, name: str) -> dict[str, Any] | None:
    """Return the embedder's entry, keys included, of a collection of the configuration."""
    entry = config.collections.get(name)
    return None if entry is None else {"type": entry.embedder.type, **entry.embedder.settings}


def entry_of(config: Config, collection: Collection) -> dict[str, Any]:
    """
    Return the embedder's entry of any collection, with the keys that the configuration has.

    Raises:
        ConfigError: It is that of a collection which the configuration does not describe any more.
    """
    entry = configured_entry(config, collection.name)
    if entry is not None or collection.embedder.get("type") != SHARED:
        return dict(collection.embedder) if entry is None else entry
    name = str(collection.embedder.get("name", ""))
    if (entry := configured_entry(config, name)) is None:
        raise ConfigError(
            f"the collection {collection.name!r} has the embedder of {name!r}, which the"
            f" configuration does not describe: put collections.{name} back, or run `refdesk kb"
            f" reindex {collection.name} --embedder NAME`"
        )
    return entry


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
