"""The vector stores there are, for tests of knowledge."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from passages import make_store
from refdesk.kb.vectors import VectorStore


@pytest.fixture(scope="session")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of one embedded Milvus, which all tests share: starting it takes seconds."""
    pytest.importorskip("milvus_lite", reason="Milvus is tested with milvus-lite")
    import pymilvus

    path = tmp_path_factory.mktemp("milvus") / "milvus.db"
    client = pymilvus.MilvusClient(str(path))
    client.path = str(path)
    yield client
    client.close()


@pytest.fixture(params=["lance", "milvus"])
async def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VectorStore]:
    """Every vector store there is, one after the other, empty."""
    if request.param == "milvus":
        shared = request.getfixturevalue("milvus")
        store = make_store("milvus", tmp_path, url=shared.path)
    else:
        store = make_store(request.param, tmp_path)
    yield store
    await store.aclose()
    if request.param == "milvus":
        for name in shared.list_collections():
            shared.drop_collection(name)
