"""Search in collections: permission, both legs, threshold, limit, failures of a part."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from passages import DIMENSION, WordEmbedder, a_chunk, make_store, word_vectors
from refdesk.errors import EmbedderError
from refdesk.kb.handler import MAX_QUESTION_CHARS, KnowledgeHandler
from refdesk.kb.vectors import Vector, VectorStore
from refdesk.search.handler import HandlerTable, SearchContext
from refdesk.search.searcher import Searcher
from refdesk.store.knowledge import Counts
from refdesk.store.passages import Chunk, Collection
from refdesk.types import SearchRequest, SearchResult

CONTEXT = SearchContext()


@dataclass
class Shelf:
    """What the store of knowledge gives a search."""

    held: dict[str, Collection] = field(default_factory=dict)
    known: dict[str, Chunk] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def collections(self) -> list[Collection]:
        return list(self.held.values())

    def counts(self, collection: str) -> Counts:
        mine = sum(chunk.collection == collection for chunk in self.known.values())
        return Counts(documents=mine, ready=mine, chunks=mine, characters=0)

    def chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        return {each: self.known[each] for each in ids if each in self.known}

    def text(self, document_id: str, start: int, end: int) -> str:
        return self.texts.get(document_id, "")[start:end]


class Desk:
    """A handler with everything behind it, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.shelf = Shelf()
        self.index: VectorStore = make_store("lance", folder)
        self.embedder = WordEmbedder()
        self.handler = KnowledgeHandler(
            self.shelf,  # type: ignore[arg-type]
            self.index,
            lambda collection: self.embedder,
        )

    async def put(self, name: str, *chunks: Chunk, **fields: Any) -> None:
        """Make a collection of chunks."""
        known = {"embedder_id": self.embedder.identity, "dimension": DIMENSION, "index": name}
        self.shelf.held[name] = Collection(**{"name": name} | known | fields)
        await self.index.create(name, dimension=DIMENSION, language="auto")
        mine = [replace(each, collection=name) for each in chunks]
        await self.index.add(name, mine, word_vectors([each.text for each in mine]))
        self.shelf.known |= {each.id: each for each in mine}

    async def ask(
        self, query: str, *names: str, identity: dict[str, Any] | None = None, **request: Any
    ) -> SearchResult:
        """Search."""
        asked = SearchRequest(query=query, type="kb", collections=names or ("docs",), **request)
        return await self.handler.search(asked, context=SearchContext(identity=identity))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def ids(result: SearchResult) -> list[str]:
    return [item.metadata["chunk_id"] for item in result.items]


async def test_item(desk: Desk) -> None:
    """An item says where its passage stands, and has the score of every stage."""
    chunk = a_chunk(
        "Expenses are claimed within thirty days.",
        "c1",
        page=4,
        heading=("Handbook", "Travel"),
        start=100,
        end=140,
        metadata={"title": "Handbook", "key": "https://example.org/handbook", "year": 2026},
    )
    await desk.put("docs", chunk)
    (item,) = (await desk.ask("when are expenses claimed?")).items
    assert (item.title, item.url) == ("Handbook", "https://example.org/handbook")
    assert (item.type, item.collection, item.document_id) == ("kb", "docs", "d-c1")
    assert item.content == chunk.text
    assert item.metadata == {
        "chunk_id": "c1",
        "page": 4,
        "heading": ["Handbook", "Travel"],
        "start": 100,
        "end": 140,
        "title": "Handbook",
        "key": "https://example.org/handbook",
        "year": 2026,
    }
    assert set(item.scores) == {"text", "vector"}
    assert item.score == pytest.approx((item.scores["text"] + item.scores["vector"]) / 2, abs=1e-5)
    assert 0 < item.score < 1


async def test_in_searcher(desk: Desk) -> None:
    """The searcher takes it as its handler, numbers its items and keeps their scores."""
    await desk.put("docs", a_chunk("cats sleep", "c1"), a_chunk("dogs bark", "c2"))
    searcher = Searcher(handlers=[desk.handler])
    result = await searcher.kb("cats", collections=["docs"])
    assert result.error is None
    assert result.items[0].citation_id == "ref_001"
    assert "text" in result.items[0].scores
    assert isinstance(HandlerTable([desk.handler]).get("kb"), KnowledgeHandler)


@pytest.mark.parametrize("k", [1, 3, 8])
async def test_more_does_not_change_the_first(desk: Desk, k: int) -> None:
    """The first results are the same however many are wanted, and as many as there are."""
    chunks = [a_chunk(f"report {n} " + "on sales " * (n % 5), f"c{n:02}") for n in range(20)]
    await desk.put("docs", *chunks)
    many = await desk.ask("sales report", limit=20)
    some = await desk.ask("sales report", limit=k)
    assert len(many.items) == 20
    assert ids(some) == ids(many)[:k]
    assert [item.score for item in some.items] == [item.score for item in many.items][:k]


async def test_order_is_that_of_the_score(desk: Desk) -> None:
    """Results come in the order of the score shown, also of several collections."""
    await desk.put("a", a_chunk("cats sleep on roofs", "a1"), a_chunk("dogs sleep", "a2"))
    await desk.put("b", a_chunk("cats sleep", "b1"), a_chunk("fish swim", "b2"))
    result = await desk.ask("cats sleep", "a", "b", "a")
    scores = [item.score for item in result.items]
    assert scores == sorted(scores, key=lambda score: -(score or 0))
    assert len(ids(result)) == len(set(ids(result)))
    assert ids(result)[0] == "b1"
    assert desk.embedder.asked == ["cats sleep"], "one embedding serves all collections"


@pytest.mark.parametrize(("threshold", "found"), [(None, True), (0.0, True), (1.0, False)])
async def test_threshold(desk: Desk, threshold: float | None, found: bool) -> None:
    """No threshold and 0 cut nothing; 1 is no error, and leaves nothing of what is not perfect."""
    await desk.put("docs", a_chunk("cats sleep", "c1"), a_chunk("dogs bark", "c2"))
    result = await desk.ask("cats sleep", threshold=threshold)
    assert result.error is None
    assert bool(result.items) == found


async def test_threshold_cuts_on_the_score_shown(desk: Desk) -> None:
    """What is shown has at least the threshold, and nothing that has it is left out."""
    await desk.put("docs", *(a_chunk(f"cats {'x' * n} sleep", f"c{n}") for n in range(6)))
    everything = await desk.ask("cats sleep")
    middle = sorted(item.score or 0 for item in everything.items)[3]
    some = await desk.ask("cats sleep", threshold=middle)
    assert ids(some) == [c for c, i in zip(ids(everything), everything.items, strict=True)
                         if (i.score or 0) >= middle]  # fmt: skip


async def test_threshold_is_told(desk: Desk) -> None:
    """How many a threshold left out is told, and where it is the file's; none is not told."""
    await desk.put("docs", *(a_chunk(f"cats {'x' * n} sleep", f"c{n}") for n in range(6)))
    assert (await desk.ask("cats sleep", threshold=0.0)).notices == ()
    asked = await desk.ask("cats sleep", threshold=1.0)
    assert asked.notices == ("the threshold 1 left out 6 passages",)
    file = await desk.ask("cats sleep", threshold=1.0, defaults=frozenset({"threshold"}))
    assert file.notices == ("the threshold 1 (search.kb.threshold) left out 6 passages",)


@pytest.mark.parametrize("threshold", [-0.1, 1.5])
async def test_threshold_outside(desk: Desk, threshold: float) -> None:
    """A threshold that no score can have is an error that names it."""
    await desk.put("docs", a_chunk("cats"))
    result = await desk.ask("cats", threshold=threshold)
    assert f"threshold is {threshold:g}" in (result.error or "")


async def test_nothing_to_search(desk: Desk) -> None:
    """Without a question there is an error; without a collection, nothing and a notice."""
    assert "query is required" in ((await desk.ask("  ")).error or "")
    request = SearchRequest(query="x", type="kb", collections=())
    result = await desk.handler.search(request, context=CONTEXT)
    assert (result.error, result.items) == (None, ())
    assert "no collection was searched" in result.notices[0]


async def test_empty_collection(desk: Desk) -> None:
    """A collection to which nothing was ever added gives nothing, and asks no store."""
    desk.shelf.held["docs"] = Collection(name="docs")
    result = await desk.ask("cats")
    assert (result.error, result.items, result.notices) == (None, (), ())


async def test_one_fails(desk: Desk) -> None:
    """What one collection has is shown when another fails; when all fail, that is the error."""
    await desk.put("docs", a_chunk("cats sleep", "c1"))
    desk.shelf.held["broken"] = replace(desk.shelf.held["docs"], name="broken", index="gone")
    desk.shelf.known["b1"] = a_chunk("cats", "b1", collection="broken")
    result = await desk.ask("cats", "docs", "broken")
    assert ids(result) == ["c1"]
    assert result.error is None
    assert "'broken' could not be searched" in result.notices[0]
    assert "kb reindex" in result.notices[0]
    outcomes = [(each.engine, each.outcome) for each in result.attempts]
    assert outcomes == [("kb:docs", "ok"), ("kb:broken", "upstream_down")]
    alone = await desk.ask("cats", "broken", "missing")
    assert [each.engine for each in alone.attempts] == ["kb:broken"], "no name that is not there"
    assert "'broken'" in (alone.error or "")
    assert "'missing'" in (alone.error or "")


async def test_other_embedder(desk: Desk) -> None:
    """A collection embedded by another is refused, naming both; others go on."""
    await desk.put("docs", a_chunk("cats sleep", "c1"))
    await desk.put("old", a_chunk("cats", "c2"), embedder_id="ada (2)")
    result = await desk.ask("cats", "docs", "old")
    assert ids(result) == ["c1"]
    (notice,) = result.notices
    assert "ada (2)" in notice
    assert "words (1)" in notice
    assert "kb reindex old" in notice


async def test_permission(desk: Desk) -> None:
    """Who may not read a collection is told the same as of one that is not there."""
    await desk.put("open", a_chunk("cats sleep", "c1"))
    await desk.put("closed", a_chunk("cats sleep too", "c2"), permission={"team": "sales"})
    mine = await desk.ask("cats", "open", "closed", identity={"team": "sales"})
    assert set(ids(mine)) == {"c1", "c2"}
    theirs = await desk.ask("cats", "open", "closed", identity={"team": "ops"})
    missing = await desk.ask("cats", "open", "nowhere", identity={"team": "ops"})
    assert ids(theirs) == ["c1"]
    assert theirs.notices[0].replace("closed", "nowhere") == missing.notices[0]


async def test_the_contexts_identity_counts(desk: Desk) -> None:
    """Where the context knows who asks, a request cannot say it is another."""
    await desk.put("closed", a_chunk("cats", "c2"), permission={"team": "sales"})
    request = SearchRequest(
        query="cats", type="kb", collections=("closed",), identity={"team": "sales"}
    )
    context = SearchContext(identity={"team": "ops"})
    assert (await desk.handler.search(request, context=context)).items == ()


async def test_no_index(desk: Desk) -> None:
    """An index that is gone is an error, unless there was nothing in it to be found."""
    await desk.put("docs", a_chunk("cats sleep", "c1"))
    await desk.index.drop("docs")
    desk.shelf.held["begun"] = replace(desk.shelf.held["docs"], name="begun", index="begun")
    result = await desk.ask("cats", "begun")
    assert (result.items, result.error) == ((), None)
    lost = await desk.ask("cats", "docs")
    assert lost.error is not None
    assert "kb reindex" in lost.error


async def test_language_gate(desk: Desk) -> None:
    """An embedder of English ranks neither for a Chinese question nor Chinese passages."""
    desk.embedder.languages = frozenset({"en"})
    await desk.put("docs", a_chunk("猫在屋顶上睡觉", "zh"), a_chunk("cats sleep on the roof", "en"))
    chinese = await desk.ask("屋顶上的猫")
    assert ids(chinese) == ["zh"]
    assert set(chinese.items[0].scores) == {"text"}
    assert desk.embedder.asked == []
    await desk.put("more", a_chunk("猫 cats 在屋顶上睡觉", "both"))
    found = await desk.ask("cats roof", "docs", "more")
    english = {item.metadata["chunk_id"]: item for item in found.items}
    assert set(english["en"].scores) == {"text", "vector"}
    assert set(english["both"].scores) == {"text"}
    assert "zh" not in english, "nothing that may say so found it"


async def test_embedder_down(desk: Desk) -> None:
    """When no vector can be had, words alone are compared, and that is told."""

    class Down(WordEmbedder):
        async def query(self, text: str) -> Vector:
            raise EmbedderError("the embedder at 127.0.0.1 could not be asked")

    desk.embedder = Down()
    await desk.put("docs", a_chunk("cats sleep", "c1"), a_chunk("dogs", "c2"))
    result = await desk.ask("cats")
    assert ids(result) == ["c1"]
    assert "by words alone: the embedder at 127.0.0.1" in result.notices[0]


async def test_embedder_rests(desk: Desk) -> None:
    """An endpoint that failed is left alone for half a minute, and then asked again."""
    now = 100.0
    down = True

    class Shaky(WordEmbedder):
        async def query(self, text: str) -> Vector:
            vector = await super().query(text)
            if down:
                raise EmbedderError("the embedder at 127.0.0.1 could not be asked")
            return vector

    desk.embedder = Shaky()
    desk.handler = KnowledgeHandler(
        desk.shelf,  # type: ignore[arg-type]
        desk.index,
        lambda collection: desk.embedder,
        clock=lambda: now,
    )
    await desk.put("docs", a_chunk("cats sleep", "c1"))
    await desk.ask("cats")
    down = False
    now += 29.5
    result = await desk.ask("cats")
    assert ids(result) == ["c1"]
    assert "words (1) failed, and is asked again in 1 s" in result.notices[0]
    assert desk.embedder.asked == ["cats"]
    now += 1
    result = await desk.ask("cats")
    assert result.notices == ()
    assert set(result.items[0].scores) == {"text", "vector"}


async def test_slow_embedder(desk: Desk) -> None:
    """An endpoint that does not answer costs a question its nearness, and no more time."""

    class Slow(WordEmbedder):
        async def query(self, text: str) -> Vector:
            await asyncio.Event().wait()
            raise AssertionError

    desk.embedder = Slow()
    desk.handler = KnowledgeHandler(
        desk.shelf,  # type: ignore[arg-type]
        desk.index,
        lambda collection: desk.embedder,
        vector_s=0.01,
    )
    await desk.put("docs", a_chunk("cats sleep", "c1"), a_chunk("dogs", "c2"))
    result = await desk.ask("cats")
    assert ids(result) == ["c1"]
    assert "words alone: words (1) took longer than 0.01 s" in result.notices[0]


@pytest.mark.parametrize("dropped", [True, False])
async def test_reindexed_meanwhile(desk: Desk, dropped: bool) -> None:
    """A search that began in an index which was switched for another goes on in that one."""
    old = a_chunk("cats sleep", "old")
    await desk.put("docs", old)

    class Switching(WordEmbedder):
        async def query(self, text: str) -> Vector:
            if not self.asked:
                new = a_chunk("cats sleep", "new", collection="docs")
                await desk.index.create("docs-2", dimension=DIMENSION, language="auto")
                await desk.index.add("docs-2", [new], word_vectors([new.text]))
                desk.shelf.held["docs"] = replace(desk.shelf.held["docs"], index="docs-2")
                desk.shelf.known = {"new": new}
                if dropped:
                    await desk.index.drop("docs")
            return await super().query(text)

    desk.embedder = Switching()
    result = await desk.ask("cats")
    assert (result.error, ids(result)) == (None, ["new"])


async def test_removed_meanwhile(desk: Desk) -> None:
    """What was removed, or taken away from whoever asks, while it was searched is not there."""

    class Removing(WordEmbedder):
        async def query(self, text: str) -> Vector:
            held = desk.shelf.held["docs"]
            desk.shelf.held["docs"] = replace(held, permission={"team": "law"})
            return await super().query(text)

    await desk.put("docs", a_chunk("cats sleep", "c1"))
    desk.embedder = Removing()
    result = await desk.ask("cats")
    assert result.items == ()
    assert "no collection that you may read" in (result.error or "")


async def test_said_twice(desk: Desk) -> None:
    """What two documents say word for word takes one place, and another passage the next."""
    await desk.put(
        "docs",
        a_chunk("cats sleep", "c1"),
        a_chunk("cats\n sleep ", "c2"),
        a_chunk("cats cats cats sleep sleep", "c4"),
        a_chunk("cats sleep by day", "c3"),
    )
    result = await desk.ask("cats sleep", limit=2)
    assert len(result.items) == 2
    assert "c3" in ids(result)


async def test_filters(desk: Desk) -> None:
    """Only passages whose document has the values are found, as many as are wanted."""
    chunks = [a_chunk(f"cats {n}", f"c{n:02}", metadata={"year": n % 2}) for n in range(40)]
    await desk.put("docs", *chunks)
    result = await desk.ask("cats", metadata={"year": 1}, limit=15)
    assert len(result.items) == 15
    assert {item.metadata["year"] for item in result.items} == {1}


@pytest.mark.parametrize("word", ["cats ", "猫猫猫猫", "w{} "])
async def test_a_very_long_question(desk: Desk, word: str) -> None:
    """Of a question of megabytes the beginning is compared, and that is told."""
    await desk.put("docs", a_chunk("cats 猫猫 w1", "c1"))
    asked = "".join(word.format(n) for n in range(300_000))
    result = await desk.ask(asked)
    assert ids(result) == ["c1"]
    assert result.notices == ("the first 10000 characters of the question were compared",)
    assert result.query == asked
    assert len(desk.embedder.asked[0]) == MAX_QUESTION_CHARS


async def test_leftovers(desk: Desk) -> None:
    """Chunks that belong to no document are no results, and take no place of one."""
    await desk.put("docs", *(a_chunk(f"cats {n}", f"c{n:02}") for n in range(10)))
    for n in range(5):
        del desk.shelf.known[f"c{n:02}"]
    assert set(ids(await desk.ask("cats", limit=5))) == {f"c{n:02}" for n in range(5, 10)}


async def test_neighbours(desk: Desk) -> None:
    """Neighbours come as one passage, with the document's own text, and leave room for others."""
    text = "Cats sleep.\n\nCats sleep a lot.  Fish swim."
    places = [(0, 11), (13, 30), (32, 42)]
    chunks = [
        a_chunk(text[a:b], f"c{n}", document_id="d", revision="r", ordinal=n, start=a, end=b)
        for n, (a, b) in enumerate(places)
    ]
    desk.shelf.texts["d"] = text
    await desk.put("docs", *chunks, a_chunk("Cats sleep by day, says another.", "other"))
    result = await desk.ask("cats sleep", limit=2)
    assert len(result.items) == 2
    merged = next(item for item in result.items if item.document_id == "d")
    assert merged.content == text[0:30]
    assert (merged.metadata["start"], merged.metadata["end"]) == (0, 30)
    assert merged.metadata["chunk_ids"] == ["c0", "c1"]


async def test_cancelled(desk: Desk) -> None:
    """A search that is cancelled leaves no task behind."""
    started = asyncio.Event()

    class Slow(WordEmbedder):
        async def query(self, text: str) -> Vector:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

    desk.embedder = Slow()
    await desk.put("docs", a_chunk("cats"))
    before = asyncio.all_tasks()
    task = asyncio.create_task(desk.ask("cats"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    left = asyncio.all_tasks() - before - {task}
    await asyncio.gather(*left, return_exceptions=True)
    assert all(each.cancelled() for each in left)
