"""Documents taken in on a Ray cluster: the same as here, and none lost with a worker or with us."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import papers
from refdesk.errors import ConfigError, IngestError
from refdesk.http import HttpRequest, HttpResponse
from refdesk.kb.collection import Collection, Knowledge
from refdesk.kb.embedders import Embedder, make_embedder
from refdesk.kb.ingest import ray, ray_cluster, ray_local
from refdesk.kb.ingest.jobs import owner_here
from refdesk.kb.ingest.parse import Parser, Refused
from refdesk.kb.ingest.ray import OnRay, _Room
from refdesk.kb.ingest.work import Here
from refdesk.kb.ports import Vectors

pytest.importorskip("ray", reason="the extra `ray` is not installed")
pytestmark = pytest.mark.timeout(
    240
)  # a worker takes seconds to start, and longer where it is busy
SQLITE = pytest.mark.parametrize("bare_desk", ["sqlite"], indirect=True)

TEXT = "# Title\n\n" + "\n\n".join(f"Paragraph number {at} has some words." for at in range(80))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Path]:
    """A cluster of two processors on this machine; where it keeps its logs."""
    started = OnRay("local", cpus=2)
    assert asyncio.run(started.ready()) == 6
    folder = started._cluster.folder
    yield folder
    asyncio.run(started.aclose())
    assert not folder.exists()


@pytest.fixture
async def work(cluster: Path) -> AsyncIterator[OnRay]:
    """Work on that cluster, which the program has connected already."""
    made = OnRay("auto")
    yield made
    await made.aclose()


def files_in(folder: Path) -> dict[Path, bytes]:
    """What is in the files of a folder, and of those in it."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def knowledge_of(desk: Any, work: OnRay | None, embedder: Any) -> Knowledge:
    """A service that works there, or here with real parsers if None."""
    made = Knowledge(desk.store, desk.index, lambda _: embedder, data_dir=desk.folder, work=work)
    desk.opened.append(made)
    return made


class FourNumbers(Embedder):
    """Makes vectors by itself, so that workers may; it travels by value, as a plugin would not."""

    computes = True

    @property
    def identity(self) -> str:
        return "four"

    async def dimension(self) -> int:
        return 4

    async def passages(self, texts: Sequence[str]) -> Vectors:
        return np.full((len(texts), 4), 0.5, dtype=np.float32)

    async def query(self, text: str) -> Any:
        raise NotImplementedError


def dying_embedder(folder: Path, times: int) -> FourNumbers:
    """An embedder that kills the process it is in, so many times in all."""

    class Dies(FourNumbers):
        async def passages(self, texts: Sequence[str]) -> Vectors:
            for at in range(times):
                try:
                    (folder / f"death-{at}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
            return await super().passages(texts)

    return Dies(Dies.Options())


@pytest.fixture(autouse=True)
def by_value(request: pytest.FixtureRequest) -> Iterator[None]:
    """Workers know nothing of this file."""
    from ray import cloudpickle

    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


@SQLITE
async def test_same_as_here(desk: Any, work: OnRay) -> None:
    """The same documents have the same passages and reports; what cannot be read says the same."""
    good = {
        "a.md": TEXT.encode(),
        "b.docx": papers.docx("Head", "Some words."),
        "c.csv": b"a,b\n1,2",
    }
    good["d.pdf"] = papers.pdf(["Alpha words", "", "Gamma words"])
    bad = {
        "bomb.docx": papers.bomb(),
        "cut.docx": good["b.docx"][:300],
        "locked.pdf": papers.locked_pdf(),
    }
    bad |= {
        "scan.pdf": papers.pdf(["", ""]),
        "blank.txt": b" \n",
        "data.bin": bytes(range(256)) * 9,
    }
    for name, body in (good | bad).items():
        (desk.papers / name).write_bytes(body)
    await knowledge_of(desk, work, FourNumbers(Embedder.Options())).create(Collection(name="here"))
    await desk.knowledge().drop("docs")
    await desk.knowledge().create(Collection(name="docs"))
    seen = {}
    for name, where in (("docs", work), ("here", None)):
        added = await knowledge_of(desk, where, FourNumbers(Embedder.Options())).add(
            name, [desk.papers]
        )
        seen[name] = [
            (
                one.key,
                one.outcome,
                one.reason,
                one.document.content_hash,
                replace(one.document.report, seconds=0),
                [
                    (
                        chunk.text,
                        chunk.index_text,
                        chunk.page,
                        chunk.heading,
                        chunk.start,
                        chunk.end,
                    )
                    for chunk in desk.store.knowledge.chunks_of(one.document.id)
                ],
            )
            for one in added
        ]
    assert seen["docs"] == seen["here"]
    assert {Path(key).name for key, outcome, *_ in seen["docs"] if outcome == "added"} == set(good)
    assert all(reason for _, outcome, reason, *_ in seen["docs"] if outcome != "added")
    desk.consistent()


async def test_same_vectors(work: OnRay) -> None:
    """Batches embedded at once by several workers are in the order of their texts."""
    embedder, here = make_embedder({"type": "minilm"}), Here(Parser())
    texts = [f"Sentence {at} is about the number {at * 7}." for at in range(70)]
    found = await work.passages(embedder, texts)
    assert found.shape == (70, 384)
    np.testing.assert_allclose(found, await here.passages(embedder, texts), atol=1e-6)


async def test_keys_stay(cluster: Path, work: OnRay) -> None:
    """An endpoint is asked from here, so that its key is nowhere in the cluster."""
    key, asked = "canary-2f6c", []

    class Fetcher:
        async def send(self, request: HttpRequest, **_: Any) -> HttpResponse:
            asked.append(dict(request.headers)["authorization"])
            rows = [{"embedding": [1.0, 0.0]} for _ in json.loads(request.body)["input"]]
            return HttpResponse(status=200, headers=(), body=json.dumps({"data": rows}).encode())

    entry = {"type": "openai", "model": "m", "api_key": key}
    embedder = make_embedder(entry, fetcher=Fetcher())
    assert not embedder.computes
    assert (await work.passages(embedder, ["text"] * 100)).shape == (100, 2)
    assert asked == [f"Bearer {key}"] * 4
    logs = files_in(cluster)
    assert len(logs) > 5
    assert not [path for path, body in logs.items() if key.encode() in body]


@SQLITE
async def test_worker_killed(desk: Any, work: OnRay, tmp_path: Path) -> None:
    """A worker that is killed in the middle is replaced, and nothing is lost or there twice."""
    for at in range(4):
        desk.paper(f"{at}.md", TEXT.replace("number", f"number {at}"))
    added = await knowledge_of(desk, work, dying_embedder(tmp_path, 2)).add("docs", [desk.papers])
    assert {"death-0", "death-1"} <= {path.name for path in files_in(tmp_path)}
    assert [one.outcome for one in added] == ["added"] * 4
    assert {one.document.report.coverage for one in added} == {1.0}
    desk.consistent()


@SQLITE
async def test_workers_killed_each_time(desk: Any, work: OnRay, tmp_path: Path) -> None:
    """What no worker can finish fails with a reason; nothing of it is seen, and it is resumed."""
    path = desk.paper("a.md", "Words.")
    (failed,) = await knowledge_of(desk, work, dying_embedder(tmp_path, 4)).add("docs", [path])
    assert (failed.outcome, failed.document) == ("failed", None)
    assert "no Ray worker could finish it in 4 tries (WorkerCrashedError)" in failed.reason
    assert desk.index.texts() == []
    (job,) = desk.store.jobs.open()
    assert job.key == str(path)
    (resumed,) = await knowledge_of(desk, work, FourNumbers(Embedder.Options())).resume()
    assert resumed.outcome == "added"
    desk.consistent()


@SQLITE
async def test_worker_that_fails(desk: Any, work: OnRay) -> None:
    """An error on a worker names its kind, and nothing that the document or a setting says."""

    class Fails(FourNumbers):
        async def passages(self, texts: Sequence[str]) -> Vectors:
            raise KeyError(texts[0])

    (failed,) = await knowledge_of(desk, work, Fails(Embedder.Options())).add(
        "docs", [desk.paper("a.md", "Secret words.")]
    )
    assert failed.outcome == "failed"
    assert "a Ray worker failed over it (KeyError)" in failed.reason
    assert "Secret" not in failed.reason


async def test_other_embedder_there(work: OnRay) -> None:
    """A worker whose plugin makes other vectors is refused."""

    class Differs(FourNumbers):
        def __init__(self, options: Any, **_: Any) -> None:
            super().__init__(options)
            self.made_in = os.getpid()

        @property
        def identity(self) -> str:
            return f"four of {self.made_in}"

    with pytest.raises(ConfigError, match=r"embeds by four of \d+, and four of \d+ is wanted"):
        await work.passages(Differs(Embedder.Options()), ["a"])


async def test_never_finished(work: OnRay, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no worker finishes is given up, and the worker is free for others."""

    class Waits(FourNumbers):
        async def passages(self, texts: Sequence[str]) -> Vectors:
            raise await asyncio.Event().wait()

    monkeypatch.setattr(ray, "_TASK_S", 1.0)
    for _ in range(2):
        with pytest.raises(IngestError, match=r"has finished it in .* add it again"):
            await work.passages(Waits(Embedder.Options()), ["a"])
    monkeypatch.undo()
    assert (await work.passages(FourNumbers(Embedder.Options()), ["a"] * 99)).shape == (99, 4)


async def test_too_large_never_travels(work: OnRay, tmp_path: Path) -> None:
    """A file beyond the limit is refused before it is read."""
    with (tmp_path / "big.txt").open("wb") as file:
        file.truncate(work.limits.bytes + 1)
    with pytest.raises(Refused, match="split it"):
        await work.read(tmp_path / "big.txt", "big.txt", chars=100)
    with pytest.raises(Refused, match="cannot be opened"):
        await work.read(tmp_path / "missing.txt", "missing.txt", chars=100)


def test_loopback_and_quiet(cluster: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What is started listens on loopback, says nothing, and leaves the environment as it was."""
    import ray
    from ray._private.worker import print_to_stdstream

    print_to_stdstream({"lines": ["a worker died"], "pid": "raylet", "is_err": False}, False)
    assert capfd.readouterr() == ("", "")
    assert [node["NodeManagerAddress"] for node in ray.nodes()] == ["127.0.0.1"]
    assert cluster.stat().st_mode & 0o777 == 0o700
    assert not {*ray_cluster._QUIET, *ray_cluster._LOOPBACK, *ray_cluster._AUTH} & os.environ.keys()


async def test_other_version(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker with another version of Refdesk is named, with what helps."""
    monkeypatch.setattr(ray_cluster, "here", lambda: "9.9")
    with pytest.raises(
        ConfigError, match=r"worker 127\.0\.0\.1 has Refdesk .*here it is 9\.9: run"
    ):
        await OnRay("auto").ready()


async def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody listens the address is named, at once."""
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1"):
        with pytest.raises(
            IngestError, match=r"127\.0\.0\.1:1' cannot be used .*refused.*start it"
        ):
            await OnRay(address).ready()


@SQLITE
async def test_nobody_there_no_jobs(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No job is made, and no upload kept, of what cannot be worked on."""
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    knowledge = knowledge_of(desk, OnRay("127.0.0.1:1"), desk.embedder)
    with pytest.raises(IngestError, match="cannot be used"):
        await knowledge.add("docs", [desk.paper("a.md", TEXT)])
    with pytest.raises(IngestError, match="cannot be used"):
        await knowledge.upload("docs", "a.md", TEXT.encode())
    assert desk.store.jobs.open() == []
    assert not [path for path in files_in(desk.folder) if "upload" in path.name]


async def test_start_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Ray hangs while it starts, that is said in time, and what it started is ended."""
    started, free = [], threading.Event()

    def hangs(*, _temp_dir: str, **_: Any) -> None:
        command = [sys.executable, "-c", "import signal; signal.pause()", _temp_dir]
        started.append(subprocess.Popen(command))
        free.wait()
        raise RuntimeError("too late")

    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr("ray.init", hangs)
    monkeypatch.setattr(ray_local, "TMP", str(tmp_path))
    monkeypatch.setattr(ray, "_CONNECT_S", 2.0)
    work = OnRay("local", cpus=1)
    for _ in range(2):
        with pytest.raises(IngestError, match=r"'local' has not answered for 2 s: give .* memory"):
            await work.ready()
        (process,) = started
        assert process.wait(60) == -signal.SIGKILL
        assert files_in(tmp_path) == {}
    await work.aclose()
    free.set()
    assert isinstance(work._late.exception(60), IngestError)


HANGS = """
import sys, threading
import ray
from refdesk.cli import main
from refdesk.kb.ingest import ray as ours

ray.init = lambda **_: threading.Event().wait()
ours._CONNECT_S = 0.5
sys.argv[0] = "refdesk"
main()
"""


def test_command_that_hangs(tmp_path: Path) -> None:
    """A command ends when that was said, whatever Ray is at."""
    (tmp_path / "refdesk.yaml").write_text("version: 1\nengines: {}\ncollections: {docs: {}}\n")
    (tmp_path / "a.md").write_text(TEXT)
    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            HANGS,
            "kb",
            "add",
            "--collection",
            "docs",
            "--ray",
            "local",
            "a.md",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 1
    assert "the Ray cluster at 'local' has not answered" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_leftovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of the dead are removed, and no others."""
    monkeypatch.setattr(ray_local, "TMP", str(tmp_path))
    alive, dead = ray_local.new_folder(), ray_local.new_folder()
    host, pid, *_ = owner_here().split("/")
    (dead / "owner").write_text(f"{host}/{pid}/1/0")  # another process had this number before
    others = tmp_path / "refdesk-ray-others"
    others.mkdir()
    made = ray_local.new_folder()
    assert set(tmp_path.iterdir()) == {alive, others, made}


@pytest.mark.parametrize(
    ("free", "wanted", "workers"), [(1.6, 8, 1), (3.6, 8, 3), (3.6, 2, 2), (900.0, None, 5)]
)
def test_memory(
    free: float, wanted: int | None, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are no more workers than there is memory for, above what Ray leaves free."""
    monkeypatch.setattr("ray._common.utils.get_system_memory", lambda: 1000 * 2**30)
    monkeypatch.setattr("ray._private.utils.get_used_memory", lambda: (950 - free) * 2**30)
    monkeypatch.setattr("ray._private.utils.get_num_cpus", lambda: 5)
    assert ray_local.workers(wanted) == workers


def test_too_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is too little for one worker, how much is wanted is said."""
    monkeypatch.setattr("ray._common.utils.get_system_memory", lambda: 1000 * 2**30)
    monkeypatch.setattr("ray._private.utils.get_used_memory", lambda: 949 * 2**30)
    with pytest.raises(IngestError, match=r"wants 1\.5 GiB .* 1\.0 GiB may be taken: free some"):
        ray_local.workers(2)


@SQLITE
async def test_not_installed(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, the command that installs it is named, and no document is touched."""
    monkeypatch.setattr(ray_cluster, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"run `pip install 'refdesk\[ray\]'`"):
        await knowledge_of(desk, OnRay("local"), desk.embedder).add(
            "docs", [desk.paper("a.md", TEXT)]
        )
    assert await desk.knowledge().documents("docs") == []


async def test_room() -> None:
    """Documents wait for room, and one that is larger than all of it has it alone."""
    room, held = _Room(10), []
    seen = []

    async def use(size: int) -> None:
        async with room.take(size):
            held.append(size)
            seen.append(sorted(held))
            await asyncio.sleep(0)
            held.remove(size)

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for size in (4, 50, 6, 3):
            group.create_task(use(size))
    assert [50] in seen
    assert all(sum(sizes) <= 10 or sizes == [50] for sizes in seen)
    assert len(seen) == 4


DRIVER = """
import asyncio, os, signal, sys
from contextlib import AsyncExitStack
from pathlib import Path

from refdesk.config import load
from refdesk.desk.parts import open_knowledge


def descendants():
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            name, rest = stat[stat.index("(") + 1 :].rsplit(")", 1)
            # Two that only watch look for their parent once in a minute.
            if name not in ("ray::DashboardA", "ray::RuntimeEnv"):
                parents[int(entry.name)] = int(rest.split()[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


def dies(progress, work):
    if progress.done == 2:
        print(work._cluster.folder, *descendants(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)


async def main():
    async with AsyncExitStack() as stack:
        config = load(Path(sys.argv[1]), env={}).config
        knowledge = await open_knowledge(config, stack)
        work = knowledge._work
        await knowledge.add("docs", [sys.argv[2]], progress=lambda each: dies(each, work))


asyncio.run(main())
"""


async def test_driver_killed(tmp_path: Path) -> None:
    """Whoever is killed takes its cluster along, and the next one does what was left undone."""
    from refdesk.config import load
    from refdesk.desk.parts import open_knowledge

    written = tmp_path / "papers"
    written.mkdir()
    for at in range(12):
        (written / f"{at}.md").write_text(f"# Paper {at}\n\nIt has words.")
    text = "version: 1\nengines: {}\ncollections: {docs: {}}\n"
    (tmp_path / "refdesk.yaml").write_text(text)
    (tmp_path / "ray.yaml").write_text(f"{text}ingest: {{ray: local}}\n")
    killed = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", DRIVER, tmp_path / "ray.yaml", written],
        stdout=subprocess.PIPE,
        check=False,
        timeout=200,
    )
    assert killed.returncode == -signal.SIGKILL
    folder, *pids = killed.stdout.decode().split()
    started = [int(pid) for pid in pids]
    assert len(started) > 6
    for pid in started:
        assert gone(pid), f"process {pid} outlived who started it"
    ray_local.kill(ray_local.new_folder())
    assert files_in(Path(folder)) == {}
    async with AsyncExitStack() as stack:
        config = load(tmp_path / "refdesk.yaml", env={}).config
        knowledge = await open_knowledge(config, stack)
        before = {one.key for one in await knowledge.documents("docs")}
        assert 2 <= len(before) < 12
        added = await knowledge.add("docs", [written])
        assert {one.key for one in added if one.outcome == "unchanged"} == before
        assert {one.outcome for one in added} == {"added", "unchanged"}
        documents = await knowledge.documents("docs")
        assert [(one.status, one.chunks) for one in documents] == [("ready", 1)] * 12
        assert knowledge.store.jobs.open() == []
        assert knowledge.store.knowledge.leftovers() == []


def gone(pid: int) -> bool:
    """Whether a process ends within a minute."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 60)[0])
    finally:
        os.close(handle)
