"""
Bodies below ``/api/v1``: what is sent, which is read by these models, and what is answered.

Answers are written by hand where they are made, and the tests hold them against these.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from refdesk.config.fields import ChunkChars


class _Sent(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, protected_namespaces=()
    )


class _Answered(BaseModel):
    model_config = ConfigDict(protected_namespaces=())


# What is sent


class Embedder(BaseModel):
    """The name of an embedder, as collections are shown with it."""

    # What else is sent is refused where it is read, with what to do instead.
    model_config = ConfigDict(
        extra="allow",
        strict=True,
        frozen=True,
        hide_input_in_errors=True,
        json_schema_extra={"additionalProperties": False},
    )

    type: str = Field(min_length=1, description="As `embedder` itself.")


_EMBEDDER = (
    "`minilm`, `e5`, or a collection of the configuration, whose embedder is used.  Others are"
    " described in the configuration alone."
)


class NewCollection(_Sent):
    """A collection to be made."""

    name: str = Field(description="Its name: letters, digits, `.`, `-` and `_`.")
    embedder: str | Embedder = Field(default="minilm", description=_EMBEDDER)
    language: str = Field(
        default="auto", min_length=1, max_length=35, description="ISO 639-1, or `auto`."
    )
    graph: bool = Field(default=False, description="Whether entities and relations are kept.")
    chunk_chars: ChunkChars = Field(
        default=1000, description="How long a passage is, in characters."
    )
    permission: Any = Field(default=None, description="Who may read it; null: everyone.")


class Reindexing(_Sent):
    """How a collection is to be embedded anew."""

    embedder: str | Embedder | None = Field(
        default=None, description=f"{_EMBEDDER}  Null: the same, or the configured one."
    )
    chunk_chars: ChunkChars | None = Field(
        default=None, description="Another length of passages; null: the same."
    )


class Pages(_Sent):
    """Pages of the web to be added."""

    urls: list[str] = Field(min_length=1, max_length=100, description="Web addresses.")
    metadata: dict[str, Any] | None = Field(
        default=None, description="Values that searches can filter by."
    )


class PassageSearch(_Sent):
    """A search in one collection."""

    query: str = Field(min_length=1, description="What to look for.")
    limit: int | None = Field(default=None, ge=1, description="The most passages; null: 10.")
    threshold: float | None = Field(
        default=None, ge=0, le=1, description="Leaves out what scores less; null: nothing."
    )
    graph: bool | None = Field(default=None, description="Whether the graph is followed.")
    metadata: dict[str, Any] | None = Field(
        default=None, description="Only documents that were added with these values."
    )
    rerank_top_n: int | None = Field(default=None, ge=1, description="How many reranking keeps.")


class Question(_Sent):
    """A question to a database."""

    query: str = Field(min_length=1, description="The question.")
    models: list[str] | None = Field(default=None, description="The models that it is about.")
    limit: int | None = Field(default=None, ge=1, le=1000, description="The most rows; null: 20.")
    wheres: list[Any] | None = Field(default=None, description="QueryDSL conditions, all to hold.")
    orders: list[Any] | None = Field(default=None, description="QueryDSL orders.")
    select: list[Any] | None = Field(default=None, description="QueryDSL expressions.")
    locale: str | None = Field(default=None, description="The question's language.")


class QueryDocument(BaseModel):
    """A query in QueryDSL."""

    model_config = ConfigDict(extra="allow")


# What is answered


class Problem(_Answered):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str = Field(description="What is wrong with which value, and the remedy.")
    request_id: str
    param: str | None = Field(default=None, description="The field at fault, where one is.")
    collection: str | None = None
    added: list[Added] | None = Field(
        default=None, description="What became of each source, where none was taken in."
    )
    diagnostics: list[Diagnostic] | None = Field(
        default=None, description="What is wrong with a query."
    )


class Collection(_Answered):
    """A collection, and how much is in it."""

    name: str
    embedder: dict[str, Any] = Field(description="`type` and its options.")
    embedder_id: str | None = Field(description="What embedded it; null until the first document.")
    language: str
    graph: bool
    chunk_chars: int
    permission: Any
    created: str | None = Field(description="ISO 8601.")
    documents: int
    ready: int = Field(description="How many documents can be searched.")
    chunks: int
    characters: int


class CollectionList(_Answered):
    """The collections that the caller may read."""

    collections: list[Collection]
    total: int


class RemovedCollection(_Answered):
    """A collection that is gone."""

    name: str
    removed: Literal[True]


class CoverageReport(_Answered):
    """How much of a document can be found, and why the rest cannot."""

    coverage: float = Field(description="The share of what the file holds that is in passages.")
    characters_read: int
    characters_in_chunks: int
    characters_in_file: int = Field(
        description="Letters, digits and signs that a second reader finds; 0 where there is none."
    )
    characters_lost: int = Field(description="How many of these were not read.")
    chunks: int
    pages: int | None
    pages_without_text: list[int]
    skipped: list[str]
    parser: str
    encoding: str | None
    bytes: int
    seconds: float
    error: str | None = Field(description="Why it is not ready, with the remedy.")


class Document(_Answered):
    """A document and its report."""

    id: str
    collection: str
    key: str = Field(description="The path, address or name that it was added under.")
    kind: Literal["path", "url", "upload"]
    status: Literal["ready", "failed", "empty"]
    title: str
    mime: str
    pages: int | None
    characters: int
    chunks: int
    metadata: dict[str, Any]
    content_hash: str = Field(description="SHA-256 of its bytes.")
    updated: str | None = Field(description="ISO 8601.")
    report: CoverageReport


class TextPart(_Answered):
    """Some of a document's text."""

    start: int
    end: int
    text: str


class OpenedDocument(Document):
    """A document, with some of its text where that was asked for."""

    text: TextPart | None = None


class RemovedDocument(Document):
    """A document that is gone."""

    removed: Literal[True]


class DocumentList(_Answered):
    """The documents of a collection."""

    collection: str
    documents: list[Document]
    total: int


class Added(_Answered):
    """What became of one source."""

    key: str
    outcome: Literal["added", "updated", "unchanged", "failed", "empty", "skipped"]
    reason: str | None = Field(description="Why it failed, is empty or was skipped.")
    document: Document | None


class AddedList(_Answered):
    """What became of all that was sent."""

    collection: str
    added: list[Added]


class PassageDocument(_Answered):
    """The document of a passage."""

    id: str
    collection: str
    key: str
    kind: str
    title: str
    pages: int | None


class Passage(_Answered):
    """A passage, its place in its document, and what stands around it."""

    document: PassageDocument
    chunk_id: str
    page: int | None
    heading: list[str]
    start: int
    end: int
    before: str
    passage: str
    after: str


class Item(_Answered):
    """Something found; what is unset is left out."""

    citation_id: str | None = None
    index: int | None = None
    source: str | None = None
    weight: float
    score: float | None = None
    scores: dict[str, float] | None = Field(default=None, description="Of every stage.")
    type: str | None = None
    title: str
    content: str
    url: str | None = None
    published: str | None = None
    document_id: str | None = None
    collection: str | None = None
    model: str | None = None
    record_id: str | int | None = None
    data: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class SearchResult(_Answered):
    """What a search gave; what is unset or empty is left out, but for the first fields."""

    type: str
    query: str
    source: str
    items: list[Item]
    total: int
    duration_ms: float
    request_id: str | None = Field(
        default=None, description="With an item's index, it opens `/v1/references` again."
    )
    error: str | None = None
    answer: str | None = None
    engine: str | None = None
    keywords: list[str] | None = None
    dsl: dict[str, Any] | None = None
    entities: list[dict[str, Any]] | None = None
    relations: list[dict[str, Any]] | None = None
    graph_nodes: list[dict[str, Any]] | None = None
    notices: list[str] | None = None
    attempts: list[dict[str, Any]] | None = None


class Database(_Answered):
    """A database."""

    name: str
    dialect: str


class DatabaseList(_Answered):
    """The databases that can be asked."""

    databases: list[Database]


class DescribedDatabase(Database):
    """A database, and what may be asked about."""

    models: list[dict[str, Any]]


class Record(_Answered):
    """One record, as far as the caller may see it."""

    model: str | None
    record_id: str | int | None
    title: str
    content: str
    data: dict[str, Any] | None


class Diagnostic(_Answered):
    """One finding about a query."""

    code: str
    message: str
    path: str
    severity: str
    source: str | None
    position: Any


class Linted(_Answered):
    """What is to be said about a query."""

    valid: bool
    diagnostics: list[Diagnostic]


class Compiled(_Answered):
    """A query as the driver takes it."""

    sql: str
    params: dict[str, Any]


class OpenApi(_Answered):
    """An OpenAPI 3.1 document."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]
    components: dict[str, Any]
    security: list[dict[str, Any]]


Problem.model_rebuild()
