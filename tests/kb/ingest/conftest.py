"""A knowledge service over a real store, with an embedder and an index made for tests."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from postgres import answering, schema
from refdesk.errors import StoreError
from refdesk.kb.collection import Collection, Knowledge
from refdesk.kb.ingest import parse_child
from refdesk.kb.ingest.chunk import Piece, Shape
from refdesk.kb.ingest.parse import Parsed, Parser, parsed, pieces
from refdesk.kb.ports import Vectors
from refdesk.store import Store, StoreKey
from refdesk.store.passages import Chunk

KEY = StoreKey(keys=(bytes(range(32)),))


class Embedder:
    """Makes vectors of a text's hash; counts what it is given, and fails when told to."""

    def __init__(self, identity: str = "hash-4") -> None:
        self.identity = identity
        self.texts: list[str] = []
        self.failing: StoreError | None = None
        self.before: Callable[[], Awaitable[None]] | None = None

    async def dimension(self) -> int:
        """Four."""
        return 4

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each."""
        if self.before is not None:
            before, self.before = self.before, None
            await before()
        if self.failing is not None:
            raise self.failing
        self.texts.extend(texts)
        digests = [hashlib.sha256(text.encode()).digest()[:4] for text in texts]
        return np.array([list(digest) for digest in digests], dtype=np.float32)


class Index:
    """A vector store in memory."""

    def __init__(self) -> None:
        self.chunks: dict[str, dict[str, Chunk]] = {}

    async def create(self, index: str, *, dimension: int, language: str) -> None:
        """Make an index."""
        assert dimension == 4
        assert language
        self.chunks.setdefault(index, {})

    async def add(self, index: str, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Keep chunks."""
        assert vectors.shape == (len(chunks), 4)
        if index not in self.chunks:
            raise StoreError("there is no such index")
        self.chunks[index] |= {chunk.id: chunk for chunk in chunks}

    async def delete(self, index: str, revision: str) -> None:
        """Forget a revision."""
        held = self.chunks.get(index, {})
        for id_ in [id_ for id_, chunk in held.items() if chunk.revision == revision]:
            del held[id_]

    async def count(self, index: str) -> int:
        """Count the chunks of an index."""
        return len(self.chunks.get(index, {}))

    async def drop(self, index: str) -> None:
        """Forget an index."""
        self.chunks.pop(index, None)

    async def settle(self, index: str) -> None:
        """Nothing has to be settled."""
        if index not in self.chunks:
            raise StoreError("there is no such index")

    def texts(self) -> list[str]:
        """Return all texts held, in whichever index, sorted."""
        held = (chunk for chunks in self.chunks.values() for chunk in chunks.values())
        return sorted(chunk.text for chunk in held)


class HereParser(Parser):
    """Reads documents in this process: starting another would take most of a test's time."""

    async def read(self, path: Path, name: str) -> Parsed:
        """Return what a document says, as the child would."""
        asked = {"path": os.fsencode(path).hex(), "name": name, "max_chars": 1_000_000}
        # In a thread: a reader that is asynchronous has a loop of its own.
        return parsed(msgspec.json.encode(await asyncio.to_thread(parse_child.answer, asked)))

    async def part(
        self, text: str, *, shape: Shape, chars: int, pages: Sequence[int] = ()
    ) -> list[Piece]:
        """Return the passages of a text, as the child would."""
        asked = {"text": text, "shape": shape, "chars": chars, "pages": list(pages)}
        return pieces(msgspec.json.encode(parse_child.part(asked)), text)


class Desk:
    """Everything that tests of taking documents in need."""

    def __init__(self, folder: Path, papers: Path, store: Store) -> None:
        self.folder = folder
        self.papers = papers
        self.index = Index()
        self.embedder = Embedder()
        self.parser = HereParser()
        self.store = store
        self.opened: list[Knowledge] = []

    def knowledge(self) -> Knowledge:
        """Open the service, as another process would."""
        made = Knowledge(
            self.store,
            self.index,
            lambda _: self.embedder,
            data_dir=self.folder,
            parser=self.parser,
        )
        self.opened.append(made)
        return made

    def paper(self, name: str, text: str) -> Path:
        """Write a file, and return where it is."""
        path = self.papers / name
        path.write_text(text)
        return path

    def consistent(self) -> None:
        """Check that store and index hold the same chunks, and nothing is left to be done."""
        shown: set[str] = set()
        for collection in self.store.knowledge.collections():
            held = self.index.chunks.get(collection.index, {})
            for document in self.store.knowledge.documents(collection.name):
                chunks = self.store.knowledge.chunks_of(document.id)
                assert len(chunks) == document.chunks
                assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
                for chunk in chunks:
                    assert held[chunk.id] == chunk
                    shown.add(chunk.id)
        assert shown == {id_ for held in self.index.chunks.values() for id_ in held}
        assert self.store.knowledge.leftovers() == []
        assert self.store.jobs.open() == []


@pytest.fixture(scope="session")
def made_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an empty store."""
    path = tmp_path_factory.mktemp("made") / "refdesk.db"
    Store.open(f"sqlite:///{path}", key=KEY).close()
    return path


@pytest.fixture(scope="session")
def made_postgres() -> Iterator[str]:
    """The URL of a store on PostgreSQL."""
    with schema(answering()) as url:
        Store.open(url, key=KEY).close()
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def bare_desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    """A desk without a collection, on each of the two databases."""
    folder, written = tmp_path / "data", tmp_path / "papers"
    folder.mkdir(mode=0o700)
    written.mkdir()
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("made_sqlite"), folder)
        store = Store.open(f"sqlite:///{folder / 'refdesk.db'}", data_dir=folder, key=KEY)
    else:
        store = Store.open(request.getfixturevalue("made_postgres"), key=KEY)
        for collection in store.knowledge.collections():
            store.knowledge.drop(collection.name)
        for left in store.knowledge.leftovers():
            store.knowledge.strike(left)
    yield Desk(folder, written, store)
    store.close()


@pytest.fixture
async def desk(bare_desk: Desk) -> AsyncIterator[Desk]:
    """A desk with a collection called docs, of short passages."""
    await bare_desk.knowledge().create(Collection(name="docs", chunk_chars=60))
    yield bare_desk
    for knowledge in bare_desk.opened:
        await knowledge.aclose()
