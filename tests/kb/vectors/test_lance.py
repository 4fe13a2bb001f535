"""What is particular to the embedded store: several processes, and files on a disk."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passages import DIMENSION, a_chunk, make_store, word_vectors
from refdesk.errors import StoreError
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
