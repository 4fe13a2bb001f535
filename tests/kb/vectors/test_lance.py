"""What is particular to the embedded store: several processes, and files on a disk."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passages import DIMENSION, a_chunk, make_store, word_vectors
from refdesk.errors import StoreError
from refdesk.kb.vectors import Vector
from refdesk.kb.vectors._base import label, safe_name

WRITER = """
import asyncio, sys
from pathlib import Path
from passages import DIMENSION, a_chunk, make_store, word_vectors

async def main(folder, own):
    store = make_store("lance", Path(folder))
    await store.create("docs", dimension=DIMENSION, language="auto")
    for n in range(4):
        chunk = a_chunk(f"{own} wrote word{n}", f"{own}-{n}")
        await store.add("docs", [chunk], word_vectors([chunk.text]))
        if n == 2:
            await store.delete("docs", f"r-{own}-0")
            await store.settle("docs")
    await store.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_processes(tmp_path: Path) -> None:
    """Processes that write at once lose nothing, and each sees what the other wrote."""
    store = make_store("lance", tmp_path)
    await store.create("docs", dimension=DIMENSION, language="auto")
    tests = Path(__file__).parents[2]
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, str(tmp_path), "other", cwd=tests, stderr=subprocess.PIPE
    )
    talk = asyncio.create_task(writer.communicate())
    mine = []
    # Both write until the other has had its say.
    while not talk.done() and len(mine) < 200:
        chunk = a_chunk(f"mine wrote word{len(mine)}", f"mine-{len(mine)}")
        await store.add("docs", [chunk], word_vectors([chunk.text]))
        mine.append(chunk.id)
    _, said = await talk
    assert writer.returncode == 0, said.decode()
    assert await store.count("docs") == len(mine) + 3
    hits = await store.search_text("docs", "wrote", k=500)
    assert {hit.chunk_id for hit in hits} == {*mine, "other-1", "other-2", "other-3"}


async def test_opened_again(tmp_path: Path) -> None:
    """What was put in is there when the folder is opened again."""
    first = make_store("lance", tmp_path)
    await first.create("docs", dimension=DIMENSION, language="en")
    await first.add("docs", [a_chunk("cats sleep", "c1")], word_vectors(["cats sleep"]))
    await first.aclose()
    again = make_store("lance", tmp_path)
    assert [hit.chunk_id for hit in await again.search_text("docs", "sleeping cat", k=3)] == ["c1"]


async def test_folder_is_private(tmp_path: Path) -> None:
    """The folder is made when it is needed, for its owner alone."""
    store = make_store("lance", tmp_path / "a" / "vectors")
    assert not (tmp_path / "a").exists()
    await store.create("docs", dimension=DIMENSION, language="en")
    assert (tmp_path / "a" / "vectors").stat().st_mode & 0o077 == 0


async def test_no_folder(tmp_path: Path) -> None:
    """A folder that cannot be made is an error that names it."""
    (tmp_path / "file").write_text("in the way")
    store = make_store("lance", tmp_path / "file")
    with pytest.raises(StoreError, match=str(tmp_path / "file")):
        await store.create("docs", dimension=DIMENSION, language="en")


async def test_death_while_an_index_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a process that died did not make is made by the next: words still have their stems."""
    import lancedb.table

    class Died(BaseException):
        pass

    async def dies(*_: object, **__: object) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(lancedb.table.AsyncTable, "create_index", dies)
        with pytest.raises(Died):
            await make_store("lance", tmp_path).create("docs", dimension=DIMENSION, language="en")
    store = make_store("lance", tmp_path)
    await store.create("docs", dimension=DIMENSION, language="en")
    await store.add("docs", [a_chunk("cats sleep", "c1")], word_vectors(["cats sleep"]))
    assert [hit.chunk_id for hit in await store.search_text("docs", "sleeping cat", k=3)] == ["c1"]


async def test_dropped_by_another_process(tmp_path: Path) -> None:
    """An index that another process dropped is an error of the store; deleting in it is none."""
    mine, other = make_store("lance", tmp_path), make_store("lance", tmp_path)
    await mine.create("docs", dimension=DIMENSION, language="en")
    assert await mine.count("docs") == 0  # it is open here from now on
    await other.drop("docs")
    with pytest.raises(StoreError, match="another process re-indexed"):
        await mine.add("docs", [a_chunk("cats", "c1")], word_vectors(["cats"]))
    with pytest.raises(StoreError, match="another process re-indexed"):
        await mine.search_text("docs", "cats", k=3)
    await mine.delete("docs", "r-c1")


def damage(folder: Path) -> None:
    """Make what says what is in a table unreadable."""
    for path in folder.rglob("*.manifest"):
        path.write_bytes(b"damaged")


@pytest.mark.parametrize("opened", [True, False])
async def test_damaged_files(tmp_path: Path, opened: bool) -> None:
    """Files that cannot be read are an error of the store, whatever is wanted of them."""
    store = make_store("lance", tmp_path)
    await store.create("docs", dimension=DIMENSION, language="en")
    if not opened:
        await store.aclose()
    damage(tmp_path)
    cats = word_vectors(["cats"])
    for call in (
        store.count("docs"),
        store.search_text("docs", "cats", k=3),
        store.search_vector("docs", cats[0], k=3),
        store.add("docs", [a_chunk("cats", "c1")], cats),
        store.delete("docs", "r-c1"),
    ):
        with pytest.raises(StoreError, match="the vector store failed") as caught:
            await call
        assert ".rs:" not in str(caught.value)


async def test_deleted_files(tmp_path: Path) -> None:
    """Where somebody deleted the files, the remedy is told, and a new index can be made."""
    store = make_store("lance", tmp_path / "vectors")
    await store.create("docs", dimension=DIMENSION, language="en")
    assert await store.count("docs") == 0  # it is open here from now on
    shutil.rmtree(tmp_path / "vectors")
    with pytest.raises(StoreError, match="kb reindex"):
        await store.search_text("docs", "cats", k=3)
    await store.drop("docs")
    await store.create("new", dimension=DIMENSION, language="en")
    await store.add("new", [a_chunk("cats", "c1")], word_vectors(["cats"]))
    assert [hit.chunk_id for hit in await store.search_text("new", "cats", k=3)] == ["c1"]


@given(st.text(max_size=20), st.text(max_size=20))
def test_safe_names(one: str, other: str) -> None:
    """Names of tables are of letters, digits and underscores, and differ where indexes do."""
    assert safe_name(one).isascii()
    assert safe_name(one).replace("_", "a").isalnum()
    assert (safe_name(one) == safe_name(other)) == (one == other)


def test_labels() -> None:
    """Labels of equal values are equal, and those of a number and its text are not."""
    assert label("n", 1.0) == label("n", 1)
    assert label("n", 1) != label("n", "1")
    assert label("n", True) != label("n", 1)
    assert len(label("n", "x" * 9999)) <= 500


async def test_sorted_vectors(tmp_path: Path) -> None:
    """Vectors sorted into groups, and those added later, are found as exactly as before."""
    dice = np.random.default_rng(5)
    vectors = dice.standard_normal((5000, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    chunks = [a_chunk("", f"c{n}", metadata={"half": n % 2}) for n in range(5000)]
    store = make_store("lance", tmp_path)
    await store.create("docs", dimension=DIMENSION, language="en")
    await store.add("docs", chunks[:4500], vectors[:4500])
    await store.settle("docs")
    await store.add("docs", chunks[4500:], vectors[4500:])
    await store.delete("docs", "r-c77")
    await store.settle("docs")

    async def found(asked: Vector, **which: Any) -> list[str]:
        return [hit.chunk_id for hit in await store.search_vector("docs", asked, k=20, **which)]

    for asked in (vectors[77], vectors[4600]):
        order = [int(n) for n in np.argsort(-(vectors @ asked)) if n != 77]
        assert await found(asked) == [f"c{n}" for n in order[:20]]
        odd = [f"c{n}" for n in order if n % 2]
        assert await found(asked, filters={"half": 1}) == odd[:20]
        assert await found(asked, only=["c77", *odd[3000:2000:-1]]) == odd[2001:2021]


async def test_sorted_anew(tmp_path: Path) -> None:
    """Parts that came one after the other become one again, before there are many."""
    store = make_store("lance", tmp_path)
    await store.create("docs", dimension=DIMENSION, language="en")
    vectors = np.eye(DIMENSION, dtype=np.float32)[np.arange(4200) % DIMENSION]
    await store.add("docs", [a_chunk("", f"c{n}") for n in range(4200)], vectors)
    parts = []
    for n in range(10):
        await store.add("docs", [a_chunk("", f"new{n}")], vectors[:1])
        await store.settle("docs")
        table = lancedb.connect(tmp_path).open_table(safe_name("docs"))
        parts.append(table.index_stats("vector_idx").num_indices)
    assert max(parts) <= 9
    assert parts[-1] < max(parts)
    nearest = await store.search_vector("docs", vectors[0], k=66 + 10)
    assert all(hit.score == pytest.approx(1) for hit in nearest)
    assert {hit.chunk_id for hit in nearest} > {f"new{n}" for n in range(10)}
