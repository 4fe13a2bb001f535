"""
Passages that stand beside each other in a document, made into one.

A passage is shown with its page and its headings, so what stands on another page, or under another
heading, is a passage of its own.
What is merged depends on the chunks and their order alone, and not on how many results are wanted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from refdesk.store.passages import Chunk

MAX_CHUNKS = 3
"""So many chunks make a passage at most: more is no passage any longer."""

_WORTH = 0.6
"""A neighbour joins if it is worth this part of the best: the others only happen to stand there."""


@dataclass(kw_only=True, slots=True)
class Found:
    """A chunk with its scores."""

    chunk: Chunk
    score: float
    scores: dict[str, float] = field(default_factory=dict)


@dataclass(kw_only=True, slots=True)
class Passage:
    """One or more neighbouring chunks; the best of them gives its scores."""

    best: Found
    chunks: list[Chunk]
    """In the order of the document."""

    @property
    def start(self) -> int:
        """Where it begins in the document's text."""
        return min(chunk.start for chunk in self.chunks)

    @property
    def end(self) -> int:
        """Where it ends."""
        return max(chunk.end for chunk in self.chunks)

    @property
    def is_slice(self) -> bool:
        """Whether its chunks are the document's text as it stands, without repeated headers."""
        return all(len(chunk.text) == chunk.end - chunk.start for chunk in self.chunks)

    def text(self) -> str:
        """Return its text, with the chunks' texts joined; where they overlap, once."""
        said = self.chunks[0].text
        end = self.chunks[0].end
        for chunk in self.chunks[1:]:
            overlap = end - chunk.start
            if self.is_slice and overlap > 0:
                said += chunk.text[overlap:]
            else:
                said += ("" if self.is_slice and overlap == 0 else "\n") + chunk.text
            end = max(end, chunk.end)
        return said


def merge(found: Iterable[Found]) -> list[Passage]:
    """Return passages, best first, of chunks, best first; every chunk is in one passage."""
    passages: list[Passage] = []
    at: dict[tuple[Hashable, ...], Passage] = {}
    """The passage that would take in the chunk at a place."""
    seen: set[str] = set()
    for each in found:
        chunk = each.chunk
        if chunk.id in seen:
            continue
        seen.add(chunk.id)
        place = (chunk.document_id, chunk.revision, chunk.page, chunk.heading)
        passage = at.get((*place, chunk.ordinal))
        if (
            passage is None
            or len(passage.chunks) >= MAX_CHUNKS
            or each.score < passage.best.score * _WORTH
        ):
            passage = Passage(best=each, chunks=[chunk])
            passages.append(passage)
        else:
            passage.chunks.append(chunk)
            passage.chunks.sort(key=lambda one: one.ordinal)
        for ordinal in (passage.chunks[0].ordinal - 1, passage.chunks[-1].ordinal + 1):
            at.setdefault((*place, ordinal), passage)
    return passages
