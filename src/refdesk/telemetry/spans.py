"""
Spans for OpenTelemetry, and all their names; nothing at all where it is not installed.

The extra ``[otel]`` brings the API; which SDK and exporter take the spans is the operator's
choice.  Attributes never hold a query, a result or a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final, Protocol

SCOPE: Final = "refdesk"

SEARCH: Final = "refdesk.search"
"""One call to the searcher, with all its sources."""
SEARCH_SOURCE: Final = "refdesk.search.source"
"""One source of it."""
SEARCH_RERANK: Final = "refdesk.search.rerank"
SEARCH_DELEGATE: Final = "refdesk.search.delegate"

MODE: Final = "refdesk.search.mode"
REQUEST_ID: Final = "refdesk.request_id"
TYPE: Final = "refdesk.search.type"
SOURCE: Final = "refdesk.search.source_type"
ENGINE: Final = "refdesk.search.engine"
RESULTS: Final = "refdesk.search.results"
FAILED: Final = "refdesk.search.failed"
TARGET: Final = "refdesk.search.target"

Value = str | int | float | bool


class Span(Protocol):
    """What can be said about something under way."""

    def set_attribute(self, key: str, value: Value) -> Any:
        """Say one thing about it."""
        ...


class _NoSpan:
    def set_attribute(self, key: str, value: Value) -> None:
        """Say it to nobody."""


_NO_SPAN: Final = _NoSpan()


@contextmanager
def span(name: str, attributes: Mapping[str, Value] | None = None) -> Iterator[Span]:
    """
    Open a span around a block.

    An exception that leaves the block is recorded by its kind only, since a message may hold
    what somebody searched for.
    """
    tracer = _tracer()
    if tracer is None:
        yield _NO_SPAN
        return
    with tracer.start_as_current_span(
        name,
        attributes=dict(attributes or {}),
        record_exception=False,
        set_status_on_exception=False,
    ) as opened:
        try:
            yield opened
        except BaseException as error:
            opened.set_attribute(FAILED, type(error).__name__)
            raise


@lru_cache(maxsize=1)
def _tracer() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer(SCOPE)
