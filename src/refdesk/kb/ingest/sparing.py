"""An embedder that is left alone after it failed several times in a row."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from refdesk.errors import EmbedderError
from refdesk.kb.ports import PassageEmbedder, Vectors

MAX_FAILURES: Final = 3
"""Failures of an embeddings endpoint in a row; one call asks it no more for further documents."""

T = TypeVar("T")


class Sparing:
    """
    Asks an embedder, until it fails too often: many documents are not each to wait for one that is
    away.  Meant for one call; the next one asks again.
    """

    def __init__(self, embedder: PassageEmbedder) -> None:
        self._embedder = embedder
        self._failures = 0

    @property
    def identity(self) -> str:
        """The embedder's."""
        return self._embedder.identity

    async def dimension(self) -> int:
        """Return how long vectors are."""
        return await self._asked(self._embedder.dimension)

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text."""
        return await self._asked(lambda: self._embedder.passages(texts))

    async def _asked(self, step: Callable[[], Awaitable[T]]) -> T:
        if self._failures >= MAX_FAILURES:
            raise EmbedderError(
                f"{self.identity} was not asked: it had failed {MAX_FAILURES} times in a row; add"
                " it again when it is back"
            )
        try:
            done = await step()
        except EmbedderError:
            self._failures += 1
            raise
        self._failures = 0
        return done


def sparing(embedder: PassageEmbedder) -> PassageEmbedder:
    """Return an embedder for many documents; one that computes here is never away."""
    return embedder if getattr(embedder, "computes", False) else Sparing(embedder)
