"""
Commands that take documents in, killed at random moments, and what is left held against their word.

A document is in one of the states in which it may be: whatever was told narrows them, whatever is
begun widens them.  A fresh process says in which it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REFDESK = str(Path(sys.executable).with_name("refdesk"))
LOOK = Path(__file__).with_name("look.py")
NAME = "docs"
PLACES = ("a", "b", "c")
CYCLE = (
    "add", "add", "settle", "update", "crowd", "remove", "reindex", "upload", "together", "drop",
)  # fmt: skip
"""What is going on when the process is killed; each is explained at the method of its name."""
PER_ROUND = 8
KEPT_WORDS = 40


@dataclass
class Paper:
    """A file, and in which states it may be found: the hash of a version, or None for not there."""

    path: Path
    word: str = ""
    hash: str = ""
    may_be: set[str | None] = field(default_factory=lambda: {None})

    @property
    def key(self) -> str:
        """What it is called in the collection."""
        return str(self.path)


@dataclass
class Ended:
    """How a command ended, and what it had told."""

    code: int
    told: list[dict[str, Any]]
    complaints: str


class Soak:
    """
    A folder with a collection, and commands that die over it.

    Args:
        folder: An empty folder.
        store: The URL of its store.
        seed: Of all that is random.
    """

    def __init__(self, folder: Path, *, store: str | None = None, seed: int = 1) -> None:
        self.folder = folder
        self.random = random.Random(seed)
        self.faults: list[str] = []
        self.kills: Counter[str] = Counter()
        self.late: Counter[str] = Counter()
        self.told: Counter[str] = Counter()
        self.looks = 0
        self.papers: dict[str, Paper] = {}
        self.gone: list[str] = []
        self.words: dict[str, str] = {}
        self._number = 0
        url = store or f"sqlite:///{folder / 'data' / 'refdesk.db'}"
        settings = {
            "version": 1,
            "engines": {},
            "data_dir": str(folder / "data"),
            "store": {"url": url, "key": secrets.token_hex(32)},
        }
        self.config = folder / "refdesk.yaml"
        self.config.write_text(json.dumps(settings))
        for place in PLACES:
            (folder / "in" / place).mkdir(parents=True)
        self.begun_s = self.total_s = 0.0
        self.pace: dict[str, float] = {}

    # What is killed

    def round(self, what: str) -> None:
        """Do one thing of `CYCLE` until a process of it has been killed in time, and look."""
        for _ in range(8):
            killed = getattr(self, what)()
            self.look(f"{what} {self.kills[what] + 1}", resume=self.random.random() < 0.5)
            if killed:
                self.kills[what] += 1
                return
            self.late[what] += 1
            self.pace[what] = self.pace.get(what, 1.0) * 0.7
        self.faults.append(f"{what}: the process always ended before it could be killed")

    def add(self) -> bool:
        """Some new files, killed after a random number of them was told."""
        for _ in range(PER_ROUND):
            self._write(self.random.choice(PLACES))
        return self._add(["in"], after=self._some(PER_ROUND))

    def update(self) -> bool:
        """New versions of files that may be there; killed after some of all were told."""
        for paper in self.random.sample(self._files(), min(PER_ROUND, len(self._files()))):
            self._rewrite(paper)
        return self._add(["in"], after=self._some(len(self._files())))

    def settle(self) -> bool:
        """Killed when all was told, and the index is being brought up to date."""
        for _ in range(PER_ROUND):
            self._write(self.random.choice(PLACES))
        return self._add(["in"], after=len(self._files()), within=0.15)

    def crowd(self) -> bool:
        """Three processes with overlapping folders; one is killed, the others end their work."""
        for place in PLACES:
            for _ in range(PER_ROUND // 2):
                self._write(place)
        groups = [[f"in/{one}" for one in PLACES if one != left] for left in PLACES]
        victim = self.random.randrange(len(groups))
        ended = self._at_once(
            [(["kb", "add", "--collection", NAME, *group, "--json"], at == victim)
             for at, group in enumerate(groups)],
            after=self.random.randint(0, PER_ROUND),
        )  # fmt: skip
        return ended[victim].code == -signal.SIGKILL

    def together(self) -> bool:
        """One process re-indexes while another adds new versions; either is killed."""
        for paper in self.random.sample(self._files(), min(PER_ROUND, len(self._files()))):
            self._rewrite(paper)
        victim = self.random.randrange(2)
        add = ["kb", "add", "--collection", NAME, "in", "--json"]
        reindex = ["kb", "reindex", NAME, "--json"]
        ended = self._at_once(
            [(add, victim == 0), (reindex, victim == 1)],
            delay=self._moment("together", 1.2, 1.6 * self.total_s / self.begun_s),
        )
        return ended[victim].code == -signal.SIGKILL

    def remove(self) -> bool:
        """One document, killed at a random moment; what was told to be removed is gone."""
        sure = [paper for paper in self._files() if paper.may_be == {paper.hash}]
        paper = self.random.choice(sure or self._files())
        paper.path.unlink()
        paper.may_be.add(None)
        command = ["kb", "remove", "--collection", NAME, paper.key, "--json"]
        ended = self._run(command, delay=self._moment("remove", 0.5, 1.2))
        if ended.code == 0:
            self._gone(paper)
        return ended.code == -signal.SIGKILL

    def reindex(self) -> bool:
        """Everything is embedded anew; nothing that was there may be missing meanwhile."""
        delay = self._moment("reindex", 1.0, 1.2 * self.total_s / self.begun_s)
        ended = self._run(["kb", "reindex", NAME, "--json"], delay=delay)
        return ended.code == -signal.SIGKILL

    def upload(self) -> bool:
        """A document from standard input."""
        paper = self._write(".", sent=True)
        command = ["kb", "add", "--collection", NAME, "-", "--name", paper.key, "--json"]
        delay = self._moment("upload", 0.8, 1.2)
        ended = self._run(command, delay=delay, stdin=self.folder / "sent" / paper.key)
        return ended.code == -signal.SIGKILL

    def drop(self) -> bool:
        """The whole collection: it is there, or it is gone.  Made anew afterwards."""
        sure = {paper.key for paper in self.papers.values() if paper.may_be == {paper.hash}}
        for paper in self.papers.values():
            paper.may_be.add(None)
        command = ["kb", "remove", "--collection", NAME, "--all", "--json"]
        ended = self._run(command, delay=self._moment("drop", 0.5, 1.2))
        self.look("drop, just after", together=sure)
        self._run(command)
        for paper in list(self.papers.values()):
            paper.path.unlink(missing_ok=True)
            self._gone(paper)
        self.create()
        return ended.code == -signal.SIGKILL

    # What is not

    def create(self) -> None:
        """Make the collection."""
        ended = self._run(["kb", "create", NAME, "--chunk-chars", "250"])
        assert ended.code == 0, ended.complaints

    def begin(self) -> None:
        """Make the collection, and add the first files, to learn how long that takes."""
        self.create()
        for _ in range(PER_ROUND):
            self._write(self.random.choice(PLACES))
        began = time.monotonic()
        ended = self._run(["kb", "add", "--collection", NAME, "in", "--json"], first=True)
        self.total_s = time.monotonic() - began
        assert ended.code == 0, ended.complaints
        self.look("the beginning", resume=True)

    def three(self) -> None:
        """Three processes with overlapping folders, none killed: each file is added once."""
        for place in PLACES:
            for _ in range(PER_ROUND):
                self._write(place)
        new = {paper.key for paper in self._files() if paper.may_be == {None, paper.hash}}
        groups = [[f"in/{one}" for one in PLACES if one != left] for left in PLACES]
        ended = self._at_once(
            [(["kb", "add", "--collection", NAME, *group, "--json"], False) for group in groups]
        )
        added = Counter(
            one["key"] for each in ended for one in each.told if one["outcome"] == "added"
        )
        for key in new:
            if added[key] != 1:
                self.faults.append(f"three at once: {key} was added {added[key]} times")
        self.look("three at once", resume=True)

    def end(self) -> None:
        """Add and embed all once more: everything is there, and nothing else."""
        self._run(["kb", "add", "--collection", NAME, "in", "--json"])
        ended = self._run(["kb", "reindex", NAME, "--json"])
        if ended.code:
            self.faults.append(f"the end: {ended.complaints[-500:]}")
        seen = self.look("the end", resume=True)
        for paper in self._files():
            if paper.may_be != {paper.hash}:
                self.faults.append(f"the end: {paper.key} was not told to be in")
        if seen["jobs"]:
            self.faults.append(f"the end: {seen['jobs']} jobs are left")
        tables = list((self.folder / "data" / "kb" / "vectors").glob("*.lance"))
        if len(tables) != 1:
            self.faults.append(f"the end: {len(tables)} indexes are left of one collection")

    def look(
        self, when: str, *, resume: bool = False, together: Collection[str] = ()
    ) -> dict[str, Any]:
        """
        Let a fresh process look, and compare what it finds with what may be.

        Args:
            when: After what.
            resume: Whether it does first what was left undone.
            together: Documents of which all are there, or the collection is not.
        """
        self.looks += 1
        living = {paper.word: paper for paper in self.papers.values()}
        words = [*living, *self.gone[-KEPT_WORDS:]]
        ran = subprocess.run(
            [sys.executable, str(LOOK), str(self.config), *(["--resume"] if resume else [])],
            input="\n".join(words), capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        if ran.returncode:
            self.faults.append(f"{when}: the one who looked failed: {ran.stderr[-800:]}")
            return {"there": False, "jobs": 0}
        seen: dict[str, Any] = json.loads(ran.stdout)

        def wrong(what: str) -> None:
            self.faults.append(f"{when}: {what}")

        if not seen["there"]:
            for paper in self.papers.values():
                if None not in paper.may_be:
                    wrong(f"{paper.key} is lost with its collection")
            return seen
        documents = seen["documents"]
        if missing := set(together) - set(documents):
            wrong(f"{len(missing)} of {len(together)} documents went before their collection")
        for key, document in documents.items():
            if document["fault"]:
                wrong(f"{key}: {document['fault']}")
            if key not in self.papers and document["hash"] is not None:
                wrong(f"{key} is there, and was removed")
        for paper in self.papers.values():
            has = documents.get(paper.key, {}).get("hash")
            if has not in paper.may_be:
                wrong(f"{paper.key} is {'lost' if has is None else 'another version'}")
            hits = seen["found"].get(paper.word, [])
            if hits != ([paper.key] if has == paper.hash else []):
                wrong(f"{paper.word} of {paper.key} is found in {hits or 'nothing'}")
        for word in self.gone[-KEPT_WORDS:]:
            old = [key for key in seen["found"].get(word, []) if not self._may_hold(key, word)]
            if old:
                wrong(f"{word} was removed or replaced, and is found in {old}")
        if resume and (seen["rows"] != seen["chunks"] or seen["leftovers"]):
            wrong(
                f"{seen['chunks']} passages and {seen['rows']} vectors,"
                f" {seen['leftovers']} leftovers after the sweep"
            )
        return seen

    # Files

    def _files(self) -> list[Paper]:
        return [paper for paper in self.papers.values() if paper.path.is_absolute()]

    def _write(self, place: str, *, sent: bool = False) -> Paper:
        self._number += 1
        name = f"{self._number:04}.md"
        path = Path(name) if sent else self.folder / "in" / place / name
        paper = self.papers[str(path)] = Paper(path)
        self._rewrite(paper)
        return paper

    def _rewrite(self, paper: Paper) -> None:
        if paper.word:
            self.gone.append(paper.word)
        paper.word = f"zq{self.random.getrandbits(48):012x}"
        body = "\n\n".join(
            f"Paragraph {at} of {paper.word} says that {self.random.randint(1, 10**9)} things"
            f" happened on day {self.random.randint(1, 365)}, and that they were written down."
            for at in range(self.random.randint(4, 20))
        )
        text = f"# About {paper.word}\n\n{body}\n"
        paper.hash = hashlib.sha256(text.encode()).hexdigest()
        self.words[paper.word] = paper.hash
        paper.may_be.add(paper.hash)
        path = paper.path if paper.path.is_absolute() else self.folder / "sent" / paper.path
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def _gone(self, paper: Paper) -> None:
        del self.papers[paper.key]
        self.gone.append(paper.word)

    def _may_hold(self, key: str, word: str) -> bool:
        """Whether a document may still be in an earlier version, the one with this word."""
        return key in self.papers and self.words[word] in self.papers[key].may_be

    # Processes

    def _some(self, most: int) -> int:
        """Return how many documents are told before the kill; none only if that can be timed."""
        return self.random.randint(0 if self.begun_s else 1, max(1, most - 1))

    def _moment(self, what: str, first: float, last: float) -> float:
        """Return when to kill, in shares of the time until the first document was told."""
        return self.random.uniform(first, last) * self.begun_s * self.pace.get(what, 1.0)

    def _add(self, sources: Sequence[str], *, after: int, within: float = 0.4) -> bool:
        delay = self.random.uniform(0, within)
        if not after:
            delay = self._moment("add", 0.7, 1.05)
        ended = self._run(
            ["kb", "add", "--collection", NAME, *sources, "--json"], after=after, delay=delay
        )
        return ended.code == -signal.SIGKILL

    def _at_once(
        self, commands: Sequence[tuple[list[str], bool]], *, after: int = 0, delay: float = 0.2
    ) -> list[Ended]:
        """Run several at once; those marked are killed, and the others have to end well."""
        ended: list[Ended | None] = [None] * len(commands)

        def run(at: int, command: list[str], dies: bool) -> None:
            ended[at] = self._run(command, after=after, delay=delay if dies else None)

        threads = [
            threading.Thread(target=run, args=(at, command, dies))
            for at, (command, dies) in enumerate(commands)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done = [each for each in ended if each is not None]
        for each, (command, dies) in zip(done, commands, strict=True):
            if each.code and not dies:
                self.faults.append(
                    f"`{' '.join(command[:2])}` ended with {each.code} beside one that died:"
                    f" {each.complaints[-500:]}"
                )
        return done

    def _run(
        self,
        command: Sequence[str],
        *,
        after: int = 0,
        delay: float | None = None,
        stdin: Path | None = None,
        first: bool = False,
    ) -> Ended:
        """Run a command; killed so many seconds after it has told of so many documents, if any."""
        began = time.monotonic()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("REFDESK_")}
        with tempfile.TemporaryFile() as said, (stdin or Path(os.devnull)).open("rb") as given:
            process = subprocess.Popen(
                [REFDESK, *command], cwd=self.folder, env=environment, start_new_session=True,
                stdin=given, stdout=subprocess.PIPE, stderr=said,
            )  # fmt: skip
            assert process.stdout is not None
            killer = threading.Timer(delay or 0, os.killpg, (process.pid, signal.SIGKILL))
            if delay is not None and not after:
                killer.start()
            told: list[dict[str, Any]] = []
            for line in process.stdout:
                body = line.strip().removeprefix(b",")
                if command[:2] != ["kb", "add"] or not body.startswith(b"{"):
                    continue
                told.append(self._acknowledged(json.loads(body)))
                if first and len(told) == 1:
                    self.begun_s = time.monotonic() - began
                if delay is not None and len(told) == after:
                    killer.start()
            process.stdout.close()
            code = process.wait()
            killer.cancel()
            said.seek(0)
            return Ended(code, told, said.read().decode(errors="replace"))

    def _acknowledged(self, told: dict[str, Any]) -> dict[str, Any]:
        """Take a command at its word."""
        paper = self.papers[told["key"]]
        if told["outcome"] in ("added", "updated", "unchanged"):
            self.told[told["outcome"]] += 1
            paper.may_be = {told["document"]["content_hash"]}
        elif told["outcome"] == "failed":
            self.faults.append(f"{paper.key} was said to have failed: {told['reason']}")
        return told
