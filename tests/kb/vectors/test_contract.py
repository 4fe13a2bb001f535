"""What holds for every vector store."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from passages import DIMENSION, a_chunk, word_vector, word_vectors
from refdesk.errors import StoreError
from refdesk.kb.metadata import MAX_KEYS, MAX_VALUES
from refdesk.kb.vectors import VectorStore
from refdesk.store.passages import Chunk

TEXTS = {
    "cats": "The cats were sleeping on the warm roofs.",
    "dogs": "Dogs bark at night, and nobody sleeps.",
    "backup": "GitHub 备份脚本上传失败的处理",
    "tea": "他们每天下午喝茶。",
    "rule": "Part no. AX-100.7 is replaced every year.",
}


async def fill(store: VectorStore, index: str = "docs", **texts: str) -> dict[str, Chunk]:
    """Make an index and put a chunk for each text in it."""
    await store.create(index, dimension=DIMENSION, language="auto")
    chunks = {name: a_chunk(text, name) for name, text in (texts or TEXTS).items()}
    await store.add(index, list(chunks.values()), word_vectors([c.text for c in chunks.values()]))
    return chunks


async def found(store: VectorStore, query: str, **how: Any) -> list[str]:
    """The ids of the chunks that have words of a question."""
    return [hit.chunk_id for hit in await store.search_text("docs", query, k=10, **how)]


async def test_words(vectors: VectorStore) -> None:
    """Words are found by their stems and in any case; small words find nothing."""
    await fill(vectors)
    assert await found(vectors, "CAT roof") == ["cats"]
    assert set(await found(vectors, "sleep")) == {"cats", "dogs"}
    assert await found(vectors, "the of and") == []
    assert await found(vectors, "") == []
    assert await found(vectors, "zebra") == []


async def test_chinese(vectors: VectorStore) -> None:
    """Chinese is found by any part of a run, a single character too; Latin words stay whole."""
    await fill(vectors)
    assert await found(vectors, "备份脚本上传失败") == ["backup"]
    assert await found(vectors, "脚本") == ["backup"]
    assert await found(vectors, "茶") == ["tea"]
    assert await found(vectors, "github") == ["backup"]
    assert await found(vectors, "本脚") == []


async def test_part_numbers(vectors: VectorStore) -> None:
    """What is written with signs inside is found whole and in parts."""
    await fill(vectors)
    assert await found(vectors, "AX-100.7") == ["rule"]
    assert await found(vectors, "ax") == ["rule"]


async def test_nearness(vectors: VectorStore) -> None:
    """The nearest come first, with their cosine; as many as were wanted."""
    await fill(vectors)
    hits = await vectors.search_vector("docs", word_vector(TEXTS["dogs"]), k=2)
    assert len(hits) == 2
    assert hits[0].chunk_id == "dogs"
    assert hits[0].score == pytest.approx(1.0, abs=1e-3)
    assert hits[0].score > hits[1].score


async def test_filters(vectors: VectorStore) -> None:
    """Filters hold before the best are chosen: there are k hits if there are k that fit."""
    await vectors.create("docs", dimension=DIMENSION, language="en")
    tricky = 'it\'s "5" \\ or 1=1'
    chunks = [
        a_chunk(
            f"report number {n}",
            f"c{n:02}",
            metadata={"year": 2000 + n % 2, "tags": ["all", f"t{n}"], "open": n < 3, "q": tricky},
        )
        for n in range(30)
    ]
    await vectors.add("docs", chunks, word_vectors([c.text for c in chunks]))

    async def ids(k: int = 30, **filters: Any) -> set[str]:
        text = {
            h.chunk_id for h in await vectors.search_text("docs", "report", k=k, filters=filters)
        }
        near = await vectors.search_vector("docs", word_vector("report"), k=k, filters=filters)
        if k == 30:
            assert text == {hit.chunk_id for hit in near}
        return text

    assert len(await ids()) == 30
    assert await ids(year=2001) == {f"c{n:02}" for n in range(1, 30, 2)}
    assert await ids(year=2001.0) == await ids(year=2001)
    assert len(await ids(k=5, year=2001)) == 5
    assert await ids(tags="t7") == {"c07"}
    assert await ids(tags=["t7", "t8"]) == {"c07", "c08"}
    assert await ids(tags=["t7", "t8"], year=2000) == {"c08"}
    assert await ids(open=True) == {"c00", "c01", "c02"}
    assert await ids(year="2001") == set()
    assert await ids(nothing="here") == set()
    assert await ids(tags=[]) == set()
    assert len(await ids(q=tricky)) == 30
    assert await ids(q="it's") == set()
    assert await ids(document_id=["d-c03", "d-c04"]) == {"c03", "c04"}


async def test_any_of_many_values(vectors: VectorStore) -> None:
    """A filter may list as many values or documents as it is allowed, and more do no harm."""
    await vectors.create("docs", dimension=DIMENSION, language="en")
    chunks = [a_chunk(f"report {n}", f"c{n}", metadata={"tag": f"it's {n}"}) for n in range(9)]
    await vectors.add("docs", chunks, word_vectors([c.text for c in chunks]))
    for count in (MAX_VALUES, 40 * MAX_VALUES):
        rest = range(7, count + 7)
        for filters in (
            {"tag": [f"it's {n}" for n in rest]},
            {"document_id": [f"d-c{n}" for n in rest]},
        ):
            hits = await vectors.search_text("docs", "report", k=9, filters=filters)
            near = await vectors.search_vector("docs", word_vector("report"), k=9, filters=filters)
            assert {hit.chunk_id for hit in hits} == {hit.chunk_id for hit in near} == {"c7", "c8"}


async def test_as_many_keys_as_a_filter_may_have(vectors: VectorStore) -> None:
    """All keys of a filter hold, as many as there may be, each with several values."""
    values = {f"key {n}": n for n in range(MAX_KEYS)}
    await vectors.create("docs", dimension=DIMENSION, language="en")
    await vectors.add("docs", [a_chunk("report", "c", metadata=values)], word_vectors(["report"]))
    any_of = {key: [value, *("other",) * 14] for key, value in values.items()}
    assert await found(vectors, "report", filters=any_of) == ["c"]
    assert await found(vectors, "report", filters=any_of | {"key 63": ["other"]}) == []


async def test_only(vectors: VectorStore) -> None:
    """Among some chunks alone, nearness is what it is among all."""
    await fill(vectors)
    asked = word_vector("sleep at night")
    among_all = {h.chunk_id: h.score for h in await vectors.search_vector("docs", asked, k=9)}
    alone = await vectors.search_vector("docs", asked, k=9, only=["dogs", "tea"])
    assert [hit.chunk_id for hit in alone] == ["dogs", "tea"]
    assert alone[0].score == pytest.approx(among_all["dogs"], rel=1e-4)
    assert await vectors.search_vector("docs", asked, k=9, only=[]) == []


async def test_delete(vectors: VectorStore) -> None:
    """A deleted revision is gone from both legs at once; deleting what is not there is no error."""
    chunks = await fill(vectors)
    await vectors.delete("docs", chunks["dogs"].revision)
    await vectors.delete("docs", chunks["dogs"].revision)
    await vectors.delete("elsewhere", "r")
    assert await found(vectors, "dogs") == []
    near = await vectors.search_vector("docs", word_vector(TEXTS["dogs"]), k=10)
    assert "dogs" not in {hit.chunk_id for hit in near}
    assert await vectors.count("docs") == 4
    assert "r-dogs" not in await vectors.revisions("docs")


async def test_revisions(vectors: VectorStore) -> None:
    """All revisions are told, also of many chunks."""
    await vectors.create("docs", dimension=DIMENSION, language="auto")
    chunks = [a_chunk(f"text {n}", f"c{n}", revision=f"r{n % 7}") for n in range(700)]
    await vectors.add("docs", chunks, np.ones((700, DIMENSION), dtype=np.float32))
    assert await vectors.revisions("docs") == {f"r{n}" for n in range(7)}
    assert await vectors.count("docs") == 700
    assert await vectors.revisions("elsewhere") == set()
    assert await vectors.count("elsewhere") == 0


async def test_settle(vectors: VectorStore) -> None:
    """Settling changes no result; what comes after it is found too."""
    await fill(vectors)
    before = await found(vectors, "sleep roof")
    await vectors.settle("docs")
    await vectors.settle("elsewhere")
    assert await found(vectors, "sleep roof") == before
    late = a_chunk("An owl sleeps by day.", "owl")
    await vectors.add("docs", [late], word_vectors([late.text]))
    assert set(await found(vectors, "sleep")) == {"cats", "dogs", "owl"}


async def test_dimensions(vectors: VectorStore) -> None:
    """Vectors of another length are refused, with both lengths and the remedy."""
    await fill(vectors)
    with pytest.raises(StoreError, match=r"64 dimensions, and these have 3.*kb reindex"):
        await vectors.add("docs", [a_chunk("x")], np.ones((1, 3), dtype=np.float32))
    with pytest.raises(StoreError, match="64 dimensions, and these have 3"):
        await vectors.search_vector("docs", np.ones(3, dtype=np.float32), k=1)
    with pytest.raises(StoreError, match="64 dimensions, and these have 3"):
        await vectors.create("docs", dimension=3, language="auto")
    with pytest.raises(StoreError, match="1 chunks and 2 vectors"):
        await vectors.add("docs", [a_chunk("x")], word_vectors(["a", "b"]))
    assert await vectors.count("docs") == 5


async def test_unknown_index(vectors: VectorStore) -> None:
    """An index that is not there is an error that says what to do; dropping it is none."""
    await vectors.drop("gone")
    with pytest.raises(StoreError, match=r"no index 'gone'.*kb reindex"):
        await vectors.search_text("gone", "x", k=1)
    with pytest.raises(StoreError, match="no index 'gone'"):
        await vectors.add("gone", [], np.zeros((0, DIMENSION), dtype=np.float32))


async def test_drop(vectors: VectorStore) -> None:
    """A dropped index has nothing left when it is made again, also with another dimension."""
    await fill(vectors)
    await vectors.drop("docs")
    assert await vectors.count("docs") == 0
    await vectors.create("docs", dimension=3, language="auto")
    assert await vectors.count("docs") == 0
    assert await vectors.search_vector("docs", np.ones(3, dtype=np.float32), k=1) == []


@pytest.mark.parametrize("name", ["手册", "a/../b"])
async def test_names(vectors: VectorStore, name: str) -> None:
    """An index may have any name, and none is taken for another."""
    await fill(vectors, name, one="first words")
    await fill(vectors, name + "_", two="second words")
    assert [hit.chunk_id for hit in await vectors.search_text(name, "words", k=5)] == ["one"]


async def test_together(vectors: VectorStore) -> None:
    """Tasks that write at once lose nothing."""
    await vectors.create("docs", dimension=DIMENSION, language="auto")
    chunks = [a_chunk(f"word{n}", f"c{n}") for n in range(12)]
    await asyncio.gather(
        *(vectors.add("docs", [chunk], word_vectors([chunk.text])) for chunk in chunks),
        *(vectors.create("docs", dimension=DIMENSION, language="auto") for _ in range(2)),
    )
    assert await vectors.count("docs") == 12
    assert await found(vectors, "word7") == ["c7"]
