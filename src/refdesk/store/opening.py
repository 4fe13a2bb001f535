"""The store that a configuration names, opened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from refdesk.config import Config
from refdesk.config.secrets import KeyRef
from refdesk.errors import StoreError
from refdesk.store.database import Store
from refdesk.store.sealing import StoreKey


def open_store(config: Config, *, upgrade: bool = True) -> Store:
    """Open the store that a configuration names; StoreError says what to do."""
    key = _store_key(config.store.key)
    data_dir = Path(config.data_dir) if config.store.url.startswith("sqlite") else None
    return Store.open(config.store.url, data_dir=data_dir, key=key, upgrade=upgrade)


def _store_key(refs: Sequence[KeyRef]) -> StoreKey | None:
    texts: list[str] = []
    for ref in refs:
        if ref.literal is not None:
            texts.append(ref.literal.get_secret_value())
        elif ref.path is not None:
            if ref.may_be_made and len(refs) == 1:
                return None
            try:
                texts.append(ref.path.read_text())
            except OSError as exc:
                raise StoreError(
                    f"store.key: the file {ref.path} cannot be read ({exc.strerror})"
                ) from None
    return StoreKey.parse(texts)
