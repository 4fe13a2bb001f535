"""
What knowledge is made of: collections, documents, chunks, and the work still to be done.

The values only; `refdesk.store.knowledge` keeps them, `refdesk.kb` makes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

DocumentStatus = Literal["ready", "failed", "empty"]
"""``empty``: it was read and holds no text, such as a scanned PDF.  Only ``ready`` is searched."""

SourceKind = Literal["path", "url", "upload"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Collection:
    """A set of documents that are searched together, all embedded by one embedder."""

    name: str
    embedder: Mapping[str, Any] = field(default_factory=lambda: {"type": "minilm"})
    """The plugin's name under ``type`` and its options, without any secret."""
    embedder_id: str | None = None
    """What its vectors were made by (`Embedder.identity`); None until the first document."""
    dimension: int | None = None
    language: str = "auto"
    graph: bool = False
    chunk_chars: int = 1000
    permission: Any = None
    """Who may read it; None: everyone."""
    index: str = ""
    """The name under which the vector store has its chunks; another one after `reindex`."""
    created: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """How much is in a collection."""

    documents: int = 0
    ready: int = 0
    """Of these, how many can be searched."""
    chunks: int = 0
    characters: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentReport:
    """How much of a document can be found again, and why the rest cannot."""

    characters_read: int = 0
    characters_in_chunks: int = 0
    """Each character counts once, also where a header row is repeated."""
    characters_in_file: int = 0
    """Letters, digits and signs that a second reader finds in the file; 0 where there is none."""
    characters_lost: int = 0
    """How many of these are not in the text that was read."""
    chunks: int = 0
    pages: int | None = None
    """None where the format has no pages."""
    pages_without_text: tuple[int, ...] = ()
    """Their numbers, from 1."""
    skipped: tuple[str, ...] = ()
    """What was left out and why, a sentence each."""
    parser: str = ""
    shape: Literal["plain", "markdown", "rows", ""] = ""
    """How its text is parted; empty where that was not noted."""
    encoding: str | None = None
    """How plain text was decoded."""
    bytes: int = 0
    seconds: float = 0.0
    error: str | None = None
    """Why it is not ready, with the remedy."""

    @property
    def coverage(self) -> float:
        """The share of what the file holds that is in chunks; 0 where there is no text."""
        if not self.characters_read:
            return 0.0
        kept = 1.0 - self.characters_lost / max(1, self.characters_in_file)
        return kept * self.characters_in_chunks / self.characters_read


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One document of a collection; its key is unique there."""

    id: str
    """Stays the same when the document is updated."""
    collection: str
    key: str
    """The absolute path, the URL, or the upload's name: as text only, never as a place to write."""
    kind: SourceKind = "path"
    revision: str
    """Changes with every update; its chunks carry it."""
    content_hash: str = ""
    """SHA-256 of the bytes."""
    status: DocumentStatus = "ready"
    title: str = ""
    mime: str = ""
    pages: int | None = None
    characters: int = 0
    chunks: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    report: DocumentReport = field(default_factory=DocumentReport)
    updated: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """
    A passage of a document.

    ``start`` and ``end`` are the characters it covers of the document's extracted text, half-open.
    ``text`` is exactly those characters, except for a part of a table, which begins with the
    table's header row.
    """

    id: str
    """Never given twice, also not for the same passage after an update."""
    document_id: str
    revision: str
    collection: str
    ordinal: int
    """Its place in the document, from 0: neighbours have neighbouring numbers."""
    text: str = field(repr=False)
    index_text: str = field(default="", repr=False)
    """What is embedded and searched: headings, caption and text."""
    page: int | None = None
    """From 1; None where the format has no pages."""
    heading: tuple[str, ...] = ()
    start: int = 0
    end: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The document's own values, for filters: title, key, and what it was added with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One document to be taken in.  There is at most one unfinished job for a key."""

    id: str
    collection: str
    key: str
    kind: SourceKind
    metadata: Mapping[str, Any] = field(default_factory=dict)
    upload: str | None = None
    """The file, under our own name, that holds the bytes of an upload until it is done."""
    owner: str | None = None
    lease_until: datetime | None = None
    """A running job whose lease ran out was left behind by a process that died."""
    attempts: int = 0
    created: datetime | None = None
