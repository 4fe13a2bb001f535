"""What taking documents in needs from an embedder and from a vector store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from refdesk.store.passages import Chunk

Vectors = Any
"""A matrix of float32, one row per text: ``numpy.ndarray`` of shape (texts, dimension)."""


class PassageEmbedder(Protocol):
    """Makes vectors of passages; see `refdesk.kb.embedders`."""

    @property
    def identity(self) -> str:
        """What made the vectors: only those of equal identities can be compared."""
        ...

    async def dimension(self) -> int:
        """Return how long its vectors are."""
        ...

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text, in their order."""
        ...


class ChunkIndex(Protocol):
    """
    Keeps vectors and words of chunks, by the name of an index; see `refdesk.kb.vectors`.

    It may hold chunks that the store does not know (of a process that died, or is at it): whoever
    searches drops hits that `KnowledgeStore.chunks` does not return.
    """

    async def create(self, index: str, *, dimension: int, language: str) -> None:
        """Make an index; nothing happens if it is there."""
        ...

    async def add(self, index: str, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Add some chunks of one revision, all of them or none."""
        ...

    async def delete(self, index: str, revision: str) -> None:
        """Delete all chunks of a revision; nothing happens if there are none."""
        ...

    async def count(self, index: str) -> int:
        """Return how many chunks an index has; 0 where there is no such index."""
        ...

    async def drop(self, index: str) -> None:
        """Delete an index with all it holds; nothing happens if there is none."""
        ...

    async def settle(self, index: str) -> None:
        """Bring an index up to date after many changes."""
        ...
