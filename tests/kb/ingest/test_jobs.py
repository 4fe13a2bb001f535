"""Waiting for a document that others work on: bounded tries, growing pauses, an end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from refdesk.errors import EmbedderError, StoreError
from refdesk.kb.ingest.jobs import LONGEST_PAUSE_S, MAX_WAIT_S, Runner, Sleep
from refdesk.kb.ingest.pipeline import Pipeline
from refdesk.kb.ingest.sparing import MAX_FAILURES
from refdesk.kb.ingest.work import AT_ONCE, Here
from refdesk.kb.ports import Vectors

KEY = "a.txt"


class Away:
    """An embedder whose endpoint fails: it counts how often it is asked."""

    identity = "hash-4"

    def __init__(self) -> None:
        self.calls = 0

    async def dimension(self) -> int:
        return 4

    async def passages(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        raise EmbedderError("the endpoint is away")


async def never(seconds: float) -> None:
    """A pause that no test should come to."""
    raise AssertionError(f"slept {seconds} s")


@pytest.fixture
def runner(desk: Any) -> Callable[[Sleep], Runner]:
    """Makes a runner that waits as it is told to."""
    folder = desk.folder / "incoming"

    def make(sleep: Sleep) -> Runner:
        work = Here(desk.parser)
        pipeline = Pipeline(desk.store, desk.index, work, fetcher=None, folder=folder)
        return Runner(desk.store, pipeline, folder=folder, sleep=sleep)

    return make


async def upload(desk: Any, runner: Runner, embedder: Any, text: bytes, **metadata: Any) -> Any:
    """Take bytes in under the one key."""
    collection = desk.store.knowledge.collection("docs")
    return await runner.upload(collection, KEY, text, embedder, metadata=metadata)


def kept(desk: Any) -> list[bytes]:
    """The uploads that wait."""
    return [path.read_bytes() for path in (desk.folder / "incoming").iterdir()]


@pytest.mark.parametrize("more", [{}, {"team": "sales"}])
async def test_a_newer_upload_after_a_failed_one(
    desk: Any, runner: Callable[[Sleep], Runner], more: dict[str, str]
) -> None:
    """While the endpoint fails, each upload asks it once, and the newest bytes are those kept."""
    mine, away = runner(never), Away()
    for count, text in enumerate((b"Old words.", b"New words.", b"Newest words."), 1):
        added = await upload(desk, mine, away, text, **(more if count > 1 else {}))
        assert (added.outcome, added.reason) == ("failed", "the endpoint is away")
        assert (away.calls, kept(desk)) == (count, [text])
    (done,) = await desk.knowledge().resume()
    assert (done.outcome, desk.index.texts()) == ("added", ["Newest words."])
    assert (kept(desk), dict(done.document.metadata)) == ([], more)
    desk.consistent()


async def test_many_uploads_at_once(desk: Any, runner: Callable[[Sleep], Runner]) -> None:
    """Many uploads of one name at once ask a failing endpoint once each, and all of them end."""

    async def turn(_: float) -> None:
        await asyncio.sleep(0)

    mine, away = runner(turn), Away()
    ended = await asyncio.gather(
        *(upload(desk, mine, away, f"Version {n}.".encode()) for n in range(8))
    )
    assert [one.outcome for one in ended] == ["failed"] * 8
    assert away.calls == 8
    assert len(kept(desk)) == 1


async def test_a_path_takes_the_place_of_an_upload(
    desk: Any, runner: Callable[[Sleep], Runner]
) -> None:
    """Whatever kind of source a job was left with, the newer one takes its place."""
    path = desk.paper("a.md", "From the disk.")
    desk.store.jobs.put("docs", str(path), kind="upload", upload="upload-gone")
    (added,) = await desk.knowledge().add("docs", [path], metadata={"team": "law"})
    assert (added.outcome, desk.index.texts()) == ("added", ["From the disk."])
    assert dict(added.document.metadata) == {"team": "law"}
    desk.consistent()


async def test_waiting_for_another_process_is_bounded(
    desk: Any, runner: Callable[[Sleep], Runner]
) -> None:
    """While another process holds a document the pauses grow, and after an hour of them it ends."""
    pauses: list[float] = []

    async def note(seconds: float) -> None:
        pauses.append(seconds)

    desk.store.jobs.put("docs", KEY, kind="upload", owner="another/1/0/x", lease_s=1e9)
    added = await upload(desk, runner(note), Away(), b"Words.")
    assert added.outcome == "failed"
    assert added.reason == "others worked on it for 60 minutes: add it again later"
    assert pauses == sorted(pauses)
    assert (pauses[0] < 1, pauses[-1]) == (True, LONGEST_PAUSE_S)
    assert MAX_WAIT_S <= sum(pauses) < MAX_WAIT_S + LONGEST_PAUSE_S
    assert kept(desk) == []


async def test_waiting_ends_with_what_waits(desk: Any, runner: Callable[[Sleep], Runner]) -> None:
    """A wait ends at once when the process closes, and when the one who waits is cancelled."""
    waits, ended = asyncio.Event(), asyncio.Event()

    async def long(_: float) -> None:
        waits.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    desk.store.jobs.put("docs", KEY, kind="upload", owner="another/1/0/x", lease_s=1e9)
    mine = runner(long)
    waiting = asyncio.create_task(upload(desk, mine, Away(), b"Words."))
    await waits.wait()
    await mine.aclose()
    added = await waiting
    assert (added.outcome, added.reason) == (
        "failed",
        "this process ends while another works on it: add it again",
    )
    waits.clear()
    ended.clear()
    other = runner(long)
    waiting = asyncio.create_task(upload(desk, other, Away(), b"Words."))
    await waits.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await ended.wait()
    assert kept(desk) == []


async def test_many_documents_and_an_endpoint_that_is_away(desk: Any) -> None:
    """An endpoint that fails is asked a few times for a folder, and again with the next call."""
    for at in range(20):
        desk.paper(f"{at}.md", f"Words {at}.")
    working, desk.embedder = desk.embedder, Away()
    most = MAX_FAILURES + AT_ONCE
    for again in (1, 2):
        added = await desk.knowledge().add("docs", [desk.papers])
        assert [one.outcome for one in added] == ["failed"] * 20
        assert desk.embedder.calls <= most * again
        assert added[-1].reason == (
            "hash-4 was not asked: it had failed 3 times in a row; add it again when it is back"
        )
    await desk.knowledge().resume()
    assert desk.embedder.calls <= 3 * most
    assert len(desk.store.jobs.open()) == 20
    desk.embedder = working
    assert {one.outcome for one in await desk.knowledge().resume()} == {"added"}
    desk.consistent()


async def test_one_failure_is_not_the_end(desk: Any) -> None:
    """An endpoint that fails now and then is asked for every document."""

    class Shaky(Away):
        async def passages(self, texts: Sequence[str]) -> Vectors:
            self.calls += 1
            if self.calls % 3:
                raise EmbedderError("busy")
            return await working.passages(texts)

    for at in range(12):
        desk.paper(f"{at:02}.md", f"Words {at}.")
    working, desk.embedder = desk.embedder, Shaky()
    added = await desk.knowledge().add("docs", [desk.papers])
    assert [one.outcome for one in added].count("added") == 4
    assert desk.embedder.calls == 12


async def test_a_job_that_was_lost_meanwhile(desk: Any) -> None:
    """A newer source is given only to a job that is still held."""
    jobs = desk.store.jobs
    job, _ = jobs.put("docs", KEY, kind="upload", upload="upload-1", owner="me", lease_s=60)
    newer = {"kind": "upload", "metadata": {}, "upload": "upload-2"}
    assert jobs.replace(job.id, "another", **newer) is None
    assert jobs.get(job.id).upload == "upload-1"
    assert jobs.replace(job.id, "me", **newer).upload == "upload-2"


async def test_a_claim_does_not_outlive_what_waits(
    desk: Any, runner: Callable[[Sleep], Runner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that was claimed for an upload which then ends is free for others at once."""
    jobs = desk.store.jobs
    jobs.put("docs", KEY, kind="upload", upload="upload-older")
    mine = runner(never)

    def fails(*_: Any, **__: Any) -> None:
        raise StoreError("the store is away")

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "replace", fails)
        with pytest.raises(StoreError):
            await upload(desk, mine, Away(), b"Words.")
    (job,) = jobs.open()
    assert (job.owner, job.upload, kept(desk)) == (None, "upload-older", [])
