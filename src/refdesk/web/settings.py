"""The bounds of web search, as plain values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSettings:
    """What `gateway.search` says about a search; each name is that of its key."""

    default_engine: str | None = None
    pages_per_query: int = 2
    engine_timeout_ms: int = 10_000
    budget_ms: int = 15_000
    concurrency: int = 64
    queue_timeout_ms: int = 2_000
    max_response_bytes: int = 524_288
    cache_ttl_s: float = 300.0
    memory_limit_mb: int | None = None
