"""
The knowledge service: collections, and documents in them.

`Knowledge` is what the command line, the API and the library call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from refdesk.fetch import Fetcher
from refdesk.kb.ports import ChunkIndex, PassageEmbedder
from refdesk.store import Store
from refdesk.store.passages import Chunk, Collection, Document, Job

__all__ = ["Added", "Chunk", "Collection", "Document", "Job", "Knowledge", "Progress"]

Outcome = Literal["added", "updated", "unchanged", "failed", "empty", "skipped"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Added:
    """What became of one source that was to be added."""

    key: str
    outcome: Outcome
    document: Document | None = None
    """As it is in the store now; None where it was skipped."""
    reason: str | None = None
    """Why it failed, is empty or was skipped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far a long call is."""

    done: int
    total: int
    key: str
    """What was finished last."""
    bytes_done: int
    bytes_total: int
    seconds: float
    left_s: float | None
    """Estimated time left, once there is something to estimate it by."""
    last: Added | None = None


OnProgress = Callable[[Progress], Awaitable[None] | None]
EmbedderFor = Callable[[Collection], PassageEmbedder]


class Knowledge:
    """Collections and their documents."""

    def __init__(
        self,
        store: Store,
        index: ChunkIndex,
        embedder_for: EmbedderFor,
        *,
        data_dir: Path,
        fetcher: Fetcher | None = None,
    ) -> None: ...

    async def create(self, collection: Collection) -> Collection: ...

    async def list(self) -> Sequence[Collection]: ...

    async def show(self, name: str) -> Collection: ...

    async def documents(self, name: str) -> Sequence[Document]: ...

    async def report(self, name: str, document: str | None = None) -> Sequence[Document]: ...

    async def add(
        self,
        name: str,
        sources: Sequence[str | Path] = (),
        *,
        metadata: Mapping[str, Any] | None = None,
        progress: OnProgress | None = None,
    ) -> Sequence[Added]: ...

    async def upload(
        self, name: str, filename: str, body: bytes, *, metadata: Mapping[str, Any] | None = None
    ) -> Added: ...

    async def resume(self, name: str | None = None, *, progress: OnProgress | None = None) -> Sequence[Added]: ...

    async def remove(self, name: str, document: str) -> Document: ...

    async def drop(self, name: str) -> None: ...

    async def reindex(
        self,
        name: str,
        *,
        embedder: Mapping[str, Any] | None = None,
        progress: OnProgress | None = None,
    ) -> Collection: ...

    async def passage(self, chunk_id: str, *, around: int = 1) -> Sequence[Chunk]: ...

    async def text(self, document_id: str, start: int, end: int) -> str: ...
