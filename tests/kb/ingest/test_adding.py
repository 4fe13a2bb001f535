"""Adding, updating, removing: once, whole, and for good."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import papers
from refdesk.errors import ConfigError, IngestError, StoreError
from refdesk.kb.collection import Knowledge, Progress
from refdesk.kb.ingest import chunk as chunk_module
from refdesk.kb.ingest import jobs as job_module
from refdesk.kb.ingest.jobs import is_dead, owner_here
from refdesk.store import Store
from refdesk.store.passages import Collection

TEXT = "# Title\n\n" + "\n\n".join(f"Paragraph number {at} has some words." for at in range(6))


async def test_add(desk: Any) -> None:
    """A document is ready with all of its text in passages that know their place."""
    knowledge = desk.knowledge()
    path = desk.paper("a.md", TEXT)
    (added,) = await knowledge.add("docs", [path], metadata={"team": "sales"})
    document = added.document
    assert (added.outcome, document.status, document.key) == ("added", "ready", str(path))
    assert (document.title, document.report.coverage) == ("Title", 1.0)
    chunks = desk.store.knowledge.chunks_of(document.id)
    assert len(chunks) == document.chunks > 3
    for chunk in chunks:
        assert await knowledge.text(document.id, chunk.start, chunk.end) == chunk.text
        assert chunk.heading == ("Title",)
        assert chunk.metadata["team"] == "sales"
        assert chunk.metadata["filename"] == "a.md"
    desk.consistent()


async def test_same_again(desk: Any) -> None:
    """The same content at the same key is no work; at another path it is another document."""
    knowledge = desk.knowledge()
    path = desk.paper("a.md", TEXT)
    await knowledge.add("docs", [path])
    done = len(desk.embedder.texts)
    (again,) = await knowledge.add("docs", [path])
    assert again.outcome == "unchanged"
    assert len(desk.embedder.texts) == done
    (other,) = await knowledge.add("docs", [desk.paper("b.md", TEXT)])
    assert other.outcome == "added"
    assert len(await knowledge.documents("docs")) == 2


async def test_update_replaces(desk: Any) -> None:
    """Another content at a key takes the place of the first, under the same id."""
    knowledge = desk.knowledge()
    path = desk.paper("a.md", TEXT)
    (first,) = await knowledge.add("docs", [path])
    desk.paper("a.md", "Something new.")
    (second,) = await knowledge.add("docs", [path])
    assert second.outcome == "updated"
    assert second.document.id == first.document.id
    assert desk.index.texts() == ["Something new."]
    desk.consistent()


async def test_other_metadata_is_an_update(desk: Any) -> None:
    """Other values to filter by reach the passages."""
    knowledge = desk.knowledge()
    path = desk.paper("a.md", "Words.")
    await knowledge.add("docs", [path], metadata={"year": 2025})
    (second,) = await knowledge.add("docs", [path], metadata={"year": 2026})
    assert second.outcome == "updated"
    (held,) = desk.index.chunks.values()
    assert [chunk.metadata["year"] for chunk in held.values()] == [2026]


async def test_remove_and_add_again(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is removed is gone everywhere, by id, key or relative path, and can come back."""
    knowledge = desk.knowledge()
    path = desk.paper("a.md", TEXT)
    monkeypatch.chdir(desk.papers)
    for name in ("id", str(path), "a.md"):
        (added,) = await knowledge.add("docs", [path])
        assert added.outcome == "added"
        await knowledge.remove("docs", added.document.id if name == "id" else name)
        assert desk.index.texts() == []
        assert await knowledge.text(added.document.id, 0, 100) == ""
        desk.consistent()
    with pytest.raises(StoreError, match=r"has no document 'a\.md'; give its id"):
        await knowledge.remove("docs", "a.md")


async def test_failures_stand_in_the_report(desk: Any) -> None:
    """What has no text is never ready; each one says why, and the others are taken in."""
    knowledge = desk.knowledge()
    (desk.papers / "scan.pdf").write_bytes(papers.pdf(["", ""]))
    (desk.papers / "bomb.docx").write_bytes(papers.bomb())
    (desk.papers / ".secret").write_text("x")
    (desk.papers / "blank.txt").write_text(" \n")
    desk.paper("good.txt", "Words.")
    added = await knowledge.add("docs", [desk.papers, desk.papers / "missing"])
    assert [(Path(one.key).name, one.outcome) for one in added] == [
        (".secret", "skipped"),
        ("blank.txt", "empty"),
        ("bomb.docx", "failed"),
        ("good.txt", "added"),
        ("scan.pdf", "empty"),
        ("missing", "failed"),
    ]
    reports = {Path(one.key).name: one for one in await knowledge.report("docs")}
    assert {name: one.status for name, one in reports.items()} == {
        "blank.txt": "empty",
        "bomb.docx": "failed",
        "good.txt": "ready",
        "scan.pdf": "empty",
    }
    scan = reports["scan.pdf"].report
    assert (scan.pages, scan.pages_without_text, scan.coverage) == (2, (1, 2), 0.0)
    assert "run OCR" in scan.error
    assert "times its size" in reports["bomb.docx"].report.error
    desk.consistent()


async def test_coverage_is_of_the_file(desk: Any) -> None:
    """Coverage is the share of what the file holds, and what is lost stands in the report."""
    words = "The harbour office keeps a register of all ships that call here. " * 8
    (desk.papers / "a.html").write_text(
        "<html><body><div class=sidebar><p>Zebra quagga okapi said so.</p></div>"
        f"<main><article><h1>Piers</h1><p>{words}</p></article></main></body></html>"
    )
    (desk.papers / "b.txt").write_bytes("今天天气很好。".encode() * 10 + b"\xff")
    (desk.papers / "c.csv").write_text("a,b\n1,2\n")
    added = await desk.knowledge().add("docs", [desk.papers])
    page, text, table = (one.document.report for one in added)
    held = len("Piers") + sum(map(str.isalnum, words))
    assert (page.characters_in_file, page.characters_lost) == (held + 22, 22)
    assert page.coverage == pytest.approx(held / (held + 22))
    assert any("22 of" in note and "Zebra quagga" in note for note in page.skipped)
    assert (text.characters_in_file, text.characters_lost) == (61, 1)
    assert text.coverage == pytest.approx(60 / 61)
    assert (table.characters_in_file, table.characters_lost, table.coverage) == (4, 0, 1.0)


async def test_what_another_reader_read(desk: Any) -> None:
    """What was read by a reader that is no longer used is read again, though it is the same."""
    (desk.papers / "a.docx").write_bytes(papers.docx("Report", "R&amp;D went well."))
    knowledge = desk.knowledge()
    (first,) = await knowledge.add("docs", [desk.papers])
    assert [one.outcome for one in await knowledge.add("docs", [desk.papers])] == ["unchanged"]
    before = replace(first.document.report, parser="kreuzberg")
    desk.store.knowledge.note(first.document.id, before)
    (again,) = await knowledge.add("docs", [desk.papers])
    assert (again.outcome, again.document.report.parser) == ("updated", "word")
    assert [one.outcome for one in await knowledge.add("docs", [desk.papers])] == ["unchanged"]
    desk.consistent()


async def test_pages_without_text_are_told(desk: Any) -> None:
    """A document of which some pages have no text says which."""
    (desk.papers / "a.pdf").write_bytes(papers.pdf(["Alpha words", "", "Gamma words"]))
    (added,) = await desk.knowledge().add("docs", [desk.papers])
    report = added.document.report
    assert (added.outcome, report.pages, report.pages_without_text) == ("added", 3, (2,))
    assert report.skipped == ("page 2 has no text, as scans do: run OCR over it",)
    chunks = desk.store.knowledge.chunks_of(added.document.id)
    assert {chunk.page for chunk in chunks} == {1, 3}


async def test_broken_update_keeps_what_was_there(desk: Any) -> None:
    """A new version that cannot be read does not cost the old one; the report tells."""
    knowledge = desk.knowledge()
    path = desk.paper("a.txt", "Good words.")
    await knowledge.add("docs", [path])
    path.write_bytes(bytes(range(256)) * 10)
    (second,) = await knowledge.add("docs", [path])
    assert (second.outcome, second.document.status) == ("failed", "ready")
    assert second.document.report.error.startswith("the newer version was not taken in: it is no")
    assert desk.index.texts() == ["Good words."]
    desk.consistent()


async def test_two_at_once(desk: Any) -> None:
    """Of two that add one file at the same moment, one does it and the other finds it there."""
    path = desk.paper("a.md", TEXT)
    first, second = desk.knowledge(), desk.knowledge()
    both = await asyncio.gather(first.add("docs", [path]), second.add("docs", [path]))
    assert sorted(one.outcome for (one,) in both) == ["added", "unchanged"]
    assert len(desk.embedder.texts) == len(desk.index.texts())
    desk.consistent()


async def test_upload(desk: Any) -> None:
    """Bytes are taken in under the name's last part, and no file of them is left."""
    knowledge = desk.knowledge()
    added = await knowledge.upload("docs", "../../etc/x.md", b"# Hi\n\nWords.")
    assert (added.outcome, added.key, added.document.kind) == ("added", "x.md", "upload")
    twice = await asyncio.gather(*[knowledge.upload("docs", "y.txt", b"Same.") for _ in range(2)])
    assert sorted(one.outcome for one in twice) == ["added", "unchanged"]
    assert list((desk.folder / "incoming").iterdir()) == []
    desk.consistent()


async def test_progress(desk: Any) -> None:
    """Progress counts documents and bytes, and what it tells as added is in the store."""
    for at in range(5):
        desk.paper(f"{at}.txt", f"Words {at}.")
    seen: list[Progress] = []

    async def look(progress: Progress) -> None:
        seen.append(progress)
        assert desk.store.knowledge.document("docs", progress.key).status == "ready"

    await desk.knowledge().add("docs", [desk.papers], progress=look)
    assert [(one.done, one.total) for one in seen] == [(at, 5) for at in range(1, 6)]
    assert (seen[-1].bytes_done, seen[-1].bytes_total, seen[-1].left_s) == (40, 40, 0.0)


async def test_failing_embedder(desk: Any) -> None:
    """What could not be embedded stays to be done: nothing half is seen, and it is resumed."""
    knowledge = desk.knowledge()
    desk.embedder.failing = StoreError("the endpoint is away")
    (failed,) = await knowledge.add("docs", [desk.paper("a.md", TEXT)])
    assert (failed.outcome, failed.reason) == ("failed", "the endpoint is away")
    assert await knowledge.documents("docs") == []
    desk.embedder.failing = None
    (resumed,) = await knowledge.resume()
    assert resumed.outcome == "added"
    desk.consistent()


class Died(BaseException):
    """The process is gone: nothing after it is done."""


STEPS = [
    *(("index", name) for name in ("create", "add", "delete")),
    *(("knowledge", name) for name in ("leave", "publish", "strike", "settle_embedder")),
    *(("jobs", name) for name in ("put_all", "claim")),
]


@pytest.mark.parametrize(("part", "name"), STEPS)
@pytest.mark.parametrize("before", [True, False])
async def test_death_at_every_step(
    desk: Any, monkeypatch: pytest.MonkeyPatch, part: str, name: str, before: bool
) -> None:
    """
    Whoever dies at a step, just before it or just after, leaves an old version or a new one.

    The next process does the rest, and nothing is left over.
    """
    knowledge = desk.knowledge()
    kept = desk.paper("kept.md", "Kept words.")
    changed = desk.paper("changed.md", "Old words.")
    if name != "settle_embedder":
        await knowledge.add("docs", [kept, changed])
        desk.paper("changed.md", "New words.")
    owner = {"index": desk.index, "knowledge": desk.store.knowledge, "jobs": desk.store.jobs}[part]
    real = getattr(owner, name)
    if part == "index":

        async def dies(*args: Any, **kwargs: Any) -> None:
            if not before:
                await real(*args, **kwargs)
            raise Died

    else:

        def dies(*args: Any, **kwargs: Any) -> None:
            if not before:
                real(*args, **kwargs)
            raise Died

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, dies)
        # A dead process gives nothing back.
        patch.setattr(desk.store.jobs, "release", lambda *_: None)
        with pytest.raises(BaseExceptionGroup if name not in BARE else Died):
            await desk.knowledge().add("docs", [kept, changed])
    texts = {
        chunk.text
        for document in desk.store.knowledge.documents("docs")
        for chunk in desk.store.knowledge.chunks_of(document.id)
    }
    if name != "settle_embedder":
        assert texts in ({"Kept words.", "Old words."}, {"Kept words.", "New words."})

    monkeypatch.setattr(job_module, "is_dead", lambda _: True)
    survivor = desk.knowledge()
    await survivor.resume()
    await survivor.add("docs", [kept, changed])
    assert desk.index.texts() == sorted([kept.read_text(), changed.read_text()])
    desk.consistent()


BARE = ("settle_embedder", "put_all", "delete", "strike")
"""Steps that are taken outside of the group of workers."""


async def test_sweep_spares_what_is_being_written(desk: Any) -> None:
    """Clearing up does not touch the vectors of a document that another is adding."""
    other = desk.knowledge()

    async def clear_up() -> None:
        await other.resume()

    desk.embedder.before = clear_up
    (added,) = await desk.knowledge().add("docs", [desk.paper("a.md", TEXT)])
    assert added.outcome == "added"
    desk.consistent()


async def test_lost_claim(desk: Any) -> None:
    """Whoever lost its job to another, because it slept too long, publishes nothing."""
    path = desk.paper("a.md", TEXT)

    async def taken_over() -> None:
        (job,) = desk.store.jobs.open()
        assert desk.store.jobs.claim(job.id, "another", lease_s=60, over=job.owner)

    desk.embedder.before = taken_over
    (lost,) = await desk.knowledge().add("docs", [path])
    assert lost.outcome == "failed"
    assert desk.index.texts() == []
    (job,) = desk.store.jobs.open()
    desk.store.jobs.release(job.id, "another")
    (added,) = await desk.knowledge().resume()
    assert added.outcome == "added"
    desk.consistent()


def test_owner_of_this_machine() -> None:
    """A process that lives is not dead; one whose number another has now, is; of others no word."""
    here = owner_here()
    assert not is_dead(here)
    host, pid, _, token = here.split("/")
    assert is_dead(f"{host}/{pid}/1/{token}")
    assert not is_dead(f"elsewhere/{pid}/1/{token}")
    assert not is_dead("nonsense")


async def test_abandoned_upload(desk: Any) -> None:
    """The bytes of an upload outlive the process that took them; a later one takes them in."""
    knowledge = desk.knowledge()
    desk.embedder.failing = StoreError("away")
    await knowledge.upload("docs", "a.txt", b"Words.")
    assert len(list((desk.folder / "incoming").iterdir())) == 1
    desk.embedder.failing = None
    (resumed,) = await desk.knowledge().resume()
    assert (resumed.outcome, desk.index.texts()) == ("added", ["Words."])
    assert list((desk.folder / "incoming").iterdir()) == []


async def test_removed_while_an_update_lies_undone(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document that is removed does not come back with an update that a dead process left."""
    path = desk.paper("a.md", "Old words.")
    await desk.knowledge().add("docs", [path])
    desk.paper("a.md", "New words.")

    async def dies(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(desk.index, "add", dies)
        patch.setattr(desk.store.jobs, "release", lambda *_: None)
        with pytest.raises(BaseExceptionGroup):
            await desk.knowledge().add("docs", [path])
    monkeypatch.setattr(job_module, "is_dead", lambda _: True)
    survivor = desk.knowledge()
    await survivor.remove("docs", str(path))
    assert await survivor.resume() == []
    assert desk.index.texts() == []
    desk.consistent()


async def test_half_an_index(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a dead process built of an index goes when the undone is done, and so does its job."""
    await desk.knowledge().add("docs", [desk.paper("a.md", "Words.")])

    def dies(*_: Any, **__: Any) -> None:
        raise Died

    with monkeypatch.context() as patch:
        for owner, name in ((desk.store.knowledge, "switch"), (desk.store.jobs, "done")):
            patch.setattr(owner, name, dies)
        patch.setattr(desk.index, "drop", dies)
        with pytest.raises(Died):
            await desk.knowledge().reindex("docs")
    assert len(desk.index.chunks) == 2
    monkeypatch.setattr(job_module, "is_dead", lambda _: True)
    await desk.knowledge().resume()
    assert len(desk.index.chunks) == 1
    desk.consistent()


async def test_other_embedder(desk: Any) -> None:
    """A collection refuses another embedder than it was made with, and names both."""
    knowledge: Knowledge = desk.knowledge()
    await knowledge.add("docs", [desk.paper("a.md", TEXT)])
    desk.embedder.identity = "other"
    with pytest.raises(
        ConfigError, match=r"embedded by hash-4 and is configured with other.*kb rei"
    ):
        await knowledge.add("docs", [desk.papers])


async def test_collection_that_goes_meanwhile(desk: Any) -> None:
    """A collection that is dropped while a document is added leaves nothing behind."""
    other = desk.knowledge()

    async def drop() -> None:
        await other.drop("docs")

    desk.embedder.before = drop
    (lost,) = await desk.knowledge().add("docs", [desk.paper("a.md", TEXT)])
    assert lost.outcome == "failed"
    await other.resume()
    assert desk.index.texts() == []
    await other.create(Collection(name="docs"))
    desk.consistent()


async def test_files_of_another_machine(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a store that machines share, a file that is not here is left to the one that has it."""
    desk.store.jobs.put("docs", "/elsewhere/a.md", kind="path")
    desk.store.jobs.put("docs", "b.md", kind="upload", upload="upload-elsewhere")
    here = desk.paper("c.md", "All is well.")
    desk.store.jobs.put("docs", str(here), kind="path")
    monkeypatch.setattr(Store, "embedded", False)
    (done,) = await desk.knowledge().resume()
    assert (done.key, done.outcome) == (str(here), "added")
    assert {job.key for job in desk.store.jobs.open()} == {"/elsewhere/a.md", "b.md"}
    monkeypatch.setattr(Store, "embedded", True)
    done = await desk.knowledge().resume()
    assert {one.outcome for one in done} == {"failed"}
    assert desk.store.jobs.open() == []


async def test_too_many_passages(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document of too many passages fails with the reason; a re-index that makes them ends."""
    knowledge = desk.knowledge()
    (kept,) = await knowledge.add("docs", [desk.paper("a.md", "Some words. " * 60)])
    monkeypatch.setattr(chunk_module, "MAX_PASSAGES", kept.document.chunks)
    (refused,) = await knowledge.add("docs", [desk.paper("b.md", "More words. " * 120)])
    assert refused.outcome == "failed"
    assert "passages: split it, or have longer passages (chunk_chars)" in (refused.reason or "")
    with pytest.raises(IngestError, match=r"a\.md cannot be parted: it makes more than"):
        await knowledge.reindex("docs", chunk_chars=50)
    assert (await knowledge.show("docs")).chunk_chars == 60
    assert len(desk.index.chunks) == 1
    desk.consistent()
