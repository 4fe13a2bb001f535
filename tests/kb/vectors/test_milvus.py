"""What is particular to Milvus: a server that others use too, and that may be away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from passages import DIMENSION, a_chunk, make_store, word_vectors
from refdesk.errors import StoreError
from refdesk.kb.vectors._base import safe_name

TOKEN = "root:canary-token-0123456789"


async def test_dropped_by_another_process(milvus: Any, tmp_path: Path) -> None:
    """An index that another process dropped is not there; deleting in it is no error."""
    store = make_store("milvus", tmp_path, url=milvus.path)
    cats = word_vectors(["cats"])
    await store.create("docs", dimension=DIMENSION, language="en")
    for wanted in ("delete", "count", "revisions", "search_text", "search_vector", "add", "create"):
        assert await store.count("docs") == 0  # it is known here from now on
        milvus.drop_collection(safe_name("docs"))
        match wanted:
            case "delete":
                await store.delete("docs", "r-c1")
            case "count":
                assert await store.count("docs") == 0
            case "revisions":
                assert await store.revisions("docs") == set()
            case "create":
                pass
            case _:
                call = {
                    "search_text": lambda: store.search_text("docs", "cats", k=3),
                    "search_vector": lambda: store.search_vector("docs", cats[0], k=3),
                    "add": lambda: store.add("docs", [a_chunk("cats", "c1")], cats),
                }[wanted]
                with pytest.raises(StoreError, match="has no index 'docs'"):
                    await call()
        await store.create("docs", dimension=DIMENSION, language="en")
    await store.add("docs", [a_chunk("cats", "c1")], cats)
    assert [hit.chunk_id for hit in await store.search_text("docs", "cats", k=3)] == ["c1"]
    await store.drop("docs")
    await store.aclose()


async def test_away(tmp_path: Path, unused_tcp_port: int) -> None:
    """A server that is away is an error that says where it should be, without the token."""
    pytest.importorskip("pymilvus")
    url = f"http://somebody:canary-pw@127.0.0.1:{unused_tcp_port}"
    store = make_store("milvus", tmp_path, url=url, token=TOKEN, timeout_s=1)
    for _ in range(2):
        with pytest.raises(StoreError, match=f"Milvus at 127.0.0.1:{unused_tcp_port} did not") as e:
            await store.search_text("docs", "cats", k=3)
        assert "canary" not in str(e.value)
