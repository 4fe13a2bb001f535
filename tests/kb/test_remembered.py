"""What a collection remembers of its embedder, and what the configuration adds."""

from __future__ import annotations

from typing import Any

import pytest

from refdesk.config import Config
from refdesk.errors import ConfigError
from refdesk.kb.remembered import SHARED, entry_of
from refdesk.store.passages import Collection

FAR = {"type": "openai", "model": "m", "api_key": "canary"}
CONFIG = Config.model_validate({"collections": {"far": {"embedder": FAR}, "near": {}}})


@pytest.mark.parametrize(
    ("name", "kept", "entry"),
    [
        ("own", {"type": "e5"}, {"type": "e5"}),
        ("own", {"type": SHARED, "name": "far"}, FAR),
        ("own", {"type": SHARED, "name": "near"}, {"type": "minilm"}),
        ("far", {"type": "openai", "model": "m"}, FAR),
        ("near", {"type": SHARED, "name": "far"}, {"type": "minilm"}),
    ],
)
def test_the_entry_of_a_collection(name: str, kept: dict[str, Any], entry: dict[str, Any]) -> None:
    """The configuration's own entry wins, then the one that is named, then the one that is kept."""
    assert entry_of(CONFIG, Collection(name=name, embedder=kept)) == entry


@pytest.mark.parametrize("kept", [{"name": "gone"}, {"name": "own"}, {}])
def test_a_named_collection_that_is_gone(kept: dict[str, Any]) -> None:
    """An entry that names no configured collection is an error with the remedy."""
    with pytest.raises(
        ConfigError, match=r"the configuration does not describe: put collections\."
    ):
        entry_of(CONFIG, Collection(name="own", embedder={"type": SHARED, **kept}))
