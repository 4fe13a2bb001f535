"""Collections: made, shown, embedded anew, dropped; passages and what surrounds them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select

import papers
from refdesk.errors import ConfigError, StoreError
from refdesk.kb.collection import Progress
from refdesk.kb.remembered import without_secrets
from refdesk.store.passages import Collection, Counts
from refdesk.store.tables import kb_chunks

TEXT = "# Title\n\n" + "\n\n".join(f"Paragraph number {at} has some words." for at in range(6))


async def test_create_and_list(desk: Any) -> None:
    """A collection is kept as it was made; a second of its name is refused."""
    knowledge = desk.knowledge()
    made = await knowledge.create(
        Collection(name="手册", language="zh", graph=True, permission={"team": "a"})
    )
    assert await knowledge.show("手册") == made
    assert (made.language, made.graph, made.permission) == ("zh", True, {"team": "a"})
    assert [one.name for one in await knowledge.list()] == ["docs", "手册"]
    with pytest.raises(StoreError, match="there is a collection called '手册' already"):
        await knowledge.create(Collection(name="手册"))
    with pytest.raises(StoreError, match="no collection is called 'nope'; known: docs, 手册"):
        await knowledge.show("nope")


@pytest.mark.parametrize("name", ["", ".x", "a/b", "a b", "x" * 65, "../x", "-"])
async def test_names(desk: Any, name: str) -> None:
    """A name that could be mistaken for a path or an option is refused."""
    with pytest.raises(ConfigError, match="cannot be called"):
        await desk.knowledge().create(Collection(name=name))


@pytest.mark.parametrize(
    "secret",
    [
        {"api_key": "canary"},
        {"headers": {"x": "canary"}},
        {"base_url": "https://user:canary@embeddings.example/v1"},
        {"base_url": "https://embeddings.example/v1?api_key=canary"},
    ],
)
async def test_keys_are_refused(desk: Any, secret: dict[str, Any]) -> None:
    """A key is not kept, and not dropped in silence: the message says where it belongs."""
    entry = {"type": "openai", "model": "m", **secret}
    with pytest.raises(ConfigError, match=r"api_key_env.*under collections\.remote") as refused:
        await desk.knowledge().create(Collection(name="remote", embedder=entry))
    assert "canary" not in str(refused.value)
    assert without_secrets(entry) == {"type": "openai", "model": "m"}


async def test_what_is_remembered(desk: Any) -> None:
    """All else of an embedder's entry is kept, the name of a key's variable too."""
    entry = {"type": "openai", "model": "m", "api_key_env": "EMBED_KEY", "languages": ["en"]}
    made = await desk.knowledge().create(Collection(name="remote", embedder=entry))
    assert made.embedder == entry


async def test_embedder_is_remembered(desk: Any) -> None:
    """From the first document on, a collection knows what embedded it."""
    knowledge = desk.knowledge()
    assert (await knowledge.show("docs")).embedder_id is None
    await knowledge.add("docs", [desk.paper("a.md", TEXT)])
    collection = await knowledge.show("docs")
    assert (collection.embedder_id, collection.dimension) == ("hash-4", 4)


async def test_reindex(desk: Any) -> None:
    """Embedding anew takes another embedder, builds beside, switches, and drops the old index."""
    knowledge = desk.knowledge()
    await knowledge.add("docs", [desk.paper("a.md", TEXT), desk.paper("b.md", "Other words.")])
    before = await knowledge.show("docs")
    texts = desk.index.texts()
    desk.embedder.identity = "other"
    seen = []
    after = await knowledge.reindex("docs", embedder={"type": "other"}, progress=seen.append)
    assert (after.embedder_id, after.embedder) == ("other", {"type": "other"})
    assert list(desk.index.chunks) == [after.index] != [before.index]
    assert desk.index.texts() == texts
    assert [(one.done, one.total) for one in seen] == [(1, 2), (2, 2)]
    (again,) = await knowledge.add("docs", [desk.papers / "a.md"])
    assert again.outcome == "unchanged"
    desk.consistent()


async def test_reindex_while_documents_change(desk: Any) -> None:
    """What is added, changed and removed while a collection is embedded anew is not lost."""
    knowledge, other = desk.knowledge(), desk.knowledge()
    for name in ("a.md", "b.md", "c.md"):
        desk.paper(name, f"First words of {name}.")
    await knowledge.add("docs", [desk.papers])

    async def change() -> None:
        await other.remove("docs", str(desk.papers / "a.md"))
        desk.paper("b.md", "Second words.")
        desk.paper("d.md", "New words.")
        added = await other.add("docs", [desk.papers / "b.md", desk.papers / "d.md"])
        assert [one.outcome for one in added] == ["updated", "added"]

    desk.embedder.before = change
    await knowledge.reindex("docs")
    assert desk.index.texts() == ["First words of c.md.", "New words.", "Second words."]
    desk.consistent()


async def test_document_embedded_across_a_switch(desk: Any) -> None:
    """A document that was embedded for the old index while the new one came is embedded again."""
    knowledge, other = desk.knowledge(), desk.knowledge()
    await knowledge.add("docs", [desk.paper("a.md", "First.")])

    async def switch() -> None:
        await other.reindex("docs")

    desk.embedder.before = switch
    (added,) = await knowledge.add("docs", [desk.paper("b.md", "Second.")])
    assert added.outcome == "added"
    assert desk.index.texts() == ["First.", "Second."]
    desk.consistent()


async def test_counts(desk: Any) -> None:
    """What is in a collection is counted, also what could not be read; nothing is in no other."""
    knowledge = desk.knowledge()
    await knowledge.add("docs", [desk.paper("a.md", TEXT), desk.paper("blank.txt", " ")])
    documents = await knowledge.documents("docs")
    assert await knowledge.counts("docs") == Counts(
        documents=2,
        ready=1,
        chunks=sum(each.chunks for each in documents),
        characters=len(TEXT),
    )
    assert await knowledge.counts("nothing") == Counts()


def staged(desk: Any) -> int:
    """How many passages there are that are in no document."""
    known = {each.id for one in desk.store.knowledge.collections()
             for each in desk.store.knowledge.documents(one.name)}  # fmt: skip
    with desk.store._database.read() as connection:
        owners = connection.execute(select(kb_chunks.c.document_id)).scalars().all()
    return sum(owner not in known for owner in owners)


async def test_reindex_with_other_lengths(desk: Any) -> None:
    """Passages get the length that is wished for; text, pages and documents stay as they are."""
    knowledge = desk.knowledge()
    pages = ["First page. " * 20, "", "Third page. " * 20]
    (desk.papers / "p.pdf").write_bytes(papers.pdf(pages))
    desk.paper("a.md", TEXT)
    desk.paper("t.csv", "name,price\n" + "".join(f"thing {at},{at}\n" for at in range(40)))
    desk.paper("b.md", "Other words.")
    added = {Path(one.key).name: one.document for one in await knowledge.add("docs", [desk.papers])}
    before = {name: desk.store.knowledge.chunks_of(one.id) for name, one in added.items()}

    done = await knowledge.reindex("docs", chunk_chars=200)
    assert done.chunk_chars == 200
    desk.consistent()
    assert staged(desk) == 0
    after = {name: desk.store.knowledge.chunks_of(one.id) for name, one in added.items()}
    assert after["b.md"] == before["b.md"]
    for name in ("a.md", "t.csv", "p.pdf"):
        assert len(after[name]) < len(before[name])
        (now,) = await knowledge.report("docs", added[name].id)
        assert (now.report.coverage, now.report.chunks) == (1.0, len(after[name]))
        assert now.content_hash == added[name].content_hash
    assert {chunk.page for chunk in after["p.pdf"]} == {1, 3}
    assert all(chunk.text.startswith("name,price") for chunk in after["t.csv"])
    assert {chunk.heading for chunk in after["a.md"]} == {("Title",)}

    assert (await knowledge.reindex("docs", chunk_chars=60)).chunk_chars == 60
    back = {name: desk.store.knowledge.chunks_of(one.id) for name, one in added.items()}
    for name, chunks in before.items():
        assert [(one.start, one.end, one.page, one.index_text) for one in back[name]] == [
            (one.start, one.end, one.page, one.index_text) for one in chunks
        ]
    with pytest.raises(ConfigError, match="chunk_chars is 9"):
        await knowledge.reindex("docs", chunk_chars=9)


async def test_other_lengths_while_documents_change(desk: Any) -> None:
    """What changes while passages get another length is neither lost nor there twice."""
    knowledge, other = desk.knowledge(), desk.knowledge()
    for name in ("a.md", "b.md", "c.md"):
        desk.paper(name, TEXT.replace("number", name))
    await knowledge.add("docs", [desk.papers])

    async def change() -> None:
        await other.remove("docs", str(desk.papers / "a.md"))
        desk.paper("b.md", TEXT.replace("number", "second"))
        (added,) = await other.add("docs", [desk.papers / "b.md"])
        assert added.outcome == "updated"

    desk.embedder.before = change
    await knowledge.reindex("docs", chunk_chars=400)
    assert staged(desk) == 0
    assert len(desk.index.texts()) == 2
    desk.consistent()


async def test_failed_parting(desk: Any) -> None:
    """If it fails, the passages are as they were; what a killed process staged goes with them."""
    knowledge = desk.knowledge()
    (added,) = await knowledge.add("docs", [desk.paper("a.md", TEXT)])
    before = await knowledge.show("docs")
    chunks = desk.store.knowledge.chunks_of(added.document.id)
    desk.embedder.failing = StoreError("away")
    with pytest.raises(StoreError, match="away"):
        await knowledge.reindex("docs", chunk_chars=400)
    assert await knowledge.show("docs") == before
    assert desk.store.knowledge.chunks_of(added.document.id) == chunks
    assert staged(desk) == 0
    desk.consistent()

    left = [replace(chunk, id=f"left-{chunk.id}") for chunk in chunks]
    desk.store.staging.put(before.index, "doc_gone", left)
    assert staged(desk) == len(left)
    desk.embedder.failing = None
    await knowledge.reindex("docs")
    assert staged(desk) == 0
    desk.store.staging.put((await knowledge.show("docs")).index, "doc_gone", left)
    await knowledge.drop("docs")
    assert staged(desk) == 0


async def test_failed_reindex(desk: Any) -> None:
    """If embedding anew fails, the collection is as it was."""
    knowledge = desk.knowledge()
    await knowledge.add("docs", [desk.paper("a.md", TEXT)])
    before = await knowledge.show("docs")
    desk.embedder.failing = StoreError("away")
    with pytest.raises(StoreError, match="away"):
        await knowledge.reindex("docs")
    assert await knowledge.show("docs") == before
    desk.consistent()


async def test_two_reindexes(desk: Any) -> None:
    """A second process is told that a collection is being embedded anew."""
    knowledge, other = desk.knowledge(), desk.knowledge()
    await knowledge.add("docs", [desk.paper("a.md", TEXT)])

    async def second() -> None:
        with pytest.raises(StoreError, match="being re-indexed by another process"):
            await other.reindex("docs")
        assert await other.resume() == []

    desk.embedder.before = second
    await knowledge.reindex("docs")
    desk.consistent()


async def test_drop(desk: Any) -> None:
    """A dropped collection is gone with everything in it."""
    knowledge = desk.knowledge()
    await knowledge.add("docs", [desk.paper("a.md", TEXT)])
    await knowledge.drop("docs")
    assert desk.index.chunks == {}
    assert await knowledge.list() == []
    with pytest.raises(StoreError, match="no collection is called 'docs'; known: none"):
        await knowledge.drop("docs")
    desk.consistent()


async def test_lost_index(desk: Any) -> None:
    """Where the vectors are gone, nothing is added beside the loss; `reindex` brings them back."""
    knowledge = desk.knowledge()
    first = desk.paper("a.md", TEXT)
    await knowledge.add("docs", [first])
    texts = desk.index.texts()
    desk.index.chunks.clear()
    with pytest.raises(StoreError, match=r"nothing of the 1 documents of 'docs'.*kb reindex docs"):
        await desk.knowledge().add("docs", [desk.paper("b.md", "More.")])
    await knowledge.reindex("docs")
    assert desk.index.texts() == texts
    await knowledge.add("docs", [desk.paper("b.md", "More.")])
    desk.consistent()


async def test_passage(desk: Any) -> None:
    """Passages have their neighbours and the text round them; those of an old revision are gone."""
    knowledge = desk.knowledge()
    path = desk.paper("a.md", TEXT)
    (added,) = await knowledge.add("docs", [path])
    chunks = desk.store.knowledge.chunks_of(added.document.id)
    assert desk.store.knowledge.chunks_of(added.document.id, 1, 3) == chunks[1:4]
    start, end = chunks[1].start, chunks[3].end
    assert await knowledge.text(added.document.id, start, end) == TEXT[start:end]
    desk.paper("a.md", "New.")
    await knowledge.add("docs", [path])
    assert desk.store.knowledge.chunks([chunks[2].id]) == {}


async def test_long_text(desk: Any) -> None:
    """Text is read across the pieces that it is stored in."""
    knowledge = desk.knowledge()
    text = "".join(f"{at:09d}\n" for at in range(14_000))
    (added,) = await knowledge.add("docs", [desk.paper("long.txt", text)])
    for start, end in ((0, 10), (65_530, 65_550), (131_000, 140_000), (65_536, 65_537), (9, 3)):
        assert await knowledge.text(added.document.id, start, end) == text[start:end]


async def test_reindexing_a_damaged_document_ends(desk: Any) -> None:
    """A document whose passages are lost ends a re-index with its name, and changes nothing."""
    knowledge = desk.knowledge()
    await knowledge.add("docs", [desk.paper("a.md", "Words."), desk.paper("b.md", "More.")])
    damaged = next(each for each in await knowledge.documents("docs") if each.title == "a.md")
    with desk.store.knowledge._database.write() as connection:
        connection.execute(delete(kb_chunks).where(kb_chunks.c.document_id == damaged.id))
    index = (await knowledge.show("docs")).index
    told: list[Progress] = []
    with pytest.raises(StoreError, match=f"the document {damaged.id} .* the store has no passages"):
        await knowledge.reindex("docs", progress=told.append)
    assert len(told) <= 4
    assert (await knowledge.show("docs")).index == index
    assert list(desk.index.chunks) == [index]
