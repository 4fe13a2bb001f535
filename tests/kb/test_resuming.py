"""Documents that a killed process left undone: the next server takes them in, by itself."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lancedb  # noqa: F401 - loaded here, where nothing waits for it
import onnxruntime  # noqa: F401
import pytest
from sqlalchemy import select

from desk import open_desk
from refdesk.kb.ingest.jobs import is_dead, owner_here
from refdesk.kb.resuming import take_over
from refdesk.store import Store
from refdesk.store.passages import Chunk, Collection
from refdesk.store.tables import kb_chunks

KILLED = """
import sys
from refdesk.kb.ingest.jobs import owner_here
from refdesk.store import Store
store = Store.open(sys.argv[1])
store.jobs.put("docs", sys.argv[2], kind="path", owner=owner_here(), lease_s=3600)
print("claimed", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with a collection in it."""
    folder = tmp_path / "data"
    with Store.open(f"sqlite:///{folder}/refdesk.db", data_dir=folder) as store:
        store.knowledge.create(Collection(name="docs"))
    return f"sqlite:///{folder}/refdesk.db"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """The same, open."""
    with Store.open(url) as opened:
        yield opened


def left_by_a_killed_process(url: str, path: Path) -> None:
    """Have a process claim a document for an hour, and kill it."""
    command = [sys.executable, "-c", KILLED, url, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"claimed\n"
        process.kill()


async def test_a_start_takes_over(url: str, tmp_path: Path) -> None:
    """What a killed process had claimed is in the collection soon after the server has started."""
    path = tmp_path / "notes.md"
    path.write_text("# Expenses\n\nEmployees claim expenses within 30 days.\n")
    await asyncio.to_thread(left_by_a_killed_process, url, path)
    async with open_desk(tmp_path) as desk:
        (task,) = [each for each in asyncio.all_tasks() if each.get_name() == "take over"]
        async with asyncio.timeout(50):
            await task
        documents = desk.store.knowledge.documents("docs")
        assert [(each.key, each.status) for each in documents] == [(str(path), "ready")]
        assert desk.store.jobs.open() == []


async def test_a_stop_leaves_it_to_the_next(url: str, tmp_path: Path) -> None:
    """A server that is stopped while it takes over stops at once, and loses nothing."""
    path = tmp_path / "notes.md"
    path.write_text("All is well.\n")
    await asyncio.to_thread(left_by_a_killed_process, url, path)
    async with open_desk(tmp_path):
        pass
    with Store.open(url) as store:
        left = {each.key: each.owner for each in store.jobs.open()}
        documents = {each.key: None for each in store.knowledge.documents("docs")}
    assert [*left, *documents] == [str(path)]
    assert [owner for owner in left.values() if owner is not None and not is_dead(owner)] == []


def never() -> Any:
    """Fail: knowledge was opened."""
    raise AssertionError("knowledge was opened, and there was nothing to do")


async def test_nothing_to_do(store: Store) -> None:
    """Without jobs, or with one of a whole collection, knowledge is not opened."""
    await take_over(store, never)
    store.jobs.put("docs", " reindex", kind="path")
    await take_over(store, never)


async def test_half_an_index(url: str, tmp_path: Path) -> None:
    """What a killed process had built of a new index goes, with the passages it had staged."""
    dead = f"{socket.gethostname()}/1/2/3"
    assert is_dead(dead)
    with Store.open(url) as store:
        index = store.knowledge.collection("docs").index
        store.jobs.put("docs", " reindex", kind="path", owner=dead, lease_s=3600)
        chunk = Chunk(
            id="rev-0", document_id="doc", revision="rev", collection="docs", ordinal=0, text="x"
        )
        store.staging.put(index, "doc", [chunk])
    async with open_desk(tmp_path) as desk:
        (task,) = [each for each in asyncio.all_tasks() if each.get_name() == "take over"]
        async with asyncio.timeout(50):
            await task
        assert desk.store.jobs.open() == []
        with desk.store._database.read() as connection:
            assert connection.execute(select(kb_chunks.c.id)).all() == []


async def test_others_are_waited_for(store: Store) -> None:
    """A job whose owner is alive is left to it, and looked at again until it is done."""
    owner = owner_here()
    job, _ = store.jobs.put("docs", "/a.txt", kind="path", owner=owner, lease_s=60)
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            store.jobs.done(job.id, owner)

    await take_over(store, never, sleep=wait)
    assert waits == [60, 60, 60]


class Failing:
    """Knowledge of which nothing can be had."""

    def __init__(self) -> None:
        self.asked = 0

    async def resume(self) -> list[Any]:
        """Do nothing, as if each document had failed."""
        self.asked += 1
        return []


async def test_what_fails_is_tried_once(store: Store) -> None:
    """A job that is still there after it was tried is left for the next start."""
    store.jobs.put("docs", "/a.txt", kind="path")
    failing = Failing()

    async def opened() -> Any:
        return failing

    await take_over(store, opened)
    assert (failing.asked, len(store.jobs.open())) == (1, 1)


async def test_failures_are_told(
    store: Store, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever goes wrong is a line in the log; the server goes on."""
    store.jobs.put("docs", "/a.txt", kind="path")
    await take_over(store, never)
    assert "documents that were left undone stay so" in caplog.text + capsys.readouterr().out
