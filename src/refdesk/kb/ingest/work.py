"""
Where the work that costs is done: reading documents, parting them, and making vectors of passages.

All else about a document (its job, its vectors' place, the moment it is published) stays with who
asked for the work, so that a crash is as harmless wherever the work was done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Final, Protocol

from refdesk.kb.ingest.chunk import Piece, Shape
from refdesk.kb.ingest.parse import Parsed, ParseLimits, Parser
from refdesk.kb.ports import PassageEmbedder, Vectors

EMBED_BATCH: Final = 32
AT_ONCE: Final = 3
"""While one document is embedded, others are read and written."""


class Work(Protocol):
    """Does what costs, here or elsewhere."""

    @property
    def limits(self) -> ParseLimits:
        """What reading one document may cost."""
        ...

    async def ready(self) -> int:
        """
        Get ready, where that is not done yet, and return how many documents to work on at once.

        Raises:
            RefdeskError: It cannot be done; the message says why, and what to do.
        """
        ...

    def room(self, size: int) -> AbstractAsyncContextManager[None]:
        """Hold room in memory for a document of so many bytes, from its reading to its end."""
        ...

    async def read(self, path: Path, name: str, *, chars: int) -> tuple[Parsed, list[Piece]]:
        """
        Return what a document says, and its parts of about so many characters.

        Args:
            path: Where its bytes are.
            name: What it is called, for what the bytes do not tell.
            chars: How long a part is.

        Raises:
            Refused: It cannot be read, must not be, or has no text.
            RefdeskError: The work could not be done; that says nothing of the document.
        """
        ...

    async def part(
        self, text: str, *, shape: Shape, chars: int, pages: Sequence[int]
    ) -> list[Piece]:
        """Return the parts of a text that was read before; see `read`."""
        ...

    async def passages(self, embedder: PassageEmbedder, texts: Sequence[str]) -> Vectors:
        """Return one vector per text, in their order; there is at least one text."""
        ...

    async def aclose(self) -> None:
        """End what was started for it."""
        ...


class Here:
    """
    Works on this machine; one document at a time is embedded, since an embedder takes all cores.

    Args:
        parser: Reads documents.
    """

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._embedding = asyncio.Lock()

    @property
    def limits(self) -> ParseLimits:
        """What reading one document may cost."""
        return self._parser.limits

    async def ready(self) -> int:
        """Return how many documents to work on at once."""
        return AT_ONCE

    def room(self, size: int) -> AbstractAsyncContextManager[None]:
        """Hold nothing: few documents are worked on at once."""
        return nullcontext()

    async def read(self, path: Path, name: str, *, chars: int) -> tuple[Parsed, list[Piece]]:
        """Return what a document says, and its parts."""
        return await read_parted(self._parser, path, name, chars)

    async def part(
        self, text: str, *, shape: Shape, chars: int, pages: Sequence[int]
    ) -> list[Piece]:
        """Return the parts of a text."""
        return await self._parser.part(text, shape=shape, chars=chars, pages=pages)

    async def passages(self, embedder: PassageEmbedder, texts: Sequence[str]) -> Vectors:
        """Return one vector per text; others get their turn between two batches."""
        vectors = []
        for batch in batches(texts):
            async with self._embedding:
                vectors.append(await embedder.passages(batch))
        return joined(vectors)

    async def aclose(self) -> None:
        """End the processes that read documents."""
        await self._parser.aclose()


async def read_parted(
    parser: Parser, path: Path, name: str, chars: int
) -> tuple[Parsed, list[Piece]]:
    """Return what a document says, and its parts."""
    parsed = await parser.read(path, name)
    pieces = await parser.part(parsed.text, shape=parsed.shape, chars=chars, pages=parsed.pages)
    return parsed, pieces


def batches(texts: Sequence[str]) -> list[Sequence[str]]:
    """Return texts in groups of as many as an embedder had best get at once."""
    return [texts[at : at + EMBED_BATCH] for at in range(0, len(texts), EMBED_BATCH)]


def joined(vectors: Sequence[Vectors]) -> Vectors:
    """Return the vectors of several batches as one matrix."""
    if len(vectors) == 1:
        return vectors[0]
    import numpy as np

    return np.concatenate(vectors)
