"""What taking documents in needs from an embedder and from a vector store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from refdesk.store.passages import Chunk

Vectors = Any
"""A matrix of float32, one row per text: ``numpy.ndarray`` of shape (texts, dimension)."""


class PassageEmbedder(Protocol):
    """Makes vectors of passages."""

    @property
    def identity(self) -> str:
        """What made the vectors: equal identities make vectors that can be compared."""

    @property
    def dimension(self) -> int: ...

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text, in their order.  Any number of texts may be given."""


class ChunkIndex(Protocol):
    """
    Holds vectors and text of chunks, by index name.

    It may hold chunks that the store does not know (left by a process that died): whoever searches
    drops hits whose ids `KnowledgeStore.chunks` does not return.
    """

    async def create(self, index: str, *, dimension: int, language: str) -> None:
        """Make an index; nothing happens if it is there."""

    async def add(self, index: str, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Add chunks of one revision.  May be called several times for one; all or none is seen
        of each call."""

    async def delete(self, index: str, revision: str) -> None:
        """Delete all chunks of a revision; nothing happens if there are none, or no index."""

    async def drop(self, index: str) -> None:
        """Delete an index with all it holds; nothing happens if there is none."""
