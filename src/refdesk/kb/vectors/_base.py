"""
What keeps the terms and vectors of chunks, and finds chunks by words and by nearness.

The contract holds for every store, and one suite of tests checks it on all of them:

* `VectorStore.add` takes in all of the chunks it is given or, when the process dies, none.
* What was added or deleted is seen by the next search, from any process.
* An index has a dimension, and refuses vectors of another.

What a passage says is kept elsewhere: a hit has the id of its chunk, and no text.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from refdesk.errors import StoreError
from refdesk.registry import Registry
from refdesk.store.passages import Chunk

Vector: TypeAlias = NDArray[np.float32]
"""One vector of unit length."""

Vectors: TypeAlias = NDArray[np.float32]
"""Several of them, one in each row."""

Filters: TypeAlias = Mapping[str, Any]
"""
Values that the metadata of a chunk must have, all of them.

A list of values means any one of them.  ``document_id`` is the document that a chunk is of.
"""

VECTOR_STORES: Registry[type[VectorStore]] = Registry(
    "vector store",
    "refdesk.kb.vectors",
    fits=lambda plugin: isinstance(plugin, type) and issubclass(plugin, VectorStore),
)

_SCALARS: Final = (str, int, float, bool)
_LONGEST_LABEL: Final = 500
"""Of a long value, the beginning is compared: it is a description, and no value to filter by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A chunk found, with the score of the leg that found it: BM25, or cosine."""

    chunk_id: str
    score: float


class VectorStore(ABC):
    """
    Keeps indexes of chunks.  One instance may be used by many tasks of one event loop.

    Args:
        options: The store's settings.
        folder: Where a store that is embedded may keep files; made when it is needed.
    """

    class Options(BaseModel):
        """The store's own settings."""

        model_config = ConfigDict(extra="forbid", frozen=True)

    def __init__(self, options: Options, *, folder: Path) -> None:
        self.options = options
        self.folder = folder

    @abstractmethod
    async def create(self, index: str, *, dimension: int, language: str) -> None:
        """
        Make an empty index.  One that is there already stays as it is.

        Args:
            index: Its name, of any characters.
            dimension: How long its vectors are.
            language: ISO 639-1 of its texts, or ``auto``; decides how words are brought to their
                stems.

        Raises:
            StoreError: It is there already, with another dimension.
        """

    @abstractmethod
    async def add(self, index: str, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """
        Add chunks in one step.

        Raises:
            StoreError: There is no such index, or the vectors do not fit.
        """

    @abstractmethod
    async def delete(self, index: str, revision: str) -> None:
        """Remove all chunks of a document's revision; it is no error if there are none."""

    @abstractmethod
    async def search_text(
        self,
        index: str,
        query: str,
        *,
        k: int,
        filters: Filters | None = None,
    ) -> list[Hit]:
        """
        Return the ``k`` chunks that fit the words of a question best, by BM25.

        Args:
            index: Where to search.
            query: The question as it was asked.
            k: How many chunks at most; only those with a word of the question are hits.
            filters: What their metadata must be.

        Raises:
            StoreError: There is no such index.
        """

    @abstractmethod
    async def search_vector(
        self,
        index: str,
        vector: Vector,
        *,
        k: int,
        filters: Filters | None = None,
        only: Sequence[str] | None = None,
    ) -> list[Hit]:
        """
        Return the ``k`` nearest chunks, by cosine; see `search_text`.

        With ``only``, among these chunks alone.
        """

    @abstractmethod
    async def revisions(self, index: str) -> set[str]:
        """Return all revisions that have chunks: what a sweep compares."""

    @abstractmethod
    async def count(self, index: str) -> int:
        """Return how many chunks an index has; 0 where there is no such index."""

    @abstractmethod
    async def drop(self, index: str) -> None:
        """Remove an index with everything in it; an unknown one is no error."""

    @abstractmethod
    async def settle(self, index: str) -> None:
        """
        Bring an index up to date, after many changes.

        Later searches are faster, and what was deleted gives its room back.
        """

    async def aclose(self) -> None:  # noqa: B027 - an embedded store has nothing open
        """Close connections."""


def check_fit(index: str, dimension: int, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    """Raise StoreError unless there is one vector of the right length for each chunk."""
    if len(chunks) != len(vectors):
        raise StoreError(
            f"{len(chunks)} chunks and {len(vectors)} vectors for index {index!r}: there must be "
            "one for each"
        )
    if len(chunks):
        check_dimension(index, dimension, vectors.shape[1])


def check_dimension(index: str, dimension: int, found: int) -> None:
    """Raise StoreError unless two dimensions are equal."""
    if dimension != found:
        raise StoreError(
            f"index {index!r} keeps vectors of {dimension} dimensions, and these have {found}: "
            "use the embedder it was made with, or embed its collection anew with "
            "`refdesk kb reindex`"
        )


def unknown_index(index: str) -> StoreError:
    """Return the error about an index that is not there."""
    return StoreError(
        f"the vector store has no index {index!r}; it was dropped, or its files are gone: "
        "run `refdesk kb reindex` for its collection"
    )


def safe_name(index: str) -> str:
    """Return a name of ASCII letters, digits and underscores; no two indexes share one."""
    return "k_" + re.sub(r"[^A-Za-z0-9]", lambda found: f"_{ord(found[0]):x}_", index)


def label(key: str, value: Any) -> str:
    """Return the one text that stands for a key and its value."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    said = f"{key}={json.dumps(value, ensure_ascii=False)}"[:_LONGEST_LABEL]
    return said.encode("utf-8", "replace").decode()


def labels_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return the labels of a chunk: one for each scalar in its metadata, or in a list there."""
    return sorted(
        {
            label(key, value)
            for key, held in metadata.items()
            for value in _listed(held)
            if isinstance(value, _SCALARS)
        }
    )


def wanted_labels(filters: Filters | None) -> list[list[str]]:
    """Return what filters ask for: at least one label of each list; without ``document_id``."""
    return [
        [label(key, value) for value in _listed(held)]
        for key, held in (filters or {}).items()
        if key != "document_id"
    ]


def wanted_documents(filters: Filters | None) -> list[str] | None:
    """Return the documents that filters ask for, or None for all."""
    if not filters or "document_id" not in filters:
        return None
    return [str(value) for value in _listed(filters["document_id"])]


def fits(chunk: Chunk, filters: Filters | None) -> bool:
    """Whether a chunk is one that filters let through."""
    labels = set(labels_of(chunk.metadata))
    documents = wanted_documents(filters)
    return (documents is None or chunk.document_id in documents) and all(
        labels.intersection(any_of) for any_of in wanted_labels(filters)
    )


def _listed(held: Any) -> Sequence[Any]:
    return held if isinstance(held, (list, tuple)) else (held,)
