"""Knowledge as a configuration describes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from desk import config_of
from refdesk.kb.opening import KnowledgeBase
from refdesk.store import Store


def base(folder: Path, **changes: Any) -> tuple[KnowledgeBase, Store]:
    """Knowledge on a new store."""
    config = config_of("http://127.0.0.1:9", folder, **changes)
    store = Store.open(config.store.url, data_dir=Path(config.data_dir))
    return KnowledgeBase(config, store), store


async def test_warm_loads_the_embedders_of_this_machine(tmp_path: Path) -> None:
    """After warming, a question finds its embedder loaded; an endpoint was not called."""
    collections = {
        "handbook": {},
        "remote": {
            "embedder": {"type": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
        },
    }
    knowledge, store = base(tmp_path, collections=collections)
    try:
        with capture_logs() as logged:
            await knowledge.warm(list(collections))
        local = [each for each in knowledge._embedders.values() if each.computes]
        assert len(local) == 1
        assert len(knowledge._embedders) == 2
        assert logged == []
    finally:
        await knowledge.aclose()
        store.close()


async def test_what_cannot_be_warmed_is_logged(tmp_path: Path) -> None:
    """A collection that is not there stops nothing; the log names it."""
    knowledge, store = base(tmp_path)
    try:
        with capture_logs() as logged:
            await knowledge.warm(["nowhere"])
        assert "nowhere" in logged[0]["error"]
    finally:
        await knowledge.aclose()
        store.close()
