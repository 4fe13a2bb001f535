"""
The tables, as this version of Refdesk knows them.

Migrations make them; a test holds the two together.  Times are UTC and come back aware.  Text is
stored without NULs, which PostgreSQL refuses, and with lone surrogates replaced.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Dialect,
    Float,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)
from sqlalchemy.types import TypeDecorator

SCHEMA: Final = "0005"
"""The newest revision under ``migrations/versions``."""

VERSION_TABLE: Final = "refdesk_schema"


def clean(text: str) -> str:
    """Return text that every database takes: no NUL, no half of a surrogate pair."""
    if "\0" in text:
        text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _clean_all(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {_clean_all(key): _clean_all(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_all(item) for item in value]
    return value


def as_json(value: Any) -> str:
    """Return a value as the JSON text that is stored; dataclasses become objects."""
    return msgspec.json.encode(_clean_all(msgspec.to_builtins(value))).decode()


class CleanText(TypeDecorator[str]):
    """Text, cleaned on its way in."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else clean(value)


class Json(TypeDecorator[Any]):
    """A JSON value in a text column, the same on every database; dataclasses become objects."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return as_json(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return None if value is None else msgspec.json.decode(value)


class UtcTime(TypeDecorator[datetime]):
    """An aware time, kept in UTC; SQLite, which has no zones, keeps it bare and sortable."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a stored time must know its zone")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# SQLite counts up by itself in INTEGER columns only.
_SEQUENCE: Final = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

requests = Table(
    "requests",
    metadata,
    # The order of the log is the order of writing: clocks jump.
    Column("seq", _SEQUENCE, primary_key=True, autoincrement=True),
    Column("id", CleanText, nullable=False, unique=True),
    Column("time", UtcTime, nullable=False),
    Column("client_request_id", CleanText),
    Column("key_id", CleanText),
    Column("wire", CleanText, nullable=False),
    Column("model", CleanText),
    Column("upstream", CleanText),
    Column("stream", Boolean, nullable=False),
    Column("status", Integer),
    Column("route", CleanText),
    Column("route_reason", CleanText),
    Column("route_source", CleanText),
    Column("search_header", CleanText),
    Column("reason", CleanText),
    Column("query", CleanText),
    Column("engine", CleanText),
    Column("results", Integer, nullable=False),
    Column("cached", Boolean, nullable=False),
    Column("notices", Json, nullable=False),
    Column("attempts", Json, nullable=False),
    Column("queue_ms", Float),
    Column("search_ms", Float),
    Column("first_byte_ms", Float),
    Column("total_ms", Float),
    Column("injected_chars", Integer, nullable=False),
    Column("client_disconnected", Boolean, nullable=False),
    Column("upstream_cut", Boolean, nullable=False),
    Column("error", CleanText),
    Index("ix_requests_time", "time"),
    sqlite_autoincrement=True,  # a number is never given twice, even after all rows went
)

searches = Table(
    "searches",
    metadata,
    Column("seq", _SEQUENCE, primary_key=True, autoincrement=True),
    Column("id", CleanText, nullable=False, unique=True),
    Column("request_id", CleanText, nullable=False),
    Column("key_id", CleanText),
    Column("time", UtcTime, nullable=False),
    Column("query", CleanText),
    Column("engine", CleanText),
    Column("items", Json, nullable=False),
    Column("answer", CleanText),
    Column("conversation", CleanText),
    # The kind of source, and who asked: the gateway, a face of the library, a hook, an assistant.
    Column("type", CleanText, nullable=False, server_default="web"),
    Column("source", CleanText, nullable=False, server_default="gateway"),
    Column("config", Json),
    Column("keywords", Json),
    Column("entities", Json),
    Column("relations", Json),
    Column("dsl", Json),
    Column("references", Json),
    Column("graph", Json),
    Column("xml", CleanText),
    Column("prompt", CleanText),
    Column("duration_ms", Float),
    Column("error", CleanText),
    Index("ix_searches_request_id", "request_id"),
    Index("ix_searches_conversation", "conversation"),
    Index("ix_searches_time", "time"),
    sqlite_autoincrement=True,
)

ledger = Table(
    "ledger",
    metadata,
    Column("day", Date, primary_key=True),
    # Empty where a request bore no client key: NULL could not be part of the primary key.
    Column("key_id", CleanText, primary_key=True),
    Column("engine", CleanText, primary_key=True),
    Column("searches", BigInteger, nullable=False),
    Column("calls", BigInteger, nullable=False),
    Column("cache_hits", BigInteger, nullable=False),
    Column("cost_usd", Float, nullable=False),
    Column("asked", BigInteger, nullable=False, server_default="0"),
)

settings = Table(
    "settings",
    metadata,
    Column("name", CleanText, primary_key=True),
    Column("value", Json, nullable=False),
    Column("secret", Boolean, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
)

client_keys = Table(
    "client_keys",
    metadata,
    Column("id", CleanText, primary_key=True),
    Column("name", CleanText, nullable=False),
    Column("hash", Text, nullable=False, unique=True),
    Column("prefix", Text, nullable=False),
    Column("claims", Json, nullable=False),
    Column("daily_limit", BigInteger),
    Column("requests_per_minute", BigInteger),
    Column("created", UtcTime, nullable=False),
    Column("expires", UtcTime),
    Column("revoked", UtcTime),
)

# Graphs of collections: facts belong to the passage that says them, and leave with its document.

graph_entities = Table(
    "graph_entities",
    metadata,
    Column("id", Text, primary_key=True),
    Column("collection", CleanText, nullable=False),
    Column("folded", CleanText, nullable=False),
    Column("name", CleanText, nullable=False),
    Column("type", CleanText, nullable=False),
    Column("description", CleanText, nullable=False),
    Index("ix_graph_entities_collection", "collection"),
)

graph_mentions = Table(
    "graph_mentions",
    metadata,
    Column("entity", Text, primary_key=True),
    Column("chunk_id", Text, primary_key=True),
    Column("collection", CleanText, nullable=False),
    Column("document_id", Text, nullable=False),
    Index("ix_graph_mentions_document", "collection", "document_id"),
)

graph_relations = Table(
    "graph_relations",
    metadata,
    Column("subject", Text, primary_key=True),
    Column("predicate", CleanText, primary_key=True),
    Column("object", Text, primary_key=True),
    Column("chunk_id", Text, primary_key=True),
    Column("collection", CleanText, nullable=False),
    Column("document_id", Text, nullable=False),
    Index("ix_graph_relations_object", "object"),
    Index("ix_graph_relations_document", "collection", "document_id"),
)

graph_documents = Table(
    "graph_documents",
    metadata,
    Column("collection", CleanText, primary_key=True),
    Column("document_id", Text, primary_key=True),
    # Which revision of the document the graph knows; one that it does not is read again.
    Column("revision", Text, nullable=False),
)

kb_collections = Table(
    "kb_collections",
    metadata,
    Column("name", CleanText, primary_key=True),
    Column("embedder", Json, nullable=False),
    Column("embedder_id", CleanText),
    Column("dimension", Integer),
    Column("language", CleanText, nullable=False),
    Column("graph", Boolean, nullable=False),
    Column("chunk_chars", Integer, nullable=False),
    Column("permission", Json),
    Column("index", CleanText, nullable=False, unique=True),
    Column("created", UtcTime, nullable=False),
)

kb_documents = Table(
    "kb_documents",
    metadata,
    Column("id", CleanText, primary_key=True),
    Column("collection", CleanText, nullable=False),
    Column("key", CleanText, nullable=False),
    Column("kind", CleanText, nullable=False),
    Column("revision", CleanText, nullable=False, unique=True),
    Column("content_hash", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("title", CleanText, nullable=False),
    Column("mime", CleanText, nullable=False),
    Column("pages", Integer),
    Column("characters", BigInteger, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("metadata", Json, nullable=False),
    Column("report", Json, nullable=False),
    Column("updated", UtcTime, nullable=False),
    Index("ux_kb_documents_key", "collection", "key", unique=True),
)

kb_chunks = Table(
    "kb_chunks",
    metadata,
    Column("id", CleanText, primary_key=True),
    Column("document_id", CleanText, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("text", CleanText, nullable=False),
    Column("index_text", CleanText, nullable=False),
    Column("page", Integer),
    Column("heading", Json, nullable=False),
    Column("start", BigInteger, nullable=False),
    Column("end", BigInteger, nullable=False),
    Index("ux_kb_chunks_place", "document_id", "ordinal", unique=True),
)

# The text that was read, in pieces, so that a passage's surroundings cost as little as it does.
kb_texts = Table(
    "kb_texts",
    metadata,
    Column("document_id", CleanText, primary_key=True),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("text", CleanText, nullable=False),
)

# What is to be taken in, and by whom it is being: at most one for a key.  Done, it is deleted.
kb_jobs = Table(
    "kb_jobs",
    metadata,
    Column("id", CleanText, primary_key=True),
    Column("collection", CleanText, nullable=False),
    Column("key", CleanText, nullable=False),
    Column("kind", CleanText, nullable=False),
    Column("metadata", Json, nullable=False),
    Column("upload", CleanText),
    Column("owner", CleanText),
    Column("lease_until", UtcTime),
    Column("attempts", Integer, nullable=False),
    Column("created", UtcTime, nullable=False),
    Index("ux_kb_jobs_key", "collection", "key", unique=True),
)

# What a vector store may hold that is in no document: a revision being written, or one that is
# over.  It is written down before, and struck out after, so that whoever dies leaves no orphan.
kb_leftovers = Table(
    "kb_leftovers",
    metadata,
    Column("index", CleanText, primary_key=True),
    # Empty: the whole index.
    Column("revision", CleanText, primary_key=True),
    Column("job", CleanText),
)
