"""Chunks and vectors that need no model, for tests of knowledge."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from refdesk.kb.embedders import Embedder
from refdesk.kb.vectors import VECTOR_STORES, Vector, Vectors, VectorStore
from refdesk.store.passages import Chunk

DIMENSION = 64


def a_chunk(text: str, chunk_id: str = "", **fields: Any) -> Chunk:
    """A chunk that is a whole document by itself unless said otherwise."""
    own = chunk_id or hashlib.sha256(text.encode()).hexdigest()[:12]
    known = {"document_id": f"d-{own}", "revision": f"r-{own}", "ordinal": 0, "collection": "docs"}
    place = {"start": 0, "end": len(text)}
    return Chunk(**{"id": own, "text": text, "index_text": text} | known | place | fields)


def word_vector(text: str) -> Vector:
    """A vector of the words of a text: what shares words is near."""
    vector = np.zeros(DIMENSION, dtype=np.float32)
    for word in re.findall(r"\w+", text.lower()):
        vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % DIMENSION] += 1
    return np.asarray(vector / max(1e-9, float(np.linalg.norm(vector))), dtype=np.float32)


def word_vectors(texts: Sequence[str]) -> Vectors:
    """One of them for each text."""
    return np.stack([word_vector(text) for text in texts])


class WordEmbedder(Embedder):
    """An embedder that needs no model, and says what it was asked."""

    def __init__(self, identity: str = "words (1)", languages: frozenset[str] | None = None):
        super().__init__(Embedder.Options())
        self._identity = identity
        self.languages = languages
        self.asked: list[str] = []

    @property
    def identity(self) -> str:
        return self._identity

    async def dimension(self) -> int:
        return DIMENSION

    async def passages(self, texts: Sequence[str]) -> Vectors:
        return word_vectors(texts)

    async def query(self, text: str) -> Vector:
        self.asked.append(text)
        return word_vector(text)


def make_store(kind: str, folder: Path, **options: Any) -> VectorStore:
    """A vector store of a kind that keeps its files in a folder."""
    plugin = VECTOR_STORES.get(kind)
    return plugin(plugin.Options.model_validate(options), folder=folder)
